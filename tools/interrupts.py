"""Fault injection: press Ctrl-C at random moments of `tagtopic fit` and check what it leaves behind.

    python tools/interrupts.py [--times 20] [--documents 3000] [--seed 0]

Each time the command must exit with the shell's code for Ctrl-C (or 0, if it had finished) and without a traceback; a
model that was written must load, and no partial file may be left.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from tagtopic.models._base import TagTopicModel

INTERRUPTED = 130
DONE = "done before"


def write_documents(path: Path, documents: int) -> None:
    """Write documents of ten subjects with disjoint words."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        for i in range(documents):
            subject = i % 10
            words = [f"word{subject}{n}" for n in rng.integers(0, 60, 40).tolist()]
            file.write(json.dumps({"text": " ".join(words), "tags": [f"subject:{subject}", f"year:{i % 7}"]}) + "\n")


def command(folder: Path) -> list[str]:
    """Return the command line of the fit."""
    options = ["--tags", "tags", "-k", "10", "--tol", "0", "--max-iter", "60", "--checkpoint-every", "1", "--quiet"]
    return [
        sys.executable, "-m", "tagtopic", "fit", str(folder / "documents.jsonl"), *options, "-o", str(folder / "model"),
    ]  # fmt: skip


def heed_interrupts() -> None:
    """Restore the default handler: processes that a shell starts in the background ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupt(folder: Path, seconds: float) -> str:
    """Run the command, send SIGINT after the given seconds, check what is left and describe the outcome."""
    with subprocess.Popen(command(folder), stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    left = {path.name for path in folder.iterdir()} - {"documents.jsonl", "model", "model.checkpoint"}
    assert not left, f"{left} was left after {seconds:.2f} s"
    when = f"exit code {process.returncode} after {seconds:.2f} s:\n{said}"
    assert "Traceback" not in said or "tagtopic" not in said, when  # Python itself has one in its first moments
    # by the signal itself in Python's own last moments; a shell says 130 for that too
    assert process.returncode in (0, INTERRUPTED, -signal.SIGINT), when
    if not (folder / "model").exists():
        return "ended before there was a model"
    iterations = TagTopicModel.load(folder / "model").n_iter_
    (folder / "model").unlink()
    return DONE if process.returncode == 0 else f"kept a model after {iterations} iterations"


def main() -> None:
    """Interrupt fits and print the outcomes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--documents", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_documents(folder / "documents.jsonl", given.documents)
        subprocess.run(command(folder), check=True)  # the first may have kernels to compile
        started = time.perf_counter()
        subprocess.run(command(folder), check=True)
        whole = time.perf_counter() - started
        outcomes = Counter(interrupt(folder, chance.uniform(0.0, whole)) for _ in range(given.times))
    assert outcomes[DONE] < given.times, "Ctrl-C never came in time"
    for outcome, times in sorted(outcomes.items()):
        print(f"{times} x {outcome}")
    print(f"{given.times} times Ctrl-C: no traceback, nothing half-written, every model can be loaded")


if __name__ == "__main__":
    main()
