"""From an estimator's settings and a corpus to initial parameters, priors, and which priors are learnt.

A prior is given as a number or an array (fixed), as "estimate" (empirical Bayes under a hyper-prior) or as
"maximum-likelihood" (as in the paper: no hyper-prior, no smoothing).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Floats, Int64s
from tagtopic._core.estimator import check_random_state
from tagtopic.corpus import Corpus
from tagtopic.corpus.interface import CorpusLike, RemoteCorpus
from tagtopic.corpus.tags import kinds_of
from tagtopic.inference.gibbs import MAX_TOPICS
from tagtopic.inference.methods import (
    AUTO,
    ESTIMATE,
    INITS,
    LEARNT,
    MAXIMUM_LIKELIHOOD,
    METHODS,
    InferenceMethod,
    method_of,
)
from tagtopic.inference.priors.tag_weights import HyperPrior, TagKinds
from tagtopic.inference.priors.topic_words import log_occurrences
from tagtopic.inference.types import Parameters, Priors
from tagtopic.models._guidance import SeedCounts, check_start, guided_topics, seed_counts
from tagtopic.models._init import initial_tags, initial_topics, smoothed_frequencies, word_frequencies
from tagtopic.models._validation import check_validation

if TYPE_CHECKING:
    from tagtopic.engines.base import Engine
    from tagtopic.models._base import TagTopicModel

BATCH, ONLINE = LEARNING = ("batch", "online")

Prior = float | str | Any
"""A number, an array, "estimate", "maximum-likelihood", or None for the inference method's default."""

INITIAL_TAG_WEIGHT = 1.0
INITIAL_LATENT_WEIGHT = 5.0
"""Values of the weight priors at which their estimation starts, and the centres of their hyper-priors."""

MIN_SAMPLED_TOKENS = 10_000
"""Words in all from which ``inference="auto"`` samples."""

MAX_SAMPLED_COUNT = 2**31 - 1
"""The largest count of a word or a tag in a topic: the sampler's counts have 32 bits."""

WEIGHT_PRIORS = ("tag_weight_prior", "latent_weight_prior")
"""The settings of the weights' priors, which a sampler can estimate."""

MIN_PRIOR, MAX_PRIOR = 1e-10, 1e10
"""The range of given priors: beyond it the arithmetic of single precision under- or overflows."""

HYPER_PRIOR_STRENGTH = 5.0
"""Pseudo-documents of the weight priors' hyper-prior."""

LATENT_TOPIC_TOKENS = 3.0
"""The sum of mu over the topics: with more topics a document does not have more of them."""

LATENT_PRIOR_DOCUMENTS = 3.0
"""Documents with mu's topics that each tag counts as having beside its own, where mu follows a document's tags."""

MAX_LATENT_TOPIC_PRIOR = 0.1
TAG_TOPIC_TOKENS = 2.0
TOPIC_WORD_SCALE = 0.07

MANY_TOPICS, WORD_PRIOR_DECAY = 50, 0.4
"""A sampler's default prior of a topic's words is for this many topics and fewer. It falls with this power of a larger
number, by which each topic has fewer words, and the prior would be too large a part of them."""

PRIOR_VALIDATION_FRACTION, MAX_PRIOR_VALIDATION_DOCUMENTS = 0.05, 20_000
"""Documents half of whose words are held out to estimate the words' prior, if ``validation_fraction`` is None."""


@dataclass(frozen=True)
class Schedule:
    """When priors are learnt: every ``every`` iterations.

    alpha follows the topics' shares from the first time on; the Dirichlet priors of weights and latent topics are
    learnt after ``warm_up`` iterations only, because too early they collapse.
    """

    warm_up: int = 20
    every: int = 10

    def due(self, iteration: int) -> bool:
        """Whether any prior may be learnt after this iteration (the first is 1)."""
        return iteration % self.every == 0

    def warm(self, iteration: int) -> bool:
        """Whether the Dirichlet priors may be learnt after this iteration."""
        return iteration >= self.warm_up


