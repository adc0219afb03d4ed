"""The Spark context of an engine: the caller's, which is left unchanged, or its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from tests.pages import ROOT, run_page

from tagtopic import Corpus
from tagtopic.engines import SparkEngine
from tagtopic.engines.spark.context import SparkJobError, broadcast
from tagtopic.testing import SparkCluster


def test_the_callers_session_is_left_unchanged(context: Any, fit: Any, spark_engine: Any) -> None:
    def looks() -> tuple[Any, ...]:
        return (
            sorted(context.getConf().getAll()),
            context._jsc.getPersistentRDDs().size(),
            context.getLocalProperty("spark.jobGroup.id"),
            context.getLocalProperty("spark.job.description"),
            scratch_files(context),
        )

    before = looks()
    fit(spark_engine(), iterations=1)
    assert looks() == before
    assert context.parallelize([1, 2]).sum() == 3


def scratch_files(context: Any) -> list[str]:
    """Files of tagtopic on the executors."""

    def look(_: Any) -> Any:
        import os
        from pathlib import Path

        root = Path(os.environ["SPARK_LOCAL_DIRS"].split(",")[0])
        return [f"{root.name}/{entry.name}" for entry in root.glob("tagtopic-*") if entry.is_dir()]

    found: list[str] = context.parallelize(range(4), 4).mapPartitions(look).collect()
    return sorted(set(found))


def test_a_second_context_is_refused(cluster: SparkCluster, context: Any, corpus: Corpus, fit: Any) -> None:
    with pytest.raises(ValueError, match=r"open already .* give it as session="):
        fit(SparkEngine(master=cluster.master))


def test_a_full_disk_of_the_driver_is_one_sentence(
    context: Any, no_room: Callable[[], AbstractContextManager[None]], capsys: pytest.CaptureFixture[str]
) -> None:
    with no_room(), pytest.raises(SparkJobError, match=r"the driver cannot write to its disk \(File too large\)"):
        broadcast(context, b"x" * 100_000)
    assert capsys.readouterr().err == ""
    shared = broadcast(context, b"x" * 100_000)
    assert len(shared.value) == 100_000
    shared.destroy()


def test_files_do_not_accumulate(cluster: SparkCluster, context: Any, fit: Any, spark_engine: Any) -> None:
    def broadcasts() -> int:  # of executors that were killed by other tests, too
        return sum(1 for _ in (cluster.folder / "local").rglob("broadcast_*python*"))

    files: list[int] = []
    before = broadcasts()

    def count(iteration: int, session: Any) -> None:
        folders = (cluster.folder / "local").rglob(f"tagtopic-{session.cluster.names.session}")
        files.append(sum(1 for folder in folders for file in folder.rglob("*") if file.is_file()))

    fit(spark_engine(), before_step=count)
    assert files[2] == files[3] == files[4] > 0
    limit = time.monotonic() + 30  # Spark removes broadcasts in its own time
    while broadcasts() > before and time.monotonic() < limit:
        time.sleep(0.05)
    assert broadcasts() <= before


def test_the_guide_to_spark_runs(
    cluster: SparkCluster,
    context: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On the cluster and context of the tests, in place of its own: two contexts cannot be open at a time."""
    monkeypatch.setattr("tagtopic.testing.SparkCluster", lambda workers: nullcontext(cluster))
    monkeypatch.setattr("tagtopic.engines.spark.engine.SparkEngine", lambda master: SparkEngine(context))
    run_page(ROOT / "docs" / "how-to" / "spark.md", tmp_path, monkeypatch, capsys)
