"""Variational EM: E-steps and M-steps in turn until the objective converges; and what all fits have in common."""

from __future__ import annotations

import mmap
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s
from tagtopic._core.display import BAR, ELAPSED, REMAINING, progress_display, warn
from tagtopic._core.parallel import Parallel
from tagtopic.corpus.interface import CorpusLike, RemoteCorpus
from tagtopic.engines import LocalEngine
from tagtopic.engines.base import Engine, Session
from tagtopic.inference.m_step import log_prior, m_step
from tagtopic.inference.priors.latent_topics import update_latent_prior
from tagtopic.inference.priors.tag_weights import HyperPrior, has_diverged
from tagtopic.inference.priors.topic_words import replace_word_prior, update_word_prior
from tagtopic.inference.types import Parameters, Priors, Statistics, VariationalPosterior
from tagtopic.models._settings import FitSettings, PriorLearning, fit_settings, initial_parameters, smoothed_shares
from tagtopic.models._snapshot import Snapshot

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel
    from tagtopic.models._checkpoint import SavedFit
    from tagtopic.models._validation import ValidationWords

PRIOR_TOLERANCE = 0.01
"""Priors have converged when an update changes them by less than this (mean absolute difference of logarithms)."""

Callback = Callable[[int, float, float], object]
"""Called after each iteration with its number (from 1), the bound and the seconds since the start."""


@dataclass
class History:
    """The values of a fit per iteration.

    Parameters
    ----------
    bound : list of float
        The objective.
    perplexity : list of float
        The perplexity of validation words; empty if there are none.
    seconds : list of float
        Seconds since the start.
    prior_updates : list of int
        The iterations after which priors were updated.
    converged : bool
        Whether the objective converged.
    interrupted : bool
        Whether Ctrl-C ended the fit.
    """

    bound: list[float] = field(default_factory=list)
    perplexity: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    prior_updates: list[int] = field(default_factory=list)
    converged: bool = False
    interrupted: bool = False

    def iterations_since_best(self) -> int:
        """Iterations since the lowest perplexity of validation words."""
        return len(self.perplexity) - 1 - int(np.argmin(self.perplexity)) if self.perplexity else 0


