"""Online learning from a whole corpus: passes over it in mini-batches, each pass in an order of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic.corpus import Corpus
from tagtopic.corpus.mapped import release
from tagtopic.engines.blocks import KEPT_ENTRIES
from tagtopic.engines.workers import cut_rows
from tagtopic.inference.arrays import Int64s, State
from tagtopic.inference.parameters import Priors
from tagtopic.models.em import EMSettings, Fit, Watch
from tagtopic.models.online import OnlineLearner
from tagtopic.models.standing import Standing

SETTLED = 5e-5
"""Passes end when one betters the last by less than this share of the objective, or by less than ``tol`` if that is
more: batches differ, so passes never settle as finely as batch learning does."""

RUNNING = ("psi", "theta", "tokens", "seen_tokens", "documents", "seen_documents", "topic_sizes", "log_latent")


class States:
    """Where each document's inference stands (``all``), to be taken and put back by document.

    Document d has the tag entries ``starts[d]:starts[d + 1]``.
    """

    def __init__(self, starts: Int64s, state: State) -> None:
        self.all = state
        self._starts = np.asarray(starts, np.int64)
        self._each_rho = len(state.rho) == len(state.xi_latent)

    def take(self, rows: Int64s) -> State:
        """A copy of the state of some documents."""
        state = self.all
        rho = state.rho[rows] if self._each_rho else state.rho.copy()
        return State(state.xi[self._entries(rows)], state.xi_latent[rows], rho)

    def put(self, rows: Int64s, state: State) -> None:
        """The documents stand there now."""
        self.all.xi[self._entries(rows)] = state.xi
        self.all.xi_latent[rows] = state.xi_latent
        if self._each_rho:
            self.all.rho[rows] = state.rho
        release(*self.all)

    def _entries(self, rows: Int64s) -> Int64s:
        """Where the documents' tags stand."""
        sizes = self._starts[rows + 1] - self._starts[rows]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.asarray(np.repeat(self._starts[rows], sizes) + within)


class OnlinePasses(Fit):
    """An iteration is a pass over all documents in mini-batches.

    The objective of a pass is the documents' own, each under what was known when its turn came.
    """

    def __init__(
        self,
        learner: OnlineLearner,
        documents: Corpus,
        settings: EMSettings,
        watch: Watch | None = None,
        *,
        batch_size: int,
        seed: int,
        states: States,
    ) -> None:
        super().__init__(settings, watch)
        self.learner = learner
        self.documents = documents
        self.n_documents = len(documents)
        self.batch_size = batch_size
        self.seed = seed
        self.states = states

    @property
    def now(self) -> Standing:
        """The model as it stands."""
        running = self.learner.running
        tag_sizes = running.theta.sum(axis=1, dtype=np.float64)
        return Standing(self.learner.parameters(), self.learner.priors, running.topic_sizes.copy(), tag_sizes)

    def iterate(self) -> None:
        """One pass."""
        number = len(self.history.bound)
        order = np.random.default_rng([self.seed, number]).permutation(self.n_documents)
        objective = 0.0
        for first, last in cut_rows(self.n_documents, self.batch_size):
            rows = np.sort(order[first:last])
            batch = self.documents[rows]
            self._give_back()
            learnt = self.learner.step(batch, self.states.take(rows) if number else None)
            self.states.put(rows, learnt.state)
            objective += learnt.objective
        self.history.bound.append(objective)
        self.history.converged = self._settled()
        if self.settings.learning.anything:
            self.history.prior_updates.append(number + 1)
        if self.watch is not None and number:
            self.learner.learn_word_prior(self.watch, self.states.all)
        self._look(self.states.all, self.learner.workers)

    def _give_back(self) -> None:
        """A batch is a copy: the pages that it came from need not stay."""
        counts = self.documents.counts
        if counts.nnz > KEPT_ENTRIES:
            release(counts.indices, counts.data)

    def _settled(self) -> bool:
        # "collapsed" leaves shares out from the second pass on: its objective is not that of the first
        bound = self.history.bound[self.learner.inference == "collapsed" :]
        return len(bound) > 1 and bound[-1] - bound[-2] <= max(self.settings.tol, SETTLED) * abs(bound[-2])

    def pack(self) -> dict[str, NDArray[Any]]:
        """The running sums, the priors, and where every document's inference stands."""
        learner = self.learner
        arrays: dict[str, NDArray[Any]] = {name: getattr(learner.running, name) for name in RUNNING}
        numbers = np.array([learner.running.steps, learner.pi_latent])
        priors = {"alpha": learner.priors.alpha, "beta": learner.priors.beta}
        return {**arrays, **priors, "pi": learner.pi, "mu": learner.mu, "numbers": numbers, **self.states.all._asdict()}

    def unpack(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from there."""
        learner = self.learner
        for name in RUNNING:
            setattr(learner.running, name, arrays[name])
        learner.running.steps, learner.pi_latent = int(arrays["numbers"][0]), float(arrays["numbers"][1])
        learner.pi, learner.mu = arrays["pi"], arrays["mu"]
        learner.priors = Priors(arrays["alpha"], arrays["beta"])
        for mine, saved in zip(self.states.all, (arrays[name] for name in State._fields), strict=True):
            mine[:] = saved
