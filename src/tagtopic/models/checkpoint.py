"""A fit that can be killed: everything it stands on, in one file, after every so many iterations.

A run that is resumed ends with the same bits as one that was never stopped, because parameters, priors, each document's
posterior and the history are all there, exactly. The file is written under a temporary name and renamed, so whatever
happens the last good one stays.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic._version import __version__
from tagtopic.models.em import Fit, History
from tagtopic.models.standing import Standing
from tagtopic.models.storage import StorageError, read_tensors, write_tensors

if TYPE_CHECKING:
    from tagtopic.corpus.collection import Collection

KIND = "tagtopic checkpoint"
FORMAT = 4
BEST = "best."
"""What the arrays are called by that belong to the best iteration so far."""

NOT_PART_OF_A_RUN = (
    "max_iter", "patience", "n_jobs", "callbacks", "progress", "checkpoint", "checkpoint_every", "unknown_tags",
)  # fmt: skip
"""Settings that may change between stopping and resuming: they do not change what an iteration does."""


class CheckpointError(ValueError):
    """The file is not a checkpoint of this run."""


@dataclass(frozen=True)
class Saved:
    """Where a run stood, and where it had stood best if held-out words are watched."""

    arrays: dict[str, Any]
    history: History

    @property
    def now(self) -> Standing:
        """The model as it stood, where the run has one of its own."""
        return Standing.from_arrays(self.arrays)

    def restore(self, fit: Fit) -> None:
        """Let the fit go on from here."""
        fit.unpack(self.arrays)
        fit.history = self.history
        fit.history.interrupted = False
        if f"{BEST}psi" in self.arrays:
            fit.best = Standing.from_arrays(self.arrays, BEST)
        elif self.history.perplexity:
            fit.best = fit.now


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint file of one run: of one corpus and one set of settings."""

    path: Path
    every: int
    run: str

    @classmethod
    def of(cls, path: Any, every: Any, corpus: Collection, model: str, settings: dict[str, Any]) -> Checkpoint:
        """The checkpoint of a fit of this corpus with these settings."""
        if not isinstance(every, int | np.integer) or every < 1:
            raise ValueError(f"checkpoint_every={every!r}: expected a whole number from 1")
        kept = {name: repr(value) for name, value in sorted(settings.items()) if name not in NOT_PART_OF_A_RUN}
        content = json.dumps([model, kept, corpus.fingerprint()])
        return cls(Path(path), int(every), hashlib.blake2b(content.encode(), digest_size=16).hexdigest())

    def callback(self, fit: Fit) -> None:
        """Save if it is time to."""
        if len(fit.history.bound) % self.every == 0 or fit.finished:
            self.save(fit)

    def save(self, fit: Fit) -> None:
        """Write down where the run stands."""
        arrays = fit.pack()
        if fit.best is not None and fit.history.waited():  # else the best is the last: nothing to write twice
            arrays |= fit.best.to_arrays(BEST)
        header = {"format": FORMAT, "version": __version__, "run": self.run, "history": asdict(fit.history)}
        write_tensors(self.path, KIND, header, arrays)

    def load(self) -> Saved | None:
        """Where the run stood, or None if there is no file yet."""
        if not self.path.exists():
            return None
        try:
            header, tensors = read_tensors(self.path, KIND, FORMAT)
        except StorageError as error:
            raise CheckpointError(f"{error}; remove the file to start anew") from error
        if header["run"] != self.run:
            raise CheckpointError(
                f"{self.path} is the checkpoint of another run (another corpus or other settings): "
                "give another checkpoint path, or remove the file to start anew"
            )
        return Saved(tensors, History(**header["history"]))
