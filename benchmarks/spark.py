"""Seconds per iteration on a Spark cluster of this machine, against the local engine in the same run.

python benchmarks/spark.py                                                  # a small corpus, a few minutes
python benchmarks/spark.py --documents 500000 --tags 150000 --words 200000 -k 10 20 50
python benchmarks/spark.py --ratios 0.1 0.3 0.6 0.8 1 --workers 1 2         # the paper's figures
python benchmarks/spark.py --watch 20                                       # memory and disk over 20 iterations

The paper learns pi at every iteration; here it is learnt at every tenth, so its seconds stand in a column of their own.
"""

import argparse
import resource
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tagtopic import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines import LocalEngine, SparkEngine
from tagtopic.engines.base import Statistics
from tagtopic.engines.spark.components import report_components
from tagtopic.engines.spark.weights import WEIGHT_UPDATES
from tagtopic.inference.parameters import Parameters, Priors
from tagtopic.inference.weight_prior import HyperPrior
from tagtopic.testing import SparkCluster

SWEEPS = 5


def start(corpus: Corpus, n_topics: int, latent: bool) -> tuple[Parameters, Priors]:
    topics = np.random.default_rng(0).gamma(1.0, size=(corpus.n_words, n_topics)).astype(np.float32)
    topics /= topics.sum(axis=0)
    theta = np.full((corpus.n_tags, n_topics), 1 / n_topics, np.float32)
    parameters = Parameters(topics, theta, np.ones(corpus.n_tags), 5.0, np.full(n_topics, 0.05), latent)
    return parameters, Priors(np.full(n_topics, 0.1), np.full(corpus.n_words, 0.1))


def iterations(run: Any, parameters: Parameters, priors: Priors, n: int) -> Iterator[tuple[float, Parameters]]:
    """Seconds of each iteration (E-step and M-step), and the parameters after it."""
    spare = Statistics(np.empty_like(parameters.psi), np.empty_like(parameters.theta), 0.0)
    for _ in range(n):
        begun = time.perf_counter()
        used = parameters
        psi, theta, *_ = run.maximise(run.expect(used, spare, sweeps=SWEEPS), priors)
        parameters = replace(used, psi=psi, theta=theta)
        spare = Statistics(used.psi, used.theta, 0.0)
        yield time.perf_counter() - begun, parameters


def measure(engine: Any, corpus: Corpus, n_topics: int, latent: bool, n: int) -> dict[str, float]:
    parameters, priors = start(corpus, n_topics, latent)
    with engine.start(corpus, parameters, "map") as run:
        steps = list(iterations(run, parameters, priors, n + 1))
        seconds, after = [taken for taken, _ in steps], steps[-1][1]
        begun = time.perf_counter()
        run.learn_weights(after, HyperPrior(), np.ones(len(after.all_pi), np.bool_))
        return {
            "first": seconds[0],
            "iteration": statistics.median(seconds[1:]),
            "pi": time.perf_counter() - begun,
        }


def compare(corpus: Corpus, arguments: argparse.Namespace) -> None:
    print(f"{corpus!r}, {corpus.counts.nnz:,} entries; {report_components(corpus.tags, max(arguments.workers))}")
    print("topics workers ratio engine         first iteration to local      pi")
    for n_topics in arguments.topics:
        for ratio in arguments.ratios:
            part = corpus[: max(1, int(ratio * len(corpus)))]
            local = measure(LocalEngine(), part, n_topics, arguments.twda, arguments.iterations)
            show(n_topics, 0, ratio, "local", local, local)
            for workers in arguments.workers:
                with engines(workers, arguments) as make:
                    for update in arguments.updates:
                        found = measure(make(update), part, n_topics, arguments.twda, arguments.iterations)
                        show(n_topics, workers, ratio, update, found, local)


def show(
    n_topics: int, workers: int, ratio: float, name: str, found: dict[str, float], local: dict[str, float]
) -> None:
    share = found["iteration"] / local["iteration"]
    print(
        f"{n_topics:6} {workers or '-':>7} {ratio:5.1f} {name:<12} {found['first']:7.2f} {found['iteration']:9.3f} "
        f"{share:8.2f} {found['pi']:7.2f}",
        flush=True,
    )


@contextmanager
def engines(workers: int, arguments: argparse.Namespace) -> Iterator[Any]:
    """A function that makes engines on one context, on a cluster of so many workers with one core each."""
    from tagtopic.engines.spark.session import open_context

    config = {"spark.executor.memory": arguments.memory, "spark.log.level": "ERROR"}
    with SparkCluster(workers=workers, memory=arguments.memory) as cluster:
        context = open_context(cluster.master, config)
        try:
            yield lambda update: SparkEngine(
                context,
                weight_update=update,
                block_entries=arguments.block_entries,
                bring_bytes=arguments.bring_bytes,
            )
        finally:
            context.stop()


def watch(corpus: Corpus, arguments: argparse.Namespace) -> None:
    """Memory of the driver's Python, of the executors and their Pythons, and disk, over many iterations."""
    n_topics = arguments.topics[0]
    config = {"spark.executor.memory": arguments.memory, "spark.log.level": "ERROR"}
    parameters, priors = start(corpus, n_topics, arguments.twda)
    with (
        SparkCluster(workers=2, memory=arguments.memory) as cluster,
        SparkEngine(
            master=cluster.master,
            config=config | {"spark.local.dir": str(cluster.folder / "driver")},
            block_entries=arguments.block_entries,
            bring_bytes=arguments.bring_bytes,
        ) as engine,
        engine.start(corpus, parameters, "map") as run,
    ):
        java = run.cluster.context._gateway.proc.pid
        print("iteration  driver MB  its Java MB  executors MB  their Pythons MB  all disk MB")
        for number, _ in enumerate(iterations(run, parameters, priors, arguments.watch), 1):
            executors, pythons = (
                sum(resident(pid) for worker in cluster.workers for pid in cluster.processes_of(worker, name))
                for name in ("CoarseGrainedExecutorBackend", "pyspark.daemon")
            )
            print(
                f"{number:9} {resident('self'):10.0f} {resident(java):12.0f} {executors:13.0f} {pythons:17.0f} "
                f"{disk(cluster.folder):12.1f}",
                flush=True,
            )
    print(f"peak of the driver's Python: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def resident(pid: int | str) -> float:
    """Megabytes in memory."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def disk(folder: Path) -> float:
    """Megabytes on disk."""
    return int(subprocess.run(["du", "-sk", folder], capture_output=True, text=True).stdout.split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--tags", type=int, default=5_000)
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("-k", "--topics", type=int, nargs="+", default=[10])
    parser.add_argument("--ratios", type=float, nargs="+", default=[1.0])
    parser.add_argument("--workers", type=int, nargs="+", default=[2])
    parser.add_argument("--updates", nargs="+", choices=WEIGHT_UPDATES, default=list(WEIGHT_UPDATES))
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--block-entries", type=int, default=1 << 19)
    parser.add_argument("--bring-bytes", type=int, default=1 << 27, help="0 lets sums be added on executors")
    parser.add_argument("--memory", default="1g", help="of each worker")
    parser.add_argument("--twda", action="store_true", help="TWDA instead of TWTM")
    parser.add_argument("--watch", type=int, metavar="ITERATIONS", help="watch memory and disk instead")
    arguments = parser.parse_args()
    corpus = make_tagged_corpus(
        arguments.documents, 20, arguments.tags, arguments.words, document_length=(50, 150), random_state=0
    ).corpus
    if arguments.watch:
        watch(corpus, arguments)
    else:
        compare(corpus, arguments)


if __name__ == "__main__":
    main()
