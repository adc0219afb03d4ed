"""The review queue of the service: questions with their evidence, answers, undo, access, several writers."""

import http.client
import json
import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.explore.conftest import HOSTILE, SUBJECTS
from tests.explore.test_escaping import check

from tagtopic import LDA, Ledger
from tagtopic.curation import Candidate, ReviewQueue
from tagtopic.curation.queue import candidates_of
from tagtopic.explore import Explorer
from tagtopic.explore.review import Review
from tagtopic.explore.service import create_app

TOKEN = {"Authorization": "Bearer sesame"}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "letters.decisions.jsonl", who="Ana")


def reviewed(explorer: Explorer, ledger: Ledger) -> Explorer:
    """The explorer with a ledger; the queue is ready."""
    made = Explorer(explorer.model, explorer.corpus, texts=explorer.texts, name=explorer.name, ledger=ledger)
    made._audit = explorer._audit  # audited once
    assert made.review is not None
    _ = made.review.queue
    return made


def client_of(explorer: Explorer, **settings: Any) -> TestClient:
    app = create_app(explorer, token="sesame")
    return TestClient(app, raise_server_exceptions=False, **{"headers": TOKEN, **settings})


@pytest.fixture
def client(explorer: Explorer, ledger: Ledger) -> Iterator[TestClient]:
    with client_of(reviewed(explorer, ledger)) as client:
        yield client


def question(client: TestClient, kind: str = "suspicious") -> dict[str, Any]:
    asked = client.get("/api/v1/review", params={"kind": kind}).json()["question"]
    assert isinstance(asked, dict)
    return asked


def test_the_queue_is_that_of_the_terminal(client: TestClient, explorer: Explorer, tmp_path: Path) -> None:
    corpus = explorer.documents
    candidates = candidates_of(explorer.audit, explorer.model.predict_tags(corpus, 5), corpus)
    queue = ReviewQueue(candidates, Ledger.open(tmp_path / "other.jsonl"))
    expected = queue.upcoming(9)
    view = client.get("/api/v1/review").json()
    shown = [view["question"], *view["upcoming"]]
    assert [entry["key"] for entry in shown] == [candidate.key for candidate in expected]
    assert [entry["probability"] for entry in shown] == [queue.probability(candidate) for candidate in expected]
    assert (view["left"], view["decided"], view["precision"]) == (queue.n_left, 0, None)


def test_a_question_has_the_words_for_and_against(client: TestClient) -> None:
    asked = question(client)
    assert (asked["document"], asked["tag"]) == ("letter 0", "author:Mary")  # its words are Ada's
    assert set(asked["words_against"]) <= set(SUBJECTS["author:Ada"].split())
    assert len(asked["words_against"]) > 3
    assert asked["tags"] == ["author:Mary", "year:1800"]
    against = {span["text"].lower() for span in asked["text"] if span["evidence"] < 0}
    assert set(asked["words_against"]) <= against
    assert "".join(span["text"] for span in asked["text"]).startswith("Of ")


@pytest.mark.parametrize(
    ("kind", "answer", "expected"),
    [("suspicious", "accept", "tag-wrong"), ("suspicious", "reject", "tag-right"), ("missing", "accept", "tag-add"),
     ("missing", "reject", "tag-reject")],
)  # fmt: skip
def test_answers_are_recorded(client: TestClient, ledger: Ledger, kind: str, answer: str, expected: str) -> None:
    asked = question(client, kind)
    given = {"answer": answer, "why": "it says so", "who": "Ben"}
    response = client.post(f"/api/v1/review/{asked['key']}", json=given, params={"kind": kind})
    assert response.status_code == 200
    view = response.json()
    assert view["decided"] == 1
    assert view["precision"] == float(answer == "accept")
    assert view["question"] is None or view["question"]["key"] != asked["key"]
    ledger.refresh()
    (entry,) = ledger.entries
    assert (entry.what, entry.who, entry.why) == (expected, "Ben", "it says so")
    assert entry.fields == {"document": asked["document"], "tag": asked["tag"]}
    assert view["recent"][0]["id"] == entry.id


def test_a_correction_replaces_the_tag(client: TestClient, ledger: Ledger) -> None:
    asked = question(client)
    path = f"/api/v1/review/{asked['key']}"
    for tag, message in [
        ("author:Nobody", "neither the model nor"),
        (" ", "is missing"),
        ("author:Mary", "in question"),
    ]:
        refused = client.post(path, json={"answer": "correct", "tag": tag})
        assert refused.status_code == 422
        assert message in refused.json()["detail"]
    assert client.post(path, json={"answer": "correct"}).status_code == 422
    assert not ledger.refresh()
    assert client.post(path, json={"answer": "correct", "tag": "author:Ada"}).status_code == 200
    ledger.refresh()
    assert [entry.what for entry in ledger] == ["tag-add", "tag-wrong"]
    assert ledger.state.corrected_tags("letter 0", ["author:Mary"]) == ["author:Ada"]


