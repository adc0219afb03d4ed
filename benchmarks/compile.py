"""Measure what a first use costs: CPU seconds by step and by kernel, with an empty and with a full Numba cache.

python benchmarks/compile.py                            # by the default method, the 25 costliest kernels
python benchmarks/compile.py --inference gibbs --all    # one method, all kernels

Each run is a process of its own. Seconds of a kernel leave out those of the kernels that it calls; compilation for
other types of arguments counts as another specialisation.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from typing import Any

METHODS = ("auto", "gibbs", "map", "cvb0")
STEPS = ("import", "read", "fit", "topics", "predict_tags", "audit_tags")
FIRST_FIT = STEPS[:4]


def texts_and_tags(n: int) -> tuple[list[str], list[list[str]]]:
    """Return small documents on five subjects, with two tags each."""
    drawn = random.Random(0)
    vocabularies = [[f"{subject}{chr(97 + i)}word" for i in range(26)] for subject in "pqrst"]
    texts, tags = [], []
    for i in range(n):
        subject = i % 5
        words = (drawn.choice(vocabularies[subject if drawn.random() < 0.8 else drawn.randrange(5)]) for _ in range(40))
        texts.append(" ".join(words))
        tags.append([f"subject {subject}", f"other {drawn.randrange(8)}"])
    return texts, tags


class CompileTimes:
    """Exclusive CPU seconds and specialisations of each compiled kernel, as Numba reports them."""

    def __init__(self) -> None:
        from numba.core import event

        self.seconds: dict[str, float] = defaultdict(float)
        self.specialisations: dict[str, int] = defaultdict(int)
        self.local, self.lock = threading.local(), threading.Lock()
        times = self

        class Listener(event.Listener):
            def on_start(self, event: Any) -> None:
                times.start()

            def on_end(self, event: Any) -> None:
                times.end(event.data["dispatcher"].py_func)

        event.register("numba:compile", Listener())

    def start(self) -> None:
        """Begin a kernel; those that begin before it ends are its callees."""
        if not hasattr(self.local, "open"):
            self.local.open = []
        self.local.open.append([time.thread_time(), 0.0])

    def end(self, function: Any) -> None:
        """End the kernel that began last in this thread."""
        began, of_callees = self.local.open.pop()
        taken = time.thread_time() - began
        if self.local.open:
            self.local.open[-1][1] += taken
        name = f"{function.__module__.removeprefix('tagtopic.')}.{function.__qualname__}"
        with self.lock:
            self.seconds[name] += taken - of_callees
            self.specialisations[name] += 1


def run(method: str, n: int) -> dict[str, Any]:
    """Take each step once; return CPU seconds of the steps and of the kernels that each one compiled."""
    import numba  # part of the first step, which begins with the process

    times = CompileTimes()
    assert numba
    steps: dict[str, Any] = {}
    last = 0.0

    def end_step(name: str) -> None:
        nonlocal last
        now = time.process_time()
        kernels = {kernel: [seconds, times.specialisations[kernel]] for kernel, seconds in times.seconds.items()}
        steps[name] = {"seconds": now - last, "kernels": kernels}
        times.seconds.clear()
        times.specialisations.clear()
        last = time.process_time()

    from tagtopic import TWDA, Corpus

    end_step("import")
    texts, tags = texts_and_tags(n)
    corpus = Corpus.from_texts(texts, tags)
    end_step("read")
    model = TWDA(5, inference=method, random_state=0, max_iter=20, progress=False).fit(corpus)
    end_step("fit")
    for topic in range(5):
        model.top_words(topic, 10)
    end_step("topics")
    model.predict_tags(texts[:10], n=3)
    end_step("predict_tags")
    model.audit_tags(corpus)
    end_step("audit_tags")
    return steps


def run_apart(method: str, n: int, cache: str) -> dict[str, Any]:
    """Return the result of `run` in a new process with this folder as Numba's cache."""
    command = [sys.executable, "-W", "ignore", __file__, "--inference", method, "--documents", str(n), "--child"]
    done = subprocess.run(
        command, env=os.environ | {"NUMBA_CACHE_DIR": cache}, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def report(method: str, cold: dict[str, Any], warm: dict[str, Any], n_kernels: int | None) -> None:
    print(f"\n{method}: CPU seconds         empty cache   full cache   kernels   specialisations")
    for step in STEPS:
        kernels = cold[step]["kernels"]
        print(
            f"  {step:<24}{cold[step]['seconds']:14.2f}{warm[step]['seconds']:13.2f}{len(kernels):10}"
            f"{sum(count for _, count in kernels.values()):18}"
        )
    for name, steps in (("first fit and topics", FIRST_FIT), ("all", STEPS)):
        totals = [sum(found[step]["seconds"] for step in steps) for found in (cold, warm)]
        print(f"  {name:<24}{totals[0]:14.2f}{totals[1]:13.2f}")
    compiled_again = {kernel for step in STEPS for kernel in warm[step]["kernels"]}
    if compiled_again:
        print(f"  compiled again with a full cache: {', '.join(sorted(compiled_again))}")
    rows = [
        (seconds, step, kernel, count) for step in STEPS for kernel, (seconds, count) in cold[step]["kernels"].items()
    ]
    print("  seconds  specialisations  step          kernel")
    for seconds, step, kernel, count in sorted(rows, reverse=True)[:n_kernels]:
        print(f"  {seconds:7.2f}{count:17}  {step:<13} {kernel}")


def main() -> None:
    """Read the command line and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inference", choices=METHODS, nargs="+", default=("auto",))
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--all", action="store_true", help="print all kernels, not the 25 costliest")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        print(json.dumps(run(asked.inference[0], asked.documents)))
        return
    for method in asked.inference:
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = (run_apart(method, asked.documents, cache) for _ in range(2))
        report(method, cold, warm, None if asked.all else 25)


if __name__ == "__main__":
    main()
