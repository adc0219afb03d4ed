"""One document, of the corpus or a new text: its words with topics and tags, tag weights, predicted missing tags.

To highlight words in a text, their positions are needed, which the tokenizer does not return. The text is split into
runs of word and other characters, and all runs are tokenized at once with the model's rules: a run is highlighted if
it gives one token and that token is in the vocabulary.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic.corpus.text import tokenizer
from tagtopic.corpus.text.markup import strip_markup
from tagtopic.corpus.text.rules import TextRules
from tagtopic.corpus.text.tokenizer import PARAGRAPH_SEPARATOR, tokenize
from tagtopic.explore.explorer import NotFoundError
from tagtopic.explore.views.items import DocumentValue, TagValue, TopicShare, numbered_tags, topic_mix
from tagtopic.models._intervals import intervals_if_quick
from tagtopic.models._queries import nearest_mixes
from tagtopic.tagging.explanation import explain_document
from tagtopic.tagging.ranking import tied_places

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.explore.explorer import Explorer

_WORD_CLASSES = (tokenizer.LETTER, tokenizer.DIGIT, tokenizer.CONNECTOR, tokenizer.IGNORED)

INTERVAL = 0.9
"""Probability of the credible intervals of tag weights."""

N_SIMILAR = 8
"""Similar documents of a document."""

MAX_INFERRED = 2_000
"""Documents whose topic mixes a request for one document may wait for."""

MAX_ASSIGNMENTS = 50_000_000
"""Words x tags x topics for which words are assigned; larger documents are shown without topics and tags of words."""


@dataclass(frozen=True)
class WeightedTag:
    """A tag of the document and its weight, with its 90% credible interval if it was sampled.

    Tags whose intervals overlap that of the heaviest of them share a ``place``: their order is not certain.
    """

    tag: str
    number: int
    weight: float
    low: float | None
    high: float | None
    place: int | None = None


@dataclass(frozen=True)
class AssignedWord:
    """A word, its count, and the most probable topic and tag of its tokens; ``tag`` is None for no tag.

    ``own_share`` is the probability that it is one of the tags' own words, and of no topic. ``tag_place`` is the rank
    of the tag among the document's tags by weight, from 0; -1 for no tag.
    """

    word: str
    count: float
    topic: int
    topic_share: float
    tag: str | None
    tag_share: float
    tag_place: int
    own_share: float = 0.0


@dataclass(frozen=True)
class HighlightedSpan:
    """A part of the text and the index of its word in `DocumentView.words`; -1 if it is not in the vocabulary."""

    text: str
    word: int


@dataclass(frozen=True)
class DocumentView:
    """A document. ``number`` is None for a new text; ``text`` is None if only counts are available.

    ``similar`` are the documents with the most similar topic mixes, by 1 - Hellinger distance.
    """

    id: str
    number: int | None
    n_words: int
    topics: tuple[TopicShare, ...]
    tags: tuple[WeightedTag, ...]
    no_tag: float
    unknown_tags: tuple[str, ...]
    missing: tuple[TagValue, ...]
    words: tuple[AssignedWord, ...]
    text: tuple[HighlightedSpan, ...] | None
    similar: tuple[DocumentValue, ...] = ()
    title: str = ""


def similar_documents(explorer: Explorer, mix: Any, n: int, number: int | None = None) -> tuple[DocumentValue, ...]:
    """The n documents with the most similar topic mixes, by 1 - Hellinger distance, without the document itself."""
    ids = explorer.documents.ids
    ranked = nearest_mixes(mix, explorer.posteriors.topics, n, leave_out=number)
    return tuple(DocumentValue(ids[row], row, value) for row, value in ranked)


def document(explorer: Explorer, number: int) -> DocumentView:
    """Describe a document of the corpus by number."""
    corpus = explorer.documents
    if not 0 <= number < len(corpus):
        raise NotFoundError(f"there is no document number {number}: there are {len(corpus):,}, from 0")
    text = None if explorer.texts is None else explorer.texts[number]
    return describe_document(explorer, corpus[number : number + 1], text, number)


def new_document(explorer: Explorer, text: str, tags: Iterable[str] = ()) -> DocumentView:
    """Describe a new text with tags; tags that are unknown to the model are left out and listed."""
    from tagtopic.corpus import Corpus

    model = explorer.model
    if model.rules_ is None:
        raise ValueError("the model was trained on counts and does not know how texts become words")
    given = list(dict.fromkeys(tags))
    known = [tag for tag in given if tag in explorer.tag_numbers]
    corpus = Corpus.from_texts([text], [known], ids=["your text"], words=model.words_, rules=model.rules_)
    unknown = tuple(tag for tag in given if tag not in explorer.tag_numbers)
    return describe_document(explorer, model.aligned(corpus), text, None, unknown)


def describe_document(
    explorer: Explorer,
    one: Corpus,
    text: str | None = None,
    number: int | None = None,
    unknown: tuple[str, ...] = (),
) -> DocumentView:
    """Describe the only document of a corpus that is in the columns of the model."""
    posterior = explorer.infer(one)
    tags = _weighted_tags(explorer, one, posterior.weights.data)
    words = _assigned_words(explorer, one, [tag.tag for tag in tags])
    return DocumentView(
        id=one.ids[0],
        number=number,
        n_words=int(one.lengths()[0]),
        topics=topic_mix(explorer, posterior.topics[0]),
        tags=tags,
        no_tag=float(posterior.latent[0]),
        unknown_tags=unknown,
        missing=_predicted_tags(explorer, one, {tag.tag for tag in tags}),
        words=words,
        text=None if text is None else _highlighted_text(explorer, text, words),
        similar=_similar_if_quick(explorer, posterior.topics[0], number),
        title="" if number is None or explorer.titles is None else explorer.titles[number],
    )


def _similar_if_quick(explorer: Explorer, mix: Any, number: int | None) -> tuple[DocumentValue, ...]:
    """Similar documents, unless the topic mixes of many documents would have to be inferred first."""
    if explorer.corpus is None or not (explorer.posteriors_ready or len(explorer.corpus) <= MAX_INFERRED):
        return ()
    return similar_documents(explorer, mix, N_SIMILAR, number)


def _weighted_tags(explorer: Explorer, one: Corpus, weights: Any) -> tuple[WeightedTag, ...]:
    """The document's tags by weight: the weights as in ``tag_weights``, the intervals from Gibbs samples."""
    values = np.asarray(weights, np.float64)
    intervals: list[tuple[float | None, float | None]] = [(None, None)] * len(values)
    sampled = intervals_if_quick(explorer.model.draws_, one, INTERVAL)
    if sampled is not None:
        intervals = list(zip(sampled.low.data.tolist(), sampled.high.data.tolist(), strict=True))
    names = [one.tag_names[j] for j in one.tags.indices]
    tags = [
        WeightedTag(name, explorer.tag_numbers[name], float(value), *interval)
        for name, value, interval in zip(names, values, intervals, strict=True)
    ]
    tags.sort(key=lambda tag: -tag.weight)
    if sampled is None:
        return tuple(tags)
    places = tied_places([tag.low or 0.0 for tag in tags], [tag.high or 0.0 for tag in tags])
    return tuple(replace(tag, place=place) for tag, place in zip(tags, places, strict=True))


