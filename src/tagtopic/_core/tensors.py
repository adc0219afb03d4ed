"""Files of arrays with a JSON header and a checksum: the format of model files and checkpoints.

They are safetensors files: 8 bytes of length, JSON, then the arrays, with nothing to execute. The library's own writer
copies everything in memory first, and its reader computes no checksum, so both are written here.

The checksum is the BLAKE2 digest of the header and of one 32-bit hash per lane (every ``LANES``-th word) and part of
an array. The lanes are added up by a kernel, at the speed of memory; in the same pass it finds the largest magnitude of
an array and whether any value is negative. In small files NumPy does the same, in milliseconds: the first kernel of a
process takes half a second, for which commands that only print topics would wait.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import read_only
from tagtopic._core.files import atomic_file
from tagtopic._core.jit import compiled
from tagtopic._core.memmap import release
from tagtopic._core.parallel import ThreadPool
from tagtopic._version import __version__

TYPES = {"<f8": "F64", "<f4": "F32", "<i8": "I64", "<i4": "I32", "<u2": "U16", "|u1": "U8", "|i1": "I8", "|b1": "BOOL"}
"""The names of dtypes in safetensors; files have no others."""

DTYPES = {name: np.dtype(dtype) for dtype, name in TYPES.items()}

MAX_HEADER = 100_000_000
"""Bytes of JSON, as in safetensors."""

PART_BYTES = 1 << 22
"""Bytes that are read, or written, and hashed at a time."""

SMALL_BYTES = 1 << 25
"""Bytes of arrays up to which NumPy adds up the lanes of a file."""

LANES = 1 << 10
PRIME = np.uint32(0x9E3779B1)

CHECKSUM = "checksum"
NO_CHECKSUM = "0" * 32


class StorageError(ValueError):
    """A file is of another kind, damaged, or in a format of another version."""


class Range(NamedTuple):
    """The values of an array of floats: the largest magnitude (NaN or infinite if any is) and if any is negative."""

    largest: float
    negative: bool


RangeCheck = Callable[[str, Range], None]
"""Raises a ``ValueError`` if the values of an array, given by its name, are impossible."""


def write_tensors(path: Path, kind: str, header: dict[str, Any], tensors: dict[str, Any]) -> None:
    """Write a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        _write(file, kind, json.dumps(header), {name: np.atleast_1d(array) for name, array in tensors.items()})


def _write(file: BinaryIO, kind: str, header: str, arrays: dict[str, Any]) -> None:
    # largest items first, as by safetensors' own writer, so that every array is aligned
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    table: dict[str, Any] = {}
    end = 0
    for name in names:
        start, end = end, end + arrays[name].nbytes
        dtype = TYPES[arrays[name].dtype.str]
        table[name] = {"dtype": dtype, "shape": list(arrays[name].shape), "data_offsets": [start, end]}
    file.write(_head(kind, header, table, NO_CHECKSUM))
    digest = _digest(kind, header, table)
    for name in names:
        for part in _parts_of_rows(arrays[name]):
            digest.update(_summarise(part, end).hashes)
            file.write(part.data)
    file.seek(0)
    file.write(_head(kind, header, table, digest.hexdigest()))


def _head(kind: str, header: str, table: dict[str, Any], checksum: str) -> bytes:
    text = json.dumps({"__metadata__": {kind: header, CHECKSUM: checksum}, **table}).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _digest(kind: str, header: str, table: dict[str, Any]) -> Any:
    """The digest of everything but the arrays."""
    tensors = [[name, table[name]["dtype"], table[name]["shape"]] for name in _in_file_order(table)]
    return hashlib.blake2b(json.dumps([kind, header, tensors]).encode(), digest_size=16)


def _in_file_order(table: dict[str, Any]) -> list[str]:
    return sorted(table, key=lambda name: (*table[name]["data_offsets"], name))


def _parts_of_rows(array: NDArray[Any]) -> Iterator[NDArray[np.uint8]]:
    """Yield the bytes of an array in parts of ``PART_BYTES``, converting and releasing a few rows at a time."""
    row_bytes = max(1, array[:1].nbytes)
    step = math.lcm(row_bytes, PART_BYTES) // row_bytes  # rows that end with a part
    if step * row_bytes > 64 * PART_BYTES:
        step = len(array) or 1
    for first in range(0, len(array), step):
        rows = array[first : first + step]
        yield from _parts_of(np.ascontiguousarray(rows))
        release(rows)


