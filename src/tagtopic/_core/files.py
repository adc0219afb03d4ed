"""Folders that appear whole or not at all.

Files that appear whole or not at all.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name beside ``path`` to write to; on success, and when it is on the disk, it takes that name.

    If anything goes wrong on the way, Ctrl-C included, it is removed and ``path`` is as it was. Several may write the
    same file at once: the last one stays.
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
    """Write a text file, as UTF-8."""
    with replacing(path) as temporary:
        temporary.write_text(text, "utf-8")


@contextlib.contextmanager
def new_folder(path: Path, *, marker: str) -> Iterator[Path]:
    """Give a temporary folder beside `path` to write into; on success it takes the name `path`.

    If anything goes wrong on the way, Ctrl-C included, it is removed and `path` is as it was.
    An older folder at `path` is replaced only if it holds the file `marker`, so that a mistyped
    path never costs anybody their files.
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
    """Refuse a path where something other than an older folder of ours, or an empty folder, already is."""
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
