"""Inputs of commands: models from model files, corpora from files and standard input."""

from __future__ import annotations

import getpass
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagtopic.cli.options import FileFormat, split_names
from tagtopic.cli.output import notify

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.corpus.interface import RemoteCorpus
    from tagtopic.curation import Ledger
    from tagtopic.engines.base import Engine
    from tagtopic.models._base import TagTopicModel


NO_KNOWN_TAGS = "no document has a tag that the model knows: --tags says which columns hold them"

LOCAL_OPTIONS = ("delimiter", "encoding")
"""Options of files that a cluster does not read."""


@dataclass(frozen=True)
class FileOptions:
    """The options that determine how files are read."""

    text: list[str] | None
    tags: list[str] | None
    id: str | None
    tag_separator: str | None
    format: str | None
    on_error: str
    encoding: str | None = None
    delimiter: str | None = None
    title: str | None = None

    @classmethod
    def parse(
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
        title: str | None = None,
    ) -> FileOptions:
        """Parse the values of the options."""
        on_error = "skip" if skip_errors else "raise"
        given = None if file_format is None else file_format.value
        tag_columns = [] if tags == "" else split_names(tags)  # no columns; None leaves the choice to the reader
        character = "\t" if delimiter == r"\t" else delimiter  # shells pass it on without replacing it
        return cls(
            split_names(text), tag_columns, id_column, tag_separator, given, on_error, encoding, character, title
        )

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `Corpus.read` that were given."""
        return {
            name: value for name, value in vars(self).items() if value is not None and (name, value) != ("text", [])
        }


def load_model(path: str, jobs: int | None = None) -> TagTopicModel:
    """Load a model of any class, and set its number of threads."""
    from tagtopic.models._base import TagTopicModel

    fitted = TagTopicModel.load(path)
    fitted.set_params(n_jobs=jobs)
    return fitted


def open_ledger(path: str, who: str | None = None, *, missing: bool = False) -> Ledger:
    """Open a ledger, which must exist unless ``missing`` is allowed."""
    from tagtopic.curation import Ledger

    if not missing and not Path(path).exists():
        raise FileNotFoundError(f"there is no ledger {path}")
    return Ledger.open(path, who=_user_name() if who is None else who)


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user without a name
        return ""


def model_and_corpus(
    model: str, files: Sequence[str], file_options: FileOptions, *, jobs: int | None, quiet: bool
) -> tuple[TagTopicModel, Corpus]:
    """Load a model, and read documents with its text rules and vocabulary."""
    fitted = load_model(model, jobs)
    return fitted, read_corpus(files, file_options, model=fitted, jobs=jobs, quiet=quiet)


def warn_if_no_known_tags(model: TagTopicModel, corpus: Corpus) -> None:
    """Warn if the model has tags and no document has one of them."""
    if model.tag_names_ and len(corpus) and not set(corpus.tag_names) & set(model.tag_names_):
        warnings.warn(NO_KNOWN_TAGS, stacklevel=1)


def warn_of_unknown_tags(model: TagTopicModel, corpus: Corpus) -> None:
    """Warn of tags that the model does not know, of all documents."""
    from tagtopic.corpus.vocabulary import unknown_tags_of
    from tagtopic.models._inputs import describe_unknown_tags

    if unknown := unknown_tags_of(corpus, model.tag_names_):
        warnings.warn(f"{describe_unknown_tags(unknown)}; they are left out", stacklevel=1)


def require_tags(model: TagTopicModel) -> None:
    """Raise if the model has no tags to rank."""
    if not model.tag_names_:
        raise ValueError("the model has learnt no tags, so it cannot rank any")


def corpus_rules(
    min_df: int | None,
    min_tag_documents: int,
    max_words: int | None,
    stop_words: str | None,
    keep_kinds: str | None,
    drop_kinds: str | None,
    *,
    drop_tags: Sequence[str] | None = None,
    bigrams: float | None = None,
    stem: str | None = None,
    keep_markup: bool = False,
) -> dict[str, Any]:
    """The text and tag rules that were given; the others keep the defaults of `Corpus.read`."""
    rules: dict[str, Any] = {"min_tag_documents": min_tag_documents}
    if min_df is not None:
        rules["min_df"] = min_df
    if max_words is not None:
        rules["max_words"] = max_words
    if stop_words is not None:
        rules["stop_words"] = None if stop_words == "none" else stop_words
    if keep_kinds is not None:
        rules["keep_kinds"] = split_names(keep_kinds)
    if drop_kinds is not None:
        rules["drop_kinds"] = split_names(drop_kinds)
    if drop_tags:
        from tagtopic.corpus import TagRules

        rules["stop_tags"] = (*TagRules().stop_tags, *drop_tags)
    given: dict[str, Any] = {"bigrams": bigrams, "stem": stem, "markup": "keep" if keep_markup else None}
    rules |= {name: value for name, value in given.items() if value is not None}
    return rules


def read_corpus(
    files: Sequence[str],
    file_options: FileOptions,
    *,
    model: TagTopicModel | None = None,
    jobs: int | None = None,
    quiet: bool = False,
    **rules: Any,
) -> Corpus:
    """Read files, or standard input for `-`, with the rules given or those of a model.

    A saved corpus is opened unchanged: models select the words of their vocabulary.
    """
    from tagtopic.corpus import Corpus
    from tagtopic.corpus.storage import MARKER

    if model is not None and len(files) == 1 and (Path(files[0]) / MARKER).is_file():
        opened = Corpus.open(files[0])
        _warn_of_unknown_words(opened, model)
        return opened
    if "-" in files and sys.stdin is not None and sys.stdin.isatty():
        notify("type one text per line; Ctrl-D to finish", quiet=quiet)
    settings = dict(rules)
    if model is not None:
        settings |= {"words": model.words_, "rules": model.rules_}
    corpus = Corpus.read(
        files[0] if len(files) == 1 else list(files),
        n_jobs=jobs,
        progress=False if quiet else None,
        **file_options.arguments(),
        **settings,
    )
    if not len(corpus):
        notify(f"there are no documents in {', '.join(files)}", quiet=quiet)
    elif model is not None:
        _warn_of_unknown_words(corpus, model)
    return corpus


def _warn_of_unknown_words(corpus: Corpus, model: TagTopicModel) -> None:
    """Warn of documents without a word of the model's vocabulary: all of them get the same result."""
    import numpy as np

    known = set(model.words_)
    n_known = corpus.counts @ np.array([word in known for word in corpus.words], np.float32)
    n_unknown = int((n_known == 0).sum())
    if n_unknown:
        warnings.warn(
            f"{n_unknown:,} of {len(corpus):,} documents have no word that the model knows", UserWarning, stacklevel=3
        )


def read_with_engine(
    engine: Engine,
    files: Sequence[str],
    file_options: FileOptions,
    *,
    tagged: bool = True,
    quiet: bool,
    jobs: int | None,
    **rules: Any,
) -> Corpus | RemoteCorpus:
    """Read a corpus with the engine if it can, otherwise on this machine; ``tagged`` is False for LDA."""
    if file_options.encoding is not None or not engine.can_read(list(files), file_options.format):
        return read_corpus(files, file_options, jobs=jobs, quiet=quiet, **rules)
    arguments = {name: value for name, value in file_options.arguments().items() if name not in LOCAL_OPTIONS}
    return engine.read(list(files), **(arguments if tagged else arguments | {"tags": ()}), **rules)
