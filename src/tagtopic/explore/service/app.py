"""The application: pages and API of one explorer, behind limits and a guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from traceback import walk_tb
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, JSONResponse, Response

from tagtopic._version import __version__
from tagtopic.explore.errors import NothingToShowError
from tagtopic.explore.service import api, pages
from tagtopic.explore.service.guard import Guard, allowed_hosts
from tagtopic.explore.service.limits import BodyLimit, Threads, TooBusyError, TooLongError
from tagtopic.explore.service.schemas import LIMITS

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
