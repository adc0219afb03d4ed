"""Plotly figures and an HTML table of a fitted model, the map of its topics, and their colours.

A topic has the colour of its number, in every figure and on every page. The twelve colours maximise the smallest OKLab
distance between any two, under normal vision and under simulated protanopia, deuteranopia and tritanopia; each has a
contrast of at least 3 to 1 with its background. The next 24 are mixtures of two of them; from the 37th topic on all
repeat. A colour is always shown beside its topic's number (docs/decisions/topic-colours.md).

On the map topics are circles with areas by share, similar topics near each other, without overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic._core.arrays import Float64s
from tagtopic._core.display import html_card
from tagtopic._core.optional import MissingExtraError, require
from tagtopic.models._intervals import intervals_if_quick
from tagtopic.models._queries import distinctive_words, main_topics

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

MIXED_WITH = (5, 8)
"""For the colours beyond the first twelve: how far on in the palette is the colour that one is mixed with."""


def _extended(colours: tuple[str, ...]) -> tuple[str, ...]:
    """The colours, followed by even mixtures of each with others of the palette."""

    def parts(colour: str) -> list[int]:
        return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]

    made = list(colours)
    for step in MIXED_WITH:
        for i, colour in enumerate(colours):
            other = colours[(i + step) % len(colours)]
            mixed = [round((one + two) / 2) for one, two in zip(parts(colour), parts(other), strict=True)]
            made.append("#" + "".join(f"{value:02x}" for value in mixed))
    return tuple(made)


LIGHT_COLOURS, DARK_COLOURS = _extended(LIGHT), _extended(DARK)
"""The palettes with their mixtures."""

MARGINS = {"l": 10, "r": 10, "t": 60, "b": 30}
BAR_COLOUR = "#5f6f86"
MAX_TABLE_TOPICS = 20
INTERVAL = 0.9
"""The probability that a drawn interval holds the weight."""

MAP_WIDTH, MAP_HEIGHT = 1000.0, 620.0
MAP_COVERAGE = 0.42
"""The share of the map's area that circles cover."""

MAX_RADIUS = 0.22 * MAP_HEIGHT
"""The largest radius: two topics would not fit otherwise."""

MAP_MARGIN, MAP_GAP = 12.0, 6.0
MAP_STEPS = 400


def colour_index(topic: int) -> int:
    """The position of a topic's colour in the palette."""
    return topic % len(LIGHT_COLOURS)


def colour(topic: int, *, dark: bool = False) -> str:
    """The colour of a topic on a light or a dark background."""
    return (DARK_COLOURS if dark else LIGHT_COLOURS)[colour_index(topic)]


def plot_topics(model: TagTopicModel) -> Any:
    """Draw the topics as a map of circles."""
    go = plotly()
    placed = topic_map(topic_similarity(model.components_), model.topic_shares_)
    circles = [circle for circle in placed if circle.topic not in model.hidden_topics_]
    words = {circle.topic: [word for word, _ in model.top_words(circle.topic, 8)] for circle in circles}
    figure = go.Figure(layout={"title": f"{len(circles)} topics", "margin": MARGINS, "height": 560})
    for circle in circles:
        line, r = colour(circle.topic), circle.radius
        box = {"x0": circle.x - r, "x1": circle.x + r, "y0": circle.y - r, "y1": circle.y + r}
        figure.add_shape(
            type="circle", line={"color": line, "width": 2}, fillcolor=translucent(line), layer="below", **box
        )
    figure.add_trace(
        go.Scatter(
            x=[circle.x for circle in circles],
            y=[circle.y for circle in circles],
            mode="text",
            text=[
                f"{circle.topic}<br>{label(model.topic_names_[circle.topic] or words[circle.topic][0], 14)}"
                for circle in circles
            ],
            hovertext=[
                f"topic {circle.topic}{_given_name(model, circle.topic)}, {model.topic_shares_[circle.topic]:.1%}"
                f"<br>{label(', '.join(words[circle.topic]), 120)}"
                for circle in circles
            ],
            hoverinfo="text",
            showlegend=False,
        )
    )
    figure.update_xaxes(range=[0, MAP_WIDTH], visible=False, constrain="domain")
    figure.update_yaxes(range=[MAP_HEIGHT, 0], visible=False, scaleanchor="x")
    return figure


