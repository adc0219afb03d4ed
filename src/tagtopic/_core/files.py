"""Atomic writes: a file or folder appears complete or not at all; and temporary folders.

What is being written has a temporary name beside its target (``.NAME.`` and 32 hexadecimal digits) and is locked by the
process that writes it. The system releases the lock of a process that is killed, so that the next writer of the same
name recognises what a dead process left, and removes it.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

fcntl: Any = import_module("fcntl") if os.name == "posix" else None  # without it, leftovers stay

PART, OLD = ".part", ".old"

TEMPORARY = "tagtopic-tmp-"
"""The names of temporary folders begin with it."""

DIGITS = re.compile(rf"[0-9a-f]{{32}}({PART}|{OLD})?")


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; on success it is synced to disk and renamed to ``path``.

    On any exception, KeyboardInterrupt included, it is removed and ``path`` is unchanged. Of several concurrent
    writers of one file the last one wins. Errors of the system name ``path``.
    """
    remove_leftovers(path)
    with _naming(path):
        temporary, lock = _create_locked(lambda: path.with_name(f".{path.name}.{uuid4().hex}"), Path.touch)
        try:
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
            os.close(lock)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name a file in errors of the system that name its temporary file, or none, as when the disk is full."""
    try:
        yield
    except OSError as error:
        names = (str(name) for name in (error.filename, error.filename2) if name is not None)
        if error.strerror and all(str(path.with_name(f".{path.name}.")) in name for name in names):
            error.filename, error.filename2 = str(path), None
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file as UTF-8, atomically."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, "utf-8")


@contextmanager
def append_lock(path: Path) -> Iterator[int]:
    """Open a file for reading and appending, made if it is missing, that no other process appends to meanwhile.

    Yields its descriptor. A killed process releases its lock. If another program replaces the file while this one waits
    for the lock, the new file is opened. Systems without ``flock`` have no lock.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_at(path, descriptor):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether the open file is still the one at this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes and sync them to disk; on an error, cut off what was written of them."""
    start = os.fstat(descriptor).st_size
    try:
        written = 0
        while written < len(data):
            written += os.write(descriptor, data[written:])
        os.fsync(descriptor)
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, start)
        raise


@contextmanager
def atomic_folder(path: Path, *, marker: str, exchange: Callable[[Path, Path], bool] | None = None) -> Iterator[Path]:
    """Yield a temporary folder to write into; on success it takes the place of ``path``.

    On any exception, KeyboardInterrupt included, it is removed and ``path`` is unchanged. An existing folder is
    replaced only if it is empty or has the file ``marker``, so that a mistyped path costs nobody their files.

    Parameters
    ----------
    path : Path
        The folder.
    marker : str
        A file that every folder of this kind has.
    exchange : callable or None, default=None
        Exchanges two folders in one step and returns True, or False if it cannot; None for ``exchange_folders``.
    """
    recover_folder(path)
    check_replaceable(path, marker=marker)
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path)
    temporary, lock = _create_locked(lambda: path.with_name(f".{path.name}.{uuid4().hex}{PART}"), Path.mkdir)
    try:
        yield temporary
        _move_into_place(temporary, path, marker, exchange or exchange_folders)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    finally:
        os.close(lock)


def check_replaceable(path: Path, *, marker: str) -> None:
    """Raise if anything but an empty folder or an older folder with the marker exists at this path."""
    if path.is_dir():
        if not (path / marker).exists() and any(path.iterdir()):
            raise FileExistsError(f"{path} is a folder with other things in it; choose another name or remove it")
    elif path.exists() or path.is_symlink():
        raise FileExistsError(f"{path} is a file that is already there; choose another name or remove it")


def _move_into_place(temporary: Path, path: Path, marker: str, exchange: Callable[[Path, Path], bool]) -> None:
    check_replaceable(path, marker=marker)
    if not path.exists():
        temporary.rename(path)
        return
    if exchange(temporary, path):
        shutil.rmtree(temporary, ignore_errors=True)
        return
    old = temporary.with_suffix(OLD)
    path.rename(old)  # killed from here on: recover_folder brings it back
    try:
        temporary.rename(path)
    except BaseException:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def exchange_folders(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; return whether the system can."""
    if sys.platform != "linux":
        return False
    from_here, exchange_names = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        renameat2 = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):  # an older C library
        return False
    return bool(renameat2(from_here, os.fsencode(one), from_here, os.fsencode(other), exchange_names) == 0)


def recover_folder(path: Path) -> None:
    """Bring back a folder whose replacement was killed between its two renames, if there is none at this path."""
    if path.exists() or not path.parent.is_dir():
        return
    for old in _siblings(path):
        if old.suffix == OLD and not _is_in_use(old.with_suffix(PART)):
            with suppress(OSError):  # another process was faster
                old.rename(path)
                return


def remove_leftovers(path: Path) -> None:
    """Remove what dead processes left when they wrote to this path; what cannot be removed stays."""
    if fcntl is None or not path.parent.is_dir():
        return
    for leftover in _siblings(path):
        if leftover.suffix == OLD and not path.exists():
            continue  # all that there is
        _remove_unless_in_use(leftover)


def _siblings(path: Path) -> list[Path]:
    """The temporary names of a path that exist, by name."""
    start = f".{path.name}."
    with suppress(OSError), os.scandir(path.parent) as entries:
        names = sorted(entry.name for entry in entries if entry.name.startswith(start))
        return [path.with_name(name) for name in names if DIGITS.fullmatch(name, len(start))]
    return []


def _create_locked(name: Callable[[], Path], create: Callable[[Path], None]) -> tuple[Path, int]:
    """Create a file or folder that only this process removes; return its path and the lock, which is to be closed."""
    while True:
        path = name()
        create(path)
        if fcntl is None:
            return path, os.open(os.devnull, os.O_RDONLY)
        try:
            lock = os.open(path, os.O_RDONLY)
        except FileNotFoundError:  # another process has removed it before it was locked
            continue
        with suppress(OSError):  # a file system without locks: leftovers stay
            fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():  # or while this one waited for the lock
            return path, lock
        os.close(lock)


def _is_in_use(path: Path) -> bool:
    """Whether a living process has locked it."""
    if fcntl is None:
        return path.exists()
    try:
        lock = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def _remove_unless_in_use(path: Path) -> None:
    """Remove a file or folder that no living process has locked; while it is removed it is locked."""
    with suppress(OSError):
        lock = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        finally:
            os.close(lock)


class TemporaryFolder:
    """A folder that is removed by ``close``, and by the next process that makes one if this one is killed.

    Parameters
    ----------
    parent : path, default=None
        Where it is made; None: where the system keeps temporary files.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __init__(self, parent: str | Path | None = None) -> None:
        folder = Path(tempfile.gettempdir() if parent is None else parent)
        if fcntl is not None:
            for leftover in folder.glob(f"{TEMPORARY}*"):
                _remove_unless_in_use(leftover)
        private = 0o700
        self.path, self._lock = _create_locked(
            lambda: folder / f"{TEMPORARY}{uuid4().hex}", lambda path: path.mkdir(private)
        )
        self._closed = False

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder; files in it that are mapped stay readable until they are unmapped."""
        if not getattr(self, "_closed", True):
            self._closed = True
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
