"""The cluster that the other tests run on: it starts, and stops without leaving anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from tagtopic.testing import SparkCluster


def test_workers_are_registered(cluster: SparkCluster) -> None:
    assert cluster.master.startswith("spark://127.0.0.1:")
    assert [len(cluster.processes_of(worker, "deploy.worker.Worker")) for worker in cluster.workers] == [1, 1]


def test_stopping_ends_all_processes() -> None:
    with SparkCluster(workers=1) as cluster:
        folder, started = cluster.folder, list(cluster._started)
        alive = [pid for process in started for pid in cluster.processes_of(process)]
        assert len(alive) == 2
    assert not [pid for pid in alive if Path(f"/proc/{pid}").exists()]
    assert not folder.exists()


def test_using_a_cluster_that_is_not_running_raises() -> None:
    with pytest.raises(ValueError, match="not running"):
        _ = SparkCluster().folder
    with pytest.raises(ValueError, match="needs one"):
        SparkCluster(workers=0)