def test_a_decided_question_is_not_decided_again(client: TestClient, ledger: Ledger) -> None:
    asked = question(client)
    path = f"/api/v1/review/{asked['key']}"
    ledger.record("tag-right", document=asked["document"], tag=asked["tag"])  # by another process
    refused = client.post(path, json={"answer": "accept"})
    assert refused.status_code == 409
    assert "decided meanwhile" in refused.json()["detail"]
    assert client.post("/api/v1/review/0123", json={"answer": "accept"}).status_code == 409
    assert question(client)["key"] != asked["key"]
    assert len(Ledger.open(ledger.path)) == 1


def test_skipped_questions_come_last_and_undone_ones_again(client: TestClient, ledger: Ledger) -> None:
    first = question(client)
    skipped = client.post(f"/api/v1/review/{first['key']}", json={"answer": "skip"}).json()
    assert skipped["decided"] == 0
    second = question(client)
    assert second["key"] != first["key"]
    client.post(f"/api/v1/review/{second['key']}", json={"answer": "accept"})
    ledger.refresh()
    undo = client.post("/api/v1/decisions", json={"what": "undo", "entry": ledger.entries[0].id})
    assert undo.status_code == 201
    assert question(client)["key"] == second["key"]
    assert client.get("/api/v1/review").json()["recent"] == []


def test_decisions_of_any_kind_are_recorded_and_listed(client: TestClient, explorer: Explorer, ledger: Ledger) -> None:
    given: list[dict[str, Any]] = [
        {"what": "tags-merge", "canonical": "author:Mary Shelley", "variants": ["author:Mary"]},
        {"what": "topic-rename", "topic": 1, "name": "Weather", "why": "storms"},
        {"what": "topic-merge", "topics": [0, 2]},
        {"what": "words-ban", "words": ["letter"]},
    ]
    for decision in given:
        assert client.post("/api/v1/decisions", json=decision).status_code == 201
    listed = client.get("/api/v1/decisions", params={"limit": 2, "offset": 1}).json()
    assert listed["total"] == 4
    assert [entry["what"] for entry in listed["decisions"]] == ["topic-rename", "topic-merge"]
    assert listed["decisions"][0]["who"] == "Ana"
    ledger.refresh()
    assert ledger.entries[1].fields["topic"] == explorer.model.topic_reference(1)
    assert ledger.state.canonical == {"author:Mary": "author:Mary Shelley"}


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        ({"what": "tag-eat", "document": "1", "tag": "a"}, "there is no decision"),
        ({"what": "tag-wrong", "document": "1"}, 'needs "tag"'),
        ({"what": "tag-wrong", "document": "1", "tag": "a", "name": "x"}, "has no field"),
        ({"what": "tag-wrong", "document": "1", "tag": "x" * 10_001}, "10000 characters"),
        ({"what": "tag-wrong", "document": "1", "tag": "\ud800"}, ""),
        ({"what": "tag-wrong", "document": "1", "tag": 7}, "tag"),
        ({"what": "undo", "entry": "no such id"}, "no earlier decision"),
        ({"what": "topic-hide", "topic": 99}, "99"),
        ({"what": "words-ban", "words": ["w"] * 10_001}, "10000 items"),
        ({"what": "words-ban", "words": []}, "0 items"),
        ({"id": "mine", "what": "words-ban", "words": ["a"]}, "id"),
        ([], ""),
    ],
)
def test_invalid_decisions_record_nothing(client: TestClient, ledger: Ledger, decision: Any, message: str) -> None:
    response = client.post(
        "/api/v1/decisions", content=json.dumps(decision), headers={"Content-Type": "application/json"}
    )
    assert response.status_code == 422
    assert message in response.json()["detail"]
    assert not ledger.path.exists() or not ledger.path.read_bytes()


def test_writes_need_the_token(explorer: Explorer, ledger: Ledger) -> None:
    made = reviewed(explorer, ledger)
    with pytest.raises(ValueError, match="needs a token"):
        create_app(made)
    decision = {"what": "words-ban", "words": ["letter"]}
    with client_of(made, headers={}) as client:
        assert client.post("/api/v1/decisions", json=decision).status_code == 401
        assert client.post("/review", data={"undo": "x"}).status_code == 401
        assert client.get("/review").status_code == 401
    assert not ledger.path.exists()


