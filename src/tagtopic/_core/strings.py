"""Millions of short strings in flat arrays: a packed sequence, and a hash table that numbers them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import offsets_of, take_row_range, take_rows
from tagtopic._core.hashing import EMPTY, fill_slots, find_slot, hash_strings, n_slots_for
from tagtopic._core.jit import compiled
from tagtopic._core.memmap import file_of

MAX_STRINGS = 2**31 - 2

FEW = 1 << 14
"""Strings up to which a dictionary finds them: to load the compiled code would take longer."""

MANY = 1 << 18
"""Strings from which Arrow unpacks them, and a sort of their hashes finds equal ones: 2.5 million are unpacked in half,
and compared in a tenth, of the time that Python takes."""


class StringArray(Sequence[str]):
    """An immutable sequence of strings, packed: UTF-8 bytes end to end, and the offset where each begins.

    A million document ids as Python strings take about 60 MB and are slow to load; packed they take their bytes plus
    8 each, they can be memory-mapped, and slices of them are views.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        Where each string begins in `data`, followed by the end of the last one.
    data : ndarray of uint8
        The UTF-8 bytes of all strings.

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
    def of(cls, strings: Iterable[str], *, errors: str = "strict") -> StringArray:
        """Pack strings.

        Parameters
        ----------
        strings : iterable of str
            The strings.
        errors : {"strict", "replace"}, default="strict"
            Whether a lone surrogate, which UTF-8 has no bytes for, is an error or replaced by "?".

        Returns
        -------
        StringArray
            The strings; itself if they are packed already.

        Raises
        ------
        TypeError
            If anything is not a string.
        ValueError
            If a string cannot be encoded as UTF-8.
        """
        if isinstance(strings, StringArray):
            return strings
        strings = strings if isinstance(strings, list | tuple) else list(strings)
        with suppress(TypeError):  # the error for what is not a string names it
            joined = "".join(strings)
            if joined.isascii():  # then lengths in characters are lengths in bytes
                lengths = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
                return cls(offsets_of(lengths), np.frombuffer(joined.encode(), dtype=np.uint8))
        encoded = [_encode(string, i, errors) for i, string in enumerate(strings)]
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
        return cls(offsets_of(lengths), np.frombuffer(b"".join(encoded), dtype=np.uint8))

    @classmethod
    def numbered(cls, n: int) -> StringArray:
        """Return the strings "0", "1", … "n - 1".

        Parameters
        ----------
        n : int
            Number of strings.

        Returns
        -------
        StringArray
            The strings.
        """
        return cls.of(map(str, range(n)))

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each string begins in `data`, followed by the end of the last one."""
        return self._offsets

    @property
    def data(self) -> NDArray[np.uint8]:
        """The UTF-8 bytes of all strings, end to end."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> StringArray: ...
    def __getitem__(self, index: int | slice) -> str | StringArray:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1:
                return StringArray(*take_row_range(self._offsets, self._bytes, start, max(start, stop)))
            return self.take(np.arange(start, stop, step))
        i = index + len(self) if index < 0 else index
        if not 0 <= i < len(self):
            raise IndexError(f"there is no name {index}: there are {len(self)} names")
        try:
            return self._bytes[self._offsets[i] : self._offsets[i + 1]].tobytes().decode()
        except UnicodeDecodeError:
            raise self._not_a_string(i) from None

    def __iter__(self) -> Iterator[str]:
        block = 4096  # decode from one bytes object a block: far fewer array slices than one a string
        for first in range(0, len(self), block):
            offsets = self._offsets[first : first + block + 1].tolist()
            data = self._bytes[offsets[0] : offsets[-1]].tobytes()
            base = offsets[0]
            if data.isascii():  # then characters are at the places of their bytes
                text = data.decode()
                yield from [text[start - base : stop - base] for start, stop in pairwise(offsets)]
                continue
            for i, (start, stop) in enumerate(pairwise(offsets), first):
                try:
                    yield data[start - base : stop - base].decode()
                except UnicodeDecodeError:
                    raise self._not_a_string(i) from None

    def _not_a_string(self, i: int) -> ValueError:
        file = file_of(self._bytes)
        where = "" if file is None else f" of {file}, which is damaged: make {file.parent} again from its source"
        return ValueError(f"name {i} is not valid UTF-8{where}")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StringArray):
            return len(self) == len(other) and (
                np.array_equal(self._offsets, other._offsets) and np.array_equal(self._bytes, other._bytes)
            )
        if isinstance(other, Sequence) and not isinstance(other, str):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(string) for string in self[:5])
        return f"StringArray([{shown}{', …' if len(self) > 5 else ''}], {len(self)} in all)"

    def __reduce__(self) -> tuple[Any, ...]:
        return StringArray, (np.array(self._offsets), np.array(self._bytes))

    def take(self, indices: NDArray[Any]) -> StringArray:
        """Return the strings at these positions, in this order.

        Parameters
        ----------
        indices : array of int
            Positions from 0; they may repeat.

        Returns
        -------
        StringArray
            The strings, copied.
        """
        return StringArray(*take_rows(self._offsets, self._bytes, np.asarray(indices, dtype=np.int64)))

    def concatenated(self, other: StringArray) -> StringArray:
        """Return these strings followed by others.

        Parameters
        ----------
        other : StringArray
            The strings that follow.

        Returns
        -------
        StringArray
            All strings, copied.
        """
        offsets = np.concatenate([self._offsets, other._offsets[1:] - other._offsets[0] + self._offsets[-1]])
        return StringArray(offsets, np.concatenate([self._bytes, other._bytes]))

    def hashes(self) -> NDArray[np.uint64]:
        """Return a 64-bit hash of each string, the same on every platform: FNV-1a, then splitmix64."""
        result = np.empty(len(self), dtype=np.uint64)
        hash_strings(self._offsets, self._bytes, result)
        return result

    def may_repeat(self) -> bool:
        """Return whether any two of many strings have the same hash: if not, all are different. True of few."""
        if len(self) < MANY:
            return True
        hashes = self.hashes()
        hashes.sort()
        return bool((hashes[1:] == hashes[:-1]).any())

    def to_tuple(self) -> tuple[str, ...]:
        """Return all strings, unpacked."""
        if len(self) < MANY:
            return tuple(self)
        import pyarrow as pa

        packed = pa.LargeStringArray.from_buffers(len(self), pa.py_buffer(self._offsets), pa.py_buffer(self._bytes))
        try:
            packed.validate(full=True)
        except pa.ArrowInvalid:
            return tuple(self)  # raises the error that names the string
        return tuple(packed.to_numpy(zero_copy_only=False).tolist())


