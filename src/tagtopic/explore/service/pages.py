"""The HTML pages: one route per view."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from tagtopic._core.records import csv_chunks
from tagtopic.explore import views
from tagtopic.explore.explorer import NotFoundError
from tagtopic.explore.rendering import STATIC_FILES, Renderer, document_name, static_file, static_version
from tagtopic.explore.service.api import LIMITS, require_texts
from tagtopic.explore.service.execution import BoundedExecutor
from tagtopic.explore.views.audit import AUDIT_TABLES, audit_rows

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer

PAGE_SIZE = 50
MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

Number = Annotated[int, Path(ge=0, le=1_000_000_000)]
PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]
Search = Annotated[str, Query(max_length=1000)]


class Pages:
    """The pages of one explorer."""

    def __init__(self, explorer: Explorer, executor: BoundedExecutor) -> None:
        self.explorer = explorer
        self.executor = executor
        self.renderer = Renderer()

    def error_page(self, code: int, message: str) -> str:
        """Render an error with links to pages that exist."""
        return self._page("error", "", code=code, message=message, title=message)

    def router(self) -> APIRouter:
        """The routes, left out of the OpenAPI description."""
        pages = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
        pages.add_api_route("/", self.overview)
        pages.add_api_route("/topics/{number}", self.topic)
        pages.add_api_route("/tags", self.tags)
        pages.add_api_route("/tags/{number}", self.tag)
        pages.add_api_route("/documents", self.documents)
        pages.add_api_route("/documents/{number}", self.document)
        pages.add_api_route("/try", self.try_text)
        pages.add_api_route("/try", self.try_form, methods=["POST"])
        pages.add_api_route("/audit", self.audit)
        pages.add_api_route("/audit/{part}.csv", self.audit_csv)
        pages.add_api_route("/compare", self.compare)
        pages.add_api_route("/static/{name}", self.static)
        return pages

    async def overview(self) -> HTMLResponse:
        """The model at a glance."""
        return await self._show("overview", "overview", lambda: {"view": views.overview(self.explorer)})

    async def topic(self, number: Number) -> HTMLResponse:
        """One topic."""

        def context() -> dict[str, Any]:
            view = views.topic(self.explorer, number)
            return {"view": view, "title": f"Topic {number}: {view.name}"}

        return await self._show("topic", "overview", context)

    async def tags(self, query: Search = "", kind: Search | None = None, page: PageNumber = 1) -> HTMLResponse:
        """All tags, or search results."""

        def context() -> dict[str, Any]:
            results = _paginate(page, lambda **part: views.find_tags(self.explorer, query, kind=kind or None, **part))
            return {**results, "kinds": self.kinds, "title": "Tags"}

        return await self._show("tags", "tags", context)

    async def tag(self, number: Number) -> HTMLResponse:
        """One tag."""

        def context() -> dict[str, Any]:
            view = views.tag(self.explorer, number)
            return {"view": view, "title": view.tag}

        return await self._show("tag", "tags", context)

    async def documents(self, query: Search = "", page: PageNumber = 1) -> HTMLResponse:
        """All documents, or search results."""

        def context() -> dict[str, Any]:
            results = _paginate(page, lambda **part: views.find_documents(self.explorer, query, **part))
            return {**results, "title": "Documents"}

        return await self._show("documents", "documents", context)

    async def document(self, number: Number) -> HTMLResponse:
        """One document."""

        def context() -> dict[str, Any]:
            view = views.document(self.explorer, number)
            return {"view": view, "title": document_name(view.id, number)}

        return await self._show("document", "documents", context)

    async def try_text(
        self,
        text: Annotated[str, Query(max_length=LIMITS.characters)] = "",
        tag: Annotated[list[str], Query(max_length=LIMITS.tags)] = [],  # noqa: B006 FastAPI copies it
    ) -> HTMLResponse:
        """The form, with a result if the query has a text."""
        return await self._show("try", "try", lambda: self._try_context(text, tag))

    async def try_form(self, request: Request) -> HTMLResponse:
        """The form with its result; the result alone if the script requests a fragment."""
        body = (await request.body()).decode(errors="replace")
        try:
            form = parse_qs(body, keep_blank_values=True, max_num_fields=100)
        except ValueError:
            raise ValueError("the form has more than 100 fields: it takes two, text and tags") from None
        text = form.get("text", [""])[0]
        tags = [line.strip() for line in form.get("tags", [""])[0].splitlines() if line.strip()]
        if len(text) > LIMITS.characters or len(tags) > LIMITS.tags:
            raise ValueError(f"at most {LIMITS.characters:,} characters and {LIMITS.tags} tags can be tried at a time")
        if request.headers.get("x-fragment") == "result":
            html = await self.executor.run(
                lambda: self.renderer.fragment("try_result", **self._try_context(text, tags))
            )
            return HTMLResponse(html)
        return await self._show("try", "try", lambda: self._try_context(text, tags))

    async def audit(self) -> HTMLResponse:
        """The audit; while it is being computed, a page that reloads itself."""
        explorer = self.explorer
        if explorer.can_audit and not explorer.audit_ready:
            explorer.warm_audit()
            return HTMLResponse(self._page("audit_pending", "audit", refresh=3, title="Audit"))
        return await self._show("audit", "audit", lambda: {"view": views.audit(explorer), "title": "Audit"})

    async def audit_csv(self, part: str) -> Response:
        """One table of the audit as CSV, with all rows."""
        if part not in AUDIT_TABLES:
            raise NotFoundError(f"there is no such part of the audit: there are {', '.join(AUDIT_TABLES)}")
        await self.executor.run(lambda: self.explorer.audit)
        headers = {"Content-Disposition": f'attachment; filename="audit-{part}.csv"'}
        lines = csv_chunks(audit_rows(self.explorer, part), byte_order_mark=True)
        return StreamingResponse(lines, media_type="text/csv", headers=headers)

    async def compare(self) -> HTMLResponse:
        """The comparison of two models."""
        return await self._show(
            "compare", "compare", lambda: {"view": views.compare(self.explorer), "title": "Compare"}
        )

    async def static(self, name: str) -> Response:
        """A static file from memory, by its exact name."""
        if name not in STATIC_FILES:
            raise NotFoundError("there is no such page")
        content = static_file(name)
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(content, media_type=MEDIA_TYPES[name.rpartition(".")[2]], headers=headers)

    @property
    def kinds(self) -> list[str]:
        """The kinds of the model's tags."""
        predictor = self.explorer.model.tag_predictor_
        return [] if predictor is None else list(predictor.kind_names_)

    def _try_context(self, text: str, tags: list[str]) -> dict[str, Any]:
        form = {"text": text, "tags": tags, "reads_texts": self.explorer.reads_texts, "title": "Try it"}
        if not text.strip():
            return {"view": None, **form}
        require_texts(self.explorer)
        return {"view": views.new_document(self.explorer, text, tags), **form}

    async def _show(self, template: str, section: str, context: Callable[[], dict[str, Any]]) -> HTMLResponse:
        return HTMLResponse(await self.executor.run(lambda: self._page(template, section, **context())))

    def _page(self, template: str, section: str, *, title: str = "", refresh: int | None = None, **context: Any) -> str:
        explorer = self.explorer
        return self.renderer.render(
            "page.html",
            content=f"views/{template}.html",
            section=section,
            title=title,
            refresh=refresh,
            name=explorer.name,
            has_documents=explorer.corpus is not None,
            can_audit=explorer.can_audit,
            has_other=explorer.other is not None,
            assets=static_version(),
            **context,
        )


def _paginate(page: int, find: Callable[..., Any]) -> dict[str, Any]:
    """One page of search results; the last page for larger numbers."""
    found = find(limit=PAGE_SIZE, offset=PAGE_SIZE * (page - 1))
    pages = -(-found.total // PAGE_SIZE)
    if page > pages > 0:
        page, found = pages, find(limit=PAGE_SIZE, offset=PAGE_SIZE * (pages - 1))
    return {"view": found, "page": page, "pages": pages}
