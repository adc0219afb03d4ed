"""Access tokens, Host headers and the limit on bodies."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from tagtopic.explore import Explorer
from tagtopic.explore.service import create_app
from tagtopic.explore.service.app import address
from tagtopic.explore.service.middleware import BodyLimitMiddleware, trim_memory


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


def test_bodies_that_arrive_at_the_same_time_have_a_limit_in_all() -> None:
    """The first body is not complete when the second arrives; a third has room once the first is gone."""
    sent: dict[str, list[int]] = {"first": [], "second": [], "third": []}

    async def echo(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def run() -> None:
        limited = BodyLimitMiddleware(echo, max_bytes=100, max_seconds=30, max_total=100)
        half_sent, go_on = asyncio.Event(), asyncio.Event()

        async def request(name: str, *sizes: int) -> None:
            rest = list(sizes)

            async def receive() -> Message:
                size = rest.pop(0)
                if not size:
                    half_sent.set()
                    await go_on.wait()
                return {"type": "http.request", "body": b"x" * size, "more_body": bool(rest)}

            async def send(message: Message) -> None:
                sent[name] += [message["status"]] if "status" in message else []

            await limited({"type": "http", "headers": []}, receive, send)

        first = asyncio.create_task(request("first", 80, 0))
        await half_sent.wait()
        await request("second", 40)
        go_on.set()
        await first
        await request("third", 40)

    with ThreadPoolExecutor(1) as thread:  # browser tests leave an event loop running in this one
        thread.submit(asyncio.run, run()).result()
    assert sent == {"first": [200], "second": [503], "third": [200]}


def test_trimming_memory_is_possible_everywhere() -> None:
    trim_memory()
