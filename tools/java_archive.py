"""Write a class-data archive of Spark's classes: Java then starts in about two thirds of the time.

python tools/java_archive.py build/spark.jsa

Java records the classes that a small job loads. Without Java nothing is written, and the tests run without the archive.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tagtopic.testing import QUICK_START

JOB = """
from pyspark import SparkContext
context = SparkContext("local[1]")
context.parallelize(range(4), 2).map(str).collect()
context.stop()
"""


def main(archive: Path) -> None:
    """Write the archive to a temporary file and rename it when it is complete."""
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


if __name__ == "__main__":
    if shutil.which("java"):
        main(Path(sys.argv[1]))
