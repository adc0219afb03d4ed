"""Atomic writes, what a killed process leaves of them, and temporary folders."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tagtopic._core.files import (
    TEMPORARY,
    TemporaryFolder,
    atomic_file,
    atomic_folder,
    exchange_folders,
    recover_folder,
    write_text,
)

MARKER = "marker"


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


def run_and_kill(code: str, folder: Path) -> None:
    """Run code that ends its own process as ``kill -9`` does."""
    code = f"import os\nfrom pathlib import Path\nfrom tagtopic._core.files import *\n{code}"
    code = code.replace("KILL", "os.kill(os.getpid(), 9)")
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == -9, done.stderr


WRITE_FILE = """
with atomic_file(Path("m")) as temporary:
    temporary.write_text("half")
    KILL
"""
WRITE_FOLDER = """
with atomic_folder(Path("c"), marker="marker") as temporary:
    (temporary / "half").touch()
    KILL
"""
MAKE_TEMPORARY = """
folder = TemporaryFolder(".")
(folder.path / "array").touch()
KILL
"""


def write_folder(path: Path, content: str) -> None:
    with atomic_folder(path, marker=MARKER) as temporary:
        (temporary / MARKER).write_text(content)


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    for code in (WRITE_FILE, WRITE_FOLDER, MAKE_TEMPORARY):
        run_and_kill(code, tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    write_text(tmp_path / "m", "new")
    write_folder(tmp_path / "c", "new")
    with TemporaryFolder(tmp_path):
        assert len(list(tmp_path.iterdir())) == 3  # both, and the new temporary folder
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "m"]


def test_what_a_living_process_writes_is_not_removed(tmp_path: Path) -> None:
    other = ".m.other"
    (tmp_path / other).touch()  # not a temporary name
    with atomic_file(tmp_path / "m") as mine, TemporaryFolder(tmp_path) as folder:
        run_and_kill(WRITE_FILE, tmp_path)
        run_and_kill(MAKE_TEMPORARY, tmp_path)
        write_text(tmp_path / "m", "new")
        TemporaryFolder(tmp_path).close()
        assert mine.exists()
        assert folder.is_dir()
        assert len(list(tmp_path.glob(".m.*"))) == 2
        assert len(list(tmp_path.glob(f"{TEMPORARY}*"))) == 1
        mine.write_text("mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == [other, "m"]


KILLED_BETWEEN_RENAMES = """
def killed(one, other):
    other.rename(one.with_suffix(".old"))
    KILL

with atomic_folder(Path("c"), marker="marker", exchange=killed) as temporary:
    (temporary / "marker").write_text("new")
"""
KILLED_AFTER_THE_EXCHANGE = """
def killed(one, other):
    assert exchange_folders(one, other)
    KILL

with atomic_folder(Path("c"), marker="marker", exchange=killed) as temporary:
    (temporary / "marker").write_text("new")
"""


@pytest.mark.parametrize(
    ("code", "content"),
    [
        (KILLED_BETWEEN_RENAMES, "old"),
        pytest.param(
            KILLED_AFTER_THE_EXCHANGE, "new", marks=pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
        ),
    ],
)
def test_a_folder_survives_a_kill_while_it_is_replaced(tmp_path: Path, code: str, content: str) -> None:
    path = tmp_path / "c"
    write_folder(path, "old")
    run_and_kill(code, tmp_path)
    recover_folder(path)
    assert (path / MARKER).read_text() == content
    write_folder(path, "newest")
    assert (path / MARKER).read_text() == "newest"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_folders_are_replaced(tmp_path: Path, can_exchange: bool) -> None:
    path = tmp_path / "c"
    for content in ("one", "two"):
        with atomic_folder(path, marker=MARKER, exchange=exchange_folders if can_exchange else refuse) as temporary:
            (temporary / MARKER).write_text(content)
        assert (path / MARKER).read_text() == content
        assert list(tmp_path.iterdir()) == [path]


def refuse(one: Path, other: Path) -> bool:
    return False


@contextmanager
def full_disk(limit: int = 1000) -> Iterator[None]:
    """Refuse to write more bytes to a file."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_an_error_names_the_file_that_was_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with full_disk(), pytest.raises(OSError, match="File too large") as error:
        write_text(path, "x" * 100_000)
    assert error.value.filename == str(path)
    with pytest.raises(FileNotFoundError) as missing:
        write_text(tmp_path / "nowhere" / "model", "x")
    assert missing.value.filename == str(tmp_path / "nowhere" / "model")
    assert not list(tmp_path.iterdir())


def test_folders_made_at_once_are_not_taken_for_leftovers(tmp_path: Path) -> None:
    """Each of many threads removes what it takes for leftovers while the others make their folders."""

    def make(_: int) -> bool:
        with TemporaryFolder(tmp_path) as folder:
            (folder / "file").touch()
            return (folder / "file").exists()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(make, range(600)))
    assert not list(tmp_path.iterdir())
