"""Alignment of a corpus with another vocabulary, and selection of tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tagtopic.corpus import matrices
from tagtopic.corpus.text.rules import TagRules

if TYPE_CHECKING:
    from tagtopic.corpus.corpus import Corpus


@dataclass(frozen=True)
class Alignment:
    """A corpus in the columns of another vocabulary, and what that vocabulary lacks.

    Attributes
    ----------
    corpus : Corpus
        The documents in the columns of the other vocabulary.
    unknown_tokens : int
        Number of tokens whose word it lacks.
    unknown_tags : tuple of str
        Tags of documents that it lacks.

    Examples
    --------
    >>> from tagtopic import Corpus
    >>> corpus = Corpus.from_counts([[2, 1]], [["old", "new"]], words=["engine", "note"])
    >>> alignment = corpus.align(["engine"], ["old"])
    >>> alignment.unknown_tokens, alignment.unknown_tags
    (1, ('new',))
    """

    corpus: Corpus
    unknown_tokens: int
    unknown_tags: tuple[str, ...]


def align(corpus: Corpus, words: Sequence[str], tag_names: Sequence[str]) -> Alignment:
    """Return the documents in these columns, with a count of unknown tokens and the unknown tags."""
    new_words, new_tags = tuple(words), tuple(tag_names)
    counts, tags = corpus.counts, corpus.tags
    unknown_tags: tuple[str, ...] = ()
    if new_words != corpus.words:
        counts = matrices.move_columns(counts, _targets(corpus.words, new_words), len(new_words))
    if new_tags != corpus.tag_names:
        target = _targets(corpus.tag_names, new_tags)
        in_use = matrices.column_counts(tags) > 0
        unknown_tags = tuple(corpus.tag_names[j] for j in np.flatnonzero(in_use & (target < 0)))
        tags = matrices.move_columns(tags, target, len(new_tags))
    aligned = type(corpus)(
        counts=counts,
        tags=tags,
        words=new_words,
        tag_names=new_tags,
        ids=corpus.ids,
        rules=corpus.rules,
        texts=corpus.texts,
    )
    unknown_tokens = 0 if counts is corpus.counts else corpus.n_tokens - aligned.n_tokens
    return Alignment(aligned, unknown_tokens, unknown_tags)


def select_tags(corpus: Corpus, rules: TagRules) -> Corpus:
    """Return the documents with the tags that the rules keep."""
    documents = matrices.column_counts(corpus.tags)
    kept = [
        name
        for name, n in zip(corpus.tag_names, documents, strict=True)
        if (n >= rules.min_tag_documents or rules.min_tag_documents <= 1) and rules.keeps(name)
    ]
    return corpus if len(kept) == corpus.n_tags else align(corpus, corpus.words, kept).corpus


def _targets(names: Sequence[str], new_names: Sequence[str]) -> NDArray[np.int32]:
    column = {name: j for j, name in enumerate(new_names)}
    return np.fromiter((column.get(name, -1) for name in names), dtype=np.int32, count=len(names))
