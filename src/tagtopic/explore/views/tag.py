"""One tag: its topics and words, similar tags, its documents, and its suspicious uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagtopic._core.arrays import largest
from tagtopic.explore.explorer import NotFoundError
from tagtopic.explore.views.items import (
    DocumentValue,
    TagValue,
    TopicShare,
    WordShare,
    distinctive_words,
    numbered_tags,
    top_words,
    topic_mix,
)

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer

MIN_OWN_SHARE = 0.01
"""The share of a tag's own words from which on they are shown."""

MAX_SUSPICIOUS = 0.2
"""A use of a tag is suspicious if its plausibility is below this."""


@dataclass(frozen=True)
class SuspiciousUse:
    """A document on which the tag is implausible, and the words that are evidence against it."""

    document: DocumentValue
    weight: float
    expected_weight: float
    disagreeing: tuple[str, ...]


@dataclass(frozen=True)
class TagView:
    """One tag. ``frequency`` is the share of the training documents that have it.

    ``document_topics`` is what its documents are about: their mean topic mix, of the training documents or, if the
    model does not have it, of the documents shown (None without any). ``weight`` is the mean weight of the tag in its
    documents. ``topics`` is what the tag itself adds to them, p(topic | tag), given their other tags and their latent
    tags; ``own_share`` is the share of its words that are its own instead, and ``own_words`` the largest of these.
    ``weight``, ``n_documents`` and ``documents`` (by weight) are None without documents, ``suspicious`` also until the
    audit is ready. ``similar`` has tags whose documents, if ``of_documents``, have similar topics, else the tags
    themselves.
    """

    tag: str
    number: int
    kind: str
    value: str
    frequency: float
    topics: tuple[TopicShare, ...]
    own_share: float
    own_words: tuple[WordShare, ...]
    words: tuple[WordShare, ...]
    distinctive: tuple[WordShare, ...]
    similar: tuple[TagValue, ...]
    n_documents: int | None
    weight: float | None
    document_topics: tuple[TopicShare, ...] | None
    documents: tuple[DocumentValue, ...] | None
    suspicious: tuple[SuspiciousUse, ...] | None
    of_documents: bool


def tag(explorer: Explorer, number: int, n: int = 15, *, with_audit: bool = True) -> TagView:
    """Describe a tag by number; suspicious uses are included once the audit is ready."""
    model = explorer.model
    if not 0 <= number < len(model.tag_names_):
        raise NotFoundError(f"there is no tag number {number}: the model has {len(model.tag_names_):,}, from 0")
    name = model.tag_names_[number]
    kind, colon, value = name.partition(":")
    parameters = model.parameters_
    distribution, own_words = parameters.word_probabilities(number), np.zeros(len(model.words_))
    if parameters.own_words is not None:
        words, omega = parameters.own_words.of_tag(number)
        own_words[words] = omega
    own_share = float(own_words.sum())
    frequency = float(model.tag_frequencies_[number])
    audited = with_audit and explorer.can_audit and explorer.audit_ready
    return TagView(
        tag=name,
        number=number,
        kind=kind if colon else "",
        value=value if colon else name,
        frequency=frequency,
        topics=topic_mix(explorer, model.tag_topics_[number]),
        own_share=own_share,
        own_words=top_words(explorer, own_words, n) if own_share >= MIN_OWN_SHARE else (),
        words=top_words(explorer, distribution, n),
        distinctive=distinctive_words(explorer, distribution, max(frequency, 1e-3), n),
        similar=numbered_tags(explorer, explorer.tag_mixes.nearest(number, n)),
        n_documents=None if explorer.corpus is None else _n_documents(explorer, number),
        weight=None if explorer.corpus is None else _mean_weight(explorer, number),
        document_topics=_document_topics(explorer, number),
        documents=None if explorer.corpus is None else _documents(explorer, number, n),
        suspicious=_suspicious(explorer, name, n) if audited else None,
        of_documents=explorer.has_document_topics,
    )


def _n_documents(explorer: Explorer, number: int) -> int:
    starts = explorer.weights_by_tag.indptr
    return int(starts[number + 1] - starts[number])


def _mean_weight(explorer: Explorer, number: int) -> float:
    weights = explorer.weights_by_tag
    values = weights.data[weights.indptr[number] : weights.indptr[number + 1]]
    return float(values.mean()) if len(values) else 0.0


def _document_topics(explorer: Explorer, number: int) -> tuple[TopicShare, ...] | None:
    """The mean topics of the tag's documents, as rankings of tags use them; None if nothing is known of documents."""
    mixes = explorer.tag_mixes
    if not explorer.has_document_topics or not mixes.documents[number]:
        return None
    return topic_mix(explorer, mixes.means[number], average=mixes.average)


def _documents(explorer: Explorer, number: int, n: int) -> tuple[DocumentValue, ...]:
    weights, ids = explorer.weights_by_tag, explorer.documents.ids
    column = slice(weights.indptr[number], weights.indptr[number + 1])
    ranked = largest(weights.data[column], weights.indices[column].tolist(), n)
    return tuple(DocumentValue(ids[d], d, value) for d, value in ranked)


def _suspicious(explorer: Explorer, name: str, n: int) -> tuple[SuspiciousUse, ...]:
    entries = explorer.audit_by_tag.get(name, ())
    return tuple(
        SuspiciousUse(
            document=DocumentValue(entry.document, entry.document_number, entry.plausibility),
            weight=entry.weight,
            expected_weight=entry.expected_weight,
            disagreeing=entry.disagreeing,
        )
        for entry in entries[:n]
        if entry.plausibility < MAX_SUSPICIOUS
    )
