"""How surprised a model is by words: exp of minus the mean log probability of a word."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from tagtopic._core.arrays import row_blocks
from tagtopic._core.memmap import release
from tagtopic.corpus import Corpus
from tagtopic.corpus.splits import split_tokens
from tagtopic.inference.likelihood import log_probabilities
from tagtopic.inference.methods import method_of

METHODS = ("completion", "fitted", "bound")

NOTHING_LEFT = "no document has words left to score"

PART_ENTRIES = 1 << 22
"""Word entries of a corpus that are scored at a time."""


class TopicModel(Protocol):
    """All that perplexity asks of a model, ours or a baseline."""

    @property
    def components_(self) -> Any:
        """(topics, words), rows sum to 1."""

    def aligned(self, X: Any, tags: Any = None) -> Corpus:
        """X in the model's words and tags, without the words that it cannot score."""
        ...

    def transform(self, X: Any) -> Any:
        """(documents, topics) of what ``aligned`` returned, rows sum to 1."""


@dataclass(frozen=True)
class Perplexity:
    """The value, and what it was measured on; texts do not tell how many of their words the model does not know."""

    value: float
    scored_tokens: int
    unknown_tokens: int | None
    skipped_documents: int


def perplexity(
    model: TopicModel, X: Any, *, tags: Any = None, method: str = "completion", random_state: int = 0
) -> Perplexity:
    """Perplexity of any topic model, ours and the baselines alike.

    Words outside of the model's vocabulary are not scored; under "completion" documents with an empty half are
    skipped. The value does not depend on batches, nor on the order of documents that have
    ids (which words are scored is drawn by id; rows of a matrix and bare texts have their numbers as ids).

    Examples
    --------
    >>> from tagtopic import TWDA, Corpus
    >>> corpus = Corpus.from_texts(["a ship in space", "police hunt a killer"] * 5, [["space"], ["crime"]] * 5)
    >>> model = TWDA(2, random_state=0).fit(corpus)
    >>> from tagtopic.evaluation.perplexity import perplexity
    >>> found = perplexity(model, corpus)
    >>> found.value < corpus.n_words, found.unknown_tokens
    (True, 0)
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r}: expected one of {', '.join(map(repr, METHODS))}")
    check_is_fitted(model)
    if method == "bound":
        corpus = model.aligned(X, tags)
        return _from_bound(model, corpus, _unknown_tokens(X, corpus))
    psi = np.ascontiguousarray(np.asarray(model.components_).T)
    values: list[float] = []
    n_tokens, skipped = 0.0, 0
    unknown: int | None = 0
    for part in _parts(X) if tags is None else [X]:
        corpus = model.aligned(part, tags)
        found = _unknown_tokens(part, corpus)
        unknown = None if found is None else (unknown or 0) + found
        observed, scored = corpus.counts, corpus.counts
        if method == "completion":
            observed, scored = split_tokens(corpus, random_state)
        used = (np.diff(observed.indptr) > 0) & (np.diff(scored.indptr) > 0)
        skipped += int(len(used) - used.sum())
        if not used.any():
            continue
        rows = np.flatnonzero(used)
        view, target = (corpus.with_matrices(counts=counts)[rows] for counts in (observed, scored))
        values += _score(target, np.asarray(model.transform(view)), psi).tolist()
        n_tokens += float(target.lengths().sum())
        if isinstance(part, Corpus):
            release(part.counts.indices, part.counts.data, part.tags.indices)
    if not values:
        raise ValueError(NOTHING_LEFT)
    # fsum is exact, so neither the order of the documents nor the parts can change the value
    return Perplexity(math.exp(-math.fsum(values) / n_tokens), int(n_tokens), unknown, skipped)


def _parts(X: Any) -> Iterable[Any]:
    """A corpus part by part, so that one on disk is never in memory whole; anything else as it is."""
    if not isinstance(X, Corpus) or not len(X):
        return [X]
    return (X[first:last] for first, last in row_blocks(X.counts.indptr, PART_ENTRIES))


def _unknown_tokens(X: Any, known: Corpus) -> int | None:
    if isinstance(X, Corpus):
        return X.n_tokens - known.n_tokens
    counts = X if sp.issparse(X) else np.asarray(X)
    return max(int(counts.sum()) - known.n_tokens, 0) if counts.dtype.kind in "buif" else None


def _score(target: Corpus, mixes: Any, psi: Any) -> Any:
    counts = target.counts
    return log_probabilities(
        np.asarray(counts.indptr), np.asarray(counts.indices), np.asarray(counts.data), np.ascontiguousarray(mixes), psi
    )


def _from_bound(model: Any, corpus: Corpus, unknown: int | None) -> Perplexity:
    if not hasattr(model, "_posteriors"):
        raise ValueError(f"{type(model).__name__} gives no bound on the likelihood: use 'completion' or 'fitted'")
    if not method_of(model.inference).is_bound:
        raise ValueError(f"inference={model.inference!r} does not bound the likelihood: use 'completion' or 'fitted'")
    total = float(corpus.lengths().sum())
    if not total:
        raise ValueError(NOTHING_LEFT)
    bound = model._posteriors(corpus, None).objective
    return Perplexity(float(np.exp(-bound / total)), corpus.n_tokens, unknown, 0)
