"""A grid can be killed at any moment and goes on; what fails is written down and not fatal."""

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
from tagtopic.experiments import Plan, planted, run
from tagtopic.experiments.grid import Grid, Row, Settings

CELLS: list[Settings] = [{"experiment": "sums", "model": name, "number": n} for name in "ab" for n in range(3)]
PLAN = Plan(quick=True, topics=(2, 3), folds=2, models=("TWTM", "TWDA"), jobs=1)

SLOWLY = """
import sys, time
from dataclasses import replace
from tagtopic.experiments import Plan, planted, run, running

original = running.experiment_of
def slow(name):
    found = original(name)
    def measure(*arguments):
        time.sleep(0.3)
        return found.measure(*arguments)
    return replace(found, measure=measure)
running.experiment_of = slow
run("noise", planted(quick=True), sys.argv[1], Plan(**eval(sys.argv[2])))
"""


class Counted:
    """Measures a cell, and remembers which it was asked for."""

    def __init__(self) -> None:
        self.asked: list[Settings] = []

    def __call__(self, settings: Settings) -> list[Row]:
        self.asked.append(settings)
        if settings["model"] == "b" and settings["number"] == 1:
            raise RuntimeError("crashed by SIGABRT")
        return [{"value": settings["number"] ** 2}]


def test_a_finished_cell_is_never_measured_again(tmp_path: Path) -> None:
    grid, measure = Grid(tmp_path, "corpus"), Counted()
    first = grid.run(CELLS[:4], measure)
    assert measure.asked == CELLS[:4]
    again = Grid(tmp_path, "corpus").run(CELLS, measure)
    assert measure.asked == CELLS
    assert again[:4] == first
    assert [cell.table for cell in again[:2]] == [[CELLS[0] | {"value": 0}], [CELLS[1] | {"value": 1}]]


def test_another_corpus_is_another_grid(tmp_path: Path) -> None:
    measure = Counted()
    for corpus in ("one", "another"):
        Grid(tmp_path, corpus).run(CELLS[:1], measure)
    assert len(measure.asked) == 2


def test_a_failed_cell_is_told_written_down_and_not_fatal(tmp_path: Path) -> None:
    grid, measure = Grid(tmp_path, "corpus"), Counted()
    told: list[str] = []
    done = grid.run(CELLS, measure, tell=told.append)
    failed = [cell for cell in done if cell.error]
    assert [cell.error for cell in failed] == ["RuntimeError: crashed by SIGABRT"]
    assert len(done) == len(CELLS)
    assert len(told) == 1
    assert "b" in told[0]
    assert "crashed by SIGABRT" in told[0]
    grid.run(CELLS, measure)
    assert len(measure.asked) == len(CELLS)
    assert grid.forget(CELLS, ["failed"]) == 1
    grid.run(CELLS, measure)
    assert measure.asked[len(CELLS) :] == [failed[0].settings]


def test_a_cell_that_lacks_a_package_is_measured_when_it_is_there(tmp_path: Path) -> None:
    grid = Grid(tmp_path, "corpus")
    told: list[str] = []

    def lacks(settings: Settings) -> list[Row]:
        raise MissingExtraError("LDA needs tomotopy")

    (cell,) = grid.run(CELLS[:1], lacks, tell=told.append)
    assert cell.error == "MissingExtraError: LDA needs tomotopy"
    assert "LDA needs tomotopy" in told[0]
    assert grid.run(CELLS[:1], Counted())[0].rows == [{"value": 0}]


def test_models_can_be_measured_again(tmp_path: Path) -> None:
    grid, measure = Grid(tmp_path, "corpus"), Counted()
    grid.run(CELLS, measure)
    assert grid.forget(CELLS, ["a"]) == 3
    grid.run(CELLS, measure)
    assert measure.asked[len(CELLS) :] == CELLS[:3]


def test_no_cell_is_begun_when_time_is_over(tmp_path: Path) -> None:
    measure = Counted()
    told: list[str] = []
    assert Grid(tmp_path, "corpus").run(CELLS, measure, minutes=-1.0, tell=told.append) == []
    assert measure.asked == []
    assert "goes on from here" in told[0]


def test_a_damaged_cell_is_measured_again(tmp_path: Path) -> None:
    grid, measure = Grid(tmp_path, "corpus"), Counted()
    grid.run(CELLS[:1], measure)
    grid.path(CELLS[0]).write_text('{"settings": ')
    assert grid.run(CELLS[:1], measure)[0].rows == [{"value": 0}]
    assert len(measure.asked) == 2


def test_ctrl_c_ends_the_run_and_keeps_what_is_done(tmp_path: Path) -> None:
    grid = Grid(tmp_path, "corpus")

    def measure(settings: Settings) -> list[Row]:
        if settings["number"] == 2:
            raise KeyboardInterrupt
        return [{"value": 1}]

    with pytest.raises(KeyboardInterrupt):
        grid.run(CELLS, measure)
    assert len(grid.finished(CELLS)) == 2


@pytest.mark.skipif(os.name != "posix", reason="kills by signal")
def test_a_grid_killed_in_the_middle_ends_with_the_same_table(tmp_path: Path) -> None:
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    arguments = {"quick": True, "topics": PLAN.topics, "folds": PLAN.folds, "models": PLAN.models, "jobs": 1}
    process = subprocess.Popen([sys.executable, "-c", SLOWLY, str(broken), repr(arguments)])
    try:
        _wait_for_cells(broken, 3, process)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = {file: file.stat().st_mtime_ns for file in _cells(broken)}
    subject = planted(quick=True)
    run("noise", subject, whole, PLAN)
    assert 3 <= len(kept) < len(_cells(whole)) == 8
    outcome = run("noise", subject, broken, PLAN)
    assert outcome.missing == 0
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
        json.loads(file.read_text())  # whole, though the run goes on
