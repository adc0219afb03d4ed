"""One topic: its words, tags and documents, the topics near it, and its share over the years.

Which tags are years.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import largest
from tagtopic.explore.explorer import NothingToShowError
from tagtopic.explore.views.parts import (
    DocumentValue,
    TagValue,
    TopicShare,
    WordShare,
    distinctive_words,
    topic_name,
    with_numbers,
    words_of,
)
from tagtopic.models._queries import top_by_share

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer


LEAST_YEARS = 3


@dataclass(frozen=True)
class YearShare:
    """A year, the topic's share of its documents' words, and how many documents those are."""

    year: int
    share: float
    documents: int


@dataclass(frozen=True)
class TopicView:
    """One topic. ``near`` has likenesses for shares; ``documents`` is None where no documents were given."""

    topic: int
    share: float
    words: tuple[WordShare, ...]
    distinctive: tuple[WordShare, ...]
    tags: tuple[TagValue, ...]
    near: tuple[TopicShare, ...]
    documents: tuple[DocumentValue, ...] | None
    trend: tuple[YearShare, ...]

    @property
    def name(self) -> str:
        """The words to know it by."""
        return ", ".join(word.word for word in self.words[:3])


def topic(explorer: Explorer, number: int, n: int = 20) -> TopicView:
    """One topic; an error if there is none of this number."""
    model = explorer.model
    if not 0 <= number < len(model.components_):
        raise NothingToShowError(f"there is no topic {number}: the model has {len(model.components_)}, from 0")
    words, share = model.components_[number], float(model.topic_shares_[number])
    return TopicView(
        topic=number,
        share=share,
        words=words_of(explorer, words, n),
        distinctive=distinctive_words(explorer, words, share, n),
        tags=with_numbers(explorer, model.top_tags(number, n)),
        near=_near(explorer, number),
        documents=None if explorer.corpus is None else _documents(explorer, number, n),
        trend=() if explorer.corpus is None else _trend(explorer, number),
    )


def _near(explorer: Explorer, number: int, n: int = 5) -> tuple[TopicShare, ...]:
    alike = explorer.topic_likeness[number].copy()
    alike[number] = -1.0
    ranked = largest(alike, range(len(alike)), min(n, len(alike) - 1))
    return tuple(TopicShare(k, value, topic_name(explorer, k, 5)) for k, value in ranked)


def _documents(explorer: Explorer, number: int, n: int) -> tuple[DocumentValue, ...]:
    corpus = explorer.documents
    most = top_by_share(explorer.posteriors.topics[:, number], corpus.lengths(), n)
    return tuple(DocumentValue(corpus.ids[d], d, share) for d, share in most)


def _trend(explorer: Explorer, number: int) -> tuple[YearShare, ...]:
    """Its share of all words of each year's documents, where a kind of tag is years."""
    years = explorer.years
    if len(years) < LEAST_YEARS:
        return ()
    corpus = explorer.documents
    lengths = np.asarray(corpus.lengths(), np.float64)
    in_year = sp.csc_array(corpus.tags)
    found = []
    for year, columns in years.items():
        rows: Any = np.unique(
            np.concatenate([in_year.indices[in_year.indptr[c] : in_year.indptr[c + 1]] for c in columns])
        )
        total = lengths[rows].sum()
        if total:
            share = float(explorer.posteriors.topics[rows, number] @ lengths[rows] / total)
            found.append(YearShare(year, share, len(rows)))
    return tuple(found) if len(found) >= LEAST_YEARS else ()
