"""One topic: its words, tags and documents, similar topics, and its share by year."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import largest
from tagtopic.explore.explorer import NotFoundError
from tagtopic.explore.views.items import (
    DocumentValue,
    TagShare,
    TopicShare,
    WordShare,
    distinctive_words,
    top_words,
    topic_share,
)
from tagtopic.models._queries import top_by_share

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer


MIN_YEARS = 3
"""Years that a trend needs."""


@dataclass(frozen=True)
class YearShare:
    """A year, the topic's share of the words of its documents, and their number."""

    year: int
    share: float
    documents: int


@dataclass(frozen=True)
class TopicView:
    """One topic. In ``near`` the shares are similarities; ``documents`` is None without documents.

    The shares of ``tags`` are those of the topic in their documents if ``of_documents``, else in the tags themselves.
    """

    topic: int
    share: float
    words: tuple[WordShare, ...]
    distinctive: tuple[WordShare, ...]
    tags: tuple[TagShare, ...]
    near: tuple[TopicShare, ...]
    documents: tuple[DocumentValue, ...] | None
    trend: tuple[YearShare, ...]
    given_name: str = ""
    of_documents: bool = True

    @property
    def name(self) -> str:
        """The topic's name, or its first words."""
        return self.given_name or ", ".join(word.word for word in self.words[:3])


def topic(explorer: Explorer, number: int, n: int = 20) -> TopicView:
    """Describe a topic by number; raises `NotFoundError` if there is none."""
    model = explorer.model
    if not 0 <= number < len(model.components_):
        raise NotFoundError(f"there is no topic {number}: the model has {len(model.components_)}, from 0")
    words, share = model.components_[number], float(model.topic_shares_[number])
    return TopicView(
        topic=number,
        share=share,
        words=top_words(explorer, words, n),
        distinctive=distinctive_words(explorer, words, share, n),
        tags=_tags(explorer, number, n),
        near=_similar_topics(explorer, number),
        documents=None if explorer.corpus is None else _documents(explorer, number, n),
        trend=() if explorer.corpus is None else _trend(explorer, number),
        given_name=model.topic_names_[number],
        of_documents=explorer.has_document_topics,
    )


def _tags(explorer: Explorer, number: int, n: int) -> tuple[TagShare, ...]:
    """The tags whose documents have more of the topic than others, by the evidence for it."""
    mixes = explorer.tag_mixes
    found = []
    for tag, _ in mixes.of_topic(number, n):
        row = explorer.tag_numbers[tag]
        share = float(mixes.means[row, number])
        lift = share / max(float(mixes.average[number]), 1e-12)
        found.append(TagShare(tag, row, share, lift, round(float(mixes.documents[row]))))
    return tuple(found)


def _similar_topics(explorer: Explorer, number: int, n: int = 5) -> tuple[TopicShare, ...]:
    similarity = explorer.topic_similarity[number].copy()
    similarity[number] = -1.0
    ranked = largest(similarity, range(len(similarity)), min(n, len(similarity) - 1))
    return tuple(topic_share(explorer, k, value) for k, value in ranked)


def _documents(explorer: Explorer, number: int, n: int) -> tuple[DocumentValue, ...]:
    corpus = explorer.documents
    ranked = top_by_share(explorer.posteriors.topics[:, number], corpus.lengths(), n)
    return tuple(DocumentValue(corpus.ids[d], d, share) for d, share in ranked)


def _trend(explorer: Explorer, number: int) -> tuple[YearShare, ...]:
    """The topic's share of the words of each year's documents, if the tags of a kind are years."""
    years = explorer.years
    if len(years) < MIN_YEARS:
        return ()
    corpus = explorer.documents
    lengths = np.asarray(corpus.lengths(), np.float64)
    by_tag = sp.csc_array(corpus.tags)
    trend = []
    for year, columns in years.items():
        rows: Any = np.unique(
            np.concatenate([by_tag.indices[by_tag.indptr[c] : by_tag.indptr[c + 1]] for c in columns])
        )
        total = lengths[rows].sum()
        if total:
            share = float(explorer.posteriors.topics[rows, number] @ lengths[rows] / total)
            trend.append(YearShare(year, share, len(rows)))
    return tuple(trend) if len(trend) >= MIN_YEARS else ()
