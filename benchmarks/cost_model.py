"""Model the CPU cost of an iteration on Spark, fitted to the measurements of benchmarks/spark.py.

    python benchmarks/cost_model.py FOLDER/generated-*/spark.jsonl
    python benchmarks/cost_model.py --sampler FOLDER/sampler.jsonl      # of benchmarks/spark_sampler.py --json

The model is of CPU seconds, which depend less on the load of the machine than wall-clock time. For E (document, word)
entries, V words, L tags and K topics:

    executors' Python    reading x E + compute x E K: per word, and per word and topic
    everything else      jobs + passing x K (V + L): parameters and statistics, in the driver and all JVMs

The unit costs are found by non-negative least squares of relative errors. The largest cell is held out and predicted
from the others. Then the costs are extrapolated to a billion documents, with a network instead of the loopback device.

A sweep of the sampler with R rounds over T tokens, by P partitions:

    executors' Python    reading x T + compute x T K
    everything else      jobs x R + passing x bytes through the driver

Bytes are the counts (R times), the differences from all partitions and the assignments. Counts are sparse: a
word or tag with n tokens has at most n topics, and in the mean k (1 - exp(-n / k)), where k is a share ("spread") of
the topics that is fitted to the measured bytes. Frequencies of words and tags follow Zipf's law.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

NETWORK = 1.25e9
"""Bytes per second from and to one machine: 10 Gbit/s."""

Row = dict[str, Any]


class UnitCosts(NamedTuple):
    """CPU seconds per 10^9 entries, per 10^9 entry-topics, per iteration (jobs), and per GB of parameters."""

    reading: float
    compute: float
    jobs: float
    passing: float


def entries(row: Row) -> float:
    """Return E / 10^9."""
    return float(row["entries"] / 1e9)


def entry_topics(row: Row) -> float:
    """Return E K / 10^9."""
    return entries(row) * float(row["topics"])


def parameters(row: Row) -> float:
    """Return K (V + L) in gigabytes."""
    return float(4 * row["topics"] * (row["words"] + row["tags"]) / 1e9)


def pythons(row: Row) -> float:
    """Return the CPU seconds of the executors' Python processes."""
    return float(row["cpu"]["their Pythons"])


def rest(row: Row) -> float:
    """Return the CPU seconds of everything else."""
    return float(row["spark_cpu"] - pythons(row))


def fit_costs(work: list[list[float]], taken: list[float]) -> Any:
    """Fit unit costs by least squares of relative errors."""
    return nnls(np.array(work) / np.array(taken)[:, None], np.ones(len(taken)))[0]


def fit(rows: list[Row]) -> UnitCosts:
    """Fit the unit costs to these cells."""
    worked = fit_costs([[entries(row), entry_topics(row)] for row in rows], [pythons(row) for row in rows])
    passed = fit_costs([[1.0, parameters(row)] for row in rows], [rest(row) for row in rows])
    return UnitCosts(*worked, *passed)


def predicted(row: Row, costs: UnitCosts) -> float:
    """Return the predicted CPU seconds."""
    work = costs.reading * entries(row) + costs.compute * entry_topics(row)
    return work + costs.jobs + costs.passing * parameters(row)


def show_prediction(rows: list[Row]) -> None:
    """Print each cell with its prediction; the largest is predicted from the others."""
    largest = max(rows, key=entry_topics)
    costs = fit([row for row in rows if row is not largest])
    print(
        f"fitted on {len(rows) - 1} cells: reading {costs.reading:.0f} s per 10^9 entries, compute "
        f"{costs.compute:.2f} s per 10^9 entry-topics, jobs {costs.jobs:.2f} s, passing {costs.passing:.1f} s per GB"
    )
    print("workers topics ratio  CPU s predicted")
    for row in rows:
        mark = "  <- held out" if row is largest else ""
        print(
            f"{row['workers']:7} {row['topics']:6} {row['ratio']:5.1f} {row['spark_cpu']:6.2f} "
            f"{predicted(row, costs):9.2f}{mark}"
        )


def extrapolate(costs: UnitCosts, n: dict[str, float]) -> None:
    """Print the predicted parts of an iteration of a billion documents on a thousand nodes."""
    words, cores = n["documents"] * n["entries"] / 1e9, n["nodes"] * n["cores"]
    size = 4 * n["topics"] * (n["words"] + n["tags"])
    posteriors = 4 * n["documents"] * (1 + n["tags_each"])
    parts = {
        "E-step on all cores": (costs.reading + costs.compute * n["topics"]) * words / cores,
        "CPU to pass parameters and statistics, in the driver and the JVMs": costs.passing * size / 1e9,
        "parameters out of and statistics into the driver": 2 * size / NETWORK,
        "statistics shuffled, into and out of each node": 2 * size / NETWORK,
        "posteriors into the driver, TWTM": posteriors / NETWORK,
        "posteriors into the driver, TWDA": (posteriors + 4 * n["documents"] * n["topics"]) / NETWORK,
        "jobs": costs.jobs,
    }
    print(", ".join(f"{value:,.0f} {name}" for name, value in n.items()))
    for name, seconds in parts.items():
        print(f"  {name}: {seconds:,.1f} s")


class SamplerCosts(NamedTuple):
    """CPU seconds per 10^9 tokens, per 10^9 token-topics, per round, and per GB through the driver; and the spread."""

    reading: float
    compute: float
    jobs: float
    passing: float
    spread: float


