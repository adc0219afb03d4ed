"""A model on documents that a cluster reads, whose answers it writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tagtopic.cli.inputs import Columns, load_model
from tagtopic.cli.output import remark


@dataclass(frozen=True)
class Destination:
    """The cluster, and where it writes."""

    master: str | None
    output: str | None
    as_json: bool
    quiet: bool

    def address(self) -> str:
        """Where executors write, or an error."""
        if self.output is None or self.as_json or not self.output.removesuffix("/").endswith(".parquet"):
            raise ValueError("--engine spark writes a folder of Parquet files: give its name, as in -o answers.parquet")
        if "://" in self.output:
            return self.output
        if Path(self.output).exists():
            raise FileExistsError(f"{self.output} is there already: give another name, or remove it")
        return f"file://{Path(self.output).resolve()}"


def answer_on_spark(
    model: str, files: Sequence[str], columns: Columns, answers: Sequence[str], to: Destination, **predicting: Any
) -> None:
    """Write a folder of Parquet files: the documents' own columns, and the answers beside them."""
    target = to.address()
    if columns.encoding is not None:
        raise ValueError(f"--encoding {columns.encoding} is for files that this machine reads: Spark expects UTF-8")
    from tagtopic.engines import SparkEngine
    from tagtopic.engines.spark.frames import apply_model, read_frame

    fitted = load_model(model)
    with SparkEngine(master=str(to.master)) as engine:
        frame = read_frame(engine.spark, list(files), columns.format)
        answered = apply_model(
            fitted, frame, text=columns.text or "text", tags=columns.tags, tag_separator=columns.tag_separator,
            answers=answers, **predicting,
        )  # fmt: skip
        answered.write.parquet(target)
    remark(f"wrote {to.output}", quiet=to.quiet)
