"""The cache of compiled kernels is valid only while no source of theirs has changed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numba.extending
import pytest
from numba.core.event import install_recorder

from tagtopic._core import jit

PROGRAM = """
import numpy as np
from tagtopic.inference.priors.latent_topics import sum_log_latent
print(sum_log_latent(np.ones((1, 2)), 0, 1)[0])
print(*sum_log_latent.stats.cache_hits.values())
"""


def test_a_kernel_is_compiled_anew_when_a_file_that_it_imports_changes(tmp_path: Path) -> None:
    shutil.copytree(jit.PACKAGE, tmp_path / "tagtopic", ignore=shutil.ignore_patterns("__pycache__", "languages"))

    def run() -> tuple[int, bool]:
        done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, check=True, capture_output=True, text=True)
        value, *hits = done.stdout.split()
        return round(float(value)), bool(hits)

    assert run() == (-1, False)
    assert run() == (-1, True)
    callee = tmp_path / "tagtopic/inference/special.py"
    source = callee.read_text()
    head = "def digamma(x: float) -> float:"
    assert head in source
    callee.write_text(source.replace(head, f"{head}\n    return 7.0 * x", 1))
    assert run() == (7 - 14, False)


@pytest.mark.parametrize(
    ("file", "needed"),
    [
        ("inference/priors/latent_topics.py", "inference/special.py"),  # a function
        ("inference/e_step.py", "inference/types.py"),  # an import over several lines, in a file that it imports
        ("inference/m_step.py", "_core/intrinsics.py"),  # a constant
        ("corpus/matrices.py", "_core/arrays.py"),  # a module of a package
    ],
)
def test_imported_files_are_found(file: str, needed: str) -> None:
    assert jit.PACKAGE / needed in jit.needed_by(jit.PACKAGE / file)


def test_other_files_are_not_needed() -> None:
    needed = jit.needed_by(jit.PACKAGE / "inference/e_step.py")
    assert {path.parent.name for path in needed} == {"inference", "_core"}
    assert jit.PACKAGE / "tagging/features.py" not in needed


def test_kernels_compile_without_a_writable_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(_: Callable[..., object]) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(jit, "_KernelCache", nowhere)

    @jit.compiled
    def double(number: float) -> float:
        return 2 * number

    assert double(4.0) == 8.0


def test_compilation_is_reported_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    seen = []

    @numba.extending.overload(_watch_compiling)
    def _of_watch() -> Callable[[], None]:
        seen.append(jit.is_compiling())
        return lambda: None

    kernel = jit.compiled(_calls_watch)
    assert not jit.is_compiling()
    kernel()
    assert seen
    assert all(seen)
    assert not jit.is_compiling()


def _watch_compiling() -> None:
    """Stand in a kernel, for somebody to look while that is compiled."""


def _calls_watch() -> None:
    _watch_compiling()


CALLS = """
import numpy as np
from tagtopic._core.jit import compiled

@compiled
def checked(values, place):
    if place < 0:
        raise ValueError("negative place", place)
    return values[place]

@compiled
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)

@compiled
def caller(values, place):
    return checked(values, place) + checked(values, 1) + factorial(5)

values = np.arange(4.0)
print(caller(values, 2), factorial(4), checked(values, 3))
try:
    caller(values, -1)
except ValueError as error:
    print(error.args)
"""


def test_kernels_that_are_called_by_kernels_return_raise_and_recur(tmp_path: Path) -> None:
    file = tmp_path / "calls.py"
    file.write_text(CALLS)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    for _ in ("compiled", "from the cache"):
        done = subprocess.run([sys.executable, file], env=environment, check=True, capture_output=True, text=True)
        assert done.stdout == "123.0 24 3.0\n('negative place', -1)\n"


def test_a_kernel_is_compiled_once_for_constants_and_variables() -> None:
    @jit.compiled
    def callee(number: int) -> int:
        return number + 1

    @jit.compiled
    def caller(number: int) -> int:
        return callee(number) + callee(3)

    with install_recorder("numba:compile") as recorder:
        assert caller(5) == 10
    compiled = [event.data["dispatcher"].__name__ for _, event in recorder.buffer if event.is_start]
    assert compiled == ["caller", "callee"]


SWAPPED = """
from tagtopic._core.jit import compiled

@compiled
def half(number):
    return number / 2

print(half(3), half(2.5))
"""


def test_cached_code_for_other_types_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "swapped.py"
    file.write_text(SWAPPED)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def run() -> str:
        command = [sys.executable, str(file)]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return str(done.stdout)

    assert run() == "1.5 1.25\n"
    first, second = sorted(tmp_path.rglob("*.nbc"))
    contents = first.read_bytes(), second.read_bytes()
    first.write_bytes(contents[1])
    second.write_bytes(contents[0])
    assert run() == "1.5 1.25\n"
