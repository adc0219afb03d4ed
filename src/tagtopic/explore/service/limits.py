"""How much one request may ask for, and what happens to one that asks for more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

Result = TypeVar("Result")


@dataclass(frozen=True)
class Limits:
    """What one request may ask for."""

    body_bytes: int = 4_000_000
    documents: int = 256
    characters: int = 100_000
    tags: int = 200
    tag_characters: int = 20_000
    seconds: float = 30.0
    waiting: int = 256


class TooLongError(Exception):
    """The time for a request is over."""


class TooBusyError(Exception):
    """Too many requests are waiting already."""


class Threads:
    """Runs work off the event loop, in a bounded number of threads, for a bounded time."""

    def __init__(self, limits: Limits, n_threads: int = 4) -> None:
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="tagtopic-view")
        self._limits = limits
        self._waiting = 0

    async def run(self, function: Callable[..., Result], *arguments: Any, **named: Any) -> Result:
        """The result; a `TooLongError` when the time is over, though the thread itself goes on to its end."""
        if self._waiting >= self._limits.waiting:
            raise TooBusyError
        self._waiting += 1
        work = asyncio.get_running_loop().run_in_executor(self._pool, partial(function, *arguments, **named))
        try:
            return await asyncio.wait_for(asyncio.shield(work), self._limits.seconds)
        except TimeoutError:
            work.add_done_callback(_forget)
            raise TooLongError from None
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """End the threads when what they do is done."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _forget(work: asyncio.Future[Any]) -> None:
    """Look at the error of work that nobody waits for, so that asyncio does not complain of it."""
    if not work.cancelled():
        work.exception()


class BodyLimit:
    """Refuses bodies that are too large, by what they claim and by what comes."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self.app = app
        self.most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting its bytes."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        claimed = dict(scope["headers"]).get(b"content-length", b"0")
        if not claimed.isdigit() or int(claimed) > self.most:
            await self._refuse(send)
            return
        received, answered = 0, False

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.most:
                raise _TooLargeError
            return message

        async def noted(message: Message) -> None:
            nonlocal answered
            if received <= self.most:  # else it is what the application makes of a body that was cut off
                answered = True
                await send(message)

        try:
            await self.app(scope, counted, noted)
        except _TooLargeError:
            pass
        finally:
            if received > self.most and not answered:
                await self._refuse(send)

    async def _refuse(self, send: Send) -> None:
        sentence = f"the body is larger than {self.most:,} bytes: send fewer or shorter documents at a time"
        body = json.dumps({"detail": sentence}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class _TooLargeError(Exception):
    pass
