"""The application: pages and API of one explorer, behind limits and a guard.

Running the service until it is interrupted.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
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

from tagtopic._version import __version__
from tagtopic.explore.explorer import NothingToShowError
from tagtopic.explore.service import api, pages
from tagtopic.explore.service.api import LIMITS
from tagtopic.explore.service.guard import Guard, allowed_hosts
from tagtopic.explore.service.limits import BodyLimit, Threads, TooBusyError, TooLongError

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer


SENTENCES = {
    404: "there is no such page",
    405: "this cannot be done here: another method is needed",
}


def create_app(explorer: Explorer, *, token: str | None = None, host: str = "127.0.0.1") -> FastAPI:
    """The service of one explorer; with a ``token``, only for those who have it."""
    threads, batcher = Threads(LIMITS), api.new_batcher(explorer)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        threads.close()
        batcher.close()

    app = FastAPI(
        title="tagtopic",
        version=__version__,
        summary="Topics, tags and documents of a tag-weighted topic model",
        openapi_url=f"{api.PREFIX}/openapi.json",
        docs_url=None,  # its page takes scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        middleware=[
            Middleware(Guard, token=token),
            Middleware(TrustedHostMiddleware, allowed_hosts=allowed_hosts(host)),
            Middleware(GZipMiddleware, minimum_size=2000, compresslevel=3),
            Middleware(BodyLimit, most=LIMITS.body_bytes),
        ],
    )
    show = pages.Pages(explorer, threads)
    app.include_router(api.router(explorer, threads, batcher))
    app.include_router(show.router())

    async def answer(request: Request, code: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
        if request.url.path.startswith("/api/"):
            return JSONResponse({"detail": sentence}, code, headers)
        return HTMLResponse(show.problem(code, sentence), code, headers)

    @app.exception_handler(NothingToShowError)
    async def _nothing(request: Request, error: NothingToShowError) -> Response:
        return await answer(request, 404, str(error))

    @app.exception_handler(ValueError)
    async def _bad_value(request: Request, error: ValueError) -> Response:
        if not _is_ours(error):
            raise error
        return await answer(request, 422, str(error))

    @app.exception_handler(RequestValidationError)
    async def _bad_request(request: Request, error: RequestValidationError) -> Response:
        return await answer(request, 422, _first(error))

    @app.exception_handler(TooLongError)
    async def _too_long(request: Request, error: TooLongError) -> Response:
        sentence = f"this took longer than {LIMITS.seconds:g} seconds: ask for less at a time, or again later"
        return await answer(request, 503, sentence, {"Retry-After": "10"})

    @app.exception_handler(TooBusyError)
    async def _too_busy(request: Request, error: TooBusyError) -> Response:
        return await answer(request, 503, "too many requests are waiting: ask again in a moment", {"Retry-After": "1"})

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        sentence = SENTENCES.get(error.status_code, str(error.detail))
        return await answer(request, error.status_code, sentence, dict(error.headers or {}))

    return app


def _is_ours(error: ValueError) -> bool:
    """Whether we raised it: it says what is wrong with a request. A library's is our own mistake."""
    frames = list(walk_tb(error.__traceback__))
    return bool(frames) and frames[-1][0].f_globals.get("__name__", "").startswith("tagtopic.")


def _first(error: RequestValidationError) -> str:
    """The first of what is wrong, and where."""
    found = error.errors()[0]
    where = ".".join(str(part) for part in found["loc"] if not isinstance(part, str) or len(part) < 100)
    return f"{where}: {found['msg']}"


def run(explorer: Explorer, host: str, port: int, token: str | None, tell: Callable[[str], object]) -> None:
    """Serve until Ctrl-C; ``tell`` is given the address once requests are answered."""
    with _listening(host, port) as listener:
        config = uvicorn.Config(create_app(explorer, token=token, host=host), log_level="warning", server_header=False)
        explorer.warm()
        tell(f"{explorer.name} is at {address(host, listener.getsockname()[1], token)} (Ctrl-C ends)")
        uvicorn.Server(config).run(sockets=[listener])


def address(host: str, port: int, token: str | None) -> str:
    """Where a browser finds the pages."""
    shown = f"[{host}]" if ":" in host else host
    query = "" if token is None else f"?token={quote(token, safe='')}"
    return f"http://{shown}:{port}/{query}"


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)  # whoever comes before the first request is answered waits, and is not refused
    except OSError as error:
        listener.close()
        raise OSError(f"{host}:{port} cannot be listened on ({error.strerror or error}): try another --port") from None
    return listener