class Fit(ABC):
    """A fit: call ``run``, then read ``outcome`` and ``history``.

    With validation words and ``patience``, the outcome is the iteration with their lowest perplexity, and the fit ends
    after ``patience`` iterations without improvement.
    """

    n_documents: int
    keeps_best: ClassVar[bool] = True
    """Whether the best iteration on validation words is the outcome."""

    def __init__(self, settings: FitSettings, validation: ValidationWords | None = None) -> None:
        self.settings = settings
        self.validation = validation
        self.best: Snapshot | None = None
        self.history = History()
        self.checkpoint: Callable[[Fit], None] | None = None

    @property
    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The model after the last iteration."""

    @abstractmethod
    def iterate(self) -> None:
        """Pass once over all documents."""

    @abstractmethod
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The state from which the next iteration starts, but for settings, history and the best snapshot."""

    @abstractmethod
    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Set the state that ``to_arrays`` gave."""

    @property
    def outcome(self) -> Snapshot:
        """The model of the best iteration on validation words, or of the last."""
        return self.best or self.snapshot

    def run(self, callbacks: Sequence[Callback] = ()) -> None:
        """Iterate until convergence, ``max_iter`` or Ctrl-C."""
        started = time.perf_counter() - (self.history.seconds[-1] if self.history.seconds else 0.0)
        try:
            while not self.finished:
                self.iterate()
                self._require_finite()
                seconds = time.perf_counter() - started
                self.history.seconds.append(seconds)
                if self.checkpoint is not None:
                    self.checkpoint(self)
                for callback in callbacks:
                    callback(len(self.history.bound), self.history.bound[-1], seconds)
        except KeyboardInterrupt:
            self.history.interrupted = True
            warn(f"interrupted after {len(self.history.bound)} iterations; the model is as it then stood")

    def _require_finite(self) -> None:
        """Raise if the objective is no longer a number: from then on all parameters are not."""
        bound = self.history.bound[-1]
        if not np.isfinite(bound):
            raise ValueError(
                f"the objective is {bound} after iteration {len(self.history.bound)}: the arithmetic under- or "
                f"overflows with {self.settings.summary}; use fewer topics, priors nearer to 1, dtype='float64' or "
                "another inference method"
            )

    @property
    def finished(self) -> bool:
        """Whether the fit has converged, stopped early, or reached ``max_iter``."""
        history, settings = self.history, self.settings
        stopped_early = settings.patience is not None and history.iterations_since_best() >= settings.patience
        return stopped_early or history.converged or len(history.bound) >= settings.max_iter

    def _validate(self, posterior: VariationalPosterior, parallel: Parallel) -> None:
        """Score the validation words. The best snapshot is not copied: ``iterate`` must not overwrite its arrays."""
        if self.validation is None or self.settings.patience is None:
            return
        snapshot = self.snapshot
        self.history.perplexity.append(self.validation.perplexity(posterior, snapshot.parameters, parallel))
        if self.history.iterations_since_best() == 0:
            self.best = snapshot


class ExpectationMaximisation(Fit):
    """A batch fit: an iteration is an E-step over all documents and an M-step."""

    def __init__(
        self,
        session: Session,
        parameters: Parameters,
        priors: Priors,
        settings: FitSettings,
        validation: ValidationWords | None = None,
    ) -> None:
        super().__init__(settings, validation)
        self.session = session
        self.n_documents = len(session.posterior.xi_latent)
        self.parameters = parameters
        self.priors = priors
        self.last_prior_change = np.inf
        self.topic_sizes = np.ones(parameters.psi.shape[1])
        self.tag_sizes = np.zeros(len(parameters.theta))
        self._spare = Statistics.empty_like(parameters)
        self._warned_of_divergence = False

    @property
    def snapshot(self) -> Snapshot:
        """The model after the last iteration."""
        return Snapshot(self.parameters, self.priors, self.topic_sizes, self.tag_sizes)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The documents' posteriors and the model."""
        change = {"last_move": np.array([self.last_prior_change])}
        return {**self.session.posterior._asdict(), **change, **self.snapshot.to_arrays()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Set the state that ``to_arrays`` gave."""
        self.session.restore(VariationalPosterior(*(arrays[name] for name in VariationalPosterior._fields)))
        saved = Snapshot.from_arrays(arrays)
        self.parameters, self.priors = saved.parameters, saved.priors
        self.topic_sizes, self.tag_sizes = saved.topic_sizes, saved.tag_sizes
        self.last_prior_change = float(arrays["last_move"][0])

    def iterate(self) -> None:
        """One E-step, one M-step, and an update of the priors if one is due."""
        if self.best is not None and self._spare.psi is self.best.parameters.psi:
            self._spare = Statistics.empty_like(self.parameters)
        statistics = self.session.e_step(
            self.parameters, self._spare, sweeps=self.settings.sweeps, tolerance=self.settings.sweep_tol
        )
        if self.settings.seeds is not None:
            self.settings.seeds.add_to(statistics.psi)
        bound = statistics.objective + log_prior(self.parameters, self.priors, self.session.method, self.session)
        used = self.parameters
        found = m_step(statistics, self.priors, self.session.method, self.session)
        self.topic_sizes, self.tag_sizes = found.topic_sizes, found.tag_sizes
        self.parameters = replace(used, psi=found.psi, theta=found.theta, totals=found.totals(self.priors))
        self._spare = Statistics(used.psi, used.theta, 0.0)  # the two sets of arrays take turns
        self.history.bound.append(bound)  # last, because Ctrl-C may come at any line: now the iteration counts
        iteration = len(self.history.bound)
        self.history.converged = self._has_converged()
        if self.settings.learning.any_learnt and self.settings.learning.schedule.due(iteration):
            self._learn_priors(warm=self.settings.learning.schedule.warm(iteration))
            self.history.prior_updates.append(iteration)
        self._validate(self.session.posterior, self.session)

    def _has_converged(self) -> bool:
        """Whether the priors have, and the last two objectives under them differ by less than the tolerance.

        Updates of priors that raise the same bound are part of its ascent.
        """
        bound, updates, learning = self.history.bound, self.history.prior_updates, self.settings.learning
        if len(bound) < 2:
            return False
        if not (self.session.method.is_bound and learning.raises_bound):
            if updates and updates[-1] == len(bound) - 1:
                return False
            if learning.any_learnt and not (updates and self.last_prior_change <= PRIOR_TOLERANCE):
                return False
        gain = bound[-1] - bound[-2]
        # an objective that is not monotone may fall on its way to the maximum
        return (gain if self.session.method.is_monotone else abs(gain)) <= self.settings.tol * abs(bound[-2])

    def _learnt_priors(self) -> tuple[Float64s, Float64s]:
        """The priors of tags and topics, and apart from them those of words, which are many."""
        parameters, alpha = self.parameters, np.maximum(self.priors.alpha, 1e-12)
        return np.concatenate([parameters.all_pi, parameters.mu, alpha]), np.maximum(self.priors.beta, 1e-12)

    def _learn_priors(self, *, warm: bool) -> None:
        learning, before = self.settings.learning, self._learnt_priors()
        if learning.tag_topic_tokens:
            alpha = learning.tag_topic_tokens * smoothed_shares(self.topic_sizes, 1.0)
            self.priors = replace(self.priors, alpha=alpha)
        if warm:
            self._learn_dirichlet_priors(learning)
        changes = [_distance(*both) for both in zip(self._learnt_priors(), before, strict=True)]
        self.last_prior_change = max(changes) if warm or not learning.needs_warm_up else np.inf

    def _learn_dirichlet_priors(self, learning: PriorLearning) -> None:
        parameters = self.parameters
        hyper = learning.hyper_prior_at(parameters.all_pi)
        if hyper is not None:
            parameters = self._with_learnt_weights(parameters, hyper, learning.learnt_weights)
        if learning.latent_topics:
            log_latent, n_documents = self.session.latent_log_expectations()
            parameters = replace(parameters, mu=update_latent_prior(parameters.mu, log_latent, n_documents))
        if learning.occurrences is not None and self.validation is not None:
            parameters = self._with_learnt_word_prior(parameters, learning.occurrences, self.validation)
        self.parameters = parameters

    def _with_learnt_word_prior(
        self, parameters: Parameters, logs: Float64s, validation: ValidationWords
    ) -> Parameters:
        session, sizes, before = self.session, self.topic_sizes, self.priors.beta
        beta = update_word_prior(before, logs, sizes, validation, session.posterior, parameters, session)
        self.priors = replace(self.priors, beta=beta)
        return replace_word_prior(parameters, sizes, before, beta, session)

    def _with_learnt_weights(self, parameters: Parameters, hyper: HyperPrior, learnt: NDArray[np.bool_]) -> Parameters:
        pi = self.session.update_weight_prior(parameters, hyper, learnt)
        if has_diverged(pi) and not self._warned_of_divergence:
            self._warned_of_divergence = True
            warn(
                "the prior of the tag weights ran away: without a hyper-prior it has no maximum on this corpus; "
                "tag_weight_prior='estimate' holds it"
            )
        return parameters.with_all_pi(pi)


def _distance(one: Float64s, other: Float64s) -> float:
    """The mean absolute difference of the logarithms."""
    return float(np.abs(np.log(one / other)).mean())


@contextmanager
def batch_fit(
    model: TagTopicModel,
    corpus: CorpusLike,
    validation: ValidationWords | None,
    saved: SavedFit | None,
    engine: Engine | None,
) -> Iterator[Fit]:
    """Start a batch fit on an engine, by default the one that holds the corpus."""
    snapshot = saved.snapshot if saved else None
    parameters, priors = (snapshot.parameters, snapshot.priors) if snapshot else initial_parameters(model, corpus)
    settings = fit_settings(model, corpus)
    default: Engine = corpus.engine if isinstance(corpus, RemoteCorpus) else LocalEngine(model.n_jobs)
    documents: Any = corpus  # an engine takes its own kind of corpus and refuses others
    with (engine or default).session(documents, parameters, model._method.name) as session:
        yield ExpectationMaximisation(session, parameters, priors, settings, validation)


class NoProgress:
    """The interface of a fit's progress display; this one shows nothing."""

    def start_phase(self, name: str) -> None:
        """Start a phase of unknown length."""

    def callbacks(self, fit: Fit) -> list[Callback]:
        """Start the phase of iterations; return what the fit calls after each of them."""
        return []


class ProgressBar(NoProgress):
    """A bar on standard error: it fills by iterations, and pulses in phases of unknown length."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task: Any = None

    def start_phase(self, name: str, total: int | None = None, done: int = 0) -> None:
        """Start a phase, of ``total`` steps if that is known."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(name, total=total, completed=done, count="", status="")

    def callbacks(self, fit: Fit) -> list[Callback]:
        """Start the phase of iterations; return what the fit calls after each of them."""
        self.start_phase("fitting", fit.settings.max_iter, len(fit.history.bound))

        def show(iteration: int, bound: float, seconds: float) -> None:
            count = f"{iteration}/{fit.settings.max_iter}"
            self._progress.update(self._task, completed=iteration, count=count, status=status_line(fit))

        return [show]


@contextmanager
def fit_progress(progress: bool | None) -> Iterator[NoProgress]:
    """A bar if ``progress`` is true, or if it is None and standard error is a terminal; None elsewhere: lines."""
    with progress_display(
        progress, "{task.description}", BAR, "{task.fields[count]}", ELAPSED, REMAINING, "{task.fields[status]}"
    ) as bar:
        yield NoProgress() if bar is None else ProgressBar(bar)


def status_line(fit: Fit) -> str:
    """The bound, the validation perplexity, the speed and the memory after the last iteration."""
    history = fit.history
    parts = [f"bound {history.bound[-1]:,.0f}"]
    if history.perplexity:
        parts.append(f"held-out perplexity {history.perplexity[-1]:,.1f}")
        if since := history.iterations_since_best():
            parts.append(f"(best {min(history.perplexity):,.1f}, {since} ago)")
    last = history.seconds[-1] - (history.seconds[-2] if len(history.seconds) > 1 else 0.0)
    parts.append(f"{fit.n_documents / max(last, 1e-9):,.0f} documents/s")
    if (memory := resident_bytes()) is not None:
        parts.append(f"{memory / 1e6:,.0f} MB")
    return " ".join(parts)


def resident_bytes() -> int | None:
    """The resident memory of this process; None if the system has no /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * mmap.PAGESIZE
