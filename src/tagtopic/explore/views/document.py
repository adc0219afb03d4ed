"""One document, of the corpus or just typed: its words by topic and tag, its tags by weight, the tags it lacks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic.corpus.text.tokenizer import PARAGRAPH_SEPARATOR
from tagtopic.explore.explorer import NothingToShowError
from tagtopic.explore.highlighting import pieces_of
from tagtopic.explore.views.parts import TagValue, TopicShare, topic_mix, with_numbers
from tagtopic.models._intervals import intervals_if_quick
from tagtopic.tagging.explanation import explain_document

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.explore.explorer import Explorer

LEVEL = 0.9

MAX_ASSIGNMENTS = 50_000_000
"""Words x tags x topics that are assigned at once; beyond, words are shown without topics and tags."""


@dataclass(frozen=True)
class WeighedTag:
    """A tag of the document and its weight, with the interval in which it lies with a probability of 90%, if drawn."""

    tag: str
    number: int
    weight: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class AssignedWord:
    """A word, how often it occurs, and the topic and tag it is assigned to most; ``tag`` None is no tag.

    ``tag_place`` is the tag's place among the document's tags by weight, -1 for no tag.
    """

    word: str
    count: float
    topic: int
    topic_share: float
    tag: str | None
    tag_share: float
    tag_place: int


@dataclass(frozen=True)
class ColouredPiece:
    """A part of the text and, if it is a word of the model, that word's place in ``words``; -1 if not."""

    text: str
    word: int


@dataclass(frozen=True)
class DocumentView:
    """A document. ``number`` is None for one that was typed, ``text`` None where only counts are at hand."""

    id: str
    number: int | None
    n_words: int
    topics: tuple[TopicShare, ...]
    tags: tuple[WeighedTag, ...]
    no_tag: float
    unknown_tags: tuple[str, ...]
    missing: tuple[TagValue, ...]
    words: tuple[AssignedWord, ...]
    text: tuple[ColouredPiece, ...] | None


def document(explorer: Explorer, number: int) -> DocumentView:
    """A document of the corpus by its place."""
    corpus = explorer.documents
    if not 0 <= number < len(corpus):
        raise NothingToShowError(f"there is no document number {number}: there are {len(corpus):,}, from 0")
    text = None if explorer.texts is None else explorer.texts[number]
    return look_at(explorer, corpus[number : number + 1], text, number)


def examine(explorer: Explorer, text: str, tags: Iterable[str] = ()) -> DocumentView:
    """A text with tags as if it were a document; tags that the model has never seen are told and left out."""
    from tagtopic.corpus import Corpus

    model = explorer.model
    if model.rules_ is None:
        raise ValueError("the model was trained on counts and does not know how texts become words")
    given = list(dict.fromkeys(tags))
    known = [tag for tag in given if tag in explorer.tag_numbers]
    corpus = Corpus.from_texts([text], [known], ids=["your text"], words=model.words_, rules=model.rules_)
    unknown = tuple(tag for tag in given if tag not in explorer.tag_numbers)
    return look_at(explorer, model.aligned(corpus), text, None, unknown)


def look_at(
    explorer: Explorer,
    one: Corpus,
    text: str | None = None,
    number: int | None = None,
    unknown: tuple[str, ...] = (),
) -> DocumentView:
    """The one document of a corpus that is in the model's columns."""
    found = explorer.infer(one)
    tags = _weighed(explorer, one, found.weights.data)
    words = _assigned(explorer, one, [tag.tag for tag in tags])
    return DocumentView(
        id=one.ids[0],
        number=number,
        n_words=int(one.lengths()[0]),
        topics=topic_mix(explorer, found.topics[0]),
        tags=tags,
        no_tag=float(found.latent[0]),
        unknown_tags=unknown,
        missing=_missing(explorer, one, {tag.tag for tag in tags}),
        words=words,
        text=None if text is None else _coloured(explorer, text, words),
    )


def _weighed(explorer: Explorer, one: Corpus, weights: Any) -> tuple[WeighedTag, ...]:
    """The document's tags, heaviest first. The weights are those of ``tag_weights``, the ends are drawn."""
    values = np.asarray(weights, np.float64)
    ends: list[tuple[float | None, float | None]] = [(None, None)] * len(values)
    drawn = intervals_if_quick(explorer.model.parameters_, one, LEVEL)
    if drawn is not None:
        ends = list(zip(drawn.low.data.tolist(), drawn.high.data.tolist(), strict=True))
    names = [one.tag_names[j] for j in one.tags.indices]
    found = [
        WeighedTag(name, explorer.tag_numbers[name], float(value), *pair)
        for name, value, pair in zip(names, values, ends, strict=True)
    ]
    return tuple(sorted(found, key=lambda tag: -tag.weight))


def _assigned(explorer: Explorer, one: Corpus, tags: list[str]) -> tuple[AssignedWord, ...]:
    model = explorer.model
    size = len(one.counts.indices) * (len(one.tags.indices) + 1) * len(model.components_)
    if size > MAX_ASSIGNMENTS:
        return ()
    places = {tag: place for place, tag in enumerate(tags)}
    return tuple(
        AssignedWord(
            word=word.word,
            count=word.count,
            topic=word.topic,
            topic_share=word.topic_share,
            tag=word.tag,
            tag_share=word.tag_share,
            tag_place=-1 if word.tag is None else places[word.tag],
        )
        for word in explain_document(model.parameters_, explorer.method_for_new_documents, one).words
    )


def _missing(explorer: Explorer, one: Corpus, own: set[str], n: int = 10) -> tuple[TagValue, ...]:
    model = explorer.model
    if model.tag_predictor_ is None or not model.tag_names_:
        return ()
    ranked = model.predict_tags(one, n + len(own))[0]
    return with_numbers(explorer, [(tag, value) for tag, value in ranked if tag not in own][:n])


def _coloured(explorer: Explorer, text: str, words: tuple[AssignedWord, ...]) -> tuple[ColouredPiece, ...]:
    rules = explorer.model.rules_
    if rules is None or rules.tokenizer is not None:  # only its own tokenizer knows where words are
        return (ColouredPiece(text, -1),)
    places = {word.word: place for place, word in enumerate(words)}
    return tuple(
        ColouredPiece(piece.text.replace(PARAGRAPH_SEPARATOR, "\n\n"), -1 if piece.word is None else places[piece.word])
        for piece in pieces_of(text, rules, places)
    )
