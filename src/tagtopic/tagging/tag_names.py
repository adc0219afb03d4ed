"""Words of tag names as evidence: a text with the word "vampire" is evidence for the tag ``keyword:vampire``.

On TMDB's keywords this raises recall@10 from 0.29 to 0.32 (held-out training documents). Where names do not occur in
the texts, as those of authors, the fitted coefficients give it no weight.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Floats

MAX_FUNCTION_WORD = 3
"""Unknown words of at most this many letters (of, in, the) are not counted as part of a name."""


def name_words(tag: str) -> set[str]:
    """Return the different words of a tag's name (the part after its kind): letters and digits, lower case."""
    kind, colon, name = tag.partition(":")
    plain = unicodedata.normalize("NFKC", name if colon else kind).lower()
    return set(re.findall(r"[^\W_]+", plain))


def name_shares(tag_names: Sequence[str], words: Sequence[str], idf: Floats) -> Any:
    """Return the share of each word in each tag's name by idf: CSR (words, tags).

    A word of a name that no document has counts like the rarest word, so that such a name never matches in full.
    """
    column = {word: number for number, word in enumerate(words)}
    rarest = float(idf.max()) if len(idf) else 1.0
    rows: list[int] = []
    tags: list[int] = []
    shares: list[float] = []
    for tag, name in enumerate(tag_names):
        parts = sorted(name_words(name))  # sums must not depend on the order of a set
        known = [column[part] for part in parts if part in column]
        if not known:
            continue
        unknown = sum(rarest for part in parts if part not in column and len(part) > MAX_FUNCTION_WORD)
        total = float(idf[known].sum()) + unknown
        rows += known
        tags += [tag] * len(known)
        shares += (idf[known] / total).tolist()
    shape = (len(words), len(tag_names))
    table = sp.csr_array(
        (np.array(shares, np.float32), (np.array(rows, np.int64), np.array(tags, np.int64))), shape=shape
    )
    table.sort_indices()
    return table
