"""The tags of documents ranked by weight: sorted all at once, listed per document on demand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from tagtopic._core.arrays import offsets_of
from tagtopic._core.records import Categorical, Records
from tagtopic._core.strings import StringArray

Ranked = list[tuple[str, float]]


class RankedTags(Sequence[Ranked]):
    """The tags of each document with their weights, heaviest first; a sequence with one list per document.

    It is what ``model.rank_tags`` returns. The lists are built when they are accessed.

    Parameters
    ----------
    starts, tags, weights : array
        The numbers and weights of document i's tags are at ``starts[i]:starts[i + 1]``.
    tag_names : tuple of str
        The tags by number.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from tagtopic.tagging import RankedTags
    >>> ranked = RankedTags.from_weights(csr_array([[0.25, 0.75], [1.0, 0.0]]), ("space", "crime"))
    >>> ranked[0]
    [('crime', 0.75), ('space', 0.25)]
    """

    def __init__(self, starts: Any, tags: Any, weights: Any, tag_names: tuple[str, ...]) -> None:
        self._starts, self._tags, self._weights, self._tag_names = starts, tags, weights, tag_names

    @classmethod
    def from_weights(cls, weights: Any, tag_names: tuple[str, ...], n: int | None = None) -> RankedTags:
        """Rank the entries of a CSR matrix of weights.

        Parameters
        ----------
        weights : CSR of shape (n_documents, n_tags)
            Weights; tags with equal weights stay in the order of the columns.
        tag_names : tuple of str
            The tags in the columns.
        n : int, optional
            At most this many tags per document.

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
        return cls(starts, weights.indices[order], weights.data[order], tag_names)

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

    def table(self, ids: StringArray) -> Any:
        """Return an Arrow table with the columns id, rank, tag and weight.

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
        columns = {
            "id": Categorical(owner, ids),
            "rank": np.arange(len(owner)) - np.repeat(self._starts[:-1], sizes) + 1,
            "tag": Categorical(self._tags, self._tag_names),
            "weight": np.asarray(self._weights),
        }
        return Records(columns, lambda i: i).table()
