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
from tagtopic.inference.arrays import State
from tagtopic.inference.parameters import Parameters, Priors
from tagtopic.models.em import EMSettings, ExpectationMaximisation, History
from tagtopic.models.storage import StorageError, read_tensors, write_tensors

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.engines.base import Run

KIND = "tagtopic checkpoint"
FORMAT = 1

NOT_PART_OF_A_RUN = ("max_iter", "n_jobs", "callbacks", "progress", "checkpoint", "checkpoint_every", "unknown_tags")
"""Settings that may change between stopping and resuming: they do not change what an iteration does."""


class CheckpointError(ValueError):
    """The file is not a checkpoint of this run."""


@dataclass(frozen=True)
class Saved:
    """Where a run stood."""

    parameters: Parameters
    priors: Priors
    state: State
    history: History
    topic_sizes: Any
    last_move: float

    def resume(self, run: Run, settings: EMSettings) -> ExpectationMaximisation:
        """The run, going on from here."""
        em = ExpectationMaximisation(run, self.parameters, self.priors, settings)
        run.state = self.state
        em.history, em.topic_sizes, em.last_move = self.history, self.topic_sizes, self.last_move
        em.history.converged = em.history.interrupted = False
        return em


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint file of one run: of one corpus and one set of settings."""

    path: Path
    every: int
    run: str

    @classmethod
    def of(cls, path: Any, every: Any, corpus: Corpus, model: str, settings: dict[str, Any]) -> Checkpoint:
        """The checkpoint of a fit of this corpus with these settings."""
        if not isinstance(every, int | np.integer) or every < 1:
            raise ValueError(f"checkpoint_every={every!r}: expected a whole number from 1")
        kept = {name: repr(value) for name, value in sorted(settings.items()) if name not in NOT_PART_OF_A_RUN}
        content = json.dumps([model, kept, corpus.fingerprint()])
        return cls(Path(path), int(every), hashlib.blake2b(content.encode(), digest_size=16).hexdigest())

    def callback(self, em: ExpectationMaximisation) -> None:
        """Save if it is time to."""
        if len(em.history.bound) % self.every == 0 or em.finished:
            self.save(em)

    def save(self, em: ExpectationMaximisation) -> None:
        """Write down where the run stands."""
        parameters, state = em.parameters, em.engine.state
        tensors = {
            "psi": parameters.psi, "theta": parameters.theta, "pi": parameters.pi, "mu": parameters.mu,
            "alpha": em.priors.alpha, "beta": em.priors.beta, "topic_sizes": em.topic_sizes,
            "xi": state.xi, "xi_latent": state.xi_latent, "rho": state.rho,
        }  # fmt: skip
        header = {
            "format": FORMAT,
            "version": __version__,
            "run": self.run,
            "pi_latent": parameters.pi_latent,
            "latent": parameters.latent,
            "last_move": em.last_move,
            "history": asdict(em.history),
        }
        write_tensors(self.path, KIND, header, tensors)

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
        parameters = Parameters(
            tensors["psi"], tensors["theta"], tensors["pi"], header["pi_latent"], tensors["mu"], header["latent"]
        )
        return Saved(
            parameters=parameters,
            priors=Priors(tensors["alpha"], tensors["beta"]),
            state=State(tensors["xi"], tensors["xi_latent"], tensors["rho"]),
            history=History(**header["history"]),
            topic_sizes=tensors["topic_sizes"],
            last_move=header["last_move"],
        )
