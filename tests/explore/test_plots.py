"""Figures and HTML for notebooks."""

import warnings

import pytest
from tests.explore.conftest import HOSTILE

from tagtopic import LDA, TWDA, Corpus
from tagtopic._core import optional
from tagtopic.explore import Explorer, charts


def test_topics_are_drawn_in_their_colours(explorer: Explorer) -> None:
    figure = explorer.model.plot_topics()
    assert [shape.line.color for shape in figure.layout.shapes] == list(charts.LIGHT[:3])
    assert len(figure.data[0].text) == 3
    assert figure.to_json()


def test_a_tag_and_a_document_are_drawn(explorer: Explorer) -> None:
    figure = explorer.model.plot_tag("author:Ada")
    topic = explorer.model.top_topics("author:Ada", 1)[0][0]
    assert figure.data[0].marker.color[-1] == charts.colour(topic)
    with pytest.raises(ValueError, match="never seen the tag 'author:Ado'; near it are 'author:Ada'"):
        explorer.model.plot_tag("author:Ado")
    figure = explorer.model.plot_document(explorer.documents[3])
    assert set(figure.data[1].y) == set(explorer.documents[3].tags)
    assert len(figure.data[1].error_x.array) == 2
    typed = explorer.model.plot_document("A monster at night", tags=["author:Mary"])
    assert list(typed.data[1].y) == ["author:Mary"]


def test_names_are_not_markup_in_figures(hostile: Explorer) -> None:
    figures = [hostile.model.plot_topics(), *(hostile.model.plot_tag(name) for name in HOSTILE)]
    figures.append(hostile.model.plot_document(hostile.documents[0]))
    for figure in figures:
        text = figure.to_json()
        assert "<script" not in text
        assert "<img" not in text


def test_html_of_models_and_corpora_shows_names_as_text(explorer: Explorer, hostile: Explorer) -> None:
    for shown in (hostile.model._repr_html_(), hostile.documents._repr_html_()):
        assert "<script" not in shown
        assert "<img" not in shown
        assert "&lt;script&gt;" in shown
        assert len(shown) < 20_000
    assert "monster" in explorer.model._repr_mimebundle_()["text/html"]
    assert "<b><bdi>60</bdi></b> <bdi>documents</bdi>" in explorer.documents._repr_html_()
    assert "TWDA" in TWDA(3)._repr_html_()  # not fitted: as scikit-learn shows it
    assert "Corpus" in Corpus.from_counts([[1]])._repr_html_()


def test_pyldavis_takes_the_model(explorer: Explorer) -> None:
    pytest.importorskip("pyLDAvis")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas, as it uses it
        prepared = explorer.model.to_pyldavis(explorer.documents, R=5)
    assert prepared.topic_order == [0, 1, 2]
    assert len(prepared.topic_coordinates) == 3
    with pytest.raises(ValueError, match="nothing to show"):
        explorer.model.to_pyldavis(["?"])


def test_without_plotly_a_figure_says_how_to_install_it(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optional, "find_spec", lambda package: None)
    with pytest.raises(optional.MissingExtraError, match=r"tagtopic\[explore\]"):
        explorer.model.plot_topics()


def test_a_model_without_tags_is_drawn_too() -> None:
    corpus = Corpus.from_counts([[3, 1, 0], [0, 1, 3], [1, 0, 2]])
    model = LDA(2, max_iter=3, progress=False, random_state=0).fit(corpus)
    assert len(model.plot_topics().layout.shapes) == 2
    assert model.plot_document(corpus[0]).data[1].y == ()
    assert "LDA" in model._repr_html_()
