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
from tagtopic.inference.parameters import Behind, Parameters, Priors
from tagtopic.models.em import EMSettings, ExpectationMaximisation, History, Standing, Watch
from tagtopic.models.storage import StorageError, read_tensors, write_tensors

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.engines.base import Run

KIND = "tagtopic checkpoint"
FORMAT = 3
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

    now: Standing
    best: Standing | None
    state: State
    history: History
    last_move: float

    def resume(self, run: Run, settings: EMSettings, watch: Watch | None = None) -> ExpectationMaximisation:
        """The run, going on from here."""
        em = ExpectationMaximisation(run, self.now.parameters, self.now.priors, settings, watch)
        run.restore(self.state)
        em.history, em.topic_sizes, em.last_move, em.best = (
            self.history,
            self.now.topic_sizes,
            self.last_move,
            self.best,
        )
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
        state, now = em.engine.state, Standing(em.parameters, em.priors, em.topic_sizes)
        best = None if em.history.waited() == 0 else em.best  # the best is the last: nothing to write twice
        tensors = {"xi": state.xi, "xi_latent": state.xi_latent, "rho": state.rho, **_arrays(now, "")}
        header = {
            "format": FORMAT,
            "version": __version__,
            "run": self.run,
            "latent": now.parameters.latent,
            "pi_latent": now.parameters.pi_latent,
            "last_move": em.last_move,
            "history": asdict(em.history),
        }
        if best is not None:
            tensors |= _arrays(best, BEST)
            header[f"{BEST}pi_latent"] = best.parameters.pi_latent
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
        history = History(**header["history"])
        now = _standing(header, tensors, "")
        best = now if history.perplexity else None
        return Saved(
            now=now,
            best=_standing(header, tensors, BEST) if f"{BEST}psi" in tensors else best,
            state=State(tensors["xi"], tensors["xi_latent"], tensors["rho"]),
            history=history,
            last_move=header["last_move"],
        )


def _arrays(standing: Standing, prefix: str) -> dict[str, Any]:
    parameters, priors = standing.parameters, standing.priors
    arrays = {
        "psi": parameters.psi, "theta": parameters.theta, "pi": parameters.pi, "mu": parameters.mu,
        "alpha": priors.alpha, "beta": priors.beta, "topic_sizes": standing.topic_sizes,
    }  # fmt: skip
    if parameters.behind is not None:
        arrays |= {"topics_behind": parameters.behind.topics, "tags_behind": parameters.behind.tags}
    return {prefix + name: array for name, array in arrays.items()}


def _standing(header: dict[str, Any], tensors: dict[str, Any], prefix: str) -> Standing:
    psi, theta, pi, mu, alpha, beta, topic_sizes = (
        tensors[prefix + name] for name in ("psi", "theta", "pi", "mu", "alpha", "beta", "topic_sizes")
    )
    behind = Behind(tensors[prefix + "topics_behind"], tensors[prefix + "tags_behind"], beta)
    parameters = Parameters(psi, theta, pi, header[f"{prefix}pi_latent"], mu, header["latent"], behind)
    return Standing(parameters, Priors(alpha, beta), topic_sizes)