def _assigned_words(explorer: Explorer, one: Corpus, tags: list[str]) -> tuple[AssignedWord, ...]:
    model = explorer.model
    size = len(one.counts.indices) * (len(one.tags.indices) + 1) * len(model.components_)
    if size > MAX_ASSIGNMENTS:
        return ()
    ranks = {tag: rank for rank, tag in enumerate(tags)}
    return tuple(
        AssignedWord(
            word=word.word,
            count=word.count,
            topic=word.topic,
            topic_share=word.topic_share,
            tag=word.tag,
            tag_share=word.tag_share,
            tag_place=-1 if word.tag is None else ranks[word.tag],
            own_share=word.own_share,
        )
        for word in explain_document(
            model.parameters_, explorer.method_for_new_documents, one, model.topic_groups_
        ).words
    )


def _predicted_tags(explorer: Explorer, one: Corpus, own: set[str], n: int = 10) -> tuple[TagValue, ...]:
    model = explorer.model
    if model.tag_predictor_ is None or not model.tag_names_:
        return ()
    given = "own" if own and model.tag_predictor_.completion_.any() else None
    ranked = model.predict_tags(one, n + len(own), given=given)[0]
    return numbered_tags(explorer, [(tag, value) for tag, value in ranked if tag not in own][:n])


