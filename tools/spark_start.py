"""Shorten the start of Spark, which the tests start more than twenty times.

python tools/spark_start.py build/spark.jsa

Java records the classes that a small job loads in a class-data archive, and starts in about two thirds of the time with
it; without Java nothing is written, and the tests run without the archive. The Python workers import pyspark from an
archive of sources in the installed package, and compile them at each start: the bytecode is added to it.
"""

from __future__ import annotations

import os
import py_compile
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from tagtopic.testing import QUICK_START

JOB = """
from pyspark import SparkContext
context = SparkContext("local[1]")
context.parallelize(range(4), 2).map(str).collect()
context.stop()
"""


def archive_classes(archive: Path) -> None:
    """Write the archive of Java's classes to a temporary file and rename it when it is complete."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    partial = archive.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    options = f"{QUICK_START} -XX:ArchiveClassesAtExit={partial.resolve()}"
    done = subprocess.run(
        [sys.executable, "-c", JOB], env=os.environ | {"JAVA_TOOL_OPTIONS": options}, capture_output=True, text=True
    )
    if done.returncode or not partial.exists():
        why = "".join(done.stderr.strip().splitlines()[-1:])
        print(f"no archive of Spark's classes; tests take longer: {why}")
    else:
        partial.replace(archive)


def add_bytecode(archive: Path) -> None:
    """Add the bytecode of its modules to an archive of sources, unless it has some."""
    with ZipFile(archive) as file:
        contents = {name: file.read(name) for name in file.namelist()}
    if any(name.endswith(".pyc") for name in contents):
        return
    partial, mode = archive.with_suffix(".partial"), py_compile.PycInvalidationMode.UNCHECKED_HASH
    with ZipFile(partial, "w") as file, TemporaryDirectory() as folder:
        source = Path(folder) / "module.py"
        for name, content in contents.items():
            file.writestr(name, content)
            if name.endswith(".py") and "/tests/" not in name:
                source.write_bytes(content)
                compiled = py_compile.compile(str(source), dfile=name, invalidation_mode=mode, quiet=2)
                if compiled is not None:
                    file.write(compiled, f"{name}c")
    partial.replace(archive)


if __name__ == "__main__":
    pyspark = find_spec("pyspark")
    if pyspark is not None and pyspark.origin is not None:
        add_bytecode(Path(pyspark.origin).parent / "python" / "lib" / "pyspark.zip")
    if shutil.which("java"):
        archive_classes(Path(sys.argv[1]))
