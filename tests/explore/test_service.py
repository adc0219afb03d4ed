"""Pages and API have the results of the model; invalid requests get an error message."""

import json
import re
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.explore.conftest import letters

from tagtopic import LDA, TWDA, Corpus
from tagtopic.explore import Explorer, views
from tagtopic.explore.service import create_app
from tagtopic.tagging.audit import TagReport

FORMATS = Path(__file__).parents[1] / "formats"
PAGES = ("/", "/topics/0", "/tags", "/tags/0", "/documents", "/documents/3", "/try", "/audit", "/compare")


@pytest.fixture(scope="module")
def client(explorer: Explorer) -> Iterator[TestClient]:
    explorer.warm().join()  # compiles kernels, which may take longer than a request may
    with TestClient(create_app(explorer), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="module")
def bare_client(bare: Explorer) -> Iterator[TestClient]:
    with TestClient(create_app(bare), raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize("path", PAGES)
def test_pages_have_security_headers_and_no_inline_code(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"].startswith("default-src 'self';")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert 'lang="en"' in answer.text
    assert "<h1" in answer.text
    assert "style=" not in answer.text  # the policy would not allow it
    assert "<script>" not in answer.text


def test_pages_show_the_views(client: TestClient, explorer: Explorer) -> None:
    assert "60 documents" in client.get("/").text
    assert "monster" in client.get(f"/tags/{explorer.tag_numbers['author:Mary']}").text
    page = client.get("/documents/3").text
    assert 'class="w c' in page
    assert "letter 3" in page
    assert "author:Ada" in client.get("/tags?query=ada").text
    assert "No tag contains “<bdi>zzz</bdi>”" in client.get("/tags?query=zzz").text
    assert "four topics" in client.get("/compare").text


def test_pages_without_documents_tell_how_to_add_them(bare_client: TestClient) -> None:
    assert bare_client.get("/").status_code == 200
    assert "--corpus" in bare_client.get("/").text
    for path in ("/documents", "/documents/0", "/audit", "/compare"):
        answer = bare_client.get(path)
        assert answer.status_code == 404
        assert "start with --co" in answer.text


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/topics/99", 404), ("/tags/99", 404), ("/documents/99", 404), ("/nowhere", 404), ("/topics/x", 422),
        ("/static/../app.py", 404), ("/static/%2e%2e/app.py", 404), ("/static/app.py", 404), ("/audit/all.csv", 404),
        ("/audit/..%2fentries.csv", 404), ("/api/v1/topics/99", 404), ("/api/v1/tags/no", 404), ("/api/v2/topics", 404),
        ("/api/v1/documents/no", 404), ("/api/v1/tags?limit=0", 422), ("/api/v1/topics/-1", 422), ("/docs", 404),
        ("/tags?page=0", 422), ("/api/v1/tags?query=" + "x" * 2000, 422),
    ],
)  # fmt: skip
def test_invalid_requests_get_an_error_message(client: TestClient, path: str, code: int) -> None:
    answer = client.get(path)
    assert answer.status_code == code
    assert "Traceback" not in answer.text
    if path.startswith("/api/"):
        assert isinstance(answer.json()["detail"], str)
    else:
        assert "Go to the" in answer.text


def test_wrong_http_methods_are_refused(client: TestClient) -> None:
    assert client.delete("/api/v1/topics").status_code == 405
    assert "another method" in client.get("/api/v1/infer").json()["detail"]


