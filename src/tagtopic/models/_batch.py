"""From a model's settings and a corpus to a fit that is ready to run.

Variational EM: expectation and maximisation in turn, until the objective settles.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s
from tagtopic._core.display import warn
from tagtopic._core.parallel import Parallel
from tagtopic.corpus.interface import CorpusLike, RemoteCorpus
from tagtopic.engines import LocalEngine
from tagtopic.engines.base import Engine, Session, Statistics
from tagtopic.inference.priors.latent_topics import update_latent_prior
from tagtopic.inference.priors.tag_weights import HyperPrior, has_diverged
from tagtopic.inference.priors.topic_words import ValidationWords, replace_word_prior, update_word_prior
from tagtopic.inference.types import Parameters, Priors, VariationalPosterior
from tagtopic.models._settings import EMSettings, Learning, em_settings, smoothed_shares, start_parameters
from tagtopic.models._snapshot import Snapshot

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel
    from tagtopic.models._checkpoint import Saved
    from tagtopic.models._validation import HeldOut


SETTLED_PRIORS = 0.01
"""Priors have settled when learning them moves them by less than this (mean absolute logarithm)."""

Callback = Callable[[int, float, float], object]
"""Called after each iteration with its number (from 1), the bound and the seconds since the start."""


@dataclass
class History:
    """What happened: at each iteration the objective, the perplexity of held-out words if any are watched, the seconds;
    and after which iterations priors were learnt.
    """

    bound: list[float] = field(default_factory=list)
    perplexity: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    prior_updates: list[int] = field(default_factory=list)
    converged: bool = False
    interrupted: bool = False

    def waited(self) -> int:
        """Iterations since held-out words were predicted best."""
        return len(self.perplexity) - 1 - int(np.argmin(self.perplexity)) if self.perplexity else 0


class Watch(ValidationWords, Protocol):
    """Words that are held out of training, and scored after each iteration."""

    def perplexity(self, state: VariationalPosterior, parameters: Parameters, workers: Parallel) -> float:
        """Of those words, under these parameters and the documents' weights as they stand."""
        ...


