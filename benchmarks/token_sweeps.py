"""Time the sampler: CPU nanoseconds per token and sweep by number of topics, by the dense and the sparse draw.

    python benchmarks/token_sweeps.py PATH [--topics 50 200 500 1000 2000 5000] [--burn-in 30] [--repeats 3]

PATH is anything that ``Corpus.read`` accepts. One thread; after the burn-in, the draws of all numbers of topics take
turns, and the best of several sweeps counts: only ratios within one run are meaningful.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagtopic import TWDA, Corpus
from tagtopic._core.memmap import TemporaryArrays
from tagtopic._core.parallel import ThreadPool
from tagtopic.engines.sampler import LocalSampler
from tagtopic.inference.gibbs import Assignments, SamplerPriors, sampler_priors
from tagtopic.inference.own_words import own_word_candidates
from tagtopic.models._settings import initial_parameters

SEED = 7


@dataclass
class Chain:
    """A sampler after its burn-in, and the fastest of its sweeps since."""

    n_topics: int
    draw: str
    sampler: LocalSampler
    priors: SamplerPriors
    seconds: float = np.inf

    def sweep(self, number: int) -> None:
        """Time one sweep."""
        began = time.thread_time()
        self.sampler.sweep(self.priors, SEED, number)
        self.seconds = min(self.seconds, time.thread_time() - began)


def chains(corpus: Corpus, n_topics: int, burn_in: int) -> list[Chain]:
    """Return a chain by either draw, from the same assignments."""
    candidates = own_word_candidates(corpus.counts, corpus.tags)
    model = TWDA(n_topics, inference="gibbs", init="random", random_state=0)
    parameters, given = initial_parameters(model, corpus)
    priors = sampler_priors(parameters, given, candidates)
    found: list[Chain] = []
    for draw in ("dense", "sparse"):
        resources: Any = ThreadPool(1), TemporaryArrays(), ExitStack()
        sampler = LocalSampler(corpus, n_topics, *resources, candidates=candidates, sparse=draw == "sparse")
        if found:
            sampler.restore(Assignments(*map(np.copy, found[0].sampler.tokens)))
        else:
            sampler.initialise(parameters, SEED)
            for sweep in range(1, burn_in + 1):
                sampler.sweep(priors, SEED, sweep)
        found.append(Chain(n_topics, draw, sampler, priors))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--topics", type=int, nargs="+", default=[50, 200, 500, 1000, 2000, 5000])
    parser.add_argument("--burn-in", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    corpus = Corpus.read(given.path)
    print(corpus)
    found = [chain for n_topics in given.topics for chain in chains(corpus, n_topics, given.burn_in)]
    for repeat in range(given.repeats + 1):  # the first may compile
        for chain in found:
            chain.sweep(given.burn_in + 1 + repeat)
    for chain in found:
        rows = chain.sampler.word_topics(slice(None))
        sizes = rows.sum(axis=1)
        topics = float((np.count_nonzero(rows, axis=1) * sizes).sum() / sizes.sum())
        per_token = 1e9 * chain.seconds / chain.sampler.n_tokens
        print(f"K = {chain.n_topics}, {chain.draw}: {per_token:.0f} ns; a token's word has {topics:.0f} topics")


if __name__ == "__main__":
    main()
