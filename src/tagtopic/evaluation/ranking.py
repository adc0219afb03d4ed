"""How high right tags rank: recall, precision and F1 among the first n, and the mean reciprocal rank."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagtopic.inference.arrays import Float64s, Int64s


@dataclass(frozen=True)
class TagRanks:
    """Where the right tags of documents stand among all; each number is a mean over the documents that have any.

    ``documents`` and ``ranks`` have one entry for each right tag of each document: its document, and its rank from 1
    (infinite where it was not ranked, which counts as missed).

    Examples
    --------
    >>> from tagtopic.evaluation.ranking import rank_lists
    >>> ranks = rank_lists([["a", "b"], ["c", "d"]], [["b"], ["c", "e"]])
    >>> ranks.recall(1), ranks.recall(2), ranks.reciprocal()
    (0.25, 0.75, 0.75)
    """

    documents: Int64s
    ranks: Float64s

    def recall(self, n: int) -> float:
        """The share of a document's right tags that are among its first n."""
        return float(np.mean(self._hits(n) / self._sizes()))

    def precision(self, n: int) -> float:
        """The share of right tags among the first n."""
        return float(np.mean(self._hits(n) / n))

    def f1(self, n: int) -> float:
        """The harmonic mean of a document's precision and recall among the first n."""
        return float(np.mean(2 * self._hits(n) / (n + self._sizes())))

    def reciprocal(self) -> float:
        """One over the rank of the first right tag."""
        best = np.full(len(self._owners()), np.inf)
        np.minimum.at(best, self._places(), self.ranks)
        return float(np.mean(1 / best))

    def _owners(self) -> Int64s:
        return np.unique(self.documents)

    def _places(self) -> Int64s:
        return np.searchsorted(self._owners(), self.documents)

    def _sizes(self) -> Int64s:
        return np.bincount(self._places())

    def _hits(self, n: int) -> Int64s:
        return np.bincount(self._places(), weights=self.ranks <= n, minlength=len(self._owners()))


def rank_scores(batches: Iterable[tuple[slice, Float64s]], truth: Any) -> TagRanks:
    """Ranks by scores (documents, tags), run by run as ``tag_score_batches`` gives them.

    ``truth`` is a 0/1 CSR matrix of the right tags in the same columns. Equal scores share their mean rank, so that
    what a method does not tell apart is worth no more than chance; minus infinity is not ranked.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from tagtopic.evaluation.ranking import rank_scores
    >>> scores = np.array([[0.1, 0.7, 0.2]])
    >>> rank_scores([(slice(0, 1), scores)], csr_array([[0, 0, 1]])).ranks.tolist()
    [2.0]
    """
    documents, ranks = [], []
    for run, scores in batches:
        own = truth[run].tocoo()
        ordered = np.sort(scores, axis=1)
        for document in np.unique(own.row):
            columns = own.col[own.row == document]
            values = scores[document, columns]
            above = ordered.shape[1] - np.searchsorted(ordered[document], values, side="right")
            alike = ordered.shape[1] - np.searchsorted(ordered[document], values, side="left") - above
            documents.append(np.full(len(columns), document + run.start))
            ranks.append(np.where(np.isneginf(values), np.inf, above + (alike + 1) / 2))
    return _joined(documents, ranks)


def rank_lists(ranked: Sequence[Sequence[Any]], truth: Sequence[Collection[Any]]) -> TagRanks:
    """Ranks from a list of tags for each document, best first; tags that are not in it are not ranked.

    Examples
    --------
    >>> from tagtopic.evaluation.ranking import rank_lists
    >>> rank_lists([["a", "b", "c"]], [["b", "z"]]).ranks.tolist()
    [2.0, inf]
    """
    documents, ranks = [], []
    for document, (tags, own) in enumerate(zip(ranked, truth, strict=True)):
        place = {tag: rank for rank, tag in enumerate(tags, 1)}
        documents.append(np.full(len(own), document))
        ranks.append(np.array([place.get(tag, np.inf) for tag in own], dtype=np.float64))
    return _joined(documents, ranks)


def _joined(documents: list[Any], ranks: list[Any]) -> TagRanks:
    if not any(len(part) for part in documents):
        raise ValueError("no document has a tag: there is nothing to rank")
    return TagRanks(np.concatenate(documents).astype(np.int64), np.concatenate(ranks))
