"""The planted corpus agrees with the truth that comes with it."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from tagtopic.corpus import Corpus
from tagtopic.datasets import PlantedSettings, make_tagged_corpus, write_tagged_corpus
from tagtopic.datasets.planted import draw_corpus


def test_shapes_and_sums() -> None:
    made = make_tagged_corpus(300, 4, 12, 60, model="twda", noise_tags=1, untagged=0.2, tags_per_document=(1, 3))
    corpus = made.corpus
    assert (corpus.n_documents, corpus.n_words, corpus.n_tags) == (300, 60, 12)
    assert made.topic_words.shape == (4, 60)
    assert made.tag_topics.shape == (12, 4)
    assert made.document_topics.shape == (300, 4)
    assert made.noise.shape == corpus.tags.data.shape
    for rows in (made.topic_words, made.tag_topics, made.document_topics):
        np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    np.testing.assert_allclose(made.tag_weights.sum(axis=1) + made.latent_share, 1.0)
    np.testing.assert_array_equal(made.tag_weights.indices, corpus.tags.indices)
    np.testing.assert_array_equal(made.tag_weights.indptr, corpus.tags.indptr)
    lengths = corpus.counts.sum(axis=1)
    assert lengths.min() >= 50
    assert lengths.max() <= 150


def test_the_same_seed_gives_the_same_corpus() -> None:
    first, again, other = (make_tagged_corpus(50, 3, 8, 40, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.corpus.counts.toarray(), again.corpus.counts.toarray())
    np.testing.assert_array_equal(first.tag_weights.toarray(), again.tag_weights.toarray())
    assert not np.array_equal(first.tag_topics, other.tag_topics)


def test_word_frequencies_agree_with_the_true_mixture() -> None:
    made = make_tagged_corpus(20_000, 5, 20, 200, document_length=100)
    expected = made.document_topics.sum(axis=0) @ made.topic_words * 100
    observed = made.corpus.counts.sum(axis=0)
    common = expected > 10
    chi_square = np.sum((observed - expected)[common] ** 2 / expected[common])
    assert common.sum() > 100
    assert chi_square < common.sum() + 5 * np.sqrt(2 * common.sum())


def test_document_topics_are_the_weighted_mean_of_tag_topics() -> None:
    made = make_tagged_corpus(100, 4, 12, 60, noise_tags=2)
    np.testing.assert_allclose(made.document_topics, made.tag_weights @ made.tag_topics)
    assert not made.latent_share.any()


def test_noise_tags_have_zero_weight_and_real_ones_positive_weight() -> None:
    made = make_tagged_corpus(500, 4, 30, 60, tags_per_document=2, noise_tags=1.5)
    assert (made.tag_weights.data[made.noise] == 0).all()
    assert (made.tag_weights.data[~made.noise] > 0).all()
    assert (~made.noise).sum() == 1000
    per_document = np.diff(made.corpus.tags.indptr) - 2
    assert set(per_document) == {1, 2}
    assert abs(per_document.mean() - 1.5) < 0.1


def test_untagged_documents_are_all_latent() -> None:
    made = make_tagged_corpus(1000, 4, 12, 60, model="twda", untagged=0.3, noise_tags=1)
    untagged = np.diff(made.corpus.tags.indptr) == 0
    assert abs(untagged.mean() - 0.3) < 0.05
    np.testing.assert_array_equal(made.latent_share[untagged], 1.0)


def test_weights_follow_their_prior() -> None:
    prior = np.arange(1, 11).astype(float)
    made = make_tagged_corpus(4000, 3, 10, 20, tags_per_document=3, document_length=1, weight_prior=prior)
    mean_weight = made.tag_weights.sum(axis=0) / made.corpus.tags.sum(axis=0)
    assert spearmanr(mean_weight, prior).statistic > 0.95


def test_word_frequencies_follow_zipfs_law() -> None:
    frequency = np.sort(make_tagged_corpus(2000, 20, 50, 2000).corpus.counts.sum(axis=0))[::-1]
    slope = np.polyfit(np.log(np.arange(10, 300)), np.log(frequency[10:300]), 1)[0]
    assert -1.5 < slope < -0.7


def test_documents_do_not_depend_on_how_many_follow() -> None:
    sizes: dict[str, Any] = {"n_topics": 3, "n_tags": 8, "n_words": 40, "model": "twda", "noise_tags": 1}
    short, long = (draw_corpus(PlantedSettings(n_documents=n, **sizes), block_documents=40) for n in (40, 100))
    np.testing.assert_array_equal(short.corpus.counts.toarray(), long.corpus.counts[:40].toarray())
    assert long.noise.shape == long.corpus.tags.data.shape
    np.testing.assert_array_equal(long.tag_weights.data == 0, long.noise)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_topics": 0}, "n_topics must be at least 1"),
        ({"model": "lda"}, "model must be"),
        ({"untagged": 0.1}, 'use model="twda"'),
        ({"untagged": 1.1, "model": "twda"}, "share from 0 to 1"),
        ({"tags_per_document": 0}, "untagged="),
        ({"tags_per_document": (3, 2)}, "least, most"),
        ({"document_length": -1}, "document_length"),
        ({"noise_tags": 48}, "of 50 tags"),
        ({"noise_tags": -1}, "negative"),
        ({"weight_prior": 0.0}, "weight_prior must be positive"),
        ({"weight_prior": [1.0, 2.0]}, "one per tag"),
    ],
)
def test_impossible_settings_are_errors(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_tagged_corpus(**settings)  # type: ignore[arg-type]


def test_settings_and_arguments_have_the_same_names_and_defaults() -> None:
    settings = inspect.signature(make_tagged_corpus).parameters
    assert {name: setting.default for name, setting in settings.items()} == vars(PlantedSettings())


def test_a_corpus_drawn_to_disk_is_the_one_drawn_in_memory(tmp_path: Path) -> None:
    settings = PlantedSettings(n_documents=110, n_topics=3, n_tags=8, n_words=40, model="twda")
    truth = write_tagged_corpus(tmp_path / "corpus", settings, block_documents=40)
    made = draw_corpus(settings, block_documents=40)
    assert Corpus.open(tmp_path / "corpus").fingerprint() == made.corpus.fingerprint()
    np.testing.assert_array_equal(truth.topic_words, made.topic_words)
