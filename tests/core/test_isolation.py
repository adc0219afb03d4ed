"""A crash, a failure or a hang of the child process is an error here."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagtopic._core.isolation import ForeignLibraryError, run_isolated

TASKS = """
import os, signal, sys, time
def double(arrays, settings): return {"result": arrays["numbers"] * settings["factor"]}
def abort(arrays, settings): print("terrible", file=sys.stderr, flush=True); os.abort()
def kill(arrays, settings): os.kill(os.getpid(), signal.SIGKILL)
def fail(arrays, settings): raise LookupError("no such thing")
def linger(arrays, settings): time.sleep(600)
"""


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "tasks_of_test.py").write_text(TASKS)
    monkeypatch.syspath_prepend(tmp_path)
    return "tasks_of_test"


def run(task: str, timeout: float | None = None) -> dict[str, np.ndarray]:
    return run_isolated(task, {"numbers": np.arange(3)}, {"factor": 2}, name="Test", timeout=timeout)


def test_arrays_are_passed_to_the_child_and_back(tasks: str) -> None:
    np.testing.assert_array_equal(run(f"{tasks}:double")["result"], [0, 2, 4])


def test_arrays_of_any_memory_order_are_passed_unchanged(tasks: str) -> None:
    numbers = np.arange(6).reshape(2, 3)
    for given in (numbers, numbers.T, np.asfortranarray(numbers), numbers[:, ::2], np.zeros((0, 3)), np.array(1.5)):
        found = run_isolated(f"{tasks}:double", {"numbers": given}, {"factor": 2}, name="Test", timeout=None)
        np.testing.assert_array_equal(found["result"], given * 2)


def test_a_full_disk_is_an_error(tasks: str, no_room: Any) -> None:
    with no_room(), pytest.raises(OSError, match="File too large"):
        run_isolated(f"{tasks}:double", {"numbers": np.arange(3)}, {"factor": 2}, name="Test", timeout=None)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("abort", r"Test crashed: .*SIGABRT[^$]*terrible"),
        ("kill", r"Test crashed: .*SIGKILL"),
        ("fail", r"Test failed: LookupError: no such thing"),
    ],
)
def test_a_crash_is_an_error(tasks: str, task: str, said: str) -> None:
    with pytest.raises(ForeignLibraryError, match=said):
        run(f"{tasks}:{task}")


def test_a_timeout_is_an_error(tasks: str) -> None:
    with pytest.raises(ForeignLibraryError, match="was not done after 1 seconds"):
        run(f"{tasks}:linger", timeout=1)


def test_an_abort_of_tomotopy_is_an_error_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dmr_of_test.py").write_text(
        "import tomotopy\n"
        "def infer(arrays, settings):\n"
        "    model = tomotopy.DMRModel(k=2, seed=1)\n"
        "    for i in range(20): model.add_doc(['a', 'b', 'c'], metadata=str(i % 2))\n"
        "    model.train(10, workers=1)\n"
        "    model.infer(model.make_doc(['a', 'b'], metadata='never seen'))\n"
        "    return {}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ForeignLibraryError, match="unknown metadata 'never seen'"):
        run("dmr_of_test:infer")


@pytest.mark.skipif(os.name != "posix", reason="looks for the child by signal 0")
def test_a_child_ends_with_its_parent(tasks: str, tmp_path: Path) -> None:
    (tmp_path / "tasks_of_test.py").write_text(
        TASKS + f"def tell(arrays, settings):\n"
        f"    open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)\n"
    )
    code = (
        "import numpy as np; from tagtopic._core.isolation import run_isolated as r; "
        f"r('{tasks}:tell', {{}}, {{}}, name='Test', timeout=None)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    parent = subprocess.Popen([sys.executable, "-c", code], env=environment)
    pid = _wait_for(tmp_path / "pid")
    parent.kill()
    parent.wait()
    for _ in range(100):
        if not _alive(pid):
            return
        time.sleep(0.1)
    pytest.fail("the child outlived its parent")


def _wait_for(file: Path) -> int:
    for _ in range(300):
        if file.exists() and file.read_text():
            return int(file.read_text())
        time.sleep(0.1)
    raise AssertionError("the child never started")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/status")
    return not (status.exists() and "State:\tZ" in status.read_text())
