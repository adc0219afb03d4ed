"""Search: topics by their words, tags by a part of their name, documents by a part of their id or by their words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic.explore.views.items import TagValue, TopicShare, topic_share

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer


@dataclass(frozen=True)
class TagList:
    """A page of the tags found, most frequent first, with their shares of the documents."""

    query: str
    kind: str | None
    total: int
    offset: int
    tags: tuple[TagValue, ...]


@dataclass(frozen=True)
class FoundDocument:
    """A document in the list of documents."""

    id: str
    number: int
    words: int
    tags: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True)
class DocumentList:
    """A page of documents: those whose id or title contains the query, then those that contain all its words."""

    query: str
    total: int
    offset: int
    documents: tuple[FoundDocument, ...]


@dataclass(frozen=True)
class Found:
    """What a query finds: topics by name or words, tags by name, documents by id, title or words; the first of each."""

    query: str
    topics: tuple[TopicShare, ...]
    tags: tuple[TagValue, ...]
    n_tags: int
    documents: tuple[FoundDocument, ...]
    n_documents: int


def find(explorer: Explorer, query: str, n: int = 10) -> Found:
    """Find topics, tags and documents, at most n of each."""
    folded = query.strip().casefold()
    if not folded:
        return Found(query, (), (), 0, (), 0)
    tags = find_tags(explorer, query, limit=n)
    documents = None if explorer.corpus is None else find_documents(explorer, query, limit=n)
    return Found(
        query=query,
        topics=_find_topics(explorer, folded, n),
        tags=tags.tags,
        n_tags=tags.total,
        documents=() if documents is None else documents.documents,
        n_documents=0 if documents is None else documents.total,
    )


def _find_topics(explorer: Explorer, folded: str, n: int) -> tuple[TopicShare, ...]:
    """Topics with the query in their name, then those with words that begin with it, by the rank of the word."""
    model = explorer.model
    ranked = []
    for topic, words in enumerate(explorer.topic_words):
        named = folded in model.topic_names_[topic].casefold()
        places = [place for place, word in enumerate(words) if word.startswith(folded)]
        if topic not in model.hidden_topics_ and (named or places):
            ranked.append((-1 if named else places[0], -float(model.topic_shares_[topic]), topic))
    return tuple(topic_share(explorer, topic, -share) for _, share, topic in sorted(ranked)[:n])


def find_tags(
    explorer: Explorer, query: str = "", *, kind: str | None = None, limit: int = 50, offset: int = 0
) -> TagList:
    """Find tags whose name contains the query; first those that begin with it, with or without their kind."""
    model, folded = explorer.model, query.strip().casefold()
    frequencies = model.tag_frequencies_
    prefix = None if kind is None else f"{kind}:"
    found = [
        (not (name.startswith(folded) or name.partition(":")[2].startswith(folded)), -frequencies[number], number)
        for number, name in enumerate(explorer.folded_tags)
        if folded in name and (prefix is None or _has_kind(model.tag_names_[number], prefix))
    ]
    found.sort()
    page = [number for _, _, number in found[offset : offset + limit]]
    tags = tuple(TagValue(model.tag_names_[i], i, float(frequencies[i])) for i in page)
    return TagList(query, kind, len(found), offset, tags)


def find_documents(explorer: Explorer, query: str = "", *, limit: int = 50, offset: int = 0) -> DocumentList:
    """Find documents by a part of their id or title, or by their words."""
    corpus, folded = explorer.documents, query.strip().casefold()
    if folded:
        titles = explorer.titles or ("",) * len(corpus)
        named = enumerate(zip(corpus.ids, titles, strict=True))
        by_id = [number for number, (id, title) in named if folded in id.casefold() or folded in title.casefold()]
        listed = set(by_id)
        numbers = by_id + [number for number in _documents_with_words(explorer, query) if number not in listed]
    else:
        numbers = list(range(len(corpus)))
    documents = tuple(_list_entry(corpus, number) for number in numbers[offset : offset + limit])
    return DocumentList(query, len(numbers), offset, documents)


def _has_kind(name: str, prefix: str) -> bool:
    return ":" not in name if prefix == ":" else name.startswith(prefix)


def _documents_with_words(explorer: Explorer, query: str) -> list[int]:
    """Documents that contain every word of the query, by their number of occurrences."""
    rules = explorer.model.rules_
    if rules is not None and rules.tokenizer is None:
        return _documents_with_all(explorer, rules.replace(bigrams=None).tokens(query))
    return _documents_with_all(explorer, query.split())


def _documents_with_all(explorer: Explorer, words: list[str]) -> list[int]:
    corpus = explorer.documents
    columns = [explorer.word_numbers[word] for word in words if word in explorer.word_numbers]
    if not columns or len(columns) < len(words):
        return []
    totals: Any = np.zeros(len(corpus))
    has_all = np.ones(len(corpus), bool)
    for column in columns:
        entries = np.flatnonzero(corpus.counts.indices == column)
        rows = np.searchsorted(corpus.counts.indptr, entries, side="right") - 1
        has_word = np.zeros(len(corpus), bool)
        has_word[rows] = True
        has_all &= has_word
        totals[rows] += corpus.counts.data[entries]
    rows = np.flatnonzero(has_all)
    return [int(row) for row in rows[np.argsort(-totals[rows], kind="stable")]]


def _list_entry(corpus: Any, number: int, n: int = 6) -> FoundDocument:
    document = corpus[number]
    return FoundDocument(document.id, number, int(sum(document.words.values())), document.tags[:n], document.title)
