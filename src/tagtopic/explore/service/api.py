"""The API, version 1: the views as JSON, and inference on texts in batches."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from tagtopic.explore import views
from tagtopic.explore.errors import NothingToShowError
from tagtopic.explore.service import schemas
from tagtopic.explore.service.batching import Batcher
from tagtopic.explore.service.inference import Record, TextAndTags, infer_documents, predict_tags, require_texts
from tagtopic.explore.service.limits import Threads
from tagtopic.explore.views.overview import TopicSummary, topics

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer

PREFIX = "/api/v1"
PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": schemas.Problem, "description": description}
    for code, description in (
        (401, "A token is needed"),
        (404, "There is no such thing"),
        (413, "The body is too large"),
        (422, "The request cannot be understood"),
        (503, "Too many requests at a time, or it took too long"),
    )
}

LongText = Query(max_length=1000)
Limit = Annotated[int, Query(ge=1, le=500, description="How many at most.")]
Offset = Annotated[int, Query(ge=0, le=10_000_000, description="How many to pass over.")]
Name = Annotated[str, Path(max_length=schemas.LIMITS.tag_characters)]


def router(explorer: Explorer, threads: Threads, batcher: Batcher[TextAndTags, Record]) -> APIRouter:
    """The routes of the API for one explorer."""
    api = APIRouter(prefix=PREFIX, responses=PROBLEMS)

    @api.get("/model", tags=["model"])
    async def model() -> views.Overview:
        """The model at a glance: its size, quality, and topics with their places on the map."""
        return await threads.run(views.overview, explorer)

    @api.get("/topics", tags=["topics"])
    async def list_topics(
        words: Annotated[int, Query(ge=1, le=100, description="Words of each topic.")] = 10,
        tags: Annotated[int, Query(ge=0, le=100, description="Tags of each topic.")] = 5,
    ) -> list[TopicSummary]:
        """All topics, largest first."""
        return list(await threads.run(topics, explorer, words, tags))

    @api.get("/topics/{topic}", tags=["topics"])
    async def one_topic(
        topic: Annotated[int, Path(ge=0, le=1_000_000)], n: Annotated[int, Query(ge=1, le=200)] = 20
    ) -> views.TopicView:
        """One topic: words by probability and by lift, tags, documents, share by year."""
        return await threads.run(views.topic, explorer, topic, n)

    @api.get("/tags", tags=["tags"])
    async def list_tags(
        query: Annotated[str, LongText] = "",
        kind: Annotated[str | None, LongText] = None,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> views.TagList:
        """Tags with the query in their name, of one kind if it is given, the most used first."""
        return await threads.run(views.find_tags, explorer, query, kind=kind, limit=limit, offset=offset)

    @api.get("/tags/{tag:path}", tags=["tags"])
    async def one_tag(tag: Name, n: Annotated[int, Query(ge=1, le=200)] = 15) -> views.TagView:
        """One tag by its name: topics, words, similar tags, documents by weight, suspicious uses."""
        if tag not in explorer.tag_numbers:
            raise NothingToShowError("the model has no tag of this name: /api/v1/tags?query=… finds tags")
        return await threads.run(views.tag, explorer, explorer.tag_numbers[tag], n)

    @api.get("/documents", tags=["documents"])
    async def list_documents(
        query: Annotated[str, LongText] = "", limit: Limit = 50, offset: Offset = 0
    ) -> views.DocumentList:
        """Documents with the query in their id, then those that have all its words."""
        return await threads.run(views.find_documents, explorer, query, limit=limit, offset=offset)

    @api.get("/documents/{id:path}", tags=["documents"])
    async def one_document(id: Name, number: Annotated[int | None, Query(ge=0)] = None) -> views.DocumentView:
        """One document by its id: words by topic and tag, tag weights with intervals, predicted missing tags.

        Of documents with the same id it is the first, or the one that has this number.
        """
        ids = explorer.documents.ids
        numbers = await threads.run(lambda: explorer.document_numbers)
        if id not in numbers:
            raise NothingToShowError("there is no document of this id: /api/v1/documents?query=… finds documents")
        if number is not None and (number >= len(ids) or ids[number] != id):
            raise NothingToShowError(f"document number {number} has another id: /api/v1/documents?query=… has both")
        return await threads.run(views.document, explorer, numbers[id] if number is None else number)

    @api.get("/audit", tags=["audit"])
    async def audit(n: Annotated[int, Query(ge=1, le=1000)] = 100) -> views.AuditView:
        """The tags that look out of place, the tags that are noise, the tags that may be one; n of each."""
        return await threads.run(views.audit, explorer, n)

    @api.get("/compare", tags=["model"])
    async def compare() -> views.CompareView:
        """The model and the one that it is compared with."""
        return await threads.run(views.compare, explorer)

    @api.post("/explain", tags=["inference"])
    async def explain(document: schemas.Document) -> views.DocumentView:
        """One text as if it were a document of the corpus: what "try it" shows."""
        require_texts(explorer)
        return await threads.run(views.examine, explorer, document.text, document.tags)

    @api.post("/infer", tags=["inference"], response_model=schemas.InferResponse)
    async def infer(request: schemas.InferRequest) -> Response:
        """Topics and tag weights of texts."""
        require_texts(explorer)
        records = await batcher.run([TextAndTags(d.text, d.tags) for d in request.documents])
        return _json({"documents": records})

    @api.post("/predict-tags", tags=["inference"], response_model=schemas.PredictResponse)
    async def predict(request: schemas.PredictRequest) -> Response:
        """The tags that texts speak for, with calibrated probabilities."""
        require_texts(explorer)
        documents = [TextAndTags(d.text, d.tags) for d in request.documents]
        records = await threads.run(predict_tags, explorer, documents, request.n, request.method, request.kinds)
        return _json({"documents": records})

    return api


def new_batcher(explorer: Explorer) -> Batcher[TextAndTags, Record]:
    """What joins the documents of requests that come at the same time."""
    return Batcher(lambda documents: infer_documents(explorer, documents), schemas.LIMITS)


def _json(value: Any) -> Response:
    """JSON as it is: records are made of plain values, and checking them again would cost more than making them."""
    return Response(json.dumps(value, ensure_ascii=False, separators=(",", ":")), media_type="application/json")
