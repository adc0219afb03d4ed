"""From an estimator's settings and a corpus to where EM starts: parameters, priors, and which priors are learnt.

How priors are asked for, and when they are learnt.

A prior is given as a number or an array (fixed), as "estimate" (empirical Bayes under a hyper-prior) or as
"maximum-likelihood" (as in the paper: no hyper-prior, no smoothing).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from tagtopic._core.arrays import Float64s
from tagtopic.corpus.interface import CorpusLike
from tagtopic.corpus.tags import kinds_of
from tagtopic.inference.methods import method_of
from tagtopic.inference.priors.tag_weights import HyperPrior, TagKinds
from tagtopic.inference.priors.topic_words import log_occurrences
from tagtopic.inference.types import Parameters, Priors
from tagtopic.models._init import STARTS, start_topics, word_frequencies
from tagtopic.models._validation import check_validation

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel


ESTIMATE = "estimate"
MAXIMUM_LIKELIHOOD = "maximum-likelihood"

Prior = float | str | Any
"""A number, an array, "estimate" or "maximum-likelihood"."""


def is_learnt(prior: Prior) -> bool:
    """Whether the prior is learnt from the corpus rather than given."""
    return isinstance(prior, str)


def asks_for(word: str, prior: Prior) -> bool:
    """Whether the prior is this word (an array never is)."""
    return isinstance(prior, str) and prior == word


def check_prior(name: str, prior: Prior, *, size: int | None, learnable: bool = True, zero: bool = False) -> None:
    """Raise unless the prior is one of the things a prior may be; ``size`` is that of an array, None for any."""
    if isinstance(prior, str):
        allowed = (ESTIMATE, MAXIMUM_LIKELIHOOD) if learnable else (MAXIMUM_LIKELIHOOD,)
        if prior not in allowed:
            raise ValueError(f"{name}={prior!r}: expected a number, an array or one of {', '.join(map(repr, allowed))}")
        return
    values = np.asarray(prior, dtype=np.float64)
    if values.ndim > 1 or (values.ndim == 1 and size is not None and len(values) != size):
        raise ValueError(f"{name} has the shape {values.shape}: expected one number or {size} of them")
    wrong = ~np.isfinite(values) | (values < 0) | (values == 0 if not zero else False)
    if np.any(wrong):
        raise ValueError(f"{name} must be finite and {'not negative' if zero else 'positive'}")


def spread(prior: Prior, size: int, *, start: float) -> Float64s:
    """The prior as an array of ``size``: what was given, or ``start`` everywhere if it is to be learnt."""
    value = start if is_learnt(prior) else prior
    return np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (size,)))


def smoothed_shares(sizes: Float64s, extra: float) -> Float64s:
    """Shares of a whole, with ``extra`` added to each so that none is zero."""
    return np.asarray((sizes + extra) / (sizes + extra).sum())


@dataclass(frozen=True)
class Schedule:
    """When priors are learnt: at every ``every``-th iteration, the topics' shares from the first on, the Dirichlet
    priors of weights and latent topics only after ``warm_up`` iterations (too early they collapse).
    """

    warm_up: int = 20
    every: int = 10

    def due(self, iteration: int) -> bool:
        """Whether anything may be learnt after this iteration (the first is 1)."""
        return iteration % self.every == 0

    def warm(self, iteration: int) -> bool:
        """Whether the Dirichlet priors may be learnt after this iteration."""
        return iteration >= self.warm_up


BATCH, ONLINE = LEARNING = ("batch", "online")

START_TAG_WEIGHT = 1.0
START_LATENT_WEIGHT = 5.0
LATENT_TOPIC_TOKENS = 3.0
"""mu of all topics together: with more topics a document has no more of them."""
MOST_LATENT_TOPIC = 0.1
TAG_TOPIC_TOKENS = 2.0
TOPIC_WORD_SCALE = 0.07
GUIDING_SHARE, MOST_GUIDES = 0.05, 20_000
"""Documents half of whose words are held out to learn the words' prior from, if nobody says how many."""
HYPER_STRENGTH = 5.0


