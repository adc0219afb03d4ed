"""Conversion of what ``fit`` and ``transform`` take to a Corpus in the model's words and tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s
from tagtopic._core.display import called_by_sklearn, warn
from tagtopic._core.estimator import check_non_negative, validate_data
from tagtopic.corpus import Corpus, Document, validation
from tagtopic.corpus.builder import is_missing, is_words
from tagtopic.corpus.description import LEAVE_OUT, near_universal_tags
from tagtopic.corpus.interface import CorpusLike, RemoteCorpus
from tagtopic.corpus.matrices import column_counts, csr, keep_columns
from tagtopic.corpus.text.rules import TextRules
from tagtopic.corpus.validation import is_matrix
from tagtopic.curation.corrections import corrected_corpus
from tagtopic.curation.decisions import Decisions

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel

MIN_WARNED = 200
"""Documents from which on a fit warns of tags that nearly all have."""

NUMERIC = [np.float64, np.float32, np.int64, np.int32]
"""The types of counts; others are converted to the first."""


def training_corpus(model: TagTopicModel, X: Any, tags: Any) -> CorpusLike:
    """Convert training documents; those on a cluster stay there."""
    if isinstance(X, RemoteCorpus):
        if tags is not None:
            raise ValueError("tags= cannot be put beside documents on a cluster: read them with their tags")
        _set_features(model, X.n_words)
        return X if model._uses_tags else X.without_tags()
    corpus = as_corpus(model, X, tags, reset=True)
    return corpus if model._uses_tags else without_tags(corpus)


def warn_of_training_documents(corpus: CorpusLike, n_topics: int) -> None:
    """Warn if there are more topics than documents, or tags that nearly all documents have."""
    if n_topics > len(corpus):
        warn(f"there are {n_topics} topics for {len(corpus)} documents: give fewer topics (n_topics, -k) or more texts")
    common = near_universal_tags(corpus.tag_names, corpus.tag_sizes(), len(corpus))
    if common and len(corpus) >= MIN_WARNED:
        shown = ", ".join(f"{tag!r} ({n / len(corpus):.0%})" for tag, n in common[:5])
        more = f" and {len(common) - 5} more" if len(common) > 5 else ""
        warn(f"nearly all documents have the tags {shown}{more}, which hardly tell documents apart: {LEAVE_OUT}")


def as_decided(corpus: CorpusLike, decisions: Decisions) -> CorpusLike:
    """The training documents with tags and words as decided."""
    if not (decisions.changes_tags or decisions.banned_words):
        return corpus
    if not isinstance(corpus, Corpus):
        raise ValueError(
            "the documents are on a cluster, where a ledger cannot correct them: write them with corrected tags first "
            "(tagtopic decisions apply), or fit on this machine"
        )
    return corrected_corpus(corpus, decisions)


def as_corpus(model: TagTopicModel, X: Any, tags: Any, *, reset: bool) -> Corpus:
    """Convert documents to a Corpus.

    With ``reset`` they are training documents and the model's input features become theirs; without, texts are read in
    the words of the model, and the columns of a matrix are its words and tags.
    """
    if isinstance(X, RemoteCorpus):
        raise ValueError(
            "the documents are on a cluster: bring some here, as in corpus[rows], or apply the model there with "
            "tagtopic.engines.spark.frames.apply_model"
        )
    if hasattr(X, "mapInArrow"):
        raise TypeError(
            "this is a Spark DataFrame: fit what an engine reads of it, as in "
            "model.fit(engine.read(frame, text=…, tags=…)); apply a fitted model to it with "
            "tagtopic.engines.spark.frames.apply_model"
        )
    known_tags = None if reset else model.tag_names_
    X = list(X) if isinstance(X, Iterator) else X
    if isinstance(X, Corpus):
        if reset:
            _set_features(model, X.n_words)
        return with_tags(X, tags, known_tags)
    if is_texts(X):
        words, rules = (None, None) if reset else (model.words_, model.rules_)
        corpus = corpus_from_texts(X, tags, words, rules, known_tags)
        if reset:
            _set_features(model, corpus.n_words)
        else:
            _warn_of_unknown_texts(X, corpus)
        return corpus
    if validation.is_frame(X):
        validation.require_numbers(X, "X")
    X = validation.check_array(X, "X")  # before scikit-learn converts it
    counts = validate_data(model, X, accept_sparse="csr", dtype=NUMERIC, reset=reset)
    check_non_negative(counts, type(model).__name__)
    columns: Iterable[str] | None = getattr(model, "feature_names_in_", None) if reset else model.words_
    return corpus_from_matrix(sp.csr_array(counts), tags, columns, known_tags)


def _warn_of_unknown_texts(texts: Any, corpus: Corpus) -> None:
    """Warn of texts without a word of the model: their results do not depend on what they say."""
    unknown = np.flatnonzero(
        (corpus.lengths() == 0) & np.array([bool(len(text)) for text in map(_filled, texts)], bool)
    )
    if len(unknown):
        first = list(texts)[unknown[0]]
        warn(
            f"{len(unknown):,} of {len(corpus):,} texts have no word that the model knows, such as {first!r:.60}: "
            "their topics are those of their tags or of all documents, and their predicted tags the most frequent ones"
        )


def _filled(text: Any) -> Any:
    return "" if is_missing(text) else text


def _set_features(model: TagTopicModel, number: int) -> None:
    """Set the number of input features, and forget the column names of an earlier data frame."""
    model.n_features_in_ = number
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_


def with_tags(corpus: Corpus, tags: Any, known_tags: tuple[str, ...] | None = None) -> Corpus:
    """The corpus, with other tags if any are given."""
    if tags is not None and tags is not corpus.tags:
        given = validation.check_tags(tags, _column_tags(tags, known_tags, corpus.tag_names), len(corpus))
        named: dict[str, Any] = {"ids": corpus.ids, "rules": corpus.rules, "titles": corpus.titles}
        corpus = Corpus(counts=corpus.counts, words=corpus.words, **named, **given)
    corpus.check()
    return corpus


def corpus_from_texts(
    texts: Any,
    tags: Any,
    words: tuple[str, ...] | None,
    rules: TextRules | None,
    known_tags: tuple[str, ...] | None = None,
) -> Corpus:
    """A corpus from texts; after training, in the model's words and by its rules."""
    if words is not None and rules is None and len(texts):
        raise ValueError(
            "the model was trained on counts and does not know how texts become words: give it counts, or a Corpus"
        )
    names = _column_tags(tags, known_tags)
    return Corpus.from_texts(texts, tags, tag_names=names, words=words, rules=rules)


