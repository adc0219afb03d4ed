"""Time iterations on a Spark cluster on this machine against the local engine in the same run.

python benchmarks/spark.py FOLDER                                         # a small corpus, a few minutes
python benchmarks/spark.py FOLDER --documents 500000 --tags 150000 --words 200000 -k 20 10 50 --ratios 1 0.1 0.3 0.6 0.8
python benchmarks/spark.py FOLDER --watch 20                              # memory and disk over 20 iterations
python benchmarks/spark.py FOLDER --show                                  # the table of all that was measured

FOLDER is for the synthetic corpus (see synthetic_corpus.py) and the measurements of each cell, in spark.jsonl: a cell
that is there is not measured again, so a stopped run can be continued. Iterations of both engines alternate, and the
local engine has as many threads as the cluster has cores, so that other load affects both alike. CPU seconds of the
driver, its JVM and everything on the workers are printed beside wall-clock seconds. The E-step and M-step are the same
for all four updates of pi, so one run measures them; the paper learns pi at every iteration, tagtopic at every tenth,
so the seconds of pi are in columns of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from synthetic_corpus import Size, synthetic_corpus
from tagtopic import Corpus
from tagtopic.engines import WEIGHT_UPDATES, LocalEngine, SparkEngine
from tagtopic.engines.distributed.components import component_report
from tagtopic.engines.distributed.session import TransferSizes, weight_update_of
from tagtopic.inference.m_step import m_step
from tagtopic.inference.priors.tag_weights import HyperPrior
from tagtopic.inference.types import Parameters, Priors, Statistics
from tagtopic.testing import SparkCluster

Cell = dict[str, Any]


def start(corpus: Corpus, n_topics: int, latent: bool) -> tuple[Parameters, Priors]:
    topics = np.random.default_rng(0).gamma(1.0, size=(corpus.n_words, n_topics)).astype(np.float32)
    topics /= topics.sum(axis=0)
    theta = np.full((corpus.n_tags, n_topics), 1 / n_topics, np.float32)
    parameters = Parameters(topics, theta, np.ones(corpus.n_tags), 5.0, np.full(n_topics, 0.05), latent)
    return parameters, Priors(np.full(n_topics, 0.1), np.full(corpus.n_words, 0.1))


class Iterations:
    """The EM iterations of one engine, run one at a time."""

    def __init__(
        self, session: Any, parameters: Parameters, priors: Priors, sweeps: int, helpers: Callable[[], Cell] = dict
    ) -> None:
        self.session, self.parameters, self.priors, self.sweeps = session, parameters, priors, sweeps
        self.spare = Statistics(np.empty_like(parameters.psi), np.empty_like(parameters.theta), 0.0)
        self.helpers = helpers
        self.seconds: list[float] = []
        self.cpu: list[Cell] = []

    def iterate(self) -> None:
        """Run and time one iteration."""
        started, cpu = time.perf_counter(), self._cpu()
        used = self.parameters
        found = m_step(
            self.session.e_step(used, self.spare, sweeps=self.sweeps), self.priors, self.session.method, self.session
        )
        self.parameters = replace(used, psi=found.psi, theta=found.theta, totals=found.totals(self.priors))
        self.spare = Statistics(used.psi, used.theta, 0.0)
        self.seconds.append(time.perf_counter() - started)
        self.cpu.append({who: seconds - cpu[who] for who, seconds in self._cpu().items()})

    def _cpu(self) -> Cell:
        """Return CPU seconds so far, of this process and of the others that work for it."""
        return {"driver": time.process_time(), **self.helpers()}

    def median_cpu(self) -> Cell:
        """Return the median CPU seconds of each process per iteration, without the first."""
        return {who: statistics.median(each[who] for each in self.cpu[1:]) for who in self.cpu[0]}

    def seconds_of_pi(self, update: Any = None) -> float:
        """Time one update of pi: the session's own, or another."""
        learnt = np.ones(len(self.parameters.all_pi), np.bool_)
        started = time.perf_counter()
        if update is None:
            self.session.update_weight_prior(self.parameters, HyperPrior(), learnt)
        else:
            update(self.session, self.parameters, HyperPrior(), learnt)
        return time.perf_counter() - started


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process and its ended children."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def measure(corpus: Corpus, cell: Cell, context: Any, cluster: SparkCluster, arguments: argparse.Namespace) -> Cell:
    """Measure iterations of both engines in turn, then pi by each update."""
    part = corpus[: max(1, int(cell["ratio"] * len(corpus)))]
    parameters, priors = start(part, cell["topics"], arguments.twda)
    engines = (
        LocalEngine(cell["workers"]),
        SparkEngine(
            context, block_entries=arguments.block_entries, transfer=TransferSizes(collect=arguments.collect_bytes)
        ),
    )

    def helpers() -> Cell:
        java, python = (
            sum(cpu_of(pid) for worker in cluster.workers for pid in cluster.processes_of(worker, name))
            for name in ("CoarseGrainedExecutorBackend", "pyspark.daemon")
        )
        return {"its Java": cpu_of(context._gateway.proc.pid), "executors": java, "their Pythons": python}

    with ExitStack() as stack:
        runs = [stack.enter_context(engine.session(part, parameters, arguments.inference)) for engine in engines]
        local = Iterations(runs[0], parameters, priors, arguments.sweeps)
        spark = Iterations(runs[1], parameters, priors, arguments.sweeps, helpers)
        for _ in range(arguments.iterations + 1):
            local.iterate()
            spark.iterate()
            cpu = ", ".join(f"{who} {seconds:.2f}" for who, seconds in spark.cpu[-1].items())
            print(f"# {cell} local {local.seconds[-1]:.1f} s, Spark {spark.seconds[-1]:.1f} s; CPU {cpu}", flush=True)
        pi = {"local": local.seconds_of_pi()}
        for name in arguments.updates:
            pi[name] = spark.seconds_of_pi(weight_update_of(name, "weighted"))
    ratios = [there / here for there, here in zip(spark.seconds[1:], local.seconds[1:], strict=True)]
    return cell | {
        "documents": len(part), "entries": int(part.counts.nnz), "tag_entries": int(part.tags.nnz),
        "words": part.n_words, "tags": part.n_tags, "first": spark.seconds[0],
        "local": statistics.median(local.seconds[1:]), "spark": statistics.median(spark.seconds[1:]),
        "to_local": statistics.median(ratios), "pi": pi,
        "local_cpu": sum(local.median_cpu().values()), "spark_cpu": sum(spark.median_cpu().values()),
        "cpu": spark.median_cpu(),
        "load": os.getloadavg()[0],
    }  # fmt: skip


