"""Figures and HTML of a model, and the colours of topics."""

import warnings
from itertools import combinations

import numpy as np
import pytest

from tagtopic import LDA, TWDA, Corpus
from tagtopic._core import optional
from tagtopic._core.arrays import Float64s
from tagtopic.models.plotting import DARK, LIGHT, MAP_GAP, MAP_HEIGHT, MAP_WIDTH, colour, topic_map, topic_similarity

THEMES = {
    "author:Ada": "engine number machine calculate wheel gear",
    "author:Mary": "monster storm lightning laboratory creature night",
    "author:Jane": "marriage ball letter sister estate fortune",
}
HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(3)>', "&lt;b&gt;&amp;", "x" * 10_000)

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def letters() -> Corpus:
    """Thirty letters by three authors, each with words and a year of their own."""
    random = np.random.default_rng(0)
    names = [list(THEMES)[i % 3] for i in range(30)]
    texts = [" ".join(random.choice(THEMES[name].split(), 12)) for name in names]
    return Corpus.from_texts(texts, [[name, f"year:{1800 + i % 3}"] for i, name in enumerate(names)], min_df=1)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return letters()


@pytest.fixture(scope="module")
def model(corpus: Corpus) -> TWDA:
    return TWDA(3, random_state=0, progress=False, n_jobs=1, max_iter=20).fit(corpus)


