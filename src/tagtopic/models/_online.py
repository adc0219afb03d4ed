"""Online learning: stochastic variational inference over mini-batches (Hoffman et al. 2013).

``OnlineLearner`` updates running sufficient statistics (``inference/m_step.py``) by one mini-batch at a time. New
documents are inferred from their prior and nothing is kept of them: memory is that of the parameters and a mini-batch.
``OnlinePasses`` goes over a corpus several times, in a new random order each time, and keeps the posterior of each
document between passes, as batch learning does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s
from tagtopic._core.memmap import release
from tagtopic._core.parallel import cut_rows
from tagtopic.corpus import Corpus
from tagtopic.corpus.interface import CorpusLike
from tagtopic.corpus.matrices import column_counts, column_sums, csr
from tagtopic.engines import LocalEngine
from tagtopic.engines.base import Engine, Session
from tagtopic.engines.blocks import KEPT_ENTRIES
from tagtopic.inference.m_step import FLOOR, estimate_topics, natural_gradient_step, normalise_rows, theta_floor
from tagtopic.inference.methods import method_of
from tagtopic.inference.priors.latent_topics import update_latent_prior
from tagtopic.inference.priors.tag_weights import MAX_PI, MIN_PI, Evidence, fixed_point_pass
from tagtopic.inference.priors.topic_words import update_word_prior
from tagtopic.inference.special import inverse_digamma_of
from tagtopic.inference.types import CountTotals, Parameters, Priors, Statistics, VariationalPosterior
from tagtopic.models._batch import Fit
from tagtopic.models._settings import (
    FitSettings,
    PriorLearning,
    fit_settings,
    initial_parameters,
    seed_of,
    smoothed_shares,
)
from tagtopic.models._snapshot import Snapshot

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel
    from tagtopic.models._checkpoint import SavedFit
    from tagtopic.models._validation import ValidationWords

FORGETTING_RATE = 0.6
"""The step of a row with n tokens before towards m new ones is (m / (n + m))^this: below 1, so that statistics inferred
under early topics are forgotten, and above 1/2, so that it converges."""

NEW_SWEEPS = 40
TOLERANCE = 1e-3
"""New documents are swept until their topic proportions change by less than this, at most this often."""

KNOWN_SWEEPS = 2
"""Sweeps of documents whose posterior is known from the last pass."""

MIN_STEP = 2.0
"""The smallest step of a row towards known documents is this times their share of its tokens. With 1 the statistics are
about those of the last pass; with 0 steps shrink from pass to pass until nothing changes."""

PRIOR_PASSES = 10
"""Fixed-point iterations of the tag weights' prior per mini-batch."""

MIN_TOL = 5e-5
"""The smallest tolerance of convergence: mini-batches differ, so passes do not converge as finely as batch learning."""

CHUNK_ROWS = 1 << 11


class BatchResult(NamedTuple):
    """The objective of a mini-batch under the parameters before it, and the posterior of its documents."""

    objective: float
    posterior: VariationalPosterior


@dataclass
class RunningStatistics:
    """Running sufficient statistics.

    Parameters
    ----------
    psi : array of shape (n_words, n_topics)
        Expected counts of words in topics.
    theta : array of shape (n_tags, n_topics)
        Expected counts of topics under tags.
    tokens, seen_tokens : array of shape (n_words,)
        The tokens of each word in all documents, and in those seen so far.
    documents, seen_documents : array of shape (n_tags,)
        The documents with each tag, and those seen so far.
    topic_sizes : array of shape (n_topics,)
        Column sums of ``psi``.
    log_latent : array of shape (n_topics,) or (0,)
        The running mean of E[log lambda], from which mu is learnt.
    steps : int
        The number of mini-batches so far.
    """

    psi: Floats
    theta: Floats
    tokens: Float64s
    seen_tokens: Float64s
    documents: Float64s
    seen_documents: Float64s
    topic_sizes: Float64s = field(default_factory=lambda: np.empty(0))
    log_latent: Float64s = field(default_factory=lambda: np.empty(0))
    steps: int = 0

    def __post_init__(self) -> None:
        if not len(self.topic_sizes):
            self.topic_sizes = self.psi.sum(axis=0, dtype=np.float64)

    @classmethod
    def initial(cls, parameters: Parameters, tokens: Float64s, documents: Float64s) -> RunningStatistics:
        """The statistics of initial topics: each word's tokens distributed by them, and nothing seen."""
        psi = parameters.psi
        shares = (tokens / np.maximum(psi.sum(axis=1, dtype=np.float64), 1e-300)).astype(psi.dtype)
        no_tokens, no_documents = np.zeros(len(tokens)), np.zeros(len(documents))
        theta = np.zeros_like(parameters.theta)
        return cls(psi * shares[:, None], theta, tokens, no_tokens, documents, no_documents)


