"""A million documents on one machine: seconds per iteration, memory, growth, and the share of the inner loops.

    python benchmarks/scale.py iterations FOLDER [--topics 5 20 50 200] [--documents 1000000] [--iterations 3]
    python benchmarks/scale.py iterations FOLDER --inference gibbs --documents 100000 --tags 20000 --words 100000
    python benchmarks/scale.py tokens FOLDER [--topics 50] [--documents 100000]
    python benchmarks/scale.py growth FOLDER [--topics 50] [--documents 1000000]
    python benchmarks/scale.py roofline FOLDER [--topics 50] [--documents 100000]
    python benchmarks/scale.py online CORPUS [CORPUS ...] --plot docs/results/online.svg

FOLDER is for synthetic corpora (about 1 GB for 1,000,000 documents; see synthetic_corpus.py). Each measurement runs in
a process of its own. Wall-clock seconds are meaningful on an idle machine only, so CPU seconds of all threads are
printed too.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numba
import numpy as np

from synthetic_corpus import Size, synthetic_corpus
from tagtopic import TWDA, Corpus
from tagtopic._core.intrinsics import AHEAD, prefetch_row
from tagtopic._core.memmap import TemporaryArrays
from tagtopic._core.parallel import ThreadPool, cut_evenly
from tagtopic.engines.blocks import blocks_of
from tagtopic.engines.local import CHUNK_ENTRIES, LocalEngine
from tagtopic.engines.sampler import LocalSampler
from tagtopic.inference.cvb0 import word_pass_cvb0
from tagtopic.inference.e_step import word_pass
from tagtopic.inference.gibbs import document_key, sampler_priors, uniform
from tagtopic.inference.m_step import log_prior, m_step
from tagtopic.inference.methods import CVB0, MAP, method_of
from tagtopic.inference.own_words import own_word_candidates
from tagtopic.inference.types import CountTotals, Parameters, Priors, Statistics
from tagtopic.models import _fit
from tagtopic.models._settings import initial_parameters


def resident(name: str) -> float:
    """Return resident megabytes now ("VmRSS") or at the peak ("VmHWM"); Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) / 1024


def reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


class Clock:
    """Wall-clock and CPU seconds (all threads) since the last reading."""

    def __init__(self) -> None:
        self.read()

    def read(self) -> tuple[float, float]:
        """Return (wall, CPU) since the last reading."""
        now = time.perf_counter(), time.process_time()
        passed = tuple(b - a for a, b in zip(getattr(self, "_last", now), now, strict=True))
        self._last = now
        return passed[0], passed[1]


def measure_fit(path: str, n_topics: int, iterations: int, inference: str) -> None:
    """Print one fit as JSON: its iterations, and peak memory of each part."""
    corpus = Corpus.open(path)
    settings: dict[str, Any] = {
        "tol": 0,
        "random_state": 0,
        "n_jobs": 2,
        "inference": inference,
        "tag_predictor": False,
    }
    TWDA(n_topics, max_iter=2, **settings).fit(corpus[:300])  # compile
    gc.collect()
    opened = resident("VmRSS")
    reset_peak()
    clock, rows = Clock(), []

    def note(*_: Any) -> None:
        wall, cpu = clock.read()
        rows.append({"wall": round(wall, 2), "cpu": round(cpu, 2), "peak": round(resident("VmHWM"))})

    model = TWDA(n_topics, max_iter=iterations, callbacks=[note], **settings)
    start = _fit.start_fit
    found: dict[str, Any] = {}

    def begin(*args: Any) -> Any:
        context = start(*args)
        enter = context.__enter__

        def entered() -> Any:
            fit = enter()
            wall, cpu = clock.read()
            found["start"] = {"wall": round(wall, 2), "cpu": round(cpu, 2), "peak": round(resident("VmHWM"))}
            return fit

        return _Context(entered, context.__exit__)

    _fit.start_fit = begin
    model.fit(corpus)
    wall, cpu = clock.read()
    found |= {"iterations": rows, "after": {"wall": round(wall, 2), "cpu": round(cpu, 2)}}
    print(json.dumps({"opened": round(opened), "peak": round(resident("VmHWM")), **found}))


class _Context:
    def __init__(self, enter: Callable[[], Any], leave: Callable[..., Any]) -> None:
        self.enter, self.leave = enter, leave

    def __enter__(self) -> Any:
        return self.enter()

    def __exit__(self, *what: Any) -> Any:
        return self.leave(*what)