def _highlighted_text(explorer: Explorer, text: str, words: tuple[AssignedWord, ...]) -> tuple[HighlightedSpan, ...]:
    rules = explorer.model.rules_
    if rules is None or rules.tokenizer is not None:  # positions of words are unknown to a custom tokenizer
        return (HighlightedSpan(text, -1),)
    indices = {word.word: index for index, word in enumerate(words)}
    return tuple(
        HighlightedSpan(span.text.replace(PARAGRAPH_SEPARATOR, "\n\n"), -1 if span.word is None else indices[span.word])
        for span in find_spans(text, rules, indices)
    )


@dataclass(frozen=True)
class TextSpan:
    """A part of a text and its word of the vocabulary; None if it is none."""

    text: str
    word: str | None


def find_spans(text: str, rules: TextRules, vocabulary: Container[str]) -> tuple[TextSpan, ...]:
    """Split a text into spans that concatenate to it; a bigram of the vocabulary is one span."""
    if not text:
        return ()
    read = strip_markup(text) if rules.markup == "strip" else text
    edges = _run_edges(read)
    runs = [text[start:end] for start, end in pairwise(edges)]
    words = _words_of_runs([read[start:end] for start, end in pairwise(edges)], rules, vocabulary)
    pairs = list(zip(runs, words, strict=True)) if rules.bigrams is None else _join_bigrams(runs, words, vocabulary)
    spans: list[TextSpan] = []
    for run, word in pairs:
        if word is None and spans and spans[-1].word is None:
            spans[-1] = TextSpan(spans[-1].text + run, None)
        else:
            spans.append(TextSpan(run, word))
    return tuple(spans)


def _run_edges(text: str) -> list[int]:
    """Where runs of characters that can be part of a word, and of characters that cannot, begin and end."""
    kinds = {character: _can_be_in_word(character) for character in set(text)}
    inside = np.fromiter((kinds[character] for character in text), bool, len(text))
    return [0, *(np.flatnonzero(inside[1:] != inside[:-1]) + 1).tolist(), len(text)]


def _can_be_in_word(character: str) -> bool:
    """Whether a character can be part of a word after normalisation."""
    return any(tokenizer.character_class(part) in _WORD_CLASSES for part in unicodedata.normalize("NFKC", character))


def _words_of_runs(runs: list[str], rules: TextRules, vocabulary: Container[str]) -> list[str | None]:
    tokens = tokenize(runs, rules.replace(bigrams=None, markup="keep"))
    is_single = (np.diff(tokens.offsets) == 1).tolist()
    names = list(tokens.words)
    starts = tokens.offsets[:-1]
    words = [names[tokens.ids[i]] if single else None for i, single in zip(starts, is_single, strict=True)]
    if rules.bigrams is not None:
        return words
    return [word if word is not None and word in vocabulary else None for word in words]


def _join_bigrams(runs: list[str], words: list[str | None], vocabulary: Container[str]) -> list[tuple[str, str | None]]:
    """Join bigrams from left to right, where only white space and the like separates their words."""
    joined: list[tuple[str, str | None]] = []
    i = 0
    while i < len(runs):
        first, second = words[i], words[i + 2] if i + 2 < len(runs) else None
        bigram = f"{first} {second}"
        if first and second and bigram in vocabulary and _is_soft(runs[i + 1]):
            joined.append(("".join(runs[i : i + 3]), bigram))
            i += 3
        else:
            joined.append((runs[i], first if first is not None and first in vocabulary else None))
            i += 1
    return joined


def _is_soft(run: str) -> bool:
    return all(tokenizer.character_class(character) == tokenizer.SOFT for character in run)
