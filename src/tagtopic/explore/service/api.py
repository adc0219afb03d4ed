"""The JSON API, version 1: its routes for views, and batched inference on texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from tagtopic._core.arrays import largest
from tagtopic.corpus import Corpus
from tagtopic.explore import views
from tagtopic.explore.explorer import NotFoundError
from tagtopic.explore.review import require_review
from tagtopic.explore.service.execution import Batcher, BoundedExecutor, Limits
from tagtopic.explore.service.schemas import (
    ERROR_RESPONSES,
    LIMITS,
    Answer,
    DecisionList,
    Document,
    InferRequest,
    InferResponse,
    Kind,
    Limit,
    Name,
    NewDecision,
    Offset,
    PredictRequest,
    PredictResponse,
    SearchText,
    SimilarRequest,
)
from tagtopic.explore.views.audit import AuditFilter
from tagtopic.explore.views.items import DocumentValue
from tagtopic.explore.views.overview import TopicSummary, topic_summaries

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer

PREFIX = "/api/v1"

Record = dict[str, Any]


@dataclass(frozen=True)
class TextAndTags:
    """A document of a request."""

    text: str
    tags: Sequence[str]


def require_texts(explorer: Explorer) -> None:
    """Raise unless the model can tokenize texts."""
    if not explorer.reads_texts:
        raise ValueError("the model cannot read texts: it was trained on counts, or with a tokenizer of its own")


def infer_records(explorer: Explorer, documents: Sequence[TextAndTags]) -> list[Record]:
    """Infer topics and tag weights of documents, as JSON records (`Inferred`)."""
    corpus = _corpus(explorer, documents)
    posteriors = explorer.infer(corpus)
    starts, names = corpus.tags.indptr.tolist(), corpus.tag_names
    lengths = np.asarray(corpus.lengths()).astype(int).tolist()
    records = []
    for i, (mix, latent) in enumerate(zip(posteriors.topics.tolist(), posteriors.latent.tolist(), strict=True)):
        row = slice(starts[i], starts[i + 1])
        own = [names[j] for j in corpus.tags.indices[row]]
        ranked = largest(posteriors.weights.data[row], own, len(own))
        records.append(
            {
                "topics": mix,
                "tags": [{"tag": tag, "weight": weight} for tag, weight in ranked],
                "no_tag": latent,
                "known_words": lengths[i],
                "unknown_tags": _unknown_tags(explorer, documents[i]),
            }
        )
    return records


def predict_records(explorer: Explorer, documents: Sequence[TextAndTags], request: PredictRequest) -> list[Record]:
    """Predict tags of documents, as JSON records (`Predicted`); the tags they have are used only if asked for."""
    given = request.given
    corpus = _corpus(explorer, documents, with_tags=given is not None)
    predictions = explorer.model.predict_tags(
        corpus, request.n, method=request.method, kinds=request.kinds, given=given, exclude=request.exclude
    )
    found: list[Record] = [
        {"tags": [{"tag": tag, "probability": value} for tag, value in ranked]} for ranked in predictions
    ]
    if given:
        for document, record in zip(documents, found, strict=True):
            record["unknown_tags"] = _unknown_tags(explorer, document)
    if request.reasons:
        for i, ranked in enumerate(predictions):
            reasons = explorer.model.reasons(corpus[i : i + 1], [tag for tag, _ in ranked], given=given)
            found[i]["reasons"] = [reason.to_record() for reason in reasons]
    return found


def _unknown_tags(explorer: Explorer, document: TextAndTags) -> list[str]:
    return [tag for tag in document.tags if tag not in explorer.tag_numbers]


def _corpus(explorer: Explorer, documents: Sequence[TextAndTags], *, with_tags: bool = True) -> Corpus:
    """Return the documents in the model's words and, unless they are to be left out, known tags."""
    model, known = explorer.model, explorer.tag_numbers
    texts = [document.text for document in documents]
    tags = [[tag for tag in document.tags if with_tags and tag in known] for document in documents]
    return model.aligned(Corpus.from_texts(texts, tags, words=model.words_, rules=model.rules_, n_jobs=1))


