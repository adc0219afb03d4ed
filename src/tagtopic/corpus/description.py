"""Summary statistics of a corpus."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.display import html_card

if TYPE_CHECKING:
    from tagtopic.corpus.corpus import Corpus


NEAR_UNIVERSAL = 0.9
"""The share of the documents from which on a tag is near-universal."""

MIN_DOCUMENTS = 20
"""Documents from which on tags are called near-universal."""

LEAVE_OUT = "--drop-tag on the command line, stop_tags= in Python leave them out"


@dataclass(frozen=True)
class Spread:
    """Minimum, median, mean and maximum of a quantity over the documents; zeros if there are none."""

    minimum: int
    median: float
    mean: float
    maximum: int

    @classmethod
    def of(cls, values: NDArray[Any]) -> Spread:
        """Return the spread of these values."""
        if not len(values):
            return cls(0, 0.0, 0.0, 0)
        return cls(int(values.min()), float(np.median(values)), float(values.mean()), int(values.max()))

    def __str__(self) -> str:
        return f"{self.minimum:,} to {self.maximum:,}, median {self.median:,.0f}, mean {self.mean:,.1f}"


@dataclass(frozen=True)
class Description:
    """Summary statistics of a corpus; `print` shows them as a short text.

    Attributes
    ----------
    n_documents, n_words, n_tags, n_tokens : int
        Number of documents, of words and tags in the vocabulary, and of tokens.
    n_untagged, n_empty : int
        Number of documents without tags, and without words.
    n_repeated_ids : int
        Number of documents whose id an earlier one has.
    lengths, tags_per_document : Spread
        Minimum, median, mean and maximum over the documents.
    kinds : dict of str to int
        Number of tags of each kind, "" for tags without a kind.
    near_universal_tags : tuple of (str, int)
        The tags on at least 90% of 20 documents or more: they hardly tell documents apart.
    most_used_tags, most_used_words : tuple of (str, int)
        The tags with the most documents, and the words with the most tokens.

    Examples
    --------
    >>> from tagtopic import Corpus
    >>> found = Corpus.from_counts([[2, 1], [0, 1]], [["author:Ada"], None]).describe()
    >>> found.n_tokens, found.n_untagged, found.kinds
    (4, 1, {'author': 1})
    """

    n_documents: int
    n_words: int
    n_tags: int
    n_tokens: int
    n_untagged: int
    n_empty: int
    n_repeated_ids: int
    lengths: Spread
    tags_per_document: Spread
    kinds: dict[str, int]
    near_universal_tags: tuple[tuple[str, int], ...]
    most_used_tags: tuple[tuple[str, int], ...]
    most_used_words: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        lines = [
            f"documents  {self.n_documents:,}"
            + _aside(("untagged", self.n_untagged), ("empty", self.n_empty), ("repeated ids", self.n_repeated_ids)),
            f"words      {self.n_words:,} different, {self.n_tokens:,} in all",
            f"lengths    {self.lengths}",
            f"tags       {self.n_tags:,}" + _aside(*((kind or "no kind", n) for kind, n in self.kinds.items())),
            f"per doc.   {self.tags_per_document}",
        ]
        if self.near_universal_tags:
            shown = (f"{tag} ({n / self.n_documents:.0%})" for tag, n in self.near_universal_tags)
            lines.append(f"on most    {', '.join(shown)}: they hardly tell documents apart ({LEAVE_OUT})")
        if self.most_used_tags:
            lines.append("most used  " + ", ".join(f"{tag} ({n:,})" for tag, n in self.most_used_tags))
        if self.most_used_words:
            lines.append("words      " + ", ".join(f"{word} ({n:,})" for word, n in self.most_used_words))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        figures = [("documents", self.n_documents), ("words", self.n_words), ("tags", self.n_tags)]
        figures += [("untagged", self.n_untagged)] if self.n_untagged else []
        rows = [[tag, f"{n:,}"] for tag, n in self.most_used_tags]
        return html_card("Corpus", [(name, f"{n:,}") for name, n in figures], ["most used tags", "documents"], rows)


def describe(corpus: Corpus, n: int) -> Description:
    """Return the summary, with the n most used tags and words."""
    lengths = corpus.lengths()
    tags_per_document = np.diff(corpus.tags.indptr)
    tag_use = corpus.tag_sizes()
    word_use = corpus.word_counts()
    hashes = corpus.ids.hashes()
    return Description(
        n_documents=len(corpus),
        n_words=corpus.n_words,
        n_tags=corpus.n_tags,
        n_tokens=corpus.n_tokens,
        n_untagged=int((tags_per_document == 0).sum()),
        n_empty=int((lengths == 0).sum()),
        n_repeated_ids=len(hashes) - len(np.unique(hashes)),
        lengths=Spread.of(lengths),
        tags_per_document=Spread.of(tags_per_document),
        kinds=dict(Counter(corpus.tag_kinds).most_common()),
        near_universal_tags=near_universal_tags(corpus.tag_names, tag_use, len(corpus)),
        most_used_tags=_top(corpus.tag_names, tag_use, n),
        most_used_words=_top(corpus.words, word_use, n),
    )


def near_universal_tags(
    names: tuple[str, ...], documents: NDArray[Any], n_documents: int
) -> tuple[tuple[str, int], ...]:
    """Return the tags that nearly all documents have, with their numbers of documents; none of a small corpus."""
    if n_documents < MIN_DOCUMENTS or len(names) < 2:
        return ()
    return tuple((names[j], int(documents[j])) for j in np.flatnonzero(documents >= NEAR_UNIVERSAL * n_documents))


def _top(names: tuple[str, ...], use: NDArray[Any], n: int) -> tuple[tuple[str, int], ...]:
    order = np.argsort(-use, kind="stable")[:n]
    return tuple((names[i], int(use[i])) for i in order if use[i] > 0)


def _aside(*parts: tuple[str, int]) -> str:
    shown = [f"{n:,} {name}" for name, n in parts if n]
    return f" ({', '.join(shown)})" if shown else ""
