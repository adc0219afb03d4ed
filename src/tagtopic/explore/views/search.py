"""Search: tags by a part of their name, documents by a part of their id or by their words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic.explore.views.items import TagValue

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


@dataclass(frozen=True)
class DocumentList:
    """A page of the documents found: those whose id contains the query, then those that contain all its words."""

    query: str
    total: int
    offset: int
    documents: tuple[FoundDocument, ...]


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
    """Find documents by a part of their id, or by their words."""
    corpus, folded = explorer.documents, query.strip().casefold()
    if folded:
        by_id = [number for number, id in enumerate(corpus.ids) if folded in id.casefold()]
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
    return FoundDocument(document.id, number, int(sum(document.words.values())), document.tags[:n])
