"""Quality of topics: coherence (c_npmi), diversity and exclusivity.

The normalised pointwise mutual information of two words is 1 if they only occur together, 0 if they are independent,
and -1 if they never occur together. Two words occur together if a document has both: a corpus does not keep the order
of words, so that there are no windows narrower than a document.

Coherence is computed by gensim's CoherenceModel, which returns NaN or infinity for words that no document has, and
whose process pool may hang. Such words are therefore left out, one empty document is added (without it, a word in every
document has no information), and gensim runs with one process, in a child that can be ended (``_core/isolation.py``).
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

TOPICS_PER_CALL = 10
"""gensim counts all pairs of all words that it is given, so it is given the words of a few topics at a time."""


@dataclass(frozen=True)
class Coherence:
    """The result of ``coherence``.

    Attributes
    ----------
    mean : float
        The mean over topics whose coherence is defined.
    topics : ndarray of shape (n_topics,)
        The coherence of each topic: NaN for one with fewer than two words that the documents have.

    Examples
    --------
    >>> import numpy as np
    >>> from tagtopic.evaluation import Coherence
    >>> Coherence(0.25, np.array([0.2, 0.3])).mean
    0.25
    """

    mean: float
    topics: Float64s


def coherence(
    model: Any,
    corpus: Corpus,
    *,
    n_words: int = 10,
    random_state: int = 0,
    timeout: float | None = 900.0,
    max_documents: int = 20_000,
) -> Coherence:
    """Compute the coherence c_npmi of the top words of each topic in the documents of a corpus.

    Parameters
    ----------
    model : fitted model or baseline
        A fitted model with ``components_`` and ``words_``.
    corpus : Corpus
        The documents.
    n_words : int, default=10
        The number of top words of each topic.
    random_state : int, default=0
        Seed of the sample of documents.
    timeout : float or None, default=900
        Seconds after which gensim is ended.
    max_documents : int, default=20000
        Larger corpora are sampled, which changes the mean by a few thousandths.

    Returns
    -------
    Coherence

    Raises
    ------
    MissingExtraError
        If gensim is not installed (``pip install 'tagtopic[baselines]'``).
    ForeignLibraryError
        If gensim fails or takes longer than ``timeout``.

    References
    ----------
    Röder, Both and Hinneburg, "Exploring the space of topic coherence measures", WSDM 2015.

    Examples
    --------
    >>> from tagtopic import TWDA, Corpus
    >>> corpus = Corpus.from_texts(["a ship in space", "police hunt a killer"] * 5, [["space"], ["crime"]] * 5)
    >>> model = TWDA(2, random_state=0).fit(corpus)
    >>> from tagtopic.evaluation import coherence
    >>> coherence(model, corpus, n_words=2).topics.shape
    (2,)
    """
    require("gensim", extra="baselines", purpose="coherence")
    if n_words < 2:
        raise ValueError(f"n_words={n_words!r}: a topic needs two words at least to cohere")
    counts = corpus.align(model.words_, ()).corpus.counts
    if counts.shape[0] > max_documents:
        sample = np.random.default_rng(random_state).permutation(counts.shape[0])[:max_documents]
        counts = counts[np.sort(sample)]
    words = first_words(model.components_, n_words)
    occurs = np.bincount(counts.indices, minlength=counts.shape[1]) > 0
    relevant = np.unique(words[occurs[words]])
    found = np.full(len(words), np.nan)
    measured = np.flatnonzero(occurs[words].sum(axis=1) >= 2)
    if len(measured):
        column = np.full(counts.shape[1], -1, np.int32)
        column[relevant] = np.arange(len(relevant), dtype=np.int32)
        kept = move_columns(counts, column, len(relevant))
        # -1 stands for a word that no document has
        arrays = {"starts": kept.indptr, "words": kept.indices, "topics": column[words[measured]]}
        task = f"{__name__}:measure"
        found[measured] = run_isolated(task, arrays, {}, name="coherence (gensim)", timeout=timeout)["coherence"]
    finite = found[np.isfinite(found)]
    return Coherence(float(finite.mean()) if len(finite) else float("nan"), found)


def diversity(components: Any, n_words: int = 25) -> float:
    """Compute the share of different words among the top words of all topics.

    Parameters
    ----------
    components : array of shape (n_topics, n_words)
        Word probabilities, as in ``model.components_``.
    n_words : int, default=25
        The number of top words of each topic.

    Returns
    -------
    float
        1 if no two topics share a top word.

    References
    ----------
    Dieng, Ruiz and Blei, "Topic modeling in embedding spaces", TACL 2020.

    Examples
    --------
    >>> from tagtopic.evaluation import diversity
    >>> diversity([[0.9, 0.1, 0.0], [0.9, 0.0, 0.1]], n_words=1)
    0.5
    """
    first = first_words(components, n_words)
    return float(len(np.unique(first)) / first.size)


def exclusivity(components: Any, n_words: int = 10) -> float:
    """Compute the mean share of a topic in the probabilities of its top words.

    The share of topic k in word w is p(w | k) / sum_j p(w | j): the exclusivity of Bischof and Airoldi without their
    ranks.

    Parameters
    ----------
    components : array of shape (n_topics, n_words)
        Word probabilities, as in ``model.components_``.
    n_words : int, default=10
        The number of top words of each topic.

    Returns
    -------
    float
        1 if no other topic has the words, 1 / n_topics if all topics have them equally.

    References
    ----------
    Bischof and Airoldi, "Summarizing topical content with word frequency and exclusivity", ICML 2012.

    Examples
    --------
    >>> from tagtopic.evaluation import exclusivity
    >>> exclusivity([[1.0, 0.0], [0.0, 1.0]], n_words=1)
    1.0
    """
    probabilities = np.asarray(components)
    first = first_words(probabilities, n_words)
    own = np.take_along_axis(probabilities, first, axis=1).astype(np.float64)
    total = probabilities.sum(axis=0, dtype=np.float64)[first]
    return float((own / np.maximum(total, 1e-300)).mean())


def first_words(components: Any, n_words: int) -> Any:
    """Return the most probable words of each topic, most probable first: (topics, n_words)."""
    if n_words < 1:
        raise ValueError(f"n_words={n_words!r}: expected a whole number from 1")
    probabilities: Floats = np.asarray(components)
    n = min(n_words, probabilities.shape[1])
    chosen = np.argpartition(-probabilities, n - 1, axis=1)[:, :n]
    order = np.argsort(-np.take_along_axis(probabilities, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)


def measure(arrays: Arrays, settings: dict[str, Any]) -> Arrays:
    """Compute ``coherence`` of each of ``topics`` in documents ``starts``, ``words``; runs in the child process."""
    starts, words, topics = arrays["starts"], arrays["words"], arrays["topics"]
    parts = []
    for first in range(0, len(topics), TOPICS_PER_CALL):
        some = topics[first : first + TOPICS_PER_CALL]
        chosen = [[str(word) for word in topic if word >= 0] for topic in some]
        relevant = np.isin(words, some)
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
        window_size=longest + 1,  # one window per document
        topn=longest,
        processes=1,
    )
    return np.asarray(model.get_coherence_per_topic(), np.float64)
