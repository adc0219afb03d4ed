"""Perplexity: exp of minus the mean log probability of a word, the effective number of equally likely words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s, row_blocks
from tagtopic._core.estimator import check_is_fitted
from tagtopic._core.jit import compiled_reordering
from tagtopic._core.memmap import release
from tagtopic.corpus import Corpus
from tagtopic.corpus.splits import split_tokens
from tagtopic.inference.methods import method_of

METHODS = ("completion", "tags", "fitted", "bound")

NONE: Float64s = np.empty(0)
"""What own words add to the probabilities of words under a model without them."""

NOTHING_TO_SCORE = "no document has words left to score"


class TopicModel(Protocol):
    """The interface that ``perplexity`` needs: that of tagtopic's models and of the baselines."""

    @property
    def components_(self) -> Any:
        """(topics, words); rows sum to 1."""

    def aligned(self, X: Any, tags: Any = None) -> Corpus:
        """Return X in the model's words and tags, without the words that it cannot score."""
        ...

    def transform(self, X: Any) -> Any:
        """Return (documents, topics) of what ``aligned`` returned; rows sum to 1."""


@dataclass(frozen=True)
class Perplexity:
    """The result of ``perplexity``.

    Attributes
    ----------
    value : float
        The perplexity; lower is better.
    scored_tokens : int
        The number of words that were scored.
    unknown_tokens : int or None
        The number of words outside the model's vocabulary; None for texts, where it is not counted.
    skipped_documents : int
        The number of documents without words to observe or to score.

    Examples
    --------
    >>> from tagtopic.evaluation import Perplexity
    >>> Perplexity(812.5, 10_000, 120, 0).value
    812.5
    """

    value: float
    scored_tokens: int
    unknown_tokens: int | None
    skipped_documents: int


def perplexity(
    model: TopicModel,
    X: Any,
    *,
    tags: Any = None,
    method: str = "completion",
    random_state: int = 0,
    batch_entries: int = 1 << 22,
) -> Perplexity:
    """Compute the perplexity of a topic model on documents.

    Words outside the model's vocabulary are not scored. The value does not depend on batches, nor on the order of
    documents with ids (the tokens are split by id; rows of a matrix and bare texts have their numbers as ids).

    Parameters
    ----------
    model : fitted model or baseline
        A fitted model.
    X : Corpus, list of texts, or matrix of word counts
        The documents.
    tags : list of lists of names, or 0/1 matrix, optional
        Their tags; a Corpus has its own.
    method : {"completion", "tags", "fitted", "bound"}, default="completion"
        "completion" splits the tokens of each document at random into halves, infers its topics from one half and
        scores the other (document completion); documents with an empty half are skipped. "tags" infers a document's
        topics from its tags alone and scores all of its words: what the tags are worth. "fitted" infers from all words
        and scores the same, which is optimistic. "bound" uses the variational bound on the likelihood.
    random_state : int, default=0
        Seed of the token split.
    batch_entries : int, default=2**22
        (document, word) entries of a corpus that are scored at a time.

    Returns
    -------
    Perplexity

    Raises
    ------
    ValueError
        If no word can be scored, or the model has no bound.

    References
    ----------
    Wallach, Murray, Salakhutdinov and Mimno, "Evaluation methods for topic models", ICML 2009.

    Examples
    --------
    >>> from tagtopic import TWDA, Corpus
    >>> corpus = Corpus.from_texts(["a ship in space", "police hunt a killer"] * 5, [["space"], ["crime"]] * 5)
    >>> model = TWDA(2, random_state=0).fit(corpus)
    >>> from tagtopic.evaluation import perplexity
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
    for batch in _batches(X, batch_entries) if tags is None else [X]:
        corpus = model.aligned(batch, tags)
        found = _unknown_tokens(batch, corpus)
        unknown = None if found is None else (unknown or 0) + found
        observed, scored = corpus.counts, corpus.counts
        if method == "completion":
            observed, scored = split_tokens(corpus, random_state)
        elif method == "tags":
            observed = sp.csr_array(corpus.counts.shape, dtype=corpus.counts.dtype)
        used = np.diff(scored.indptr) > 0
        if method != "tags":
            used &= np.diff(observed.indptr) > 0
        skipped += int(len(used) - used.sum())
        if not used.any():
            continue
        rows = np.flatnonzero(used)
        view, target = (corpus.with_matrices(counts=counts)[rows] for counts in (observed, scored))
        mixes, own = _predictive(model, view, target)
        values += _log_likelihoods(target, np.asarray(mixes), psi, own).tolist()
        n_tokens += float(target.lengths().sum())
        if isinstance(batch, Corpus):
            release(batch.counts.indices, batch.counts.data, batch.tags.indices)
    if not values:
        raise ValueError(NOTHING_TO_SCORE)
    # fsum is exact, so that neither the order of the documents nor the batches change the value
    return Perplexity(math.exp(-math.fsum(values) / n_tokens), int(n_tokens), unknown, skipped)


def _batches(X: Any, batch_entries: int) -> Iterable[Any]:
    """Return a corpus in batches, so that one on disk is never in memory whole; anything else as it is."""
    if not isinstance(X, Corpus) or not len(X):
        return [X]
    return (X[first:last] for first, last in row_blocks(X.counts.indptr, batch_entries))


def _unknown_tokens(X: Any, known: Corpus) -> int | None:
    if isinstance(X, Corpus):
        return X.n_tokens - known.n_tokens
    counts = X if sp.issparse(X) else np.asarray(X)
    return max(int(counts.sum()) - known.n_tokens, 0) if counts.dtype.kind in "buif" else None


def _predictive(model: Any, observed: Corpus, scored: Corpus) -> tuple[Any, Any]:
    """Return the topic mixes given the observed words, and what words of tags' own add to those that are scored."""
    if hasattr(model, "_predictive"):
        mixes, own = model._predictive(observed, scored)
        return mixes, own
    return model.transform(observed), NONE


