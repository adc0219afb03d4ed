"""Planted effects: corpora in which the expected topic shares of documents are known functions of covariates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax

from tagtopic._core.arrays import Float64s
from tagtopic.corpus import Corpus

VENUES, REGIONS = ("venue:A", "venue:B", "venue:C"), ("region:N", "region:S")


@dataclass(frozen=True)
class PlantedEffects:
    """A corpus with covariates, and the truth behind it.

    Attributes
    ----------
    corpus : Corpus
        Documents with a tag of kind ``venue`` (A, B, C), one of kind ``region`` (N, S), and one of kind ``year``.
    years : ndarray of shape (documents,)
        The years.
    topic_words : ndarray of shape (topics, words)
        The topics.
    coefficients : ndarray of shape (5, topics)
        Of the intercept, venues B and C, region S, and the year scaled to [-0.5, 0.5].
    shares : ndarray of shape (documents, topics)
        The topic proportions of the documents.
    first_year, last_year : float
        The range of the years.

    Examples
    --------
    >>> from tagtopic.datasets import make_effects_corpus
    >>> planted = make_effects_corpus(50, n_topics=3, random_state=1)
    >>> planted.corpus.n_documents, planted.expected_shares().shape
    (50, (50, 3))
    """

    corpus: Corpus
    years: Float64s
    topic_words: Float64s
    coefficients: Float64s
    shares: Float64s
    first_year: float
    last_year: float

    def expected_shares(self, *, venue: str | None = None, region: str | None = None, year: float | None = None) -> Any:
        """Return the expected topic shares of the documents, possibly had they another venue, region or year.

        Parameters
        ----------
        venue, region : str or None, default=None
            A level such as "B", in place of the documents' own.
        year : float or None, default=None
            A year in place of the documents' own.

        Returns
        -------
        ndarray of shape (documents, topics)
            Rows sum to 1.

        Examples
        --------
        >>> planted = make_effects_corpus(50, n_topics=3, random_state=1)
        >>> planted.expected_shares(venue="B").sum(axis=1).round(6).min()
        np.float64(1.0)
        """
        tags = self.corpus.tags.toarray().astype(float)
        names = list(self.corpus.tag_names)
        has = {name: tags[:, names.index(name)] if name in names else np.zeros(len(tags)) for name in VENUES + REGIONS}
        if venue is not None:
            has |= {name: np.full(len(tags), float(name == f"venue:{venue}")) for name in VENUES}
        if region is not None:
            has |= {name: np.full(len(tags), float(name == f"region:{region}")) for name in REGIONS}
        when = self.years if year is None else np.full(len(tags), float(year))
        scaled = (when - self.first_year) / (self.last_year - self.first_year) - 0.5
        design = np.column_stack([np.ones(len(tags)), has["venue:B"], has["venue:C"], has["region:S"], scaled])
        return softmax(design @ self.coefficients, axis=1)


def make_effects_corpus(
    n_documents: int = 1000,
    *,
    n_topics: int = 8,
    n_words: int = 600,
    document_length: tuple[int, int] = (60, 140),
    concentration: float = 3.0,
    effect_scale: float = 0.7,
    word_concentration: float = 0.05,
    years: tuple[int, int] = (2000, 2019),
    random_state: int = 0,
) -> PlantedEffects:
    """Draw a corpus in which venue, region and year change the topics of documents.

    Parameters
    ----------
    n_documents : int, default=1000
        The number of documents.
    n_topics, n_words : int, default=8, 600
        Sizes of the model.
    document_length : (int, int), default=(60, 140)
        The least and the largest number of tokens of a document.
    concentration : float, default=3.0
        Of the Dirichlet distribution of a document's topics around their expectation.
    effect_scale : float, default=0.7
        The standard deviation of the coefficients.
    word_concentration : float, default=0.05
        Of the words of topics.
    years : (int, int), default=(2000, 2019)
        The first and the last year.
    random_state : int, default=0
        Seed.

    Returns
    -------
    PlantedEffects
        The corpus and the truth.

    Examples
    --------
    >>> from tagtopic.datasets import make_effects_corpus
    >>> sorted(set(make_effects_corpus(50, random_state=1).corpus.tag_kinds))
    ['region', 'venue', 'year']
    """
    rng = np.random.default_rng(random_state)
    coefficients = rng.normal(0.0, effect_scale, (5, n_topics))
    frequencies = 1.0 / np.arange(1, n_words + 1) ** 0.5
    base = word_concentration * n_words * frequencies / frequencies.sum()
    topic_words = rng.dirichlet(np.maximum(base, 1e-3), n_topics)
    venue = rng.choice(3, n_documents, p=[0.5, 0.3, 0.2])
    region = rng.choice(2, n_documents, p=[0.6, 0.4])
    when = rng.integers(years[0], years[1] + 1, n_documents)
    tags = [[VENUES[v], REGIONS[r], f"year:{year}"] for v, r, year in zip(venue, region, when.tolist(), strict=True)]
    empty = Corpus.from_counts(csr_array((n_documents, n_words), dtype=np.int32), tags)
    truth = PlantedEffects(
        empty, when.astype(np.float64), topic_words, coefficients, np.empty(0), float(years[0]), float(years[1])
    )
    means = truth.expected_shares()
    shares = rng.standard_gamma(concentration * means) + 1e-12
    shares /= shares.sum(axis=1, keepdims=True)
    lengths = rng.integers(document_length[0], document_length[1] + 1, n_documents)
    mixed = shares @ topic_words
    counts = np.array([rng.multinomial(n, row / row.sum()) for n, row in zip(lengths, mixed, strict=True)], np.int32)
    corpus = Corpus.from_counts(csr_array(counts), tags)
    return PlantedEffects(corpus, truth.years, topic_words, coefficients, shares, float(years[0]), float(years[1]))
