"""Labels of topics: words that are frequent in a topic and rare elsewhere, and phrases of its documents."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from tagtopic._core.arrays import Float64s

FREQUENCY_WEIGHT = 0.3
"""The weight of a word's frequency against its exclusivity."""

MIN_PROBABILITY = 1e-3
"""Words of a topic that can be in its label, unless there are too few."""

PHRASE_WORDS = 40
"""The most probable words of a topic, of which a phrase consists."""

PHRASE_DOCUMENTS = 3
"""Documents in which a phrase occurs at least."""

WORD = re.compile(r"\w+(?:[-'’]\w+)*")


@dataclass(frozen=True)
class TopicDescription:
    """What a namer is given about a topic.

    Attributes
    ----------
    topic : int
        Its number.
    share : float
        Its share of all words.
    words : tuple of str
        Its most probable words.
    distinctive_words : tuple of str
        Words that are frequent in it and rare elsewhere, best first.
    phrases : tuple of str
        Phrases of its documents, if texts are known.
    tags : tuple of str
        Its most probable tags.
    documents : tuple of str
        Beginnings of the texts of documents with the largest shares, if texts are known.

    Examples
    --------
    >>> from tagtopic.analysis import TopicDescription
    >>> TopicDescription(0, 0.2, ("ship", "planet"), ("planet", "ship")).label()
    'planet, ship'
    """

    topic: int
    share: float
    words: tuple[str, ...]
    distinctive_words: tuple[str, ...]
    phrases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()

    def label(self, n_words: int = 3) -> str:
        """Return a label: a phrase if there is one, and distinctive words, without two forms of one word.

        Parameters
        ----------
        n_words : int, default=3
            The number of words; a phrase counts as its words.

        Returns
        -------
        str
            Words and phrases, separated by commas.

        Examples
        --------
        >>> TopicDescription(0, 0.2, (), ("translation", "translations", "bleu"), ("machine translation",)).label()
        'machine translation, bleu'
        """
        chosen = list(self.phrases[:1])
        used = {stem(word) for phrase in chosen for word in phrase.split()}
        for word in self.distinctive_words:
            if sum(len(part.split()) for part in chosen) >= n_words:
                break
            if stem(word) not in used:
                chosen.append(word)
                used.add(stem(word))
        return ", ".join(chosen) or f"topic {self.topic}"


Namer = Callable[[TopicDescription], str]


def stem(word: str) -> str:
    """Return what forms of a word have in common, roughly: without plural and some other endings."""
    for ending in ("ations", "ation", "ings", "ing", "ies", "ed", "es", "s", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def frex_scores(topics: Any, weight: float = FREQUENCY_WEIGHT) -> Float64s:
    """Return the FREX score of each word in each topic.

    It is the weighted harmonic mean of a word's quantiles, within the topic, of frequency and of exclusivity (its
    probability over the sum of those in all topics).

    Parameters
    ----------
    topics : ndarray of shape (topics, words)
        p(word | topic).
    weight : float, default=0.3
        The weight of frequency.

    Returns
    -------
    ndarray of shape (topics, words)

    References
    ----------
    J. Bischof and E. Airoldi, "Summarizing topical content with word frequency and exclusivity", ICML 2012.
    """
    values = np.asarray(topics, np.float64)
    exclusive = values / np.maximum(values.sum(axis=0), 1e-300)
    n = values.shape[1]
    frequency_ranks, exclusivity_ranks = (rankdata(part, axis=1) / n for part in (values, exclusive))
    return np.asarray(1.0 / (weight / frequency_ranks + (1.0 - weight) / exclusivity_ranks))


def distinctive_words(topics: Any, words: Sequence[str], counts: Any, n: int = 10) -> list[tuple[str, ...]]:
    """Return the words of largest FREX score of each topic, among its frequent ones."""
    values = np.asarray(topics, np.float64)
    scores = frex_scores(values)
    allowed = np.asarray(counts) > 0
    found = []
    for row, score in zip(values, scores, strict=True):
        frequent = allowed & (row >= min(MIN_PROBABILITY, np.sort(row)[-min(len(row), 3 * n)]))
        order = np.argsort(-np.where(frequent, score, -1.0), kind="stable")[:n]
        found.append(tuple(words[word] for word in order if frequent[word]))
    return found


def phrases_of(texts: Sequence[str], words: Sequence[str], n: int = 3) -> tuple[str, ...]:
    """Return the pairs of adjacent words, both among ``words``, in the most texts.

    Parameters
    ----------
    texts : sequence of str
        Texts of a topic's documents.
    words : sequence of str
        The topic's most probable words.
    n : int, default=3
        The number of phrases.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> texts = ["neural machine translation", "Machine translation works", "a machine translation"]
    >>> phrases_of(texts, ["machine", "translation"])
    ('machine translation',)
    """
    known = set(words)
    found: Counter[str] = Counter()
    for text in texts:
        tokens = [token.lower() for token in WORD.findall(text)]
        found.update({f"{a} {b}" for a, b in itertools.pairwise(tokens) if a in known and b in known and a != b})
    return tuple(phrase for phrase, count in found.most_common(n) if count >= PHRASE_DOCUMENTS)


def name_topics(descriptions: Sequence[TopicDescription], namer: Namer | None, n_words: int = 3) -> list[str]:
    """Return the name of each topic, by the namer or by distinctive words.

    Raises
    ------
    ValueError
        If the namer gives no text.
    """
    found = []
    for description in descriptions:
        name: Any = description.label(n_words) if namer is None else namer(description)
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"the namer gave {name!r} for topic {description.topic}: expected a text")
        found.append(" ".join(name.split()))
    return found
