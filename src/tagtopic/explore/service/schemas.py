"""Requests and responses of the API, and the limits on them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

from tagtopic.curation.decisions import FIELDS, MAX_CHARACTERS, MAX_ITEMS
from tagtopic.explore.service.execution import Limits

LIMITS = Limits()

Text = Annotated[str, Field(max_length=LIMITS.characters, description="Plain text.")]
Tag = Annotated[str, Field(max_length=LIMITS.tag_characters)]


class ErrorDetail(BaseModel):
    """The reason of an error, in a sentence."""

    detail: str


ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    code: {"model": ErrorDetail, "description": description}
    for code, description in (
        (401, "A token is required"),
        (403, "The request comes from a page of another origin"),
        (404, "Not found"),
        (409, "The question was decided meanwhile"),
        (413, "The body is too large"),
        (422, "The request is not valid"),
        (503, "Too many requests are waiting, the request timed out, or the ledger cannot be read or written"),
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

    topics: list[float]
    tags: list[TagWeight]
    no_tag: float
    known_words: int
    unknown_tags: list[str]


class InferResponse(BaseModel):
    """Posteriors, in the order of the documents."""

    documents: list[Inferred]


class PredictRequest(_Strict):
    """Texts to predict tags of: ``n`` per document, of these ``kinds`` only if they are given.

    With ``given="own"`` the tags of each document are used and others are predicted. ``exclude`` has tags that are not
    predicted, and kinds followed by a colon.
    """

    documents: list[Document] = Field(min_length=1, max_length=LIMITS.documents)
    n: int = Field(default=10, ge=1, le=100)
    kinds: list[Tag] | None = Field(default=None, max_length=LIMITS.tags)
    method: Literal["neighbours", "likelihood"] = "neighbours"
    given: Literal["own"] | None = None
    exclude: list[Tag] | None = Field(default=None, max_length=LIMITS.tags)
    reasons: bool = False


class Contribution(BaseModel):
    """What a word, training document (by its row in the training index) or other tag adds to the log odds of a tag."""

    log_odds: float
    word: str | None = None
    training_document: int | None = None
    tag: str | None = None


class Reasons(BaseModel):
    """Why a tag is predicted, in log odds; ``name`` is what the tag's name in the text adds."""

    tag: str
    log_odds: float
    words: list[Contribution]
    documents: list[Contribution]
    tags: list[Contribution]
    name: float


class SimilarRequest(_Strict):
    """A text to find the ``n`` most similar documents to."""

    text: Text
    tags: list[Tag] = Field(default=[], max_length=LIMITS.tags)
    n: int = Field(default=10, ge=1, le=100)


class TagProbability(BaseModel):
    """A tag and its calibrated probability."""

    tag: str
    probability: float


class Predicted(BaseModel):
    """The most probable tags of a document, and the reasons for them if they were asked for.

    With ``given`` also the document's tags that the model does not know, and that were not used.
    """

    tags: list[TagProbability]
    reasons: list[Reasons] | None = None
    unknown_tags: list[str] | None = None


class PredictResponse(BaseModel):
    """Predictions, in the order of the documents."""

    documents: list[Predicted]


DecisionText = Annotated[str, Field(max_length=MAX_CHARACTERS)]
DecisionTexts = Annotated[list[DecisionText], Field(max_length=MAX_ITEMS)]
TopicNumber = Annotated[int, Field(ge=0, le=1_000_000)]
Kind = Literal["suspicious", "missing", "duplicate"]


class Answer(_Strict):
    """The answer to a question of the review queue; ``tag`` is the right tag, for "correct".

    ``who`` is by default the name that the service was started with.
    """

    answer: Literal["accept", "reject", "correct", "skip"]
    tag: DecisionText | None = None
    why: DecisionText = ""
    who: DecisionText | None = None


class NewDecision(_Strict):
    """A decision: its kind, and the fields of its kind. Topics are numbers of the model."""

    what: DecisionText = Field(json_schema_extra={"enum": list(FIELDS)})
    who: DecisionText | None = None
    why: DecisionText = ""
    document: DecisionText | None = None
    tag: DecisionText | None = None
    canonical: DecisionText | None = None
    variants: DecisionTexts | None = None
    tags: DecisionTexts | None = None
    topic: TopicNumber | None = None
    topics: Annotated[list[TopicNumber], Field(max_length=MAX_ITEMS)] | None = None
    name: DecisionText | None = None
    words: DecisionTexts | None = None
    entry: DecisionText | None = None


class DecisionList(BaseModel):
    """Decisions of the ledger, as its lines have them, each with ``undone``; ``total`` counts all."""

    total: int
    decisions: list[dict[str, Any]]
