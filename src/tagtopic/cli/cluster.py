"""A model on documents that a cluster reads, with answers that the cluster writes."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tagtopic.cli.inputs import NO_KNOWN_TAG, Columns, load_model, require_tags
from tagtopic.cli.output import remark
from tagtopic.engines import engine_class

TAG_WEIGHTS = "tag_weights"


@dataclass(frozen=True)
class Destination:
    """The cluster, and the folder that it writes."""

    engine: str
    master: str | None
    output: str | None
    as_json: bool
    quiet: bool

    def address(self) -> str:
        """Return the address of the folder, or raise."""
        if self.output is None or self.as_json or not self.output.removesuffix("/").endswith(".parquet"):
            raise ValueError(
                f"--engine {self.engine} writes a folder of Parquet files: give its name, as in -o answers.parquet"
            )
        if "://" in self.output:
            return self.output
        if Path(self.output).exists():
            raise FileExistsError(f"{self.output} is there already: give another name, or remove it")
        return f"file://{Path(self.output).resolve()}"

    @contextmanager
    def whole_or_gone(self) -> Iterator[str]:
        """Yield the address; after a failure nothing is left on this machine, so that the command can be repeated."""
        address = self.address()
        try:
            yield address
        except BaseException:
            if address != self.output:
                shutil.rmtree(str(self.output), ignore_errors=True)
            raise


def answer_on_cluster(
    model: str, files: Sequence[str], columns: Columns, answers: Sequence[str], to: Destination, **options: Any
) -> None:
    """Write a folder of Parquet files: the documents' own columns, and the answers beside them."""
    _check(columns)
    with to.whole_or_gone() as target:
        from tagtopic.corpus.reading.options import ReadOptions

        fitted = load_model(model)
        if TAG_WEIGHTS in answers:
            require_tags(fitted)
        request = ReadOptions(
            text=columns.text or "text", tags=columns.tags, id=columns.id, tag_separator=columns.tag_separator,
            on_error=columns.on_error,
        )  # fmt: skip
        with engine_class(to.engine).connect(to.master) as engine:
            tagged = engine.apply(fitted, list(files), request, target, answers, format=columns.format, **options)
        if not tagged:
            warnings.warn(NO_KNOWN_TAG, stacklevel=1)
    remark(f"wrote {to.output}", quiet=to.quiet)


def _check(columns: Columns) -> None:
    """Raise for options of files that only this machine reads."""
    if columns.encoding is not None:
        raise ValueError(f"--encoding {columns.encoding} is for files that this machine reads: Spark expects UTF-8")
    if columns.delimiter is not None:
        raise ValueError(f"--delimiter {columns.delimiter} is for CSV, which a cluster does not read: use Parquet")
