"""`tagtopic fit --engine spark` in a process of its own, with a context of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tagtopic
from tagtopic import TWDA

pytest.importorskip("pyspark")


def test_the_model_is_that_of_a_local_fit(tmp_path: Path) -> None:
    source = tmp_path / "letters.jsonl"
    random = np.random.default_rng(0)
    words = {"Ada": ["engine", "number", "wheel", "card"], "Mary": ["monster", "storm", "night", "ice"]}
    rows = [
        {"text": " ".join(random.choice(words[author], 10)), "author": author}
        for author in list(words)
        for _ in range(20)
    ]
    source.write_text("\n".join(map(json.dumps, rows)))
    package = str(Path(tagtopic.__file__).resolve().parent.parent)
    for engine in (["--engine", "spark", "--master", "local[1]"], []):
        command = ["fit", str(source), "--tags", "author", "-k", "2", "--max-iter", "3", "--quiet", "--json", *engine]
        done = subprocess.run(
            [sys.executable, "-m", "tagtopic", *command, "-o", str(tmp_path / f"{len(engine)}.tagtopic")],
            capture_output=True, text=True, env=os.environ | {"PYTHONPATH": package},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["iterations"] == 3
    ours, theirs = (TWDA.load(tmp_path / f"{n}.tagtopic") for n in (4, 0))
    np.testing.assert_array_equal(ours.components_, theirs.components_)
    np.testing.assert_array_equal(ours.tag_topics_, theirs.tag_topics_)