def corpus_from_matrix(
    counts: Any, tags: Any, words: Iterable[str] | None, known_tags: tuple[str, ...] | None
) -> Corpus:
    """A corpus from a matrix of counts."""
    return Corpus.from_counts(counts, tags, words=words, tag_names=_column_tags(tags, known_tags), fractional=True)


def _column_tags(
    tags: Any, known_tags: tuple[str, ...] | None, own_tags: tuple[str, ...] = ()
) -> tuple[str, ...] | None:
    """The tags in the columns of a matrix without column names: the model's if it has any, or the corpus's own.

    None if the columns have names, or are new tags.
    """
    shape: tuple[int, ...] = np.shape(tags) if tags is not None and is_matrix(tags) else ()
    if len(shape) != 2 or validation.column_names(tags) is not None:
        return None
    for names in (known_tags, own_tags):
        if names and len(names) == shape[1]:
            return names
    if known_tags:
        raise ValueError(f"the matrix of tags has {shape[1]} columns, but the model knows {len(known_tags)} tags")
    return None


def is_texts(X: Any) -> bool:
    """Whether X is texts (a list, an array or a series of strings, or lists of words) rather than a table of numbers.

    An empty list counts as no texts; one bare string is an error.
    """
    if isinstance(X, str):
        raise TypeError(f"X is one string, {X[:50]!r}: expected a list of texts, one a document")
    one_dimensional = isinstance(X, list | tuple) or (len(getattr(X, "shape", ())) == 1 and not sp.issparse(X))
    if not one_dimensional or not all(isinstance(text, str) or is_missing(text) or is_words(text) for text in X):
        return False
    return not len(X) or any(not is_words(text) or len(text) for text in X)


