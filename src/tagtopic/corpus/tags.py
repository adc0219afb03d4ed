"""Tags: their kinds, their selection, and noise tags added at random to measure what they do to a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import offsets_of
from tagtopic.corpus.matrices import column_counts, csr
from tagtopic.corpus.text.rules import TagRules
from tagtopic.corpus.vocabulary import align

if TYPE_CHECKING:
    from tagtopic.corpus.corpus import Corpus

DRAWS = 32
"""Candidate tags drawn at a time."""


def kind_of(tag: str) -> str:
    """Return the kind of a tag, the part before its first colon: `author` of `author:Ada`, "" without a colon."""
    kind, colon, _ = tag.partition(":")
    return kind if colon else ""


def kinds_of(tag_names: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Return the kinds, sorted, and the index of each tag's kind."""
    kinds, numbers = np.unique(np.array([*map(kind_of, tag_names)], dtype=np.object_), return_inverse=True)
    return tuple(kinds.tolist()), numbers.astype(np.int32)


def select_tags(corpus: Corpus, rules: TagRules) -> Corpus:
    """Return the documents with the tags that the rules keep."""
    documents = column_counts(corpus.tags)
    kept = [
        name
        for name, n in zip(corpus.tag_names, documents, strict=True)
        if (n >= rules.min_tag_documents or rules.min_tag_documents <= 1) and rules.keeps(name)
    ]
    return corpus if len(kept) == corpus.n_tags else align(corpus, corpus.words, kept).corpus


def with_noise_tags(
    corpus: Corpus, share: float, *, random_state: int = 0, known: Any = None
) -> tuple[Corpus, NDArray[np.bool_]]:
    """Add random tags to documents.

    A document with l tags gets ``share * l`` more, drawn uniformly from the tags that it does not have; a fraction of
    a tag is one tag with that probability. With the same seed, the tags that a small share adds are a subset of those
    that a larger one adds, so that a curve over the share does not jump.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    share : float
        Noise tags per tag of a document.
    random_state : int, default=0
        Seed.
    known : array of int, default=None
        Columns to draw from; None: all tags.

    Returns
    -------
    corpus : Corpus
        The documents with the added tags.
    is_noise : ndarray of bool
        For each entry of ``corpus.tags.data``, whether it was added.

    Raises
    ------
    ValueError
        If the share is negative.

    Examples
    --------
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> from tagtopic.corpus.tags import with_noise_tags
    >>> corpus = make_tagged_corpus(50, 3, 20, 60, tags_per_document=2).corpus
    >>> noisy, is_noise = with_noise_tags(corpus, 0.5)
    >>> noisy.tags.nnz, int(is_noise.sum())
    (150, 50)
    """
    if not share >= 0:
        raise ValueError(f"share={share!r}: expected a number from 0")
    choice = np.arange(corpus.n_tags) if known is None else np.asarray(known)
    starts, own = corpus.tags.indptr, corpus.tags.indices
    rows, flags = [], []
    for document in range(len(corpus)):
        mine = own[starts[document] : starts[document + 1]]
        rng = np.random.default_rng([random_state, document])
        wanted = int(share * len(mine) + rng.random())
        added = _draw_others(rng, choice, mine, wanted)
        tags = np.concatenate([mine, added])
        order = np.argsort(tags, kind="stable")
        rows.append(tags[order])
        flags.append(order >= len(mine))
    return _with_tags(corpus, rows), np.concatenate(flags) if flags else np.zeros(0, np.bool_)


def _draw_others(rng: np.random.Generator, choice: Any, mine: Any, wanted: int) -> Any:
    """Return the first ``wanted`` distinct tags of a stream of draws that are not the document's own."""
    limit = min(wanted, len(np.setdiff1d(choice, mine)))
    found: dict[int, None] = {}
    while len(found) < limit:
        drawn = rng.choice(choice, DRAWS)
        found |= dict.fromkeys(drawn[~np.isin(drawn, mine)].tolist())
    return np.array(list(found)[:limit], dtype=mine.dtype)


def _with_tags(corpus: Corpus, rows: list[Any]) -> Corpus:
    starts = offsets_of(np.array([len(row) for row in rows], np.int64))
    columns = np.concatenate([*rows, np.zeros(0, np.int32)]).astype(np.int32)
    tags = csr(starts, columns, np.ones(len(columns), corpus.tags.data.dtype), corpus.n_tags)
    return corpus.with_matrices(tags=tags)
