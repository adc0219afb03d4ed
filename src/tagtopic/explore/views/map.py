"""The map of documents by their topics, and the heat map of tags by topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagtopic.corpus.tags import kind_of
from tagtopic.explore.explorer import NotFoundError
from tagtopic.explore.views.items import TopicShare, topic_share
from tagtopic.models.plotting import MAP_HEIGHT, MAP_WIDTH, topic_map

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer

MAX_POINTS = 20_000
"""Documents on the map, evenly spaced in the corpus if there are more."""

LABEL_LENGTH = 80
"""Characters of a document's title on the map."""

SCATTER = 0.8
"""How far from its place a document may be drawn, in radii of its largest topic: many have nearly the same mix."""


@dataclass(frozen=True)
class DocumentMap:
    """Documents as points in a box of ``width`` by ``height``.

    Of the i-th point, ``numbers`` has the number of the document, ``x`` and ``y`` its place, ``topics`` its largest
    topic, ``labels`` its title or id. ``total`` is the number of all documents.
    """

    total: int
    width: float
    height: float
    numbers: tuple[int, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]
    topics: tuple[int, ...]
    labels: tuple[str, ...]


def document_map(explorer: Explorer, n: int = MAX_POINTS) -> DocumentMap:
    """Place documents by their topics: at the mean of their topics' places on the map of topics.

    The topics are weighted by the cubes of their proportions, so that a document is near its main topic.
    """
    corpus, mixes = explorer.documents, explorer.posteriors.topics
    rows = np.unique(np.linspace(0, max(len(corpus) - 1, 0), min(n, len(corpus))).astype(np.int64))
    circles = topic_map(explorer.topic_similarity, explorer.model.topic_shares_)
    centres = np.array([[circle.x, circle.y] for circle in circles])
    radii = np.array([circle.radius for circle in circles])
    weights = np.asarray(mixes[rows], np.float64) ** 3
    places = weights @ centres / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    largest = weights.argmax(axis=1) if len(rows) else np.zeros(0, np.int64)
    # a sequence that fills the disc evenly (Roberts 2018, R2), so that neighbours in the corpus do not overlap
    turn = 2 * np.pi * ((rows * 0.7548776662466927) % 1.0)
    step = SCATTER * radii[largest] * np.sqrt((rows * 0.5698402909980532) % 1.0)
    places = places + np.column_stack([np.cos(turn), np.sin(turn)]) * step[:, None]
    titles = explorer.titles
    names = (str((titles[d] if titles is not None else "") or corpus.ids[d]) for d in rows.tolist())
    return DocumentMap(
        total=len(corpus),
        width=MAP_WIDTH,
        height=MAP_HEIGHT,
        numbers=tuple(rows.tolist()),
        x=tuple(places[:, 0].round(1).tolist()),
        y=tuple(places[:, 1].round(1).tolist()),
        topics=tuple(largest.tolist()),
        labels=tuple(name[:LABEL_LENGTH] for name in names),
    )


def documents_with_tag(explorer: Explorer, tag: str) -> list[int]:
    """The numbers of the documents with a tag."""
    if tag not in explorer.tag_numbers:
        raise NotFoundError("the model has no tag of this name: /api/v1/tags?query=… finds tags")
    _ = explorer.documents
    by_tag, number = explorer.weights_by_tag, explorer.tag_numbers[tag]
    found = by_tag.indices[by_tag.indptr[number] : by_tag.indptr[number + 1]]
    return [int(row) for row in found]


@dataclass(frozen=True)
class HeatRow:
    """A tag with the mean shares of the topics in its documents, and the ratios to the mean of all tags' documents."""

    tag: str
    number: int
    documents: int
    shares: tuple[float, ...]
    lifts: tuple[float, ...]


@dataclass(frozen=True)
class HeatMap:
    """The most frequent tags, of a kind if it is given, by topics, largest first; ``kinds`` has all kinds.

    Shares are those of the topics in the tags' documents if ``of_documents``, else in the tags themselves.
    """

    kind: str | None
    kinds: tuple[str, ...]
    topics: tuple[TopicShare, ...]
    rows: tuple[HeatRow, ...]
    of_documents: bool


def heat_map(explorer: Explorer, kind: str | None = None, n_tags: int = 30, n_topics: int = 60) -> HeatMap:
    """Describe the topics of the most frequent tags' documents."""
    model, mixes = explorer.model, explorer.tag_mixes
    kinds = tuple(dict.fromkeys(kind_of(model.tag_names_[j]) for j in np.argsort(-mixes.documents, kind="stable")))
    if kind is not None and kind not in kinds:
        raise NotFoundError("the model has no tags of this kind")
    shares = np.asarray(model.topic_shares_, np.float64)
    topics = [int(k) for k in np.argsort(-shares, kind="stable") if k not in model.hidden_topics_][:n_topics]
    chosen = [
        int(j)
        for j in np.argsort(-mixes.documents, kind="stable")
        if kind is None or kind_of(model.tag_names_[j]) == kind
    ][:n_tags]
    lifts = mixes.means / np.maximum(mixes.average, 1e-12)
    return HeatMap(
        kind=kind,
        kinds=kinds,
        topics=tuple(topic_share(explorer, k, float(shares[k])) for k in topics),
        rows=tuple(
            HeatRow(
                tag=model.tag_names_[j],
                number=j,
                documents=round(float(mixes.documents[j])),
                shares=tuple(float(mixes.means[j, k]) for k in topics),
                lifts=tuple(float(lifts[j, k]) for k in topics),
            )
            for j in chosen
        ),
        of_documents=explorer.has_document_topics,
    )
