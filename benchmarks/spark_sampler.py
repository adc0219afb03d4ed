"""Time sweeps of the sampler on a Spark cluster on this machine against the local engine in the same run.

python benchmarks/spark_sampler.py FOLDER                                          # a small corpus, a few minutes
python benchmarks/spark_sampler.py FOLDER --documents 500000 --tags 150000 --words 200000 -k 50 --rounds 4

FOLDER is for the synthetic corpus (see synthetic_corpus.py). The local engine has as many threads as the cluster has
cores and its default blocks, and sweeps of the engines alternate, so that other load affects all alike. CPU seconds are
the median over sweeps without the first, in which executors select the documents of each round. Bytes are those of
counts to executors, and of differences and assignments to the driver, in the last sweep.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from spark import cpu_of, start
from synthetic_corpus import Size, synthetic_corpus
from tagtopic import Corpus
from tagtopic.engines import LocalEngine, SparkEngine
from tagtopic.engines.base import Sampler
from tagtopic.engines.distributed.sampler import DistributedSampler
from tagtopic.inference.gibbs import sampler_priors
from tagtopic.inference.own_words import own_word_candidates
from tagtopic.testing import SparkCluster

CpuSeconds = dict[str, float]


class Sweeps:
    """The sweeps of one sampler, run one at a time."""

    def __init__(self, name: str, sampler: Sampler, others: Callable[[], CpuSeconds] = dict) -> None:
        self.name, self.sampler, self.others = name, sampler, others
        self.seconds: list[float] = []
        self.cpu: list[CpuSeconds] = []
        self.bounds: list[float] = []

    def sweep(self, priors: Any) -> None:
        """Run and time one sweep."""
        started, cpu = time.perf_counter(), self._cpu()
        self.bounds.append(self.sampler.sweep(priors, 1, len(self.seconds) + 1))
        self.seconds.append(time.perf_counter() - started)
        self.cpu.append({who: seconds - cpu[who] for who, seconds in self._cpu().items()})

    def _cpu(self) -> CpuSeconds:
        return {"driver": time.process_time(), **self.others()}

    def median_cpu(self) -> CpuSeconds:
        return {who: statistics.median(each[who] for each in self.cpu[1:]) for who in self.cpu[0]}


def traffic(sampler: DistributedSampler) -> tuple[float, float]:
    """Return the megabytes of the counts that a round sends, and of a sweep's assignments."""
    counts = sampler._round_counts().columns.nbytes
    packed = sampler._setup.pack(sampler.tokens)
    return counts / 1e6, sum(values.nbytes for values in packed) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--tags", type=int, default=5_000)
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("-k", "--topics", type=int, default=50)
    parser.add_argument("--rounds", type=int, nargs="+", default=[1, 4, 10, 40])
    parser.add_argument("--sweeps", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--own-words", action="store_true")
    parser.add_argument("--json", type=Path, help="append a line per number of rounds, for cost_model.py")
    parser.add_argument("--memory", default="1g", help="memory of each worker")
    arguments = parser.parse_args()
    path = synthetic_corpus(arguments.folder, Size(arguments.documents, arguments.tags, arguments.words))
    corpus = Corpus.open(path)[: arguments.documents]
    parameters, priors = start(corpus, arguments.topics, True)
    candidates = own_word_candidates(corpus.counts, corpus.tags) if arguments.own_words else None
    if candidates is not None:
        print(f"{len(candidates.words):,} candidates for own words", flush=True)
    sampled = sampler_priors(parameters, priors, candidates)
    config = {"spark.executor.memory": arguments.memory, "spark.log.level": "ERROR"}
    print(f"{corpus!r}, {corpus.n_tokens:,} tokens", flush=True)
    with ExitStack() as stack:
        cluster = stack.enter_context(SparkCluster(workers=arguments.workers, memory=arguments.memory))
        session = stack.enter_context(SparkEngine(master=cluster.master, config=config)).spark

        def others() -> CpuSeconds:
            java, python = (
                sum(cpu_of(pid) for worker in cluster.workers for pid in cluster.processes_of(worker, name))
                for name in ("CoarseGrainedExecutorBackend", "pyspark.daemon")
            )
            gateway: Any = session.sparkContext._gateway
            return {"its Java": cpu_of(gateway.proc.pid), "executors": java, "their Pythons": python}

        for rounds in arguments.rounds:
            with ExitStack() as samplers:
                runs = []
                for name, engine, helpers in (
                    ("local", LocalEngine(arguments.workers), dict),
                    ("spark", SparkEngine(session, sampler_rounds=rounds, n_jobs=1), others),
                ):
                    started = time.perf_counter()
                    sampler = samplers.enter_context(engine.sampler(corpus, arguments.topics, candidates))
                    sampler.initialise(parameters, 1)
                    print(f"# {name}: ready after {time.perf_counter() - started:.1f} s", flush=True)
                    runs.append(Sweeps(name, sampler, helpers))
                for _ in range(arguments.sweeps + 1):
                    for run in runs:
                        run.sweep(sampled)
                        cpu = ", ".join(f"{who} {seconds:.2f}" for who, seconds in run.cpu[-1].items())
                        print(f"# {rounds} rounds, {run.name}: {run.seconds[-1]:.1f} s; CPU {cpu}", flush=True)
                here, there = runs
                local, spark = (sum(run.median_cpu().values()) for run in runs)
                counts, tokens = traffic(there.sampler)  # type: ignore[arg-type]
                if arguments.json is not None:
                    row = {
                        "documents": len(corpus), "tokens": int(corpus.n_tokens), "words": corpus.n_words,
                        "tags": corpus.n_tags, "topics": arguments.topics, "rounds": rounds,
                        "workers": arguments.workers, "local_cpu": local, "spark_cpu": there.median_cpu(),
                        "counts_mb": counts, "assignments_mb": tokens,
                    }  # fmt: skip
                    with arguments.json.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                print(
                    f"{rounds} rounds: CPU seconds a sweep, local {local:.2f}, Spark {spark:.2f} "
                    f"({', '.join(f'{who} {seconds:.2f}' for who, seconds in there.median_cpu().items())}), "
                    f"ratio {spark / local:.2f}; counts {counts:.1f} MB a round, assignments {tokens:.1f} MB a sweep; "
                    f"log probability of a token {np.array([here.bounds[-1], there.bounds[-1]]) / corpus.n_tokens}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