RUNNING_ARRAYS = tuple(field.name for field in fields(RunningStatistics) if field.name != "steps")
"""The arrays of the running statistics, by their names in checkpoints."""


@dataclass(frozen=True)
class MiniBatch:
    """Documents in the columns of the words and tags that occur in them, with counts of tokens and documents."""

    documents: Corpus
    words: Int32s
    tags: Int32s
    tokens: Float64s
    tagged: Float64s


@dataclass(frozen=True)
class ScaledEvidence:
    """The evidence of a mini-batch on the weights' prior, scaled to all documents."""

    batch: Evidence
    scale: Float64s

    @property
    def log_weights(self) -> Float64s:
        """By tag, the sum over documents of E[log eps]."""
        return self.batch.log_weights * self.scale

    @property
    def documents(self) -> Float64s:
        """By tag, the number of documents."""
        return self.batch.documents * self.scale

    def prior_digammas(self, pi: Float64s) -> Float64s:
        """By tag, the sum over its documents of Psi(sum pi_d)."""
        return self.batch.prior_digammas(pi) * self.scale

    def prior_log_gammas(self, pi: Float64s) -> float:
        """The sum over the batch's own documents of lgamma(sum pi_d)."""
        return self.batch.prior_log_gammas(pi)


class OnlineLearner:
    """Learn from mini-batches: call ``step`` with each, then ``parameters``."""

    def __init__(
        self,
        running: RunningStatistics,
        parameters: Parameters,
        priors: Priors,
        learning: PriorLearning,
        inference: str,
        engine: Engine,
    ) -> None:
        self.running = running
        self.priors = priors
        self.learning = learning
        self.method = method_of(inference)
        self.engine = engine
        self.pi, self.pi_latent, self.mu = parameters.pi.copy(), parameters.pi_latent, parameters.mu
        self.latent, self.dtype = parameters.latent, parameters.psi.dtype
        self._present = np.zeros(len(running.psi), bool)
        self._local = np.empty(len(running.psi), np.int32)

    def step(self, documents: Corpus, posterior: VariationalPosterior | None = None) -> BatchResult:
        """Learn from a mini-batch of new documents, or of known ones with their posterior from the last pass.

        Known documents are part of the statistics, so that leave-one-out counts can be used ("cvb0"), and the Dirichlet
        priors of weights and latent topics may be learnt from them: on a first pass these would collapse.
        """
        known = posterior is not None
        batch = self._mini_batch(documents)
        parameters = self._batch_parameters(batch)
        method = self.method if known else self.method.for_new_documents
        statistics = Statistics.empty_like(parameters)
        sweeps = KNOWN_SWEEPS if known else NEW_SWEEPS
        with self.engine.session(batch.documents, parameters, method.name, posterior=posterior) as session:
            session.e_step(parameters, statistics, sweeps=sweeps, tolerance=TOLERANCE)
            self._update_statistics(batch, statistics, known=known)
            self._learn_priors(batch, session, parameters, known=known)
            self.running.steps += 1
            return BatchResult(statistics.objective, session.posterior)

    def _mini_batch(self, documents: Corpus) -> MiniBatch:
        counts, words = self._compact(documents.counts)
        tags, names = self._compact(documents.tags)
        local = Corpus(
            counts=counts, tags=tags, words=("",) * len(words), tag_names=("",) * len(names), ids=documents.ids
        )
        return MiniBatch(local, words, names, column_sums(counts), column_counts(tags).astype(np.float64))

    def _compact(self, matrix: Any) -> tuple[Any, Int32s]:
        if matrix.shape[1] > len(self._present):
            self._present, self._local = np.zeros(matrix.shape[1], bool), np.empty(matrix.shape[1], np.int32)
        self._present[matrix.indices] = True
        columns = np.flatnonzero(self._present).astype(np.int32)
        self._present[columns] = False
        self._local[columns] = np.arange(len(columns), dtype=np.int32)
        return csr(matrix.indptr, self._local[matrix.indices], matrix.data, len(columns)), columns

    def _batch_parameters(self, batch: MiniBatch) -> Parameters:
        """The parameters of a mini-batch's words and tags."""
        running, priors = self.running, self.priors
        totals = CountTotals(
            running.topic_sizes + priors.beta.sum(),
            running.theta[batch.tags].sum(axis=1, dtype=np.float64) + priors.alpha.sum(),
            priors.beta[batch.words],
        )
        psi, theta = self._psi(batch.words), self._theta(batch.tags)
        return Parameters(psi, theta, self.pi[batch.tags], self.pi_latent, self.mu, self.latent, totals)

    def parameters(self) -> Parameters:
        """The parameters of all words and tags."""
        words, tags = (np.arange(len(counts), dtype=np.int32) for counts in (self.running.psi, self.running.theta))
        return Parameters(self._psi(words), self._theta(tags), self.pi.copy(), self.pi_latent, self.mu, self.latent)

    def snapshot(self) -> Snapshot:
        """The model after the last mini-batch."""
        tag_sizes = self.running.theta.sum(axis=1, dtype=np.float64)
        return Snapshot(self.parameters(), self.priors, self.running.topic_sizes.copy(), tag_sizes)

    def _psi(self, words: Int32s) -> Floats:
        beta = self.priors.beta
        totals = self.running.topic_sizes + beta.sum()
        totals[totals == 0] = 1.0
        psi = np.empty((len(words), len(totals)), self.dtype)
        floor = FLOOR if beta.min() == 0 else 0.0

        def take(rows: tuple[int, int]) -> None:
            estimate_topics(self.running.psi, words, *rows, beta, totals, floor, psi)

        self.engine.map(take, cut_rows(len(psi), CHUNK_ROWS))
        return psi

    def _theta(self, tags: Int32s) -> Floats:
        theta = np.array(self.running.theta[tags], self.dtype)
        normalise_rows(theta, self.priors.alpha, theta_floor(self.priors, self.method))
        return theta

    def _update_statistics(self, batch: MiniBatch, statistics: Statistics, *, known: bool) -> None:
        running, min_step = self.running, MIN_STEP if known else 0.0
        gains = running.tokens[batch.words] / batch.tokens
        rates = step_sizes(batch.tokens, running.seen_tokens[batch.words], min_step / gains)

        def blend(rows: tuple[int, int]) -> Float64s:
            return natural_gradient_step(running.psi, batch.words, *rows, rates, gains, statistics.psi)

        rises = self.engine.map(blend, cut_rows(len(batch.words), CHUNK_ROWS))
        running.topic_sizes = np.maximum(running.topic_sizes + np.sum(rises, axis=0), 0.0)
        running.seen_tokens[batch.words] += batch.tokens
        if len(batch.tags):
            gains = running.documents[batch.tags] / batch.tagged
            rates = step_sizes(batch.tagged, running.seen_documents[batch.tags], min_step / gains)
            natural_gradient_step(running.theta, batch.tags, 0, len(batch.tags), rates, gains, statistics.theta)
            running.seen_documents[batch.tags] += batch.tagged

    def _learn_priors(self, batch: MiniBatch, session: Session, parameters: Parameters, *, known: bool) -> None:
        learning, running = self.learning, self.running
        if learning.tag_topic_tokens:
            alpha = learning.tag_topic_tokens * smoothed_shares(running.topic_sizes, 1.0)
            self.priors = replace(self.priors, alpha=alpha)
        if known and learning.weights is not None and len(batch.tags):
            self._learn_weights(batch, session, parameters)
        if known and learning.latent_topics:
            log_latent, n_documents = session.latent_log_expectations()
            mean, rate = log_latent / n_documents, (running.steps + 1.0) ** -FORGETTING_RATE
            before = running.log_latent if len(running.log_latent) else mean
            running.log_latent = (1 - rate) * before + rate * mean
            self.mu = update_latent_prior(self.mu, running.log_latent, 1.0)

    def learn_word_prior(self, validation: ValidationWords, posterior: VariationalPosterior) -> None:
        """Learn beta from validation words, unless it is fixed; ``posterior`` is that of all documents."""
        logs = self.learning.occurrences
        if logs is None:
            return
        given = self.priors.beta, logs, self.running.topic_sizes
        beta = update_word_prior(*given, validation, posterior, self.parameters(), self.engine)
        self.priors = replace(self.priors, beta=beta)

    def _learn_weights(self, batch: MiniBatch, session: Session, parameters: Parameters) -> None:
        """Step in Psi(pi), the natural parameter, towards the fixed point of the mini-batch scaled to all documents."""
        learning = self.learning
        hyper = learning.hyper_prior_at(np.append(self.pi, self.pi_latent) if self.latent else self.pi)
        assert hyper is not None
        evidence = session.weight_evidence(parameters)
        n_all = len(self.pi) + int(self.latent)
        names = np.append(batch.tags, len(self.pi)) if self.latent else batch.tags
        local = hyper.select(names.astype(np.int32), n_all)
        pi = parameters.all_pi
        totals = self._documents_of(names)
        seen = np.maximum(self.running.seen_documents[batch.tags], batch.tagged)
        have = np.append(batch.tagged, len(batch.documents)) if self.latent else batch.tagged
        before = np.append(seen - batch.tagged, seen.sum()) if self.latent else seen - batch.tagged
        scaled = ScaledEvidence(evidence, totals / np.maximum(evidence.documents, 1e-12))
        target = pi
        for _ in range(PRIOR_PASSES):
            target = fixed_point_pass(target, scaled, local)
        rate = step_sizes(have, np.maximum(before, 0.0))
        moved = inverse_digamma_of((1 - rate) * digamma(pi) + rate * digamma(target))
        chosen = (evidence.documents > 0) & learning.learnt_weights[names]
        new = np.where(chosen, np.clip(moved, MIN_PI, MAX_PI), pi)
        self.pi[batch.tags] = new[: len(batch.tags)]
        if self.latent:
            self.pi_latent = float(new[-1])

    def _documents_of(self, names: NDArray[Any]) -> Float64s:
        tags = names[names < len(self.pi)]
        found = self.running.documents[tags]
        return np.append(found, max(found.sum(), 1.0)) if self.latent else found


