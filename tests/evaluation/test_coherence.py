"""Coherence: gensim's value equals the formula, and its failures are handled."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tagtopic import Corpus
from tagtopic._core import optional
from tagtopic._core.isolation import ForeignLibraryError
from tagtopic.evaluation import coherence
from tagtopic.evaluation.coherence import first_words

pytest.importorskip("gensim")


@dataclass
class Topics:
    """The interface that coherence needs."""

    components_: Any
    words_: tuple[str, ...]


def by_hand(model: Topics, corpus: Corpus, n_words: int) -> list[float]:
    """The mean normalised pointwise mutual information of all pairs, an empty document added."""
    has = np.vstack([corpus.counts.toarray() > 0, np.zeros((1, corpus.n_words))])
    single, both = has.mean(axis=0), has.T @ has / len(has)
    means = []
    for words in first_words(model.components_, n_words):
        values = [
            np.log((both[a, b] + 1e-12) / (single[a] * single[b])) / -np.log(both[a, b] + 1e-12)
            for a in words for b in words if a != b and single[a] > 0 and single[b] > 0
        ]  # fmt: skip
        means.append(float(np.mean(values)) if values else float("nan"))
    return means


def test_coherence_equals_the_formula() -> None:
    random = np.random.default_rng(0)
    counts = random.poisson(0.4, (80, 30))
    counts[:, 3] = 0  # a word that no document has
    counts[:, 4] = counts[:, 5] = 1  # two words that every document has
    counts[:40, 6], counts[40:, 6], counts[:40, 7], counts[40:, 7] = 1, 0, 0, 1  # two that never meet
    corpus = Corpus.from_counts(counts)
    components = random.dirichlet(np.full(30, 0.3), 12)
    components[0, :8] = 10.0
    components[1, [3, 4]] = 20.0
    model = Topics(components / components.sum(axis=1, keepdims=True), corpus.words)
    found = coherence(model, corpus, n_words=6)
    expected = by_hand(model, corpus, 6)
    np.testing.assert_allclose(found.topics, expected, atol=1e-9)
    assert found.mean == pytest.approx(np.mean(expected))


def test_a_topic_without_known_words_is_nan_and_not_in_the_mean() -> None:
    corpus = Corpus.from_counts([[1, 1, 0, 0], [1, 1, 0, 0], [0, 1, 0, 0]])
    model = Topics(np.array([[0.5, 0.4, 0.1, 0.0], [0.0, 0.0, 0.5, 0.5]]), (*corpus.words[:3], "elsewhere"))
    found = coherence(model, corpus, n_words=2)
    assert np.isnan(found.topics[1])
    assert found.mean == found.topics[0]
    nothing = coherence(Topics(model.components_[1:], model.words_), corpus, n_words=2)
    assert np.isnan(nothing.mean)


def test_gensim_is_ended_after_the_timeout() -> None:
    corpus = Corpus.from_counts([[1, 1], [1, 0]])
    model = Topics(np.array([[0.5, 0.5]]), corpus.words)
    with pytest.raises(ForeignLibraryError, match=r"coherence \(gensim\) was not done after 0.01 seconds"):
        coherence(model, corpus, timeout=0.01)


def test_larger_corpora_are_sampled() -> None:
    corpus = Corpus.from_counts([[1, 1]] * 5)
    model = Topics(np.array([[0.5, 0.5]]), corpus.words)
    assert coherence(model, corpus, max_documents=2).mean == pytest.approx(1.0)


def test_a_missing_gensim_is_an_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optional, "find_spec", lambda package: None)
    corpus = Corpus.from_counts([[1, 1]])
    with pytest.raises(optional.MissingExtraError, match=r"coherence needs gensim.*tagtopic\[baselines\]"):
        coherence(Topics(np.array([[0.5, 0.5]]), corpus.words), corpus)


def test_one_word_is_an_error() -> None:
    corpus = Corpus.from_counts([[1, 1]])
    with pytest.raises(ValueError, match="n_words=1"):
        coherence(Topics(np.array([[0.5, 0.5]]), corpus.words), corpus, n_words=1)
