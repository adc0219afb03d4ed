"""Gibbs sampling as a fit: sweeps over all tokens, then averages of the parameters over thinned draws."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Floats, Int64s, offsets_of
from tagtopic._core.display import warn
from tagtopic._core.estimator import check_random_state
from tagtopic._core.parallel import CHUNK_ROWS, cut_rows, one_blas_thread
from tagtopic.corpus import Corpus
from tagtopic.corpus.interface import CorpusLike, RemoteCorpus
from tagtopic.engines import LocalEngine
from tagtopic.engines.base import Engine, Sampler
from tagtopic.inference.gibbs import Assignments, add_topic_words, sampler_priors
from tagtopic.inference.own_words import OwnWordCandidates, no_own_words
from tagtopic.inference.priors.weight_scale import WeightCounts, maximise_weight_scale
from tagtopic.inference.types import Parameters, Priors
from tagtopic.models._batch import Fit
from tagtopic.models._queries import add_topics_by_tag
from tagtopic.models._settings import FitSettings, fit_settings, initial_parameters, smoothed_shares, uses_own_words
from tagtopic.models._snapshot import NO_DRAWS, NO_OWN_WORDS, Draws, OwnWordPairs, Snapshot

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel
    from tagtopic.models._checkpoint import SavedFit
    from tagtopic.models._validation import ValidationWords

COMPARED_WORDS = 2_000
"""The most frequent words, by which the topics of a draw are compared with the average."""

SWITCHED = 0.5
"""A topic has switched if it is less than this times as similar to its own average as to another topic's."""

TINY = 1e-30

SPREAD_EVERY = 10
"""Sweeps of the burn-in from one spreading of priors to the next."""

EVEN_SHARE = 0.02
"""The share of mu that is spread evenly, so that a topic without tokens can get some."""

EVEN_WEIGHT = 0.1
"""The share of pi that is the same for all tags, so that a tag without tokens can get some."""

COUNTED_DOCUMENTS = 2_000
"""The documents, at most, whose counts the scale of the weights' prior is estimated from."""

BLOCK_COUNTS, BLOCK_DOCUMENTS = 1 << 15, 256
"""Counts by document and topic that are in memory at a time, but at least those of this many documents."""

SETTLED = 2e-3
"""The chain has settled if the mean log probability of a token changes by less, from one quarter of the draws' sweeps
to the next."""