def _log_likelihoods(target: Corpus, topic_mixes: Any, psi: Any, own: Any) -> Any:
    counts = target.counts
    starts, words, amounts = (np.asarray(part) for part in (counts.indptr, counts.indices, counts.data))
    return log_probabilities(starts, words, amounts, np.ascontiguousarray(topic_mixes), psi, own)


def _from_bound(model: Any, corpus: Corpus, unknown: int | None) -> Perplexity:
    if not hasattr(model, "_posteriors"):
        raise ValueError(f"{type(model).__name__} gives no bound on the likelihood: use 'completion' or 'fitted'")
    if not method_of(model.inference_).is_bound:
        raise ValueError(f"inference={model.inference_!r} does not bound the likelihood: use 'completion' or 'fitted'")
    total = float(corpus.lengths().sum())
    if not total:
        raise ValueError(NOTHING_TO_SCORE)
    bound = model._posteriors(corpus, None).objective
    return Perplexity(float(np.exp(-bound / total)), corpus.n_tokens, unknown, 0)


@compiled_reordering
def log_probabilities(
    starts: Int64s, words: Int32s, counts: Floats, mixes: Floats, psi: Floats, own: Float64s
) -> Float64s:
    """Return ``counts_d @ log(psi[words_d] @ mixes[d] + own_d)`` for each document d.

    ``own`` has one number per word entry, counted from that of the first document, or is empty.
    """
    values = np.zeros(starts.shape[0] - 1)
    for d in range(starts.shape[0] - 1):
        for p in range(starts[d], starts[d + 1]):
            total = own[p - starts[0]] if own.shape[0] > 0 else 0.0
            for k in range(psi.shape[1]):
                total += mixes[d, k] * psi[words[p], k]
            values[d] += counts[p] * np.log(max(float(total), 1e-300))
    return values
