"""Fault injection: kill a fit at random moments, resume it, and compare the result with an undisturbed fit.

    python tools/kills.py [--kills 20] [--documents 4000] [--seed 0] [--learning batch|online] [--inference cvb0|gibbs]
                           [--master URL]

The fit writes a checkpoint after every iteration. SIGKILL ends it after a random time and it is started again, until it
has been killed the given number of times; the last run completes. All learnt arrays must be equal bit for bit. With
--master the fit is on Spark ("local[2]", or the address of a cluster), and its driver is killed.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tagtopic import TWDA
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines import LocalEngine, SparkEngine

NAMES = ("components_", "tag_topics_", "tag_weight_prior_", "latent_topic_prior_", "bound_", "validation_perplexity_")


def fit(
    documents: int, learning: str, inference: str, master: str | None, checkpoint: Path | None, target: Path
) -> None:
    """Fit to the end, or until killed."""
    engine = LocalEngine() if master is None else SparkEngine(master=master, block_entries=20_000)
    corpus = make_tagged_corpus(documents, 10, 60, 2000, random_state=0).corpus
    iterations = 60 if learning == "batch" else 12
    learnt = {"tag_weight_prior": "estimate", "latent_topic_prior": "estimate"}
    priors: dict[str, Any] = learnt if inference == "cvb0" else {"n_draws": 3}
    TWDA(
        10, random_state=0, tol=0, max_iter=iterations, patience=1000, checkpoint=checkpoint, checkpoint_every=1,
        inference=inference, validation_fraction=0.1, learning=learning, **priors,
        batch_size=500, progress=False, tag_predictor=False, callbacks=[lambda number, *_: print(number, flush=True)],
    ).fit(corpus, engine=engine).save(target)  # fmt: skip


def run(command: list[str], seconds: float | None) -> bool:
    """Run a fit and kill it the given seconds after its first line of output. Return whether it completed."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
    return process.returncode == 0


def same(one: Path, other: Path) -> bool:
    """Return whether all learnt arrays of two models are equal bit for bit."""
    a, b = TWDA.load(one), TWDA.load(other)
    return all(np.array(getattr(a, name)).tobytes() == np.array(getattr(b, name)).tobytes() for name in NAMES)


def main() -> None:
    """Compare killed and resumed fits with one that is not disturbed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--learning", choices=["batch", "online"], default="batch")
    parser.add_argument("--inference", choices=["cvb0", "gibbs"], default="cvb0")
    parser.add_argument("--master", help="fit on Spark")
    parser.add_argument("--one", nargs=2, metavar=("CHECKPOINT", "TARGET"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        checkpoint = None if given.one[0] == "-" else Path(given.one[0])
        fit(given.documents, given.learning, given.inference, given.master, checkpoint, Path(given.one[1]))
        return
    random = np.random.default_rng(given.seed)
    settings = ["--documents", str(given.documents), "--learning", given.learning, "--inference", given.inference]
    settings += ["--master", given.master] if given.master else []
    common = [sys.executable, __file__, *settings, "--one"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        started = time.perf_counter()
        assert run([*common, "-", str(folder / "whole")], None)
        whole = time.perf_counter() - started
        kills = ends = 0
        while kills < given.kills:
            # short enough for several kills in one fit; a fit that completes is started again from the beginning
            ended = run([*common, str(folder / "checkpoint"), str(folder / "killed")], random.uniform(0, whole / 8))
            kills += not ended
            if ended:
                ends += 1
                assert same(folder / "killed", folder / "whole"), "other bits"
                (folder / "checkpoint").unlink()
        assert run([*common, str(folder / "checkpoint"), str(folder / "killed")], None)
        assert same(folder / "killed", folder / "whole"), "other bits"
    fits = f"{ends + 1} fits ({given.learning}, {given.inference})"
    print(f"{kills} kills over {fits}: each ended with the bits of the undisturbed fit")


if __name__ == "__main__":
    main()
