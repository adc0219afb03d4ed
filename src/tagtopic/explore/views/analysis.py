"""Effects, trends, contrasts and groups of topics, each what the page or the API shows of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tagtopic.explore.explorer import NotFoundError
from tagtopic.explore.views.items import TopicShare, topic_share

if TYPE_CHECKING:
    from tagtopic.analysis import Group
    from tagtopic.explore.explorer import Explorer

MAX_ROWS = 60
"""Contrasts on the page of effects."""


@dataclass(frozen=True)
class EffectRow:
    """The difference of a topic's expected shares between two levels, with its interval."""

    topic: int
    name: str
    contrast: str
    estimate: float
    low: float
    high: float
    positive: float


@dataclass(frozen=True)
class EffectsView:
    """Effects of a kind of tag, those whose intervals are farthest from zero first.

    ``reference`` is the level that all others are compared with; the contrasts of the rows are then those levels, and
    else "level - reference". ``most`` is the largest distance of an interval's end from zero.
    """

    kind: str
    kinds: tuple[str, ...]
    reference: str
    level: float
    n_documents: int
    n_draws: int
    n_rows: int
    most: float
    notes: tuple[str, ...]
    rows: tuple[EffectRow, ...]


def effects(explorer: Explorer, kind: str | None = None, n: int = MAX_ROWS) -> EffectsView:
    """Return n effects of a kind of tag, the first one if none is named."""
    analyses = explorer.analyses
    found = analyses.effects(kind)
    rows = sorted(found.table, key=lambda row: -max(row["low"], -row["high"]))
    references = {row["contrast"].rpartition(" - ")[2] for row in rows}
    reference = references.pop() if len(references) == 1 else ""
    shown = tuple(_effect(row, f" - {reference}" if reference else "") for row in rows[:n])
    most = max((max(abs(row.low), abs(row.high)) for row in shown), default=1.0) or 1.0
    return EffectsView(
        kind or analyses.kinds[0], analyses.kinds, reference, found.level, found.n_documents, found.n_draws, len(rows),
        most, found.notes, shown,
    )  # fmt: skip


def _effect(row: dict[str, Any], suffix: str) -> EffectRow:
    names = ("topic", "name", "estimate", "low", "high", "positive")
    return EffectRow(contrast=row["contrast"].removesuffix(suffix), **{name: row[name] for name in names})


@dataclass(frozen=True)
class TrendPoint:
    """The share of a topic in a bin, with its band; None in a bin without documents."""

    bin: str
    documents: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class TopicTrend:
    """A topic over time, and its change from the first to the last third of the bins."""

    topic: int
    name: str
    change: float
    low: float
    high: float
    points: tuple[TrendPoint, ...]


@dataclass(frozen=True)
class TrendsView:
    """Topics over time, from the one that rises most to the one that falls most."""

    kind: str
    kinds: tuple[str, ...]
    level: float
    n_draws: int
    notes: tuple[str, ...]
    topics: tuple[TopicTrend, ...]


def trends(explorer: Explorer, kind: str | None = None) -> TrendsView:
    """Return the trends by a kind of tag, the first one with dates if none is named."""
    analyses = explorer.analyses
    found = analyses.trends(kind)
    by_topic: dict[int, list[TrendPoint]] = {}
    for row in found.table:
        point = TrendPoint(row["bin"], row["documents"], row["estimate"], row["low"], row["high"])
        by_topic.setdefault(row["topic"], []).append(point)
    topics = tuple(
        TopicTrend(row["topic"], row["name"], row["estimate"], row["low"], row["high"], tuple(by_topic[row["topic"]]))
        for row in found.changes()
    )
    return TrendsView(kind or analyses.times[0], analyses.times, found.level, found.n_draws, found.notes, topics)


@dataclass(frozen=True)
class TopicContrast:
    """The expected shares of a topic in two sets of documents, and their difference with its interval."""

    topic: int
    name: str
    first: float
    second: float
    estimate: float
    low: float
    high: float
    positive: float


@dataclass(frozen=True)
class WordContrast:
    """The frequencies of a word in two sets of documents, and the log ratio (base 2) with its interval."""

    word: str
    first: float
    second: float
    log_ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class ContrastView:
    """The topics and words that distinguish the documents of two tags, or of one from all others."""

    first: str
    second: str
    first_documents: int
    second_documents: int
    level: float
    topics: tuple[TopicContrast, ...]
    words: tuple[WordContrast, ...]


def contrast(explorer: Explorer, first: str, second: str | None = None) -> ContrastView:
    """Compare the documents of a tag with those of another, or with all others if none is named."""
    found = explorer.analyses.contrast(first, second)
    return ContrastView(
        found.first,
        found.second,
        *found.n_documents,
        found.level,
        tuple(TopicContrast(**row) for row in found.topics),
        tuple(WordContrast(**row) for row in found.words),
    )


@dataclass(frozen=True)
class GroupView:
    """A group of topics: its name, its share, the topics (at the last level) and the groups in it."""

    name: str
    share: float
    topics: tuple[int, ...]
    groups: tuple[GroupView, ...]


@dataclass(frozen=True)
class Merge:
    """Two nodes of the tree of topics that are joined, and their distance.

    Nodes below the number of topics are topics, the others the merges in their order.
    """

    first: int
    second: int
    distance: float


@dataclass(frozen=True)
class HierarchyView:
    """The groups of the first level, largest first; the topics by number; the whole tree."""

    levels: tuple[int, ...]
    groups: tuple[GroupView, ...]
    topics: tuple[TopicShare, ...]
    tree: tuple[Merge, ...]


def hierarchy(explorer: Explorer) -> HierarchyView:
    """Return the topics in groups."""
    found = explorer.analyses.hierarchy
    if found is None:
        raise NotFoundError("the model has too few topics to group them")
    shares = found.fitted.topic_shares_
    return HierarchyView(
        found.levels,
        _shown_groups(found.roots(), explorer.model.hidden_topics_),
        tuple(topic_share(explorer, k, float(share)) for k, share in enumerate(shares)),
        tuple(Merge(int(first), int(second), float(distance)) for first, second, distance, _ in found.tree),
    )


def _shown_groups(groups: Iterable[Group], hidden: Collection[int]) -> tuple[GroupView, ...]:
    """Groups without their hidden topics; one that has no others is left out."""
    shown = []
    for group in groups:
        children = _shown_groups(group.children, hidden)
        topics = () if group.children else tuple(topic for topic in group.topics if topic not in hidden)
        if children or topics:
            shown.append(GroupView(group.name, group.share, topics, children))
    return tuple(shown)