def linear_rgb(code: str) -> Float64s:
    values = np.array([int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def oklab(rgb: Float64s) -> Float64s:
    cones = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.63]]
    lab = [[0.2105, 0.7936, -0.0041], [1.978, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
    return np.asarray(np.array(lab) @ np.cbrt(np.array(cones) @ np.clip(rgb, 0, 1)))


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_colours_differ_under_every_kind_of_colour_vision(vision: str, palette: tuple[str, ...]) -> None:
    seen = [oklab(np.array(VISION[vision]) @ linear_rgb(code)) for code in palette]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 0.07


@pytest.mark.parametrize(("palette", "background"), [(LIGHT, "#ffffff"), (DARK, "#1a1d23")])
def test_colours_have_enough_contrast_with_their_background(palette: tuple[str, ...], background: str) -> None:
    def luminance(code: str) -> float:
        return float(linear_rgb(code) @ [0.2126, 0.7152, 0.0722])

    for code in palette:
        high, low = sorted((luminance(code), luminance(background)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 2.9


def test_colours_repeat_after_three_shades_of_twelve() -> None:
    assert colour(3) == colour(39) == LIGHT[3]
    assert colour(3, dark=True) == DARK[3]
    assert len({colour(topic) for topic in range(36)}) == 36


def test_the_topic_map_uses_the_topic_colours(model: TWDA) -> None:
    figure = model.plot_topics()
    assert [shape.line.color for shape in figure.layout.shapes] == list(LIGHT[:3])
    assert [text.split("<br>") for text in figure.data[0].text] == [
        [str(topic), model.top_words(topic, 1)[0][0]] for topic in range(3)
    ]
    assert figure.to_json()


def test_a_tag_figure_shows_its_topics_and_distinctive_words(model: TWDA) -> None:
    figure = model.plot_tag("author:Ada", n=4)
    topic = model.top_topics("author:Ada", 1)[0][0]
    assert figure.data[0].marker.color[-1] == colour(topic)
    assert set(figure.data[1].y) <= set(THEMES["author:Ada"].split())
    assert np.diff(figure.data[1].x).min() > -1e-4  # ties within rounding
    assert min(figure.data[1].x) > 1
    with pytest.raises(ValueError, match="never seen the tag 'author:Ado'; near it are 'author:Ada'"):
        model.plot_tag("author:Ado")


def test_a_document_figure_shows_tag_weights_with_intervals(model: TWDA, corpus: Corpus) -> None:
    figure = model.plot_document(corpus[3])
    weights = dict(model.rank_tags(corpus[3:4])[0])
    assert dict(zip(figure.data[1].y, figure.data[1].x, strict=True)) == pytest.approx(weights)
    assert len(figure.data[1].error_x.array) == len(weights) == 2
    typed = model.plot_document("A monster at night", tags=["author:Mary"])
    assert list(typed.data[1].y) == ["author:Mary"]


def test_names_are_escaped_in_figures_and_html() -> None:
    corpus = Corpus.from_counts(np.eye(4, dtype=int) * 5 + 1, [[name] for name in HOSTILE], words=HOSTILE, ids=HOSTILE)
    model = TWDA(2, random_state=0, progress=False, max_iter=3).fit(corpus)
    shown = [model.plot_topics(), *(model.plot_tag(name) for name in HOSTILE), model.plot_document(corpus[0])]
    for text in (figure.to_json() for figure in shown):
        assert "<script" not in text
        assert "<img" not in text
    for text in (model._repr_html_(), corpus._repr_html_()):
        assert "<script" not in text
        assert "<img" not in text
        assert "&lt;script&gt;" in text
        assert len(text) < 20_000


def test_a_fitted_model_has_an_html_table_of_its_topics(model: TWDA, corpus: Corpus) -> None:
    assert "monster" in model._repr_mimebundle_()["text/html"]
    assert "<b><bdi>30</bdi></b> <bdi>documents</bdi>" in corpus._repr_html_()
    assert "TWDA" in TWDA(3)._repr_html_()  # not fitted: scikit-learn's own
    assert "Corpus" in Corpus.from_counts([[1]])._repr_html_()


def test_pyldavis_prepares_the_model(model: TWDA, corpus: Corpus) -> None:
    pytest.importorskip("pyLDAvis")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyLDAvis uses deprecated pandas calls
        prepared = model.to_pyldavis(corpus, R=5)
    assert prepared.topic_order == [0, 1, 2]
    assert len(prepared.topic_coordinates) == 3
    with (
        pytest.raises(ValueError, match="nothing to show"),
        pytest.warns(UserWarning, match="no word that the model knows"),
    ):
        model.to_pyldavis(["?"])


def test_without_plotly_the_error_names_the_extra(model: TWDA, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optional, "find_spec", lambda package: None)
    with pytest.raises(optional.MissingExtraError, match=r"tagtopic\[explore\]"):
        model.plot_topics()


def test_a_model_without_tags_is_drawn_too() -> None:
    corpus = Corpus.from_counts([[3, 1, 0], [0, 1, 3], [1, 0, 2]])
    model = LDA(2, max_iter=3, progress=False, random_state=0).fit(corpus)
    assert len(model.plot_topics().layout.shapes) == 2
    assert model.plot_document(corpus[0]).data[1].y == ()
    assert "LDA" in model._repr_html_()


@pytest.mark.parametrize("n_topics", [1, 2, 3, 40, 100])
def test_circles_do_not_overlap_and_stay_on_the_map(n_topics: int) -> None:
    random = np.random.default_rng(0)
    similarity = topic_similarity(random.dirichlet(np.full(60, 0.1), n_topics))
    circles = topic_map(similarity, random.dirichlet(np.full(n_topics, 2.0)))
    for a, b in combinations(circles, 2):
        assert np.hypot(a.x - b.x, a.y - b.y) > a.radius + b.radius - 0.5 * MAP_GAP
    assert all(c.radius <= c.x <= MAP_WIDTH - c.radius and c.radius <= c.y <= MAP_HEIGHT - c.radius for c in circles)


def test_similar_topics_are_near_each_other() -> None:
    components = np.full((12, 40), 0.2)
    for topic in range(12):
        components[topic, 10 * (topic % 4) : 10 * (topic % 4) + 10] += 5
    components /= components.sum(axis=1, keepdims=True)
    circles = topic_map(topic_similarity(components), np.ones(12))
    places = np.array([(circle.x, circle.y) for circle in circles])
    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    similar = np.arange(12)[:, None] % 4 == np.arange(12)[None] % 4
    assert distance[similar].mean() < 0.8 * distance[~similar].mean()
