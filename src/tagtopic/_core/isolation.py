"""Third-party libraries run in a child process, so that a crash of theirs is an error here.

tomotopy aborts the process on some inputs, gensim may hang. The child receives arrays as ``.npy`` files and settings as
JSON, and returns ``.npy`` files; nothing is pickled. A child ends when its parent does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.files import TemporaryFolder
from tagtopic._core.memmap import write_array

Arrays = dict[str, NDArray[Any]]

TASK, FAILURE, ERRORS, ANSWER = "task.json", "failure.json", "errors.txt", "answer"
MAX_ERROR_TEXT = 2000
"""Characters of a crashed child's standard error that are shown."""


class ForeignLibraryError(RuntimeError):
    """A library that ran in a child process crashed, failed or took too long.

    Examples
    --------
    >>> from tagtopic.baselines import BaselineError
    >>> issubclass(BaselineError, RuntimeError)
    True
    """


def run_isolated(
    task: str, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any], *, name: str, timeout: float | None
) -> Arrays:
    """Run ``task(arrays, settings)`` in a child process; ``task`` is "module:function" and returns a dict of arrays."""
    with TemporaryFolder() as folder:
        (folder / TASK).write_text(json.dumps({"task": task, "settings": dict(settings)}), encoding="utf-8")
        _write_arrays(folder, arrays)
        code = _run_child(folder, name, timeout)
        if code != 0:
            raise ForeignLibraryError(_failure_message(folder, name, code))
        return _read_arrays(folder / ANSWER)


def _run_child(folder: Path, name: str, timeout: float | None) -> int:
    paths = [str(Path(entry).resolve()) for entry in sys.path if entry]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-P", "-m", "tagtopic._core.isolation", str(folder)]
    with (folder / ERRORS).open("wb") as errors:
        # standard input stays open while this process lives: the child waits for its end
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


def _failure_message(folder: Path, name: str, code: int) -> str:
    if (folder / FAILURE).exists():
        failure = json.loads((folder / FAILURE).read_text(encoding="utf-8"))
        return f"{name} failed: {failure['kind']}: {failure['message']}"
    text = (folder / ERRORS).read_text(encoding="utf-8", errors="replace").strip()[-MAX_ERROR_TEXT:]
    how = f"by {signal.Signals(-code).name}" if -code in set(signal.Signals) else f"with exit code {code}"
    return f"{name} crashed: its process was ended {how}" + (f"; it last said:\n{text}" if text else "")


def _write_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    for name, array in arrays.items():
        write_array(folder / f"{name}.npy", array)


def _read_arrays(folder: Path) -> Arrays:
    return {file.stem: np.load(file, allow_pickle=False) for file in sorted(folder.glob("*.npy"))}


def _end_with_parent() -> None:
    """End this process at the end of its standard input, whose other end the parent has open."""
    os.read(0, 1)
    os._exit(3)


def _child_main(folder: Path) -> int:
    """Run the task in the child process; return the exit code."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    request = json.loads((folder / TASK).read_text(encoding="utf-8"))
    module, _, function = request["task"].partition(":")
    try:
        answer = getattr(import_module(module), function)(_read_arrays(folder), request["settings"])
    except Exception as error:
        failure = {"kind": type(error).__name__, "message": str(error)}
        (folder / FAILURE).write_text(json.dumps(failure), encoding="utf-8")
        return 1
    (folder / ANSWER).mkdir()
    _write_arrays(folder / ANSWER, answer)
    return 0


if __name__ == "__main__":
    sys.exit(_child_main(Path(sys.argv[1])))
