"""Model the CPU cost of an iteration on Spark, fitted to the measurements of benchmarks/spark.py.

    python benchmarks/cost_model.py FOLDER/generated-*/spark.jsonl

The model is of CPU seconds, which depend less on the load of the machine than wall-clock time. For E (document, word)
entries, V words, L tags and K topics:

    executors' Python    reading x E + compute x E K: per word, and per word and topic
    everything else      jobs + passing x K (V + L): parameters and statistics, in the driver and all JVMs

The unit costs are found by non-negative least squares of relative errors. The largest cell is held out and predicted
from the others. Then the costs are extrapolated to a billion documents, with a network instead of the loopback device.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+")
    rows = [json.loads(line) for file in parser.parse_args().results for line in file.read_text().splitlines()]
    show_prediction(rows)
    sizes = {"documents": 1e9, "entries": 100, "tags_each": 3, "words": 1e6, "tags": 1e7, "topics": 100}
    extrapolate(fit(rows), sizes | {"nodes": 1000, "cores": 32})


if __name__ == "__main__":
    main()
