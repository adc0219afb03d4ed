"""Do the words of a topic occur together? Coherence c_npmi, by gensim's CoherenceModel, kept from its traps.

The normalised pointwise mutual information of two words is 1 if they only occur together, 0 if they are independent,
-1 if they never meet. Two words meet when a document has both: a corpus does not keep the order of words, so there are
no windows narrower than a document.

gensim answers NaN or infinity for words that the documents never have, and its pool of processes may wait for ever. So
such words are left out, one empty document is added (a word in every document has no information otherwise), and
gensim runs with one process, in a child that can be ended (``_core/isolation.py``).

Figures about topics alone: how much their words differ from topic to topic.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, offsets_of
from tagtopic._core.isolation import Arrays, run_isolated
from tagtopic._core.optional import require
from tagtopic.corpus import Corpus
from tagtopic.corpus.matrices import move_columns


def diversity(components: Any, n_words: int = 25) -> float:
    """The share of different words among the first ``n_words`` of all topics: 1 if no two topics share one.

    ``components`` is (topics, words), as in ``model.components_`` (Dieng, Ruiz and Blei 2020).

    Examples
    --------
    >>> from tagtopic.evaluation.coherence import diversity
    >>> diversity([[0.9, 0.1, 0.0], [0.9, 0.0, 0.1]], n_words=1)
    0.5
    """
    first = first_words(components, n_words)
    return float(len(np.unique(first)) / first.size)


def exclusivity(components: Any, n_words: int = 10) -> float:
    """How much the first ``n_words`` of a topic are its own: the mean share that it has in its words' probabilities.

    The share of topic k in word w is p(w | k) / sum_j p(w | j): 1 if no other topic has the word, 1 / topics if all
    have it alike (the exclusivity of Bischof and Airoldi 2012, without their ranks).

    Examples
    --------
    >>> from tagtopic.evaluation.coherence import exclusivity
    >>> exclusivity([[1.0, 0.0], [0.0, 1.0]], n_words=1)
    1.0
    """
    probabilities = np.asarray(components)
    first = first_words(probabilities, n_words)
    own = np.take_along_axis(probabilities, first, axis=1).astype(np.float64)
    everybody = probabilities.sum(axis=0, dtype=np.float64)[first]
    return float((own / np.maximum(everybody, 1e-300)).mean())


def first_words(components: Any, n_words: int) -> Any:
    """(topics, n_words): the most probable words of each topic, most probable first."""
    if n_words < 1:
        raise ValueError(f"n_words={n_words!r}: expected a whole number from 1")
    probabilities: Floats = np.asarray(components)
    n = min(n_words, probabilities.shape[1])
    chosen = np.argpartition(-probabilities, n - 1, axis=1)[:, :n]
    order = np.argsort(-np.take_along_axis(probabilities, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)


N_WORDS = 10
MOST_DOCUMENTS = 20_000
"""Documents that are looked at; of larger corpora a random part, which moves the mean by a few thousandths."""

TOPICS_AT_ONCE = 10
"""gensim counts all pairs of all words that it is given, so it is given the words of a few topics at a time."""

TIMEOUT = 900.0


@dataclass(frozen=True)
class Coherence:
    """The mean over topics, and each topic's: NaN for one with fewer than two words that the documents have."""

    mean: float
    topics: Float64s


def coherence(
    model: Any,
    corpus: Corpus,
    *,
    n_words: int = N_WORDS,
    random_state: int = 0,
    timeout: float | None = TIMEOUT,
) -> Coherence:
    """Coherence c_npmi of the first ``n_words`` of each topic of a model, ours or a baseline, in these documents.

    Needs gensim (``pip install 'tagtopic[baselines]'``). More than 20,000 documents are sampled. A ``timeout`` in
    seconds ends a gensim that hangs, with a ``ForeignLibraryError``.

    Examples
    --------
    >>> from tagtopic import TWDA, Corpus
    >>> corpus = Corpus.from_texts(["a ship in space", "police hunt a killer"] * 5, [["space"], ["crime"]] * 5)
    >>> model = TWDA(2, random_state=0).fit(corpus)
    >>> from tagtopic.evaluation.coherence import coherence
    >>> coherence(model, corpus, n_words=2).topics.shape
    (2,)
    """
    require("gensim", extra="baselines", purpose="coherence")
    if n_words < 2:
        raise ValueError(f"n_words={n_words!r}: a topic needs two words at least to cohere")
    counts = corpus.align(model.words_, ()).corpus.counts
    if counts.shape[0] > MOST_DOCUMENTS:
        chosen = np.random.default_rng(random_state).permutation(counts.shape[0])[:MOST_DOCUMENTS]
        counts = counts[np.sort(chosen)]
    words = first_words(model.components_, n_words)
    occur = np.bincount(counts.indices, minlength=counts.shape[1]) > 0
    relevant = np.unique(words[occur[words]])
    answer = np.full(len(words), np.nan)
    measured = np.flatnonzero(occur[words].sum(axis=1) >= 2)
    if len(measured):
        target = np.full(counts.shape[1], -1, np.int32)
        target[relevant] = np.arange(len(relevant), dtype=np.int32)
        kept = move_columns(counts, target, len(relevant))
        # -1 stands for a word that no document has
        arrays = {"starts": kept.indptr, "words": kept.indices, "topics": target[words[measured]]}
        task = f"{__name__}:measure"
        answer[measured] = run_isolated(task, arrays, {}, name="coherence (gensim)", timeout=timeout)["coherence"]
    known = answer[np.isfinite(answer)]
    return Coherence(float(known.mean()) if len(known) else float("nan"), answer)


def measure(arrays: Arrays, settings: dict[str, Any]) -> Arrays:
    """What the child does: ``coherence``, one number a topic, of ``topics`` in documents ``starts``, ``words``."""
    starts, words, topics = arrays["starts"], arrays["words"], arrays["topics"]
    parts = []
    for first in range(0, len(topics), TOPICS_AT_ONCE):
        chosen = [[str(word) for word in topic if word >= 0] for topic in topics[first : first + TOPICS_AT_ONCE]]
        relevant = np.isin(words, topics[first : first + TOPICS_AT_ONCE])
        offsets = offsets_of(relevant)[starts]
        named = [str(word) for word in words[relevant]]
        texts = [named[a:b] for a, b in pairwise(offsets)]
        parts.append(_npmi(chosen, [*texts, []]))
    return {"coherence": np.concatenate(parts)}


def _npmi(topics: list[list[str]], texts: list[list[str]]) -> Float64s:
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    longest = max(map(len, [*topics, *texts]))
    model = CoherenceModel(
        topics=topics,
        texts=texts,
        dictionary=Dictionary(topics),
        coherence="c_npmi",
        window_size=longest + 1,  # one window a document
        topn=longest,
        processes=1,
    )
    return np.asarray(model.get_coherence_per_topic(), np.float64)