class Fit(ABC):
    """One fit: ``run`` it, then read ``outcome`` and ``history``.

    With held-out words to ``watch`` and ``patience``, the outcome is the iteration that predicted them best, and the
    fit ends when so many more have not bettered it.
    """

    n_documents: int

    def __init__(self, settings: EMSettings, watch: Watch | None = None) -> None:
        self.settings = settings
        self.watch = watch
        self.best: Snapshot | None = None
        self.history = History()
        self.checkpoint: Callable[[Fit], None] | None = None

    @property
    @abstractmethod
    def now(self) -> Snapshot:
        """The model as it stands."""

    @abstractmethod
    def iterate(self) -> None:
        """Go once over all documents."""

    @abstractmethod
    def pack(self) -> dict[str, NDArray[Any]]:
        """All that the next iteration starts from, but for settings, history and best."""

    @abstractmethod
    def unpack(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Start the next iteration from what ``pack`` gave."""

    @property
    def outcome(self) -> Snapshot:
        """The model: as it stands, or as it stood when it predicted held-out words best."""
        return self.best or self.now

    def run(self, callbacks: Sequence[Callback] = ()) -> None:
        """Iterate to convergence, to ``max_iter``, or until Ctrl-C: the model then stays as it stands."""
        started = time.perf_counter() - (self.history.seconds[-1] if self.history.seconds else 0.0)
        try:
            while not self.finished:
                self.iterate()
                seconds = time.perf_counter() - started
                self.history.seconds.append(seconds)
                if self.checkpoint is not None:
                    self.checkpoint(self)
                for callback in callbacks:
                    callback(len(self.history.bound), self.history.bound[-1], seconds)
        except KeyboardInterrupt:
            self.history.interrupted = True
            warn(f"interrupted after {len(self.history.bound)} iterations; the model is as it then stood")

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to do."""
        history, settings = self.history, self.settings
        lost = settings.patience is not None and history.waited() >= settings.patience
        return lost or history.converged or len(history.bound) >= settings.max_iter

    def _look(self, state: VariationalPosterior, workers: Parallel) -> None:
        """Score held-out words. The best so far is not copied: whoever overwrites its arrays takes care."""
        if self.watch is None or self.settings.patience is None:
            return
        now = self.now
        self.history.perplexity.append(self.watch.perplexity(state, now.parameters, workers))
        if self.history.waited() == 0:
            self.best = now


class ExpectationMaximisation(Fit):
    """Learning in batch: an E-step over all documents, then an M-step."""

    def __init__(
        self, session: Session, parameters: Parameters, priors: Priors, settings: EMSettings, watch: Watch | None = None
    ) -> None:
        super().__init__(settings, watch)
        self.session = session
        self.n_documents = len(session.posterior.xi_latent)
        self.parameters = parameters
        self.priors = priors
        self.last_move = np.inf
        self.topic_sizes = np.ones(parameters.psi.shape[1])
        self.tag_sizes = np.zeros(len(parameters.theta))
        self._sums = Statistics.empty_like(parameters)

    @property
    def now(self) -> Snapshot:
        """The model as it stands."""
        return Snapshot(self.parameters, self.priors, self.topic_sizes, self.tag_sizes)

    def pack(self) -> dict[str, NDArray[Any]]:
        """Where every document's inference stands, and the model."""
        return {**self.session.posterior._asdict(), "last_move": np.array([self.last_move]), **self.now.to_arrays()}

    def unpack(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from there."""
        self.session.restore(VariationalPosterior(*(arrays[name] for name in VariationalPosterior._fields)))
        now = Snapshot.from_arrays(arrays)
        self.parameters, self.priors = now.parameters, now.priors
        self.topic_sizes, self.tag_sizes = now.topic_sizes, now.tag_sizes
        self.last_move = float(arrays["last_move"][0])

    def iterate(self) -> None:
        """One E-step, one M-step, and the priors when they are due."""
        if self.best is not None and self._sums.psi is self.best.parameters.psi:
            self._sums = Statistics.empty_like(self.parameters)
        sums = self.session.e_step(self.parameters, self._sums, sweeps=self.settings.sweeps)
        bound = sums.objective + self.session.log_prior(self.parameters, self.priors)
        used = self.parameters
        found = self.session.m_step(sums, self.priors)
        self.topic_sizes, self.tag_sizes = found.topic_sizes, found.tag_sizes
        self.parameters = replace(used, psi=found.psi, theta=found.theta, totals=found.totals(self.priors))
        self._sums = Statistics(used.psi, used.theta, 0.0)  # the two sets of arrays take turns
        self.history.bound.append(bound)  # only now is it an iteration: an interrupt may come at any line
        iteration = len(self.history.bound)
        self.history.converged = self._settled()
        if self.settings.learning.anything and self.settings.learning.schedule.due(iteration):
            self._learn_priors(warm=self.settings.learning.schedule.warm(iteration))
            self.history.prior_updates.append(iteration)
        self._look(self.session.posterior, self.session)

    def _settled(self) -> bool:
        """Whether priors have settled, and the last two objectives under them differ by less than the tolerance."""
        bound, updates = self.history.bound, self.history.prior_updates
        if len(bound) < 2 or (updates and updates[-1] == len(bound) - 1):
            return False
        if self.settings.learning.anything and not (updates and self.last_move <= SETTLED_PRIORS):
            return False
        gain = bound[-1] - bound[-2]
        # an objective that is not monotone may fall on its way to the maximum
        return (gain if self.session.method.is_monotone else abs(gain)) <= self.settings.tol * abs(bound[-2])

    def _learnt_priors(self) -> tuple[Float64s, Float64s]:
        """Those of tags and topics, and those of words, which are many."""
        parameters, alpha = self.parameters, np.maximum(self.priors.alpha, 1e-12)
        return np.concatenate([parameters.all_pi, parameters.mu, alpha]), np.maximum(self.priors.beta, 1e-12)

    def _learn_priors(self, *, warm: bool) -> None:
        learning, before = self.settings.learning, self._learnt_priors()
        if learning.tag_topic_tokens:
            alpha = learning.tag_topic_tokens * smoothed_shares(self.topic_sizes, 1.0)
            self.priors = replace(self.priors, alpha=alpha)
        if warm:
            self._learn_once_warm(learning)
        moves = [_distance(*both) for both in zip(self._learnt_priors(), before, strict=True)]
        self.last_move = max(moves) if warm or not learning.once_warm else np.inf

    def _learn_once_warm(self, learning: Learning) -> None:
        parameters = self.parameters
        hyper = learning.hyper_prior_at(parameters.all_pi)
        if hyper is not None:
            parameters = self._with_learnt_weights(parameters, hyper, learning.learnt_weights)
        if learning.latent_topics:
            log_latent, n_documents = self.session.latent_log_expectations()
            parameters = replace(parameters, mu=update_latent_prior(parameters.mu, log_latent, n_documents))
        if learning.occurrences is not None and self.watch is not None:
            parameters = self._with_learnt_word_prior(parameters, learning.occurrences, self.watch)
        self.parameters = parameters

    def _with_learnt_word_prior(self, parameters: Parameters, logs: Float64s, watch: Watch) -> Parameters:
        session, sizes, before = self.session, self.topic_sizes, self.priors.beta
        beta = update_word_prior(before, logs, sizes, watch, session.posterior, parameters, session)
        self.priors = replace(self.priors, beta=beta)
        return replace_word_prior(parameters, sizes, before, beta, session)

    def _with_learnt_weights(self, parameters: Parameters, hyper: HyperPrior, learnt: NDArray[np.bool_]) -> Parameters:
        pi = self.session.update_weight_prior(parameters, hyper, learnt)
        if has_diverged(pi):
            warn(
                "the prior of the tag weights ran away: without a hyper-prior it has no maximum on this corpus; "
                "tag_weight_prior='estimate' holds it"
            )
        return parameters.with_all_pi(pi)


def _distance(one: Float64s, other: Float64s) -> float:
    """The mean absolute logarithm of their ratios."""
    return float(np.abs(np.log(one / other)).mean())


@contextmanager
def batch_fit(
    model: TagTopicModel, corpus: CorpusLike, watch: HeldOut | None, saved: Saved | None, engine: Engine | None
) -> Iterator[Fit]:
    """Start expectation maximisation on an engine."""
    now = saved.now if saved else None
    parameters, priors = (now.parameters, now.priors) if now else start_parameters(model, corpus)
    settings = em_settings(model, corpus)
    usual: Engine = corpus.engine if isinstance(corpus, RemoteCorpus) else LocalEngine(model.n_jobs)
    documents: Any = corpus  # each engine takes those of its own kind, and refuses others
    with (engine or usual).session(documents, parameters, model.inference) as session:
        yield ExpectationMaximisation(session, parameters, priors, settings, watch)
