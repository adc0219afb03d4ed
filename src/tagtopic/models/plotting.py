"""Plotly figures and an HTML table of a fitted model, and the colours of topics.

A topic has the colour of its number, in every figure and on every page. The twelve colours maximise the smallest OKLab
distance between any two, under normal vision and under simulated protanopia, deuteranopia and tritanopia; each has a
contrast of at least 3 to 1 with its background. They repeat from the 13th topic on, so a colour is always shown beside
its topic's number (docs/decisions/topic-colours.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic._core.display import html_card
from tagtopic._core.optional import MissingExtraError, require
from tagtopic.models._intervals import intervals_if_quick
from tagtopic.models._queries import distinctive_words, main_topics
from tagtopic.models.topic_map import HEIGHT, WIDTH, topic_map, topic_similarity

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel

LIGHT = (
    "#0556b9", "#de765d", "#068588", "#853685", "#9f761d", "#1d0280",
    "#4a96ec", "#601f45", "#2f5a09", "#cc4873", "#6b693e", "#908fb5",
)  # fmt: skip
DARK = (
    "#89c1fe", "#fda271", "#30b4ae", "#cb65e0", "#f4df8c", "#715ec3",
    "#b2e3fe", "#9c5e88", "#65904b", "#fb768d", "#b29e1d", "#c4c4c4",
)  # fmt: skip

MARGINS = {"l": 10, "r": 10, "t": 60, "b": 30}
BAR_COLOUR = "#5f6f86"
MAX_TABLE_TOPICS = 20
INTERVAL = 0.9
"""The probability that a drawn interval holds the weight."""


def colour_index(topic: int) -> int:
    """The position of a topic's colour in the palette."""
    return topic % len(LIGHT)


def colour(topic: int, *, dark: bool = False) -> str:
    """The colour of a topic on a light or a dark background."""
    return (DARK if dark else LIGHT)[colour_index(topic)]


def plot_topics(model: TagTopicModel) -> Any:
    """Draw the topics as a map of circles."""
    go = _plotly()
    circles = topic_map(topic_similarity(model.components_), model.topic_shares_)
    words = {circle.topic: [word for word, _ in model.top_words(circle.topic, 8)] for circle in circles}
    figure = go.Figure(layout={"title": f"{len(circles)} topics", "margin": MARGINS, "height": 560})
    for circle in circles:
        line, r = colour(circle.topic), circle.radius
        box = {"x0": circle.x - r, "x1": circle.x + r, "y0": circle.y - r, "y1": circle.y + r}
        figure.add_shape(
            type="circle", line={"color": line, "width": 2}, fillcolor=_translucent(line), layer="below", **box
        )
    figure.add_trace(
        go.Scatter(
            x=[circle.x for circle in circles],
            y=[circle.y for circle in circles],
            mode="text",
            text=[f"{circle.topic}<br>{_label(words[circle.topic][0], 14)}" for circle in circles],
            hovertext=[
                f"topic {circle.topic}, {model.topic_shares_[circle.topic]:.1%}"
                f"<br>{_label(', '.join(words[circle.topic]), 120)}"
                for circle in circles
            ],
            hoverinfo="text",
            showlegend=False,
        )
    )
    figure.update_xaxes(range=[0, WIDTH], visible=False, constrain="domain")
    figure.update_yaxes(range=[HEIGHT, 0], visible=False, scaleanchor="x")
    return figure


def plot_tag(model: TagTopicModel, tag: str, n: int) -> Any:
    """Draw a tag's topics and its n most distinctive words."""
    number = model._tag(tag)
    figure = _two_panels("topics", "words, times as probable as in all documents", tag)
    figure.add_trace(_topic_bars(model, model.tag_topics_[number]), row=1, col=1)
    distribution = model.tag_topics_[number] @ model.components_
    share = max(float(model.tag_frequencies_[number]), 1e-3)
    words = distinctive_words(distribution, model.word_counts_, share, n)[::-1]
    names = [_label(model.words_[word], 40) for word, _, _ in words]
    figure.add_trace(_bars(names, [lift for _, _, lift in words]), row=1, col=2)
    return figure


