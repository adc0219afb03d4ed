"""Plotly figures of effects, trends, and hierarchies of topics."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import dendrogram

from tagtopic.analysis.covariates import Number
from tagtopic.models.plotting import MARGINS, colour, label, plotly, translucent

if TYPE_CHECKING:
    from tagtopic.analysis.contrast import Contrast
    from tagtopic.analysis.effects import Effects
    from tagtopic.analysis.trends import Trends
    from tagtopic.models._analysis import TopicHierarchy

ROW_HEIGHT = 22
SHOWN_TOPICS = 6
"""Topics of a figure of trends or of expected shares, unless they are named: those that change most."""

MAX_CONTRASTS = 60
"""Rows of a figure of contrasts: those whose intervals are farthest from zero."""


def plot_effects(effects: Effects, variable: str | None = None, at: Mapping[str, Any] | None = None) -> Any:
    """Draw the contrasts of a covariate, or of all, as points with intervals."""
    table = effects.table if variable is None and not at else effects.contrasts(variable, at=at or {})
    rows = [{**row, "label": f"{row['topic']}: {row['name']} · {row['contrast']}"} for row in table]
    return _forest(
        rows, "estimate", f"effects on topic shares: {effects.formula}",
        f"difference of expected shares, {effects.level:.0%} intervals", ".1%",
    )  # fmt: skip


def plot_contrast(contrast: Contrast, about: str = "topics") -> Any:
    """Draw the differences of topics, or of words, between two sets of documents as points with intervals."""
    title = f"{contrast.first} against {contrast.second}"
    if about == "topics":
        rows = [{**row, "label": f"{row['topic']}: {row['name']}"} for row in contrast.topics]
        axis = f"difference of expected shares, {contrast.level:.0%} intervals"
        return _forest(rows, "estimate", title, axis, ".1%")
    if about != "words":
        raise ValueError(f"about={about!r}: expected topics or words")
    rows = [{**row, "label": row["word"]} for row in contrast.words]
    axis = f"log ratio of frequencies (base 2), {contrast.level:.0%} intervals"
    return _forest(rows, "log_ratio", title, axis, ".1f")


def _forest(rows: list[dict[str, Any]], value: str, title: str, axis: str, tick_format: str) -> Any:
    """Points with intervals: the rows whose intervals are farthest from zero, the largest value on top."""
    go = plotly()
    rows.sort(key=lambda row: -max(row["low"], -row["high"]))
    shown = sorted(rows[:MAX_CONTRASTS], key=lambda row: row[value])
    figure = go.Figure(
        layout={"title": label(title, 80), "margin": MARGINS, "height": 140 + ROW_HEIGHT * len(shown)},
    )
    figure.add_trace(
        go.Scatter(
            x=[row[value] for row in shown],
            y=list(range(len(shown))),
            mode="markers",
            marker={"color": [colour(row.get("topic", 0)) for row in shown], "size": 9},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [row["high"] - row[value] for row in shown],
                "arrayminus": [row[value] - row["low"] for row in shown],
            },
        )
    )
    figure.add_vline(x=0, line={"width": 1, "dash": "dot"})
    figure.update_xaxes(title=axis, tickformat=tick_format)
    # labels are ticks: two rows whose shortened labels are equal remain two rows
    figure.update_yaxes(
        automargin=True, tickvals=list(range(len(shown))), ticktext=[label(row["label"], 70) for row in shown]
    )
    return figure


def plot_predictions(
    effects: Effects, variable: str, topics: Sequence[int] | None = None, at: Mapping[str, Any] | None = None
) -> Any:
    """Draw the expected shares by a covariate: lines with bands for a number, points with intervals for levels."""
    go = plotly()
    table = effects.predict(variable, at=at or {})
    figure = go.Figure(layout={"title": label(table.title, 80), "margin": MARGINS})
    parts = {topic: table.filter(topic=topic) for topic in (effects.topics if topics is None else topics)}
    if topics is None:
        order = sorted(parts, key=lambda topic: -np.ptp(parts[topic]["estimate"]))
        parts = {topic: parts[topic] for topic in sorted(order[:SHOWN_TOPICS])}
    numeric = isinstance(effects.design.covariates[variable], Number)
    for i, (topic, part) in enumerate(parts.items()):
        if not len(part):
            continue
        name = label(f"{topic}: {part['name'][0]}", 40)
        if numeric:
            _add_band(figure, part["value"], part, name, topic)
            continue
        figure.add_trace(
            go.Scatter(
                x=[place + (i - (len(parts) - 1) / 2) * 0.1 for place in range(len(part))], y=part["estimate"],
                name=name, mode="markers", marker={"color": colour(topic), "size": 8},
                error_y={"type": "data", "symmetric": False, "array": np.subtract(part["high"], part["estimate"]),
                         "arrayminus": np.subtract(part["estimate"], part["low"])},
            )
        )  # fmt: skip
        figure.update_xaxes(
            tickvals=list(range(len(part))), ticktext=[label(str(value), 30) for value in part["value"]]
        )
    figure.update_yaxes(tickformat=".0%", rangemode="tozero", title=f"share, {effects.level:.0%} intervals")
    figure.update_xaxes(title=label(variable, 40))
    return figure


def plot_trends(trends: Trends, topics: Sequence[int] | None = None) -> Any:
    """Draw topic shares over time with bands; lines are broken at bins without documents."""
    plotly()
    from plotly.subplots import make_subplots

    chosen = most_changed(trends) if topics is None else tuple(topics)
    figure = make_subplots(
        rows=len(trends.groups), cols=1, shared_xaxes=True, subplot_titles=[label(group, 60) for group in trends.groups]
    )
    for i, group in enumerate(trends.groups):
        for topic in chosen:
            part = trends.table.filter(group=group, topic=topic)
            if len(part):
                name = label(f"{topic}: {part['name'][0]}", 40)
                _add_band(figure, part["bin"], part, name, topic, row=i + 1, legend=not i)
    figure.update_layout(
        title="topic shares over time", margin=MARGINS, height=120 + 280 * len(trends.groups), legend={"y": 1}
    )
    figure.update_yaxes(tickformat=".0%", rangemode="tozero")
    figure.update_xaxes(categoryorder="array", categoryarray=trends.timeline.labels)  # "2001-Q1" is no date of plotly's
    return figure


def most_changed(trends: Trends, n: int = SHOWN_TOPICS) -> tuple[int, ...]:
    """The topics whose shares change most, in any group."""
    largest: dict[int, float] = {}
    for row in trends.changes():
        largest[row["topic"]] = max(largest.get(row["topic"], 0.0), abs(row["estimate"]))
    order = sorted(trends.topics, key=lambda topic: -largest.get(topic, 0.0))
    return tuple(sorted(order[:n]))


def _add_band(
    figure: Any, x: Sequence[Any], part: Any, name: str, topic: int, row: int | None = None, legend: bool = True
) -> None:
    go = plotly()
    place = {} if row is None else {"row": row, "col": 1}
    tint = {"color": colour(topic)}
    across, up = _outlines(x, part["low"], part["high"])
    figure.add_trace(
        go.Scatter(
            x=across, y=up, mode="lines", line={"width": 1, "color": translucent(colour(topic))}, fill="toself",
            fillcolor=translucent(colour(topic)), legendgroup=str(topic), hoverinfo="skip", showlegend=False,
        ),
        **place,
    )  # fmt: skip
    figure.add_trace(
        go.Scatter(
            x=x, y=part["estimate"], name=name, legendgroup=str(topic), showlegend=legend, mode="lines+markers",
            line=tint, marker={"size": 5},
        ),
        **place,
    )  # fmt: skip


def _outlines(x: Sequence[Any], low: Sequence[Any], high: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The outlines of a band, one for each run of bins that have values; None is between them."""
    across: list[Any] = []
    up: list[Any] = []
    for filled, group in itertools.groupby(range(len(x)), key=lambda i: low[i] is not None):
        run = list(group)
        if filled:
            across += [*(x[i] for i in run), *(x[i] for i in reversed(run)), None]
            up += [*(high[i] for i in run), *(low[i] for i in reversed(run)), None]
    return across[:-1], up[:-1]