def check_ignored(y: Any, tags: Any) -> None:
    """Raise if tags were passed as ``y``, which is ignored, and warn of labels that may be meant as tags.

    A pipeline of scikit-learn passes labels, which its other steps need.
    """
    if tags is not None or y is None:
        return
    message = "the second argument is y, which is ignored: give tags by name, as in fit(texts, tags=tags)"
    if sp.issparse(y) or validation.is_frame(y) or len(np.shape(y) if hasattr(y, "shape") else ()) > 1:
        raise TypeError(message)
    values = list(y) if isinstance(y, Iterable) and not isinstance(y, str | bytes) else []
    if any(isinstance(names, list | tuple | set | frozenset | np.ndarray) for names in values):
        raise TypeError(message)
    if any(isinstance(name, str) for name in values) and not called_by_sklearn():
        warn("y is ignored: if these are tags, give them by name, one list per document, as in tags=[[tag], …]")


def document_and_tags(document: Any, tags: Any) -> tuple[Any, Any]:
    """A single document and its tags, as ``as_corpus`` takes documents and theirs."""
    if isinstance(document, Document):
        own = [document.tags if tags is None else tags]
        words, counts = list(document.words), list(document.words.values())
        fractional = any(count != int(count) for count in counts)
        corpus = Corpus.from_counts([counts], own, words=words, ids=[document.id], fractional=fractional)
        return corpus.with_titles([document.title] if document.title else None), None
    if isinstance(document, str):
        return [document], None if tags is None else [tags]
    return document, tags


def aligned(corpus: Corpus, words: tuple[str, ...], tag_names: tuple[str, ...], unknown_tags: str) -> Corpus:
    """The corpus in a model's words and tags; unknown tags are a warning, or an error."""
    alignment = corpus.align(words, tag_names)
    if alignment.unknown_tags:
        described = describe_unknown_tags(alignment.unknown_tags)
        if unknown_tags == "error":
            raise ValueError(f"{described}; unknown_tags='ignore' leaves them out")
        warn(f"{described}; they are left out")
    if alignment.unknown_tokens and not alignment.corpus.n_tokens:
        warn("none of the words was seen in training: the tags alone decide")
    return alignment.corpus


def describe_unknown_tags(names: Sequence[str]) -> str:
    """Return what to report of tags that a model does not know."""
    shown = ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"the model does not know {len(names)} tags (new, or left out as rare): {shown}"


def words_only(model: TagTopicModel, X: Any) -> Corpus:
    """The documents in the model's words, without tags."""
    corpus = without_tags(as_corpus(model, X, None, reset=False))
    return without_unseen_words(aligned(corpus, model.words_, (), "ignore"), model.word_counts_)


def without_tags(corpus: Corpus) -> Corpus:
    """The same documents, untagged."""
    none = csr(np.zeros(len(corpus) + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int8), 0)
    named: dict[str, Any] = {"ids": corpus.ids, "rules": corpus.rules, "titles": corpus.titles}
    return Corpus(counts=corpus.counts, tags=none, words=corpus.words, tag_names=(), **named)


def without_unseen_words(corpus: Corpus, word_counts: Float64s) -> Corpus:
    """The corpus without words of the model's vocabulary that did not occur in its training."""
    seen = word_counts > 0
    if seen.all() or not column_counts(corpus.counts)[~seen].any():
        return corpus
    return corpus.with_matrices(counts=keep_columns(corpus.counts, seen))
