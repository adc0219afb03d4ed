"""Atomic writes: a file or folder appears complete or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; on success it is synced to disk and renamed to ``path``.

    On any exception, KeyboardInterrupt included, it is removed and ``path`` is unchanged. Of several concurrent
    writers of one file the last one wins.
    """
    temporary = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file as UTF-8, atomically."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, "utf-8")


@contextmanager
def atomic_folder(path: Path, *, marker: str) -> Iterator[Path]:
    """Yield a temporary folder to write into; on success it is renamed to ``path``.

    On any exception, KeyboardInterrupt included, it is removed and ``path`` is unchanged. An existing folder is
    replaced only if it is empty or has the file ``marker``, so that a mistyped path costs nobody their files.
    """
    check_replaceable(path, marker=marker)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.part")
    temporary.mkdir()
    try:
        yield temporary
        _move_into_place(temporary, path, marker)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def check_replaceable(path: Path, *, marker: str) -> None:
    """Raise if anything but an empty folder or an older folder with the marker exists at this path."""
    if path.is_dir():
        if not (path / marker).exists() and any(path.iterdir()):
            raise FileExistsError(f"{path} is a folder with other things in it; choose another name or remove it")
    elif path.exists() or path.is_symlink():
        raise FileExistsError(f"{path} is a file that is already there; choose another name or remove it")


def _move_into_place(temporary: Path, path: Path, marker: str) -> None:
    check_replaceable(path, marker=marker)
    if not path.exists():
        temporary.rename(path)
        return
    old = path.with_name(f".{path.name}.{uuid4().hex}.old")
    path.rename(old)
    try:
        temporary.rename(path)
    except BaseException:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)