@dataclass(frozen=True)
class PriorLearning:
    """Which priors are learnt, and how.

    Parameters
    ----------
    weights : HyperPrior or None
        The hyper-prior of the tag weights' prior; None if that is fixed.
    kinds : TagKinds or None
        The tags' kinds: the prior of a rare tag is drawn to that of its kind.
    learnt_weights : array of bool
        For each tag, and the latent one if there is one, whether its weight prior is learnt.
    latent_topics : bool
        Whether mu is learnt.
    tag_topic_tokens : float
        The sum of alpha, which is spread by the topics' shares; 0 if alpha is fixed.
    occurrences : array or None
        Logarithms of the words' counts, from which beta is learnt; None if beta is fixed.
    schedule : Schedule
        When.
    """

    weights: HyperPrior | None = None
    kinds: TagKinds | None = None
    learnt_weights: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    latent_topics: bool = False
    tag_topic_tokens: float = 0.0
    occurrences: Float64s | None = None
    schedule: Schedule = field(default_factory=Schedule)

    @property
    def any_learnt(self) -> bool:
        """Whether any prior is learnt."""
        return self.needs_warm_up or self.tag_topic_tokens > 0

    @property
    def raises_bound(self) -> bool:
        """Whether every update maximises the bound of the fit: those of pi and mu without a hyper-prior do."""
        weights = self.weights is None or not np.any(np.asarray(self.weights.strength)[self.learnt_weights])
        return weights and self.tag_topic_tokens == 0 and self.occurrences is None

    @property
    def needs_warm_up(self) -> bool:
        """Whether any prior is learnt that has to wait for the warm-up."""
        return self.weights is not None or self.latent_topics or self.occurrences is not None

    def hyper_prior_at(self, pi: Float64s) -> HyperPrior | None:
        """The hyper-prior of pi, centred by kind at the present pi."""
        if self.weights is None or self.kinds is None:
            return self.weights
        return self.weights.centred_by_kind(pi, self.kinds)


@dataclass(frozen=True)
class FitSettings:
    """Iterations, tolerance, sweeps and priors of a fit.

    An E-step updates a document ``sweeps`` times, or until its topic mix changes by at most ``sweep_tol``.
    Without ``patience`` validation words, if there are any, only serve to estimate priors. After ``burn_in`` sweeps, a
    sampler averages over every ``thinning``-th, and keeps ``n_draws`` of these draws. During burn-in it may
    spread mu by the topics of the latent tag, and pi by the tags' tokens per document, given ``tag_documents``, and
    estimate the mean of pi and pi_latent, where ``least_weights`` are their finite bounds.
    """

    max_iter: int
    tol: float
    sweeps: int
    learning: PriorLearning
    sweep_tol: float = 0.0
    patience: int | None = None
    burn_in: int = 0
    thinning: int = 1
    n_draws: int = 0
    spread_latent_topics: bool = False
    tag_documents: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    least_weights: tuple[float, float] = (np.inf, np.inf)
    seeds: SeedCounts | None = None
    summary: str = ""
    """The settings on which under- and overflow depend, for an error message."""


def setting(model: TagTopicModel, name: str) -> Any:
    """A setting as given, or the inference method's default if it is None."""
    given = getattr(model, name)
    return getattr(model._method.defaults, name) if given is None else given


def choose_method(model: TagTopicModel, corpus: CorpusLike, engine: Engine | None) -> InferenceMethod:
    """The inference method of a fit: as given, or chosen for "auto".

    That is the sampler where it can run, "map" for small corpora, where averages over draws predict worse, and CVB0
    elsewhere. A setting that only the sampler has, ``own_words=True`` or ``n_draws``, is a reason to choose it.
    """
    if not is_option(AUTO, model.inference):
        return method_of(model.inference)
    if model.own_words or model.n_draws:
        return METHODS["gibbs"]
    if model.learning != BATCH:
        return METHODS["cvb0"]
    if corpus.n_tokens < MIN_SAMPLED_TOKENS:
        return METHODS["map"]
    return METHODS["gibbs" if _can_sample(model, corpus, engine) else "cvb0"]


