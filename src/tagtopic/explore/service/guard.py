"""Who may ask: a token if there is one, the names under which the server may be called, headers against misuse."""

from __future__ import annotations

import hmac
import ipaddress
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, unquote_to_bytes, urlencode

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "tagtopic-token"
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def is_this_machine(host: str) -> bool:
    """Whether a server bound to this address can be reached only from here."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def allowed_hosts(host: str) -> list[str]:
    """The names a browser may call the server by; a page of elsewhere whose name leads here is none of them."""
    return ["localhost", "127.0.0.1", "[::1]", "testserver", host] if is_this_machine(host) else ["*"]


class Guard:
    """Adds the headers to every answer and, if there is a token, asks for it.

    Programs send ``Authorization: Bearer …``. A person opens ``/?token=…`` once: the token becomes a cookie that no
    script can read and no other site can send, and leaves the address.
    """

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self.app = app
        self.token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refusal = None if self.token is None else self._refusal(scope, self.token)
        await (refusal or self.app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope, token: bytes) -> Response | None:
        headers = dict(scope["headers"])
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), token):
            return None
        if hmac.compare_digest(_cookie(headers.get(b"cookie", b"")), token):
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        in_address = [value for name, value in query if name == "token"]
        if scope["method"] == "GET" and in_address and hmac.compare_digest(in_address[-1].encode(), token):
            return _keep(scope["path"], [pair for pair in query if pair[0] != "token"], token)
        sentence = "a token is needed: send it as 'Authorization: Bearer TOKEN', or open /?token=TOKEN in a browser"
        return JSONResponse({"detail": sentence}, 401, {"WWW-Authenticate": "Bearer"})


def _cookie(header: bytes) -> bytes:
    try:
        found = SimpleCookie(header.decode("latin-1")).get(COOKIE)
    except CookieError:
        return b""
    return b"" if found is None else unquote_to_bytes(found.value)


def _keep(path: str, query: list[tuple[str, str]], token: bytes) -> Response:
    # a path that begins with two slashes would lead to another host
    target = "/" + path.lstrip("/") + (f"?{urlencode(query)}" if query else "")
    response = RedirectResponse(target, 303)
    response.set_cookie(COOKIE, quote(token, safe=""), httponly=True, samesite="strict", path="/")
    return response
