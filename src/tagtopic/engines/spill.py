"""Where large arrays of a run stand: in memory, or beyond a limit in files of a temporary folder."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

SPILL_AT = 128 << 20
"""Bytes of an array beyond which it goes to a file."""


class Spill:
    """Makes arrays; the files of large ones are gone with ``close``.

    ``folder`` says where they are put; None is the system's place for temporary files.
    """

    def __init__(self, folder: str | Path | None = None, *, at: int = SPILL_AT) -> None:
        self._parent = folder
        self._at = at
        self._folder: TemporaryDirectory[str] | None = None
        self._n_files = 0

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """An array of any content, as plain as ``np.empty``'s."""
        if int(np.prod(shape)) * np.dtype(dtype).itemsize <= self._at:
            return np.empty(shape, dtype)
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="tagtopic-", dir=self._parent)
        self._n_files += 1
        file = Path(self._folder.name) / f"{self._n_files}"
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape).view(np.ndarray)

    def close(self) -> None:
        """Remove the files; arrays that still stand in them stay readable until they are let go."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