def _can_sample(model: TagTopicModel, corpus: CorpusLike, engine: Engine | None) -> bool:
    _check_whole("n_topics", model.n_topics, least=1)
    chosen = engine or (corpus.engine if isinstance(corpus, RemoteCorpus) else None)
    return (
        (chosen is None or chosen.supports_sampling)
        and not (isinstance(corpus, Corpus) and corpus.counts.data.dtype.kind not in "iu")
        and _most_tokens(corpus) <= MAX_SAMPLED_COUNT
        and model.n_topics <= MAX_TOPICS
        and all(prior is None or _is_positive(prior) for prior in _given_priors(model).values())
    )


def _most_tokens(corpus: CorpusLike) -> int:
    """An upper bound of the tokens of any word, and of those in the documents of any tag."""
    if corpus.n_tokens <= MAX_SAMPLED_COUNT or not isinstance(corpus, Corpus):
        return corpus.n_tokens
    by_tag = corpus.tags.T @ corpus.lengths().astype(np.float64)
    return int(max(corpus.word_counts().max(), by_tag.max(initial=0.0)))


def _is_positive(prior: Prior) -> bool:
    """Whether the prior is given as numbers, none of them 0."""
    return not is_learnt(prior) and bool(np.all(np.asarray(prior) != 0))


def is_learnt(prior: Prior) -> bool:
    """Whether the prior is learnt from the corpus rather than given."""
    return isinstance(prior, str)


def is_option(word: str, prior: Prior) -> bool:
    """Whether the prior is given as this word (an array is not)."""
    return isinstance(prior, str) and prior == word


def check_prior(name: str, prior: Prior, *, size: int | None, learnable: bool = True, zero: bool = False) -> None:
    """Raise unless the prior is valid; an array has the length ``size``, or any if that is None."""
    if isinstance(prior, str):
        allowed = LEARNT if learnable else (MAXIMUM_LIKELIHOOD,)
        if prior not in allowed:
            raise ValueError(f"{name}={prior!r}: expected a number, an array or one of {', '.join(map(repr, allowed))}")
        return
    values = np.asarray(prior, dtype=np.float64)
    if values.ndim > 1 or (values.ndim == 1 and size is not None and len(values) != size):
        raise ValueError(f"{name} has the shape {values.shape}: expected one number or {size} of them")
    wrong = ~np.isfinite(values) | (values < 0) | (values == 0 if not zero else False)
    if np.any(wrong):
        raise ValueError(f"{name} must be finite and {'not negative' if zero else 'positive'}")
    wrong = (values > MAX_PRIOR) | ((values < MIN_PRIOR) & (values > 0))
    if np.any(wrong):
        found = values if values.ndim == 0 else values[wrong][0]
        raise ValueError(f"{name} has the value {found:g}: expected numbers from {MIN_PRIOR:g} to {MAX_PRIOR:g}")