def _encode(string: str, position: int, errors: str) -> bytes:
    if not isinstance(string, str):
        raise TypeError(f"name {position} is {string!r}, a {type(string).__name__}: names must be strings")
    try:
        return string.encode(errors=errors)
    except UnicodeEncodeError:
        raise ValueError(
            f"name {position}, {string!r}, has half a character (a lone surrogate) and cannot be stored as UTF-8"
        ) from None


class StringTable:
    """A growing hash table that numbers strings in the order in which they are added.

    A string costs its bytes and about 40 more, a fraction of what a Python dictionary takes, so that the tens of
    millions of different words of a large file fit into memory.
    """

    def __init__(self) -> None:
        self._n = 0
        self._bytes = np.empty(1 << 12, dtype=np.uint8)
        self._offsets = np.zeros((1 << 8) + 1, dtype=np.int64)
        self._hashes = np.empty(1 << 8, dtype=np.uint64)
        self._slots = np.full(1 << 10, EMPTY, dtype=np.int32)
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return self._n

    @property
    def strings(self) -> StringArray:
        """The strings by number: a view, valid until strings are added."""
        return StringArray(self._offsets[: self._n + 1], self._bytes[: self._offsets[self._n]])

    def add(self, strings: StringArray, hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return the number of each of these strings; those that are new are added."""
        self._reserve(len(strings), int(strings.offsets[-1] - strings.offsets[0]))
        numbers = np.empty(len(strings), dtype=np.int32)
        arrays = (self._slots, self._hashes, self._offsets, self._bytes)
        self._n = _add_strings(*arrays, self._n, strings.offsets, strings.data, hashes, numbers)
        return numbers

    def find(self, strings: Iterable[str]) -> NDArray[np.int32]:
        """Return the number of each of these strings, -1 for those that are not in the table."""
        wanted = StringArray.of(strings)
        if self._n <= FEW and len(wanted) <= FEW:
            number_of = self._dictionary()
            return np.fromiter((number_of.get(string, -1) for string in wanted), np.int32, len(wanted))
        numbers = np.empty(len(wanted), dtype=np.int32)
        arrays = (self._slots, self._hashes, self._offsets, self._bytes)
        _find_strings(*arrays, wanted.offsets, wanted.data, wanted.hashes(), numbers)
        return numbers

    def _dictionary(self) -> dict[str, int]:
        """The numbers of all strings, cached."""
        if len(self._numbers) != self._n:
            self._numbers = {string: number for number, string in enumerate(self.strings)}
        return self._numbers

    def _reserve(self, n_strings: int, n_bytes: int) -> None:
        n = self._n + n_strings
        if n > MAX_STRINGS:
            raise ValueError(f"there are more than {MAX_STRINGS:,} different words: the text is not made of words")
        self._bytes = _grown(self._bytes, int(self._offsets[self._n]) + n_bytes)
        self._offsets = _grown(self._offsets, n + 1)
        self._hashes = _grown(self._hashes, n)
        if 2 * n > len(self._slots):
            self._slots = fill_slots(self._hashes, self._n, n_slots_for(n))


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    if size <= len(array):
        return array
    larger = np.empty(max(size, len(array) * 3 // 2), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@compiled
def string_slot(slots: Any, hashes: Any, offsets: Any, data: Any, h: Any, text: Any, start: int, stop: int) -> Any:
    """Return the slot of the string text[start:stop], which is not passed as a slice: that costs more than the search.

    ``hashes``, ``offsets`` and ``data`` are those of the strings in the table, ``h`` is the hash of this one.
    """
    slot = find_slot(slots, hashes, h, h & np.uint64(slots.size - 1))
    while slots[slot] >= 0:
        other = slots[slot]
        if offsets[other + 1] - offsets[other] == stop - start:
            shift = offsets[other] - start
            i = start
            while i < stop and data[shift + i] == text[i]:
                i += 1
            if i == stop:
                return slot
        slot = find_slot(slots, hashes, h, slot + 1)
    return slot


@compiled
def _add_strings(
    slots: Any,
    hashes: Any,
    offsets: Any,
    data: Any,
    n: int,
    new_offsets: Any,
    new_data: Any,
    new_hashes: Any,
    numbers: Any,
) -> int:
    for i in range(numbers.size):
        start, stop = new_offsets[i], new_offsets[i + 1]
        slot = string_slot(slots, hashes, offsets, data, new_hashes[i], new_data, start, stop)
        if slots[slot] < 0:
            slots[slot] = n
            hashes[n] = new_hashes[i]
            offsets[n + 1] = offsets[n] + stop - start
            for at in range(start, stop):  # one slice into another takes seconds to compile
                data[offsets[n] + at - start] = new_data[at]
            n += 1
        numbers[i] = slots[slot]
    return n


@compiled
def _find_strings(
    slots: Any, hashes: Any, offsets: Any, data: Any, new_offsets: Any, new_data: Any, new_hashes: Any, numbers: Any
) -> None:
    for i in range(numbers.size):
        start, stop = new_offsets[i], new_offsets[i + 1]
        numbers[i] = slots[string_slot(slots, hashes, offsets, data, new_hashes[i], new_data, start, stop)]