def step_sizes(new: Float64s, seen: Float64s, least: float | Float64s = 0.0) -> Float64s:
    """The step of each row: 1 when it is seen for the first time, and at least ``least``."""
    return np.asarray(np.minimum(np.maximum((new / (seen + new)) ** FORGETTING_RATE, least), 1.0))


class PosteriorTable:
    """The posteriors of all documents (``all``), read and written by document.

    Document d has the tag entries ``starts[d]:starts[d + 1]``.
    """

    def __init__(self, starts: Int64s, posterior: VariationalPosterior) -> None:
        self.all = posterior
        self._starts = np.asarray(starts, np.int64)
        self._each_rho = len(posterior.rho) == len(posterior.xi_latent)

    def take(self, rows: Int64s) -> VariationalPosterior:
        """A copy of the posteriors of some documents."""
        everything = self.all
        rho = everything.rho[rows] if self._each_rho else everything.rho.copy()
        return VariationalPosterior(everything.xi[self._entries(rows)], everything.xi_latent[rows], rho)

    def put(self, rows: Int64s, posterior: VariationalPosterior) -> None:
        """Replace the posteriors of some documents."""
        self.all.xi[self._entries(rows)] = posterior.xi
        self.all.xi_latent[rows] = posterior.xi_latent
        if self._each_rho:
            self.all.rho[rows] = posterior.rho
        release(*self.all)

    def _entries(self, rows: Int64s) -> Int64s:
        """The positions of the documents' tag entries."""
        sizes = self._starts[rows + 1] - self._starts[rows]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.asarray(np.repeat(self._starts[rows], sizes) + within)


