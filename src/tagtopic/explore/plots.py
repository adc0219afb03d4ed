"""Figures for notebooks: the views as plotly draws them, in the colours that topics have everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic._core.optional import MissingExtraError, require
from tagtopic.explore import charts, views
from tagtopic.explore.explorer import Explorer
from tagtopic.explore.rendering import short
from tagtopic.explore.topic_map import HEIGHT, WIDTH
from tagtopic.explore.views.document import look_at

if TYPE_CHECKING:
    from tagtopic.explore.views.parts import TopicShare

MARGINS = {"l": 10, "r": 10, "t": 60, "b": 30}


def plot_topics(model: Any) -> Any:
    """The topics as a map."""
    go = _plotly()
    view = views.overview(Explorer(model))
    words = {topic.topic: topic for topic in view.topics}
    figure = go.Figure(layout={"title": f"{view.n_topics} topics", "margin": MARGINS, "height": 560})
    for bubble in view.map:
        colour, r = charts.colour(bubble.topic), bubble.radius
        box = {"x0": bubble.x - r, "x1": bubble.x + r, "y0": bubble.y - r, "y1": bubble.y + r}
        figure.add_shape(
            type="circle", line={"color": colour, "width": 2}, fillcolor=_faint(colour), layer="below", **box
        )
    figure.add_trace(
        go.Scatter(
            x=[bubble.x for bubble in view.map],
            y=[bubble.y for bubble in view.map],
            mode="text",
            text=[f"{b.topic}<br>{_plain(words[b.topic].words[0], 14)}" for b in view.map],
            hovertext=[
                f"topic {b.topic}, {words[b.topic].share:.1%}<br>{_plain(', '.join(words[b.topic].words), 120)}"
                for b in view.map
            ],
            hoverinfo="text",
            showlegend=False,
        )
    )
    figure.update_xaxes(range=[0, WIDTH], visible=False, constrain="domain")
    figure.update_yaxes(range=[HEIGHT, 0], visible=False, scaleanchor="x")
    return figure


def plot_tag(model: Any, tag: str, n: int) -> Any:
    """A tag's topics and words."""
    explorer = Explorer(model)
    view = views.tag(explorer, model._tag(tag), n)
    figure = _two("topics", "words, times as probable as in all documents", view.tag)
    figure.add_trace(_topic_bars(view.topics), row=1, col=1)
    words = view.distinctive[::-1]
    figure.add_trace(_bars([_plain(w.word, 40) for w in words], [w.lift for w in words]), row=1, col=2)
    return figure


def plot_document(model: Any, document: Any, tags: Any) -> Any:
    """A document's topics and tag weights."""
    view = look_at(Explorer(model), model.one_document(document, tags))
    figure = _two("topics", "tags by weight, with 90% intervals", view.id)
    figure.add_trace(_topic_bars(view.topics), row=1, col=1)
    own = view.tags[::-1]
    trace = _bars([_plain(tag.tag, 50) for tag in own], [tag.weight for tag in own])
    if own and own[0].low is not None:
        trace.error_x = {
            "type": "data",
            "symmetric": False,
            "array": [max(0.0, (tag.high or 0.0) - tag.weight) for tag in own],
            "arrayminus": [max(0.0, tag.weight - (tag.low or 0.0)) for tag in own],
        }
    figure.add_trace(trace, row=1, col=2)
    return figure


def to_pyldavis(model: Any, X: Any, tags: Any, options: dict[str, Any]) -> Any:
    """What ``pyLDAvis.prepare`` makes of a model and documents."""
    try:
        import pyLDAvis
    except ImportError:
        raise MissingExtraError("to_pyldavis needs pyLDAvis, not installed here: pip install pyLDAvis") from None

    corpus = model.aligned(X, tags)
    lengths = np.asarray(corpus.lengths())
    filled = np.flatnonzero(lengths > 0)
    if not len(filled):
        raise ValueError("the documents have no words that the model knows: there is nothing to show")
    mixes = np.asarray(model.transform(corpus[filled]), np.float64)
    seen = np.flatnonzero(np.asarray(model.word_counts_) > 0)  # it divides by the frequencies
    topics = np.asarray(model.components_, np.float64)[:, seen]
    return pyLDAvis.prepare(
        topic_term_dists=topics / topics.sum(axis=1, keepdims=True),
        doc_topic_dists=mixes / mixes.sum(axis=1, keepdims=True),
        doc_lengths=lengths[filled],
        vocab=[model.words_[word] for word in seen],
        term_frequency=np.asarray(model.word_counts_)[seen],
        **{"sort_topics": False, "start_index": 0, "n_jobs": 1, **options},
    )


def _plotly() -> Any:
    require("plotly", "jinja2", extra="explore", purpose="a plot")
    import plotly.graph_objects as go

    return go


def _two(first: str, second: str, title: str) -> Any:
    _plotly()
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=1, cols=2, subplot_titles=[first, second], horizontal_spacing=0.25)
    figure.update_layout(title=_plain(title, 80), margin=MARGINS, showlegend=False, height=420)
    return figure


def _topic_bars(mix: tuple[TopicShare, ...]) -> Any:
    parts = mix[::-1]
    names = [f"{part.topic}: {_plain(', '.join(part.words[:3]), 40)}" for part in parts]
    trace = _bars(names, [part.share for part in parts])
    trace.marker = {"color": [charts.colour(part.topic) for part in parts]}
    return trace


def _bars(names: list[str], values: list[float]) -> Any:
    return _plotly().Bar(x=values, y=names, orientation="h", marker={"color": "#5f6f86"})


def _plain(name: str, length: int) -> str:
    """A name as plotly shows it: it takes some HTML (<b>, <a href>), which a name must not be."""
    return short(name, length).replace("&", "&amp;").replace("<", "&lt;")


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.2)"
