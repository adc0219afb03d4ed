"""The routes that Annif's HTTP backend calls, as it calls them."""

import base64
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from tagtopic.explore import Explorer
from tagtopic.explore.service import create_app
from tagtopic.explore.service.annif import project_id, subject_uri
from tagtopic.explore.service.app import create_server
from tagtopic.explore.service.schemas import LIMITS

TEXT = "Of engine, number, machine and punch card"
ANNIF = os.environ.get("TAGTOPIC_ANNIF", "")
"""The program ``annif`` of an environment of its own (its requirements do not go together with ours)."""


@pytest.fixture(scope="module")
def client(explorer: Explorer) -> Iterator[TestClient]:
    explorer.warm().join()
    with TestClient(create_app(explorer), raise_server_exceptions=False) as client:
        yield client


def test_project_reports_that_it_is_trained(client: TestClient) -> None:
    assert client.get("/v1/projects/letters").json()["is_trained"] is True
    assert [each["project_id"] for each in client.get("/v1/projects").json()["projects"]] == ["letters"]
    assert client.get("/v1/projects/other").status_code == 404
    assert "letters" in client.get("/v1/projects/other").json()["detail"]


def test_suggestions_are_the_predicted_tags(client: TestClient, explorer: Explorer) -> None:
    answer = client.post("/v1/projects/letters/suggest", data={"text": TEXT, "limit": 3, "project": "letters"})
    (expected,) = explorer.model.predict_tags([TEXT], 3)
    results = answer.json()["results"]
    assert [(each["label"], each["score"]) for each in results] == expected
    assert results[0]["uri"] == "urn:tagtopic:author:Ada"
    above = client.post("/v1/projects/letters/suggest", data={"text": TEXT, "threshold": "0.5"}).json()["results"]
    assert [each["label"] for each in above] == [
        tag for tag, p in explorer.model.predict_tags([TEXT], 10)[0] if p >= 0.5
    ]
    assert client.post("/v1/projects/letters/suggest", data={"text": TEXT, "limit": 0}).json()["results"] == []
    assert client.post("/v1/projects/letters/suggest", data={"text": ""}).status_code == 200


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("text=a&limit=many", "application/x-www-form-urlencoded", "limit"),
        ("text=a&threshold=2", "application/x-www-form-urlencoded", "threshold"),
        ("text=a&threshold=nan", "application/x-www-form-urlencoded", "threshold"),
        ("text=%ff", "application/x-www-form-urlencoded", "UTF-8"),
        ('{"text": "a"}', "application/json", "form"),
    ],
)
def test_unusable_requests_are_refused(client: TestClient, body: str, kind: str, message: str) -> None:
    answer = client.post("/v1/projects/letters/suggest", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 422
    assert message in answer.json()["detail"]


def test_vocabulary_has_an_address_for_every_tag(client: TestClient, explorer: Explorer) -> None:
    lines = client.get("/v1/projects/letters/vocabulary.tsv").text.splitlines()
    assert [line.split("\t") for line in lines] == [[f"<{subject_uri(tag)}>", tag] for tag in explorer.model.tag_names_]


def test_addresses_are_unambiguous_without_spaces_and_brackets() -> None:
    tags = ["keyword:a b", "keyword:a%20b", "<x>", "a\tb", "ä", "a\nb"]
    addresses = [subject_uri(tag) for tag in tags]
    assert len(set(addresses)) == len(tags)
    assert all(address.isascii() and not set(address) & set(" <>\t\n") for address in addresses)
    assert project_id("my model (2)") == "my-model-2"
    assert project_id("模型") == "tagtopic"


def test_token_is_accepted_as_the_password_of_an_address(explorer: Explorer) -> None:
    with TestClient(create_app(explorer, token="sésame")) as client:
        form = {"text": TEXT}

        def post(password: str, **headers: str) -> int:
            given = base64.b64encode(f"annif:{password}".encode()).decode()
            headers = {"Authorization": f"Basic {given}", **headers}
            return client.post("/v1/projects/letters/suggest", data=form, headers=headers).status_code

        assert post("sésame") == 200
        assert post("wrong") == post("") == 401
        assert (
            client.post("/v1/projects/letters/suggest", data=form, headers={"Authorization": "Basic ?"}).status_code
            == 401
        )
        # a browser adds a password that it knows to requests of pages of other sites
        assert post("sésame", **{"Sec-Fetch-Site": "cross-site"}) == 403


@pytest.mark.skipif(not ANNIF, reason="TAGTOPIC_ANNIF names no annif program")
def test_annif_itself_suggests_by_the_service(client: TestClient, explorer: Explorer, tmp_path: Path) -> None:
    server = create_server(explorer, "127.0.0.1", None, LIMITS)
    server.config.port = 0
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.05)
        port = server.servers[0].sockets[0].getsockname()[1]
        (tmp_path / "projects.cfg").write_text(
            "[tags]\nname=tags\nlanguage=en\nbackend=http\nvocab=tags\nlimit=5\n"
            f"endpoint=http://127.0.0.1:{port}/v1/projects/letters/suggest\n"
        )
        vocabulary = client.get("/v1/projects/letters/vocabulary.tsv").text
        (tmp_path / "tags.tsv").write_text(vocabulary, encoding="utf-8")

        def annif(*arguments: str, given: str = "") -> str:
            command = [ANNIF, *arguments]
            done = subprocess.run(command, input=given, capture_output=True, text=True, cwd=tmp_path, check=False)
            assert done.returncode == 0, done.stderr
            return done.stdout

        annif("load-vocab", "--language", "en", "tags", "tags.tsv")
        found = [line.split("\t") for line in annif("suggest", "tags", given=TEXT).splitlines()]
    finally:
        server.should_exit = True
        thread.join()
    expected = explorer.model.predict_tags([TEXT], 5)[0]
    assert [line[1] for line in found] == [tag for tag, _ in expected]
    assert [float(line[2]) for line in found] == pytest.approx([p for _, p in expected], abs=1e-4)
    assert found[0][0] == f"<urn:tagtopic:author:{quote('Ada')}>"
