"""How high right tags rank: recall, precision and F1 among the first n, and the mean reciprocal rank."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagtopic._core.arrays import Float64s, Int64s


@dataclass(frozen=True)
class TagRanks:
    """Where the right tags of documents stand among all; each number is a mean over the documents that have any.

    ``documents``, ``above`` and ``alike`` have one entry for each right tag of each document: its document, how many
    tags are ranked above it (infinitely many where it was not ranked, which counts as missed), and how many are not
    told apart from it, itself among them. Of tags alike every order is as likely, and each number is the mean over
    all orders.

    Examples
    --------
    >>> from tagtopic.evaluation.ranking import rank_lists
    >>> ranks = rank_lists([["a", "b"], ["c", "d"]], [["b"], ["c", "e"]])
    >>> ranks.recall(1), ranks.recall(2), ranks.reciprocal()
    (0.25, 0.75, 0.75)
    """

    documents: Int64s
    above: Float64s
    alike: Float64s

    @property
    def ranks(self) -> Float64s:
        """The rank of each right tag, from 1; tags alike share their mean rank."""
        return self.above + (self.alike + 1) / 2

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
        places = self._places()
        above, alike = np.full(len(self._owners()), np.inf), np.ones(len(self._owners()))
        np.minimum.at(above, places, self.above)
        foremost = self.above == above[places]
        alike[places[foremost]] = self.alike[foremost]
        right = np.bincount(places, weights=foremost)
        return float(np.mean([_expected_reciprocal(*found) for found in zip(above, alike, right, strict=True)]))

    def _owners(self) -> Int64s:
        return np.unique(self.documents)

    def _places(self) -> Int64s:
        return np.searchsorted(self._owners(), self.documents)

    def _sizes(self) -> Int64s:
        return np.bincount(self._places())

    def _hits(self, n: int) -> Float64s:
        chances = np.clip((n - self.above) / self.alike, 0.0, 1.0)
        hits: Float64s = np.bincount(self._places(), weights=chances, minlength=len(self._owners())).astype(np.float64)
        return hits


def _expected_reciprocal(above: float, alike: float, right: float) -> float:
    """One over the rank of the first of ``right`` tags among ``alike`` that come after ``above`` others."""
    right = min(right, alike)
    places = np.arange(1, alike - right + 2)
    still_to_come = np.cumprod((alike - right + 1 - places) / (alike + 1 - places))
    chances = -np.diff(still_to_come, prepend=1.0)
    return float(chances @ (1 / (above + places)))


def rank_scores(batches: Iterable[tuple[slice, Float64s]], truth: Any) -> TagRanks:
    """Ranks by scores (documents, tags), run by run as ``tag_score_batches`` gives them.

    ``truth`` is a 0/1 CSR matrix of the right tags in the same columns. Equal scores are taken in every order,
    so that what a method does not tell apart is worth no more than chance; minus infinity is not ranked.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from tagtopic.evaluation.ranking import rank_scores
    >>> scores = np.array([[0.1, 0.7, 0.2]])
    >>> rank_scores([(slice(0, 1), scores)], csr_array([[0, 0, 1]])).ranks.tolist()
    [2.0]
    """
    documents, ranked_above, not_told_apart = [], [], []
    for run, scores in batches:
        own = truth[run].tocoo()
        ordered = np.sort(scores, axis=1)
        for document in np.unique(own.row):
            columns = own.col[own.row == document]
            values = scores[document, columns]
            above = ordered.shape[1] - np.searchsorted(ordered[document], values, side="right")
            alike = ordered.shape[1] - np.searchsorted(ordered[document], values, side="left") - above
            missed = np.isneginf(values)
            documents.append(np.full(len(columns), document + run.start))
            ranked_above.append(np.where(missed, np.inf, above))
            not_told_apart.append(np.where(missed, 1, alike))
    return _joined(documents, ranked_above, not_told_apart)


def rank_lists(ranked: Sequence[Sequence[Any]], truth: Sequence[Collection[Any]]) -> TagRanks:
    """Ranks from a list of tags for each document, best first; tags that are not in it are not ranked.

    Examples
    --------
    >>> from tagtopic.evaluation.ranking import rank_lists
    >>> rank_lists([["a", "b", "c"]], [["b", "z"]]).ranks.tolist()
    [2.0, inf]
    """
    documents, above = [], []
    for document, (tags, own) in enumerate(zip(ranked, truth, strict=True)):
        place = {tag: before for before, tag in enumerate(tags)}
        documents.append(np.full(len(own), document))
        above.append(np.array([place.get(tag, np.inf) for tag in own], dtype=np.float64))
    return _joined(documents, above, [np.ones(len(part)) for part in above])


def _joined(documents: list[Any], above: list[Any], alike: list[Any]) -> TagRanks:
    if not any(len(part) for part in documents):
        raise ValueError("no document has a tag: there is nothing to rank")
    joined = (np.concatenate(part).astype(np.float64) for part in (above, alike))
    return TagRanks(np.concatenate(documents).astype(np.int64), *joined)
