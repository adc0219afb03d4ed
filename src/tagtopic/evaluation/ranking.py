"""Quality of tag rankings: recall, precision and F1 among the first n, and the mean reciprocal rank."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagtopic._core.arrays import Float64s, Int64s


@dataclass(frozen=True)
class TagRanks:
    """The ranks of the true tags of documents.

    Each measure is a mean over the documents that have true tags. Of tied tags every order is equally likely, and each
    measure is the mean over all orders.

    Attributes
    ----------
    documents : ndarray of shape (n_true_tags,)
        The document of each true tag.
    above : ndarray of shape (n_true_tags,)
        The number of tags that are ranked above it; infinite where it is not ranked, which counts as missed.
    tied : ndarray of shape (n_true_tags,)
        The number of tags with the same score, itself included.

    Examples
    --------
    >>> from tagtopic.evaluation import rank_lists
    >>> ranks = rank_lists([["a", "b"], ["c", "d"]], [["b"], ["c", "e"]])
    >>> ranks.recall(1), ranks.recall(2), ranks.reciprocal()
    (0.25, 0.75, 0.75)
    """

    documents: Int64s
    above: Float64s
    tied: Float64s

    @property
    def ranks(self) -> Float64s:
        """The rank of each true tag, from 1; tied tags share their mean rank."""
        return self.above + (self.tied + 1) / 2

    def recall(self, n: int) -> float:
        """Return the mean share of a document's true tags that are among its first n.

        Parameters
        ----------
        n : int
            The number of tags that are considered per document.

        Returns
        -------
        float
            The mean recall.
        """
        return float(np.mean(self._hits(n) / self._n_true()))

    def precision(self, n: int) -> float:
        """Return the mean share of true tags among a document's first n.

        Parameters
        ----------
        n : int
            The number of tags that are considered per document.

        Returns
        -------
        float
            The mean precision.
        """
        return float(np.mean(self._hits(n) / n))

    def f1(self, n: int) -> float:
        """Return the mean harmonic mean of a document's precision and recall among the first n.

        Parameters
        ----------
        n : int
            The number of tags that are considered per document.

        Returns
        -------
        float
            The mean F1.
        """
        return float(np.mean(2 * self._hits(n) / (n + self._n_true())))

    def reciprocal(self) -> float:
        """Return the mean reciprocal rank: one over the rank of a document's first true tag."""
        owners = self._owners()
        above, tied = np.full(len(self._documents_with_tags()), np.inf), np.ones(len(self._documents_with_tags()))
        np.minimum.at(above, owners, self.above)
        foremost = self.above == above[owners]
        tied[owners[foremost]] = self.tied[foremost]
        n_true = np.bincount(owners, weights=foremost)
        return float(np.mean([_expected_reciprocal(*found) for found in zip(above, tied, n_true, strict=True)]))

    def _documents_with_tags(self) -> Int64s:
        return np.unique(self.documents)

    def _owners(self) -> Int64s:
        """Return the number of each true tag's document among those with tags."""
        return np.searchsorted(self._documents_with_tags(), self.documents)

    def _n_true(self) -> Int64s:
        return np.bincount(self._owners())

    def _hits(self, n: int) -> Float64s:
        """Return the expected number of true tags among each document's first n."""
        chances = np.clip((n - self.above) / self.tied, 0.0, 1.0)
        n_documents = len(self._documents_with_tags())
        return np.bincount(self._owners(), weights=chances, minlength=n_documents).astype(np.float64)


def _expected_reciprocal(above: float, tied: float, n_true: float) -> float:
    """Return the expected 1 / rank of the first of ``n_true`` tags among ``tied`` that follow ``above`` others."""
    n_true = min(n_true, tied)
    places = np.arange(1, tied - n_true + 2)
    still_to_come = np.cumprod((tied - n_true + 1 - places) / (tied + 1 - places))
    chances = -np.diff(still_to_come, prepend=1.0)
    return float(chances @ (1 / (above + places)))


def rank_scores(batches: Iterable[tuple[slice, Float64s]], truth: Any) -> TagRanks:
    """Rank tags by scores.

    Parameters
    ----------
    batches : iterable of (slice, array of shape (n_documents, n_tags))
        Documents and their scores, as ``tag_score_batches`` of a baseline yields them. Equal scores are ties; minus
        infinity is not ranked.
    truth : CSR of shape (n_documents, n_tags)
        The true tags in the same columns.

    Returns
    -------
    TagRanks

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from tagtopic.evaluation import rank_scores
    >>> scores = np.array([[0.1, 0.7, 0.2]])
    >>> rank_scores([(slice(0, 1), scores)], csr_array([[0, 0, 1]])).ranks.tolist()
    [2.0]
    """
    all_documents, all_above, all_tied = [], [], []
    for rows, scores in batches:
        own = truth[rows].tocoo()
        ordered = np.sort(scores, axis=1)
        for document in np.unique(own.row):
            columns = own.col[own.row == document]
            values = scores[document, columns]
            above = ordered.shape[1] - np.searchsorted(ordered[document], values, side="right")
            tied = ordered.shape[1] - np.searchsorted(ordered[document], values, side="left") - above
            missed = np.isneginf(values)
            all_documents.append(np.full(len(columns), document + rows.start))
            all_above.append(np.where(missed, np.inf, above))
            all_tied.append(np.where(missed, 1, tied))
    return _concatenated(all_documents, all_above, all_tied)


def rank_lists(ranked: Sequence[Sequence[Any]], truth: Sequence[Collection[Any]]) -> TagRanks:
    """Rank tags by lists.

    Parameters
    ----------
    ranked : sequence of sequences
        The tags of each document, best first; others are not ranked.
    truth : sequence of collections
        The true tags of each document.

    Returns
    -------
    TagRanks

    Examples
    --------
    >>> from tagtopic.evaluation import rank_lists
    >>> rank_lists([["a", "b", "c"]], [["b", "z"]]).ranks.tolist()
    [2.0, inf]
    """
    documents, above = [], []
    for document, (tags, own) in enumerate(zip(ranked, truth, strict=True)):
        place = {tag: before for before, tag in enumerate(tags)}
        documents.append(np.full(len(own), document))
        above.append(np.array([place.get(tag, np.inf) for tag in own], dtype=np.float64))
    return _concatenated(documents, above, [np.ones(len(part)) for part in above])


def _concatenated(documents: list[Any], above: list[Any], tied: list[Any]) -> TagRanks:
    if not any(len(part) for part in documents):
        raise ValueError("no document has a tag: there is nothing to rank")
    floats = (np.concatenate(part).astype(np.float64) for part in (above, tied))
    return TagRanks(np.concatenate(documents).astype(np.int64), *floats)
