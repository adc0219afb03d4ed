"""The overview: how large, how good, and which topics.

How well a model tells the words of documents.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagtopic.corpus.splits import split_tokens
from tagtopic.evaluation.coherence import diversity
from tagtopic.evaluation.perplexity import perplexity
from tagtopic.explore.views.parts import TagValue, with_numbers
from tagtopic.inference.methods import method_of
from tagtopic.models.topic_map import TopicCircle, topic_map

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.explore.explorer import Explorer
    from tagtopic.models._base import TagTopicModel


SAMPLE = 500
"""Documents on which quality is measured, evenly spread: enough for two digits, and quick for any corpus."""


@dataclass(frozen=True)
class Quality:
    """How well half of each document's words tell the other half.

    ``perplexity`` is how many words the model hesitates between, ``by_frequency`` how many one would who knows only how
    often words are used; ``explained_by_tags`` is the share of all words that tags account for.
    """

    perplexity: float
    by_frequency: float
    explained_by_tags: float
    documents: int


def quality(model: TagTopicModel, corpus: Corpus) -> Quality | None:
    """Document completion on a sample; None if no document has two words."""
    if not len(corpus):
        return None
    sample = corpus[np.unique(np.linspace(0, len(corpus) - 1, min(SAMPLE, len(corpus))).astype(np.int64))]
    try:
        found = perplexity(model, sample)
    except ValueError:  # no document has words left to score
        return None
    _, latent = model.tag_weights(sample, return_latent=True)
    lengths = np.asarray(sample.lengths(), np.float64)
    return Quality(
        perplexity=found.value,
        by_frequency=_by_frequency(model, sample),
        explained_by_tags=1.0 - float(np.asarray(latent, np.float64) @ lengths / lengths.sum()),
        documents=len(sample) - found.skipped_documents,
    )


def _by_frequency(model: TagTopicModel, corpus: Corpus) -> float:
    """The perplexity of the same half words for someone who knows only how often words are used."""
    observed, scored = split_tokens(corpus)
    used = np.repeat(np.diff(observed.indptr) > 0, np.diff(scored.indptr))
    counts = np.asarray(model.word_counts_, np.float64) + 0.5
    logs = np.log(counts / counts.sum())[scored.indices[used]]
    values = scored.data[used].astype(np.float64)
    return math.exp(-float(values @ logs) / float(values.sum()))


@dataclass(frozen=True)
class TopicSummary:
    """A topic in a list."""

    topic: int
    share: float
    words: tuple[str, ...]
    tags: tuple[TagValue, ...]


@dataclass(frozen=True)
class Curve:
    """What the fit maximised, by iteration; after which iterations priors were learnt; held-out perplexity if any.

    Values are comparable from iteration ``comparable_from`` on: in the first of a "cvb0" fit there are no counts of
    the word's own to subtract.
    """

    bound: tuple[float, ...]
    prior_updates: tuple[int, ...]
    held_out: tuple[tuple[int, float], ...]
    comparable_from: int


@dataclass(frozen=True)
class TagKind:
    """A kind of tag, and how many there are; "" for tags that have none."""

    kind: str
    tags: int


@dataclass(frozen=True)
class Overview:
    """A model at a glance; ``diversity`` is the share of different words among the first 25 of all topics."""

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
    curve: Curve
    kinds: tuple[TagKind, ...]
    topics: tuple[TopicSummary, ...]
    map: tuple[TopicCircle, ...]


def overview(explorer: Explorer, n_words: int = 8, n_tags: int = 4) -> Overview:
    """The model at a glance; quality only if there are documents."""
    model, corpus = explorer.model, explorer.corpus
    counts = Counter(kind if colon else "" for kind, colon, _ in (tag.partition(":") for tag in model.tag_names_))
    return Overview(
        name=explorer.name,
        kind=type(model).__name__,
        inference=model.inference,
        n_topics=len(model.components_),
        n_words=len(model.words_),
        n_tags=len(model.tag_names_),
        n_documents=None if corpus is None else len(corpus),
        training_words=int(model.word_counts_.sum()),
        iterations=int(model.n_iter_),
        converged=bool(model.converged_),
        diversity=diversity(model.components_),
        quality=explorer.quality,
        curve=curve(model),
        kinds=tuple(TagKind(kind, n) for kind, n in counts.most_common()),
        topics=topics(explorer, n_words, n_tags),
        map=topic_map(explorer.topic_likeness, model.topic_shares_),
    )


def topics(explorer: Explorer, n_words: int = 8, n_tags: int = 4) -> tuple[TopicSummary, ...]:
    """All topics, largest first."""
    model = explorer.model
    shares = np.asarray(model.topic_shares_, np.float64)
    return tuple(
        TopicSummary(
            topic=int(k),
            share=float(shares[k]),
            words=tuple(word for word, _ in model.top_words(int(k), n_words)),
            tags=with_numbers(explorer, model.top_tags(int(k), n_tags)),
        )
        for k in np.argsort(-shares, kind="stable")
    )


def curve(model: TagTopicModel) -> Curve:
    """How the fit went."""
    return Curve(
        bound=tuple(float(value) for value in model.bound_),
        prior_updates=tuple(int(iteration) for iteration in model.prior_updates_),
        held_out=_held_out(model),
        comparable_from=2 if method_of(model.inference).is_leave_one_out else 1,
    )


def _held_out(model: TagTopicModel) -> tuple[tuple[int, float], ...]:
    """Perplexity of the words that the fit held out, from iteration 1; none if it held none out."""
    watched = model.history_.get("perplexity", ())
    return tuple((iteration, float(value)) for iteration, value in enumerate(watched, 1))
