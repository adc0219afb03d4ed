"""Planted topics, tags and weights are recovered with default settings, from ten corpora and seeds."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr

from tagtopic._core.arrays import Float64s
from tagtopic.datasets import make_tagged_corpus
from tagtopic.datasets.planted import PlantedCorpus
from tagtopic.models import TWTM
from tagtopic.models._init import initial_topics

pytestmark = pytest.mark.slow


@cache
def planted_corpus(seed: int, noise_tags: int) -> PlantedCorpus:
    return make_tagged_corpus(2000, 10, 50, noise_tags=noise_tags, random_state=seed)


@pytest.fixture(autouse=True, scope="module")
def _same_initial_topics_for_all_methods() -> Iterator[None]:
    """Initial topics do not depend on the inference method, and take half of the time of a fit."""
    found: dict[tuple[int, int], Any] = {}

    def found_once(corpus: Any, frequencies: Any, n_topics: int, init: str, random: Any, n_jobs: Any) -> Any:
        key = id(corpus), random.bit_generator.state["state"]["state"]
        if key not in found:  # the corpus is kept with it, so that no other gets its id
            found[key] = corpus, initial_topics(corpus, frequencies, n_topics, init, random, n_jobs)
        return found[key][1].copy()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tagtopic.models._settings.initial_topics", found_once)
        yield


def cosines(a: Float64s, b: Float64s) -> Float64s:
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (a, b)]
    return np.asarray(unit[0] @ unit[1].T)


def agreement(planted: PlantedCorpus, model: TWTM) -> tuple[float, float, float]:
    """Mean cosine of topics and of tags after the best permutation, and the rank correlation of the tag weights."""
    table = cosines(planted.topic_words, np.asarray(model.components_, np.float64))
    _, order = linear_sum_assignment(-table)
    tags = np.diag(cosines(planted.tag_topics, np.asarray(model.tag_topics_[:, order], np.float64)))
    sizes = np.diff(planted.corpus.tags.indptr)
    several = np.repeat(sizes, sizes) > 1  # a single tag has the weight 1 by definition
    weights = model.tag_weights(planted.corpus).data
    rank = spearmanr(planted.tag_weights.data[several], weights[several]).statistic
    return float(table[np.arange(len(order)), order].mean()), float(tags.mean()), float(rank)


@pytest.mark.parametrize("method", ["mixture", "map", "cvb0"])
@pytest.mark.parametrize("seed", range(10))
def test_topics_tags_and_weights_are_recovered(method: str, seed: int) -> None:
    planted = planted_corpus(seed, 0)
    topics, tags, rank = agreement(planted, TWTM(10, inference=method, random_state=seed).fit(planted.corpus))
    assert topics >= 0.95
    assert tags >= 0.95
    assert rank >= 0.85


@pytest.mark.parametrize("method", ["mixture", "map", "cvb0"])
@pytest.mark.parametrize("seed", range(4))
def test_noise_tags_have_less_than_a_third_of_the_weight_of_true_ones(method: str, seed: int) -> None:
    planted = planted_corpus(seed, 1)
    weights = TWTM(10, inference=method, random_state=seed).fit(planted.corpus).tag_weights(planted.corpus).data
    assert weights[planted.noise].mean() < weights[~planted.noise].mean() / 3