def router(explorer: Explorer, executor: BoundedExecutor, batcher: Batcher[TextAndTags, Record]) -> APIRouter:
    """The routes of the API of one explorer."""
    api = APIRouter(prefix=PREFIX, responses=ERROR_RESPONSES)
    _add_topic_routes(api, explorer, executor)
    _add_tag_routes(api, explorer, executor)
    _add_document_routes(api, explorer, executor)
    _add_analysis_routes(api, explorer, executor)
    _add_review_routes(api, explorer, executor)
    _add_inference_routes(api, explorer, executor, batcher)
    return api


def _add_topic_routes(api: APIRouter, explorer: Explorer, executor: BoundedExecutor) -> None:
    """Add the routes of the model, its topics and its comparison with another model."""

    @api.get("/model", tags=["model"])
    async def model() -> views.Overview:
        """A summary of the model: size, quality, fit history, and topics with their coordinates on the map."""
        return await executor.run(views.overview, explorer)

    @api.get("/topics", tags=["topics"])
    async def list_topics(
        words: Annotated[int, Query(ge=1, le=100, description="Number of words per topic.")] = 10,
        tags: Annotated[int, Query(ge=0, le=100, description="Number of tags per topic.")] = 5,
    ) -> list[TopicSummary]:
        """All topics, largest first."""
        return list(await executor.run(topic_summaries, explorer, words, tags))

    @api.get("/topics/{topic}", tags=["topics"])
    async def one_topic(
        topic: Annotated[int, Path(ge=0, le=1_000_000)], n: Annotated[int, Query(ge=1, le=200)] = 20
    ) -> views.TopicView:
        """One topic: words by probability and by lift, tags, documents, similar topics, share by year."""
        return await executor.run(views.topic, explorer, topic, n)

    @api.get("/search", tags=["topics"])
    async def search(query: Annotated[str, SearchText] = "", n: Annotated[int, Query(ge=1, le=50)] = 5) -> views.Found:
        """Topics by name or words, tags by name, and documents by id, title or words; n of each."""
        return await executor.run(views.find, explorer, query, n)

    @api.get("/hierarchy", tags=["topics"])
    async def hierarchy() -> views.HierarchyView:
        """The topics in nested groups, and the whole tree."""
        return await executor.run(views.hierarchy, explorer)

    @api.get("/compare", tags=["model"])
    async def compare() -> views.CompareView:
        """The comparison of the model with a second one."""
        return await executor.run(views.compare, explorer)