def check_settings(model: TagTopicModel, corpus: CorpusLike | None) -> None:
    """Raise for an invalid setting, before anything is computed.

    Without a corpus, arrays of priors may have any length: they have that of the first fit.
    """
    n_tags, n_words = (None, None) if corpus is None else (corpus.n_tags, corpus.n_words)
    if not is_option(AUTO, model.inference):
        method_of(model.inference)
    choices = {"init": INITS, "dtype": ("float32", "float64"), "learning": LEARNING}
    for name, allowed in {**choices, "unknown_tags": ("ignore", "error")}.items():
        if getattr(model, name) not in allowed:
            raise ValueError(f"{name}={getattr(model, name)!r}: expected one of {', '.join(map(repr, allowed))}")
    _check_whole("max_iter", setting(model, "max_iter"), least=1)
    for name in ("n_topics", "sweeps", "batch_size", "thinning", "prior_every"):
        _check_whole(name, getattr(model, name), least=1)
    if model.burn_in is not None:
        _check_whole("burn_in", model.burn_in, least=0)
    _check_whole("n_draws", model.n_draws, least=0)
    _check_whole("prior_warm_up", model.prior_warm_up, least=0)
    check_start(model)
    for name in ("tol", "sweep_tol"):
        if not getattr(model, name) >= 0:
            raise ValueError(f"{name}={getattr(model, name)!r}: expected a number from 0")
    check_validation(model.validation_fraction, model.patience)
    check_prior("tag_weight_prior", setting(model, "tag_weight_prior"), size=n_tags)
    check_prior("latent_weight_prior", setting(model, "latent_weight_prior"), size=1)
    if model.latent_topic_prior is not None:
        check_prior("latent_topic_prior", model.latent_topic_prior, size=model.n_topics)
    check_prior("tag_topic_prior", model.tag_topic_prior, size=model.n_topics, zero=True)
    check_prior("topic_word_prior", setting(model, "topic_word_prior"), size=n_words, zero=True)
    if model._method.is_sampling and model.learning == BATCH:
        _check_sampling(model, corpus)
    elif model.own_words:
        raise ValueError('own_words=True: only inference="gibbs" with learning="batch" learns words of tags\' own')
    if corpus is not None:
        check_memory(model.n_topics, corpus.n_words + corpus.n_tags, np.dtype(model.dtype).itemsize)


