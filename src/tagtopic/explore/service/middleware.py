"""ASGI middleware: access token, security headers, and the limits on bodies."""

from __future__ import annotations

import asyncio
import base64
import binascii
import ctypes
import gc
import hmac
import ipaddress
import json
import os
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, unquote_to_bytes, urlencode

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "tagtopic-token"

TRIM_FROM = 16_000_000
"""Bytes of bodies at a time from which their memory is returned to the system afterwards."""

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def is_loopback(host: str) -> bool:
    """Whether a server bound to this address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def allowed_hosts(host: str) -> list[str]:
    """The accepted Host headers: on a loopback address its own names only, against DNS rebinding."""
    return ["localhost", "127.0.0.1", "[::1]", "testserver", host] if is_loopback(host) else ["*"]


class AccessMiddleware:
    """Adds security headers to every response and, if there is a token, requires it.

    Programs send ``Authorization: Bearer …``, or the token as the password of an address (``http://user:TOKEN@…``),
    which is all that Annif's HTTP backend can be given. A browser opens ``/?token=…`` once: the token is moved from the
    address to a cookie that scripts cannot read and that is not sent with cross-site requests. Another port of the same
    host is no other site to a browser, so that requests with the cookie or a password may write only if they come from
    the same origin.
    """

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self.app = app
        self.token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with 401 or a redirect."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        response = None if self.token is None else self._check_token(scope, self.token)
        await (response or self.app)(scope, receive, send_with_headers)

    def _check_token(self, scope: Scope, token: bytes) -> Response | None:
        headers = dict(scope["headers"])
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), token):
            return None
        password = _basic_password(given) if scheme.lower() == b"basic" else b""
        in_cookie = hmac.compare_digest(_token_cookie(headers.get(b"cookie", b"")), token)
        if in_cookie or hmac.compare_digest(password, token):  # browsers add both to requests of other sites
            return None if scope["method"] in SAFE_METHODS or _is_same_origin(headers) else _refuse_origin()
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        in_address = [value for name, value in query if name == "token"]
        if scope["method"] == "GET" and in_address and hmac.compare_digest(in_address[-1].encode(), token):
            return _redirect_with_cookie(scope["path"], [pair for pair in query if pair[0] != "token"], token)
        message = "a token is needed: send it as 'Authorization: Bearer TOKEN', or open /?token=TOKEN in a browser"
        return JSONResponse({"detail": message}, 401, {"WWW-Authenticate": "Bearer"})


def _basic_password(given: bytes) -> bytes:
    try:
        return base64.b64decode(given.strip(), validate=True).partition(b":")[2]
    except binascii.Error:
        return b""


def _is_same_origin(headers: dict[bytes, bytes]) -> bool:
    """Whether a request comes from the service's own pages, or from no browser: browsers send at least one header."""
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site in (b"same-origin", b"none")
    origin = headers.get(b"origin")
    return origin is None or origin.partition(b"://")[2] == headers.get(b"host")


def _refuse_origin() -> Response:
    message = "the request comes from a page of another origin: only the pages of this service may send it"
    return JSONResponse({"detail": message}, 403)


def _token_cookie(header: bytes) -> bytes:
    try:
        cookie = SimpleCookie(header.decode("latin-1")).get(COOKIE)
    except CookieError:
        return b""
    return b"" if cookie is None else unquote_to_bytes(cookie.value)


def _redirect_with_cookie(path: str, query: list[tuple[str, str]], token: bytes) -> Response:
    # a path that begins with two slashes would lead to another host
    target = "/" + path.lstrip("/") + (f"?{urlencode(query)}" if query else "")
    response = RedirectResponse(target, 303)
    response.set_cookie(COOKIE, quote(token, safe=""), httponly=True, samesite="strict", path="/")
    return response


class BodyLimitMiddleware:
    """Refuses bodies above a size, by their Content-Length and by the bytes received, and bodies that take too long.

    The bodies of all requests together have a limit too: those that would exceed it are refused while they arrive.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, max_seconds: float, max_total: int) -> None:
        self.app = app
        self.max_bytes = max_bytes
        self.max_seconds = max_seconds
        self.max_total = max_total
        self._held = 0
        self._most_held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting the bytes of its body and the time until it is complete."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        content_length = dict(scope["headers"]).get(b"content-length", b"0")
        if not content_length.isdigit() or int(content_length) > self.max_bytes:
            await self._refuse_size(send)
            return
        deadline = asyncio.get_running_loop().time() + self.max_seconds
        received, complete, late, full, answered = 0, False, False, False, False

        async def limited_receive() -> Message:
            nonlocal received, complete, late, full
            if complete:  # from now on it waits for the client to disconnect
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                late = True
                raise _BodyRefusedError from None
            size = len(message.get("body", b""))
            received += size
            self._held += size
            self._most_held = max(self._most_held, self._held)
            complete = not message.get("more_body", False)
            full = self._held > self.max_total
            if received > self.max_bytes or full:
                raise _BodyRefusedError
            return message

        async def noting_send(message: Message) -> None:
            nonlocal answered
            if (
                received <= self.max_bytes and not late and not full
            ):  # else it is the application's response to a truncated body
                answered = True
                await send(message)

        try:
            await self.app(scope, limited_receive, noting_send)
        except _BodyRefusedError:
            pass
        finally:
            if received > self.max_bytes and not answered:
                await self._refuse_size(send)
            elif late and not answered:
                await self._refuse_time(send)
            elif full and not answered:
                await _refuse(send, 503, "too many bodies arrive at the same time: try again later")
            self._release(received)

    def _release(self, size: int) -> None:
        """Count the bytes of a body as freed; once there are none, return the memory of many to the system."""
        self._held -= size
        if not self._held and self._most_held > TRIM_FROM:
            self._most_held = 0
            asyncio.get_running_loop().call_later(1.0, trim_memory)  # when the last request is gone

    async def _refuse_size(self, send: Send) -> None:
        message = f"the body is larger than {self.max_bytes:,} bytes: send fewer or shorter documents at a time"
        await _refuse(send, 413, message)

    async def _refuse_time(self, send: Send) -> None:
        await _refuse(send, 408, f"the body did not arrive within {self.max_seconds:g} seconds: send it at once")


async def _refuse(send: Send, status: int, message: str) -> None:
    """Answer, and close the connection: the rest of the body is not read."""
    body = json.dumps({"detail": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def trim_memory() -> None:
    """Return freed memory to the system, where the C library can (glibc); it keeps it otherwise."""
    gc.collect()  # tracebacks of refused requests refer to themselves and to the parts of the bodies
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


class _BodyRefusedError(Exception):
    pass
