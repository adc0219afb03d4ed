"""Pages of trends, effects and groups show the results of the model."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from tagtopic.explore import Explorer, ReportLimits, views
from tagtopic.explore.charts import Box, band_chart, dendrogram, forest, squarified, treemap
from tagtopic.explore.report import render_report
from tagtopic.explore.service import create_app
from tagtopic.explore.views.analysis import TrendPoint


@pytest.fixture(scope="module")
def explorer(analysed: Explorer) -> Explorer:
    return analysed


@pytest.fixture(scope="module")
def client(explorer: Explorer) -> Iterator[TestClient]:
    for kind in ("region", "venue"):  # a page may say that they are being computed
        explorer.analyses.effects(kind)
    explorer.analyses.trends()
    with TestClient(create_app(explorer), raise_server_exceptions=False) as client:
        yield client


def test_pages_show_trends_effects_and_groups(client: TestClient, explorer: Explorer) -> None:
    assert explorer.analyses.times == ("year",)
    assert explorer.analyses.kinds == ("region", "venue", "year")
    for path in ("/trends", "/effects", "/effects?kind=venue", "/hierarchy"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert "<b>one" not in answer.text
        assert "&lt;b&gt;one" in answer.text
        assert "style=" not in answer.text
    assert client.get("/trends").text.count("<polygon") == 4
    assert client.get("/trends?kind=venue").status_code == 404


def test_downloads_have_the_values_of_the_model(client: TestClient, explorer: Explorer) -> None:
    rows = list(csv.DictReader(io.StringIO(client.get("/trends.csv").text.lstrip("\ufeff"))))
    expected: Any = explorer.model.trends(explorer._given, "year").table
    assert [float(row["estimate"]) for row in rows] == pytest.approx(expected["estimate"])
    effects = list(csv.DictReader(io.StringIO(client.get("/effects.csv?kind=venue").text.lstrip("\ufeff"))))
    assert len(effects) == 4 * 2
    topics = list(csv.DictReader(io.StringIO(client.get("/topics.csv").text.lstrip("\ufeff"))))
    assert sum(float(row["share"]) for row in topics) == pytest.approx(1)
    groups = list(csv.DictReader(io.StringIO(client.get("/hierarchy.csv").text.lstrip("\ufeff"))))
    assert len(groups) == sum(explorer.analyses.hierarchy.levels)  # type: ignore[union-attr]
    assert client.get("/nothing.csv").status_code == 404
    assert client.get("/heat-map.csv").status_code == 404  # the model has no tags


def test_the_api_has_what_pages_show(client: TestClient, explorer: Explorer) -> None:
    effects = client.get("/api/v1/effects?kind=venue&n=3").json()
    assert (effects["kind"], len(effects["rows"]), effects["n_rows"]) == ("venue", 3, 8)
    assert effects["rows"] == sorted(effects["rows"], key=lambda row: -max(row["low"], -row["high"]))
    trends = client.get("/api/v1/trends").json()
    assert [topic["topic"] for topic in trends["topics"]] == explorer.analyses.trends().changes()["topic"]
    groups = client.get("/api/v1/hierarchy").json()
    assert sum(group["share"] for group in groups["groups"]) == pytest.approx(1)
    assert len(groups["tree"]) == len(groups["topics"]) - 1
    found = client.get("/api/v1/contrast?first=venue:A&second=venue:B").json()
    expected = explorer.model.contrast(explorer._given, "venue:A", "venue:B")
    assert [row["estimate"] for row in found["topics"]] == pytest.approx(expected.topics["estimate"])
    assert [row["word"] for row in found["words"]] == expected.words["word"]
    assert client.get("/api/v1/contrast?first=venue:A").json()["second"] == "not venue:A"
    assert client.get("/api/v1/contrast?first=venue:Z").status_code == 404
    for path in ("effects?kind=none", "trends?kind=venue"):
        assert client.get(f"/api/v1/{path}").status_code == 404


def test_the_report_has_trends_effects_and_groups(explorer: Explorer) -> None:
    html = render_report(explorer, ReportLimits(tags=1, documents=1))
    for path in ("/trends", "/effects", "/hierarchy", "/trends.csv", "/effects.csv", "/hierarchy.csv", "/topics.csv"):
        assert f'"{path}"' in html


def test_views_follow_the_model(explorer: Explorer) -> None:
    view = views.trends(explorer)
    assert [topic.change for topic in view.topics] == sorted((t.change for t in view.topics), reverse=True)
    assert [len(topic.points) for topic in view.topics] == [5] * 4
    found = views.hierarchy(explorer)
    assert sum(group.share for group in found.groups) == pytest.approx(1)


def test_what_takes_long_is_computed_in_the_background(explorer: Explorer) -> None:
    assert not explorer.analyses.start("effects", "year", patience=0.0)
    assert explorer.analyses.effects("year").n_documents == 150  # waits for it
    assert explorer.analyses.start("effects", "year")


def test_a_gap_breaks_the_line() -> None:
    filled = TrendPoint("a", 3, 0.2, 0.1, 0.4)
    drawn = band_chart([filled, filled, TrendPoint("c", 0, None, None, None), filled])
    assert len(drawn.lines) == len(drawn.bands) == len(drawn.dots) == 1
    assert drawn.top_label == "40.0%"


def test_a_treemap_is_filled_by_topics_in_their_groups(explorer: Explorer) -> None:
    view = views.hierarchy(explorer)
    drawn = treemap(view)
    assert sorted(area.topic for area in drawn.topics) == [0, 1, 2, 3]
    groups = {area.name: area.box for area in drawn.groups if area.depth == 0}
    for area in drawn.topics:
        outer, own = groups[area.group], area.box
        assert outer.x <= own.x
        assert outer.y <= own.y
        assert own.x + own.width <= outer.x + outer.width + 1e-6
        assert own.y + own.height <= outer.y + outer.height + 1e-6


def test_rectangles_have_their_sizes_and_do_not_overlap() -> None:
    sizes = [6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0]
    boxes = squarified(sizes, Box(0.0, 0.0, 6.0, 4.0))
    assert [box.width * box.height for box in boxes] == pytest.approx(sizes)
    assert max(max(box.width / box.height, box.height / box.width) for box in boxes) < 3.1
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            assert (
                min(one.x + one.width, other.x + other.width) - max(one.x, other.x) < 1e-9
                or min(one.y + one.height, other.y + other.height) - max(one.y, other.y) < 1e-9
            )


def test_a_tree_joins_near_topics_on_the_right(explorer: Explorer) -> None:
    view = views.hierarchy(explorer)
    drawn = dendrogram(view)
    assert sorted(topic for _, topic in drawn.leaves) == [0, 1, 2, 3]
    rows = [topic for _, topic in drawn.leaves]
    nearest = min(view.tree, key=lambda merge: merge.distance)
    assert abs(rows.index(nearest.first) - rows.index(nearest.second)) == 1
    assert len(drawn.brackets) == 3


def test_estimates_are_between_the_ends_of_their_intervals(explorer: Explorer) -> None:
    drawn = forest(views.effects(explorer, "venue").rows, n=5)
    assert len(drawn.rows) == 5
    assert [row.row.estimate for row in drawn.rows] == sorted((row.row.estimate for row in drawn.rows), reverse=True)
    assert all(drawn.left <= row.low <= row.middle <= row.high <= drawn.width for row in drawn.rows)
    assert all((row.low > drawn.zero) == (row.row.low > 0) for row in drawn.rows)


def test_effects_are_whole_when_their_page_is_ready(explorer: Explorer) -> None:
    assert explorer.analyses.start("effects", "venue", patience=600.0)
    assert "table" in vars(explorer.analyses.effects("venue"))  # not computed by the request
