"""Finding tags and documents by a part of their name, and documents by their words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic.explore.views.parts import TagValue

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer


@dataclass(frozen=True)
class TagList:
    """Some of the tags that were found, the most used first, with their shares of the documents."""

    query: str
    kind: str | None
    total: int
    offset: int
    tags: tuple[TagValue, ...]


@dataclass(frozen=True)
class FoundDocument:
    """A document in a list."""

    id: str
    number: int
    words: int
    tags: tuple[str, ...]


@dataclass(frozen=True)
class DocumentList:
    """Some of the documents that were found: those whose id has the query in it, then those that have all its words."""

    query: str
    total: int
    offset: int
    documents: tuple[FoundDocument, ...]


def find_tags(
    explorer: Explorer, query: str = "", *, kind: str | None = None, limit: int = 50, offset: int = 0
) -> TagList:
    """Tags with the query in their name, those that begin with it first (before or after the kind)."""
    model, wanted = explorer.model, query.strip().casefold()
    frequencies = model.tag_frequencies_
    prefix = None if kind is None else f"{kind}:"
    found = [
        (not (name.startswith(wanted) or name.partition(":")[2].startswith(wanted)), -frequencies[number], number)
        for number, name in enumerate(explorer.searchable_tags)
        if wanted in name and (prefix is None or _is_of(model.tag_names_[number], prefix))
    ]
    found.sort()
    page = [number for _, _, number in found[offset : offset + limit]]
    tags = tuple(TagValue(model.tag_names_[i], i, float(frequencies[i])) for i in page)
    return TagList(query, kind, len(found), offset, tags)


def find_documents(explorer: Explorer, query: str = "", *, limit: int = 50, offset: int = 0) -> DocumentList:
    """Documents by a part of their id, or by their words."""
    corpus, wanted = explorer.documents, query.strip().casefold()
    if wanted:
        by_name = [number for number, name in enumerate(corpus.ids) if wanted in name.casefold()]
        named = set(by_name)
        numbers = by_name + [number for number in _with_words(explorer, query) if number not in named]
    else:
        numbers = list(range(len(corpus)))
    documents = tuple(_listed(corpus, number) for number in numbers[offset : offset + limit])
    return DocumentList(query, len(numbers), offset, documents)


def _is_of(name: str, prefix: str) -> bool:
    return ":" not in name if prefix == ":" else name.startswith(prefix)


def _with_words(explorer: Explorer, query: str) -> list[int]:
    """Documents that have every word of the query, those that have them most often first."""
    rules = explorer.model.rules_
    if rules is not None and rules.tokenizer is None:
        return _with_all(explorer, rules.replace(bigrams=None).tokens(query))
    return _with_all(explorer, query.split())


def _with_all(explorer: Explorer, words: list[str]) -> list[int]:
    corpus = explorer.documents
    columns = [explorer.word_numbers[word] for word in words if word in explorer.word_numbers]
    if not columns or len(columns) < len(words):
        return []
    totals: Any = np.zeros(len(corpus))
    everywhere = np.ones(len(corpus), bool)
    for column in columns:
        entries = np.flatnonzero(corpus.counts.indices == column)
        rows = np.searchsorted(corpus.counts.indptr, entries, side="right") - 1
        has = np.zeros(len(corpus), bool)
        has[rows] = True
        everywhere &= has
        totals[rows] += corpus.counts.data[entries]
    rows = np.flatnonzero(everywhere)
    return [int(row) for row in rows[np.argsort(-totals[rows], kind="stable")]]


def _listed(corpus: Any, number: int, n: int = 6) -> FoundDocument:
    document = corpus[number]
    return FoundDocument(document.id, number, int(sum(document.words.values())), document.tags[:n])