def plot_tag(model: TagTopicModel, tag: str, n: int) -> Any:
    """Draw a tag's topics and its n most distinctive words."""
    number = model._tag(tag)
    figure = _two_panels("topics of its documents", "words, times as probable as in all documents", tag)
    figure.add_trace(_topic_bars(model, model._tag_mixes.means[number]), row=1, col=1)
    distribution = model.parameters_.word_probabilities(number)
    share = max(float(model.tag_frequencies_[number]), 1e-3)
    words = distinctive_words(distribution, model.word_counts_, share, n)[::-1]
    names = [label(model.words_[word], 40) for word, _, _ in words]
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
    names = [label(corpus.tag_names[corpus.tags.indices[entry]], 50) for entry in order]
    trace = _bars(names, weights[order].tolist())
    drawn = intervals_if_quick(model.draws_, corpus, INTERVAL)
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
    shown = [topic for topic in range(len(model.topic_shares_)) if topic not in model.hidden_topics_]
    order = sorted(shown, key=lambda topic: -model.topic_shares_[topic])
    rows = [
        [
            f"{topic}: {model.topic_names_[topic]}" if model.topic_names_[topic] else str(topic),
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


def plotly() -> Any:
    """Return ``plotly.graph_objects``, or raise, naming the extra to install."""
    require("plotly", extra="explore", purpose="a plot")
    import plotly.graph_objects as go

    return go


def _two_panels(first: str, second: str, title: str) -> Any:
    plotly()
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=1, cols=2, subplot_titles=[first, second], horizontal_spacing=0.25)
    figure.update_layout(title=label(title, 80), margin=MARGINS, showlegend=False, height=420)
    return figure


def _topic_bars(model: TagTopicModel, mix: Any) -> Any:
    topics = main_topics(mix)[::-1]
    words = [model.topic_names_[topic] or ", ".join(word for word, _ in model.top_words(topic, 3)) for topic in topics]
    names = [f"{topic}: {label(text, 40)}" for topic, text in zip(topics, words, strict=True)]
    trace = _bars(names, [float(mix[topic]) for topic in topics])
    trace.marker = {"color": [colour(topic) for topic in topics]}
    return trace


def _given_name(model: TagTopicModel, topic: int) -> str:
    """The name of a topic, to be put after its number."""
    name = model.topic_names_[topic]
    return f": {label(name, 40)}" if name else ""


def _bars(names: Sequence[str], values: Sequence[float]) -> Any:
    return plotly().Bar(x=values, y=names, orientation="h", marker={"color": BAR_COLOUR})


def label(name: str, length: int) -> str:
    """A name cut to ``length`` characters and escaped: plotly renders some HTML, such as <b> and <a href>."""
    cut = name if len(name) <= length else name[: length - 1] + "…"
    return cut.replace("&", "&amp;").replace("<", "&lt;")


def translucent(colour: str) -> str:
    """A colour of which a fifth is opaque."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.2)"


@dataclass(frozen=True)
class TopicCircle:
    """One topic on the map: centre and radius, in a box of ``WIDTH`` by ``HEIGHT``."""

    topic: int
    x: float
    y: float
    radius: float


def topic_similarity(components: Any) -> Float64s:
    """(topics, topics): Bhattacharyya coefficients, 1 for the same word distribution and 0 for no common word."""
    roots = np.sqrt(np.asarray(components, np.float32))
    return np.asarray(np.clip(roots @ roots.T, 0.0, 1.0), np.float64)


def topic_map(similarity: Float64s, shares: Any) -> tuple[TopicCircle, ...]:
    """Place the topics by their similarity; the layout is deterministic."""
    parts = np.maximum(np.asarray(shares, np.float64), 1e-4)
    radii = np.sqrt(parts / parts.sum() * MAP_COVERAGE * MAP_WIDTH * MAP_HEIGHT / np.pi)
    radii *= min(1.0, MAX_RADIUS / float(radii.max()))
    places = _without_overlap(_scaled(similarity), radii)
    return tuple(
        TopicCircle(k, float(x), float(y), float(r)) for k, ((x, y), r) in enumerate(zip(places, radii, strict=True))
    )


def _scaled(similarity: Float64s) -> Float64s:
    """Two coordinates whose distances follow Hellinger distance (classical scaling), in [-1, 1]."""
    n = len(similarity)
    if n == 1:
        return np.zeros((1, 2))
    centre = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ (1.0 - similarity) @ centre)
    places = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    if places.shape[1] < 2 or n == 2:
        places = np.column_stack([places[:, 0], np.zeros(n)])
    signs = np.where(places[np.abs(places).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)  # eigenvectors have no sign
    # half ranks, half distances: most topics are about equally far apart, and would pile up
    ranks = np.argsort(np.argsort(places * signs, axis=0, kind="stable"), axis=0) / max(n - 1, 1) * 2 - 1
    spread = places * signs / max(float(np.abs(places).max()), 1e-9)
    return np.asarray(0.5 * ranks + 0.5 * spread)


def _without_overlap(places: Float64s, radii: Float64s) -> Float64s:
    """Move overlapping circles apart within the box, in small steps."""
    box = np.array([MAP_WIDTH, MAP_HEIGHT])
    points: Float64s = (places * 0.42 + 0.5) * box
    n = len(points)
    if n == 1:
        return points
    least = radii[:, None] + radii[None, :] + MAP_GAP
    low, high = radii[:, None] + MAP_MARGIN, box - radii[:, None] - MAP_MARGIN
    angle = np.arange(n) * 2.399963  # separates topics at the same position
    points = points + 0.01 * np.column_stack([np.cos(angle), np.sin(angle)])
    for _ in range(MAP_STEPS):
        points = np.clip(points, np.minimum(low, box / 2), np.maximum(high, box / 2))
        apart = points[:, None] - points[None, :]
        distance = np.sqrt((apart**2).sum(axis=2)) + np.eye(n) * 1e9
        overlap = np.maximum(least - distance, 0.0)
        if overlap.max() < 0.5:
            break
        points = points + 0.25 * (apart / distance[:, :, None] * overlap[:, :, None]).sum(axis=1)
    return np.asarray(np.clip(points, np.minimum(low, box / 2), np.maximum(high, box / 2)))
