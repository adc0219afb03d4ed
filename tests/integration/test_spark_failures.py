"""kill -9 in mid-iteration: the fit gives the numbers of one without failures.

Tasks wait at a known point on the executors (a file marks that they reached it, another lets them continue), so that
what is killed is certainly at work.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagtopic.engines.distributed.session import TransferSizes
from tagtopic.engines.local import LocalEngine
from tagtopic.inference.types import Parameters
from tagtopic.testing import SparkCluster


def hold(folder: Path) -> None:
    """Mark that this process has arrived, and wait for permission to continue."""
    (folder / f"held-{os.getpid()}").touch()
    while not (folder / "go").exists():
        time.sleep(0.02)


@dataclass(frozen=True)
class HeldTask:
    """Waits when its first block is done: its posteriors are stored, and its result is not yet sent."""

    task: Callable[[Any, Any], Iterator[Any]]
    folder: Path

    def __call__(self, partition: Any, scratch: Any) -> Iterator[Any]:
        results = iter(self.task(partition, scratch))
        first = next(results)
        hold(self.folder)
        yield first
        yield from results


@dataclass(frozen=True)
class HeldAddition:
    """Waits in the second half of a shuffle."""

    add: Callable[[int, list[Any]], Any]
    folder: Path

    def __call__(self, key: int, parts: list[Any]) -> Any:
        hold(self.folder)
        return self.add(key, parts)


class Killer(threading.Thread):
    """Kills once a process waits in the folder, then lets all continue.

    It waits as long as the fit does: on a busy machine minutes pass before a task has arrived. Whatever happens to it,
    the tasks may go on in the end, since the driver would wait for them forever.
    """

    def __init__(self, folder: Path, kill: Callable[[int], None]) -> None:
        super().__init__(daemon=True)
        self.folder = folder
        self.kill = kill
        self.killed = False
        self.error: Exception | None = None
        self._given_up = threading.Event()

    def run(self) -> None:
        try:
            while not (held := list(self.folder.glob("held-*"))):
                if self._given_up.wait(0.02):
                    return
            self.kill(int(held[0].name.partition("-")[2]))
            self.killed = True
        except Exception as error:
            self.error = error
        finally:
            (self.folder / "go").touch()

    def end(self) -> None:
        """Stop waiting; raise what went wrong."""
        self._given_up.set()
        self.join()
        if self.error is not None:
            raise self.error


@pytest.fixture(autouse=True)
def by_value() -> Iterator[None]:
    """Executors cannot import this file: its definitions are pickled by value."""
    from pyspark import cloudpickle

    pickling: Any = cloudpickle
    pickling.register_pickle_by_value(sys.modules[__name__])
    yield
    pickling.unregister_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module")
def without_failures(fit: Any, local_engine: LocalEngine) -> Parameters:
    found: Parameters = fit(local_engine, latent=True)
    return found


def worker_of(cluster: SparkCluster, pid: int) -> Any:
    return next(worker for worker in cluster.workers if pid in cluster.processes_of(worker))


def kill_python(cluster: SparkCluster, pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def kill_executor(cluster: SparkCluster, pid: int) -> None:
    (executor,) = cluster.processes_of(worker_of(cluster, pid), "CoarseGrainedExecutorBackend")
    os.kill(executor, signal.SIGKILL)


def kill_worker(cluster: SparkCluster, pid: int) -> None:
    for process in cluster.processes_of(worker_of(cluster, pid)):
        with suppress(ProcessLookupError):  # ended when its parent was killed
            os.kill(process, signal.SIGKILL)


def assert_close(one: Parameters, other: Parameters, relative: float) -> None:
    for field in ("psi", "theta", "pi", "pi_latent", "mu"):
        np.testing.assert_allclose(getattr(one, field), getattr(other, field), rtol=relative, atol=0, err_msg=field)


KILLS = {2: kill_python, 3: kill_executor, 4: kill_worker}
"""What is killed, by iteration."""


def test_failures_in_the_e_step_change_nothing(
    cluster: SparkCluster, spark_engine: Any, fit: Any, without_failures: Parameters, tmp_path: Path
) -> None:
    found, session = fit_with_failures(fit, spark_engine(), tmp_path, cluster, in_e_step)
    assert_close(found, without_failures, 0)
    assert session.cluster.sent > len(session.blocks.extents)  # blocks went to other executors


def test_failures_in_the_reduction_change_nothing(
    cluster: SparkCluster, spark_engine: Any, fit: Any, without_failures: Parameters, tmp_path: Path
) -> None:
    found, session = fit_with_failures(
        fit, spark_engine(transfer=TransferSizes(collect=0)), tmp_path, cluster, in_reduce
    )
    assert_close(found, without_failures, 1e-5)
    assert session.cluster.sent > len(session.blocks.extents)


def fit_with_failures(
    fit: Any, engine: Any, folder: Path, cluster: SparkCluster, where: Callable[[Any, Path], None]
) -> tuple[Parameters, Any]:
    """A fit in whose second, third and fourth iteration something is killed; returns the session too."""
    killers: list[Killer] = []
    sessions: list[Any] = []

    def before_step(iteration: int, session: Any) -> None:
        sessions.append(session)
        if iteration in KILLS:
            own = folder / str(iteration)
            own.mkdir()
            kill = KILLS[iteration]
            where(session, own)
            killers.append(Killer(own, lambda pid: kill(cluster, pid)))
            killers[-1].start()

    try:
        found = fit(engine, latent=True, before_step=before_step)
    finally:
        cluster.start_worker()
        for killer in killers:
            killer.end()
    assert [killer.killed for killer in killers] == [True] * len(KILLS)
    return found, sessions[0]


def in_e_step(session: Any, folder: Path) -> None:
    """Let the tasks of the next job wait."""
    free = session.cluster.run

    def held(task: Any, step: int, partitions: Iterable[int] | None = None) -> list[Any]:
        session.cluster.run = free
        results: list[Any] = free(HeldTask(task, folder), step, partitions)
        return results

    session.cluster.run = held


def in_reduce(session: Any, folder: Path) -> None:
    """Let the reductions of the next shuffle wait."""
    free = session.cluster.shuffle

    def held(cut: Any, add: Any, step: int, **options: Any) -> Iterator[Any]:
        session.cluster.shuffle = free
        results: Iterator[Any] = free(cut, HeldAddition(add, folder), step, **options)
        return results

    session.cluster.shuffle = held


WITHOUT_TAGTOPIC = """#!/bin/sh
PYTHONPATH=$(echo "$PYTHONPATH" | tr ':' '\\n' | grep spark | paste -sd:) exec {python} -S "$@"
"""
ON_ONE_MACHINE = """
from tagtopic import LDA
from tagtopic.engines import SparkEngine

with SparkEngine(master="local[1]") as engine:
    conf = engine.spark.sparkContext.getConf()
    print(conf.get("spark.driver.bindAddress"), conf.get("spark.driver.host"))
    LDA(2, max_iter=1).fit([[1, 2], [3, 4]], engine=engine)
"""


@pytest.mark.parametrize(
    ("wrapper", "message"),
    [
        (WITHOUT_TAGTOPIC, r"^ValueError: \S+ has no tagtopic for .*, and the driver has tagtopic "),
        ("#!/bin/missing\n", r"SparkJobError: \S+ cannot start \S+worker-python: set PYSPARK_PYTHON"),
    ],
)
def test_a_machine_whose_python_cannot_be_used_is_named(tmp_path: Path, wrapper: str, message: str) -> None:
    python = tmp_path / "worker-python"
    python.write_text(wrapper.format(python=sys.executable))
    python.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", ON_ONE_MACHINE],
        env={**os.environ, "PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "127.0.0.1 127.0.0.1" in done.stdout.splitlines()  # nobody else can reach the driver
    assert re.search(message, done.stderr.splitlines()[-1])
    assert "Py4J" not in done.stderr.splitlines()[-1]