def check_settings(model: TagTopicModel, corpus: CorpusLike | None) -> None:
    """Raise, before anything is computed, for a setting that cannot be.

    Without a corpus arrays of priors may have any length: that of what they were first fitted to.
    """
    n_tags, n_words = (None, None) if corpus is None else (corpus.n_tags, corpus.n_words)
    method_of(model.inference)
    choices = {"init": STARTS, "dtype": ("float32", "float64"), "learning": LEARNING}
    for name, allowed in {**choices, "unknown_tags": ("ignore", "error")}.items():
        if getattr(model, name) not in allowed:
            raise ValueError(f"{name}={getattr(model, name)!r}: expected one of {', '.join(map(repr, allowed))}")
    for name in ("n_topics", "max_iter", "sweeps", "batch_size"):
        value = getattr(model, name)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name}={value!r}: expected a whole number from 1")
    if not model.tol >= 0:
        raise ValueError(f"tol={model.tol!r}: expected a number from 0")
    check_validation(model.validation_fraction, model.patience)
    check_prior("tag_weight_prior", model.tag_weight_prior, size=n_tags)
    check_prior("latent_weight_prior", model.latent_weight_prior, size=1)
    if model.latent_topic_prior is not None:
        check_prior("latent_topic_prior", model.latent_topic_prior, size=model.n_topics)
    check_prior("tag_topic_prior", model.tag_topic_prior, size=model.n_topics, zero=True)
    check_prior("topic_word_prior", model.topic_word_prior, size=n_words, zero=True)


def seed_of(model: TagTopicModel) -> int:
    """The model's seed where it is a number, else 0: for choices that a resumed fit must be able to repeat."""
    seed = model.random_state
    return int(seed) if isinstance(seed, int | np.integer) else 0


def held_out_share(model: TagTopicModel, corpus: CorpusLike) -> float | None:
    """The share of documents of which words are held out: what was asked for, or what learning beta takes."""
    guided = model.validation_fraction is None and asks_for(ESTIMATE, model.topic_word_prior)
    return min(GUIDING_SHARE, MOST_GUIDES / len(corpus)) if guided else model.validation_fraction


def em_settings(model: TagTopicModel, corpus: CorpusLike) -> EMSettings:
    """How long to iterate, and what is learnt on the way."""
    patience = None if model.validation_fraction is None else model.patience
    return EMSettings(model.max_iter, model.tol, model.sweeps, learning_of(model, corpus), patience)


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


def start_parameters(model: TagTopicModel, corpus: CorpusLike) -> tuple[Parameters, Priors]:
    """Topics from the start that was asked for, tags flat, priors as given or where their learning starts."""
    seed = check_random_state(model.random_state).randint(2**31 - 1)
    frequencies = word_frequencies(corpus)
    topics = start_topics(corpus, frequencies, model.n_topics, model.init, np.random.default_rng(seed), model.n_jobs)
    dtype = np.dtype(model.dtype)
    parameters = Parameters(
        psi=np.ascontiguousarray(topics, dtype),
        theta=np.full((corpus.n_tags, model.n_topics), 1.0 / model.n_topics, dtype),
        pi=spread(model.tag_weight_prior, corpus.n_tags, start=START_TAG_WEIGHT),
        pi_latent=float(spread(model.latent_weight_prior, 1, start=START_LATENT_WEIGHT)[0]),
        mu=_latent_topic_prior(model),
        latent=model._latent,
    )
    return parameters, Priors(_tag_topic_prior(model), topic_word_prior(model, frequencies))


def _latent_topic_prior(model: TagTopicModel) -> Float64s:
    """mu: a number is each topic's; by default, and where learning starts, all topics share the same few tokens."""
    default = min(MOST_LATENT_TOPIC, LATENT_TOPIC_TOKENS / model.n_topics)
    prior = default if model.latent_topic_prior is None else model.latent_topic_prior
    return spread(prior, model.n_topics, start=default)


def _tag_topic_prior(model: TagTopicModel) -> Float64s:
    """alpha: a number is the tokens that each tag begins with, spread over the topics; learnt as the topics' shares."""
    prior: Any = model.tag_topic_prior
    if asks_for(MAXIMUM_LIKELIHOOD, prior):
        return np.zeros(model.n_topics)
    if asks_for(ESTIMATE, prior):
        prior = TAG_TOPIC_TOKENS
    if np.ndim(prior) == 0:
        return np.full(model.n_topics, float(prior) / model.n_topics)
    return np.array(prior, np.float64)  # a copy: the model keeps it, whatever becomes of what was given


