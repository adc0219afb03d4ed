"""Files and standard input as corpora, and model files as models."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagtopic.cli.options import FileFormat, several
from tagtopic.cli.output import remark

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.corpus.interface import RemoteCorpus
    from tagtopic.engines.base import Engine
    from tagtopic.models._base import TagTopicModel


NO_KNOWN_TAG = "no document has a tag that the model knows: --tags says which columns hold them"


@dataclass(frozen=True)
class Columns:
    """Which columns hold what, in files of which format."""

    text: list[str] | None
    tags: list[str] | None
    id: str | None
    tag_separator: str | None
    format: str | None
    on_error: str
    encoding: str | None = None
    delimiter: str | None = None

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
        encoding: str | None = None,
        delimiter: str | None = None,
    ) -> Columns:
        """From the options as they were typed."""
        on_error = "skip" if skip_errors else "raise"
        given = None if file_format is None else file_format.value
        tag_columns = [] if tags == "" else several(tags)  # none at all, where None leaves it to the files
        character = "\t" if delimiter == r"\t" else delimiter  # which shells do not turn into a tab
        return cls(several(text), tag_columns, id_column, tag_separator, given, on_error, encoding, character)


def load_model(path: str, jobs: int | None = None) -> TagTopicModel:
    """A model of any kind from its file, to be used with so many threads."""
    from tagtopic.models._base import TagTopicModel

    fitted = TagTopicModel.load(path)
    fitted.set_params(n_jobs=jobs)
    return fitted


def model_and_corpus(
    model: str, files: Sequence[str], columns: Columns, *, jobs: int | None, quiet: bool
) -> tuple[TagTopicModel, Corpus]:
    """A model, and documents read as those that it was trained on."""
    fitted = load_model(model, jobs)
    return fitted, read_corpus(files, columns, model=fitted, jobs=jobs, quiet=quiet)


def tell_of_no_tags(model: TagTopicModel, corpus: Corpus) -> None:
    """Warn if the model has tags and no document has any of them."""
    if model.tag_names_ and len(corpus) and not set(corpus.tag_names) & set(model.tag_names_):
        warnings.warn(NO_KNOWN_TAG, stacklevel=1)


def require_tags(model: TagTopicModel) -> None:
    """Raise if there are no tags to rank."""
    if not model.tag_names_:
        raise ValueError("the model has learnt no tags, so it cannot rank any")


def rules_of(
    min_df: int | None,
    min_tag_documents: int,
    max_words: int | None,
    stop_words: str | None,
    keep_kinds: str | None,
    drop_kinds: str | None,
) -> dict[str, Any]:
    """The text and tag rules that were asked for; the rest stay at the defaults of `Corpus.read`."""
    rules: dict[str, Any] = {"min_tag_documents": min_tag_documents}
    if min_df is not None:
        rules["min_df"] = min_df
    if max_words is not None:
        rules["max_words"] = max_words
    if stop_words is not None:
        rules["stop_words"] = None if stop_words == "none" else stop_words
    if keep_kinds is not None:
        rules["keep_kinds"] = several(keep_kinds)
    if drop_kinds is not None:
        rules["drop_kinds"] = several(drop_kinds)
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

    if model is not None and len(files) == 1 and (Path(files[0]) / MARKER).is_file():
        return Corpus.open(files[0])
    if "-" in files and sys.stdin is not None and sys.stdin.isatty():
        remark("type a text a line; Ctrl-D ends", quiet=quiet)
    settings = dict(rules)
    if columns.text:
        settings["text"] = columns.text
    if model is not None:
        settings |= {"words": model.words_, "rules": model.rules_}
    corpus = Corpus.read(
        files[0] if len(files) == 1 else list(files),
        tags=columns.tags,
        id=columns.id,
        tag_separator=columns.tag_separator,
        format=columns.format,
        delimiter=columns.delimiter,
        encoding=columns.encoding,
        on_error=columns.on_error,
        n_jobs=jobs,
        progress=False if quiet else None,
        **settings,
    )
    if model is not None:
        _tell_of_unknown(corpus)
    return corpus


def _tell_of_unknown(corpus: Corpus) -> None:
    """Warn of documents in which a model finds nothing: its answers are the same for all of them."""
    n_unknown = int((corpus.lengths() == 0).sum())
    if n_unknown:
        warnings.warn(
            f"{n_unknown:,} of {len(corpus):,} documents have no word that the model knows", UserWarning, stacklevel=3
        )


def read_with(
    engine: Engine, files: Sequence[str], columns: Columns, *, tagged: bool = True, quiet: bool, jobs: int | None,
    **rules: Any,
) -> Corpus | RemoteCorpus:  # fmt: skip
    """Read a corpus by the engine where it can, otherwise on this machine; ``tagged`` is False for LDA."""
    if columns.encoding is not None or not engine.can_read(list(files), columns.format):
        return read_corpus(files, columns, jobs=jobs, quiet=quiet, **rules)
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
