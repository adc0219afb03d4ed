"""The decorators of compiled kernels: without the GIL, compiled on the first call, cached between processes.

Numba caches compiled code beside the sources and reuses it while the kernel's own file is unchanged. But the code
includes the functions that the kernel calls, from other files, and their constants: after an update of those alone it
would be outdated. Here a kernel is compiled anew if its file, or any file of this package that it imports directly or
indirectly, has changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = Path(__file__).parent.parent
IMPORTS = re.compile(rf"^from {PACKAGE.name}\.?([\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


def compiled(function: Function) -> Function:
    """Compile a kernel with strict arithmetic."""
    return _compiled(function)


def compiled_reordering(function: Function) -> Function:
    """Compile a kernel whose sums may be reordered and fused, so that they are vectorised.

    NaN and infinity are respected, and on one kind of CPU the bits are always the same.
    """
    return _compiled(function, fastmath={"reassoc", "contract", "nsz"})


def _compiled(function: Function, **options: Any) -> Function:
    kernel: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    with suppress(RuntimeError):  # no writable cache: each process compiles what it needs
        kernel._cache = _KernelCache(function)
    return cast(Function, kernel)


class _KernelCache(FunctionCache):
    """Numba's cache, outdated if any of the sources has changed."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        file = Path(function.__code__.co_filename)
        if file.is_file():
            stamp = stamp_of(file)
            self._cache_file = IndexDataCacheFile(self.cache_path, self._impl.filename_base, stamp)  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code compiled for these types; None if it has to be compiled, which then begins."""
        found = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        if found is None:
            _COMPILING.add((id(self), sig))
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Cache compiled code."""
        _COMPILING.discard((id(self), sig))
        super().save_overload(sig, data)  # type: ignore[no-untyped-call]


_COMPILING: set[tuple[int, Any]] = set()


def is_compiling() -> bool:
    """Whether a kernel is being compiled; progress bars show it."""
    return bool(_COMPILING)


def stamp_of(file: Path) -> bytes:
    """Return a digest of this file and of all files of the package that it needs."""
    return hashlib.sha256(b"".join(_digest(path) for path in sorted(needed_by(file)))).digest()


@cache
def needed_by(file: Path) -> frozenset[Path]:
    """Return this file and the files of the package that it imports, directly or indirectly."""
    needed, unread = {file}, [file]
    while unread:
        further = _named_in(unread.pop()) - needed
        needed |= further
        unread.extend(further)
    return frozenset(needed)


@cache
def _named_in(file: Path) -> frozenset[Path]:
    """Return the files of the package that this one imports."""
    found = IMPORTS.findall(file.read_text(encoding="utf-8"))
    places = [(PACKAGE.joinpath(*module.split(".")), names) for module, names in found]
    each = (_file_of(place / name) or _file_of(place) for place, names in places for name in re.findall(r"\w+", names))
    return frozenset(path for path in each if path is not None)


def _file_of(module: Path) -> Path | None:
    candidates = (module.with_suffix(".py"), module / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)


@cache
def _digest(file: Path) -> bytes:
    return hashlib.sha256(file.read_bytes()).digest()
