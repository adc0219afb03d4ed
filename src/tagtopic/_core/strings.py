"""Millions of short strings in two arrays, which can be memory-mapped."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tagtopic._core import ragged
from tagtopic._core.jit import compiled

FNV_START = np.uint64(0xCBF29CE484222325)
FNV_PRIME = np.uint64(0x100000001B3)


class Names(Sequence[str]):
    """An immutable sequence of strings: UTF-8 bytes end to end, and the offset where each begins.

    A million document ids as Python strings take about 60 MB and a slow start; packed they take
    their bytes plus 8 each, and slices of them are views.

    Examples
    --------
    >>> from tagtopic import Corpus
    >>> ids = Corpus.from_counts([[1], [2]], ids=["first", "second"]).ids
    >>> ids[1], len(ids)
    ('second', 2)
    """

    __slots__ = ("_bytes", "_offsets")

    def __init__(self, offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
        self._offsets = offsets.view()
        self._bytes = data.view()
        self._offsets.flags.writeable = False
        self._bytes.flags.writeable = False

    @classmethod
    def of(cls, strings: Iterable[str]) -> "Names":
        """Pack strings; anything that is not a string or cannot be written as UTF-8 is an error."""
        if isinstance(strings, Names):
            return strings
        encoded = [_encode(string, i) for i, string in enumerate(strings)]
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
        return cls(ragged.offsets_of(lengths), np.frombuffer(b"".join(encoded), dtype=np.uint8))

    @classmethod
    def numbered(cls, n: int) -> "Names":
        """The names "0", "1", … "n - 1"."""
        return cls.of(map(str, range(n)))

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each string begins in `data`, and at the end where the last one stops."""
        return self._offsets

    @property
    def data(self) -> NDArray[np.uint8]:
        """The UTF-8 bytes of all strings, one after the other."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> "Names": ...
    def __getitem__(self, index: int | slice) -> "str | Names":
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1:
                return Names(*ragged.take_range(self._offsets, self._bytes, start, max(start, stop)))
            return self.take(np.arange(start, stop, step))
        i = index + len(self) if index < 0 else index
        if not 0 <= i < len(self):
            raise IndexError(f"there is no name {index}: there are {len(self)} names")
        return self._bytes[self._offsets[i] : self._offsets[i + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        block = 4096  # decode from one bytes object a block: far fewer array slices than one a string
        for first in range(0, len(self), block):
            offsets = self._offsets[first : first + block + 1].tolist()
            data = self._bytes[offsets[0] : offsets[-1]].tobytes()
            base = offsets[0]
            for start, stop in pairwise(offsets):
                yield data[start - base : stop - base].decode()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names):
            return len(self) == len(other) and (
                np.array_equal(self._offsets, other._offsets) and np.array_equal(self._bytes, other._bytes)
            )
        if isinstance(other, Sequence) and not isinstance(other, str):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(name) for name in self[:5])
        return f"Names([{shown}{', …' if len(self) > 5 else ''}], {len(self)} in all)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Names, (np.array(self._offsets), np.array(self._bytes))

    def take(self, indices: NDArray[Any]) -> "Names":
        """The names at these positions, in this order."""
        return Names(*ragged.take(self._offsets, self._bytes, np.asarray(indices, dtype=np.int64)))

    def concatenated(self, other: "Names") -> "Names":
        """These names followed by others."""
        offsets = np.concatenate([self._offsets, other._offsets[1:] - other._offsets[0] + self._offsets[-1]])
        return Names(offsets, np.concatenate([self._bytes, other._bytes]))

    def hashes(self) -> NDArray[np.uint64]:
        """A 64-bit hash of each string, the same on every platform: FNV-1a, then splitmix64's mixer.

        FNV-1a alone leaves the high bits of short strings poorly mixed.
        """
        result = np.empty(len(self), dtype=np.uint64)
        _hash_strings(self._offsets, self._bytes, result)
        return result


def _encode(string: str, position: int) -> bytes:
    if not isinstance(string, str):
        raise TypeError(f"name {position} is {string!r}, a {type(string).__name__}: names must be strings")
    try:
        return string.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"name {position}, {string!r}, has half a character (a lone surrogate) and cannot be stored as UTF-8"
        ) from None


@compiled
def finish_hash(h: Any) -> Any:
    """The finishing steps of splitmix64: every bit of the result depends on every bit of h."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@compiled
def _hash_strings(offsets: Any, data: Any, result: Any) -> None:
    for i in range(result.size):
        h = FNV_START
        for j in range(offsets[i], offsets[i + 1]):
            h = (h ^ np.uint64(data[j])) * FNV_PRIME
        result[i] = finish_hash(h)