def test_api_returns_the_views(client: TestClient, explorer: Explorer) -> None:
    def get(path: str) -> Any:
        answer = client.get(f"/api/v1{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    assert get("/model")["n_topics"] == 3
    assert [topic["topic"] for topic in get("/topics?words=4")] == [t.topic for t in views.overview(explorer).topics]
    assert len(get("/topics?words=4")[0]["words"]) == 4
    assert get("/topics/1")["words"][0]["word"] == explorer.model.top_words(1, 1)[0][0]
    assert get("/tags?query=ada")["tags"][0]["tag"] == "author:Ada"
    assert get("/tags/author:Ada")["number"] == 0
    assert get("/documents?query=letter 59")["documents"][0]["number"] == 59
    assert get("/documents/letter 7")["number"] == 7
    assert get("/audit?n=3")["n_entries"] == 120
    assert get("/compare")["second"]["name"] == "four topics"


def test_api_inference_equals_the_model(client: TestClient, explorer: Explorer) -> None:
    texts, tags = letters(7)
    tags[2] = ["author:Nobody", *tags[2]]
    documents = [{"text": text, "tags": own} for text, own in zip(texts, tags, strict=True)]
    answer = client.post("/api/v1/infer", json={"documents": documents})
    assert answer.status_code == 200
    found = answer.json()["documents"]
    known = [[tag for tag in own if tag != "author:Nobody"] for own in tags]
    mixes = explorer.model.transform(texts, tags=known)
    np.testing.assert_array_equal(np.array([document["topics"] for document in found], np.float32), mixes)
    ranked = explorer.model.rank_tags(texts, tags=known)
    assert [[(t["tag"], t["weight"]) for t in document["tags"]] for document in found] == ranked
    assert found[2]["unknown_tags"] == ["author:Nobody"]
    assert found[0]["known_words"] == 25
    described = client.get("/api/v1/openapi.json").json()["components"]["schemas"]["Inferred"]["properties"]
    assert found[0].keys() == described.keys()


def test_api_similar_documents_equal_the_model(client: TestClient, explorer: Explorer) -> None:
    text = letters(3)[0][1]
    found = client.post("/api/v1/similar-documents", json={"text": text, "n": 3}).json()
    expected = explorer.model.similar_documents(text, explorer.documents, 3)
    assert [(one["id"], one["value"]) for one in found] == expected
    assert [explorer.documents.ids[one["number"]] for one in found] == [id for id, _ in expected]
    refused = client.post("/api/v1/similar-documents", json={"text": "zzz"})
    assert (refused.status_code, "no word and no tag" in refused.json()["detail"]) == (422, True)


def test_api_prediction_equals_the_model(client: TestClient, explorer: Explorer) -> None:
    texts = letters(3)[0]
    request = {"documents": [{"text": text} for text in texts], "n": 2, "kinds": ["author"]}
    found = client.post("/api/v1/predict-tags", json=request).json()["documents"]
    expected = explorer.model.predict_tags(texts, 2, kinds=["author"])
    assert [[(t["tag"], t["probability"]) for t in document["tags"]] for document in found] == expected
    tagged = {**request, "kinds": None, "given": "own", "exclude": ["year:"], "reasons": True}
    tagged["documents"] = [{"text": text, "tags": [expected[i][0][0], "author:?"]} for i, text in enumerate(texts)]
    for i, document in enumerate(client.post("/api/v1/predict-tags", json=tagged).json()["documents"]):
        tags = [t["tag"] for t in document["tags"]]
        assert expected[i][0][0] not in tags
        assert not any(tag.startswith("year:") for tag in tags)
        assert [reason["tag"] for reason in document["reasons"]] == tags
        assert document["unknown_tags"] == ["author:?"]
    refused = client.post("/api/v1/predict-tags", json={**request, "kinds": ["nope"]})
    assert (refused.status_code, "no tags of kind 'nope'" in refused.json()["detail"]) == (422, True)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b'{"documents": []}', b'{"documents": [{}]}', b'{"documents": [{"text": 1}]}', b"\xff",
        b'{"documents": [{"text": "a", "other": 1}]}', json.dumps({"documents": [{"text": "a"}] * 257}).encode(),
        json.dumps({"documents": [{"text": "a" * 100_001}]}).encode(), b'{"documents": [{"text": "\\ud800"}]}',
        json.dumps({"documents": [{"text": "a", "tags": ["t"] * 201}]}).encode(), b"[" * 100_000,
    ],
)  # fmt: skip
def test_invalid_bodies_are_refused(client: TestClient, body: bytes) -> None:
    answer = client.post("/api/v1/infer", content=body, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500
    assert isinstance(answer.json()["detail"], str)


def test_try_works_with_and_without_javascript(client: TestClient) -> None:
    page = client.post("/try", data={"text": "A monster at night", "tags": "author:Mary\nauthor:No <b>body</b>\n"})
    assert page.status_code == 200
    assert page.text.startswith("<!doctype html>")
    part = client.post("/try", data={"text": "A monster at night"}, headers={"X-Fragment": "result"})
    assert "<html" not in part.text
    for text in (page.text, part.text, client.get("/try?text=A+monster+at+night").text):
        assert ">monster</span>" in text
    assert "author:No &lt;b&gt;body&lt;/b&gt;" in page.text
    assert "will appear here" in client.post("/try", data={"text": "  "}).text
    assert client.post("/try", data={"text": "a" * 100_001}).status_code == 422
    assert client.post("/try", content=b"&" * 5000).status_code in (200, 422)


def test_the_audit_has_pages(explorer: Explorer, client: TestClient) -> None:
    _ = explorer.audit
    first, last = client.get("/audit").text, client.get("/audit?page=3").text
    assert "The first 50 of 120." in first
    assert "101 to 120 of 120." in last
    assert 'rel="next"' in first
    assert 'rel="next"' not in last
    assert client.get("/audit?page=99").text == last
    assert "kind=&amp;min_documents=3&amp;below=1.0&amp;page=2" in client.get("/audit?min_documents=3").text


def test_audit_runs_in_the_background(explorer: Explorer) -> None:
    asked = Event()

    class Patient(TWDA):
        def audit_tags(self, X: Any, **options: Any) -> TagReport:
            assert asked.wait(60)
            return super().audit_tags(X, **options)

    model = copy(explorer.model)
    model.__class__ = Patient
    fresh = Explorer(model, explorer.corpus)
    with TestClient(create_app(fresh)) as client:
        assert "being audited" in client.get("/audit").text
        assert "is in progress" in client.get("/tags/0").text
        asked.set()
        _ = fresh.audit
        assert "Most suspicious" in client.get("/audit").text


def test_pages_have_distinct_titles(client: TestClient, explorer: Explorer) -> None:
    titles = [re.findall("<title>(.*)</title>", client.get(path).text)[0] for path in PAGES]
    assert len(set(titles)) == len(PAGES)
    assert titles[0] == "letters · tagtopic"
    assert titles[3] == f"{explorer.model.tag_names_[0]} · letters · tagtopic"


def test_page_numbers_beyond_the_last_show_the_last(client: TestClient) -> None:
    assert client.get("/tags?page=999").text == client.get("/tags").text
    assert "letter 59" in client.get("/documents?page=999").text
    assert "no tags of kind “<bdi>nosuch</bdi>”" in client.get("/tags?kind=nosuch").text


def test_documents_with_the_same_id_are_distinguished_by_number(explorer: Explorer) -> None:
    texts, tags = letters()
    twice = Corpus.from_texts(texts, tags, ids=["same"] * len(texts), words=explorer.model.words_)
    shown = Explorer(explorer.model, twice)
    for row in views.audit(shown).entries:
        assert row.entry.tag in twice[row.entry.document_number].tags
    used = {use.document.number for use in views.tag(shown, shown.tag_numbers["author:Mary"]).suspicious or ()}
    assert 0 in used
    with TestClient(create_app(shown), raise_server_exceptions=False) as client:
        assert client.get("/api/v1/documents/same").json()["number"] == 0
        assert client.get("/api/v1/documents/same?number=7").json()["number"] == 7
        assert client.get("/api/v1/documents/same?number=60").status_code == 404


def test_documents_with_blank_ids_are_shown_by_number(explorer: Explorer) -> None:
    texts, tags = letters(6)
    nameless = Corpus.from_texts(texts, tags, ids=["", "  ", *"abcd"], words=explorer.model.words_).with_titles(None)
    with TestClient(create_app(Explorer(explorer.model, nameless))) as client:
        assert "<bdi>document 1</bdi></a>" in client.get("/documents").text
        assert "<bdi>document 0</bdi></h1>" in client.get("/documents/0").text


def test_a_model_fitted_to_counts_cannot_try_texts() -> None:
    model = LDA(2, random_state=0, max_iter=2, progress=False).fit([[2, 0, 1], [0, 3, 1]])
    with TestClient(create_app(Explorer(model, Corpus.from_counts([[1, 0, 0]])))) as client:
        page = client.get("/try").text
        assert "cannot read texts" in page
        assert "<textarea" not in page
        assert 'href="/audit"' not in page
        assert "no tags to audit" in client.get("/audit").text


def test_csv_cells_are_not_formulas(hostile: Explorer) -> None:
    with TestClient(create_app(hostile)) as client:
        answer = client.get("/audit/tags.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    lines = answer.text.splitlines()
    assert lines[0] == "\ufefftag,documents,plausibility,p_value,weight,expected_weight"
    assert any(line.startswith("'=HYPERLINK") for line in lines)
    assert not any(line.startswith("=") for line in lines)


def test_internal_errors_are_not_reported_as_bad_requests(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        return np.linalg.cholesky(np.ones((2, 3)))

    with TestClient(create_app(explorer), raise_server_exceptions=False) as client:
        ask = {"documents": [{"text": "engine"}]}
        assert client.post("/api/v1/infer", json=ask).status_code == 200
        monkeypatch.setattr(Explorer, "infer", broken)
        assert client.post("/api/v1/infer", json=ask).status_code == 500


@pytest.mark.parametrize("with_documents", [False, True])
def test_pages_say_whose_topics_they_show(with_documents: bool) -> None:
    """A model of an earlier version, or from a cluster, lacks the topics of its training documents."""
    model = TWDA.load(FORMATS / "model-1.bin")
    assert not model._has_document_topics
    corpus = Corpus.open(FORMATS / "corpus-1") if with_documents else None
    with TestClient(create_app(Explorer(model, corpus, name="old"))) as old:
        paths = ("/", "/topics/0", "/tags", "/tags/0", "/map", "/try", "/search?query=a")
        pages = {path: old.get(path) for path in paths}
    assert {answer.status_code for answer in pages.values()} == {200}
    of_documents = (
        "share of the topic in their documents",
        "by the topics of their documents",
        "documents of the tag;",
    )
    of_tags = ("in the words assigned to the tag;", "the words assigned to them", "in the words assigned to the tag")
    for path, documents, tags in zip(("/topics/0", "/tags/0", "/map"), of_documents, of_tags, strict=True):
        assert (documents in pages[path].text) == with_documents
        assert (tags in pages[path].text) != with_documents
    assert ("What its documents are about" in pages["/tags/0"].text) == with_documents
