"""The cost of an iteration on Spark as a sum of what it does, fitted on what benchmarks/spark.py measured.

    python benchmarks/cost_model.py FOLDER/generated-*/spark.jsonl

Fitted are seconds of CPU, which a busy machine does not change as it changes the clock. For E (document, word) entries,
V words, L tags and K topics:

    executors' Pythons   reading x E + compute x E K: what each word costs whatever the topics, and its topics
    everything else      jobs + passing x K (V + L): parameters out, sums back, by driver, its Java and the executors'

The prices are found by least squares of relative errors, none negative. The largest cell is left out and predicted from
the others. Then the same prices, and a network's instead of this machine's loopback, for a billion documents.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

NETWORK = 1.25e9
"""Bytes a second from and to one machine: 10 Gbit/s."""

Row = dict[str, Any]


class Prices(NamedTuple):
    """Seconds of CPU: for 10^9 entries, for 10^9 entry-topics, for an iteration's jobs, for a GB of parameters."""

    reading: float
    compute: float
    jobs: float
    passing: float


def entries(row: Row) -> float:
    """E, in thousand millions."""
    return float(row["entries"] / 1e9)


def entry_topics(row: Row) -> float:
    """E K, alike."""
    return entries(row) * float(row["topics"])


def parameters(row: Row) -> float:
    """K (V + L), in gigabytes."""
    return float(4 * row["topics"] * (row["words"] + row["tags"]) / 1e9)


def pythons(row: Row) -> float:
    """CPU of the executors' Pythons."""
    return float(row["cpu"]["their Pythons"])


def rest(row: Row) -> float:
    """CPU of everything else."""
    return float(row["spark_cpu"] - pythons(row))


def priced(work: list[list[float]], taken: list[float]) -> Any:
    """Prices by least squares of relative errors."""
    return nnls(np.array(work) / np.array(taken)[:, None], np.ones(len(taken)))[0]


def fit(rows: list[Row]) -> Prices:
    """The prices that these cells speak for."""
    worked = priced([[entries(row), entry_topics(row)] for row in rows], [pythons(row) for row in rows])
    passed = priced([[1.0, parameters(row)] for row in rows], [rest(row) for row in rows])
    return Prices(*worked, *passed)


def predicted(row: Row, prices: Prices) -> float:
    """Seconds of CPU."""
    work = prices.reading * entries(row) + prices.compute * entry_topics(row)
    return work + prices.jobs + prices.passing * parameters(row)


def show_prediction(rows: list[Row]) -> None:
    """Each cell beside its prediction; the largest by prices that never saw it."""
    largest = max(rows, key=entry_topics)
    prices = fit([row for row in rows if row is not largest])
    print(
        f"fitted on {len(rows) - 1} cells: reading {prices.reading:.0f} s per 10^9 entries, compute "
        f"{prices.compute:.2f} s per 10^9 entry-topics, jobs {prices.jobs:.2f} s, passing {prices.passing:.1f} s per GB"
    )
    print("workers topics ratio  CPU s predicted")
    for row in rows:
        mark = "  <- left out" if row is largest else ""
        print(
            f"{row['workers']:7} {row['topics']:6} {row['ratio']:5.1f} {row['spark_cpu']:6.2f} "
            f"{predicted(row, prices):9.2f}{mark}"
        )


def extrapolate(prices: Prices, n: dict[str, float]) -> None:
    """An iteration of a billion documents on a thousand nodes, part by part."""
    words, cores = n["documents"] * n["entries"] / 1e9, n["nodes"] * n["cores"]
    size = 4 * n["topics"] * (n["words"] + n["tags"])
    states = 4 * n["documents"] * (1 + n["tags_each"])
    parts = {
        "E-step on all cores": (prices.reading + prices.compute * n["topics"]) * words / cores,
        "CPU to pass parameters and sums on, in the driver and in Java": prices.passing * size / 1e9,
        "parameters out of and sums into the driver": 2 * size / NETWORK,
        "sums shuffled, into and out of each node": 2 * size / NETWORK,
        "states into the driver, TWTM": states / NETWORK,
        "states into the driver, TWDA": (states + 4 * n["documents"] * n["topics"]) / NETWORK,
        "jobs": prices.jobs,
    }
    print(", ".join(f"{value:,.0f} {name}" for name, value in n.items()))
    for name, seconds in parts.items():
        print(f"  {name}: {seconds:,.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+")
    rows = [json.loads(line) for file in parser.parse_args().results for line in file.read_text().splitlines()]
    show_prediction(rows)
    sizes = {"documents": 1e9, "entries": 100, "tags_each": 3, "words": 1e6, "tags": 1e7, "topics": 100}
    extrapolate(fit(rows), sizes | {"nodes": 1000, "cores": 32})


if __name__ == "__main__":
    main()
