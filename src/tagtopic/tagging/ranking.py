"""The tags of documents ranked by weight: sorted all at once, listed per document on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from tagtopic._core.arrays import offsets_of
from tagtopic._core.frames import Tabular
from tagtopic._core.records import Categorical, Records
from tagtopic._core.strings import StringArray

Ranked = list[tuple[str, float]]


@dataclass(frozen=True)
class RankedTag:
    """A tag of a document by weight, with its credible interval.

    Attributes
    ----------
    tag : str
        The tag.
    weight : float
        Its weight.
    low, high : float
        The ends of the interval.
    place : int
        The rank from 1. Tags whose intervals overlap that of the heaviest of them have the same: the words do not
        tell which is heavier.

    Examples
    --------
    >>> from tagtopic.tagging import RankedTag
    >>> RankedTag("space", 0.6, 0.3, 0.8, 1).place
    1
    """

    tag: str
    weight: float
    low: float
    high: float
    place: int


class RankedTags(Tabular, Sequence[Ranked]):
    """The tags of each document with their weights, heaviest first; a sequence with one list per document.

    It is what ``model.rank_tags`` returns. The lists are built when they are accessed. As a data frame, a row per
    document and tag: id, title (if the documents have titles), rank, tag and weight; with intervals also low, high and
    place.

    Parameters
    ----------
    starts, tags, weights : array
        The numbers and weights of document i's tags are at ``starts[i]:starts[i + 1]``.
    tag_names : tuple of str
        The tags by number.
    low, high : array or None, default=None
        The ends of the weights' credible intervals, in the order of the weights.
    ids : sequence of str or None, default=None
        The ids of the documents; None: their numbers.
    titles : sequence of str or None, default=None
        The titles of the documents: a column of tables and data frames.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from tagtopic.tagging import RankedTags
    >>> ranked = RankedTags.from_weights(csr_array([[0.25, 0.75], [1.0, 0.0]]), ("space", "crime"))
    >>> ranked[0]
    [('crime', 0.75), ('space', 0.25)]
    """

    def __init__(
        self,
        starts: Any,
        tags: Any,
        weights: Any,
        tag_names: tuple[str, ...],
        low: Any = None,
        high: Any = None,
        ids: StringArray | None = None,
        titles: StringArray | None = None,
    ) -> None:
        self._starts, self._tags, self._weights, self._tag_names = starts, tags, weights, tag_names
        self._low, self._high = low, high
        self._ids, self._titles = ids, titles

    @classmethod
    def from_weights(
        cls,
        weights: Any,
        tag_names: tuple[str, ...],
        n: int | None = None,
        *,
        low: Any = None,
        high: Any = None,
        ids: StringArray | None = None,
        titles: StringArray | None = None,
    ) -> RankedTags:
        """Rank the entries of a CSR matrix of weights.

        Parameters
        ----------
        weights : CSR of shape (n_documents, n_tags)
            Weights; tags with equal weights stay in the order of the columns.
        tag_names : tuple of str
            The tags in the columns.
        n : int, optional
            At most this many tags per document.
        low, high : CSR, optional
            The ends of the weights' intervals, with entries as those of the weights.
        ids, titles : StringArray, optional
            The ids and titles of the documents.

        Returns
        -------
        RankedTags
        """
        sizes = np.diff(weights.indptr)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((-weights.data, owner))  # stable: ties stay in the order of the tags
        if n is not None:
            rank = np.arange(len(owner)) - np.repeat(weights.indptr[:-1], sizes)
            order, sizes = order[rank < n], np.minimum(sizes, n)
        starts = offsets_of(sizes)
        lows, highs = (None if bound is None else bound.data[order] for bound in (low, high))
        return cls(starts, weights.indices[order], weights.data[order], tag_names, lows, highs, ids, titles)

    @property
    def has_intervals(self) -> bool:
        """Whether the weights have intervals."""
        return self._low is not None

    def with_intervals(self, index: int) -> list[RankedTag]:
        """Return the tags of a document with their intervals and places.

        Parameters
        ----------
        index : int
            The document.

        Returns
        -------
        list of RankedTag

        Raises
        ------
        ValueError
            If the weights have no intervals.
        """
        if self._low is None:
            raise ValueError("these weights have no intervals: rank_tags(X, intervals=0.9) computes them")
        ranked = self[index]
        first = int(self._starts[index % len(self)])
        ends = [bound[first : first + len(ranked)].tolist() for bound in (self._low, self._high)]
        places = tied_places(*ends)
        return [RankedTag(*pair, *rest) for pair, *rest in zip(ranked, *ends, places, strict=True)]

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, index: int) -> Ranked: ...
    @overload
    def __getitem__(self, index: slice) -> list[Ranked]: ...
    def __getitem__(self, index: int | slice) -> Ranked | list[Ranked]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no document {index}: {len(self)} are ranked")
        first, last = self._starts[index % len(self)], self._starts[index % len(self) + 1]
        names = (self._tag_names[j] for j in self._tags[first:last])
        return list(zip(names, self._weights[first:last].tolist(), strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(tags) for tags in self[:3])
        return f"[{shown}{', …' if len(self) > 3 else ''}]"

    def _arrow_table(self, most: int | None = None) -> Any:
        return self.table(self._ids or StringArray.numbered(len(self)))

    def table(self, ids: StringArray) -> Any:
        """Return an Arrow table with the columns id, rank, tag and weight; with intervals also low, high and place.

        After the id there is a title, if the documents have titles.

        Parameters
        ----------
        ids : StringArray
            The ids of the documents.

        Returns
        -------
        pyarrow.Table
            One row per document and tag.
        """
        sizes = np.diff(self._starts)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        columns: dict[str, Any] = {
            "id": Categorical(owner, ids),
            **({} if self._titles is None else {"title": Categorical(owner, self._titles)}),
            "rank": np.arange(len(owner)) - np.repeat(self._starts[:-1], sizes) + 1,
            "tag": Categorical(self._tags, self._tag_names),
            "weight": np.asarray(self._weights),
        }
        if self._low is not None:
            places = [place for d in range(len(self)) for place in self._places(d)]
            columns |= {"low": np.asarray(self._low), "high": np.asarray(self._high)}
            columns["place"] = np.array(places, np.int64)
        return Records(columns, lambda i: i).table()

    def _places(self, index: int) -> list[int]:
        part = slice(self._starts[index], self._starts[index + 1])
        return tied_places(self._low[part], self._high[part])


def tied_places(low: Sequence[float], high: Sequence[float]) -> list[int]:
    """Return the place of each tag, in the order of their weights, from the ends of their intervals.

    A tag has the place of the heaviest tag before it whose interval overlaps its own; otherwise the next place.

    Examples
    --------
    >>> from tagtopic.tagging.ranking import tied_places
    >>> tied_places([0.5, 0.1, 0.0], [0.9, 0.6, 0.2])
    [1, 1, 3]
    """
    places: list[int] = []
    leader = 0
    for i, end in enumerate(high):
        if i and end < low[leader]:
            leader = i
        places.append(leader + 1)
    return places
