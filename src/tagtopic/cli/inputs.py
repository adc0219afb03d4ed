"""Files and standard input as corpora, and model files as models."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagtopic.cli.options import FileFormat, several
from tagtopic.cli.output import check_output, remark

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.engines import SparkEngine
    from tagtopic.engines.spark.corpus import SparkCorpus
    from tagtopic.models.base import TagTopicModel


@dataclass(frozen=True)
class Columns:
    """Which columns hold what, in files of which format."""

    text: list[str] | None
    tags: list[str] | None
    id: str | None
    tag_separator: str | None
    format: str | None
    on_error: str

    @classmethod
    def of(
        cls,
        text: str | None,
        tags: str | None,
        id_column: str | None,
        tag_separator: str | None,
        file_format: FileFormat | None,
        *,
        skip_errors: bool,
    ) -> Columns:
        """From the options as they were typed."""
        on_error = "skip" if skip_errors else "raise"
        given = None if file_format is None else file_format.value
        return cls(several(text), several(tags), id_column, tag_separator, given, on_error)


def load_model(path: str, jobs: int | None = None) -> TagTopicModel:
    """A model of any kind from its file, to be used with so many threads."""
    from tagtopic.models.base import TagTopicModel

    fitted = TagTopicModel.load(path)
    fitted.set_params(n_jobs=jobs)
    return fitted


def model_and_corpus(
    model: str, files: Sequence[str], columns: Columns, *, output: str | None = None, jobs: int | None, quiet: bool
) -> tuple[TagTopicModel, Corpus]:
    """A model, and documents read as those that it was trained on; a wrong ``output`` is refused before any work."""
    check_output(output)
    fitted = load_model(model, jobs)
    return fitted, read_corpus(files, columns, model=fitted, jobs=jobs, quiet=quiet)


def rules_of(
    min_df: int | None, min_tag_documents: int, max_words: int | None, stop_words: str | None
) -> dict[str, Any]:
    """The text and tag rules that were asked for; the rest stay at the defaults of `Corpus.read`."""
    rules: dict[str, Any] = {"min_tag_documents": min_tag_documents}
    if min_df is not None:
        rules["min_df"] = min_df
    if max_words is not None:
        rules["max_words"] = max_words
    if stop_words is not None:
        rules["stop_words"] = None if stop_words == "none" else stop_words
    return rules


def read_corpus(
    files: Sequence[str],
    columns: Columns,
    *,
    model: TagTopicModel | None = None,
    jobs: int | None = None,
    quiet: bool = False,
    **rules: Any,
) -> Corpus:
    """Read files, or standard input for `-`, with the rules given or with those that a model was trained with.

    A saved corpus is opened as it is: models take the words that they know from it.
    """
    from tagtopic.corpus import Corpus
    from tagtopic.corpus.storage import MARKER

    if len(files) == 1 and (Path(files[0]) / MARKER).is_file():
        return Corpus.open(files[0])
    if "-" in files and sys.stdin.isatty():
        remark("type a text a line; Ctrl-D ends", quiet=quiet)
    settings = dict(rules)
    if columns.text:
        settings["text"] = columns.text
    if model is not None:
        settings |= {"words": model.words_, "rules": model.rules_}
    return Corpus.read(
        files[0] if len(files) == 1 else list(files),
        tags=columns.tags,
        id=columns.id,
        tag_separator=columns.tag_separator,
        format=columns.format,
        on_error=columns.on_error,
        n_jobs=jobs,
        progress=False if quiet else None,
        **settings,
    )


def is_for_clusters(files: Sequence[str], columns: Columns) -> bool:
    """Whether executors can read these files; others are read here and sent to them."""
    from tagtopic.engines.spark.source import is_readable

    return is_readable(list(files), columns.format)


def read_on_cluster(
    engine: SparkEngine, files: Sequence[str], columns: Columns, *, tagged: bool = True, **rules: Any
) -> SparkCorpus:
    """The same as ``read_corpus``, by executors; LDA has no tags."""
    settings = dict(rules)
    if columns.text:
        settings["text"] = columns.text
    return engine.read(
        list(files),
        tags=columns.tags if tagged else (),
        id=columns.id,
        tag_separator=columns.tag_separator,
        format=columns.format,
        on_error=columns.on_error,
        **settings,
    )