def test_a_cookie_does_not_let_other_origins_write(explorer: Explorer, ledger: Ledger) -> None:
    decision = {"what": "words-ban", "words": ["letter"]}
    with client_of(reviewed(explorer, ledger), headers={}) as client:
        assert client.get("/review?token=sesame").status_code == 200  # sets the cookie
        foreign: list[dict[str, str]] = [
            {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://testserver:8100"},
            {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site", "Origin": "http://testserver"},
        ]  # fmt: skip
        for headers in foreign:
            for path in ("/api/v1/decisions", "/review"):
                refused = client.post(path, json=decision, headers=headers)
                assert refused.status_code == 403
                assert "another origin" in refused.json()["detail"]
        assert not ledger.path.exists()
        own: list[dict[str, str]] = [
            {"Origin": "http://testserver"}, {"Sec-Fetch-Site": "same-origin", "Origin": "null"}, {},
        ]  # fmt: skip
        for headers in own:
            assert client.post("/api/v1/decisions", json=decision, headers=headers).status_code == 201


def test_many_writers_lose_nothing(client: TestClient, ledger: Ledger) -> None:
    def write(number: int) -> int:
        decision = {"what": "tag-add", "document": str(number), "tag": "author:Ada"}
        if number % 3:
            return client.post("/api/v1/decisions", json=decision).status_code
        Ledger.open(ledger.path).record("tag-add", document=str(number), tag="author:Ada")
        return 201

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(write, range(60))) == {201}
    assert set(Ledger.open(ledger.path).state.verdicts) == {str(number) for number in range(60)}


def test_of_two_windows_with_one_question_only_one_decides(client: TestClient, ledger: Ledger) -> None:
    path = f"/api/v1/review/{question(client)['key']}"
    with ThreadPoolExecutor(6) as pool:
        codes = list(pool.map(lambda _: client.post(path, json={"answer": "accept"}).status_code, range(6)))
    assert sorted(codes) == [200] + [409] * 5
    assert len(Ledger.open(ledger.path)) == 1


def test_a_ledger_that_cannot_be_used_is_reported(client: TestClient, ledger: Ledger) -> None:
    decision = {"what": "words-ban", "words": ["letter"]}
    key = question(client)["key"]
    ledger.path.write_text('{"id": "a", "what": "nonsense"}\n')
    for response in (
        client.post("/api/v1/decisions", json=decision),
        client.post(f"/api/v1/review/{key}", json={"answer": "accept"}),
        client.get("/review"),
    ):
        assert response.status_code == 503
        assert "line 1" in response.text
    assert ledger.path.read_text() == '{"id": "a", "what": "nonsense"}\n'
    ledger.path.unlink()
    ledger.path.mkdir()
    response = client.post("/api/v1/decisions", json=decision)
    assert response.status_code == 503
    assert "Is a directory" in response.json()["detail"]
    ledger.path.rmdir()
    assert client.post("/api/v1/decisions", json=decision).status_code == 201


def test_the_page_asks_records_and_undoes_without_a_script(client: TestClient, ledger: Ledger) -> None:
    page = client.get("/review?kind=suspicious").text
    assert "Is <a" in page
    assert "letter 0" in page
    assert 'aria-current="page"' in page
    asked = question(client)
    form = {"candidate": asked["key"], "kind": "suspicious", "answer": "accept", "who": "Ben", "why": " "}
    sent = client.post("/review", data=form, follow_redirects=False)
    assert (sent.status_code, sent.headers["location"]) == (303, "/review?kind=suspicious")
    ledger.refresh()
    assert [(entry.what, entry.who, entry.why) for entry in ledger] == [("tag-wrong", "Ben", "")]
    again = client.post("/review", data=form)
    assert "decided meanwhile" in again.text
    assert len(Ledger.open(ledger.path)) == 1
    undone = client.post("/review", data={"undo": ledger.entries[0].id}, headers={"X-Fragment": "result"})
    assert "Undone: tag-wrong" in undone.text
    assert "<html" not in undone.text
    assert question(client)["key"] == asked["key"]
    assert client.post("/review", data={"undo": "nothing"}).status_code == 422
    assert client.post("/review", data={**form, "answer": "perhaps"}).status_code == 422
    assert client.post("/review", data={**form, "kind": "no kind"}).status_code == 422


def test_nothing_left_to_decide(client: TestClient, ledger: Ledger) -> None:
    while (asked := client.get("/api/v1/review").json()["question"]) is not None:
        what, tags = "tag-right" if asked["kind"] == "suspicious" else "tag-reject", asked["tags"]
        assert isinstance(tags, list)
        ledger.record(what, document=asked["document"], tag=asked["tag"])
    assert "Nothing left to decide" in client.get("/review").text


def test_without_a_ledger_there_is_no_review(explorer: Explorer) -> None:
    with TestClient(create_app(explorer), raise_server_exceptions=False) as client:
        assert "/review" not in client.get("/").text
        requests = [client.get("/review"), client.get("/api/v1/review"), client.get("/api/v1/decisions")]
        requests.append(client.post("/api/v1/decisions", json={"what": "words-ban", "words": ["a"]}))
        for response in requests:
            assert response.status_code == 404
            assert "--ledger" in response.text


def test_a_review_needs_tags(explorer: Explorer, ledger: Ledger) -> None:
    model = LDA(2, random_state=0, max_iter=2, progress=False).fit(explorer.documents)
    for made in (Explorer(model, explorer.documents), Explorer(explorer.model)):
        with pytest.raises(ValueError, match="a review needs tagged documents"):
            Review(made, ledger)


def test_the_queue_is_computed_in_the_background(explorer: Explorer, ledger: Ledger) -> None:
    made = Explorer(explorer.model, explorer.corpus, ledger=ledger)
    assert made.review is not None
    made.review._queue._lock.acquire()  # it is being computed
    with client_of(made) as client:
        assert 'http-equiv="refresh"' in client.get("/review").text
        waiting = client.get("/api/v1/review")
        assert (waiting.status_code, waiting.headers["retry-after"]) == (503, "3")
        made.review._queue._lock.release()
        made.review.start()
        _ = made.review.queue
        assert client.get("/api/v1/review").status_code == 200


def test_hostile_names_are_text(hostile: Explorer, ledger: Ledger) -> None:
    made = reviewed(hostile, ledger)
    with client_of(made) as client:
        for _ in range(len(HOSTILE)):
            page = client.get("/review")
            assert page.status_code == 200
            check(page.text)
            key = client.get("/api/v1/review").json()["question"]["key"]
            form = {"candidate": key, "answer": "accept", "who": HOSTILE[0], "why": HOSTILE[2]}
            answered = client.post("/review", data=form, headers={"X-Fragment": "result"})
            assert answered.status_code == 200
            check(answered.text)


def test_near_duplicates_are_merged_or_named(explorer: Explorer, ledger: Ledger) -> None:
    made = reviewed(explorer, ledger)
    assert made.review is not None
    pairs = [Candidate("duplicate", "author:Mary", 0.5, other="author:Jane"),
             Candidate("duplicate", "year:1800", 0.4, other="year:1801")]  # fmt: skip
    made.review._queue._value = (ReviewQueue(pairs, ledger),)
    with client_of(made) as client:
        page = client.get("/review").text
        assert "one tag?" in page
        assert "monster" in page
        first, second = pairs
        named = {"answer": "correct", "tag": "author:Jane"}
        assert client.post(f"/api/v1/review/{first.key}", json=named).status_code == 200
        assert client.post(f"/api/v1/review/{second.key}", json={"answer": "reject"}).status_code == 200
    assert ledger.state.canonical == {"author:Mary": "author:Jane"}
    assert ledger.state.kept_apart == (("year:1800", "year:1801"),)


def test_after_a_merge_questions_name_the_canonical_tag(client: TestClient, ledger: Ledger) -> None:
    before = question(client)
    assert before["tag"] == "author:Mary"
    ledger.record("tags-merge", canonical="author:Mary Shelley", variants=["author:Mary"])
    after = question(client)
    assert (after["tag"], after["number"]) == (
        "author:Mary Shelley",
        before["number"],
    )  # the model has the variant only
    assert after["tags"] == ["author:Mary Shelley", "year:1800"]
    assert after["words_against"] == before["words_against"]
    page = client.get("/review?kind=suspicious").text
    assert ">author:Mary<" not in page
    assert client.post(f"/api/v1/review/{before['key']}", json={"answer": "accept"}).status_code == 200
    assert ledger.entries[-1].fields == {"document": "letter 0", "tag": "author:Mary Shelley"}


def thousand_decisions() -> list[dict[str, Any]]:
    """Decisions of all kinds; an undo has the position of what it undoes."""
    draw = random.Random(0)
    tags = [f"tag {number}" for number in range(40)]
    made: list[dict[str, Any]] = []
    while len(made) < 1000:
        some = draw.sample(tags, 3)
        on_document = {"document": str(draw.randrange(200)), "tag": some[0]}
        made.append(
            draw.choice(
                [
                    *(
                        {"what": what, **on_document}
                        for what in ("tag-wrong", "tag-right", "tag-add", "tag-reject") * 3
                    ),
                    {"what": "tags-merge", "canonical": some[0], "variants": some[1:]},
                    {"what": "tags-keep-apart", "tags": some[:2]},
                    {"what": "topic-rename", "topic": draw.randrange(3), "name": some[0]},
                    {"what": "topic-hide", "topic": draw.randrange(3)},
                    {"what": "topic-merge", "topics": [0, draw.randrange(1, 3)]},
                    {"what": "words-ban", "words": some},
                    {"what": "topic-seed", "name": some[0], "words": some[1:]},
                    *([{"what": "undo", "entry": draw.randrange(len(made))}] * 2 if made else []),
                ]
            )
        )
    return made


def test_a_thousand_decisions_over_http_amount_to_the_same_as_in_python(
    client: TestClient, explorer: Explorer, ledger: Ledger, tmp_path: Path
) -> None:
    other = Ledger.open(tmp_path / "python.jsonl")
    sent: list[str] = []
    for decision in thousand_decisions():
        fields = {name: value for name, value in decision.items() if name != "what"}
        here, there = dict(fields), dict(fields)
        if decision["what"] == "undo":
            here["entry"], there["entry"] = other.entries[fields["entry"]].id, sent[fields["entry"]]
        for name in {"topic", "topics"} & fields.keys():
            numbers = fields[name] if name == "topics" else [fields[name]]
            topics = [explorer.model.topic_reference(number) for number in numbers]
            here[name] = topics if name == "topics" else topics[0]
        other.record(decision["what"], **here)
        response = client.post("/api/v1/decisions", json={"what": decision["what"], **there})
        assert response.status_code == 201
        sent.append(response.json()["id"])
    reopened = Ledger.open(ledger.path)
    assert [entry.id for entry in reopened] == sent
    states = [replace(opened.state, undone=frozenset()).to_json() for opened in (reopened, other)]
    assert states[0] == states[1]
    undone = [[entry.id in opened.state.undone for entry in opened] for opened in (reopened, other)]
    assert undone[0] == undone[1]
    assert sum(undone[0]) > 50


def start_service(model: Path, documents: Path, ledger: Path) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-c", "from tagtopic.cli.main import run; run()", "serve", str(model), "--corpus",
               str(documents), "--ledger", str(ledger), "--token", "sesame", "--port", "0"]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    found = next(match for line in process.stderr if (match := re.search(r"http://[\d.:]+", line)))
    return process, found[0]