def cells(arguments: argparse.Namespace) -> list[Cell]:
    return [
        {"topics": k, "ratio": ratio, "workers": workers, "inference": arguments.inference}
        for workers in arguments.workers
        for ratio in arguments.ratios
        for k in arguments.topics
    ]


def measure_all(corpus: Corpus, results: Path, arguments: argparse.Namespace) -> None:
    from tagtopic.engines.spark.context import open_context

    done = [{name: row[name] for name in ("topics", "ratio", "workers", "inference")} for row in read(results)]
    pending = [cell for cell in cells(arguments) if cell not in done]
    until = time.monotonic() + 60 * arguments.minutes
    for workers in dict.fromkeys(cell["workers"] for cell in pending):
        config = {"spark.executor.memory": arguments.memory, "spark.log.level": "ERROR"}
        with SparkCluster(workers=workers, memory=arguments.memory) as cluster:
            context = open_context(cluster.master, config)
            try:
                for cell in (cell for cell in pending if cell["workers"] == workers):
                    if time.monotonic() > until:
                        return
                    row = measure(corpus, cell, context, cluster, arguments)
                    with results.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                    show([row])
            finally:
                context.stop()


def read(results: Path) -> list[Cell]:
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def show(rows: list[Cell]) -> None:
    updates = " ".join(f"{update:>10}" for update in WEIGHT_UPDATES)
    print(f"workers topics ratio   local   spark  times     CPU   spark  times | pi: local {updates}")
    for row in sorted(rows, key=lambda row: (row["workers"], row["topics"], row["ratio"])):
        pi = " ".join(f"{row['pi'].get(update, float('nan')):10.2f}" for update in WEIGHT_UPDATES)
        print(
            f"{row['workers']:7} {row['topics']:6} {row['ratio']:5.1f} {row['local']:7.2f} {row['spark']:7.2f} "
            f"{row['to_local']:6.2f} {row['local_cpu']:7.2f} {row['spark_cpu']:7.2f} "
            f"{row['spark_cpu'] / row['local_cpu']:6.2f} | {row['pi']['local']:9.2f} {pi}",
            flush=True,
        )


