"""Commands with `--engine spark`: checks of options, and error messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command

from tagtopic._version import __version__
from tagtopic.cli import main
from tagtopic.cli.infer import Destination
from tagtopic.engines import SparkEngine

SPARK = ["--engine", "spark", "--master", "local[1]"]
ON_AN_EXECUTOR = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "read.py", line 1, in read
    found = read(table)
^^^^^^^^^^^
tagtopic.corpus.reading.errors.ReadError: row 1: column 'author' holds an object; leave such rows out
"""
IN_A_JOB = f"""An error occurred while calling z:PythonRDD.collectAndServe.
: org.apache.spark.SparkException: Job aborted due to stage failure: PythonException: {ON_AN_EXECUTOR}
\tat org.apache.spark.api.python.BasePythonRunner.compute(PythonRunner.scala:1)
\t... 1 more
"""
IN_JAVA = (
    "An error occurred while calling o38.parquet.\n: ClassNotFoundException: S3AFileSystem\n\tat java.lang.Thread\n"
)


def failed_task(error: str) -> str:
    return (
        "An error occurred while calling z:PythonRDD.collectAndServe.\n"
        ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most "
        "recent failure: Lost task 0.3 in stage 0.0 (TID 3) (10.0.0.7 executor 1): PythonException: Traceback (most "
        f'recent call last):\n  File "worker.py", line 1, in main\n{error}\n\n\tat java.lang.Thread\n'
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ON_AN_EXECUTOR, "row 1: column 'author' holds an object; leave such rows out"),
        (IN_A_JOB, "row 1: column 'author' holds an object; leave such rows out"),
        (IN_JAVA, "ClassNotFoundException: S3AFileSystem"),
        ("[PATH_NOT_FOUND] there is no file:/x\n\nJVM stacktrace:\nat x", "[PATH_NOT_FOUND] there is no file:/x"),
        ("", "RuntimeError"),
        (failed_task("ModuleNotFoundError: No module named 'tagtopic'"), f"10.0.0.7 has no tagtopic {__version__}: "),
        (
            failed_task(
                "pyspark.errors.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different "
                "version: 3.10 than that in driver: 3.11"
            ),
            "10.0.0.7 has another Python than the driver: set PYS",
        ),
        (
            failed_task('java.io.IOException: Cannot run program "/opt/python": error=2'),
            "10.0.0.7 cannot start /opt/py",
        ),
        (
            failed_task("OSError: [Errno 28] No space left on device"),
            "10.0.0.7 has a full disk (No space left on device)",
        ),
        (failed_task("KeyError: 3"), "a task failed on 10.0.0.7: 3"),
        (failed_task("tagtopic.corpus.reading.errors.ReadError: row 1"), "row 1"),
    ],
)
def test_errors_of_spark_are_reduced_to_one_message(text: str, message: str) -> None:
    assert SparkEngine.describe_error(RuntimeError(text)).startswith(message)
    assert "\n" not in SparkEngine.describe_error(RuntimeError(text))


def test_errors_of_spark_are_printed_as_one_line(tagtopic: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    errors: Any = pytest.importorskip("pyspark.errors")

    def fail(*_: object) -> None:
        raise errors.PySparkException("[NO] first\nsecond")

    monkeypatch.setattr(main, "app", fail)
    outcome = tagtopic("fit")
    assert (outcome.code, outcome.err) == (1, "error: [NO] first\n")


def test_output_folder_is_removed_on_error(tmp_path: Path) -> None:
    target = tmp_path / "answers.parquet"

    def fail() -> None:
        with Destination("spark", "local[1]", str(target), as_json=False, quiet=True).removed_on_error() as address:
            assert address == f"file://{target}"
            target.mkdir()
            raise RuntimeError

    for _ in range(2):
        with pytest.raises(RuntimeError):
            fail()
    target.mkdir()
    with pytest.raises(FileExistsError, match="is there already"):
        fail()
    assert target.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--encoding", "latin-1"], "--encoding latin-1 is for files that this machine reads"),
        (["--delimiter", ";"], "--delimiter ; is for CSV"),
        (["--master", "nonsense"], "master='nonsense': expected spark://host:7077"),
    ],
)
def test_options_that_a_cluster_lacks_are_refused(
    tagtopic: Command, model: Path, documents: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    pytest.importorskip("pyspark")
    outcome = tagtopic("rank", model, documents, "--text", "body", "-o", tmp_path / "a.parquet", *SPARK, *options)
    assert outcome.code == 1
    assert outcome.err.startswith(f"error: {message}")


def test_rank_with_a_model_without_tags_is_refused_on_a_cluster(
    tagtopic: Command, documents: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark")
    lda = tmp_path / "lda.tagtopic"
    assert (
        tagtopic("fit", documents, "--text", "body", "-m", "lda", "-k", 2, "--max-iter", 1, "-q", "-o", lda).code == 0
    )
    outcome = tagtopic("rank", lda, documents, "--text", "body", "-o", tmp_path / "a.parquet", *SPARK)
    assert outcome.err == "error: the model has learnt no tags, so it cannot rank any\n"