def entries_of(columns: float, tokens: float, all_tokens: float, topics: float, spread: float) -> float:
    """Return the expected columns (words or tags) that occur in ``tokens``, plus the cells of their counts."""
    frequencies = 1.0 / np.arange(1, int(columns) + 1)
    frequencies /= frequencies.sum()
    most = max(1.0, spread * topics)
    cells = most * -np.expm1(-frequencies * all_tokens / most)
    return float((-np.expm1(-frequencies * tokens) * (1 + cells)).sum())


def counts_bytes(row: Row, spread: float) -> float:
    """Return the bytes of the counts at the start of a round: one broadcast, which executors relay to each other."""
    tokens = row["tokens"]
    return 2 * sum(entries_of(row[name], tokens, tokens, row["topics"], spread) for name in ("words", "tags"))


def difference_bytes(row: Row, spread: float, partitions: float) -> float:
    """Return the bytes of the differences of a round from all partitions, if every token of the round changes."""
    tokens = row["tokens"] / partitions / row["rounds"]
    both = (entries_of(row[name], tokens, tokens, row["topics"], spread) for name in ("words", "tags"))
    return float(2 * partitions * sum(both))


def assignment_bytes(row: Row) -> float:
    """Return the bytes of a sweep's assignments and log probabilities."""
    return float((2 if row["topics"] <= 255 else 3) * row["tokens"] + 8 * row["documents"])


def driver_bytes(row: Row, spread: float, partitions: float) -> float:
    """Return the bytes from and to the driver in a sweep."""
    exchanged = counts_bytes(row, spread) + difference_bytes(row, spread, partitions)
    return row["rounds"] * exchanged + assignment_bytes(row)


def fit_sampler(rows: list[Row]) -> SamplerCosts:
    """Fit the unit costs of a sweep to these cells."""
    spreads = np.geomspace(0.01, 1, 60)
    errors = [
        sum(np.log(counts_bytes(row, spread) / 1e6 / row["counts_mb"]) ** 2 for row in rows) for spread in spreads
    ]
    spread = float(spreads[int(np.argmin(errors))])
    worked = fit_costs(
        [[row["tokens"] / 1e9, row["tokens"] * row["topics"] / 1e9] for row in rows],
        [row["spark_cpu"]["their Pythons"] for row in rows],
    )
    passed = fit_costs(
        [[row["rounds"], driver_bytes(row, spread, row["workers"]) / 1e9] for row in rows],
        [sum(row["spark_cpu"].values()) - row["spark_cpu"]["their Pythons"] for row in rows],
    )
    reading, compute, jobs, passing = map(float, (*worked, *passed))
    return SamplerCosts(reading, compute, jobs, passing, spread)


def predicted_sweep(row: Row, costs: SamplerCosts) -> float:
    """Return the predicted CPU seconds of a sweep."""
    tokens = row["tokens"] / 1e9
    moved = driver_bytes(row, costs.spread, row["workers"]) / 1e9
    return (costs.reading + costs.compute * row["topics"]) * tokens + costs.jobs * row["rounds"] + costs.passing * moved


def show_sampler(rows: list[Row]) -> None:
    """Print each cell with its prediction (the largest from the others), and the simulation."""
    largest = max(rows, key=lambda row: row["tokens"] * row["topics"])
    costs = fit_sampler([row for row in rows if row is not largest])
    print(costs)
    print("documents topics rounds | CPU s: measured predicted | MB of counts a round: measured predicted")
    for row in rows:
        counts = counts_bytes(row, costs.spread) / 1e6
        print(
            f"{row['documents']:9,} {row['topics']:6} {row['rounds']:6} | {sum(row['spark_cpu'].values()):8.2f} "
            f"{predicted_sweep(row, costs):8.2f} | {row['counts_mb']:8.2f} {counts:8.2f}"
            + ("  <- held out" if row is largest else "")
        )
    costs = fit_sampler(rows)
    print(f"all cells: {costs}")
    size = {"documents": 1e9, "tokens": 119e9, "words": 1e6, "tags": 1e7, "topics": 100, "rounds": 1}
    print("a billion documents, a partition and 32 cores a node; seconds a sweep:")
    print("nodes | sampling | counts, from the driver | differences | assignments | CPU of the driver and the JVMs")
    for nodes in (1, 3, 10, 30, 100, 300, 1000):
        sampling = (costs.reading + costs.compute * size["topics"]) * size["tokens"] / 1e9 / (32 * nodes)
        out, back = counts_bytes(size, costs.spread), difference_bytes(size, costs.spread, nodes)
        copying = costs.passing * driver_bytes(size, costs.spread, nodes) / 1e9
        print(
            f"{nodes:5} | {sampling:8.1f} | {out / NETWORK:8.1f} ({out / 1e9:,.0f} GB) | {back / NETWORK:8.1f} | "
            f"{assignment_bytes(size) / NETWORK:8.1f} | {copying:8.0f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--sampler", action="store_true", help="the results are of benchmarks/spark_sampler.py")
    given = parser.parse_args()
    rows = [json.loads(line) for file in given.results for line in file.read_text().splitlines()]
    if given.sampler:
        show_sampler(rows)
        return
    show_prediction(rows)
    sizes = {"documents": 1e9, "entries": 100, "tags_each": 3, "words": 1e6, "tags": 1e7, "topics": 100}
    extrapolate(fit(rows), sizes | {"nodes": 1000, "cores": 32})


if __name__ == "__main__":
    main()