def watch(corpus: Corpus, arguments: argparse.Namespace) -> None:
    """Print the memory of the driver, the executors and their Python processes, and disk use, over many iterations."""
    config = {"spark.executor.memory": arguments.memory, "spark.log.level": "ERROR"}
    parameters, priors = start(corpus, arguments.topics[0], arguments.twda)
    with (
        SparkCluster(workers=2, memory=arguments.memory) as cluster,
        SparkEngine(
            master=cluster.master,
            config=config | {"spark.local.dir": str(cluster.folder / "driver")},
            block_entries=arguments.block_entries,
            transfer=TransferSizes(collect=arguments.collect_bytes),
        ) as engine,
        engine.session(corpus, parameters, arguments.inference) as session,
    ):
        java = session.cluster.context._gateway.proc.pid
        print("iteration  driver MB  its Java MB  heap in use MB  executors MB  their Pythons MB  all disk MB")
        em = Iterations(session, parameters, priors, arguments.sweeps)
        for number in range(1, arguments.watch + 1):
            em.iterate()
            executors, pythons = (
                sum(resident(pid) for worker in cluster.workers for pid in cluster.processes_of(worker, name))
                for name in ("CoarseGrainedExecutorBackend", "pyspark.daemon")
            )
            print(
                f"{number:9} {resident('self'):10.0f} {resident(java):12.0f} {heap(session.cluster.context):15.1f} "
                f"{executors:13.0f} {pythons:17.0f} "
                f"{disk(cluster.folder):12.1f}",
                flush=True,
            )
    print(f"peak of the driver's Python process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def heap(context: Any) -> float:
    """Return the megabytes in use in the driver's JVM after garbage collection."""
    java = context._jvm.java.lang
    java.System.gc()
    runtime = java.Runtime.getRuntime()
    return float(runtime.totalMemory() - runtime.freeMemory()) / 2**20


def resident(pid: int | str) -> float:
    """Return resident megabytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def disk(folder: Path) -> float:
    """Return megabytes on disk."""
    return int(subprocess.run(["du", "-sk", folder], capture_output=True, text=True).stdout.split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--tags", type=int, default=5_000)
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("-k", "--topics", type=int, nargs="+", default=[10])
    parser.add_argument("--ratios", type=float, nargs="+", default=[1.0])
    parser.add_argument("--workers", type=int, nargs="+", default=[2])
    parser.add_argument("--updates", nargs="*", choices=WEIGHT_UPDATES, default=list(WEIGHT_UPDATES))
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--inference", default="cvb0")
    parser.add_argument("--sweeps", type=int, default=2)
    parser.add_argument("--block-entries", type=int, default=1 << 19)
    parser.add_argument(
        "--collect-bytes",
        type=int,
        default=TransferSizes.collect,
        help="above this size statistics are added on executors; 0: always",
    )
    parser.add_argument("--memory", default="1g", help="memory of each worker")
    parser.add_argument("--minutes", type=float, default=np.inf, help="start no cell after this time")
    parser.add_argument("--twda", action="store_true", help="TWDA instead of TWTM")
    parser.add_argument(
        "--watch", type=int, metavar="ITERATIONS", help="print memory and disk use over this many iterations instead"
    )
    parser.add_argument("--show", action="store_true", help="print earlier measurements only")
    arguments = parser.parse_args()
    path = synthetic_corpus(arguments.folder, Size(arguments.documents, arguments.tags, arguments.words))
    corpus, results = Corpus.open(path), path / "spark.jsonl"
    if arguments.watch:
        watch(corpus, arguments)
    elif not arguments.show:
        print(f"{corpus!r}, {corpus.counts.nnz:,} entries; {component_report(corpus.tags, max(arguments.workers))}")
        measure_all(corpus, results, arguments)
    if not arguments.watch:
        show(read(results))


if __name__ == "__main__":
    main()
