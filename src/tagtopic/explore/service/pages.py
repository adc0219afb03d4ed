"""The HTML pages: one route per view."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from tagtopic._core.records import csv_chunks
from tagtopic.curation.decisions import UNDO
from tagtopic.curation.queue import KINDS
from tagtopic.explore import views
from tagtopic.explore.explorer import NotFoundError
from tagtopic.explore.rendering import STATIC_FILES, Renderer, document_name, static_file, static_version
from tagtopic.explore.review import ConflictError, require_review
from tagtopic.explore.service.api import PREFIX, require_texts
from tagtopic.explore.service.execution import BoundedExecutor
from tagtopic.explore.service.schemas import LIMITS, Kind
from tagtopic.explore.tables import table_rows
from tagtopic.explore.views.audit import AUDIT_TABLES, AuditFilter, audit_rows

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer
    from tagtopic.explore.review import Review

PAGE_SIZE = 50
MAX_FIELDS = 100
DECIDED_MEANWHILE = "This was decided meanwhile, in another window or by another person; nothing was recorded."
MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

Number = Annotated[int, Path(ge=0, le=1_000_000_000)]
PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]
Search = Annotated[str, Query(max_length=1000)]


class Pages:
    """The pages of one explorer."""

    def __init__(self, explorer: Explorer, executor: BoundedExecutor) -> None:
        self.explorer = explorer
        self.executor = executor
        self.renderer = Renderer(titles=explorer.titles)

    def error_page(self, code: int, message: str) -> str:
        """Render an error with links to pages that exist."""
        return self._page("error", "", code=code, message=message, title=message)

    def router(self) -> APIRouter:
        """The routes, left out of the OpenAPI description."""
        pages = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
        pages.add_api_route("/", self.overview)
        pages.add_api_route("/topics/{number}", self.topic)
        pages.add_api_route("/tags", self.tags)
        pages.add_api_route("/tags/{tag:path}", self.tag)
        pages.add_api_route("/search", self.search)
        pages.add_api_route("/map", self.map)
        pages.add_api_route(f"{PREFIX}/docs", self.api_docs)
        pages.add_api_route("/documents", self.documents)
        pages.add_api_route("/documents/{number}", self.document)
        pages.add_api_route("/try", self.try_text)
        pages.add_api_route("/try", self.try_form, methods=["POST"])
        pages.add_api_route("/audit", self.audit)
        pages.add_api_route("/audit/{part}.csv", self.audit_csv)
        pages.add_api_route("/review", self.review)
        pages.add_api_route("/review", self.review_form, methods=["POST"])
        pages.add_api_route("/compare", self.compare)
        pages.add_api_route("/hierarchy", self.hierarchy)
        pages.add_api_route("/trends", self.trends)
        pages.add_api_route("/effects", self.effects)
        pages.add_api_route("/{name}.csv", self.table_csv)
        pages.add_api_route("/static/{name}", self.static)
        return pages

    async def overview(self) -> HTMLResponse:
        """The model at a glance."""
        return await self._show(
            "overview", "overview", lambda: {"view": views.overview(self.explorer), "groups": self._groups()}
        )

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

    async def tag(self, tag: Annotated[str, Path(max_length=1000)]) -> HTMLResponse:
        """One tag, by its number or its name."""

        def context() -> dict[str, Any]:
            view = views.tag(self.explorer, self._tag_number(tag))
            return {"view": view, "title": view.tag}

        return await self._show("tag", "tags", context)

    def _tag_number(self, tag: str) -> int:
        if tag.isascii() and tag.isdigit() and len(tag) < 10:
            return int(tag)
        if tag not in self.explorer.tag_numbers:
            raise NotFoundError(f"the model has no tag {tag!r:.80}")
        return self.explorer.tag_numbers[tag]

    async def search(self, query: Search = "") -> HTMLResponse:
        """Topics, tags and documents that a query finds."""
        return await self._show("search", "", lambda: {"view": views.find(self.explorer, query), "title": "Search"})

    async def map(self, kind: Search | None = None) -> HTMLResponse:
        """The map of documents, and the heat map of tags and topics."""
        has_points = self.explorer.corpus is not None and len(self.explorer.corpus) > 0
        return await self._show(
            "map",
            "map",
            lambda: {"view": views.heat_map(self.explorer, kind or None), "has_points": has_points, "title": "Maps"},
        )

    async def api_docs(self, request: Request) -> HTMLResponse:
        """The documentation of the API, from its OpenAPI description; nothing is loaded from elsewhere."""
        schema = request.app.openapi()
        address = f"{PREFIX}/openapi.json"
        return await self._show("api_docs", "", lambda: {"schema": schema, "address": address, "title": "API"})

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
        form = await _read_form(request)
        text = form.get("text", "")
        tags = [line.strip() for line in form.get("tags", "").splitlines() if line.strip()]
        if len(text) > LIMITS.characters or len(tags) > LIMITS.tags:
            raise ValueError(f"at most {LIMITS.characters:,} characters and {LIMITS.tags} tags can be tried at a time")
        if _wants_fragment(request):
            html = await self.executor.run(
                lambda: self.renderer.fragment("try_result", **self._try_context(text, tags))
            )
            return HTMLResponse(html)
        return await self._show("try", "try", lambda: self._try_context(text, tags))

    async def audit(
        self,
        order: Literal["both", "random", "sibling"] = "both",
        kind: Annotated[str, Query(max_length=200)] = "",
        min_documents: Annotated[int, Query(ge=0)] = 0,
        below: Annotated[float, Query(ge=0, le=1)] = 1.0,
        page: PageNumber = 1,
    ) -> HTMLResponse:
        """The audit; while it is being computed, a page that reloads itself."""
        explorer = self.explorer
        if explorer.can_audit and not explorer.audit_ready:
            explorer.warm_audit()
            return HTMLResponse(self._page("audit_pending", "audit", refresh=3, title="Audit"))
        shown = AuditFilter(order, [kind] if kind else None, min_documents, below)

        def context() -> dict[str, Any]:
            view = views.audit(explorer, PAGE_SIZE, shown, PAGE_SIZE * (page - 1))
            pages, at = max(-(-view.n_entries // PAGE_SIZE), 1), page
            if at > pages:
                view, at = views.audit(explorer, PAGE_SIZE, shown, PAGE_SIZE * (pages - 1)), pages
            given = {"order": order, "kind": kind, "min_documents": min_documents, "below": below}
            return {"view": view, "page": at, "pages": pages, "query": urlencode(given) + "&", "title": "Audit"}

        return await self._show("audit", "audit", context)

    async def audit_csv(self, part: str) -> Response:
        """One table of the audit as CSV, with all rows."""
        if part not in AUDIT_TABLES:
            raise NotFoundError(f"there is no such part of the audit: there are {', '.join(AUDIT_TABLES)}")
        await self.executor.run(lambda: self.explorer.audit)
        headers = {"Content-Disposition": f'attachment; filename="audit-{part}.csv"'}
        lines = csv_chunks(audit_rows(self.explorer, part), byte_order_mark=True)
        return StreamingResponse(lines, media_type="text/csv", headers=headers)

    async def review(self, kind: Kind | None = None, note: Annotated[str, Query(max_length=20)] = "") -> HTMLResponse:
        """The next question; while the queue is being computed, a page that reloads itself."""
        asked = require_review(self.explorer)
        if not asked.ready:
            asked.start()
            return HTMLResponse(self._page("review_pending", "review", refresh=3, title="Review"))
        message = DECIDED_MEANWHILE if note == "decided" else ""
        return await self._show("review", "review", lambda: self._review_context(kind, message))

    async def review_form(self, request: Request) -> Response:
        """An answer or an undo; then the next question, as a fragment if the script requests one."""
        asked = require_review(self.explorer).require_ready()
        form = await _read_form(request)
        kind = form.get("kind") or None
        if kind is not None and kind not in KINDS:
            raise ValueError(f"there is no kind {kind!r:.40} of question: there are {', '.join(KINDS)}")
        message = await self.executor.run(_answer, asked, form)
        if _wants_fragment(request):
            html = await self.executor.run(
                lambda: self.renderer.fragment("review_content", **self._review_context(kind, message))
            )
            return HTMLResponse(html)
        given = {"kind": kind or "", "note": "decided" if message == DECIDED_MEANWHILE else ""}
        query = urlencode({name: value for name, value in given.items() if value})
        return RedirectResponse("/review" + (f"?{query}" if query else ""), 303)

    async def compare(self) -> HTMLResponse:
        """The comparison of two models."""
        return await self._show(
            "compare", "compare", lambda: {"view": views.compare(self.explorer), "title": "Compare"}
        )

    async def hierarchy(self) -> HTMLResponse:
        """The topics in groups."""
        return await self._show(
            "hierarchy", "hierarchy", lambda: {"view": views.hierarchy(self.explorer), "title": "Groups of topics"}
        )

    async def trends(self, kind: Search | None = None) -> HTMLResponse:
        """Topics over time; while they are being computed, a page that reloads itself."""
        if not await self.executor.run(self.explorer.analyses.start, "trends", kind or None):
            return HTMLResponse(self._page("analysis_pending", "trends", refresh=3, title="Trends"))
        return await self._show(
            "trends", "trends", lambda: {"view": views.trends(self.explorer, kind or None), "title": "Trends"}
        )

    async def effects(self, kind: Search | None = None) -> HTMLResponse:
        """Effects of a kind of tag; while they are being computed, a page that reloads itself."""
        if not await self.executor.run(self.explorer.analyses.start, "effects", kind or None):
            return HTMLResponse(self._page("analysis_pending", "effects", refresh=3, title="Effects"))
        return await self._show(
            "effects", "effects", lambda: {"view": views.effects(self.explorer, kind or None), "title": "Effects"}
        )

    async def table_csv(self, name: str, kind: Search | None = None) -> Response:
        """A table as CSV, with all rows."""
        rows = await self.executor.run(table_rows, self.explorer, name, kind or None)
        headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
        return StreamingResponse(csv_chunks(rows, byte_order_mark=True), media_type="text/csv", headers=headers)

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

    def _groups(self) -> views.HierarchyView | None:
        return None if self.explorer.analyses.hierarchy is None else views.hierarchy(self.explorer)

    def _try_context(self, text: str, tags: list[str]) -> dict[str, Any]:
        form = {"text": text, "tags": tags, "reads_texts": self.explorer.reads_texts, "title": "Try it"}
        if not text.strip():
            return {"view": None, **form}
        require_texts(self.explorer)
        return {"view": views.new_document(self.explorer, text, tags), **form}

    def _review_context(self, kind: str | None, message: str) -> dict[str, Any]:
        return {"view": views.review(require_review(self.explorer), kind), "message": message, "title": "Review"}

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
            has_groups=explorer.analyses.hierarchy is not None,
            has_trends=bool(explorer.analyses.times),
            has_effects=bool(explorer.analyses.kinds),
            has_review=explorer.review is not None,
            assets=static_version(),
            **context,
        )


async def _read_form(request: Request) -> dict[str, str]:
    """The fields of a form, the first of each name."""
    body = (await request.body()).decode(errors="replace")
    try:
        fields = parse_qs(body, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise ValueError(f"the form has more than {MAX_FIELDS} fields") from None
    return {name: values[0] for name, values in fields.items()}


def _wants_fragment(request: Request) -> bool:
    return request.headers.get("x-fragment") == "result"


def _answer(asked: Review, form: dict[str, str]) -> str:
    """Record the answer or the undo of a form, and return what to tell the user."""
    who = form.get("who", "").strip() or None
    if "undo" in form:
        entry = form["undo"]
        undone = next((decision for decision in asked.decisions()[0] if decision.id == entry), None)
        asked.record(UNDO, {"entry": entry}, who=who)
        return "Undone" if undone is None else f"Undone: {undone.what}, {undone.describe()}"
    try:
        decision = asked.answer(
            form.get("candidate", ""),
            form.get("answer", ""),
            correction=form.get("correction"),
            why=form.get("why", "").strip(),
            who=who,
        )
    except ConflictError:
        return DECIDED_MEANWHILE
    return "Skipped" if decision is None else f"Recorded: {decision.what}, {decision.describe()}"


def _paginate(page: int, find: Callable[..., Any]) -> dict[str, Any]:
    """One page of search results; the last page for larger numbers."""
    found = find(limit=PAGE_SIZE, offset=PAGE_SIZE * (page - 1))
    pages = -(-found.total // PAGE_SIZE)
    if page > pages > 0:
        page, found = pages, find(limit=PAGE_SIZE, offset=PAGE_SIZE * (pages - 1))
    return {"view": found, "page": page, "pages": pages}
