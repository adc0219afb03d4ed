"""The tables that pages and report offer as CSV, with all their rows and unrounded values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tagtopic.explore import views
from tagtopic.explore.explorer import NotFoundError

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer

Rows = Iterable[dict[str, Any]]


def _topics(explorer: Explorer, _: str | None) -> Rows:
    rows: Rows = explorer.model.topics_table(backend="arrow").to_pylist()
    return rows


def _hierarchy(explorer: Explorer, _: str | None) -> Rows:
    found = explorer.analyses.hierarchy
    if found is None:
        raise NotFoundError("the model has too few topics to group them")
    return found.table


def _trends(explorer: Explorer, kind: str | None) -> Rows:
    explorer.analyses.require_ready("trends", kind)
    return explorer.analyses.trends(kind).table


def _effects(explorer: Explorer, kind: str | None) -> Rows:
    explorer.analyses.require_ready("effects", kind)
    return explorer.analyses.effects(kind).table


def _heat_map(explorer: Explorer, kind: str | None) -> Rows:
    if not explorer.model.tag_names_:
        raise NotFoundError("the model has no tags: it was fitted to untagged documents")
    view = views.heat_map(explorer, kind)
    return [
        {
            "tag": row.tag,
            "documents": row.documents,
            "topic": topic.topic,
            "name": topic.name or " ".join(topic.words),
            "share": share,
            "lift": lift,
        }
        for row in view.rows
        for topic, share, lift in zip(view.topics, row.shares, row.lifts, strict=True)
    ]


TABLES: dict[str, Callable[[Explorer, str | None], Rows]] = {
    "topics": _topics,
    "hierarchy": _hierarchy,
    "trends": _trends,
    "effects": _effects,
    "heat-map": _heat_map,
}
"""By name, a function of an explorer and a kind of tag (None is the one that the page shows first)."""


def table_rows(explorer: Explorer, name: str, kind: str | None = None) -> Rows:
    """Return the rows of a table.

    Raises
    ------
    NotFoundError
        If there is no such table of this model and these documents.
    """
    if name not in TABLES:
        raise NotFoundError(f"there is no such table: there are {', '.join(TABLES)}")
    return TABLES[name](explorer, kind)


def available_tables(explorer: Explorer) -> tuple[str, ...]:
    """The names of the tables that this model and these documents have."""
    analyses = explorer.analyses
    missing = {
        "hierarchy": analyses.hierarchy is None,
        "trends": not analyses.times,
        "effects": not analyses.kinds,
        "heat-map": not explorer.model.tag_names_,
    }
    return tuple(name for name in TABLES if not missing.get(name))
