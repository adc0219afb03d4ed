"""One file of arrays with a JSON header: safetensors, whole or not at all, and never executed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from tagtopic._version import __version__
from tagtopic.corpus.folders import umask


class StorageError(ValueError):
    """The file is not of the kind that was asked for, or damaged, or from a newer version."""


def write_tensors(path: Path, kind: str, header: dict[str, Any], tensors: dict[str, Any]) -> None:
    """Write under a temporary name beside ``path``, then rename."""
    from safetensors import numpy as safetensors

    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid4().hex}")
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    try:
        safetensors.save_file(arrays, str(temporary), metadata={kind: json.dumps(header)})
        temporary.chmod(0o666 & ~umask())  # safetensors makes it the owner's alone
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_tensors(path: Path, kind: str, newest: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a file that ``write_tensors`` wrote as this ``kind``."""
    from safetensors import SafetensorError, safe_open

    if path.is_dir():
        raise StorageError(f"{path} is a folder, not a file")
    try:
        with safe_open(str(path), framework="numpy") as file:
            header = json.loads((file.metadata() or {})[kind])
            if header["format"] > newest:
                raise StorageError(
                    f"{path} was written by tagtopic {header['version']} in format {header['format']}; this is "
                    f"tagtopic {__version__}, which reads up to format {newest}: a newer tagtopic is needed"
                )
            return header, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except StorageError:
        raise
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{path} is not a {kind}, or it is damaged ({error})") from error
