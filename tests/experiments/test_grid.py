"""A grid can be killed at any time and continued; failures are stored and not fatal."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tagtopic._core.optional import MissingExtraError
from tagtopic.experiments import Plan, planted_dataset, run
from tagtopic.experiments.experiment import ExperimentGrid, Settings
from tagtopic.experiments.results import Row

CELLS: list[Settings] = [{"experiment": "sums", "model": name, "number": n} for name in "ab" for n in range(3)]
PLAN = Plan(quick=True, topics=(2,), folds=2, models=("TWTM", "TWDA"), jobs=1)

SLOW_RUN = """
import sys, time
from dataclasses import replace
from tagtopic.experiments import Plan, planted_dataset, run
from tagtopic.experiments.noise import EXPERIMENT

def measure(*arguments):
    time.sleep(0.3)
    return EXPERIMENT.measure(*arguments)

run(replace(EXPERIMENT, measure=measure), planted_dataset(quick=True), sys.argv[1], Plan(**eval(sys.argv[2])))
"""


class RecordingMeasure:
    """Measures a cell and records its settings."""

    def __init__(self) -> None:
        self.calls: list[Settings] = []

    def __call__(self, settings: Settings) -> list[Row]:
        self.calls.append(settings)
        if settings["model"] == "b" and settings["number"] == 1:
            raise RuntimeError("crashed by SIGABRT")
        return [{"value": settings["number"] ** 2}]


def test_finished_cells_are_not_measured_again(tmp_path: Path) -> None:
    grid, measure = ExperimentGrid(tmp_path, "corpus"), RecordingMeasure()
    first = grid.run(CELLS[:4], measure)
    assert measure.calls == CELLS[:4]
    again = ExperimentGrid(tmp_path, "corpus").run(CELLS, measure)
    assert measure.calls == CELLS
    assert again[:4] == first
    assert [cell.table for cell in again[:2]] == [[CELLS[0] | {"value": 0}], [CELLS[1] | {"value": 1}]]


def test_another_corpus_has_its_own_cells(tmp_path: Path) -> None:
    measure = RecordingMeasure()
    for corpus in ("one", "another"):
        ExperimentGrid(tmp_path, corpus).run(CELLS[:1], measure)
    assert len(measure.calls) == 2


def test_a_failed_cell_is_logged_stored_and_not_fatal(tmp_path: Path) -> None:
    grid, measure = ExperimentGrid(tmp_path, "corpus"), RecordingMeasure()
    messages: list[str] = []
    done = grid.run(CELLS, measure, log=messages.append)
    failed = [cell for cell in done if cell.error]
    assert [cell.error for cell in failed] == ["RuntimeError: crashed by SIGABRT"]
    assert len(done) == len(CELLS)
    assert len(messages) == 1
    assert "b" in messages[0]
    assert "crashed by SIGABRT" in messages[0]
    grid.run(CELLS, measure)
    assert len(measure.calls) == len(CELLS)
    assert grid.forget(CELLS, ["failed"]) == 1
    grid.run(CELLS, measure)
    assert measure.calls[len(CELLS) :] == [failed[0].settings]


def test_a_missing_package_is_not_stored_as_a_failure(tmp_path: Path) -> None:
    grid = ExperimentGrid(tmp_path, "corpus")
    messages: list[str] = []

    def unavailable(settings: Settings) -> list[Row]:
        raise MissingExtraError("LDA needs tomotopy")

    (cell,) = grid.run(CELLS[:1], unavailable, log=messages.append)
    assert cell.error == "MissingExtraError: LDA needs tomotopy"
    assert "LDA needs tomotopy" in messages[0]
    assert grid.run(CELLS[:1], RecordingMeasure())[0].rows == [{"value": 0}]


def test_forgotten_models_are_measured_again(tmp_path: Path) -> None:
    grid, measure = ExperimentGrid(tmp_path, "corpus"), RecordingMeasure()
    grid.run(CELLS, measure)
    assert grid.forget(CELLS, ["a"]) == 3
    grid.run(CELLS, measure)
    assert measure.calls[len(CELLS) :] == CELLS[:3]


def test_no_cell_is_started_after_the_time_limit(tmp_path: Path) -> None:
    measure = RecordingMeasure()
    messages: list[str] = []
    assert ExperimentGrid(tmp_path, "corpus").run(CELLS, measure, minutes=-1.0, log=messages.append) == []
    assert measure.calls == []
    assert "goes on from here" in messages[0]


def test_a_damaged_cell_file_is_measured_again(tmp_path: Path) -> None:
    grid, measure = ExperimentGrid(tmp_path, "corpus"), RecordingMeasure()
    grid.run(CELLS[:1], measure)
    grid.path(CELLS[0]).write_text('{"settings": ')
    assert grid.run(CELLS[:1], measure)[0].rows == [{"value": 0}]
    assert len(measure.calls) == 2


def test_ctrl_c_ends_the_run_and_keeps_finished_cells(tmp_path: Path) -> None:
    grid = ExperimentGrid(tmp_path, "corpus")

    def measure(settings: Settings) -> list[Row]:
        if settings["number"] == 2:
            raise KeyboardInterrupt
        return [{"value": 1}]

    with pytest.raises(KeyboardInterrupt):
        grid.run(CELLS, measure)
    assert len(grid.finished(CELLS)) == 2


@pytest.mark.skipif(os.name != "posix", reason="kills by signal")
def test_a_killed_run_continues_to_the_same_files(tmp_path: Path) -> None:
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    arguments = {"quick": True, "topics": PLAN.topics, "folds": PLAN.folds, "models": PLAN.models, "jobs": 1}
    process = subprocess.Popen([sys.executable, "-c", SLOW_RUN, str(broken), repr(arguments)])
    try:
        _wait_for_cells(broken, 2, process)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = {file: file.stat().st_mtime_ns for file in _cells(broken)}
    dataset = planted_dataset(quick=True)
    run("noise", dataset, whole, PLAN)
    assert 2 <= len(kept) < len(_cells(whole)) == 4
    result = run("noise", dataset, broken, PLAN)
    assert result.missing == 0
    assert {file: file.stat().st_mtime_ns for file in kept} == kept
    assert pq.read_table(broken / "noise.parquet").equals(pq.read_table(whole / "noise.parquet"))
    for name in ("noise.md", "noise.svg"):
        assert (broken / name).read_bytes() == (whole / name).read_bytes()


def _cells(folder: Path) -> list[Path]:
    return sorted((folder / "cells").glob("[!.]*.json"))


def _wait_for_cells(folder: Path, n: int, process: "subprocess.Popen[Any]") -> None:
    while len(_cells(folder)) < n:
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    for file in _cells(folder):
        json.loads(file.read_text())  # complete, though the run continues
