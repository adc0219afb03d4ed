"""Intrinsics for kernels: arrays without reference counts, prefetching, atomic sums, bits of floats, dot products.

Compiled code counts the references of an array each time it is passed on or sliced, by atomic instructions: a fifteenth
of the time of short documents. A borrowed array is not counted; the caller must keep its owner alive.

psi fits in no cache, and no CPU can predict which rows a document or a block needs next; prefetched a few rows ahead,
they are loaded while others are processed. Prefetching affects only the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from tagtopic._core.arrays import Floats, Int32s
from tagtopic._core.jit import compiled_reordering

Array = TypeVar("Array")

AHEAD = 8
"""Rows between the one in use and the one that is prefetched."""

CACHE_LINE = 64


def borrow(array: Array) -> Array:
    """Return the same array without a reference count; in plain Python, the array itself."""
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


def prefetch_row(array: Floats | Int32s, row: Any) -> None:
    """Prefetch ``array[row]`` into the cache. In plain Python this does nothing."""


def prefetch_entry(array: Floats | Int32s, place: Any) -> None:
    """Prefetch the cache line of ``array[place]``. In plain Python this does nothing."""


def _prefetch_line(_: Any, array: Any, row: Any, byte: Any) -> Any:
    """Prefetch the cache line at ``byte`` of a row. ``row`` and ``byte`` are not checked: a prefetch cannot fault."""

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


def atomic_add(array: Any, row: Any, column: Any, value: Any) -> None:
    """Add to ``array[row, column]``, or to ``array[row]`` of a vector, in one indivisible step.

    Several threads may add to one array of integers: no addition is lost, and the sums do not depend on the order. In
    plain Python this is no different from ``+=``.
    """
    if array.ndim == 1:
        array[row] += value
    else:
        array[row, column] += value


def _atomic_add_at(_: Any, array: Any, byte: Any, value: Any) -> Any:
    """Add at a byte offset, which is not checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(builder.bitcast(found.data, ir.IntType(8).as_pointer()), [arguments[1]])
        number = context.get_value_type(signature.args[0].dtype)
        amount = context.cast(builder, arguments[2], signature.args[2], signature.args[0].dtype)
        builder.atomic_rmw("add", builder.bitcast(place, number.as_pointer()), amount, "monotonic")
        return context.get_dummy_value()

    return types.none(array, types.intp, value), generate


_add_at: Any = intrinsic(_atomic_add_at)


@overload(atomic_add)
def _atomic_add(array: Any, row: Any, column: Any, value: Any) -> Callable[[Any, Any, Any, Any], None]:
    if array.ndim == 1:

        def vector(array: Any, row: Any, column: Any, value: Any) -> None:
            _add_at(array, row * array.itemsize, value)

        return vector

    def matrix(array: Any, row: Any, column: Any, value: Any) -> None:
        _add_at(array, (row * array.shape[1] + column) * array.itemsize, value)

    return matrix


def bits_of(value: Any) -> Any:
    """Return the bits of a float32 as an int32; numbers that are not negative have the order of their bits."""
    return np.float32(value).view(np.int32)


def float_of(bits: Any) -> Any:
    """Return the float32 with the bits of an int32: the inverse of ``bits_of``."""
    return np.int32(bits).view(np.float32)


def _cast_bits(_: Any, value: Any, kind: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))

    return kind.instance_type(value, kind), generate


_bits_as: Any = intrinsic(_cast_bits)


@overload(bits_of)
def _bits_of(value: Any) -> Callable[[Any], Any]:
    def implementation(value: Any) -> Any:
        return _bits_as(types.float32(value), types.int32)

    return implementation


@overload(float_of)
def _float_of(bits: Any) -> Callable[[Any], Any]:
    def implementation(bits: Any) -> Any:
        return _bits_as(types.int32(bits), types.float32)

    return implementation


@compiled_reordering
def product_with_row(rows: Floats, row: int, vector: Floats) -> float:
    """Return ``rows[row] @ vector``."""
    total = vector[0] * rows[row, 0]
    for k in range(1, vector.shape[0]):
        total += rows[row, k] * vector[k]
    return float(total)


@compiled_reordering
def products_with_four(rows: Floats, first: int, vector: Floats) -> Any:
    """Return ``rows[first : first + 4] @ vector`` as four numbers, computed together to use the vector units fully."""
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
    """Return ``values.sum()``, vectorised."""
    total = values.dtype.type(0)
    for i in range(values.shape[0]):
        total += values[i]
    return total
