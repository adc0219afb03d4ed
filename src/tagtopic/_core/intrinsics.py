"""Rows of a matrix times a vector, and sums, by the vector units.

Arrays without an owner.

Compiled code counts who uses an array each time it is handed on or sliced, by atomic instructions: a fifteenth of
the time of short documents. A borrowed array is not counted: whoever borrows must see to it that the owner stays.

Ask for rows of a large matrix before they are needed.

psi fits in no cache, and which rows a document or a block needs next no CPU can guess; asked for a few rows ahead, they
are on their way while others are worked on. Nothing depends on it but the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from tagtopic._core.arrays import Floats, Int32s
from tagtopic._core.jit import compiled_reordering

Array = TypeVar("Array")


def borrow(array: Array) -> Array:
    """The same array, uncounted. In plain Python just the same."""
    return array


def _without_owner(_: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = context.make_array(signature.args[0])(context, builder, arguments[0])
        found.meminfo = found.meminfo.type(None)
        found.parent = found.parent.type(None)
        return found._getvalue()

    return array(array), generate


_borrowed: Any = intrinsic(_without_owner)


@overload(borrow)
def _borrow(array: Any) -> Callable[[Any], Any]:
    def implementation(array: Any) -> Any:
        return _borrowed(array)

    return implementation


AHEAD = 8
"""How many rows ahead of the one that is needed now."""

CACHE_LINE = 64


def prefetch_row(array: Floats, row: Any) -> None:
    """Have ``array[row]`` brought into the cache. In plain Python this does nothing."""


def prefetch_entry(array: Floats | Int32s, place: Any) -> None:
    """Have ``array[place]``, and what stands beside it, brought into the cache."""


def _prefetch_line(_: Any, array: Any, row: Any, byte: Any) -> Any:
    """Ask for the cache line at ``byte`` of a row. ``row`` and ``byte`` are taken as they are: nothing can fault."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = context.make_array(signature.args[0])(context, builder, arguments[0])
        stride = builder.extract_value(found.strides, 0)
        byte_pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        offset = builder.add(builder.mul(arguments[1], stride), arguments[2])
        place = builder.gep(builder.bitcast(found.data, byte_pointer), [offset])
        declared = ir.FunctionType(ir.VoidType(), [byte_pointer, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte_pointer], declared)
        to_read, keep_close, data = number(0), number(3), number(1)
        builder.call(prefetch, [place, to_read, keep_close, data])
        return context.get_dummy_value()

    return types.none(array, types.intp, types.intp), generate


_line: Any = intrinsic(_prefetch_line)


@overload(prefetch_row)
def _prefetch_row(array: Any, row: Any) -> Callable[[Any, Any], None]:
    def implementation(array: Any, row: Any) -> None:
        for byte in range(0, array.shape[1] * array.itemsize, CACHE_LINE):
            _line(array, row, byte)

    return implementation


@overload(prefetch_entry)
def _prefetch_entry(array: Any, place: Any) -> Callable[[Any, Any], None]:
    def implementation(array: Any, place: Any) -> None:
        _line(array, place, 0)

    return implementation


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
