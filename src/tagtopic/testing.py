"""A real Spark cluster on this machine, for tests: a standalone master and workers, from the pip package alone."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import tagtopic
from tagtopic.engines.spark.context import require_java, require_pyspark

Found = TypeVar("Found")

LOOPBACK = "127.0.0.1"
MASTER_CLASS = "org.apache.spark.deploy.master.Master"
WORKER_CLASS = "org.apache.spark.deploy.worker.Worker"
REGISTERED = r"Successfully registered with master"
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options that halve the start of a short-lived Java, most of which is compilation."""

PATIENCE = 120.0
"""Seconds to wait for each process to be ready."""


class SparkCluster:
    """A standalone Spark cluster on the loopback address; use as a context manager, connect to ``master``.

    Parameters
    ----------
    workers : int, default=2
        Number of worker processes.
    cores : int, default=1
        Cores that each worker offers.
    memory : str, default="1g"
        Memory that each worker offers.

    Attributes
    ----------
    master : str
        The address of the cluster while it runs.
    workers : list of subprocess.Popen
        The worker processes.

    Raises
    ------
    ValueError
        If there is no worker.

    Examples
    --------
    >>> from tagtopic.testing import SparkCluster
    >>> with SparkCluster(workers=2) as cluster:  # doctest: +SKIP
    ...     TWTM(n_topics=5).fit(corpus, engine=SparkEngine(master=cluster.master))
    """

    def __init__(self, workers: int = 2, *, cores: int = 1, memory: str = "1g") -> None:
        if workers < 1:
            raise ValueError(f"workers={workers}: a cluster needs one at least")
        self.n_workers = workers
        self.cores = cores
        self.memory = memory
        self.master = ""
        self.workers: list[subprocess.Popen[bytes]] = []
        self._started: list[subprocess.Popen[bytes]] = []
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """The folder of logs, of the executors' work and of their scratch, while the cluster runs."""
        if self._folder is None:
            raise ValueError("the cluster is not running: use it in a with block")
        return self._folder

    def __enter__(self) -> SparkCluster:
        require_java()
        self._folder = Path(tempfile.mkdtemp(prefix="tagtopic-spark-"))
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End every process that was started, with what those started, and remove the scratch folder."""
        for process in self._started:
            _signal(process, signal.SIGTERM)
        for process in self._started:
            _end(process)
        self._started, self.workers, self.master = [], [], ""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def start_worker(self) -> subprocess.Popen[bytes]:
        """Start one more worker; it is registered with the master when this returns.

        Returns
        -------
        subprocess.Popen
            The process of the worker.
        """
        process = self._launch_worker()
        self._wait_for(f"worker-{len(self.workers) - 1}", process, REGISTERED)
        return process

    def processes_of(self, worker: subprocess.Popen[bytes], name: str = "") -> list[int]:
        """Return the ids of a worker's processes (its own, executors, Python) whose command line has ``name`` in it.

        Parameters
        ----------
        worker : subprocess.Popen
            One of ``workers``.
        name : str, default=""
            A part of the command line.

        Returns
        -------
        list of int
            Process ids.
        """
        return [pid for pid in _session_of(worker) if name in _command_of(pid)]

    def _start(self) -> None:
        master = self._launch("master", MASTER_CLASS, "--port", "0")
        found = self._wait_for("master", master, r"Starting Spark master at (spark://\S+)")
        self.master = found.group(1)
        self._wait_for("master", master, r"I have been elected leader")
        started = [self._launch_worker() for _ in range(self.n_workers)]
        for number, process in enumerate(started):
            self._wait_for(f"worker-{number}", process, REGISTERED)

    def _launch_worker(self) -> subprocess.Popen[bytes]:
        number = len(self.workers)
        options = ["--cores", str(self.cores), "--memory", self.memory, "--work-dir", str(self.folder / f"w{number}")]
        process = self._launch(f"worker-{number}", WORKER_CLASS, *options, self.master)
        self.workers.append(process)
        return process

    def _launch(self, name: str, java_class: str, *arguments: str) -> subprocess.Popen[bytes]:
        home = require_pyspark()
        command = [str(home / "bin" / "spark-class"), java_class, "--host", LOOPBACK, "--webui-port", "0", *arguments]
        with (self.folder / f"{name}.log").open("wb") as log:
            # a session of its own, by which all that the process starts can be found and ended
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment(home),
                cwd=self.folder, start_new_session=True,
            )  # fmt: skip
        self._started.append(process)
        return process

    def _environment(self, home: Path) -> dict[str, str]:
        package = str(Path(tagtopic.__file__).resolve().parent.parent)
        inherited = [str(Path(part).resolve()) for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
        own = {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": "256m",
            # the submission server would take a fixed port, and is not needed here
            "SPARK_DAEMON_JAVA_OPTS": f"{QUICK_START} -Dspark.master.rest.enabled=false",
            "SPARK_LAUNCHER_OPTS": QUICK_START,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(dict.fromkeys([package, *inherited])),
        }
        foreign = ("SPARK_CONF_DIR", "SPARK_MASTER_HOST", "SPARK_MASTER_PORT", "SPARK_WORKER_PORT")
        kept = {name: value for name, value in os.environ.items() if name not in foreign}
        return kept | own

    def _wait_for(self, name: str, process: subprocess.Popen[bytes], pattern: str) -> re.Match[str]:
        log = self.folder / f"{name}.log"

        def found() -> re.Match[str] | None:
            if process.poll() is not None:
                raise RuntimeError(f"the Spark {name} ended with code {process.returncode}:\n{_tail(log)}")
            return re.search(pattern, log.read_text(errors="replace"))

        match = _until(found)
        if match is None:
            raise TimeoutError(f"the Spark {name} was not ready within {PATIENCE:.0f} s:\n{_tail(log)}")
        return match


def _tail(log: Path, size: int = 2000) -> str:
    return log.read_text(errors="replace")[-size:]


def _until(look: Callable[[], Found | None]) -> Found | None:
    """Return what ``look`` finds; it is called until it finds something or PATIENCE is over."""
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    return None


def _session_of(process: subprocess.Popen[bytes]) -> Iterator[int]:
    """Yield the processes of the session that this one leads; Python daemons leave the process group, but not it."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        state, session = fields[0], int(fields[3])
        if session == process.pid and state not in "ZX":
            yield int(entry.name)


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to the process group, or after its leader has ended to what is left of its session."""
    if process.poll() is None:
        os.killpg(process.pid, number)
        return
    for pid in _session_of(process):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process that was asked to end and for all of its session; kill those that do not end."""
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    limit = time.monotonic() + 5
    while any(_session_of(process)):
        if time.monotonic() > limit:
            _signal(process, signal.SIGKILL)
        time.sleep(0.05)
