"""The application: pages and API of one explorer with middleware and error handlers, and the server that runs it."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from traceback import walk_tb
from typing import TYPE_CHECKING
from urllib.parse import quote

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, JSONResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from tagtopic._version import __version__
from tagtopic.explore.analyses import PendingError
from tagtopic.explore.explorer import NotFoundError
from tagtopic.explore.review import ConflictError, ReviewUnavailableError
from tagtopic.explore.service import annif, api, pages
from tagtopic.explore.service.execution import BoundedExecutor, Limits, QueueFullError, RequestTimeoutError
from tagtopic.explore.service.middleware import AccessMiddleware, BodyLimitMiddleware, allowed_hosts
from tagtopic.explore.service.schemas import LIMITS

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer


MESSAGES = {
    404: "there is no such page",
    405: "this cannot be done here: another method is needed",
}


def create_app(
    explorer: Explorer, *, token: str | None = None, host: str = "127.0.0.1", limits: Limits = LIMITS
) -> FastAPI:
    """Create the web application of an explorer.

    Parameters
    ----------
    explorer : Explorer
        The model and documents to show.
    token : str, optional
        Requests must have this token; without one, none is required. A review of tags, which writes, needs one.
    host : str, default="127.0.0.1"
        The address it will be served on. On a loopback address only its own names are accepted as Host header.
    limits : Limits, default=Limits()
        Limits on requests.

    Returns
    -------
    fastapi.FastAPI
        An ASGI application.

    Raises
    ------
    ValueError
        If the explorer has a review and there is no token.
    """
    if explorer.review is not None and token is None:
        raise ValueError("a service that records decisions needs a token, against requests of other sites")
    executor, batcher = BoundedExecutor(limits), api.create_batcher(explorer, limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        executor.close()
        batcher.close()

    app = FastAPI(
        title="tagtopic",
        version=__version__,
        summary="Topics, tags and documents of a tag-weighted topic model",
        openapi_url=f"{api.PREFIX}/openapi.json",
        docs_url=None,  # it loads scripts from another site
        redoc_url=None,
        lifespan=lifespan,
        middleware=[
            Middleware(AccessMiddleware, token=token),
            Middleware(TrustedHostMiddleware, allowed_hosts=allowed_hosts(host)),
            Middleware(GZipMiddleware, minimum_size=2000, compresslevel=3),
            Middleware(
                BodyLimitMiddleware,
                max_bytes=limits.body_bytes,
                max_seconds=limits.body_seconds,
                max_total=limits.all_body_bytes,
            ),
        ],
    )
    html = pages.Pages(explorer, executor)
    app.include_router(api.router(explorer, executor, batcher))
    app.include_router(annif.router(explorer, executor, limits))
    app.include_router(html.router())

    _add_error_handlers(app, html, limits)
    return app


def _add_error_handlers(app: FastAPI, html: pages.Pages, limits: Limits) -> None:
    """Answer errors in one sentence: as JSON where the path is the API's, as a page elsewhere."""

    async def respond(request: Request, code: int, message: str, headers: dict[str, str] | None = None) -> Response:
        if request.url.path.startswith(("/api/", annif.PREFIX)):
            return JSONResponse({"detail": message}, code, headers)
        return HTMLResponse(html.error_page(code, message), code, headers)

    def answer(
        error_type: type[Exception],
        code: int,
        message: Callable[[Exception], str] = str,
        headers: dict[str, str] | None = None,
    ) -> None:
        async def handler(request: Request, error: Exception) -> Response:
            return await respond(request, code, message(error), headers)

        app.add_exception_handler(error_type, handler)

    async def bad_value(request: Request, error: Exception) -> Response:
        if not _is_own_error(error):
            raise error
        return await respond(request, 422, str(error))

    async def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        message = MESSAGES.get(error.status_code, str(error.detail))
        return await respond(request, error.status_code, message, dict(error.headers or {}))

    too_long = f"this took longer than {limits.seconds:g} seconds: ask for less at a time, or again later"
    too_many = "too many requests are waiting: ask again in a moment"
    answer(NotFoundError, 404)
    answer(ConflictError, 409)
    answer(ReviewUnavailableError, 503, headers={"Retry-After": "3"})
    answer(PendingError, 503, headers={"Retry-After": "3"})
    answer(RequestValidationError, 422, _first_error)
    answer(RequestTimeoutError, 503, lambda _: too_long, {"Retry-After": "10"})
    answer(QueueFullError, 503, lambda _: too_many, {"Retry-After": "1"})
    app.add_exception_handler(ValueError, bad_value)
    app.add_exception_handler(HTTPException, http_error)