def plot_document(model: TagTopicModel, document: Any, tags: Any) -> Any:
    """Draw a document's topics and the weights of its tags, with intervals unless drawing them takes too long."""
    corpus = model.one_document(document, tags)
    posterior = model._infer(corpus)
    figure = _two_panels("topics", f"tags by weight, with {INTERVAL:.0%} intervals", corpus.ids[0])
    figure.add_trace(_topic_bars(model, posterior.topics[0]), row=1, col=1)
    weights = np.asarray(posterior.weights.data, np.float64)
    order = np.argsort(-weights, kind="stable")[::-1]
    names = [_label(corpus.tag_names[corpus.tags.indices[entry]], 50) for entry in order]
    trace = _bars(names, weights[order].tolist())
    drawn = intervals_if_quick(model.parameters_, corpus, INTERVAL)
    if drawn is not None:
        trace.error_x = {
            "type": "data",
            "symmetric": False,
            "array": np.maximum(drawn.high.data - weights, 0.0)[order].tolist(),
            "arrayminus": np.maximum(weights - drawn.low.data, 0.0)[order].tolist(),
        }
    figure.add_trace(trace, row=1, col=2)
    return figure


def to_pyldavis(model: TagTopicModel, X: Any, tags: Any, options: dict[str, Any]) -> Any:
    """Call ``pyLDAvis.prepare`` with a model and documents."""
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
    seen = np.flatnonzero(np.asarray(model.word_counts_) > 0)  # pyLDAvis divides by the frequencies
    topics = np.asarray(model.components_, np.float64)[:, seen]
    return pyLDAvis.prepare(
        topic_term_dists=topics / topics.sum(axis=1, keepdims=True),
        doc_topic_dists=mixes / mixes.sum(axis=1, keepdims=True),
        doc_lengths=lengths[filled],
        vocab=[model.words_[word] for word in seen],
        term_frequency=np.asarray(model.word_counts_)[seen],
        **{"sort_topics": False, "start_index": 0, "n_jobs": 1, **options},
    )


def html_table(model: TagTopicModel) -> str:
    """The largest topics as an HTML table for a notebook."""
    order = sorted(range(len(model.topic_shares_)), key=lambda topic: -model.topic_shares_[topic])
    rows = [
        [
            str(topic),
            f"{model.topic_shares_[topic]:.1%}",
            " ".join(word for word, _ in model.top_words(topic, 8)),
            ", ".join(tag for tag, _ in model.top_tags(topic, 4)),
        ]
        for topic in order[:MAX_TABLE_TOPICS]
    ]
    more = f", the {MAX_TABLE_TOPICS} largest topics" if len(order) > MAX_TABLE_TOPICS else ""
    figures = [("topics", f"{len(order):,}"), ("words", f"{len(model.words_):,}")]
    figures += [("tags", f"{len(model.tag_names_):,}"), ("iterations", f"{model.n_iter_:,}")]
    return html_card(f"{type(model).__name__}{more}", figures, ["topic", "share", "words", "tags"], rows)


def _plotly() -> Any:
    require("plotly", extra="explore", purpose="a plot")
    import plotly.graph_objects as go

    return go


def _two_panels(first: str, second: str, title: str) -> Any:
    _plotly()
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=1, cols=2, subplot_titles=[first, second], horizontal_spacing=0.25)
    figure.update_layout(title=_label(title, 80), margin=MARGINS, showlegend=False, height=420)
    return figure


def _topic_bars(model: TagTopicModel, mix: Any) -> Any:
    topics = main_topics(mix)[::-1]
    words = [", ".join(word for word, _ in model.top_words(topic, 3)) for topic in topics]
    names = [f"{topic}: {_label(text, 40)}" for topic, text in zip(topics, words, strict=True)]
    trace = _bars(names, [float(mix[topic]) for topic in topics])
    trace.marker = {"color": [colour(topic) for topic in topics]}
    return trace


def _bars(names: Sequence[str], values: Sequence[float]) -> Any:
    return _plotly().Bar(x=values, y=names, orientation="h", marker={"color": BAR_COLOUR})


def _label(name: str, length: int) -> str:
    """A name cut to ``length`` characters and escaped: plotly renders some HTML, such as <b> and <a href>."""
    cut = name if len(name) <= length else name[: length - 1] + "…"
    return cut.replace("&", "&amp;").replace("<", "&lt;")


def _translucent(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.2)"
