"""Online learning from a whole corpus: passes over it in mini-batches, each pass in an order of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic.corpus import Corpus
from tagtopic.corpus.mapped import release
from tagtopic.engines.blocks import KEPT_ENTRIES
from tagtopic.engines.workers import cut_rows
from tagtopic.inference.arrays import way_for_new_documents
from tagtopic.inference.parameters import Priors
from tagtopic.models.em import EMSettings, Fit
from tagtopic.models.online import SWEEPS, TOLERANCE, OnlineLearner
from tagtopic.models.posterior import infer
from tagtopic.models.standing import Standing
from tagtopic.models.validation import HeldOut

SETTLED = 5e-4
"""Passes end when one betters the last by less than this share of the objective, or by less than ``tol`` if that is
more: batches differ, so passes never settle as finely as batch learning does."""

DOUBLINGS = 2
"""So many times batches double from pass to pass: small ones learn quickly while topics are rough, large ones say
better what all documents are like."""

RUNNING = ("psi", "theta", "tokens", "seen_tokens", "documents", "seen_documents", "topic_sizes", "log_latent")


class OnlinePasses(Fit):
    """An iteration is a pass over all documents in mini-batches.

    The objective of a pass is the documents' own, each under what was known when its turn came.
    """

    watch: HeldOut | None

    def __init__(
        self,
        learner: OnlineLearner,
        documents: Corpus,
        settings: EMSettings,
        watch: HeldOut | None = None,
        *,
        batch_size: int,
        seed: int,
    ) -> None:
        super().__init__(settings, watch)
        self.learner = learner
        self.documents = documents
        self.n_documents = len(documents)
        self.batch_size = batch_size
        self.seed = seed

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
        for first, last in cut_rows(self.n_documents, self.batch_size << min(number, DOUBLINGS)):
            batch = self.documents[np.sort(order[first:last])]
            self._give_back()
            objective += self.learner.step(batch, known=number > 0)
        self.history.bound.append(objective)
        self.history.converged = self._settled()
        if self.settings.learning.anything:
            self.history.prior_updates.append(number + 1)
        if self.watch is not None:
            self._note(self._perplexity(self.watch))

    def _give_back(self) -> None:
        """A batch is a copy: the pages that it came from need not stay."""
        counts = self.documents.counts
        if counts.nnz > KEPT_ENTRIES:
            release(counts.indices, counts.data)

    def _settled(self) -> bool:
        # "collapsed" leaves shares out from the second pass on: its objective is not that of the first
        bound = self.history.bound[self.learner.inference == "collapsed" :]
        return len(bound) > 1 and bound[-1] - bound[-2] <= max(self.settings.tol, SETTLED) * abs(bound[-2])

    def _perplexity(self, watch: HeldOut) -> float:
        """Of the held-out words, under weights inferred from scratch: none are kept."""
        learner, parameters = self.learner, self.learner.parameters()
        seen = self.documents[watch.rows]
        n_threads = learner.workers.n_threads
        found = infer(
            parameters, way_for_new_documents(learner.inference), seen, n_threads, sweeps=SWEEPS, tolerance=TOLERANCE
        )
        return watch.score(found.topics, parameters.psi, learner.workers)

    def pack(self) -> dict[str, NDArray[Any]]:
        """The running sums, and the priors."""
        learner = self.learner
        arrays: dict[str, NDArray[Any]] = {name: getattr(learner.running, name) for name in RUNNING}
        numbers = np.array([learner.running.steps, learner.pi_latent])
        priors = {"alpha": learner.priors.alpha, "beta": learner.priors.beta}
        return {**arrays, **priors, "pi": learner.pi, "mu": learner.mu, "numbers": numbers}

    def unpack(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from there."""
        learner = self.learner
        for name in RUNNING:
            setattr(learner.running, name, arrays[name])
        learner.running.steps, learner.pi_latent = int(arrays["numbers"][0]), float(arrays["numbers"][1])
        learner.pi, learner.mu = arrays["pi"], arrays["mu"]
        learner.priors = Priors(arrays["alpha"], arrays["beta"])
