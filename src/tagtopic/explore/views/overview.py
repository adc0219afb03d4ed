"""The overview: size, quality, fit history and topics of a model."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagtopic.corpus.splits import split_tokens
from tagtopic.evaluation import diversity, perplexity
from tagtopic.explore.views.items import TagValue, numbered_tags
from tagtopic.inference.methods import METHODS
from tagtopic.models.plotting import TopicCircle, topic_map

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.explore.explorer import Explorer
    from tagtopic.models._base import TagTopicModel


SAMPLE_SIZE = 500
"""Documents that quality is measured on, evenly spaced in the corpus: enough for two significant digits."""


@dataclass(frozen=True)
class Quality:
    """Document completion: how well the model predicts half of each document's words from the other half and its tags.

    ``perplexity`` is the effective number of equally likely words, ``by_frequency`` the perplexity of the unigram
    distribution, ``explained_by_tags`` the share of all words that is explained by tags.
    """

    perplexity: float
    by_frequency: float
    explained_by_tags: float
    documents: int


def measure_quality(model: TagTopicModel, corpus: Corpus) -> Quality | None:
    """Measure document completion on a sample; None if no document has two words."""
    if not len(corpus):
        return None
    sample = corpus[np.unique(np.linspace(0, len(corpus) - 1, min(SAMPLE_SIZE, len(corpus))).astype(np.int64))]
    try:
        completion = perplexity(model, sample)
    except ValueError:  # no document has words left to score
        return None
    _, latent = model.tag_weights(sample, return_latent=True)
    lengths = np.asarray(sample.lengths(), np.float64)
    return Quality(
        perplexity=completion.value,
        by_frequency=_unigram_perplexity(model, sample),
        explained_by_tags=1.0 - float(np.asarray(latent, np.float64) @ lengths / lengths.sum()),
        documents=len(sample) - completion.skipped_documents,
    )


def _unigram_perplexity(model: TagTopicModel, corpus: Corpus) -> float:
    """The perplexity of the same held-out words under the unigram distribution of the training words."""
    observed, scored = split_tokens(corpus)
    used = np.repeat(np.diff(observed.indptr) > 0, np.diff(scored.indptr))
    counts = np.asarray(model.word_counts_, np.float64) + 0.5
    logs = np.log(counts / counts.sum())[scored.indices[used]]
    values = scored.data[used].astype(np.float64)
    return math.exp(-float(values @ logs) / float(values.sum()))


@dataclass(frozen=True)
class TopicSummary:
    """A topic in the list of topics."""

    topic: int
    share: float
    words: tuple[str, ...]
    tags: tuple[TagValue, ...]
    name: str = ""


@dataclass(frozen=True)
class FitCurve:
    """The history of a fit: objective by iteration, iterations of prior updates, held-out perplexity if measured.

    The objective is comparable from iteration ``comparable_from`` on: the first iteration of a "cvb0" fit has no
    counts of the token itself to subtract.
    """

    bound: tuple[float, ...]
    prior_updates: tuple[int, ...]
    held_out: tuple[tuple[int, float], ...]
    comparable_from: int


@dataclass(frozen=True)
class TagKind:
    """A kind of tag and its number of tags; "" for tags without a kind."""

    kind: str
    tags: int


@dataclass(frozen=True)
class Overview:
    """A summary of a model; ``diversity`` is the share of distinct words among the 25 most probable of all topics."""

    name: str
    kind: str
    inference: str
    n_topics: int
    n_words: int
    n_tags: int
    n_documents: int | None
    training_words: int
    iterations: int
    converged: bool
    diversity: float
    quality: Quality | None
    curve: FitCurve
    kinds: tuple[TagKind, ...]
    topics: tuple[TopicSummary, ...]
    map: tuple[TopicCircle, ...]


def overview(explorer: Explorer, n_words: int = 8, n_tags: int = 4) -> Overview:
    """Summarise the model; quality is measured only if there are documents."""
    model, corpus = explorer.model, explorer.corpus
    counts = Counter(kind if colon else "" for kind, colon, _ in (tag.partition(":") for tag in model.tag_names_))
    return Overview(
        name=explorer.name,
        kind=type(model).__name__,
        inference=model.inference_,
        n_topics=len(model.components_),
        n_words=len(model.words_),
        n_tags=len(model.tag_names_),
        n_documents=None if corpus is None else len(corpus),
        training_words=int(model.word_counts_.sum()),
        iterations=int(model.n_iter_),
        converged=bool(model.converged_),
        diversity=diversity(model.components_),
        quality=explorer.quality,
        curve=fit_curve(model),
        kinds=tuple(TagKind(kind, n) for kind, n in counts.most_common()),
        topics=topic_summaries(explorer, n_words, n_tags),
        map=tuple(
            circle
            for circle in topic_map(explorer.topic_similarity, model.topic_shares_)
            if circle.topic not in model.hidden_topics_
        ),
    )


def topic_summaries(explorer: Explorer, n_words: int = 8, n_tags: int = 4) -> tuple[TopicSummary, ...]:
    """All topics that are not hidden, largest first."""
    model = explorer.model
    shares = np.asarray(model.topic_shares_, np.float64)
    return tuple(
        TopicSummary(
            topic=int(k),
            share=float(shares[k]),
            words=tuple(word for word, _ in model.top_words(int(k), n_words)),
            tags=numbered_tags(explorer, model.top_tags(int(k), n_tags)),
            name=model.topic_names_[k],
        )
        for k in np.argsort(-shares, kind="stable")
        if k not in model.hidden_topics_
    )


def fit_curve(model: TagTopicModel) -> FitCurve:
    """The history of the fit."""
    return FitCurve(
        bound=tuple(float(value) for value in model.bound_),
        prior_updates=tuple(int(iteration) for iteration in model.prior_updates_),
        held_out=_held_out_perplexity(model),
        comparable_from=2 if METHODS[model.inference_].is_leave_one_out else 1,
    )


def _held_out_perplexity(model: TagTopicModel) -> tuple[tuple[int, float], ...]:
    """Perplexity of the validation words by iteration, from 1; empty if the fit had none."""
    values = model.history_.get("perplexity", ())
    return tuple((iteration, float(value)) for iteration, value in enumerate(values, 1))