class _Summary(NamedTuple):
    """What is computed in one pass over a part of an array."""

    hashes: bytes
    magnitudes: NDArray[np.uint32]
    """The largest 32-bit word of each lane, without its sign bit."""
    signs: NDArray[np.uint32]
    """All words of each lane, combined by or: the first bit is set if any is."""


def _summarise(part: NDArray[np.uint8], file_bytes: int) -> _Summary:
    whole = len(part) // 4 * 4
    lanes, magnitudes, signs = np.zeros((3, LANES), np.uint32)
    add = add_lanes if file_bytes > SMALL_BYTES else add_lanes_by_numpy
    add(read_only(part[:whole].view(np.uint32)), lanes, magnitudes, signs)
    return _Summary(lanes.tobytes() + part[whole:].tobytes(), magnitudes, signs)


def add_lanes_by_numpy(words: Any, lanes: Any, magnitudes: Any, signs: Any) -> None:
    """Do the same as ``add_lanes``."""
    for start in range(0, len(words), LANES):
        row = words[start : start + LANES]
        lanes[: len(row)] = lanes[: len(row)] * PRIME + row
    n_whole = len(words) // LANES * LANES
    for rows in (words[:n_whole].reshape(-1, LANES), words[n_whole:].reshape(1, -1)):
        width = rows.shape[1]
        largest = np.maximum.reduce(rows & np.uint32(0x7FFFFFFF), axis=0, initial=0)
        np.maximum(magnitudes[:width], largest, out=magnitudes[:width])
        signs[:width] |= np.bitwise_or.reduce(rows, axis=0)


@compiled
def add_lanes(words: Any, lanes: Any, magnitudes: Any, signs: Any) -> None:
    """Hash the words of a part: word i belongs to the lane ``i % LANES``."""
    for start in range(0, words.size, LANES):
        row = words[start : start + LANES]
        for j in range(row.size):
            word = row[j]
            lanes[j] = lanes[j] * PRIME + word
            magnitudes[j] = max(magnitudes[j], word & np.uint32(0x7FFFFFFF))
            signs[j] |= word


def _range(dtype: np.dtype[Any], summaries: list[_Summary]) -> Range:
    """The range of floats from the bits of their exponents; the mantissa of a double is rounded up."""
    high = slice(1, None, 2) if dtype.itemsize == 8 else slice(None)
    top = max((int(summary.magnitudes[high].max()) for summary in summaries), default=0)
    negative = any(bool((summary.signs[high] >> 31).any()) for summary in summaries)
    if dtype.itemsize == 8:
        bits = np.uint64((top << 32) | (0xFFFFFFFF if top else 0))
        return Range(float(bits.view(np.float64)), negative)
    return Range(float(np.uint32(top).view(np.float32)), negative)