class GibbsSampling(Fit):
    """A fit by collapsed Gibbs sampling: an iteration is a sweep.

    From ``burn_in`` sweeps on, every ``thinning`` sweeps psi and theta of the present counts are added to an average,
    which is the outcome, and so are the topic proportions of each tag's documents if ``corpus`` has them.
    """

    keeps_best = False

    def __init__(
        self,
        sampler: Sampler,
        parameters: Parameters,
        priors: Priors,
        settings: FitSettings,
        seed: int,
        common_words: Int64s,
        candidates: OwnWordCandidates | None = None,
        validation: ValidationWords | None = None,
        corpus: Corpus | None = None,
        counted: Corpus | None = None,
    ) -> None:
        super().__init__(settings, validation)
        self.sampler = sampler
        self.n_documents = sampler.n_documents
        self._psi = np.zeros(parameters.psi.shape, parameters.psi.dtype)
        self.parameters = replace(parameters, psi=self._psi)  # the initial topics are needed no more
        self.priors = priors
        self.seed = seed
        self.n_averaged = 0
        self.switched = np.zeros(len(parameters.mu), bool)
        self._common_words = common_words
        self.candidates = candidates
        self._counted = counted
        self._sampler_priors = sampler_priors(parameters, priors, candidates)
        self._theta = np.zeros(parameters.theta.shape)
        self._topic_sizes = np.zeros(len(parameters.mu))
        self._tag_sizes = np.zeros(len(parameters.theta))
        self._is_assigned = False  # whether tokens have assignments of this or an earlier run
        self._tagged = corpus if corpus is not None and corpus.tags.nnz else None
        self._document_topics: Floats = np.zeros((0,), parameters.psi.dtype)
        if self._tagged is not None:
            self._document_topics = np.zeros(parameters.theta.shape, parameters.psi.dtype)
        n_validated = 0 if validation is None or settings.patience is None else len(validation.rows)
        n_pairs = 0 if candidates is None else len(candidates.words)
        self._omega = np.zeros(n_pairs)
        self._draws = Draws(
            np.zeros((settings.n_draws, *parameters.psi.shape), parameters.psi.dtype),
            np.zeros((settings.n_draws, *parameters.theta.shape), parameters.psi.dtype),
            np.zeros((settings.n_draws, n_pairs), parameters.psi.dtype),
        )
        self.n_kept = 0
        self._mixes: Floats = np.zeros((n_validated, len(parameters.mu)))
        self._own_entries = no_own_words()
        if validation is not None and n_validated:
            self._own_entries = validation.own_word_entries(candidates, sampler)
        self._own_probabilities: Float64s = np.zeros(max(0, len(self._own_entries.starts) - 1))

    @property
    def snapshot(self) -> Snapshot:
        """The average over draws, or the present counts' parameters while there is none."""
        if not self.n_averaged:
            self._average()
            self.n_averaged = 0  # the next draw replaces it
        dtype, own_words = self._psi.dtype, NO_OWN_WORDS
        if self.candidates is not None:
            own_words = OwnWordPairs(
                self.candidates.tags.astype(np.int32), self.candidates.words, self._omega.astype(dtype)
            )
        theta = self._topics_of_tags().astype(dtype)
        parameters = replace(self.parameters, psi=self._psi, theta=theta)
        draws = Draws(*(values[: self.n_kept] for values in self._draws)) if self.n_kept else NO_DRAWS
        sizes = self._topic_sizes, self._tag_sizes
        topics = self._document_topics
        if self._tagged is not None:  # a tag whose documents have no words but own ones has its own topics
            topics = np.where(topics.any(axis=1, keepdims=True), topics, theta)
        return Snapshot(parameters, self.priors, *sizes, draws, own_words, topics)

    def iterate(self) -> None:
        """One sweep; if a draw is due, add it to the average."""
        sweep = len(self.history.bound) + 1
        bound = self.sampler.sweep(self._sampler_priors, self.seed, sweep)
        self._is_assigned = True
        past = sweep - self.settings.burn_in
        is_draw = past > 0 and past % self.settings.thinning == 0
        if is_draw:
            self._note_switches()
            self._average()
            self._keep(past // self.settings.thinning, sweep)
        elif past <= 0 and sweep % SPREAD_EVERY == 0:
            self._spread_priors(sweep)
        self.history.bound.append(bound)
        self._validate_draw(averaged=is_draw)
        if len(self.history.bound) >= self.settings.max_iter:
            self.history.converged = self._has_settled()
            self._warn_of_switches()

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The assignments, the average, and the numbers that go with it."""
        tokens = self.sampler.tokens
        return {
            "token_topics": np.asarray(tokens.topics),
            "token_tags": np.asarray(tokens.tags),
            "mixes": self._mixes,
            "averaging": np.array([self.n_averaged, self.n_kept, self.settings.burn_in, self.settings.thinning]),
            "psi_draws": self._draws.psi,
            "theta_draws": self._draws.theta,
            "omega_draws": self._draws.omega,
            "omega_average": self._omega,
            "own_probabilities": self._own_probabilities,
            "switched": self.switched,
            "theta_average": self._theta,
            "document_topics": self._document_topics,
            **self.snapshot.to_arrays(),
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Set the state that ``to_arrays`` gave."""
        saved = Snapshot.from_arrays(arrays)
        self._psi[:], self._theta = saved.parameters.psi, np.array(arrays["theta_average"])
        self._topic_sizes, self._tag_sizes = np.array(saved.topic_sizes), np.array(saved.tag_sizes)
        self._document_topics = np.array(arrays["document_topics"])
        self._mixes, self.switched = np.array(arrays["mixes"]), np.array(arrays["switched"])
        self._omega, self._own_probabilities = np.array(arrays["omega_average"]), np.array(arrays["own_probabilities"])
        n_averaged, n_kept, *schedule = arrays["averaging"].tolist()
        if schedule == [self.settings.burn_in, self.settings.thinning]:
            self.n_averaged, self.n_kept = n_averaged, n_kept
            self._draws = Draws(*(np.array(arrays[name]) for name in ("psi_draws", "theta_draws", "omega_draws")))
        else:  # max_iter has changed, and burn_in with it: the average begins anew
            self.n_averaged = self.n_kept = 0
        self.sampler.restore(Assignments(arrays["token_topics"], arrays["token_tags"]))
        self._is_assigned = True
        self.add_seeds()

    def add_seeds(self) -> None:
        """Add the prior counts of seeded topics to the counts of the assignments."""
        seeds, counts = self.settings.seeds, self.sampler.counts
        if seeds is not None:
            self.sampler.add_word_topics(seeds.words, seeds.topics, seeds.counts.astype(np.int64))
            counts.topics[:] += seeds.sizes(len(counts.topics)).astype(np.int64)

    @property
    def finished(self) -> bool:
        """Whether all sweeps are done."""
        return len(self.history.bound) >= self.settings.max_iter

    def _spread_priors(self, sweep: int) -> None:
        """Spread mu by the topics of the latent tag, and pi by the tokens per document of tags, unless they are given.

        Only during burn-in: the draws are of one posterior.
        """
        settings, counts = self.settings, self.sampler.counts
        if settings.spread_latent_topics:
            mu = self.parameters.mu
            latent = counts.topics - counts.tag_topics.sum(axis=0, dtype=np.int64)
            if settings.seeds is not None:
                latent = np.maximum(latent - settings.seeds.sizes(len(mu)), 0)
            even = 1.0 + EVEN_SHARE * latent.sum() / len(mu)
            self.parameters = replace(self.parameters, mu=mu.sum() * smoothed_shares(latent.astype(np.float64), even))
        if len(settings.tag_documents):
            pi = spread_weights(self.parameters.pi, counts.tags, settings.tag_documents)
            self.parameters = replace(self.parameters, pi=pi)
        if self._counted is not None:
            self._scale_weights(self._counted)
        if settings.spread_latent_topics or len(settings.tag_documents) or self._counted is not None:
            self._sampler_priors = sampler_priors(self.parameters, self.priors, self.candidates)
            self.history.prior_updates.append(sweep)

    def _scale_weights(self, counted: Corpus) -> None:
        """Multiply pi and pi_latent by the factors that maximise the likelihood of the counts of some documents."""
        given, rows, tags = self.parameters, _counted_rows(self.n_documents), counted.tags
        posterior = self.sampler.document_counts(rows, given)
        prior = given.pi[tags.indices]
        latent_prior = np.where(posterior.xi_latent > 0, given.pi_latent, 0.0)
        tokens, latent_tokens = (
            np.asarray(found - own, np.float64)
            for found, own in ((posterior.xi, prior), (posterior.xi_latent, latent_prior))
        )
        counts = WeightCounts(tags.indptr.astype(np.int64), prior, tokens, latent_prior, latent_tokens)
        least_mean, least_latent = self.settings.least_weights
        bounds = least_mean / float(prior.mean()) if len(prior) else np.inf, least_latent / given.pi_latent
        tag_factor, latent_factor = maximise_weight_scale(counts, bounds)
        self.parameters = replace(given, pi=given.pi * tag_factor, pi_latent=given.pi_latent * latent_factor)

    def _average(self) -> None:
        """Add the present counts' parameters to the average, or replace it if it is empty."""
        if not self.n_averaged:
            averages = self._psi, self._theta, self._omega, self._topic_sizes, self._tag_sizes, self._document_topics
            for values in averages:
                values[:] = 0
        self.n_averaged += 1
        counts, beta, share = self.sampler.counts, self.priors.beta, 1.0 / self.n_averaged
        totals = counts.topics + beta.sum()

        def add(rows: tuple[int, int]) -> None:
            words = slice(*rows)
            add_topic_words(self.sampler.word_topics(words), beta[words], totals, share, self._psi[words])

        self.sampler.map(add, cut_rows(len(self._psi), CHUNK_ROWS))
        theta, omega = self._tag_words()
        self._theta += share * (theta - self._theta)
        self._omega += share * (omega - self._omega)
        self._topic_sizes = self._topic_sizes + share * (counts.topics - self._topic_sizes)
        self._tag_sizes = self._tag_sizes + share * (counts.tags - self._tag_sizes)
        if self._tagged is not None and self._is_assigned:
            means = mean_topics_by_tag(self._tagged, self.sampler.tokens.topics, len(self._topic_sizes))
            self._document_topics += (share * (means - self._document_topics)).astype(self._psi.dtype)

    def _keep(self, draw: int, sweep: int) -> None:
        """Keep a draw (the first is 1) if it is one of ``n_draws``, evenly spread over the chain.

        psi and theta are drawn from their posterior, given the assignments: Dirichlet distributions.
        """
        settings = self.settings
        n_draws = (settings.max_iter - settings.burn_in) // settings.thinning
        if draw * settings.n_draws // n_draws == (draw - 1) * settings.n_draws // n_draws:
            return
        counts, rng = self.sampler.counts, np.random.default_rng([self.seed, sweep])
        psi, theta = self._draws.psi[self.n_kept], self._draws.theta[self.n_kept]
        for first, last in cut_rows(len(psi), CHUNK_ROWS):
            words = slice(first, last)
            psi[words] = rng.standard_gamma(self.sampler.word_topics(words) + self.priors.beta[words, None])
        psi /= np.maximum(psi.sum(axis=0, dtype=np.float64), TINY)
        for first, last in cut_rows(len(theta), CHUNK_ROWS):
            theta[first:last] = rng.standard_gamma(counts.tag_topics[first:last] + self.priors.alpha)
        theta += TINY  # of a tag without tokens and a small prior all may be zero
        topics = theta.sum(axis=1, dtype=np.float64)
        theta /= topics[:, None]
        if self.candidates is not None:
            tags = self.candidates.tags
            own = rng.standard_gamma(counts.tags_own + self.candidates.tokens)
            omega = rng.standard_gamma(counts.own_words + self.candidates.prior) + TINY
            totals = np.bincount(tags, weights=omega, minlength=len(theta))
            self._draws.omega[self.n_kept] = omega * (own / (topics + own) / np.maximum(totals, TINY))[tags]
        self.n_kept += 1

    def _tag_words(self) -> tuple[Float64s, Float64s]:
        """p(topic | tag) of all tags, and p(own word | tag) of all pairs, under the present counts."""
        counts, alpha, own_words = self.sampler.counts, self.priors.alpha, self.candidates
        totals = counts.tags + alpha.sum()
        if own_words is None:
            return np.asarray((counts.tag_topics + alpha) / totals[:, None]), np.empty(0)
        totals = totals + own_words.tokens
        by_tag = (counts.tags_own + own_words.tokens) / totals / (counts.tags_own + own_words.totals)
        omega = by_tag[own_words.tags] * (counts.own_words + own_words.prior)
        return np.asarray((counts.tag_topics + alpha) / totals[:, None]), np.asarray(omega)

    def _topics_of_tags(self) -> Float64s:
        """theta: the topics of a tag's words other than its own."""
        return self._theta if self.candidates is None else self._theta / self._theta.sum(axis=1, keepdims=True)

    def _note_switches(self) -> None:
        """Compare the topics of the present counts with the average."""
        if not self.n_averaged:
            return
        rows, beta = self._common_words, self.priors.beta[self._common_words, None]
        draw = (self.sampler.word_topics(rows) + beta) / (self.sampler.counts.topics + self.priors.beta.sum())
        self.switched |= switched_topics(self._psi[rows], draw)

    def _warn_of_switches(self) -> None:
        if self.switched.any():
            named = ", ".join(map(str, np.flatnonzero(self.switched)[:10]))
            warn(
                f"{int(self.switched.sum())} of {len(self.switched)} topics ({named}) changed places or content from "
                "draw to draw, and their averages mix what they were: a longer burn_in, or fewer topics, may help"
            )

    def _validate_draw(self, *, averaged: bool) -> None:
        """Score the validation words: under the present counts, from the first draw on under the averages."""
        held_out = self.validation
        if held_out is None or self.settings.patience is None:
            return
        if self.n_averaged and not averaged:
            self.history.perplexity.append(self.history.perplexity[-1])
            return
        posterior = self.sampler.document_counts(held_out.rows, self.parameters)
        theta, omega = self._tag_words()
        mixes = held_out.mixes_of(posterior, theta)
        own = held_out.own_probabilities(posterior, self._own_entries, omega)
        if self.n_averaged > 1:
            mixes = self._mixes + (mixes - self._mixes) / self.n_averaged
            own = self._own_probabilities + (own - self._own_probabilities) / self.n_averaged
        self._mixes, self._own_probabilities = mixes, own
        psi = self.snapshot.parameters.psi
        self.history.perplexity.append(held_out.perplexity_of(mixes.astype(psi.dtype), psi, self.sampler, own))

    def _has_settled(self) -> bool:
        """Whether the log probability of the tokens no longer drifts in the sweeps that were averaged over."""
        values = np.array(self.history.bound[self.settings.burn_in :])
        quarter = len(values) // 4
        if not quarter:
            return False
        last, before = values[-quarter:].mean(), values[-2 * quarter : -quarter].mean()
        return bool(abs(last - before) <= SETTLED * self.sampler.n_tokens)


def _counted_rows(n_documents: int) -> Int64s:
    """The documents whose counts the scale of the weights' prior is estimated from."""
    return np.unique(np.linspace(0, n_documents - 1, COUNTED_DOCUMENTS).astype(np.int64))


def spread_weights(pi: Float64s, tokens: Int64s, documents: Int64s) -> Float64s:
    """Return the weights' prior in proportion to the tags' mean tokens per document; its mean over documents stays.

    The mean of a tag is drawn towards that of all tags as if it had one more document.

    Parameters
    ----------
    pi : ndarray of shape (tags,)
        The prior.
    tokens, documents : ndarray of shape (tags,)
        Tokens that have the tag, and its documents.

    Returns
    -------
    ndarray of shape (tags,)

    Examples
    --------
    >>> spread_weights(np.full(2, 0.2), np.array([59, 0]), np.array([2, 3])).round(3).tolist()
    [0.399, 0.067]
    """
    total = max(float(documents.sum()), 1.0)
    mean = float(tokens.sum()) / total
    means = (tokens + mean) / (documents + 1.0)
    mean_pi, mean_tokens = float(pi @ documents) / total, float(means @ documents) / total
    if mean_pi <= 0 or mean_tokens <= 0:
        return pi
    return np.asarray(mean_pi * (EVEN_WEIGHT + (1 - EVEN_WEIGHT) * means / mean_tokens))


def mean_topics_by_tag(corpus: Corpus, topics: NDArray[np.uint16], n_topics: int) -> Float64s:
    """Return the mean share of each topic in the words of the documents with each tag.

    Own words of tags, whose topic is ``n_topics``, are left out.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    topics : ndarray of int
        The topic of each token of the corpus.
    n_topics : int
        The number of topics.

    Returns
    -------
    ndarray of shape (tags, topics)
        A row sums to 1, or is zero for a tag whose documents have no words but own ones.

    Examples
    --------
    >>> from tagtopic import Corpus
    >>> corpus = Corpus.from_counts([[1, 1], [2, 0]], [["t"], ["t", "u"]])
    >>> mean_topics_by_tag(corpus, np.array([0, 1, 1, 1], np.uint16), 2).tolist()
    [[0.25, 0.75], [0.0, 1.0]]
    """
    sums = np.zeros((corpus.n_tags, n_topics))
    starts = offsets_of(corpus.lengths())
    for first, last in cut_rows(len(corpus), max(BLOCK_DOCUMENTS, BLOCK_COUNTS // (n_topics + 1))):
        cells = np.repeat(np.arange(last - first, dtype=np.int32), np.diff(starts[first : last + 1]))
        cells *= n_topics + 1
        cells += topics[starts[first] : starts[last]]
        counts = np.bincount(cells, minlength=(last - first) * (n_topics + 1)).reshape(last - first, -1)[:, :n_topics]
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        add_topics_by_tag(corpus.tags[first:last], shares, sums)
    return np.asarray(sums / np.maximum(sums.sum(axis=1, keepdims=True), TINY))


def switched_topics(average: Floats, draw: Floats) -> NDArray[np.bool_]:
    """Return which topics (columns) of a draw are more like another topic's average than like their own.

    Parameters
    ----------
    average : ndarray of shape (words, topics)
        The average of earlier draws.
    draw : ndarray of shape (words, topics)
        A later draw.

    Returns
    -------
    ndarray of bool, of shape (topics,)

    Examples
    --------
    >>> topics = np.eye(3)
    >>> switched_topics(topics, topics[:, [1, 0, 2]]).tolist()
    [True, True, False]
    """
    with one_blas_thread():
        roots = (np.sqrt(values / np.maximum(values.sum(axis=0), 1e-300)) for values in (draw, average))
        one, other = roots
        similarity = one.T @ other
    return np.asarray(np.diag(similarity) < SWITCHED * similarity.max(axis=1))


@contextmanager
def gibbs_fit(
    model: TagTopicModel,
    corpus: CorpusLike,
    validation: ValidationWords | None,
    saved: SavedFit | None,
    engine: Engine | None,
) -> Iterator[Fit]:
    """Start a fit by Gibbs sampling on an engine."""
    seed = int(check_random_state(model.random_state).randint(2**31 - 1))
    default: Engine = corpus.engine if isinstance(corpus, RemoteCorpus) else LocalEngine(model.n_jobs)
    chosen, documents = engine or default, cast(Any, corpus)
    snapshot = saved.snapshot if saved else None
    parameters, priors = (snapshot.parameters, snapshot.priors) if snapshot else initial_parameters(model, corpus)
    candidates = chosen.own_word_candidates(documents) if uses_own_words(model, corpus) else None
    common = np.argsort(-corpus.word_counts(), kind="stable")[:COMPARED_WORDS]
    with chosen.sampler(documents, model.n_topics, candidates) as sampler:
        settings = fit_settings(model, corpus)
        tagged = corpus if isinstance(corpus, Corpus) else None
        counted = corpus[_counted_rows(len(corpus))] if np.isfinite(settings.least_weights).any() else None
        fit = GibbsSampling(
            sampler, parameters, priors, settings, seed, common, candidates, validation, tagged, counted
        )
        if saved is None:
            sampler.initialise(parameters, seed)
            del parameters
            fit.add_seeds()
        yield fit
