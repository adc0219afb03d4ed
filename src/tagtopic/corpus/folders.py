"""Folders that appear whole or not at all."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4


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
