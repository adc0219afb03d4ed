"""Checkpoints: the state of a fit in a file, from which it resumes after a crash.

A resumed fit ends with the same bits as one that was not interrupted, because the file holds the exact parameters,
priors, posteriors of documents and history. It is written under a temporary name and renamed, so that the last complete
one remains whatever happens.
"""

from __future__ import annotations

import errno
import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic._core.display import warn
from tagtopic._core.tensors import StorageError, read_tensors, write_tensors
from tagtopic._version import __version__
from tagtopic.models._batch import Fit, History
from tagtopic.models._snapshot import IN_SNAPSHOTS, TAGS, TOPICS, WORDS, Shapes, Snapshot, snapshot_shapes

if TYPE_CHECKING:
    from tagtopic.corpus.interface import CorpusLike

KIND = "tagtopic checkpoint"
FORMAT, OLDEST_FORMAT, CHECKED_FROM = 5, 4, 5
"""The formats that are written and read, and the first with a checksum."""

RENAMED = {"topics_behind": "topic_totals", "tags_behind": "tag_totals"}
"""Arrays that format 4 has under other names."""
BEST = "best."
"""The prefix of arrays of the best iteration so far."""
LOG_LATENT = "log_latent"
"""The one array whose size changes: empty at first, then of one number per topic."""

CHANGEABLE_SETTINGS = (
    "max_iter", "patience", "n_jobs", "callbacks", "progress", "checkpoint", "checkpoint_every", "unknown_tags",
    "tag_predictor",
)  # fmt: skip
"""Settings that may change before a fit is resumed: an iteration does not depend on them."""


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a full disk; after others, as in a folder that cannot be written, the model could not be saved either."""


class CheckpointError(ValueError):
    """A file is not a checkpoint of the fit that is to be resumed."""


@dataclass(frozen=True)
class SavedFit:
    """The content of a checkpoint: the state of a fit, and the best snapshot so far if there are validation words.

    ``shapes`` are those that the arrays of a snapshot of this fit must have.
    """

    path: Path
    arrays: dict[str, Any]
    history: History
    shapes: Shapes

    @property
    def snapshot(self) -> Snapshot:
        """The model of a batch fit, or of a sampler, which has no totals of expected counts."""
        totals = {name for name, learnt in IN_SNAPSHOTS.items() if learnt.batch_only}
        absent = totals if not totals & self.arrays.keys() else set()
        self._check({name: shape for name, shape in self.shapes.items() if name not in absent})
        return Snapshot.from_arrays(self.arrays)

    def restore(self, fit: Fit) -> None:
        """Set the state of a fit."""
        expected = self._expected(fit)
        self._check(expected)
        others = sorted(self.arrays.keys() - expected.keys())
        if others:
            raise self._error(f"it has the array {others[0]}, which is none of this run's")
        fit.restore(self.arrays)
        fit.history = self.history
        fit.history.interrupted = False
        if f"{BEST}psi" in self.arrays:
            fit.best = Snapshot.from_arrays(self.arrays, BEST)
        elif self.history.perplexity and fit.keeps_best:
            fit.best = fit.snapshot

    def _expected(self, fit: Fit) -> Shapes:
        """The shapes of all arrays that this fit could have saved."""
        shapes: Shapes = {name: array.shape for name, array in fit.to_arrays().items()}
        if LOG_LATENT in shapes and len(self.arrays.get(LOG_LATENT, ())):
            shapes[LOG_LATENT] = self.shapes["mu"]
        best = {}
        if any(name.startswith(BEST) for name in self.arrays):
            absent = {name for name, learnt in IN_SNAPSHOTS.items() if learnt.batch_only} - shapes.keys()
            best = {name: shape for name, shape in self.shapes.items() if name not in absent}
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
    """The checkpoint file of a fit.

    Parameters
    ----------
    path : Path
        The file.
    every : int
        Iterations between two checkpoints.
    run : str
        A digest of the corpus and the settings: the same for fits that may resume from one another.
    shapes : Shapes
        The shapes of the arrays of a snapshot.
    """

    path: Path
    every: int
    run: str
    shapes: Shapes

    @classmethod
    def for_fit(cls, path: Any, every: Any, corpus: CorpusLike, model: str, settings: dict[str, Any]) -> Checkpoint:
        """The checkpoint of a fit of this corpus with these settings."""
        if not isinstance(every, int | np.integer) or every < 1:
            raise ValueError(f"checkpoint_every={every!r}: expected a whole number from 1")
        kept = {
            name: canonical_text(value) for name, value in sorted(settings.items()) if name not in CHANGEABLE_SETTINGS
        }
        content = json.dumps([model, kept, corpus.fingerprint()])
        run = hashlib.blake2b(content.encode(), digest_size=16).hexdigest()
        sizes = {WORDS: corpus.n_words, TAGS: corpus.n_tags, TOPICS: int(settings["n_topics"])}
        return cls(Path(path), int(every), run, snapshot_shapes(sizes))

    def callback(self, fit: Fit) -> None:
        """Save if a checkpoint is due; if the disk is full, warn and fit without checkpoints from then on."""
        if len(fit.history.bound) % self.every and not fit.finished:
            return
        try:
            self.save(fit)
        except OSError as error:
            if error.errno not in FULL:
                raise
            fit.checkpoint = None
            kept = "the last one is kept" if self.path.exists() else "there is none"
            warn(
                f"the checkpoint {self.path} cannot be written after iteration {len(fit.history.bound)} "
                f"({error.strerror or error}): the fit goes on without checkpoints; {kept}"
            )

    def save(self, fit: Fit) -> None:
        """Write the state of the fit."""
        arrays = fit.to_arrays()
        if fit.best is not None and fit.history.iterations_since_best():  # otherwise the best is the last
            arrays |= fit.best.to_arrays(BEST)
        header = {"format": FORMAT, "version": __version__, "run": self.run, "history": asdict(fit.history)}
        write_tensors(self.path, KIND, header, arrays)

    def load(self) -> SavedFit | None:
        """Read the checkpoint; None if there is no file yet."""
        if not self.path.exists():
            return None
        try:
            header, tensors = read_tensors(self.path, KIND, FORMAT, OLDEST_FORMAT, checked_from=CHECKED_FROM)
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
        return SavedFit(
            self.path, {_present_name(name): array for name, array in tensors.items()}, history, self.shapes
        )


def _present_name(name: str) -> str:
    prefix = BEST if name.startswith(BEST) else ""
    own = name.removeprefix(prefix)
    return prefix + RENAMED.get(own, own)


def canonical_text(value: Any) -> str:
    """A setting as text that is the same for equal values: all numbers of an array, the state of a generator."""
    if isinstance(value, np.random.RandomState):
        return _state_text(value.get_state(legacy=False))
    if isinstance(value, np.random.Generator):
        return _state_text(value.bit_generator.state)
    if isinstance(value, np.dtype):
        return repr(value.name)
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return repr(value.item())
    if isinstance(value, list | tuple) or hasattr(value, "__array__"):
        return _numbers_text(value)
    return repr(value)


def _state_text(state: Any) -> str:
    return json.dumps(state, default=lambda array: array.tolist())


def _numbers_text(values: Any) -> str:
    try:
        numbers = np.asarray(values, "<f8")
    except (TypeError, ValueError):  # not numbers
        return repr(values)
    return f"{numbers.shape} {hashlib.blake2b(numbers.tobytes(), digest_size=16).hexdigest()}"
