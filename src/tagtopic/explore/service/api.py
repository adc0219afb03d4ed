"""The JSON API, version 1: its schemas, its routes for views, and batched inference on texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from tagtopic._core.arrays import largest
from tagtopic.corpus import Corpus
from tagtopic.explore import views
from tagtopic.explore.explorer import NotFoundError
from tagtopic.explore.service.execution import Batcher, BoundedExecutor, Limits
from tagtopic.explore.views.overview import TopicSummary, topic_summaries

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer

PREFIX = "/api/v1"
LIMITS = Limits()

Record = dict[str, Any]

Text = Annotated[str, Field(max_length=LIMITS.characters, description="Plain text.")]
Tag = Annotated[str, Field(max_length=LIMITS.tag_characters)]


class ErrorDetail(BaseModel):
    """The reason of an error, in a sentence."""

    detail: str


ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    code: {"model": ErrorDetail, "description": description}
    for code, description in (
        (401, "A token is required"),
        (404, "Not found"),
        (413, "The body is too large"),
        (422, "The request is not valid"),
        (503, "Too many requests are waiting, or the request timed out"),
    )
}

SearchText = Query(max_length=1000)
Limit = Annotated[int, Query(ge=1, le=500, description="Maximum number of results.")]
Offset = Annotated[int, Query(ge=0, le=10_000_000, description="Number of results to skip.")]
Name = Annotated[str, Path(max_length=LIMITS.tag_characters)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Document(_Strict):
    """A text and its tags. Tags that are unknown to the model are ignored and reported."""

    text: Text
    tags: list[Tag] = Field(default=[], max_length=LIMITS.tags)


class InferRequest(_Strict):
    """Documents to infer topics and tag weights of."""

    documents: list[Document] = Field(min_length=1, max_length=LIMITS.documents)


class TagWeight(BaseModel):
    """A tag and its weight: the share of the document's words that it explains."""

    tag: str
    weight: float


class Inferred(BaseModel):
    """The posterior of a document: its topic mix (the share of each topic, in the order of their numbers), its tags by
    weight, and the share explained by no tag.

    ``known_words`` is the number of words in the model's vocabulary.
    """

    topic_summaries: list[float]
    tags: list[TagWeight]
    no_tag: float
    known_words: int
    unknown_tags: list[str]


class InferResponse(BaseModel):
    """Posteriors, in the order of the documents."""

    documents: list[Inferred]


class PredictRequest(_Strict):
    """Texts to predict tags of: ``n`` per document, of these ``kinds`` only if they are given."""

    documents: list[Document] = Field(min_length=1, max_length=LIMITS.documents)
    n: int = Field(default=10, ge=1, le=100)
    kinds: list[Tag] | None = Field(default=None, max_length=LIMITS.tags)
    method: Literal["neighbours", "likelihood"] = "neighbours"


class TagProbability(BaseModel):
    """A tag and its calibrated probability."""

    tag: str
    probability: float


class Predicted(BaseModel):
    """The most probable tags of a document."""

    tags: list[TagProbability]


class PredictResponse(BaseModel):
    """Predictions, in the order of the documents."""

    documents: list[Predicted]


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
    known = [[tag for tag in document.tags if tag in explorer.tag_numbers] for document in documents]
    corpus = _corpus(explorer, documents, known)
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
                "unknown_tags": [tag for tag in documents[i].tags if tag not in explorer.tag_numbers],
            }
        )
    return records


def predict_records(
    explorer: Explorer, documents: Sequence[TextAndTags], n: int, method: str, kinds: Sequence[str] | None
) -> list[Record]:
    """Predict tags of documents, as JSON records (`Predicted`); the tags they have are not used."""
    corpus = _corpus(explorer, documents, [[] for _ in documents])
    predictions = explorer.model.predict_tags(corpus, n, method=method, kinds=kinds)
    return [{"tags": [{"tag": tag, "probability": value} for tag, value in ranked]} for ranked in predictions]


def _corpus(explorer: Explorer, documents: Sequence[TextAndTags], tags: list[list[str]]) -> Corpus:
    model = explorer.model
    texts = [document.text for document in documents]
    return model.aligned(Corpus.from_texts(texts, tags, words=model.words_, rules=model.rules_, n_jobs=1))


def router(explorer: Explorer, executor: BoundedExecutor, batcher: Batcher[TextAndTags, Record]) -> APIRouter:
    """The routes of the API of one explorer."""
    api = APIRouter(prefix=PREFIX, responses=ERROR_RESPONSES)

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

    @api.get("/audit", tags=["audit"])
    async def audit(n: Annotated[int, Query(ge=1, le=1000)] = 100) -> views.AuditView:
        """The least plausible tags on documents, the least plausible tags overall, near-duplicate tags; n of each."""
        return await executor.run(views.audit, explorer, n)

    @api.get("/compare", tags=["model"])
    async def compare() -> views.CompareView:
        """The comparison of the model with a second one."""
        return await executor.run(views.compare, explorer)

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
        return _json({"documents": records})

    @api.post("/predict-tags", tags=["inference"], response_model=PredictResponse)
    async def predict(request: PredictRequest) -> Response:
        """Predict the tags of texts, with calibrated probabilities."""
        require_texts(explorer)
        documents = [TextAndTags(d.text, d.tags) for d in request.documents]
        records = await executor.run(predict_records, explorer, documents, request.n, request.method, request.kinds)
        return _json({"documents": records})

    return api


def create_batcher(explorer: Explorer, limits: Limits = LIMITS) -> Batcher[TextAndTags, Record]:
    """The batcher of concurrent inference requests."""
    return Batcher(lambda documents: infer_records(explorer, documents), limits)


def _json(value: Any) -> Response:
    """A response without validation: it would cost more than computing the records of plain values."""
    return Response(json.dumps(value, ensure_ascii=False, separators=(",", ":")), media_type="application/json")
