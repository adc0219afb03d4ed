"""Ask for rows of a large matrix before they are needed.

psi fits in no cache, and which rows a document or a block needs next no CPU can guess; asked for a few rows ahead, they
are on their way while others are worked on. Nothing depends on it but the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from tagtopic.inference.arrays import Floats, Int32s

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