def test_a_killed_service_keeps_what_it_has_acknowledged(explorer: Explorer, tmp_path: Path) -> None:
    model, documents, path = tmp_path / "m.tagtopic", tmp_path / "letters.jsonl", tmp_path / "decisions.jsonl"
    explorer.model.save(model)
    texts = explorer.texts or ()
    rows = [{"id": str(i), "text": text, "tags": ["author:Ada"]} for i, text in enumerate(texts)]
    documents.write_text("".join(json.dumps(row) + "\n" for row in rows))
    acknowledged: list[str] = []
    draw = random.Random(1)
    for how in (signal.SIGKILL, signal.SIGINT):
        process, address = start_service(model, documents, path)
        last = len(acknowledged) + draw.randrange(10, 30)
        once = threading.Lock()  # a second Ctrl-C would end the server without waiting for its requests

        def write(
            name: str,
            process: Any = process,
            address: str = address,
            last: int = last,
            how: Any = how,
            once: Any = once,
        ) -> None:
            connection = http.client.HTTPConnection(address.removeprefix("http://"))
            headers = {**TOKEN, "Content-Type": "application/json"}
            for number in range(100_000):
                decision = {"what": "tag-add", "document": f"{name} {number}", "tag": "é" * 2000}
                try:
                    connection.request("POST", "/api/v1/decisions", json.dumps(decision), headers)
                    response = connection.getresponse()
                    content = response.read()
                except (OSError, http.client.HTTPException):  # it is gone
                    break
                assert response.status == 201
                acknowledged.append(json.loads(content)["id"])
                if len(acknowledged) >= last and once.acquire(blocking=False):
                    process.send_signal(how)  # while the other writer's decision is being recorded
            connection.close()

        with process, ThreadPoolExecutor(2) as pool:
            list(pool.map(write, [f"{how} {writer}" for writer in range(2)]))
            _, errors = process.communicate(timeout=60)
            assert "Traceback" not in errors
    kept = [entry.id for entry in Ledger.open(path)]
    assert set(acknowledged) <= set(kept)
    assert len(kept) <= len(acknowledged) + 4  # at most one per writer was recorded and not answered
