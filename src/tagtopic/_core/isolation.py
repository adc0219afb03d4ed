"""Foreign libraries run in a process of their own, so that their crash is an error here and nothing worse.

tomotopy aborts the whole process on some inputs, gensim may hang. The child gets arrays as ``.npy`` files and settings
as JSON, and answers in ``.npy`` files; nothing is pickled. A child whose parent has died ends itself.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.memmap import write_array

Arrays = dict[str, NDArray[Any]]

TASK, FAILURE, ERRORS, ANSWER = "task.json", "failure.json", "errors.txt", "answer"
LAST_WORDS = 2000
"""Characters of a crashed child's standard error that are shown."""


class ForeignLibraryError(RuntimeError):
    """A library that ran in a process of its own crashed, failed or took too long; this process goes on.

    Examples
    --------
    >>> from tagtopic.baselines import BaselineError
    >>> issubclass(BaselineError, RuntimeError)
    True
    """


def run_isolated(
    task: str, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any], *, name: str, timeout: float | None
) -> Arrays:
    """``task(arrays, settings)`` in a child process; ``task`` is "module:function" and returns a dict of arrays."""
    with tempfile.TemporaryDirectory(prefix="tagtopic-child-") as path:
        folder = Path(path)
        (folder / TASK).write_text(json.dumps({"task": task, "settings": dict(settings)}), encoding="utf-8")
        _write_arrays(folder, arrays)
        code = _run_child(folder, name, timeout)
        if code != 0:
            raise ForeignLibraryError(_what_happened(folder, name, code))
        return _read_arrays(folder / ANSWER)


def _run_child(folder: Path, name: str, timeout: float | None) -> int:
    paths = [str(Path(entry).resolve()) for entry in sys.path if entry]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-P", "-m", "tagtopic._core.isolation", str(folder)]
    with (folder / ERRORS).open("wb") as errors:
        # standard input stays open for as long as this process lives: the child watches it
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, env=environment
        )
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise ForeignLibraryError(
                f"{name} was not done after {timeout:g} seconds and was ended; timeout= sets how long it may take"
            ) from None
        finally:
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()


def _what_happened(folder: Path, name: str, code: int) -> str:
    if (folder / FAILURE).exists():
        failure = json.loads((folder / FAILURE).read_text(encoding="utf-8"))
        return f"{name} failed: {failure['kind']}: {failure['message']}"
    text = (folder / ERRORS).read_text(encoding="utf-8", errors="replace").strip()[-LAST_WORDS:]
    how = f"by {signal.Signals(-code).name}" if -code in set(signal.Signals) else f"with exit code {code}"
    return f"{name} crashed: its process was ended {how}" + (f"; it last said:\n{text}" if text else "")


def _write_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    for name, array in arrays.items():
        write_array(folder / f"{name}.npy", array)


def _read_arrays(folder: Path) -> Arrays:
    return {file.stem: np.load(file, allow_pickle=False) for file in sorted(folder.glob("*.npy"))}


def _end_with_parent() -> None:
    """End this process when its standard input does: the parent holds the other end."""
    os.read(0, 1)
    os._exit(3)


def child(folder: Path) -> int:
    """What the child process does; its exit code."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    asked = json.loads((folder / TASK).read_text(encoding="utf-8"))
    module, _, function = asked["task"].partition(":")
    try:
        answer = getattr(import_module(module), function)(_read_arrays(folder), asked["settings"])
    except Exception as error:
        failure = {"kind": type(error).__name__, "message": str(error)}
        (folder / FAILURE).write_text(json.dumps(failure), encoding="utf-8")
        return 1
    (folder / ANSWER).mkdir()
    _write_arrays(folder / ANSWER, answer)
    return 0


if __name__ == "__main__":
    sys.exit(child(Path(sys.argv[1])))
