"""The pages: each route asks for a view and shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from tagtopic.explore import views
from tagtopic.explore.csv import csv_pieces
from tagtopic.explore.explorer import NothingToShowError
from tagtopic.explore.rendering import STATIC, Renderer, or_number, static_file, static_version
from tagtopic.explore.service.api import LIMITS, require_texts
from tagtopic.explore.service.limits import Threads
from tagtopic.explore.views.audit import PARTS, audit_rows

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer

PAGE = 50
KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

Number = Annotated[int, Path(ge=0, le=1_000_000_000)]
PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]
Words = Annotated[str, Query(max_length=1000)]


class Pages:
    """The pages of one explorer."""

    def __init__(self, explorer: Explorer, threads: Threads) -> None:
        self.explorer = explorer
        self.threads = threads
        self.renderer = Renderer()

    def problem(self, code: int, sentence: str) -> str:
        """A page that says what is wrong, and where to go from there."""
        return self._page("problem", "", code=code, sentence=sentence, title=sentence)

    def router(self) -> APIRouter:
        """The routes; none of them is part of the API's description."""
        pages = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
        pages.add_api_route("/", self.overview)
        pages.add_api_route("/topics/{number}", self.topic)
        pages.add_api_route("/tags", self.tags)
        pages.add_api_route("/tags/{number}", self.tag)
        pages.add_api_route("/documents", self.documents)
        pages.add_api_route("/documents/{number}", self.document)
        pages.add_api_route("/try", self.try_it)
        pages.add_api_route("/try", self.tried, methods=["POST"])
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

        def make() -> dict[str, Any]:
            view = views.topic(self.explorer, number)
            return {"view": view, "title": f"Topic {number}: {view.name}"}

        return await self._show("topic", "overview", make)

    async def tags(self, query: Words = "", kind: Words | None = None, page: PageNumber = 1) -> HTMLResponse:
        """The tags, or those that were searched for."""

        def make() -> dict[str, Any]:
            found = _at(page, lambda **part: views.find_tags(self.explorer, query, kind=kind or None, **part))
            return {**found, "kinds": self.kinds, "title": "Tags"}

        return await self._show("tags", "tags", make)

    async def tag(self, number: Number) -> HTMLResponse:
        """One tag."""

        def make() -> dict[str, Any]:
            view = views.tag(self.explorer, number)
            return {"view": view, "title": view.tag}

        return await self._show("tag", "tags", make)

    async def documents(self, query: Words = "", page: PageNumber = 1) -> HTMLResponse:
        """The documents, or those that were searched for."""

        def make() -> dict[str, Any]:
            found = _at(page, lambda **part: views.find_documents(self.explorer, query, **part))
            return {**found, "title": "Documents"}

        return await self._show("documents", "documents", make)

    async def document(self, number: Number) -> HTMLResponse:
        """One document."""

        def make() -> dict[str, Any]:
            view = views.document(self.explorer, number)
            return {"view": view, "title": or_number(view.id, number)}

        return await self._show("document", "documents", make)

    async def try_it(
        self,
        text: Annotated[str, Query(max_length=LIMITS.characters)] = "",
        tag: Annotated[list[str], Query(max_length=LIMITS.tags)] = [],  # noqa: B006 FastAPI copies it
    ) -> HTMLResponse:
        """The form, with a result if the address has a text."""
        return await self._show("try", "try", lambda: self._tried(text, tag))

    async def tried(self, request: Request) -> HTMLResponse:
        """The form with the result of what was typed; only the result if a script asks for it."""
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
            made = await self.threads.run(lambda: self.renderer.render("views/tried.html", **self._tried(text, tags)))
            return HTMLResponse(made)
        return await self._show("try", "try", lambda: self._tried(text, tags))

    async def audit(self) -> HTMLResponse:
        """The audit; while it is being made, a page that comes again by itself."""
        explorer = self.explorer
        if explorer.can_audit and not explorer.audit_ready:
            explorer.warm_audit()
            return HTMLResponse(self._page("audit_waits", "audit", refresh=3, title="Audit"))
        return await self._show("audit", "audit", lambda: {"view": views.audit(explorer), "title": "Audit"})

    async def audit_csv(self, part: str) -> Response:
        """All of one part of the audit as a table."""
        if part not in PARTS:
            raise NothingToShowError(f"there is no such part of the audit: there are {', '.join(PARTS)}")
        await self.threads.run(lambda: self.explorer.audit)
        headers = {"Content-Disposition": f'attachment; filename="audit-{part}.csv"'}
        return StreamingResponse(csv_pieces(audit_rows(self.explorer, part)), media_type="text/csv", headers=headers)

    async def compare(self) -> HTMLResponse:
        """Two models side by side."""
        return await self._show(
            "compare", "compare", lambda: {"view": views.compare(self.explorer), "title": "Compare"}
        )

    async def static(self, name: str) -> Response:
        """A style sheet or script; they are in memory, and no other name leads anywhere."""
        if name not in STATIC:
            raise NothingToShowError("there is no such page")
        content = static_file(name)
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(content, media_type=KINDS[name.rpartition(".")[2]], headers=headers)

    @property
    def kinds(self) -> list[str]:
        """The kinds of tags there are."""
        predictor = self.explorer.model.tag_predictor_
        return [] if predictor is None else list(predictor.kind_names_)

    def _tried(self, text: str, tags: list[str]) -> dict[str, Any]:
        typed = {"typed": text, "tags": tags, "reads_texts": self.explorer.reads_texts, "title": "Try it"}
        if not text.strip():
            return {"view": None, **typed}
        require_texts(self.explorer)
        return {"view": views.examine(self.explorer, text, tags), **typed}

    async def _show(self, inside: str, section: str, make: Callable[[], dict[str, Any]]) -> HTMLResponse:
        return HTMLResponse(await self.threads.run(lambda: self._page(inside, section, **make())))

    def _page(self, inside: str, section: str, *, title: str = "", refresh: int | None = None, **context: Any) -> str:
        explorer = self.explorer
        return self.renderer.render(
            "page.html",
            inside=f"views/{inside}.html",
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


def _at(page: int, find: Callable[..., Any]) -> dict[str, Any]:
    """One page of what is found; the last, if there are not so many."""
    found = find(limit=PAGE, offset=PAGE * (page - 1))
    pages = -(-found.total // PAGE)
    if page > pages > 0:
        page, found = pages, find(limit=PAGE, offset=PAGE * (pages - 1))
    return {"view": found, "page": page, "pages": pages}