def fit_in_child(path: Path, n_topics: int, given: argparse.Namespace) -> Any:
    """Run one fit without tag predictor in a process of its own."""
    command = [sys.executable, __file__, "one", str(path), str(n_topics), str(given.iterations), given.inference]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def typical(found: Any) -> tuple[float, float]:
    """Return the fastest iteration after the first, which compiles and reads."""
    later = found["iterations"][1:] or found["iterations"]
    return min(row["wall"] for row in later), min(row["cpu"] for row in later)


def iterations(given: argparse.Namespace) -> None:
    path = synthetic_corpus(given.folder, Size(given.documents, given.tags, given.words))
    print("| K | seconds per iteration, wall | CPU / 2 | initialisation, CPU s | peak MB | of it the opened corpus |")
    print("|---|---|---|---|---|---|")
    for n_topics in given.topics:
        found = fit_in_child(path, n_topics, given)
        wall, cpu = typical(found)
        print(
            f"| {n_topics} | {wall:.1f} | {cpu / 2:.1f} | {found['start']['cpu']:.1f} | {found['peak']} | "
            f"{found['opened']} |",
            flush=True,
        )


def growth(given: argparse.Namespace) -> None:
    results = []
    for n_documents in (given.documents // 10, given.documents):
        path = synthetic_corpus(given.folder, Size(n_documents, given.tags, given.words))
        found = fit_in_child(path, given.topics[0], given)
        results.append((*typical(found), found["peak"]))
        print(f"{n_documents:,} documents, K = {given.topics[0]}: {found}", flush=True)
    (wall, cpu, peak), (more_wall, more_cpu, more_peak) = results
    print(
        f"10 times the documents: {more_wall / wall:.2f} times the wall-clock time, {more_cpu / cpu:.2f} times the "
        f"CPU time, {more_peak / peak:.3f} times the peak memory"
    )


@numba.njit(nogil=True)
def passes(documents: Any, first: int, last: int, psi: Any, mix: Any, repeats: int, which: int) -> float:
    """Gather rows of psi once per document, as the E-step does, then run a word pass over them ``repeats`` times.

    The pass is that of "cvb0", that of the other methods, or the minimum that two loops over the rows can do.
    """
    n_topics = psi.shape[1]
    most = np.diff(documents.word_starts[first : last + 1]).max()
    rows, counts = np.empty((most, n_topics), psi.dtype), np.empty(most, psi.dtype)
    sums, inverses, prior = np.empty(most, psi.dtype), np.empty(most, psi.dtype), np.full(most, 0.07, psi.dtype)
    weighted, own_weighted, left = (
        np.empty(n_topics, psi.dtype),
        np.empty(n_topics, psi.dtype),
        np.empty((4, n_topics), psi.dtype),
    )
    share, own = np.full(n_topics, 1e-6, psi.dtype), np.full(n_topics, 1e-3, psi.dtype)
    zeros = np.zeros(most, psi.dtype)
    total = 0.0
    mix = mix.copy()
    for d in range(first, last):
        mix[:] = 1.0 / n_topics
        start, n = documents.word_starts[d], documents.word_starts[d + 1] - documents.word_starts[d]
        for i in range(n):
            counts[i] = documents.counts[start + i]
            if start + i + AHEAD < documents.words.shape[0]:
                prefetch_row(psi, documents.words[start + i + AHEAD])
            rows[i] = psi[documents.words[start + i]]
        for sweep in range(repeats):
            mix[sweep % 2] *= 1.001  # changes between sweeps, so that the compiler cannot merge them
            if which == CVB0:
                word_pass_cvb0(
                    rows[:n],
                    counts[:n],
                    prior[:n],
                    share,
                    mix,
                    own,
                    sums[:n],
                    inverses[:n],
                    weighted,
                    own_weighted,
                    left,
                )
            elif which == MAP:
                word_pass(rows[:n], counts[:n], mix, zeros[:n], sums[:n], weighted)
            else:
                bare_pass(rows[:n], counts[:n], mix, sums[:n], weighted)
            total += weighted[0] + sums[0]
    return total


@numba.njit(nogil=True, fastmath=True)
def bare_pass(rows: Any, counts: Any, mix: Any, sums: Any, weighted: Any) -> None:
    """Compute a matrix-vector product and a weighted sum of rows, without divisions or dependences."""
    weighted[:] = 0
    for i in range(rows.shape[0]):
        s = mix[0] * rows[i, 0]
        for k in range(1, rows.shape[1]):
            s += mix[k] * rows[i, k]
        sums[i] = s
    for i in range(rows.shape[0]):
        c = counts[i]
        for k in range(rows.shape[1]):
            weighted[k] += c * rows[i, k]


@numba.njit(nogil=True, fastmath=True)
def cumulate(counts: Any, word: Any, mix: Any, cumulated: Any) -> Any:
    """``cumulated = cumsum(mix * counts[word])``; return the sum."""
    total = np.float32(0)
    for k in range(mix.shape[0]):
        total += mix[k] * np.float32(counts[word, k])
        cumulated[k] = total
    return total


@numba.njit(nogil=True)
def bare_sweep(documents: Any, counts: Any, document_topics: Any, topics: Any, seed: Any) -> None:
    """Draw a topic for each token from the cumulated products of its word's row and its document's counts.

    Nothing else: no tags, no prior, no counts that change, no token left out of its own counts.
    """
    mix = np.empty(counts.shape[1], np.float32)
    cumulated = np.empty(counts.shape[1], np.float32)
    t = 0
    for d in range(documents.word_starts.shape[0] - 1):
        for k in range(mix.shape[0]):
            mix[k] = np.float32(document_topics[d, k])
        key = document_key(seed, 0, d)
        for e in range(documents.word_starts[d], documents.word_starts[d + 1]):
            word = documents.words[e]
            for _ in range(documents.counts[e]):
                total = cumulate(counts, word, mix, cumulated)
                point = np.float32(uniform(key, t)) * total
                low, high = 0, cumulated.shape[0] - 1
                while low < high:
                    middle = (low + high) // 2
                    if cumulated[middle] <= point:
                        low = middle + 1
                    else:
                        high = middle
                topics[t] = low
                t += 1


def tokens(given: argparse.Namespace) -> None:
    """Print CPU nanoseconds per token and sweep of the sampler, and of a bare loop over the same data, one thread."""
    corpus = Corpus.open(synthetic_corpus(given.folder, Size(given.documents, given.tags, given.words)))
    for n_topics in given.topics:
        model = TWDA(n_topics, inference="gibbs", init="random", random_state=0)
        parameters, beliefs = initial_parameters(model, corpus)
        candidates = own_word_candidates(corpus.counts, corpus.tags) if given.own_words else None
        priors = sampler_priors(parameters, beliefs, candidates)
        with ThreadPool(1) as pool:
            sampler = LocalSampler(corpus, n_topics, pool, TemporaryArrays(), ExitStack(), candidates=candidates)
            sampler.initialise(parameters, 0)
            for sweep in range(given.iterations):
                sampler.sweep(priors, 0, sweep + 1)
            counts = np.array(sampler.word_topics(slice(None)))
            owner = np.repeat(np.arange(len(corpus)), np.diff(sampler.token_starts))
            is_topic = sampler.tokens.topics < n_topics
            cells = owner[is_topic] * n_topics + sampler.tokens.topics[is_topic]
            document_topics = np.bincount(cells, minlength=len(corpus) * n_topics).astype(np.int32)
            document_topics = document_topics.reshape(-1, n_topics) + 1
            drawn = np.empty(sampler.n_tokens, np.uint16)
            taken: dict[str, list[float]] = {"the sampler": [], "a bare loop": []}
            for repeat in range(given.repeats + 1):  # the first compiles
                for name, times in taken.items():
                    clock = Clock()
                    if name == "the sampler":
                        sampler.sweep(priors, 0, given.iterations + 1 + repeat)
                    else:
                        bare_sweep(sampler.documents, counts, document_topics, drawn, 1)
                    times.append(1e9 * clock.read()[1] / sampler.n_tokens)
            ours, bare = (min(times[1:]) for times in taken.values())
            print(
                f"K = {n_topics}, {corpus!r}, {sampler.n_tokens:,} tokens: {ours:.0f} ns per token and sweep, a bare "
                f"loop {bare:.0f} ns, ratio {ours / bare:.2f}",
                flush=True,
            )


def roofline(given: argparse.Namespace) -> None:
    """Print CPU seconds of the two inner loops per iteration, and their rate against bare loops on the same data."""
    corpus = Corpus.open(synthetic_corpus(given.folder, Size(given.documents, given.tags, given.words)))
    n_topics, sweeps, code = given.topics[0], given.sweeps, method_of(given.inference).code
    random = np.random.default_rng(0)
    psi = random.random((corpus.n_words, n_topics), np.float32) / corpus.n_words
    theta = np.full((corpus.n_tags, n_topics), 1 / n_topics, np.float32)
    mu = np.full(n_topics, 0.05)
    totals = CountTotals(np.full(n_topics, 1e6), np.full(corpus.n_tags, 1e3), np.full(corpus.n_words, 0.07))
    parameters = Parameters(psi, theta, np.ones(corpus.n_tags), 5.0, mu, latent=True, totals=totals)
    priors = Priors(np.full(n_topics, 0.1), np.full(corpus.n_words, 0.1))
    mix = np.full(n_topics, 1 / n_topics, np.float32)
    blocks = list(blocks_of(corpus))

    def loops(which: int, repeats: int) -> float:
        clock = Clock()
        with ThreadPool(2) as workers:
            for block in blocks:
                chunks = cut_evenly(block.documents.word_starts, CHUNK_ENTRIES)
                workers.map(lambda part, b=block: passes(b.documents, *part, psi, mix, repeats, which), chunks)  # type: ignore[misc]
        return clock.read()[1]

    def iteration(session: Any, sums: Statistics) -> float:
        clock = Clock()
        session.e_step(parameters, sums, sweeps=sweeps)
        log_prior(parameters, priors, session.method, session)
        m_step(sums, priors, session.method, session)
        return clock.read()[1]

    with LocalEngine(2, kept_entries=0).session(corpus, parameters, given.inference) as session:
        sums = Statistics(np.empty_like(psi), np.empty_like(theta), 0.0)
        iteration(session, sums)
        whole = min(iteration(session, sums) for _ in range(given.iterations))
    bare_code = -1
    loops(code, 1), loops(bare_code, 1)
    # gathering the rows takes the same time for any number of repeats: differences are the loops alone
    once, twice, bare_once, bare_twice = (
        min(loops(which, repeats) for _ in range(3)) for which in (code, bare_code) for repeats in (sweeps, 2 * sweeps)
    )
    inner, bare = twice - once, bare_twice - bare_once
    print(f"K = {n_topics}, {corpus}, {given.inference}: an iteration of {sweeps} sweeps takes {whole:.2f} CPU s")
    print(f"the two inner loops, rows of psi fetched from memory: {once:.2f} s, {once / whole:.0%} of it")
    print(f"  bare loops over the same: {bare_once:.2f} s: the inner loops run at {bare_once / once:.0%} of that rate")
    print(f"the two inner loops, rows already in cache: {inner:.2f} s, {inner / whole:.0%} of it")
    print(f"  bare loops: {bare:.2f} s: {bare / inner:.0%} of that rate")


def online(given: argparse.Namespace) -> None:
    """Print the perplexity of held-out documents by CPU seconds, online and batch."""
    warnings.simplefilter("ignore")
    curves: dict[str, list[tuple[float, float]]] = {}
    for path in given.corpora:
        train, test = Corpus.open(path).split(0.2, 0)
        test = test[:4000]
        for kind, most in (("batch", given.batch_iterations), ("online", given.passes)):
            curve = perplexities(train, test, given.topics[0], kind, most)
            curves[f"{Path(path).name.removeprefix('c_')}, {kind}"] = curve
            print(f"{path} {kind}: " + ", ".join(f"{s:.1f} s {p:.1f}" for s, p in curve), flush=True)
    if given.plot:
        given.plot.write_text(svg(curves))


def perplexities(train: Corpus, test: Corpus, n_topics: int, kind: str, most: int) -> list[tuple[float, float]]:
    """Return (CPU seconds, perplexity) after the initialisation and after each iteration; scoring is not timed."""
    fits: list[Any] = []
    curve: list[tuple[float, float]] = []
    begin, spent, clock = _fit.start_fit, [0.0], Clock()

    def catching(*args: Any) -> Any:
        context = begin(*args)

        def entered() -> Any:
            fits.append(context.__enter__())
            note()
            return fits[-1]

        return _Context(entered, context.__exit__)

    def note(*_: Any) -> None:
        spent[0] += clock.read()[1]
        scored = TWDA(n_topics, inference="cvb0")
        _fit.set_learnt(scored, train, fits[-1].snapshot, fits[-1].history)
        curve.append((spent[0], scored.perplexity(test)))
        clock.read()

    _fit.start_fit = catching
    try:
        settings: dict[str, Any] = {"inference": "cvb0", "random_state": 0, "n_jobs": 2, "tol": 0, "progress": False}
        settings |= {"tag_predictor": False, "max_iter": most}
        TWDA(n_topics, learning=kind, callbacks=[note], **settings).fit(train)
    finally:
        _fit.start_fit = begin
    return curve


def svg(curves: dict[str, list[tuple[float, float]]]) -> str:
    """Draw the curves relative to the best value of their corpus, on a logarithmic axis."""
    width, height, left, top = 640, 360, 60, 20
    best: dict[str, float] = {}
    for name, curve in curves.items():
        corpus = name.partition(",")[0]
        best[corpus] = min(best.get(corpus, np.inf), min(value for _, value in curve))
    last = max(seconds for curve in curves.values() for seconds, _ in curve)

    def place(seconds: float, excess: float) -> str:
        x = left + (width - left - 20) * seconds / last
        y = top + (height - top - 40) * (1 - np.log10(max(excess, 0.1) / 0.1) / np.log10(50 / 0.1))
        return f"{x:.1f},{max(y, top):.1f}"

    colours = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728")
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="12">'
    ]
    for excess in (0.1, 0.3, 1, 3, 10, 30):
        x, y = place(0, excess).split(",")
        lines.append(f'<line x1="{x}" x2="{width - 20}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        lines.append(f'<text x="{left - 6}" y="{float(y) + 4}" text-anchor="end">{excess}%</text>')
    for number, (name, curve) in enumerate(curves.items()):
        points = " ".join(place(s, 100 * (p / best[name.partition(",")[0]] - 1)) for s, p in curve)
        dash = ' stroke-dasharray="5 3"' if "batch" in name else ""
        colour = colours[number // 2 % 4]
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"{dash}/>')
        label = f"{name} (dashed)" if dash else name
        lines.append(f'<text x="{width - 160}" y="{top + 16 * number + 12}" fill="{colour}">{label}</text>')
    lines.append(f'<text x="{width / 2}" y="{height - 8}" text-anchor="middle">CPU seconds, 0 to {last:.0f}</text>')
    lines.append(f'<text x="{left}" y="{top - 6}">held-out perplexity above the best</text></svg>')
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, function, topics, documents in (
        ("iterations", iterations, [5, 20, 50, 200], 1_000_000),
        ("growth", growth, [50], 1_000_000),
        ("tokens", tokens, [50], 100_000),
        ("roofline", roofline, [50], 100_000),
    ):
        command = commands.add_parser(name)
        command.add_argument("folder", type=Path)
        command.add_argument("--topics", type=int, nargs="+", default=topics)
        command.add_argument("--documents", type=int, default=documents)
        command.add_argument("--tags", type=int, default=Size.tags)
        command.add_argument("--words", type=int, default=Size.words)
        command.add_argument("--iterations", type=int, default=3)
        command.add_argument("--repeats", type=int, default=3)
        command.add_argument("--own-words", action="store_true")
        command.add_argument("--inference", default="cvb0")
        command.add_argument("--sweeps", type=int, default=2)
        command.set_defaults(function=function)
    command = commands.add_parser("online")
    command.add_argument("corpora", nargs="+", help="folders of saved corpora")
    command.add_argument("--topics", type=int, nargs=1, default=[50])
    command.add_argument("--batch-iterations", type=int, default=30)
    command.add_argument("--passes", type=int, default=10)
    command.add_argument("--plot", type=Path)
    command.set_defaults(function=online)
    command = commands.add_parser("one")
    for name, kind in (("path", str), ("topics", int), ("iterations", int), ("inference", str)):
        command.add_argument(name, type=kind)
    command.set_defaults(
        function=lambda given: measure_fit(given.path, given.topics, given.iterations, given.inference)
    )
    given = parser.parse_args()
    given.function(given)


if __name__ == "__main__":
    main()
