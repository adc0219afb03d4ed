"""One file of arrays with a JSON header: safetensors, whole or not at all, and never executed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tagtopic._version import __version__
from tagtopic.corpus.mapped import release
from tagtopic.engines.workers import cut_rows
from tagtopic.files import replacing

TYPES = {"<f8": "F64", "<f4": "F32", "<i8": "I64", "<i4": "I32", "|u1": "U8", "|i1": "I8", "|b1": "BOOL"}
"""What safetensors calls the types of our arrays."""

WRITE_BYTES = 1 << 24
"""Bytes of an array that are written at a time."""


class StorageError(ValueError):
    """The file is not of the kind that was asked for, or damaged, or in a format of another version."""


def write_tensors(path: Path, kind: str, header: dict[str, Any], tensors: dict[str, Any]) -> None:
    """Write a file, whole or not at all.

    The format is safetensors' (8 bytes of length, JSON, then the arrays); its own writer would first make a copy of
    everything in memory.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("wb") as file:
        _write(file, {kind: json.dumps(header)}, {name: np.atleast_1d(array) for name, array in tensors.items()})


def _write(file: BinaryIO, metadata: dict[str, str], arrays: dict[str, Any]) -> None:
    # largest items first, as safetensors' own writer has them: then every array is aligned
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    table: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in names:
        start, end = end, end + arrays[name].nbytes
        kind = TYPES[arrays[name].dtype.str]
        table[name] = {"dtype": kind, "shape": list(arrays[name].shape), "data_offsets": [start, end]}
    text = json.dumps(table).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in names:
        for rows in cut_rows(len(arrays[name]), max(1, WRITE_BYTES // max(1, arrays[name][:1].nbytes))):
            part = arrays[name][slice(*rows)]
            file.write(np.ascontiguousarray(part).data)
            release(part)


def read_tensors(path: Path, kind: str, newest: int, oldest: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a file that ``write_tensors`` wrote as this ``kind``, in one of these formats."""
    from safetensors import SafetensorError, safe_open

    if path.is_dir():
        raise StorageError(f"{path} is a folder, not a file")
    try:
        with safe_open(str(path), framework="numpy") as file:
            header = json.loads((file.metadata() or {})[kind])
            if not oldest <= header["format"] <= newest:
                raise StorageError(_another_format(path, header, newest, oldest))
            return header, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except StorageError:
        raise
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{path} is not a {kind}, or it is damaged ({error})") from error


def _another_format(path: Path, header: dict[str, Any], newest: int, oldest: int) -> str:
    found = header["format"]
    reads = f"up to format {newest}: a newer" if found > newest else f"from format {oldest} on: an older"
    return (
        f"{path} was written by tagtopic {header['version']} in format {found}; this is tagtopic {__version__}, "
        f"which reads {reads} tagtopic is needed"
    )
