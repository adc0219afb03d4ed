"""Connections of slow clients: they are closed in time, and their number is limited."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from tagtopic.explore import Explorer
from tagtopic.explore.service.app import create_server
from tagtopic.explore.service.execution import Limits

LIMITS = Limits(header_seconds=0.3, body_seconds=0.3, connections=4)
POST = b"POST /api/v1/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n"


@pytest.fixture(scope="module")
def address(explorer: Explorer) -> Iterator[tuple[str, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = create_server(explorer, "127.0.0.1", None, LIMITS)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield listener.getsockname()
        server.should_exit = True
        thread.join()


@contextmanager
def connected(address: tuple[str, int], *sent: bytes) -> Iterator[socket.socket]:
    with socket.create_connection(address, timeout=30) as client:
        for part in sent:
            client.sendall(part)
        yield client


def answer(client: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    received = b""
    try:
        while part := client.recv(1 << 16):
            received += part
    except ConnectionResetError:
        pass
    return received


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"GET / HT"])
def test_a_header_that_does_not_arrive_closes_the_connection(address: tuple[str, int], sent: bytes) -> None:
    with connected(address, sent) as client:
        assert answer(client) == b""


def test_a_second_request_has_the_same_limit(address: tuple[str, int]) -> None:
    request = b"GET /static/icon.svg HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connected(address, request, b"GET /st") as client:
        assert answer(client).startswith(b"HTTP/1.1 200")


def test_a_body_that_does_not_arrive_is_answered_and_closed(address: tuple[str, int]) -> None:
    with connected(address, POST, b"x" * 1_000_000) as client:
        received = answer(client)
    assert received.startswith(b"HTTP/1.1 408")
    assert b"the body did not arrive within 0.3 seconds" in received


def test_the_number_of_connections_is_limited(address: tuple[str, int]) -> None:
    clients = [socket.create_connection(address, timeout=30) for _ in range(12)]
    assert [answer(client) for client in clients] == [b""] * 12
    for client in clients:
        client.close()
    with connected(address, b"GET /static/icon.svg HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n") as client:
        assert answer(client).startswith(b"HTTP/1.1 200")


def test_requests_beyond_the_limit_are_answered_with_an_error(address: tuple[str, int]) -> None:
    waiting = [socket.create_connection(address, timeout=30) for _ in range(4)]
    with connected(address, b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n") as client:
        assert answer(client).startswith(b"HTTP/1.1 503")
    for each in waiting:
        each.close()
