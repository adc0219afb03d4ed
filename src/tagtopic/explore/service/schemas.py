"""What the API takes, with its limits, and what it gives beside the views."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tagtopic.explore.service.limits import Limits

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