def topic_word_prior(model: TagTopicModel, frequencies: Float64s) -> Float64s:
    """beta: a number is the mean a word, spread by the words' frequencies in the corpus; learning starts so too."""
    prior: Any = model.topic_word_prior
    if asks_for(MAXIMUM_LIKELIHOOD, prior):
        return np.zeros(len(frequencies))
    if asks_for(ESTIMATE, prior):
        prior = TOPIC_WORD_SCALE
    if np.ndim(prior) == 0:
        return np.asarray(float(prior) * len(frequencies) * frequencies)
    return np.array(prior, np.float64)


def learning_of(model: TagTopicModel, corpus: CorpusLike, documents: Float64s | None = None) -> Learning:
    """Which priors the settings leave to be learnt; ``documents`` with each tag, if there are more than here."""
    n_tags = corpus.n_tags
    learnt = np.append(np.full(n_tags, is_learnt(model.tag_weight_prior)), is_learnt(model.latent_weight_prior))
    given = [asks_for(MAXIMUM_LIKELIHOOD, prior) for prior in (model.tag_weight_prior, model.latent_weight_prior)]
    strength = np.append(np.full(n_tags, 0.0 if given[0] else HYPER_STRENGTH), 0.0 if given[1] else HYPER_STRENGTH)
    centre = np.append(np.full(n_tags, START_TAG_WEIGHT), START_LATENT_WEIGHT)
    size = n_tags + int(model._latent)
    tokens = TAG_TOPIC_TOKENS if asks_for(ESTIMATE, model.tag_topic_prior) else model.tag_topic_prior
    spread_by_share = n_tags > 0 and not isinstance(tokens, str) and np.ndim(tokens) == 0
    learns_weights = n_tags > 0 and bool(learnt[:size].any())
    return Learning(
        weights=HyperPrior(strength[:size], centre[:size]) if learns_weights else None,
        kinds=_kinds(corpus, documents, latent=size > n_tags) if learns_weights else None,
        learnt_weights=learnt[:size],
        latent_topics=model._latent and is_learnt(model.latent_topic_prior),
        tag_topic_tokens=float(tokens) if spread_by_share else 0.0,
        occurrences=log_occurrences(corpus.word_counts()) if asks_for(ESTIMATE, model.topic_word_prior) else None,
    )


def _kinds(corpus: CorpusLike, documents: Float64s | None, *, latent: bool) -> TagKinds:
    """The tags' kinds, and last the latent tag's if there is one."""
    _, numbers = kinds_of(corpus.tag_names)
    sizes = np.asarray(corpus.tag_sizes() if documents is None else documents, np.float64)
    if latent:
        numbers, sizes = np.append(numbers, numbers.max() + 1), np.append(sizes, len(corpus))
    return TagKinds(numbers.astype(np.int32), sizes)


@dataclass(frozen=True)
class Learning:
    """Which priors are learnt, and how: None is not at all. ``occurrences`` are the words', as logarithms."""

    weights: HyperPrior | None = None
    kinds: TagKinds | None = None
    learnt_weights: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    latent_topics: bool = False
    tag_topic_tokens: float = 0.0
    occurrences: Float64s | None = None
    schedule: Schedule = field(default_factory=Schedule)

    @property
    def anything(self) -> bool:
        """Whether any prior is learnt."""
        return self.once_warm or self.tag_topic_tokens > 0

    @property
    def once_warm(self) -> bool:
        """Whether any prior is learnt after a warm-up only."""
        return self.weights is not None or self.latent_topics or self.occurrences is not None

    def hyper_prior_at(self, pi: Float64s) -> HyperPrior | None:
        """Return the hyper-prior of pi, centred by kind at the present pi."""
        if self.weights is None or self.kinds is None:
            return self.weights
        return self.weights.centred_by_kind(pi, self.kinds)


@dataclass(frozen=True)
class EMSettings:
    """How long, and how carefully. Without ``patience`` held-out words, if there are any, guide priors and no more."""

    max_iter: int
    tol: float
    sweeps: int
    learning: Learning
    patience: int | None = None
