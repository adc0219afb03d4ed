"""The map of documents, the heat map of tags, the search, and pages of tags by name."""

import numpy as np
import pytest
from starlette.testclient import TestClient

from tagtopic.explore import Explorer, views
from tagtopic.explore.explorer import NotFoundError
from tagtopic.explore.rendering import nice, schema_type
from tagtopic.explore.service import create_app


def test_documents_are_near_their_largest_topics(explorer: Explorer) -> None:
    view = views.document_map(explorer)
    n = len(explorer.documents)
    assert view.numbers == tuple(range(n))
    assert {len(values) for values in (view.x, view.y, view.topics, view.labels)} == {n}
    assert view.topics == tuple(explorer.posteriors.topics.argmax(axis=1).tolist())
    places, topics = np.column_stack([view.x, view.y]), np.array(view.topics)
    centres = np.array([places[topics == topic].mean(axis=0) for topic in np.unique(topics)])
    nearest = np.linalg.norm(places[:, None] - centres, axis=2).argmin(axis=1)
    assert np.mean(np.unique(topics)[nearest] == topics) > 0.9
    assert views.document_map(explorer, 5).numbers[-1] == n - 1
    assert len(views.document_map(explorer, 5).x) == 5


def test_a_heat_map_has_the_topics_of_the_tags_documents(explorer: Explorer) -> None:
    view = views.heat_map(explorer, "author", n_tags=2)
    assert [row.tag.partition(":")[0] for row in view.rows] == ["author"] * 2
    assert view.rows[0].documents >= view.rows[1].documents
    for row in view.rows:
        mix = dict(explorer.model.top_topics(row.tag, 99))
        assert row.shares == pytest.approx([mix[topic.topic] for topic in view.topics])
    with pytest.raises(NotFoundError, match="no tags of this kind"):
        views.heat_map(explorer, "publisher")


def test_a_search_finds_topics_tags_and_documents(explorer: Explorer) -> None:
    word = explorer.topic_words[1][0]
    found = views.find(explorer, word)
    assert found.topics[0].topic == 1
    assert found.n_documents == views.find_documents(explorer, word).total > 0
    assert views.find(explorer, "ada").tags[0].tag == "author:Ada"
    assert views.find(explorer, " ") == views.Found(" ", (), (), 0, (), 0)


def test_pages_and_api_of_maps_search_and_documentation(explorer: Explorer) -> None:
    with TestClient(create_app(explorer)) as client:
        assert client.get("/tags/author:Ada").text == client.get(f"/tags/{explorer.tag_numbers['author:Ada']}").text
        assert client.get("/tags/author:Nobody").status_code == 404
        assert "data-map" in client.get("/map").text
        assert client.get("/map?kind=nothing").status_code == 404
        assert client.get("/api/v1/map").json()["total"] == len(explorer.documents)
        with_tag = client.get("/api/v1/map/tag?tag=author:Ada").json()
        column = explorer.documents.tags[:, [explorer.tag_numbers["author:Ada"]]].toarray().ravel()
        assert with_tag == np.flatnonzero(column).tolist()
        assert client.get("/api/v1/map/tag?tag=nobody").status_code == 404
        assert client.get("/api/v1/heat-map").json()["rows"]
        table = client.get("/heat-map.csv?kind=author").text.splitlines()
        assert table[0] == "\ufefftag,documents,topic,name,share,lift"
        assert len(table) == 1 + 3 * 3
        assert client.get("/heat-map.csv?kind=nothing").status_code == 404
        assert "author:Ada" in client.get("/search?query=ada").text
        documentation = client.get("/api/v1/docs").text
        assert "GET /api/v1/topics/{topic}" in documentation
        assert "http" not in documentation.replace("http-equiv", "")


def test_scales_are_round_numbers() -> None:
    assert [nice(value) for value in (0.063, 0.1, 0.41, 3.0, 0.0)] == pytest.approx([0.1, 0.1, 0.5, 5.0, 1.0])


def test_types_of_the_api_are_named() -> None:
    assert schema_type({"$ref": "#/components/schemas/TagView"}) == "TagView"
    assert schema_type({"type": "array", "items": {"type": "integer"}}) == "list of integer"
    assert schema_type({"anyOf": [{"type": "string"}, {"type": "null"}]}) == "string or null"