def check_memory(n_topics: int, n_rows: int, itemsize: int, *, memory: float | None = None) -> None:
    """Raise if the topics of ``n_rows`` words and tags do not fit into memory, by default this machine's.

    A fit has two copies: parameters and sufficient statistics.
    """
    if memory is None:
        known = hasattr(os, "sysconf") and {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= os.sysconf_names.keys()
        memory = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")) if known else np.inf
    needed = 2.0 * n_topics * n_rows * itemsize
    if needed > memory:
        raise ValueError(
            f"n_topics={n_topics}: topics over {n_rows:,} words and tags need {needed / 1e9:,.1f} GB of memory, and "
            f"this machine has {memory / 1e9:,.1f} GB: choose fewer topics"
        )


def _check_whole(name: str, value: Any, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name}={value!r}: expected a whole number from {least}")


def _check_sampling(model: TagTopicModel, corpus: CorpusLike | None) -> None:
    """Raise for a setting or a corpus that a sampler cannot use."""
    if corpus is not None and (most := _most_tokens(corpus)) > MAX_SAMPLED_COUNT:
        raise ValueError(
            f'inference="gibbs" counts at most {MAX_SAMPLED_COUNT:,} tokens of a word or a tag, and the corpus may '
            f'have {most:,}: use inference="cvb0"'
        )
    for name, prior in _given_priors(model).items():
        if is_learnt(prior) and not (is_option(ESTIMATE, prior) and name in WEIGHT_PRIORS):
            raise ValueError(
                f'{name}={prior!r}: inference="gibbs" takes fixed priors (numbers, arrays, or None for its defaults); '
                f'of {" and ".join(WEIGHT_PRIORS)} it takes "estimate" too'
            )
        if prior is not None and not is_learnt(prior) and np.min(prior) == 0:
            raise ValueError(f'{name} has zeros: inference="gibbs" needs positive priors')
    if model.n_topics > MAX_TOPICS:
        raise ValueError(f'n_topics={model.n_topics}: inference="gibbs" has at most {MAX_TOPICS}')
    max_iter = setting(model, "max_iter")
    if model.burn_in is not None and model.burn_in >= max_iter:
        raise ValueError(
            f"burn_in={model.burn_in}: expected fewer sweeps than max_iter={max_iter}, for there to be a draw"
        )
    n_draws = _draws_of_chain(model)
    if model.n_draws > n_draws:
        raise ValueError(
            f"n_draws={model.n_draws}: max_iter={max_iter} sweeps with thinning={model.thinning} give {n_draws} "
            "draws after burn-in"
        )


def _given_priors(model: TagTopicModel) -> dict[str, Prior]:
    """The settings of priors that the model uses."""
    names = ["latent_weight_prior", "latent_topic_prior", "topic_word_prior"]
    names += ["tag_weight_prior", "tag_topic_prior"] if model._uses_tags else []
    return {name: getattr(model, name) for name in names}


def uses_own_words(model: TagTopicModel, corpus: CorpusLike) -> bool:
    """Whether the tags of a corpus get words of their own."""
    return model.own_words is not False and corpus.n_tags > 0


def _schedule(model: TagTopicModel) -> tuple[int, int]:
    """Burn-in and thinning; every chain has at least one draw, its last."""
    max_iter = setting(model, "max_iter")
    burn_in = max_iter // 2 if model.burn_in is None else model.burn_in
    return burn_in, max(1, min(model.thinning, max_iter - burn_in))


def _draws_of_chain(model: TagTopicModel) -> int:
    burn_in, thinning = _schedule(model)
    return int((setting(model, "max_iter") - burn_in) // thinning)


def require_tags(corpus: CorpusLike) -> None:
    """Raise if any document has no tags, naming the first few."""
    untagged = np.flatnonzero(corpus.document_sizes()[1] == 0)
    if len(untagged):
        shown = ", ".join(map(repr, corpus[untagged[:5]].ids))
        more = ", …" if len(untagged) > 5 else ""
        raise ValueError(
            f"TWTM needs a tag on every document, and {len(untagged)} of {len(corpus)} have none ({shown}{more}): "
            "use TWDA, which learns from untagged documents too, or leave them out"
        )


def seed_of(model: TagTopicModel) -> int:
    """The model's seed if it is a number, else 0: for choices that a resumed fit must repeat."""
    seed = model.random_state
    return int(seed) if isinstance(seed, int | np.integer) else 0


def validation_share(model: TagTopicModel, corpus: CorpusLike) -> float | None:
    """The share of documents with held-out words: ``validation_fraction``, or what the estimation of beta needs."""
    estimated = model.validation_fraction is None and is_option(ESTIMATE, setting(model, "topic_word_prior"))
    default = min(PRIOR_VALIDATION_FRACTION, MAX_PRIOR_VALIDATION_DOCUMENTS / len(corpus))
    return default if estimated else model.validation_fraction


def fit_settings(model: TagTopicModel, corpus: CorpusLike) -> FitSettings:
    """The settings of a fit of this corpus."""
    patience = None if model.validation_fraction is None else model.patience
    burn_in, thinning = _schedule(model)
    learning = prior_learning(model, corpus)
    return FitSettings(
        max_iter=setting(model, "max_iter"),
        tol=model.tol,
        sweeps=model.sweeps,
        sweep_tol=model.sweep_tol,
        learning=learning,
        patience=patience,
        burn_in=burn_in,
        thinning=thinning,
        n_draws=int(model.n_draws),
        spread_latent_topics=model._latent and model.latent_topic_prior is None,
        tag_documents=_tag_documents(model, corpus),
        least_weights=_least_weights(model),
        seeds=seed_counts(model, corpus),
        summary=_summary(model),
    )


def _tag_documents(model: TagTopicModel, corpus: CorpusLike) -> Int64s:
    """The number of documents of each tag if a sampler spreads the prior of their weights, else nothing."""
    is_free = model.tag_weight_prior is None or is_option(ESTIMATE, model.tag_weight_prior)
    spreads = model._method.is_sampling and model._uses_tags and is_free
    return np.asarray(corpus.tag_sizes(), np.int64) if spreads else np.empty(0, np.int64)


def _least_weights(model: TagTopicModel) -> tuple[float, float]:
    """The least mean of pi and the least pi_latent where a sampler estimates them, else infinity: the defaults."""
    if not model._method.is_sampling:
        return np.inf, np.inf
    defaults = model._method.defaults
    tag, latent = (is_option(ESTIMATE, getattr(model, name)) for name in WEIGHT_PRIORS)
    tag, latent = tag and model._uses_tags, latent and model._latent
    return (
        defaults.tag_weight_prior if tag else np.inf,
        defaults.latent_weight_prior if latent else np.inf,
    )


def _summary(model: TagTopicModel) -> str:
    """The settings on which under- and overflow depend."""
    priors = ("tag_weight_prior", "latent_weight_prior", "latent_topic_prior", "tag_topic_prior", "topic_word_prior")
    given = {name: getattr(model, name) for name in priors}
    shown = {"inference": model._method.name, "n_topics": model.n_topics, "dtype": str(model.dtype)}
    shown |= {name: value for name, value in given.items() if isinstance(value, int | float)}
    return ", ".join(f"{name}={value!r}" for name, value in shown.items())


def initial_parameters(model: TagTopicModel, corpus: CorpusLike) -> tuple[Parameters, Priors]:
    """Initial topics and tags, and priors as given or at the values where their estimation starts."""
    seed = check_random_state(model.random_state).randint(2**31 - 1)
    frequencies = word_frequencies(corpus)
    init, generator = model.init, np.random.default_rng(seed)

    def find() -> Floats:
        return initial_topics(corpus, frequencies, model.n_topics, init, generator, model.n_jobs)

    is_guided = model.initial is not None or bool(model._seeds or model._named)
    topics = guided_topics(model, corpus, frequencies, find) if is_guided else find()
    dtype = np.dtype(model.dtype)
    tag_prior, latent_prior = setting(model, "tag_weight_prior"), setting(model, "latent_weight_prior")
    if model._method.is_sampling and model.learning == BATCH:  # it estimates them from its defaults on
        defaults = model._method.defaults
        tag_prior = defaults.tag_weight_prior if is_learnt(tag_prior) else tag_prior
        latent_prior = defaults.latent_weight_prior if is_learnt(latent_prior) else latent_prior
    latent_start = INITIAL_TAG_WEIGHT if is_option(MAXIMUM_LIKELIHOOD, latent_prior) else INITIAL_LATENT_WEIGHT
    parameters = Parameters(
        psi=np.ascontiguousarray(topics, dtype),
        theta=initial_tags(corpus.n_tags, model.n_topics, init, generator).astype(dtype),
        pi=prior_array(tag_prior, corpus.n_tags, initial=INITIAL_TAG_WEIGHT),
        pi_latent=float(prior_array(latent_prior, 1, initial=latent_start)[0]),
        mu=_latent_topic_prior(model),
        latent=model._latent,
    )
    return parameters, Priors(_tag_topic_prior(model), topic_word_prior(model, corpus.word_counts()))


def prior_array(prior: Prior, size: int, *, initial: float) -> Float64s:
    """The prior as an array of ``size``: as given, or ``initial`` everywhere if it is to be learnt."""
    value = initial if is_learnt(prior) else prior
    return np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (size,)))


