"""A model on documents that a cluster reads, whose answers it writes; and what Spark has to say, in a sentence."""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tagtopic.cli.inputs import NO_KNOWN_TAG, Columns, load_model, require_tags
from tagtopic.cli.output import remark

RANKED = "tag_weights"
TRACEBACK = "Traceback (most recent call last)"


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

    @contextmanager
    def whole_or_gone(self) -> Iterator[str]:
        """The address; of a failure nothing is left here, so that the same command can be given again."""
        address = self.address()
        try:
            yield address
        except BaseException:
            if address != self.output:
                shutil.rmtree(str(self.output), ignore_errors=True)
            raise


def answer_on_spark(
    model: str, files: Sequence[str], columns: Columns, answers: Sequence[str], to: Destination, **predicting: Any
) -> None:
    """Write a folder of Parquet files: the documents' own columns, and the answers beside them.

    Of Parquet all columns stay; of lines those are the documents' ids, texts and tags.
    """
    _check(columns)
    with to.whole_or_gone() as target:
        from tagtopic.corpus.reading.reader import request_of
        from tagtopic.engines import SparkEngine
        from tagtopic.engines.spark.frames import apply_model, read_frame

        fitted = load_model(model)
        if RANKED in answers:
            require_tags(fitted)
        request = request_of(
            text=columns.text or "text", tags=columns.tags, id=columns.id, tag_separator=columns.tag_separator,
            on_error=columns.on_error,
        )  # fmt: skip
        with SparkEngine(master=str(to.master)) as engine:
            read = read_frame(engine.spark, list(files), request, columns.format)
            answered = apply_model(
                fitted, read.frame, answers=answers, on_error=columns.on_error, **read.columns, **predicting
            )
            answered.write.parquet(target)
            if RANKED in answers:
                _tell_of_no_tags(engine.spark.read.parquet(target))
    remark(f"wrote {to.output}", quiet=to.quiet)


def _check(columns: Columns) -> None:
    """Raise for what only this machine can do."""
    if columns.encoding is not None:
        raise ValueError(f"--encoding {columns.encoding} is for files that this machine reads: Spark expects UTF-8")
    if columns.delimiter is not None:
        raise ValueError(f"--delimiter {columns.delimiter} is for CSV, which a cluster does not read: use Parquet")


def _tell_of_no_tags(written: Any) -> None:
    if written.where(f"size({RANKED}) > 0").isEmpty() and not written.isEmpty():
        warnings.warn(NO_KNOWN_TAG, stacklevel=1)


def spark_errors() -> tuple[type[Exception], ...]:
    """What Spark raises, if this process has used it."""
    if "pyspark" not in sys.modules:
        return ()
    from pyspark.errors import PySparkException

    return import_module("py4j.protocol").Py4JError, PySparkException


def sentence_of(error: Exception) -> str:
    """The line of what Spark says that says what is wrong; the rest is where in Spark."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    tracebacks = [i for i, line in enumerate(lines) if TRACEBACK in line]
    if tracebacks:  # of Python on an executor: what it raised stands under it, not indented
        raised = (line for line in lines[tracebacks[-1] + 1 :] if not line[0].isspace() and line.strip("^~"))
        line = next(raised, lines[-1])
        return line.partition("Error: ")[2] or line
    java = (line.removeprefix(": ") for line in lines if line.startswith(": "))
    return next(java, lines[0] if lines else type(error).__name__)
