"""The routes of Annif's REST API that its HTTP backend calls, so that a model can be part of an Annif ensemble.

Annif (https://annif.org) names subjects by address. That of a tag is ``urn:tagtopic:`` and its percent-encoded name;
the route ``vocabulary.tsv`` lists them for ``annif load-vocab``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Request
from fastapi.responses import Response

from tagtopic.explore.explorer import NotFoundError
from tagtopic.explore.service.api import TextAndTags, json_response, predict_records, require_texts
from tagtopic.explore.service.execution import BoundedExecutor, Limits
from tagtopic.explore.service.schemas import LIMITS, Document, PredictRequest

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer

PREFIX = "/v1/projects"
MAX_RESULTS = 100
DEFAULT_RESULTS = 10
FORM = "application/x-www-form-urlencoded"


def subject_uri(tag: str) -> str:
    """Return the address of a tag.

    Examples
    --------
    >>> from tagtopic.explore.service.annif import subject_uri
    >>> subject_uri("keyword:science fiction")
    'urn:tagtopic:keyword:science%20fiction'
    """
    return f"urn:tagtopic:{quote(tag, safe=':')}"


def project_id(name: str) -> str:
    """Return the identifier of a model: letters, digits, hyphens and underscores of its name."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "tagtopic"


def router(explorer: Explorer, executor: BoundedExecutor, limits: Limits = LIMITS) -> APIRouter:
    """The routes of one explorer."""
    api = APIRouter(prefix=PREFIX, include_in_schema=False)  # they follow Annif's description
    name = project_id(explorer.name)

    def check(project: str) -> None:
        if project != name:
            raise NotFoundError(f"there is no project {project!r:.100}: it is {name!r}")

    def record() -> dict[str, Any]:
        return {
            "project_id": name,
            "name": explorer.name,
            "language": "und",  # not known
            "backend": {"backend_id": "tagtopic"},
            "vocab": {"vocab_id": name},
            "is_trained": explorer.reads_texts,
            "modification_time": None,
        }

    @api.get("")
    async def projects() -> Response:
        return json_response({"projects": [record()]})

    @api.get("/{project}")
    async def project_information(project: str) -> Response:
        check(project)
        return json_response(record())

    @api.get("/{project}/vocabulary.tsv")
    async def vocabulary(project: str) -> Response:
        check(project)

        def work() -> str:
            names = explorer.model.tag_names_
            return "".join(f"<{subject_uri(tag)}>\t{' '.join(tag.split())}\n" for tag in names)

        return Response(await executor.run(work), media_type="text/tab-separated-values; charset=utf-8")

    @api.post("/{project}/suggest")
    async def suggest(project: str, request: Request) -> Response:
        check(project)
        require_texts(explorer)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
            raise ValueError(f"the body is not a form: expected {FORM} with text, limit and threshold")
        form = _form(await request.body(), limits.body_bytes)
        text = form.get("text", "")[: limits.characters]  # as Annif's own transforms, the beginning of long texts
        limit = int(_number(form, "limit", DEFAULT_RESULTS, 0, 1_000_000))
        threshold = _number(form, "threshold", 0.0, 0.0, 1.0)
        asked = PredictRequest(documents=[Document(text=text)], n=min(max(limit, 1), MAX_RESULTS))
        (found,) = await executor.run(predict_records, explorer, [TextAndTags(text, [])], asked)
        results = [
            {"uri": subject_uri(one["tag"]), "label": one["tag"], "notation": None, "score": one["probability"]}
            for one in found["tags"][:limit]
            if one["probability"] >= threshold
        ]
        return json_response({"results": results})

    return api


def _form(body: bytes, max_bytes: int) -> dict[str, str]:
    """Return the fields of a form."""
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=1000))
    except ValueError:
        raise ValueError(f"the body is not a form of at most {max_bytes:,} bytes in UTF-8") from None


def _number(form: dict[str, str], field: str, default: float, least: float, most: float) -> float:
    try:
        value = float(form[field]) if field in form else default
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise ValueError(f"{field}={form[field]!r:.50}: expected a number from {least:g} to {most:g}")
    return value
