"""The API, version 1: the views as JSON, and inference on texts in batches.

What the API takes, with its limits, and what it gives beside the views.

Inference for the API: many texts at once, on one model, from any thread.
"""

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
from tagtopic.explore.explorer import NothingToShowError
from tagtopic.explore.service.batching import Batcher
from tagtopic.explore.service.limits import Limits, Threads
from tagtopic.explore.views.overview import TopicSummary, topics

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer


LIMITS = Limits()

Text = Annotated[str, Field(max_length=LIMITS.characters, description="A text, as it was written.")]
Tag = Annotated[str, Field(max_length=LIMITS.tag_characters)]


class Problem(BaseModel):
    """What was wrong, in a sentence."""

    detail: str


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Document(_Strict):
    """A text and the tags it carries; tags that the model has never seen are told and left out."""

    text: Text
    tags: list[Tag] = Field(default=[], max_length=LIMITS.tags)


class InferRequest(_Strict):
    """Documents whose topics and tag weights are wanted."""

    documents: list[Document] = Field(min_length=1, max_length=LIMITS.documents)


class TagWeight(BaseModel):
    """A tag and its weight in the document."""

    tag: str
    weight: float


class Inferred(BaseModel):
    """A document's topic mix (one share a topic, by number), its tags by weight, and the share that no tag explains.

    ``known_words`` counts the words that the model knows.
    """

    topics: list[float]
    tags: list[TagWeight]
    no_tag: float
    known_words: int
    unknown_tags: list[str]


class InferResponse(BaseModel):
    """One answer a document, in the order of the documents."""

    documents: list[Inferred]


class PredictRequest(_Strict):
    """Texts whose tags are wanted: ``n`` of each, of some kinds only if ``kinds`` are given."""

    documents: list[Document] = Field(min_length=1, max_length=LIMITS.documents)
    n: int = Field(default=10, ge=1, le=100)
    kinds: list[Tag] | None = Field(default=None, max_length=LIMITS.tags)
    method: Literal["neighbours", "likelihood"] = "neighbours"


class TagProbability(BaseModel):
    """A tag and its probability."""

    tag: str
    probability: float


class Predicted(BaseModel):
    """The most probable tags of a document."""

    tags: list[TagProbability]


class PredictResponse(BaseModel):
    """One answer a document, in the order of the documents."""

    documents: list[Predicted]


Record = dict[str, Any]


@dataclass(frozen=True)
class TextAndTags:
    """A document as the API takes it."""

    text: str
    tags: Sequence[str]


def require_texts(explorer: Explorer) -> None:
    """Raise unless it does."""
    if not explorer.reads_texts:
        raise ValueError("the model cannot read texts: it was trained on counts, or with a tokenizer of its own")


def infer_documents(explorer: Explorer, documents: Sequence[TextAndTags]) -> list[Record]:
    """Topics and tag weights of each document, as JSON records (``schemas.Inferred``)."""
    known = [[tag for tag in document.tags if tag in explorer.tag_numbers] for document in documents]
    corpus = _corpus(explorer, documents, known)
    found = explorer.infer(corpus)
    starts, names = corpus.tags.indptr.tolist(), corpus.tag_names
    lengths = np.asarray(corpus.lengths()).astype(int).tolist()
    records = []
    for i, (mix, latent) in enumerate(zip(found.topics.tolist(), found.latent.tolist(), strict=True)):
        part = slice(starts[i], starts[i + 1])
        own = [names[j] for j in corpus.tags.indices[part]]
        ranked = largest(found.weights.data[part], own, len(own))
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


def predict_tags(
    explorer: Explorer, documents: Sequence[TextAndTags], n: int, method: str, kinds: Sequence[str] | None
) -> list[Record]:
    """The most probable tags of each document (``schemas.Predicted``); tags that they carry are not looked at."""
    corpus = _corpus(explorer, documents, [[] for _ in documents])
    answers = explorer.model.predict_tags(corpus, n, method=method, kinds=kinds)
    return [{"tags": [{"tag": tag, "probability": value} for tag, value in answer]} for answer in answers]


def _corpus(explorer: Explorer, documents: Sequence[TextAndTags], tags: list[list[str]]) -> Corpus:
    model = explorer.model
    texts = [document.text for document in documents]
    return model.aligned(Corpus.from_texts(texts, tags, words=model.words_, rules=model.rules_, n_jobs=1))


PREFIX = "/api/v1"
PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": Problem, "description": description}
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
Name = Annotated[str, Path(max_length=LIMITS.tag_characters)]


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
    async def explain(document: Document) -> views.DocumentView:
        """One text as if it were a document of the corpus: what "try it" shows."""
        require_texts(explorer)
        return await threads.run(views.examine, explorer, document.text, document.tags)

    @api.post("/infer", tags=["inference"], response_model=InferResponse)
    async def infer(request: InferRequest) -> Response:
        """Topics and tag weights of texts."""
        require_texts(explorer)
        records = await batcher.run([TextAndTags(d.text, d.tags) for d in request.documents])
        return _json({"documents": records})

    @api.post("/predict-tags", tags=["inference"], response_model=PredictResponse)
    async def predict(request: PredictRequest) -> Response:
        """Predict the tags of texts, with calibrated probabilities."""
        require_texts(explorer)
        documents = [TextAndTags(d.text, d.tags) for d in request.documents]
        records = await threads.run(predict_tags, explorer, documents, request.n, request.method, request.kinds)
        return _json({"documents": records})

    return api


def new_batcher(explorer: Explorer) -> Batcher[TextAndTags, Record]:
    """What joins the documents of requests that come at the same time."""
    return Batcher(lambda documents: infer_documents(explorer, documents), LIMITS)


def _json(value: Any) -> Response:
    """JSON as it is: records are made of plain values, and checking them again would cost more than making them."""
    return Response(json.dumps(value, ensure_ascii=False, separators=(",", ":")), media_type="application/json")
