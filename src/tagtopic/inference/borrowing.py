"""Arrays without an owner.

Compiled code counts who uses an array each time it is handed on or sliced, by atomic instructions: a fifteenth of
the time of short documents. A borrowed array is not counted: whoever borrows must see to it that the owner stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba.extending import intrinsic, overload

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
