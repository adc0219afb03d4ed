"""What every engine owes the EM loop, and the M-step, which is the same for all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Floats, read_only
from tagtopic._core.parallel import CHUNK_ROWS, cut_rows
from tagtopic._core.threads import ThreadPool
from tagtopic.inference.m_step import FLOOR, column_totals, normalise_columns, normalise_rows, weighted_log_sum
from tagtopic.inference.methods import InferenceMethod, method_of
from tagtopic.inference.priors.tag_weights import HyperPrior
from tagtopic.inference.types import Behind, Model, Parameters, Priors, Shares, State


@dataclass
class Statistics:
    """The sums of one E-step: psi (words, topics), theta (tags, topics), and the objective of all documents."""

    psi: Floats
    theta: Floats
    objective: float


class Maximised(NamedTuple):
    """The M-step's psi and theta, and the words of each topic and each tag that they were made from (before priors)."""

    psi: Floats
    theta: Floats
    topic_sizes: Float64s
    tag_sizes: Float64s

    def behind(self, priors: Priors) -> Behind:
        """How much stands behind them."""
        return Behind(self.topic_sizes + priors.beta.sum(), self.tag_sizes + priors.alpha.sum(), priors.beta)


class Engine(Protocol):
    """Where the E-step runs."""

    def start(self, corpus: Any, parameters: Parameters, inference: str) -> Run:
        """Make ready to fit this corpus from these parameters; the run is a context manager."""
        ...


class Run(ABC):
    """A corpus under inference. Each document's posterior, ``state``, is kept from one E-step to the next."""

    state: State

    def __init__(self, inference: str, workers: ThreadPool) -> None:
        self.method = method_of(inference)
        self.workers = workers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of threads and whatever else was taken."""
        self.workers.close()

    def restore(self, state: State) -> None:
        """Go on from this state, of the same documents."""
        for name, mine, saved in zip(State._fields, self.state, state, strict=True):
            if mine.shape != saved.shape:  # NumPy would repeat one number, or one row, for all documents
                raise ValueError(f"{name} has the shape {saved.shape}: expected {mine.shape}")
            mine[:] = saved

    @abstractmethod
    def expect(self, parameters: Parameters, sums: Statistics, *, sweeps: int, tolerance: float = 0.0) -> Statistics:
        """The E-step: fill ``sums`` (its arrays are overwritten)."""

    @abstractmethod
    def learn_weights(self, parameters: Parameters, hyper: HyperPrior, learnt: NDArray[np.bool_]) -> Float64s:
        """Pi (and last pi_latent, if there is a latent tag) from the documents' posteriors."""

    @abstractmethod
    def log_latent(self) -> tuple[Float64s, int]:
        """The sum over documents of E[log lambda], and their number: what mu is made from."""

    def maximise(self, sums: Statistics, priors: Priors) -> Maximised:
        """The M-step: psi and theta in place of their sums."""
        chunks = cut_rows(len(sums.psi), CHUNK_ROWS)
        parts = self.workers.map(lambda rows: column_totals(sums.psi, *rows), chunks)
        topic_sizes = np.sum(parts, axis=0)
        floor = FLOOR if priors.beta.min() == 0 else 0.0
        totals = topic_sizes + priors.beta.sum()
        totals[totals == 0] = 1.0  # a topic without words under maximum likelihood: the floor is all that is left
        self.workers.map(lambda rows: normalise_columns(sums.psi, *rows, priors.beta, totals, floor), chunks)
        # where the logarithm of theta is taken, it may never be zero
        tag_sizes = sums.theta.sum(axis=1, dtype=np.float64)
        normalise_rows(sums.theta, priors.alpha, FLOOR if self.method.is_geometric or priors.alpha.min() == 0 else 0.0)
        return Maximised(sums.psi, sums.theta, topic_sizes, tag_sizes)

    def log_prior(self, parameters: Parameters, priors: Priors) -> float:
        """Sum alpha log theta + sum beta log psi: what the priors add to the objective (under "cvb0" nothing)."""
        if not self.method.is_penalised:
            return 0.0
        psi, theta = parameters.psi, parameters.theta
        chunks = cut_rows(len(psi), CHUNK_ROWS)
        parts = self.workers.map(lambda rows: weighted_log_sum(psi, *rows, priors.beta), chunks)
        if len(theta) and priors.alpha.any():
            logs = np.log(np.maximum(theta, 1e-38)).sum(axis=0, dtype=np.float64)
            parts.append(float(priors.alpha @ logs))
        return float(np.sum(parts))


def as_model(parameters: Parameters, method: InferenceMethod) -> Model:
    """The parameters as the kernels take them."""
    rows = np.log(parameters.theta) if method.is_geometric else parameters.theta
    shares = _shares(parameters) if method.is_leave_one_out else _no_shares(parameters)
    return Model(
        read_only(parameters.psi), read_only(rows), read_only(parameters.pi), float(parameters.pi_latent),
        read_only(parameters.mu), parameters.latent, shares,
    )  # fmt: skip


def _no_shares(parameters: Parameters) -> Shares:
    none = np.empty(0, parameters.psi.dtype)
    return Shares(none, none, none)


def _shares(parameters: Parameters) -> Shares:
    """One word's share; before the first M-step nobody has one."""
    dtype, behind = parameters.psi.dtype, parameters.behind
    if behind is None:
        return Shares(*(np.zeros(n, dtype) for n in (len(parameters.mu), len(parameters.theta), len(parameters.psi))))
    topics, tags = (_inverse(sizes).astype(dtype) for sizes in (behind.topics, behind.tags))
    return Shares(topics, tags, behind.word_prior.astype(dtype))


def _inverse(sizes: Float64s) -> Float64s:
    """1 / size; nothing where there is nothing."""
    return np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