def read_tensors(
    path: Path, kind: str, newest: int, oldest: int = 1, *, checked_from: int = 1, check: RangeCheck | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read header and arrays of a file that ``write_tensors`` wrote as this ``kind``.

    Parameters
    ----------
    path : Path
        The file.
    kind : str
        The kind of file.
    newest, oldest : int
        The formats that are read.
    checked_from : int, default=1
        The first format that has a checksum.
    check : callable or None, default=None
        Called with the name and the ``Range`` of each array of floats.

    Raises
    ------
    StorageError
        If the file is of another kind or format, or damaged.
    """
    if path.is_dir():
        raise StorageError(f"{path} is a folder, not a file")
    try:
        with path.open("rb", buffering=0) as file:
            return _read(file, path, kind, (oldest, newest, checked_from), check)
    except StorageError:
        raise
    except RecursionError:
        raise StorageError(f"{path} is not a {kind}, or it is damaged (its header is nested too deeply)") from None
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{path} is not a {kind}, or it is damaged ({error})") from error


def _read(
    file: FileIO, path: Path, kind: str, formats: tuple[int, int, int], check: RangeCheck | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    oldest, newest, checked_from = formats
    entries, start = _read_head(file, path)
    metadata = entries.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get(kind), str):
        raise ValueError(f"its header has no {kind}")
    header = json.loads(metadata[kind])
    if not isinstance(header, dict):
        raise ValueError("its header is not an object")
    version = header.get("format")
    if not isinstance(version, int) or isinstance(version, bool):
        raise ValueError("its header has no format")
    if not oldest <= version <= newest:
        raise StorageError(_another_format(path, header, newest, oldest))
    checksum = metadata.get(CHECKSUM)
    if checksum is None and version >= checked_from:
        raise ValueError("it has no checksum")
    _check_entries(entries, path.stat().st_size - start)
    tensors, summaries = _read_arrays(file, start, entries)
    if checksum is not None:
        digest = _digest(kind, metadata[kind], entries)
        for name in _in_file_order(entries):
            for summary in summaries[name]:
                digest.update(summary.hashes)
        if digest.hexdigest() != checksum:
            raise ValueError("its content does not match its checksum")
    if check is not None:
        for name, array in tensors.items():
            if array.dtype.kind == "f":
                check(name, _exact_sign(array, _range(array.dtype, summaries[name])))
    return header, tensors


def _read_head(file: FileIO, path: Path) -> tuple[dict[str, Any], int]:
    """Return the JSON at the start of the file, and where the arrays begin."""
    length = int.from_bytes(file.read(8), "little")
    if length > min(MAX_HEADER, path.stat().st_size):
        raise ValueError("its header is longer than the file")
    text = file.read(length)
    if len(text) < max(length, 2):
        raise ValueError("it is too short")
    entries = json.loads(text)
    if not isinstance(entries, dict):
        raise ValueError("its header is not an object")
    return entries, 8 + length


def _check_entries(entries: dict[str, Any], size: int) -> None:
    """Raise unless the arrays fill the rest of the file."""
    total = 0
    for name, entry in entries.items():
        if not isinstance(entry, dict) or entry.get("dtype") not in DTYPES:
            found = entry.get("dtype") if isinstance(entry, dict) else entry
            raise ValueError(f"its array {name} is of the unknown type {str(found)[:20]}")
        shape: Any = entry.get("shape")
        offsets: Any = entry.get("data_offsets")
        if not _are_whole_numbers(shape) or not _are_whole_numbers(offsets) or len(offsets) != 2:
            raise ValueError(f"its array {name} has no shape or no place")
        n_bytes = math.prod(shape) * DTYPES[entry["dtype"]].itemsize
        if offsets[1] - offsets[0] != n_bytes or offsets[1] > size:
            raise ValueError(f"its array {name} does not fit its place")
        total += n_bytes
    if total != size:
        raise ValueError(f"it has {size} bytes of arrays instead of {total}")


def _are_whole_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**62 for value in values)


def _read_arrays(file: FileIO, start: int, entries: dict[str, Any]) -> tuple[dict[str, Any], dict[str, list[_Summary]]]:
    """Read and summarise all arrays: a part is summarised by the thread that has read it, while it is in the cache."""
    arrays = {name: np.empty(entry["shape"], DTYPES[entry["dtype"]]) for name, entry in entries.items()}
    parts = [
        (name, part, start + entries[name]["data_offsets"][0] + i * PART_BYTES)
        for name, array in arrays.items()
        for i, part in enumerate(_parts_of(array))
    ]

    n_bytes = sum(array.nbytes for array in arrays.values())
    lock = Lock()

    def read(item: tuple[str, NDArray[np.uint8], int]) -> _Summary:
        _, part, place = item
        left = part.data
        while left:
            n_read = _read_into(file, left, place, lock)
            if not n_read:
                raise ValueError("it is too short")
            left, place = left[n_read:], place + n_read
        return _summarise(part, n_bytes)

    with ThreadPool() as pool:
        found = pool.map(read, parts)
    summaries: dict[str, list[_Summary]] = {name: [] for name in arrays}
    for (name, _, _), summary in zip(parts, found, strict=True):
        summaries[name].append(summary)
    return arrays, summaries


def _read_into(file: FileIO, target: memoryview, place: int, lock: Lock) -> int:
    """Read bytes from a place of the file, from any thread; return how many."""
    if hasattr(os, "preadv"):
        return os.preadv(file.fileno(), [target], place)
    with lock:
        file.seek(place)
        return file.readinto(target)


def _parts_of(array: NDArray[Any]) -> Iterator[NDArray[np.uint8]]:
    flat = array.reshape(-1).view(np.uint8)
    for first in range(0, len(flat), PART_BYTES):
        yield flat[first : first + PART_BYTES]


def _exact_sign(array: NDArray[Any], found: Range) -> Range:
    """The range, with the sign of zero ignored."""
    return found._replace(negative=bool((array < 0).any())) if found.negative else found


def _another_format(path: Path, header: dict[str, Any], newest: int, oldest: int) -> str:
    found = header["format"]
    reads = f"up to format {newest}: a newer" if found > newest else f"from format {oldest} on: an older"
    return (
        f"{path} was written by tagtopic {header.get('version')} in format {found}; this is tagtopic {__version__}, "
        f"which reads {reads} tagtopic is needed"
    )
