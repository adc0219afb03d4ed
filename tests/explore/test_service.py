"""The service answers with the model's own answers, within limits, and never with a traceback."""

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.explore.conftest import letters

from tagtopic import LDA, TWDA, Corpus
from tagtopic.explore import Explorer, views
from tagtopic.explore.service import Limits, create_app
from tagtopic.explore.service.app import address
from tagtopic.explore.service.batching import Batcher
from tagtopic.explore.service.limits import Threads, TooBusyError, TooLongError

Answer = TypeVar("Answer")
PAGES = ("/", "/topics/0", "/tags", "/tags/0", "/documents", "/documents/3", "/try", "/audit", "/compare")


@pytest.fixture(scope="module")
def client(explorer: Explorer) -> Iterator[TestClient]:
    _ = explorer.audit
    with TestClient(create_app(explorer), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="module")
def bare_client(bare: Explorer) -> Iterator[TestClient]:
    with TestClient(create_app(bare), raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_there_and_guarded(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"].startswith("default-src 'self';")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert 'lang="en"' in answer.text
    assert "<h1" in answer.text
    assert "style=" not in answer.text  # the policy would not allow it
    assert "<script>" not in answer.text


def test_pages_show_what_the_views_say(client: TestClient, explorer: Explorer) -> None:
    assert "60 documents" in client.get("/").text
    assert "monster" in client.get(f"/tags/{explorer.tag_numbers['author:Mary']}").text
    page = client.get("/documents/3").text
    assert 'class="w c' in page
    assert "letter 3" in page
    assert "author:Ada" in client.get("/tags?query=ada").text
    assert "No tag has “<bdi>zzz</bdi>”" in client.get("/tags?query=zzz").text
    assert "four topics" in client.get("/compare").text


def test_without_documents_pages_say_what_to_do(bare_client: TestClient) -> None:
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
def test_what_is_wrong_is_said_in_a_sentence(client: TestClient, path: str, code: int) -> None:
    answer = client.get(path)
    assert answer.status_code == code
    assert "Traceback" not in answer.text
    if path.startswith("/api/"):
        assert isinstance(answer.json()["detail"], str)
    else:
        assert "Go to the" in answer.text


def test_a_wrong_method_is_told(client: TestClient) -> None:
    assert client.delete("/api/v1/topics").status_code == 405
    assert "another method" in client.get("/api/v1/infer").json()["detail"]


def test_the_api_gives_the_views(client: TestClient, explorer: Explorer) -> None:
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


def test_inference_is_the_model_s_own(client: TestClient, explorer: Explorer) -> None:
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


def test_prediction_is_the_model_s_own(client: TestClient, explorer: Explorer) -> None:
    texts = letters(3)[0]
    request = {"documents": [{"text": text} for text in texts], "n": 2, "kinds": ["author"]}
    found = client.post("/api/v1/predict-tags", json=request).json()["documents"]
    expected = explorer.model.predict_tags(texts, 2, kinds=["author"])
    assert [[(t["tag"], t["probability"]) for t in document["tags"]] for document in found] == expected
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
def test_bad_bodies_are_refused(client: TestClient, body: bytes) -> None:
    answer = client.post("/api/v1/infer", content=body, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500
    assert isinstance(answer.json()["detail"], str)


def test_large_bodies_are_refused_before_they_are_read(client: TestClient) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(100):
            yield b" " * 100_000

    for content in (b" " * 5_000_000, parts()):
        answer = client.post("/api/v1/infer", content=content)
        assert answer.status_code == 413
        assert "larger than 4,000,000 bytes" in answer.json()["detail"]
    claimed = client.post("/api/v1/infer", content=b"{}", headers={"content-length": "nonsense"})
    assert claimed.status_code == 413


def test_trying_a_text_works_with_and_without_script(client: TestClient) -> None:
    page = client.post("/try", data={"text": "A monster at night", "tags": "author:Mary\nauthor:No <b>body</b>\n"})
    assert page.status_code == 200
    assert page.text.startswith("<!doctype html>")
    part = client.post("/try", data={"text": "A monster at night"}, headers={"X-Fragment": "result"})
    assert "<html" not in part.text
    for text in (page.text, part.text, client.get("/try?text=A+monster+at+night").text):
        assert ">monster</span>" in text
    assert "author:No &lt;b&gt;body&lt;/b&gt;" in page.text
    assert "will be here" in client.post("/try", data={"text": "  "}).text
    assert client.post("/try", data={"text": "a" * 100_001}).status_code == 422
    assert client.post("/try", content=b"&" * 5000).status_code in (200, 422)


def test_the_audit_is_made_in_the_background(explorer: Explorer) -> None:
    fresh = Explorer(explorer.model, explorer.corpus)
    with TestClient(create_app(fresh)) as client:
        assert "being audited" in client.get("/audit").text
        assert "is being made" in client.get("/tags/0").text
        _ = fresh.audit
        assert "Least plausible" in client.get("/audit").text


def test_pages_have_titles_of_their_own(client: TestClient, explorer: Explorer) -> None:
    titles = [re.findall("<title>(.*)</title>", client.get(path).text)[0] for path in PAGES]
    assert len(set(titles)) == len(PAGES)
    assert titles[0] == "letters · tagtopic"
    assert titles[3] == f"{explorer.model.tag_names_[0]} · letters · tagtopic"


def test_a_page_past_the_last_is_the_last(client: TestClient) -> None:
    assert client.get("/tags?page=999").text == client.get("/tags").text
    assert "letter 59" in client.get("/documents?page=999").text
    assert "No tag is of the kind “<bdi>nosuch</bdi>”" in client.get("/tags?kind=nosuch").text


def test_documents_with_one_id_are_told_apart(explorer: Explorer) -> None:
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


def test_what_has_no_name_can_still_be_reached(explorer: Explorer) -> None:
    texts, tags = letters(6)
    nameless = Corpus.from_texts(texts, tags, ids=["", "  ", *"abcd"], words=explorer.model.words_)
    with TestClient(create_app(Explorer(explorer.model, nameless))) as client:
        assert "<bdi>document 1</bdi></a>" in client.get("/documents").text
        assert "<bdi>document 0</bdi></h1>" in client.get("/documents/0").text


def test_a_model_of_counts_says_that_it_reads_no_texts() -> None:
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


def test_a_token_is_asked_for(explorer: Explorer) -> None:
    app = create_app(explorer, token="sésame")
    with TestClient(app) as client:
        assert client.get("/").status_code == 401
        assert client.get("/static/explorer.css").status_code == 401
        assert "a token is needed" in client.get("/api/v1/topics").json()["detail"]
        assert client.get("/api/v1/topics", headers={"Authorization": "Bearer wrong"}).status_code == 401
        right = {b"Authorization": "Bearer sésame".encode()}
        assert client.get("/api/v1/topics", headers=right).status_code == 200
        assert client.get("/?token=wrong").status_code == 401
    with TestClient(create_app(explorer, token="sesame")) as client:
        kept = client.get("http://testserver//evil.example/tags?query=a&token=sesame", follow_redirects=False)
        assert (kept.status_code, kept.headers["location"]) == (303, "/evil.example/tags?query=a")
        assert "HttpOnly" in kept.headers["set-cookie"]
        assert "samesite=strict" in kept.headers["set-cookie"].lower()
        assert client.get("/").status_code == 200


@pytest.mark.parametrize("token", ["a b+c&d;é#%25", "ключ"])
def test_any_token_opens_by_the_address_that_is_told(explorer: Explorer, token: str) -> None:
    with TestClient(create_app(explorer, token=token)) as client:
        told = urlsplit(address("::1", 80, token))
        assert client.get(f"{told.path}?{told.query}").status_code == 200
        assert client.get("/tags").status_code == 200
        client.cookies.clear()
        assert client.get("/tags").status_code == 401


def test_a_foreign_name_for_this_machine_is_refused(explorer: Explorer) -> None:
    with TestClient(create_app(explorer), base_url="http://evil.example") as client:
        assert client.get("/").status_code == 400
    with TestClient(create_app(explorer, host="0.0.0.0"), base_url="http://name.example") as client:
        assert client.get("/topics/0").status_code == 200


def awaited(ask: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
    """What it answers, in a thread of its own: the browser's tests may have left this one a loop that runs."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(ask())).result()


def test_requests_at_the_same_time_are_one_batch() -> None:
    sizes: list[int] = []

    def double(items: list[int]) -> list[int]:
        sizes.append(len(items))
        return [2 * item for item in items]

    async def ask() -> list[list[int]]:
        batcher = Batcher(double, Limits(), most=6)
        return await asyncio.gather(*(batcher.run([i, i]) for i in range(10)))

    assert awaited(ask) == [[2 * i, 2 * i] for i in range(10)]
    assert sum(sizes) == 20
    assert max(sizes) <= 6
    assert len(sizes) < 10


def test_an_error_in_a_batch_reaches_all_who_wait() -> None:
    def fail(items: list[int]) -> list[int]:
        raise ValueError("no")

    async def ask() -> list[BaseException | list[int]]:
        batcher = Batcher(fail, Limits())
        return await asyncio.gather(*(batcher.run([i]) for i in range(3)), return_exceptions=True)

    assert [str(error) for error in awaited(ask)] == ["no"] * 3


def test_time_and_waiting_are_bounded() -> None:
    def slow(items: list[int]) -> list[int]:
        import time

        time.sleep(0.3)
        return items

    async def ask() -> None:
        limits = Limits(seconds=0.05, waiting=1)
        batcher, threads = Batcher(slow, limits), Threads(limits)
        with pytest.raises(TooLongError):
            await batcher.run([1])
        with pytest.raises(TooLongError):
            await threads.run(slow, [1])
        waiting = asyncio.create_task(threads.run(slow, [1]))
        await asyncio.sleep(0)
        with pytest.raises(TooBusyError):
            await threads.run(slow, [1])
        with pytest.raises(TooLongError):
            await waiting

    awaited(ask)


def test_a_mistake_of_ours_is_not_told_as_the_askers(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*_: object) -> object:
        return np.linalg.cholesky(np.ones((2, 3)))

    with TestClient(create_app(explorer), raise_server_exceptions=False) as client:
        ask = {"documents": [{"text": "engine"}]}
        assert client.post("/api/v1/infer", json=ask).status_code == 200
        monkeypatch.setattr(Explorer, "infer", mistaken)
        assert client.post("/api/v1/infer", json=ask).status_code == 500


def test_a_model_with_a_tokenizer_of_its_own_is_made_ready_without_it(tmp_path: Path) -> None:
    corpus = Corpus.from_texts(["steam engine"] * 6, [["a"], ["b"]] * 3, tokenizer=str.split, min_df=1)
    TWDA(2, max_iter=1, progress=False).fit(corpus).save(tmp_path / "own.tagtopic")
    shown = Explorer(TWDA.load(tmp_path / "own.tagtopic"), corpus)
    assert not shown.reads_texts
    shown._warm()
    assert shown.audit_ready
