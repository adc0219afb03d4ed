"""Rows of a matrix times a vector, and sums, by the vector units."""

from __future__ import annotations

from typing import Any

from tagtopic.compiled import compiled_reordering
from tagtopic.inference.arrays import Floats


@compiled_reordering
def product_with_row(rows: Floats, row: int, vector: Floats) -> float:
    """``rows[row] @ vector``."""
    total = vector[0] * rows[row, 0]
    for k in range(1, vector.shape[0]):
        total += rows[row, k] * vector[k]
    return float(total)


@compiled_reordering
def products_with_four(rows: Floats, first: int, vector: Floats) -> Any:
    """``rows[first : first + 4] @ vector``, as four numbers: together they keep the vector units busy."""
    s0 = s1 = s2 = s3 = vector.dtype.type(0)
    for k in range(vector.shape[0]):
        e = vector[k]
        s0 += e * rows[first, k]
        s1 += e * rows[first + 1, k]
        s2 += e * rows[first + 2, k]
        s3 += e * rows[first + 3, k]
    return s0, s1, s2, s3


@compiled_reordering
def total_of(values: Floats) -> Any:
    """``values.sum()``, by the vector units."""
    total = values.dtype.type(0)
    for i in range(values.shape[0]):
        total += values[i]
    return total