def plot_treemap(hierarchy: TopicHierarchy) -> Any:
    """Draw the groups and topics as nested rectangles."""
    go = plotly()
    model = hierarchy.fitted
    ids, names, parents, values, tints = [], [], [], [], []

    def add(group: Any, parent: str) -> None:
        own = f"{group.level}/{group.number}"
        ids.append(own)
        names.append(label(group.name, 50))
        parents.append(parent)
        values.append(group.share)
        tints.append("#e5e5e5")
        for child in group.children:
            add(child, own)
        if not group.children:
            for topic in group.topics:
                ids.append(f"topic/{topic}")
                words = ", ".join(word for word, _ in model.top_words(topic, 3))
                names.append(label(f"{topic}: {model.topic_names_[topic] or words}", 50))
                parents.append(own)
                values.append(float(model.topic_shares_[topic]))
                tints.append(colour(topic))

    for root in hierarchy.roots():
        add(root, "")
    return go.Figure(
        go.Treemap(
            ids=ids, labels=names, parents=parents, values=values, marker={"colors": tints}, branchvalues="total"
        ),
        layout={"title": "hierarchy of topics", "margin": MARGINS, "height": 600},
    )


def plot_dendrogram(hierarchy: TopicHierarchy) -> Any:
    """Draw the tree of topics, leaves to the left."""
    go = plotly()
    model = hierarchy.fitted
    figure = go.Figure(layout={"title": "tree of topics", "margin": MARGINS, "showlegend": False})
    if not len(hierarchy.tree):
        return figure
    drawn = dendrogram(hierarchy.tree, no_plot=True)
    for places, heights in zip(drawn["icoord"], drawn["dcoord"], strict=True):
        figure.add_trace(
            go.Scatter(x=heights, y=places, mode="lines", line={"width": 1.2, "color": "#5f6f86"}, hoverinfo="skip")
        )
    texts = []
    for topic in drawn["leaves"]:
        words = ", ".join(word for word, _ in model.top_words(topic, 3))
        texts.append(label(f"{topic}: {model.topic_names_[topic] or words}", 45))
    ticks = (5 + 10 * np.arange(len(texts))).tolist()
    figure.update_yaxes(tickvals=ticks, ticktext=texts, automargin=True)
    figure.update_xaxes(title="distance")
    figure.update_layout(height=140 + ROW_HEIGHT * len(texts))
    return figure
