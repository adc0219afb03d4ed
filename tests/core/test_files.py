"""Atomic writes."""

from pathlib import Path

import pytest

from tagtopic._core.files import atomic_file, write_text


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "model"
    write_text(path, "old")
    for problem in (OSError, KeyboardInterrupt):
        with pytest.raises(problem):
            write_half(path, problem)
        assert path.read_text() == "old"
    write_text(path, "né")
    assert path.read_bytes() == "né".encode()
    assert list(tmp_path.iterdir()) == [path]


def write_half(path: Path, problem: type[BaseException]) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text("half")
        raise problem


def test_concurrent_writers_of_one_file_do_not_interfere(tmp_path: Path) -> None:
    path = tmp_path / "cell.json"
    with atomic_file(path) as first, atomic_file(path) as second:
        first.write_text("first")
        second.write_text("second")
    assert path.read_text() == "first"  # the last that was done
    assert list(tmp_path.iterdir()) == [path]
