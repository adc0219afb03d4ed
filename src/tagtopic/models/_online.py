"""Online learning from a whole corpus: passes over it in mini-batches, each pass in an order of its own.

Online learning: stochastic variational inference over mini-batches, which need not come from one corpus.

What is learnt stands in running sums (see ``inference/svi.py``). Documents that arrive are inferred from scratch,
and nothing is kept of them: memory is the parameters' plus one batch's. Passes over a corpus (``passes.py``) keep where
each document's inference stands, as batch learning does, and go on from there.
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
from tagtopic.engines.base import Engine, Session, Statistics
from tagtopic.engines.blocks import KEPT_ENTRIES
from tagtopic.inference.m_step import FLOOR, normalise_rows, theta_floor
from tagtopic.inference.methods import method_of
from tagtopic.inference.priors.latent_topics import update_latent_prior
from tagtopic.inference.priors.tag_weights import MAX_PI, MIN_PI, Evidence, fixed_point_pass
from tagtopic.inference.priors.topic_words import ValidationWords, update_word_prior
from tagtopic.inference.special import inverse_digamma_of
from tagtopic.inference.svi import estimate_topics, natural_gradient_step
from tagtopic.inference.types import CountTotals, Parameters, Priors, VariationalPosterior
from tagtopic.models._batch import Fit, Watch
from tagtopic.models._settings import (
    EMSettings,
    Learning,
    em_settings,
    seed_of,
    smoothed_shares,
    start_parameters,
)
from tagtopic.models._snapshot import Snapshot

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel
    from tagtopic.models._checkpoint import Saved
    from tagtopic.models._validation import HeldOut

FORGETTING = 0.6
"""A row that has seen n tokens before moves by (m / (n + m))^this towards m new ones: below 1, so that what was
inferred under early topics is forgotten, and above 1/2, so that it settles."""

SWEEPS = 40
TOLERANCE = 1e-3
"""New documents are swept until their mix moves by less than this, but no more often than this."""

SWEEPS_AGAIN = 2
"""Known documents start from where they were left, and need few."""

RENEWAL = 2.0
"""A row moves towards known documents by this times their share of its tokens at least. With 1 its sums are about those
of the last pass; without, paces fall from pass to pass until nothing moves any more."""

PRIOR_PASSES = 10
"""Fixed-point passes over a batch towards the prior of the tag weights that it speaks for."""

CHUNK_ROWS = 1 << 11


class Learnt(NamedTuple):
    """A mini-batch's objective under what was known before, and where its documents' inference stands after it."""

    objective: float
    state: VariationalPosterior


@dataclass
class Running:
    """Running sums: psi (words, topics) and theta (tags, topics); of each word the tokens there are and those seen, of
    each tag the documents there are and those seen.
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
    def begin(cls, parameters: Parameters, tokens: Float64s, documents: Float64s) -> Running:
        """From topics to start from: all of a word's tokens spread as those topics have it, nothing of it seen yet."""
        psi = parameters.psi
        shares = (tokens / np.maximum(psi.sum(axis=1, dtype=np.float64), 1e-300)).astype(psi.dtype)
        none = np.zeros(len(tokens)), np.zeros(len(documents))
        return cls(psi * shares[:, None], np.zeros_like(parameters.theta), tokens, none[0], documents, none[1])


@dataclass(frozen=True)
class Batch:
    """Documents in columns of their own: the words and tags that occur in them, with their tokens and documents."""

    documents: Corpus
    words: Int32s
    tags: Int32s
    tokens: Float64s
    tagged: Float64s


