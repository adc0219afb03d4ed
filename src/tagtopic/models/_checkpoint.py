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
from tagtopic.models._batch import Fit, History
from tagtopic.models._io import StorageError, read_tensors, write_tensors
from tagtopic.models._snapshot import IN_SNAPSHOTS, TAGS, TOPICS, WORDS, Shapes, Snapshot, snapshot_shapes

if TYPE_CHECKING:
    from tagtopic.corpus.interface import CorpusLike

KIND = "tagtopic checkpoint"
FORMAT = 4
BEST = "best."
"""What the arrays are called by that belong to the best iteration so far."""
LOG_LATENT = "log_latent"
"""The one array that grows: it has no numbers at first, then one a topic."""

NOT_PART_OF_A_RUN = (
    "max_iter", "patience", "n_jobs", "callbacks", "progress", "checkpoint", "checkpoint_every", "unknown_tags",
    "tag_predictor",
)  # fmt: skip
"""Settings that may change between stopping and resuming: they do not change what an iteration does."""


class CheckpointError(ValueError):
    """The file is not a checkpoint of this run."""


@dataclass(frozen=True)
class Saved:
    """Where a run stood, and where it had stood best if held-out words are watched.

    ``model`` has the shapes that the arrays of this run's model must have.
    """

    path: Path
    arrays: dict[str, Any]
    history: History
    model: Shapes

    @property
    def now(self) -> Snapshot:
        """The model as it stood, where the run has one of its own."""
        self._check(self.model)
        return Snapshot.from_arrays(self.arrays)

    def restore(self, fit: Fit) -> None:
        """Let the fit go on from here."""
        expected = self._expected(fit)
        self._check(expected)
        others = sorted(self.arrays.keys() - expected.keys())
        if others:
            raise self._error(f"it has the array {others[0]}, which is none of this run's")
        fit.unpack(self.arrays)
        fit.history = self.history
        fit.history.interrupted = False
        if f"{BEST}psi" in self.arrays:
            fit.best = Snapshot.from_arrays(self.arrays, BEST)
        elif self.history.perplexity:
            fit.best = fit.now

    def _expected(self, fit: Fit) -> Shapes:
        """What this fit could have saved."""
        shapes: Shapes = {name: array.shape for name, array in fit.pack().items()}
        if LOG_LATENT in shapes and len(self.arrays.get(LOG_LATENT, ())):
            shapes[LOG_LATENT] = self.model["mu"]
        best = {}
        if any(name.startswith(BEST) for name in self.arrays):
            absent = {name for name, learnt in IN_SNAPSHOTS.items() if learnt.batch_only} - shapes.keys()
            best = {name: shape for name, shape in self.model.items() if name not in absent}
        return shapes | {BEST + name: shape for name, shape in best.items()}

    def _check(self, expected: Shapes) -> None:
        for name, shape in expected.items():
            if name not in self.arrays:
                raise self._error(f"it has no array {name}")
            found = self.arrays[name].shape
            if found != shape:
                raise self._error(f"its array {name} has the shape {found} instead of {shape}")

    def _error(self, what: str) -> CheckpointError:
        return CheckpointError(f"{self.path} does not fit its run: {what}; remove the file to start anew")


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint file of one run: of one corpus and one set of settings."""

    path: Path
    every: int
    run: str
    model: Shapes

    @classmethod
    def of(cls, path: Any, every: Any, corpus: CorpusLike, model: str, settings: dict[str, Any]) -> Checkpoint:
        """The checkpoint of a fit of this corpus with these settings."""
        if not isinstance(every, int | np.integer) or every < 1:
            raise ValueError(f"checkpoint_every={every!r}: expected a whole number from 1")
        kept = {name: described(value) for name, value in sorted(settings.items()) if name not in NOT_PART_OF_A_RUN}
        content = json.dumps([model, kept, corpus.fingerprint()])
        run = hashlib.blake2b(content.encode(), digest_size=16).hexdigest()
        sizes = {WORDS: corpus.n_words, TAGS: corpus.n_tags, TOPICS: int(settings["n_topics"])}
        return cls(Path(path), int(every), run, snapshot_shapes(sizes))

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
            header, tensors = read_tensors(self.path, KIND, newest=FORMAT, oldest=FORMAT)
            run, history = header["run"], History(**header["history"])
        except StorageError as error:
            raise CheckpointError(f"{error}; remove the file to start anew") from error
        except (KeyError, TypeError) as error:
            raise CheckpointError(f"{self.path} is damaged ({error}); remove the file to start anew") from error
        if run != self.run:
            raise CheckpointError(
                f"{self.path} is the checkpoint of another run (another corpus or other settings): "
                "give another checkpoint path, or remove the file to start anew"
            )
        return Saved(self.path, tensors, history, self.model)


def described(value: Any) -> str:
    """A setting as text that is the same for equal values: every number of an array, the state of a generator."""
    if isinstance(value, np.random.RandomState):
        return _described_state(value.get_state(legacy=False))
    if isinstance(value, np.random.Generator):
        return _described_state(value.bit_generator.state)
    if isinstance(value, np.dtype):
        return repr(value.name)
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return repr(value.item())
    if isinstance(value, list | tuple) or hasattr(value, "__array__"):
        return _described_numbers(value)
    return repr(value)


def _described_state(state: Any) -> str:
    return json.dumps(state, default=lambda array: array.tolist())


def _described_numbers(values: Any) -> str:
    try:
        numbers = np.asarray(values, "<f8")
    except (TypeError, ValueError):  # these are something else
        return repr(values)
    return f"{numbers.shape} {hashlib.blake2b(numbers.tobytes(), digest_size=16).hexdigest()}"