def smoothed_shares(sizes: Float64s, extra: float) -> Float64s:
    """Shares of a whole, with ``extra`` added to each size."""
    return np.asarray((sizes + extra) / (sizes + extra).sum())


def _latent_topic_prior(model: TagTopicModel) -> Float64s:
    """mu: a number is each topic's; by default, and where estimation starts, all topics share a few tokens."""
    default = min(MAX_LATENT_TOPIC_PRIOR, LATENT_TOPIC_TOKENS / model.n_topics)
    prior = default if model.latent_topic_prior is None else model.latent_topic_prior
    return prior_array(prior, model.n_topics, initial=default)


def _tag_topic_prior(model: TagTopicModel) -> Float64s:
    """alpha: a number is the prior tokens of each tag, spread over the topics."""
    prior: Any = model.tag_topic_prior
    if is_option(MAXIMUM_LIKELIHOOD, prior):
        return np.zeros(model.n_topics)
    if is_option(ESTIMATE, prior):
        prior = TAG_TOPIC_TOKENS
    if np.ndim(prior) == 0:
        return np.full(model.n_topics, float(prior) / model.n_topics)
    return np.array(prior, np.float64)  # a copy: the caller may change the array


def topic_word_prior(model: TagTopicModel, counts: Float64s) -> Float64s:
    """beta: a number is the mean per word, spread by the words' frequencies, also where its estimation starts.

    For a sampler it is that of each word that occurs: spread by frequency, topics share their frequent words. A word
    that does not occur in training (it may be in the vocabulary of a larger corpus) has next to nothing, or such
    words would take most of the topics of a small corpus.
    """
    frequencies = smoothed_frequencies(counts)
    prior: Any = setting(model, "topic_word_prior")
    if is_option(MAXIMUM_LIKELIHOOD, prior):
        return np.zeros(len(frequencies))
    if is_option(ESTIMATE, prior):
        prior = TOPIC_WORD_SCALE
    if np.ndim(prior) == 0:
        spread_evenly = model.learning == BATCH and model._method.is_sampling
        if spread_evenly and model.topic_word_prior is None:
            prior *= min(1.0, (MANY_TOPICS / model.n_topics) ** WORD_PRIOR_DECAY)
        by_frequency = float(prior) * len(frequencies) * frequencies
        return np.where(counts > 0, float(prior), by_frequency) if spread_evenly else np.asarray(by_frequency)
    return np.array(prior, np.float64)


