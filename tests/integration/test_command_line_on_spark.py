"""The command line with Spark, in processes of their own, with contexts of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import tagtopic
from tagtopic import TWDA, Corpus
from tagtopic.cli.inputs import NO_KNOWN_TAGS

pytest.importorskip("pyspark")

PATIENCE = 600.0
SPARK = ["--engine", "spark", "--master", "local[1]"]
SEVERAL = """
import json, sys
from tagtopic.cli.main import app
for command in json.loads(sys.argv[1]):
    app(command, standalone_mode=False)
"""
"""Several commands in one process: the second finds Java running."""


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    words = {"Ada": ["engine", "number", "wheel", "card"], "Mary": ["monster", "storm", "night", "ice"]}
    rows = [
        {"text": " ".join(random.choice(words[author], 10)), "author": author}
        for author in list(words)
        for _ in range(20)
    ]
    source = tmp_path / "letters.jsonl"
    source.write_text("\n".join(map(json.dumps, rows)))
    return source


def start(log: Path, *arguments: str) -> subprocess.Popen[bytes]:
    package = str(Path(tagtopic.__file__).resolve().parent.parent)
    environment = os.environ | {"PYTHONPATH": package}
    with log.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, *arguments], env=environment, stdout=file, stderr=file, start_new_session=True
        )


def test_a_killed_driver_goes_on_from_its_checkpoint_and_the_model_answers_on_spark(
    letters: Path, tmp_path: Path
) -> None:
    model = tmp_path / "letters.tagtopic"
    fit = ["fit", str(letters), "--tags", "author", "-k", "2", "-o", str(model), "--tol", "0", "--quiet", *SPARK]
    log = tmp_path / "said.txt"
    begun = start(log, "-m", "tagtopic", *fit, "--checkpoint-every", "1", "--max-iter", "10000")
    kill_at_checkpoint(begun, model, log)
    assert not model.exists()
    answers = {name: tmp_path / f"{name}.parquet" for name in ("transform", "rank", "predict")}
    columns = {"transform": ["--tags", "author"], "rank": ["--tags", "author"], "predict": ["-n", "2"]}
    commands = [[*fit, "--resume", "--max-iter", "3"]]
    commands += [[name, str(model), str(letters), *columns[name], "-o", str(answers[name]), *SPARK] for name in answers]
    commands += [["rank", str(model), str(letters), "-o", str(tmp_path / "no-tags.parquet"), *SPARK]]
    assert start(log, "-c", SEVERAL, json.dumps(commands)).wait() == 0, log.read_text()
    assert log.read_text().count(NO_KNOWN_TAGS) == 1  # of the last command, which was not told where the tags are

    corpus = Corpus.read(letters, tags="author")
    found = TWDA.load(model)
    assert 1 <= found.n_iter_ < 10000
    expected = TWDA(2, tol=0, max_iter=found.n_iter_, random_state=0).fit(corpus)
    np.testing.assert_array_equal(found.components_, expected.components_)
    np.testing.assert_array_equal(found.tag_topics_, expected.tag_topics_)
    rows: dict[str, list[dict[str, Any]]] = {name: pq.read_table(path).to_pylist() for name, path in answers.items()}
    assert list(rows["transform"][0]) == ["id", "text", "tags", "topics"]
    assert [row["id"] for row in rows["transform"]] == list(corpus.ids)
    np.testing.assert_allclose([row["topics"] for row in rows["transform"]], found.transform(corpus), rtol=1e-6)
    for row, ranked in zip(rows["rank"], found.rank_tags(corpus), strict=True):
        assert {pair["tag"]: pair["weight"] for pair in row["tag_weights"]} == pytest.approx(dict(ranked))
    for row, predicted in zip(rows["predict"], found.predict_tags(corpus, n=2), strict=True):
        assert [pair["tag"] for pair in row["predicted_tags"]] == [tag for tag, _ in predicted]


def kill_at_checkpoint(process: subprocess.Popen[bytes], model: Path, log: Path) -> None:
    """kill -9 the driver as soon as it has written a checkpoint, and the Java that it leaves behind."""
    checkpoint = model.with_name(f"{model.name}.checkpoint")
    limit = time.monotonic() + PATIENCE
    try:
        while not checkpoint.exists():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < limit
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
        with suppress(ProcessLookupError):  # it may have ended by itself
            os.killpg(process.pid, signal.SIGKILL)
