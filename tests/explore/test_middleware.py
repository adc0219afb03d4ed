"""Access tokens, Host headers and the limit on bodies."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from tagtopic.explore import Explorer
from tagtopic.explore.service import create_app
from tagtopic.explore.service.app import address


@pytest.fixture(scope="module")
def client(explorer: Explorer) -> Iterator[TestClient]:
    with TestClient(create_app(explorer), raise_server_exceptions=False) as client:
        yield client


def test_large_bodies_are_refused(client: TestClient) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(100):
            yield b" " * 100_000

    for content in (b" " * 5_000_000, parts()):
        answer = client.post("/api/v1/infer", content=content)
        assert answer.status_code == 413
        assert "larger than 4,000,000 bytes" in answer.json()["detail"]
    claimed = client.post("/api/v1/infer", content=b"{}", headers={"content-length": "nonsense"})
    assert claimed.status_code == 413


def test_requests_need_the_token(explorer: Explorer) -> None:
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
def test_the_printed_address_opens_with_any_token(explorer: Explorer, token: str) -> None:
    with TestClient(create_app(explorer, token=token)) as client:
        printed = urlsplit(address("::1", 80, token))
        assert client.get(f"{printed.path}?{printed.query}").status_code == 200
        assert client.get("/tags").status_code == 200
        client.cookies.clear()
        assert client.get("/tags").status_code == 401


def test_a_foreign_host_header_is_refused_on_loopback(explorer: Explorer) -> None:
    with TestClient(create_app(explorer), base_url="http://evil.example") as client:
        assert client.get("/").status_code == 400
    with TestClient(create_app(explorer, host="0.0.0.0"), base_url="http://name.example") as client:
        assert client.get("/topics/0").status_code == 200
