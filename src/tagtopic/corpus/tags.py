"""Tags: their kinds, their selection, tags derived from others, and random noise tags, to measure what they do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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


def with_derived_tags(corpus: Corpus, derive: Callable[[tuple[str, ...]], Iterable[str]]) -> Corpus:
    """Add tags that follow from a document's own tags: another choice of the paper's f(t_1, ..., t_l).

    f makes the topic mix of a document from its tags. In the models it is the weighted sum of the tags' rows of theta,
    and ``derive`` says which further rows a document mixes: those of pairs of its tags, of their kinds, of classes that
    the tags belong to. Rows and weights of derived tags are learnt like all others, by every inference method and
    engine. New documents need the same tags: derive them before ``transform`` or ``perplexity``.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    derive : callable
        From the names of a document's tags, in the order of ``corpus.tag_names``, to the names of the tags to add.

    Returns
    -------
    Corpus
        The documents with the added tags.

    Raises
    ------
    ValueError
        If a derived tag is not a non-empty string.

    Examples
    --------
    >>> from itertools import combinations
    >>> from tagtopic import Corpus
    >>> from tagtopic.corpus.tags import with_derived_tags
    >>> corpus = Corpus.from_counts([[1, 2], [3, 0]], [["comedy", "romance"], ["comedy"]])
    >>> pairs = with_derived_tags(corpus, lambda tags: [" & ".join(pair) for pair in combinations(tags, 2)])
    >>> pairs.tag_names
    ('comedy', 'comedy & romance', 'romance')
    """
    names, starts = corpus.tag_names, corpus.tags.indptr
    rows = []
    for document in range(len(corpus)):
        own = tuple(names[j] for j in corpus.tags.indices[starts[document] : starts[document + 1]])
        added: list[Any] = list(derive(own))
        for tag in added:
            if not isinstance(tag, str) or not tag:
                raise ValueError(f"derive gave {tag!r} for document {corpus.ids[document]!r}: expected names of tags")
        rows.append([*own, *added])
    every = sorted({tag for row in rows for tag in row} | {*names})
    numbers = {tag: number for number, tag in enumerate(every)}
    columns = [np.array(sorted({numbers[tag] for tag in row}), np.int32) for row in rows]
    return _with_tags(align(corpus, corpus.words, every).corpus, columns)


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
