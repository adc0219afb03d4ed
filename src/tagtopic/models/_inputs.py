"""From what people pass to ``fit`` and ``transform`` to a Corpus in the model's columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s
from tagtopic._core.display import warn
from tagtopic.corpus import Corpus, matrices
from tagtopic.corpus.builder import is_missing, is_words
from tagtopic.corpus.collection import RemoteCorpus
from tagtopic.corpus.matrices import check_columns, column_sizes, csr, is_matrix, keep_columns
from tagtopic.corpus.text.rules import TextRules


def with_tags(corpus: Corpus, tags: Any, known_tags: tuple[str, ...] | None = None) -> Corpus:
    """The corpus, with other tags if any are given; the columns of a matrix are the known tags, or else its own."""
    check_columns(corpus.counts)
    if tags is None or tags is corpus.tags:
        check_columns(corpus.tags)
        return corpus
    given = matrices.check_tags(tags, names_of_columns(tags, known_tags, corpus.tag_names), len(corpus))
    return Corpus(counts=corpus.counts, words=corpus.words, ids=corpus.ids, rules=corpus.rules, **given)


def names_of_columns(
    tags: Any, known_tags: tuple[str, ...] | None, own_tags: tuple[str, ...] = ()
) -> tuple[str, ...] | None:
    """The tags in the columns of a matrix without names: those that a model knows, if it knows any, or a corpus's own;
    None where the columns have names, or are new.
    """
    shape: tuple[int, ...] = np.shape(tags) if tags is not None and is_matrix(tags) else ()
    if len(shape) != 2 or matrices.column_names(tags) is not None:
        return None
    for names in (known_tags, own_tags):
        if names and len(names) == shape[1]:
            return names
    if known_tags:
        raise ValueError(f"the matrix of tags has {shape[1]} columns, but the model knows {len(known_tags)} tags")
    return None


def remote(corpus: RemoteCorpus, tags: Any, *, uses_tags: bool) -> RemoteCorpus:
    """Documents that are elsewhere, as a model learns from them."""
    if tags is not None:
        raise ValueError("tags= cannot be put beside documents on a cluster: read them with their tags")
    return corpus if uses_tags else corpus.without_tags()


def is_texts(X: Any) -> bool:
    """Whether X is texts (a list, an array or a series of strings, or lists of words) rather than a table of numbers.

    An empty list is no documents, which is fine; one bare string is an error.
    """
    if isinstance(X, str):
        raise TypeError(f"X is one string, {X[:50]!r}: expected a list of texts, one a document")
    in_a_row = isinstance(X, list | tuple) or (len(getattr(X, "shape", ())) == 1 and not sp.issparse(X))
    if not in_a_row or not all(isinstance(text, str) or is_missing(text) or is_words(text) for text in X):
        return False
    return not len(X) or any(not is_words(text) or len(text) for text in X)


def check_no_documents(X: Any) -> None:
    """Say what to do with a data frame of texts, where a table of numbers is expected."""
    if matrices.is_frame(X):
        matrices.require_numbers(X, "X")


def check_ignored(y: Any, tags: Any) -> None:
    """Say that tags have a name of their own, if they stand in the place of ``y``, which is ignored."""
    if tags is None and isinstance(y, list | tuple) and any(isinstance(names, list | tuple | set) for names in y):
        raise TypeError("the second argument is y, which is ignored: give tags by name, as in fit(texts, tags=tags)")


def corpus_from_texts(
    texts: Any,
    tags: Any,
    words: tuple[str, ...] | None,
    rules: TextRules | None,
    known_tags: tuple[str, ...] | None = None,
) -> Corpus:
    """A corpus from texts; after training, in the model's words and by the rules that it was trained with."""
    if words is not None and rules is None and len(texts):
        raise ValueError(
            "the model was trained on counts and does not know how texts become words: give it counts, or a Corpus"
        )
    names = names_of_columns(tags, known_tags)
    return Corpus.from_texts(texts, tags, tag_names=names, words=words, rules=rules)


def without_tags(corpus: Corpus) -> Corpus:
    """The same documents, untagged."""
    none = csr(np.zeros(len(corpus) + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int8), 0)
    return Corpus(counts=corpus.counts, tags=none, words=corpus.words, tag_names=(), ids=corpus.ids, rules=corpus.rules)


def corpus_from_matrix(
    counts: Any, tags: Any, words: Iterable[str] | None, tag_names: tuple[str, ...] | None
) -> Corpus:
    """A corpus from counts; a 0/1 matrix of tags has its columns in the order of ``tag_names``, if there are any."""
    names = names_of_columns(tags, tag_names)
    return Corpus.from_counts(counts, tags, words=words, tag_names=names, fractional=True)


def without_unseen_words(corpus: Corpus, word_counts: Float64s) -> Corpus:
    """The corpus without the words that stand in a model's vocabulary but never occurred in its training."""
    seen = word_counts > 0
    if seen.all() or not column_sizes(corpus.counts)[~seen].any():
        return corpus
    return corpus.with_matrices(counts=keep_columns(corpus.counts, seen))


def aligned(corpus: Corpus, words: tuple[str, ...], tag_names: tuple[str, ...], unknown_tags: str) -> Corpus:
    """The corpus in a model's columns; tags that the model has never seen are ignored with a warning, or an error."""
    alignment = corpus.align(words, tag_names)
    if alignment.unknown_tags:
        shown = ", ".join(map(repr, alignment.unknown_tags[:5]))
        more = len(alignment.unknown_tags) - 5
        message = f"the model does not know {len(alignment.unknown_tags)} tags (new, or left out as rare): {shown}"
        message += f" and {more} more" if more > 0 else ""
        if unknown_tags == "error":
            raise ValueError(message + "; unknown_tags='ignore' leaves them out")
        warn(message + "; they are left out")
    if alignment.unknown_tokens and not alignment.corpus.n_tokens:
        warn("none of the words was seen in training: the tags alone decide")
    return alignment.corpus