def prior_learning(model: TagTopicModel, corpus: CorpusLike, documents: Float64s | None = None) -> PriorLearning:
    """Which priors the settings leave to be learnt.

    ``documents`` is the number of documents with each tag, if the corpus is only a part of them.
    """
    n_tags = corpus.n_tags
    tag_prior, latent_prior = setting(model, "tag_weight_prior"), setting(model, "latent_weight_prior")
    learnt = np.append(np.full(n_tags, is_learnt(tag_prior)), is_learnt(latent_prior))
    tag_strength, latent_strength = (
        0.0 if is_option(MAXIMUM_LIKELIHOOD, prior) else HYPER_PRIOR_STRENGTH for prior in (tag_prior, latent_prior)
    )
    strength = np.append(np.full(n_tags, tag_strength), latent_strength)
    centre = np.append(np.full(n_tags, INITIAL_TAG_WEIGHT), INITIAL_LATENT_WEIGHT)
    size, word_prior = n_tags + int(model._latent), setting(model, "topic_word_prior")
    tokens = TAG_TOPIC_TOKENS if is_option(ESTIMATE, model.tag_topic_prior) else model.tag_topic_prior
    spread_by_share = n_tags > 0 and not isinstance(tokens, str) and np.ndim(tokens) == 0
    learns_weights = n_tags > 0 and bool(learnt[:size].any())
    return PriorLearning(
        weights=HyperPrior(strength[:size], centre[:size]) if learns_weights else None,
        kinds=_kinds(corpus, documents, latent=size > n_tags) if learns_weights else None,
        learnt_weights=learnt[:size],
        latent_topics=model._latent and is_learnt(model.latent_topic_prior),
        tag_topic_tokens=float(tokens) if spread_by_share else 0.0,
        occurrences=log_occurrences(corpus.word_counts()) if is_option(ESTIMATE, word_prior) else None,
        schedule=Schedule(model.prior_warm_up, model.prior_every),
    )


def _kinds(corpus: CorpusLike, documents: Float64s | None, *, latent: bool) -> TagKinds:
    """The tags' kinds, and last the latent tag's if there is one."""
    _, numbers = kinds_of(corpus.tag_names)
    sizes = np.asarray(corpus.tag_sizes() if documents is None else documents, np.float64)
    if latent:
        numbers, sizes = np.append(numbers, numbers.max() + 1), np.append(sizes, len(corpus))
    return TagKinds(numbers.astype(np.int32), sizes)
