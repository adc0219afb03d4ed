"""Plotly figures of effects, trends, and hierarchies of topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import dendrogram

from tagtopic.models.plotting import MARGINS, colour, label, plotly, translucent

if TYPE_CHECKING:
    from tagtopic.analysis.effects import Effects
    from tagtopic.analysis.trends import Trends
    from tagtopic.models._analysis import TopicHierarchy

ROW_HEIGHT = 22
SHOWN_TOPICS = 6
"""Topics of a figure of trends, unless they are named."""

MAX_CONTRASTS = 60
"""Rows of a figure of contrasts: those whose intervals are farthest from zero."""


def plot_effects(effects: Effects, variable: str | None = None) -> Any:
    """Draw the contrasts of a covariate, or of all, as points with intervals."""
    go = plotly()
    rows = [row for row in effects.table if variable is None or row["variable"] == variable]
    if variable is not None and not rows:
        effects.predict(variable, [])  # raises, naming the covariates
    rows.sort(key=lambda row: -max(row["low"], -row["high"]))
    shown = sorted(rows[:MAX_CONTRASTS], key=lambda row: row["estimate"])
    figure = go.Figure(
        layout={
            "title": label(f"effects on topic shares: {effects.formula}", 80),
            "margin": MARGINS,
            "height": 140 + ROW_HEIGHT * len(shown),
        }
    )
    figure.add_trace(
        go.Scatter(
            x=[row["estimate"] for row in shown],
            y=[label(f"{row['topic']}: {row['name']} · {row['contrast']}", 70) for row in shown],
            mode="markers",
            marker={"color": [colour(row["topic"]) for row in shown], "size": 9},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [row["high"] - row["estimate"] for row in shown],
                "arrayminus": [row["estimate"] - row["low"] for row in shown],
            },
        )
    )
    figure.add_vline(x=0, line={"width": 1, "dash": "dot"})
    figure.update_xaxes(title=f"difference of expected shares, {effects.level:.0%} intervals", tickformat=".1%")
    figure.update_yaxes(automargin=True)
    return figure


def plot_predictions(effects: Effects, variable: str, topics: Sequence[int] | None = None) -> Any:
    """Draw the expected shares by a covariate: lines with bands for a number, points with intervals for levels."""
    go = plotly()
    table = effects.predict(variable)
    figure = go.Figure(layout={"title": label(f"expected topic shares by {variable}", 80), "margin": MARGINS})
    for topic in effects.topics if topics is None else topics:
        part = table.filter(topic=topic)
        if len(part):
            name = label(f"{topic}: {part['name'][0]}", 40)
            _add_band(figure, part["value"], part, name, topic)
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
    shared = {"x": x, "legendgroup": str(topic), "hoverinfo": "skip", "showlegend": False, "mode": "lines"}
    figure.add_trace(go.Scatter(y=part["high"], line={"width": 0}, **shared), **place)
    figure.add_trace(
        go.Scatter(y=part["low"], line={"width": 0}, fill="tonexty", fillcolor=translucent(colour(topic)), **shared),
        **place,
    )
    figure.add_trace(
        go.Scatter(
            x=x, y=part["estimate"], name=name, legendgroup=str(topic), showlegend=legend, mode="lines+markers",
            line=tint, marker={"size": 5},
        ),
        **place,
    )  # fmt: skip


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
