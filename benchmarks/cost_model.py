"""The seconds of an iteration on Spark as a sum of what it does, fitted on what benchmarks/spark.py measured.

    python benchmarks/cost_model.py FOLDER/generated-500000-150000-200000/spark.jsonl [--check 0]

An iteration takes  jobs + E K compute / cores + K (V + L) passing,  for E (document, word) entries, V words, L
tags and K topics; the three prices are found by least squares of relative errors, none negative.
One measured cell is left out and predicted from the others (``--check`` says which; the largest by default). Then the
same prices, with the network's in place of this machine's loopback, for a billion documents.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

PRICES = ("jobs", "compute", "passing")
NETWORK = 1.25e9
"""Bytes a second from and to one machine: 10 Gbit/s."""


def work(row: dict[str, Any]) -> list[float]:
    """What an iteration does, in the units of the prices."""
    k = row["topics"]
    return [1.0, row["entries"] * k / row["workers"] / 1e9, k * (row["words"] + row["tags"]) * 4 / 1e9]


def fit(rows: list[dict[str, Any]]) -> Any:
    """The prices, by relative error."""
    done, taken = np.array([work(row) for row in rows]), np.array([row["spark"] for row in rows])
    return nnls(done / taken[:, None], np.ones(len(rows)))[0]


def show_prediction(rows: list[dict[str, Any]], left_out: int) -> None:
    """Each cell beside its prediction; the one left out by prices that never saw it."""
    kept = [row for i, row in enumerate(rows) if i != left_out]
    prices = fit(kept)
    units = ("s", "s per 10^9 entry-topics and core", "s per GB of parameters")
    print(
        "fitted on",
        len(kept),
        "cells:",
        "; ".join(f"{n} {p:.3g} {u}" for n, p, u in zip(PRICES, prices, units, strict=True)),
    )
    print("workers topics ratio  measured  predicted")
    for i, row in enumerate(rows):
        mark = "  <- left out" if i == left_out else ""
        print(
            f"{row['workers']:7} {row['topics']:6} {row['ratio']:5.1f} {row['spark']:9.2f} "
            f"{float(np.dot(work(row), prices)):10.2f}{mark}"
        )


def extrapolate(prices: Any, n: dict[str, float]) -> None:
    """A billion documents on a thousand nodes."""
    entries, cores = n["documents"] * n["entries"], n["nodes"] * n["cores"]
    parameters = 4 * n["topics"] * (n["words"] + n["tags"])
    states = 4 * n["documents"] * (1 + n["tags_each"])
    parts = {
        "compute": prices[1] * entries * n["topics"] / cores / 1e9,
        "parameters out and back through the driver's network": 2 * parameters / NETWORK,
        "states (TWTM) to the driver": states / NETWORK,
        "states (TWDA) to the driver": (states + 4 * n["documents"] * n["topics"]) / NETWORK,
        "shuffled by each node": parameters / NETWORK,
        "jobs": prices[0],
    }
    print(", ".join(f"{name} {value:,.0f}" for name, value in n.items()))
    for name, seconds in parts.items():
        print(f"  {name}: {seconds:,.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--check", type=int, help="the number of the cell that is left out; the largest by default")
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in arguments.results.read_text().splitlines()]
    largest = max(range(len(rows)), key=lambda i: rows[i]["entries"] * rows[i]["topics"] / rows[i]["workers"])
    show_prediction(rows, largest if arguments.check is None else arguments.check)
    sizes = {"documents": 1e9, "entries": 100, "tags_each": 3, "words": 1e6, "tags": 1e7, "topics": 100}
    extrapolate(fit(rows), sizes | {"nodes": 1000, "cores": 32})


if __name__ == "__main__":
    main()
