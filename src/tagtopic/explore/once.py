"""A value that takes long, made once: whoever comes while it is being made waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Once(Generic[Value]):
    """Calls ``make`` when first asked, from whichever thread; an error is not kept but raised to who asked."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: tuple[Value] | None = None

    def get(self) -> Value:
        """The value, made now if it is not there."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = (self._make(),)
        return self._made[0]

    @property
    def ready(self) -> bool:
        """Whether ``get`` would return at once."""
        return self._made is not None

    @property
    def being_made(self) -> bool:
        """Whether somebody is making it now."""
        return self._lock.locked()