def _is_own_error(error: Exception) -> bool:
    """Whether tagtopic raised it: its message is about the request. A library's ValueError is an internal error."""
    frames = list(walk_tb(error.__traceback__))
    return bool(frames) and frames[-1][0].f_globals.get("__name__", "").startswith("tagtopic.")


def _first_error(error: Exception) -> str:
    """The first validation error, with its location."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    location = ".".join(str(part) for part in first["loc"] if not isinstance(part, str) or len(part) < 100)
    return f"{location}: {first['msg']}"


def serve(
    explorer: Explorer,
    host: str,
    port: int,
    token: str | None,
    notify: Callable[[str], object],
    limits: Limits = LIMITS,
) -> None:
    """Serve until Ctrl-C; ``notify`` is called with a message that has the address."""
    with _listen(host, port) as listener:
        server = create_server(explorer, host, token, limits)
        explorer.warm()
        path = "" if explorer.review is None else "review"
        notify(f"{explorer.name} is at {address(host, listener.getsockname()[1], token, path)} (Ctrl-C to stop)")
        with _exit_on_interrupt(server):
            server.run(sockets=[listener])


@contextmanager
def _exit_on_interrupt(server: uvicorn.Server) -> Iterator[None]:
    """Let Ctrl-C end the server and then raise, also before its event loop handles signals.

    An interrupt in between would leave coroutines that were never awaited, or cancel the start of the application, and
    both are printed.
    """
    interrupted = False

    def note(*_: object) -> None:
        nonlocal interrupted
        interrupted = server.should_exit = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupted:
        raise KeyboardInterrupt


def create_server(explorer: Explorer, host: str, token: str | None, limits: Limits) -> uvicorn.Server:
    """Create the server, with limits on connections and on the time that they are open without a request."""
    config = uvicorn.Config(
        create_app(explorer, token=token, host=host, limits=limits),
        http=_limited_protocol(limits),
        limit_concurrency=limits.connections,
        log_level="warning",
        server_header=False,
    )
    return uvicorn.Server(config)


def _limited_protocol(limits: Limits) -> type[H11Protocol]:
    """HTTP connections with a limit on the time until the header of a request is complete, and on their number.

    Uvicorn itself limits the idle time after a response only.
    """

    class Limited(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > 2 * limits.connections:
                transport.abort()
            else:
                self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._stop_watching()

        def handle_events(self) -> None:
            super().handle_events()
            self._watch()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._watch()

        def _watch(self) -> None:
            cycle: RequestResponseCycle | None = self.cycle  # None before the first request
            if cycle is not None and not cycle.response_complete:
                self._stop_watching()
            elif self._deadline is None and not self.transport.is_closing():
                self._deadline = self.loop.call_later(limits.header_seconds, self.transport.abort)

        def _stop_watching(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return Limited


def address(host: str, port: int, token: str | None, path: str = "") -> str:
    """The address to open in a browser."""
    shown = f"[{host}]" if ":" in host else host
    query = "" if token is None else f"?token={quote(token, safe='')}"
    return f"http://{shown}:{port}/{path}{query}"


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)  # early connections wait for the server instead of being refused
    except OSError as error:
        listener.close()
        raise OSError(f"{host}:{port} cannot be listened on ({error.strerror or error}): try another --port") from None
    return listener
