"""Near-duplicate tags: names that may mean one tag (``U.S.A.`` and ``USA``), by name, topics and co-occurrence.

Names are compared by keys, not in all pairs: two tags of a kind share a key if their letters and digits are the same
except for case, accents, punctuation, the order of the words, and at most one letter that is missing or added.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tagtopic._core.arrays import Floats

MIN_FUZZY_LENGTH = 6
"""Letters from which a name may differ by one: in shorter names that makes another word."""

MAX_GROUP = 50
"""Names that share a key; more are not one tag in many spellings but a numbered series."""

SAME_LETTERS, PLURAL, OTHER_ORDER, TYPING_ERROR, OTHER_WORD = 0.9, 0.7, 0.6, 0.3, 0.1
"""How alike two names are, by what differs: case, accents, punctuation or spaces; a final s; the order of the words;
one letter of a long word; one letter of a shorter one, which mostly makes another word or another person's name."""

PLAIN_LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})
"""Letters that Unicode does not decompose."""

LONG_WORD = 8
"""Letters of a long word."""

MAX_TOGETHER = 0.2
"""Share of the rarer tag's documents that may have both: one tag under two names is seldom on a document twice."""


@dataclass(frozen=True)
class NearDuplicate:
    """Two tags that may be one.

    Attributes
    ----------
    first, second : str
        The tags.
    topic_similarity : float
        The similarity of their topics (Bhattacharyya coefficient): 1 if they are the same.
    documents : tuple of int
        The number of documents of each.
    together : int
        The number of documents that have both.
    name_similarity : float, default=1.0
        How alike their names are: an estimate of how often names that differ in this way mean one tag.

    Examples
    --------
    >>> from tagtopic.tagging import NearDuplicate
    >>> NearDuplicate("in:U.S.A.", "in:USA", 0.93, (40, 12), 0).topic_similarity
    0.93
    """

    first: str
    second: str
    topic_similarity: float
    documents: tuple[int, int]
    together: int
    name_similarity: float = 1.0

    @property
    def similarity(self) -> float:
        """The product of the similarities of names and topics."""
        return self.name_similarity * self.topic_similarity


def near_duplicates(
    tag_names: Sequence[str], tag_topics: Floats, tags: Any, min_similarity: float = 0.6
) -> list[NearDuplicate]:
    """Find pairs of tags that may be one.

    Parameters
    ----------
    tag_names : sequence of str
        The tags.
    tag_topics : array of shape (n_tags, n_topics)
        Their topics; rows sum to 1.
    tags : CSR of shape (n_documents, n_tags)
        The tags of documents.
    min_similarity : float, default=0.6
        The least similarity of the topics.

    Returns
    -------
    list of NearDuplicate
        The most similar first, by name and topics.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from tagtopic.tagging import near_duplicates
    >>> (pair,) = near_duplicates(["in:U.S.A.", "in:USA", "in:UK"], np.full((3, 2), 0.5), csr_array(np.eye(3)))
    >>> pair.first, pair.second
    ('in:U.S.A.', 'in:USA')
    """
    by_tag = tags.tocsc()
    found = []
    for i, j in sorted(_pairs(tag_names)):
        rows_i, rows_j = (by_tag.indices[by_tag.indptr[t] : by_tag.indptr[t + 1]] for t in (i, j))
        together = len(np.intersect1d(rows_i, rows_j))
        similarity = float(np.sqrt(tag_topics[i] * tag_topics[j]).sum())
        if similarity >= min_similarity and together <= MAX_TOGETHER * min(len(rows_i), len(rows_j)):
            counts = (len(rows_i), len(rows_j))
            names = tag_names[i], tag_names[j]
            found.append(NearDuplicate(*names, similarity, counts, together, _name_similarity(*names)))
    return sorted(found, key=lambda pair: -pair.similarity)


def _name_similarity(first: str, second: str) -> float:
    one, other = (_words(_kind_and_name(tag)[1]) for tag in (first, second))
    if "".join(one) == "".join(other):
        return SAME_LETTERS
    if "".join(sorted(one)) == "".join(sorted(other)):
        return OTHER_ORDER
    only_one, only_other = (
        [word for word in words if word not in rest] for words, rest in ((one, other), (other, one))
    )
    if len(only_one) == len(only_other) == 1:
        shorter, longer = sorted((only_one[0], only_other[0]), key=len)
        if longer == f"{shorter}s":
            return PLURAL
        if len(shorter) >= LONG_WORD:
            return TYPING_ERROR
    return OTHER_WORD


def _pairs(tag_names: Sequence[str]) -> set[tuple[int, int]]:
    """Return the pairs of tags that share a key."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, name in enumerate(map(_normalised, tag_names)):
        digits = "".join(re.findall(r"\d", name))  # numbers must be equal: 1999 is not a misspelt 1998
        for key in set(_keys(name)):
            groups[digits, key].append(number)
    return {
        pair
        for members in groups.values()
        if 1 < len(members) <= MAX_GROUP
        for pair in combinations(sorted(members), 2)
    }


def _normalised(tag: str) -> str:
    """Return the tag's kind, and its normalised name."""
    kind, name = _kind_and_name(tag)
    return f"{kind}:{normalised_name(name)}"


def normalised_name(name: str) -> str:
    """Return a name as sorted lower-case words without accents and punctuation."""
    return "".join(sorted(_words(name)))


def _kind_and_name(tag: str) -> tuple[str, str]:
    kind, colon, name = tag.partition(":")
    return (kind, name) if colon else ("", tag)


def _words(name: str) -> list[str]:
    plain = "".join(c for c in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(c))
    return re.findall(r"\w+", plain.translate(PLAIN_LETTERS).replace(".", "").replace("'", "").replace("’", ""))


def _keys(normalised: str) -> Iterator[str]:
    """Yield the name, and the name without each of its letters: two names one letter apart share a key."""
    yield normalised
    kind, _, name = normalised.partition(":")
    if len(name) >= MIN_FUZZY_LENGTH:
        for place in range(len(name)):
            yield f"{kind}:{name[:place]}{name[place + 1 :]}"