def _add_tag_routes(api: APIRouter, explorer: Explorer, executor: BoundedExecutor) -> None:
    """Add the routes of tags."""

    @api.get("/tags", tags=["tags"])
    async def list_tags(
        query: Annotated[str, SearchText] = "",
        kind: Annotated[str | None, SearchText] = None,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> views.TagList:
        """Tags whose name contains the query, of one kind if it is given, most frequent first."""
        return await executor.run(views.find_tags, explorer, query, kind=kind, limit=limit, offset=offset)

    @api.get("/tags/{tag:path}", tags=["tags"])
    async def one_tag(tag: Name, n: Annotated[int, Query(ge=1, le=200)] = 15) -> views.TagView:
        """One tag by name: topics, words, similar tags, documents by weight, suspicious uses."""
        if tag not in explorer.tag_numbers:
            raise NotFoundError("the model has no tag of this name: /api/v1/tags?query=… finds tags")
        return await executor.run(views.tag, explorer, explorer.tag_numbers[tag], n)

    @api.get("/heat-map", tags=["tags"])
    async def heat_map(kind: Annotated[str | None, SearchText] = None) -> views.HeatMap:
        """The most frequent tags, of one kind if it is given, with the mean shares of topics in their documents."""
        return await executor.run(views.heat_map, explorer, kind)


def _add_document_routes(api: APIRouter, explorer: Explorer, executor: BoundedExecutor) -> None:
    """Add the routes of the documents of the corpus."""

    @api.get("/map", tags=["documents"])
    async def document_map() -> views.DocumentMap:
        """Documents as points on a map, near their main topics."""
        return await executor.run(views.document_map, explorer)

    @api.get("/map/tag", tags=["documents"])
    async def documents_with_tag(tag: Annotated[str, SearchText] = "") -> list[int]:
        """The numbers of the documents with a tag."""
        return await executor.run(views.documents_with_tag, explorer, tag)

    @api.get("/documents", tags=["documents"])
    async def list_documents(
        query: Annotated[str, SearchText] = "", limit: Limit = 50, offset: Offset = 0
    ) -> views.DocumentList:
        """Documents whose id contains the query, then those that contain all its words."""
        return await executor.run(views.find_documents, explorer, query, limit=limit, offset=offset)

    @api.get("/documents/{id:path}", tags=["documents"])
    async def one_document(id: Name, number: Annotated[int | None, Query(ge=0)] = None) -> views.DocumentView:
        """One document by id: words with their topics and tags, tag weights with intervals, predicted missing tags.

        Where ids repeat it is the first document with this id, or the one with this number.
        """
        ids = explorer.documents.ids
        numbers = await executor.run(lambda: explorer.document_numbers)
        if id not in numbers:
            raise NotFoundError("there is no document of this id: /api/v1/documents?query=… finds documents")
        if number is not None and (number >= len(ids) or ids[number] != id):
            raise NotFoundError(f"document number {number} has another id: /api/v1/documents?query=… has both")
        return await executor.run(views.document, explorer, numbers[id] if number is None else number)


def _add_analysis_routes(api: APIRouter, explorer: Explorer, executor: BoundedExecutor) -> None:
    """Add the routes of trends, effects, contrasts and the audit of tags."""

    @api.get("/trends", tags=["analysis"])
    async def trends(kind: Annotated[str | None, SearchText] = None) -> views.TrendsView:
        """Topic shares over time with bands, by a kind of tag that is a date; the first one if none is given.

        The status is 503 while they are being computed.
        """
        await executor.run(explorer.analyses.require_ready, "trends", kind or None)
        return await executor.run(views.trends, explorer, kind or None)

    @api.get("/effects", tags=["analysis"])
    async def effects(
        kind: Annotated[str | None, SearchText] = None, n: Annotated[int, Query(ge=1, le=10_000)] = 60
    ) -> views.EffectsView:
        """Effects of a kind of tag on topic shares with intervals, farthest from zero first; n of them.

        The kind is the first one if none is given. The status is 503 while they are being computed.
        """
        await executor.run(explorer.analyses.require_ready, "effects", kind or None)
        return await executor.run(views.effects, explorer, kind or None, n)

    @api.get("/contrast", tags=["analysis"])
    async def contrast(
        first: Annotated[str, SearchText], second: Annotated[str | None, SearchText] = None
    ) -> views.ContrastView:
        """The topics and words that distinguish the documents of a tag from those of another, or from all others."""
        return await executor.run(views.contrast, explorer, first, second or None)

    @api.get("/audit", tags=["audit"])
    async def audit(
        n: Annotated[int, Query(ge=1, le=1000)] = 100,
        order: Literal["both", "random", "sibling"] = "both",
        kind: Annotated[list[str] | None, Query()] = None,
        min_documents: Annotated[int, Query(ge=0)] = 0,
        below: Annotated[float, Query(ge=0, le=1)] = 1.0,
    ) -> views.AuditView:
        """The most suspicious tags on documents, the least plausible tags overall, near-duplicate tags; n of each."""
        return await executor.run(views.audit, explorer, n, AuditFilter(order, kind, min_documents, below))


def _add_review_routes(api: APIRouter, explorer: Explorer, executor: BoundedExecutor) -> None:
    """Add the routes of the review of tags and of the ledger."""

    @api.get("/review", tags=["review"])
    async def review(kind: Kind | None = None) -> views.ReviewView:
        """The review queue: the next question, of one kind if it is given, with its evidence; progress; decisions."""
        return await executor.run(views.review, require_review(explorer).require_ready(), kind)

    @api.post("/review/{key}", tags=["review"])
    async def answer(
        key: Annotated[str, Path(max_length=100)], answer: Answer, kind: Kind | None = None
    ) -> views.ReviewView:
        """Answer a question; a decision is on disk when the response arrives. The response has the next question."""
        asked = require_review(explorer).require_ready()

        def work() -> views.ReviewView:
            asked.answer(key, answer.answer, correction=answer.tag, why=answer.why, who=answer.who)
            return views.review(asked, kind)

        return await executor.run(work)

    @api.get("/decisions", tags=["review"])
    async def list_decisions(limit: Limit = 50, offset: Offset = 0) -> DecisionList:
        """The decisions of the ledger, in their order."""
        asked = require_review(explorer)

        def work() -> DecisionList:
            entries, undone = asked.decisions()
            shown = entries[offset : offset + limit]
            found = [{**entry.to_json(), "undone": entry.id in undone} for entry in shown]
            return DecisionList(total=len(entries), decisions=found)

        return await executor.run(work)

    @api.post("/decisions", tags=["review"], status_code=201)
    async def record(decision: NewDecision) -> dict[str, Any]:
        """Record a decision of any kind (an undo too); it is on disk when the response arrives."""
        asked = require_review(explorer)
        fields = decision.model_dump(exclude={"what", "who", "why"}, exclude_none=True)
        made = await executor.run(asked.record, decision.what, fields, why=decision.why, who=decision.who)
        return made.to_json()


def _add_inference_routes(
    api: APIRouter, explorer: Explorer, executor: BoundedExecutor, batcher: Batcher[TextAndTags, Record]
) -> None:
    """Add the routes that analyse texts."""

    @api.post("/similar-documents", tags=["inference"])
    async def similar(request: SimilarRequest) -> list[DocumentValue]:
        """The documents whose topics are most similar to those of a text, by 1 - Hellinger distance."""
        require_texts(explorer)

        def work() -> list[DocumentValue]:
            corpus = _corpus(explorer, [TextAndTags(request.text, request.tags)])
            if not corpus.counts.nnz and not corpus.tags.nnz:
                raise ValueError("the text has no word and no tag that the model knows")
            return list(views.similar_documents(explorer, explorer.infer(corpus).topics[0], request.n))

        return await executor.run(work)

    @api.post("/explain", tags=["inference"])
    async def explain(document: Document) -> views.DocumentView:
        """One text, analysed like a document of the corpus, as on the page "Try it"."""
        require_texts(explorer)
        return await executor.run(views.new_document, explorer, document.text, document.tags)

    @api.post("/infer", tags=["inference"], response_model=InferResponse)
    async def infer(request: InferRequest) -> Response:
        """Infer topics and tag weights of texts."""
        require_texts(explorer)
        records = await batcher.run([TextAndTags(d.text, d.tags) for d in request.documents])
        return json_response({"documents": records})

    @api.post("/predict-tags", tags=["inference"], response_model=PredictResponse)
    async def predict(request: PredictRequest) -> Response:
        """Predict the tags of texts, with calibrated probabilities."""
        require_texts(explorer)
        documents = [TextAndTags(d.text, d.tags) for d in request.documents]
        records = await executor.run(predict_records, explorer, documents, request)
        return json_response({"documents": records})


def create_batcher(explorer: Explorer, limits: Limits = LIMITS) -> Batcher[TextAndTags, Record]:
    """The batcher of concurrent inference requests."""
    return Batcher(lambda documents: infer_records(explorer, documents), limits)


def json_response(value: Any) -> Response:
    """A response without validation: it would cost more than computing the records of plain values."""
    return Response(json.dumps(value, ensure_ascii=False, separators=(",", ":")), media_type="application/json")
