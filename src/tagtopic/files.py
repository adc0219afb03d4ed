"""Files that appear whole or not at all."""

from __future__ import annotations

import os
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
