"""From what people pass to ``fit`` and ``transform`` to a Corpus in the model's columns."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from tagtopic.corpus import Corpus
from tagtopic.corpus.collection import RemoteCorpus
from tagtopic.corpus.mapped import column_sizes
from tagtopic.corpus.matrices import csr, is_matrix, move_columns
from tagtopic.corpus.rules import TextRules
from tagtopic.inference.arrays import Float64s


def with_tags(corpus: Corpus, tags: Any) -> Corpus:
    """The corpus, with other tags if any are given."""
    if tags is None:
        return corpus
    given = Corpus.from_counts(corpus.counts, tags, words=corpus.words, ids=corpus.ids, fractional=True)
    return Corpus(
        counts=given.counts,
        tags=given.tags,
        words=given.words,
        tag_names=given.tag_names,
        ids=given.ids,
        rules=corpus.rules,
    )


def remote(corpus: RemoteCorpus, tags: Any, *, uses_tags: bool) -> RemoteCorpus:
    """Documents that are elsewhere, as a model learns from them."""
    if tags is not None:
        raise ValueError("tags= cannot be put beside documents on a cluster: read them with their tags")
    return corpus if uses_tags else corpus.without_tags()


def is_texts(X: Any) -> bool:
    """Whether X is a list of texts rather than a table of numbers."""
    return isinstance(X, list | tuple) and len(X) > 0 and all(text is None or isinstance(text, str) for text in X)


def corpus_from_texts(texts: Any, tags: Any, words: tuple[str, ...] | None, rules: TextRules | None) -> Corpus:
    """A corpus from texts; after training, in the model's words and by the rules that it was trained with."""
    if words is not None and rules is None:
        raise ValueError(
            "the model was trained on counts and does not know how texts become words: give it counts, or a Corpus"
        )
    return Corpus.from_texts(texts, tags, words=words, rules=rules)


def without_tags(corpus: Corpus) -> Corpus:
    """The same documents, untagged."""
    none = csr(np.zeros(len(corpus) + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int8), 0)
    return Corpus(counts=corpus.counts, tags=none, words=corpus.words, tag_names=(), ids=corpus.ids, rules=corpus.rules)


def corpus_from_matrix(
    counts: Any, tags: Any, words: Iterable[str] | None, tag_names: tuple[str, ...] | None
) -> Corpus:
    """A corpus from counts; a 0/1 matrix of tags has its columns in the order of ``tag_names``."""
    names = tag_names if tags is not None and is_matrix(tags) else None
    return Corpus.from_counts(counts, tags, words=words, tag_names=names, fractional=True)


def without_unseen_words(corpus: Corpus, word_counts: Float64s) -> Corpus:
    """The corpus without the words that stand in a model's vocabulary but never occurred in its training."""
    seen = word_counts > 0
    if seen.all() or not column_sizes(corpus.counts)[~seen].any():
        return corpus
    target = np.where(seen, np.arange(len(seen)), -1).astype(np.int32)
    counts = move_columns(corpus.counts, target, len(seen))
    return corpus.with_matrices(counts=counts)


def aligned(corpus: Corpus, words: tuple[str, ...], tag_names: tuple[str, ...], unknown_tags: str) -> Corpus:
    """The corpus in a model's columns; tags that the model has never seen are ignored with a warning, or an error."""
    alignment = corpus.align(words, tag_names)
    if alignment.unknown_tags:
        shown = ", ".join(map(repr, alignment.unknown_tags[:5]))
        more = len(alignment.unknown_tags) - 5
        message = f"{len(alignment.unknown_tags)} tags were never seen in training: {shown}"
        message += f" and {more} more" if more > 0 else ""
        if unknown_tags == "error":
            raise ValueError(message + "; unknown_tags='ignore' leaves them out")
        warnings.warn(message + "; they are left out", UserWarning, stacklevel=5)
    if alignment.unknown_tokens and not alignment.corpus.n_tokens:
        warnings.warn("none of the words was seen in training: the tags alone decide", UserWarning, stacklevel=5)
    return alignment.corpus