class OnlinePasses(Fit):
    """An online fit: an iteration is a pass over all documents in mini-batches.

    The objective of a pass is the sum over mini-batches, each under the parameters before it.
    """

    def __init__(
        self,
        learner: OnlineLearner,
        documents: Corpus,
        settings: FitSettings,
        validation: ValidationWords | None = None,
        *,
        batch_size: int,
        seed: int,
        posteriors: PosteriorTable,
    ) -> None:
        super().__init__(settings, validation)
        self.learner = learner
        self.documents = documents
        self.n_documents = len(documents)
        self.batch_size = batch_size
        self.seed = seed
        self.posteriors = posteriors

    @property
    def snapshot(self) -> Snapshot:
        """The model after the last pass."""
        return self.learner.snapshot()

    def iterate(self) -> None:
        """Pass once over the documents, in a random order."""
        number = len(self.history.bound)
        order = np.random.default_rng([self.seed, number]).permutation(self.n_documents)
        objective = 0.0
        for first, last in cut_rows(self.n_documents, self.batch_size):
            rows = np.sort(order[first:last])
            batch = self.documents[rows]
            self._release_pages()
            result = self.learner.step(batch, self.posteriors.take(rows) if number else None)
            self.posteriors.put(rows, result.posterior)
            objective += result.objective
        self.history.bound.append(objective)
        self.history.converged = self._has_converged()
        if self.settings.learning.any_learnt:
            self.history.prior_updates.append(number + 1)
        if self.validation is not None and number:
            self.learner.learn_word_prior(self.validation, self.posteriors.all)
        self._validate(self.posteriors.all, self.learner.engine)

    def _release_pages(self) -> None:
        """Release mapped pages of the corpus: mini-batches are copies."""
        counts = self.documents.counts
        if counts.nnz > KEPT_ENTRIES:
            release(counts.indices, counts.data)

    def _has_converged(self) -> bool:
        # "cvb0" subtracts own counts from the second pass on: its objective is not that of the first
        bound = self.history.bound[self.learner.method.is_leave_one_out :]
        return len(bound) > 1 and bound[-1] - bound[-2] <= max(self.settings.tol, MIN_TOL) * abs(bound[-2])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The running statistics, the priors, and the documents' posteriors."""
        learner = self.learner
        arrays: dict[str, NDArray[Any]] = {name: getattr(learner.running, name) for name in RUNNING_ARRAYS}
        numbers = np.array([learner.running.steps, learner.pi_latent])
        priors = {"alpha": learner.priors.alpha, "beta": learner.priors.beta}
        return {
            **arrays,
            **priors,
            "pi": learner.pi,
            "mu": learner.mu,
            "numbers": numbers,
            **self.posteriors.all._asdict(),
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Set the state that ``to_arrays`` gave."""
        learner = self.learner
        for name in RUNNING_ARRAYS:
            setattr(learner.running, name, arrays[name])
        learner.running.steps, learner.pi_latent = int(arrays["numbers"][0]), float(arrays["numbers"][1])
        learner.pi, learner.mu = arrays["pi"], arrays["mu"]
        learner.priors = Priors(arrays["alpha"], arrays["beta"])
        for mine, saved in zip(
            self.posteriors.all, (arrays[name] for name in VariationalPosterior._fields), strict=True
        ):
            mine[:] = saved


@contextmanager
def online_fit(
    model: TagTopicModel,
    corpus: CorpusLike,
    validation: ValidationWords | None,
    saved: SavedFit | None,
    engine: Engine | None,
) -> Iterator[Fit]:
    """Start an online fit on this machine."""
    engine = engine or LocalEngine(model.n_jobs)
    if not engine.supports_online or not isinstance(corpus, Corpus):
        raise ValueError("learning='online' runs on this machine, not on a cluster: use learning='batch' there")
    parameters, priors = initial_parameters(model, corpus)
    settings = fit_settings(model, corpus)
    running = RunningStatistics.initial(parameters, corpus.word_counts(), corpus.tag_sizes().astype(np.float64))
    inference = model._method.for_mini_batches.name
    with engine, engine.session(corpus, parameters, inference) as session:
        learner = OnlineLearner(running, parameters, priors, settings.learning, inference, engine)
        yield OnlinePasses(
            learner,
            corpus,
            settings,
            validation,
            batch_size=model.batch_size,
            seed=seed_of(model),
            posteriors=PosteriorTable(corpus.tags.indptr, session.posterior),
        )
