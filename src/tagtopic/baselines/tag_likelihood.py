"""How likely a document's words are under one tag: the paper's p(d | tag) = prod_i sum_z p(z | tag) p(w_i | z).

As ``inference.tag_likelihood``, which takes documents one by one; for many at a time, as experiments score them, it is
cheaper to look at each word under each tag once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic.inference.arrays import Float64s, Floats
from tagtopic.inference.tag_likelihood import LEAST

TAGS_AT_ONCE = 256
"""Memory: so many tags times the words that occur."""


def log_likelihood_of_tags(counts: Any, tag_topics: Floats, topic_words: Floats) -> Float64s:
    """The logarithms of p(d | tag), (documents, tags); ``counts`` is CSR, ``topic_words`` (words, topics)."""
    present = np.unique(counts.indices)
    here = counts[:, present].astype(np.float64)
    words = np.asarray(topic_words[present], np.float64)
    scores = np.empty((counts.shape[0], len(tag_topics)))
    for first in range(0, len(tag_topics), TAGS_AT_ONCE):
        tags = slice(first, first + TAGS_AT_ONCE)
        logs = np.log(np.maximum(words @ np.asarray(tag_topics[tags], np.float64).T, LEAST))
        scores[:, tags] = here @ logs
    return scores