@dataclass(frozen=True)
class ScaledEvidence:
    """A batch's evidence on the weights' prior, as if all documents were like it; see ``weight_prior.Evidence``."""

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
    """Learns from mini-batches: ``step`` with each, then read ``parameters``."""

    def __init__(
        self,
        running: Running,
        parameters: Parameters,
        priors: Priors,
        learning: Learning,
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

    def step(self, documents: Corpus, state: VariationalPosterior | None = None) -> Learnt:
        """Learn from a mini-batch of documents, new ones or (with the ``state`` they were left in) known ones.

        Known documents were learnt from before: their own share can be left out ("cvb0"), and the Dirichlet priors
        of weights and latent topics may be learnt from them: too early, they would collapse.
        """
        known = state is not None
        batch = self.batch_of(documents)
        parameters = self.parameters_of(batch)
        method = self.method if known else self.method.for_new_documents
        statistics = Statistics.empty_like(parameters)
        sweeps = SWEEPS_AGAIN if known else SWEEPS
        with self.engine.session(batch.documents, parameters, method.name, posterior=state) as session:
            session.e_step(parameters, statistics, sweeps=sweeps, tolerance=TOLERANCE)
            self._move(batch, statistics, known=known)
            self._learn_priors(batch, session, parameters, known=known)
            self.running.steps += 1
            return Learnt(statistics.objective, session.posterior)

    def batch_of(self, documents: Corpus) -> Batch:
        """The documents in columns of their own."""
        counts, words = self._compact(documents.counts)
        tags, names = self._compact(documents.tags)
        local = Corpus(
            counts=counts, tags=tags, words=("",) * len(words), tag_names=("",) * len(names), ids=documents.ids
        )
        return Batch(local, words, names, column_sums(counts), column_counts(tags).astype(np.float64))

    def _compact(self, matrix: Any) -> tuple[Any, Int32s]:
        if matrix.shape[1] > len(self._present):
            self._present, self._local = np.zeros(matrix.shape[1], bool), np.empty(matrix.shape[1], np.int32)
        self._present[matrix.indices] = True
        columns = np.flatnonzero(self._present).astype(np.int32)
        self._present[columns] = False
        self._local[columns] = np.arange(len(columns), dtype=np.int32)
        return csr(matrix.indptr, self._local[matrix.indices], matrix.data, len(columns)), columns

    def parameters_of(self, batch: Batch) -> Parameters:
        """The parameters of a batch's words and tags."""
        running, priors = self.running, self.priors
        totals = CountTotals(
            running.topic_sizes + priors.beta.sum(),
            running.theta[batch.tags].sum(axis=1, dtype=np.float64) + priors.alpha.sum(),
            priors.beta[batch.words],
        )
        psi, theta = self._psi(batch.words), self._theta(batch.tags)
        return Parameters(psi, theta, self.pi[batch.tags], self.pi_latent, self.mu, self.latent, totals)

    def parameters(self) -> Parameters:
        """All that was learnt."""
        words, tags = (np.arange(len(sums), dtype=np.int32) for sums in (self.running.psi, self.running.theta))
        return Parameters(self._psi(words), self._theta(tags), self.pi.copy(), self.pi_latent, self.mu, self.latent)

    def snapshot(self) -> Snapshot:
        """The model as it stands."""
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

    def _move(self, batch: Batch, sums: Statistics, *, known: bool) -> None:
        running, renewal = self.running, RENEWAL if known else 0.0
        gains = running.tokens[batch.words] / batch.tokens
        rates = paces(batch.tokens, running.seen_tokens[batch.words], renewal / gains)

        def blend(rows: tuple[int, int]) -> Float64s:
            return natural_gradient_step(running.psi, batch.words, *rows, rates, gains, sums.psi)

        rises = self.engine.map(blend, cut_rows(len(batch.words), CHUNK_ROWS))
        running.topic_sizes = np.maximum(running.topic_sizes + np.sum(rises, axis=0), 0.0)
        running.seen_tokens[batch.words] += batch.tokens
        if len(batch.tags):
            gains = running.documents[batch.tags] / batch.tagged
            rates = paces(batch.tagged, running.seen_documents[batch.tags], renewal / gains)
            natural_gradient_step(running.theta, batch.tags, 0, len(batch.tags), rates, gains, sums.theta)
            running.seen_documents[batch.tags] += batch.tagged

    def _learn_priors(self, batch: Batch, session: Session, parameters: Parameters, *, known: bool) -> None:
        learning, running = self.learning, self.running
        if learning.tag_topic_tokens:
            alpha = learning.tag_topic_tokens * smoothed_shares(running.topic_sizes, 1.0)
            self.priors = replace(self.priors, alpha=alpha)
        if known and learning.weights is not None and len(batch.tags):
            self._learn_weights(batch, session, parameters)
        if known and learning.latent_topics:
            log_latent, n_documents = session.latent_log_expectations()
            mean, rate = log_latent / n_documents, (running.steps + 1.0) ** -FORGETTING
            before = running.log_latent if len(running.log_latent) else mean
            running.log_latent = (1 - rate) * before + rate * mean
            self.mu = update_latent_prior(self.mu, running.log_latent, 1.0)

    def learn_word_prior(self, held_out: ValidationWords, state: VariationalPosterior) -> None:
        """Learn beta from held-out words, if it is to be; ``state`` is that of all documents."""
        logs = self.learning.occurrences
        if logs is None:
            return
        known = self.priors.beta, logs, self.running.topic_sizes
        beta = update_word_prior(*known, held_out, state, self.parameters(), self.engine)
        self.priors = replace(self.priors, beta=beta)

    def _learn_weights(self, batch: Batch, session: Session, parameters: Parameters) -> None:
        """A step in Psi(pi), the natural coordinate, towards the fixed point of the batch scaled to all documents."""
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
        rate = paces(have, np.maximum(before, 0.0))
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


def paces(new: Float64s, seen: Float64s, least: float | Float64s = 0.0) -> Float64s:
    """How far each row moves: all the way when it is seen for the first time, and never less than ``least``."""
    return np.asarray(np.minimum(np.maximum((new / (seen + new)) ** FORGETTING, least), 1.0))


SETTLED = 5e-5
"""Passes end when one betters the last by less than this share of the objective, or by less than ``tol`` if that is
more: batches differ, so passes never settle as finely as batch learning does."""

RUNNING = tuple(field.name for field in fields(Running) if field.name != "steps")
"""The arrays among the running sums."""


class States:
    """Where each document's inference stands (``all``), to be taken and put back by document.

    Document d has the tag entries ``starts[d]:starts[d + 1]``.
    """

    def __init__(self, starts: Int64s, state: VariationalPosterior) -> None:
        self.all = state
        self._starts = np.asarray(starts, np.int64)
        self._each_rho = len(state.rho) == len(state.xi_latent)

    def take(self, rows: Int64s) -> VariationalPosterior:
        """A copy of the state of some documents."""
        state = self.all
        rho = state.rho[rows] if self._each_rho else state.rho.copy()
        return VariationalPosterior(state.xi[self._entries(rows)], state.xi_latent[rows], rho)

    def put(self, rows: Int64s, state: VariationalPosterior) -> None:
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
    def now(self) -> Snapshot:
        """The model as it stands."""
        return self.learner.snapshot()

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
        self._look(self.states.all, self.learner.engine)

    def _give_back(self) -> None:
        """A batch is a copy: the pages that it came from need not stay."""
        counts = self.documents.counts
        if counts.nnz > KEPT_ENTRIES:
            release(counts.indices, counts.data)

    def _settled(self) -> bool:
        # "cvb0" subtracts own counts from the second pass on: its objective is not that of the first
        bound = self.history.bound[self.learner.method.is_leave_one_out :]
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
        for mine, saved in zip(self.states.all, (arrays[name] for name in VariationalPosterior._fields), strict=True):
            mine[:] = saved


@contextmanager
def online_fit(
    model: TagTopicModel, corpus: CorpusLike, watch: HeldOut | None, saved: Saved | None, engine: Engine | None
) -> Iterator[Fit]:
    """Start passes over the corpus in mini-batches."""
    engine = engine or LocalEngine(model.n_jobs)
    if not engine.supports_online or not isinstance(corpus, Corpus):
        raise ValueError("learning='online' runs on this machine, not on a cluster: use learning='batch' there")
    parameters, priors = start_parameters(model, corpus)
    settings = em_settings(model, corpus)
    running = Running.begin(parameters, corpus.word_counts(), corpus.tag_sizes().astype(np.float64))
    with engine, engine.session(corpus, parameters, model.inference) as session:
        learner = OnlineLearner(running, parameters, priors, settings.learning, model.inference, engine)
        states = States(corpus.tags.indptr, session.posterior)
        seed = seed_of(model)
        yield OnlinePasses(learner, corpus, settings, watch, batch_size=model.batch_size, seed=seed, states=states)
