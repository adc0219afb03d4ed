"""Decisions applied to a corpus: merged, removed and added tags, and banned words."""

from __future__ import annotations

import numpy as np

from tagtopic._core.arrays import offsets_of, owners_of
from tagtopic.corpus import Corpus
from tagtopic.corpus.matrices import column_counts, csr, keep_columns
from tagtopic.curation.decisions import TAG_ADD, TAG_WRONG, Decisions


def corrected_corpus(corpus: Corpus, decisions: Decisions) -> Corpus:
    """Return the documents with the tags as decided, and without banned words.

    Tags that no document has any more are dropped. Banned words stay in the vocabulary, with no occurrence, so that
    the columns of counts keep their meaning. Applied twice, the result is the same.
    """
    corpus.check()
    banned = set(decisions.banned_words) & set(corpus.words)
    if banned:
        kept = np.array([word not in banned for word in corpus.words], np.bool_)
        corpus = corpus.with_matrices(counts=keep_columns(corpus.counts, kept))
    return _with_corrected_tags(corpus, decisions) if decisions.changes_tags else corpus


def _with_corrected_tags(corpus: Corpus, decisions: Decisions) -> Corpus:
    changed = _changed_documents(corpus, decisions)
    added = sorted({tag for verdicts in changed.values() for tag, what in verdicts.items() if what == TAG_ADD})
    renamed = [decisions.canonical.get(tag, tag) for tag in corpus.tag_names]
    names = list(dict.fromkeys([*renamed, *added]))
    column = {name: number for number, name in enumerate(names)}
    target = np.array([column[name] for name in renamed], np.int64)
    rows = owners_of(corpus.tags.indptr).astype(np.int64)
    cells = np.unique(rows * len(names) + target[corpus.tags.indices])  # one number per document and tag, sorted

    def cells_with(wanted: str) -> list[int]:
        pairs = ((row, tag) for row, verdicts in changed.items() for tag, what in verdicts.items() if what == wanted)
        return [row * len(names) + column[tag] for row, tag in pairs if tag in column]

    cells = np.setdiff1d(cells, np.array(cells_with(TAG_WRONG), np.int64), assume_unique=True)
    cells = np.union1d(cells, np.array(cells_with(TAG_ADD), np.int64))
    rows, columns = np.divmod(cells, max(len(names), 1))
    starts = offsets_of(np.bincount(rows, minlength=len(corpus)))
    tags = csr(starts, columns.astype(np.int32), np.ones(len(cells), corpus.tags.data.dtype), len(names))
    result = Corpus(
        counts=corpus.counts,
        tags=tags,
        words=corpus.words,
        tag_names=tuple(names),
        ids=corpus.ids,
        rules=corpus.rules,
        texts=corpus.texts,
        titles=corpus.titles,
    )
    unused_before = {name for name, n in zip(renamed, column_counts(corpus.tags), strict=True) if not n}
    used = column_counts(tags)
    kept = [name for name, n in zip(names, used, strict=True) if n or name in unused_before]
    return result if len(kept) == len(names) else result.align(corpus.words, kept).corpus


def _changed_documents(corpus: Corpus, decisions: Decisions) -> dict[int, dict[str, str]]:
    """The decisions on the tags of each document, by its number; ids may repeat."""
    decided = decisions.verdicts
    return {row: decided[name] for row, name in enumerate(corpus.ids) if name in decided} if decided else {}
