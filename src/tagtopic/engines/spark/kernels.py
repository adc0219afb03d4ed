"""Kernels on executors: compiled once on each, whatever the number of its Python processes.

They are cached beside the package where its folder can be written to, else in the executor's scratch.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from tagtopic.engines.base import Statistics
from tagtopic.engines.local import LocalRun
from tagtopic.engines.spark.scratch import Parcel, Scratch, scratch_root
from tagtopic.engines.spark.wrapping import Slot, use_up
from tagtopic.engines.workers import Workers
from tagtopic.inference.arrays import Documents, State
from tagtopic.inference.parameters import Parameters

_ready: set[CompileKernels] = set()


@dataclass(frozen=True)
class CompileKernels:
    """Compiles what an E-step needs, or loads it from the cache, before the first block comes."""

    inference: str
    dtype: str
    count_dtype: str

    def __call__(self, slots: Iterable[Slot]) -> None:
        """Run an E-step on two words, one process of the executor at a time: the first compiles for all."""
        use_up(slots)
        if self in _ready:
            return
        with (scratch_root() / "tagtopic-kernels.lock").open("w") as lock:
            take_alone(lock)
            self._try_out()
        _ready.add(self)

    def _try_out(self) -> None:
        scratch = Scratch(f"kernels-{uuid.uuid4().hex}")
        try:
            scratch.keep_block(0, self._parcel())
            block = scratch.block(0).block
        finally:
            scratch.remove()
        parameters = Parameters(self._full(2, 2), self._full(1, 2), np.ones(1), 1.0, np.ones(2), latent=True)
        sums = Statistics(self._full(2, 2), self._full(1, 2), 0.0)
        LocalRun(self.inference, Workers(1), [block], self._state()).expect(parameters, sums, sweeps=2)

    def _parcel(self) -> Parcel:
        starts, two = np.array([0, 2]), np.array([0, 1], np.int32)
        documents = Documents(starts, two, np.ones(2, self.count_dtype), np.array([0, 1]), np.zeros(1, np.int32))
        return Parcel(documents, 2, 1, None)

    def _state(self) -> State:
        return State(self._full(1), self._full(1), self._full(1, 2))

    def _full(self, *shape: int) -> Any:
        return np.full(shape, 0.5, self.dtype)


def take_alone(lock: IO[str]) -> None:
    """Wait until no other process has this file; it is let go when the file is closed."""
    try:
        import fcntl
    except ImportError:  # not on this system: processes compile side by side, and the last one's cache stays
        return
    fcntl.flock(lock, fcntl.LOCK_EX)
