"""`tagtopic experiment scale` with Spark, in a process of its own: there can be one context in each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import tagtopic

pytest.importorskip("pyspark")


def test_solutions_are_measured_beside_one_machine(tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "tagtopic", "experiment", "scale", "--corpus", "planted", "--output", str(tmp_path),
        "--quick", "-k", "4", "-m", "standard", "-m", "Solution II", "--workers", "1", "-j", "1",
    ]  # fmt: skip
    package = str(Path(tagtopic.__file__).resolve().parent.parent)
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": package}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = {row["model"]: row for row in pq.read_table(tmp_path / "scale.parquet").to_pylist()}
    assert rows.keys() == {"standard", "Solution II"}
    assert rows["Solution II"]["workers"] == 1
    assert rows["Solution II"]["perplexity"] == pytest.approx(rows["standard"]["perplexity"], rel=0.02)
    assert all(row["seconds"] > 0 for row in rows.values())
