"""Planted truth is found again, from ten corpora and seeds, with default settings; noise is, from four."""

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
from tagtopic.models._init import start_topics

pytestmark = pytest.mark.slow


@cache
def planted_corpus(seed: int, noise_tags: int) -> PlantedCorpus:
    return make_tagged_corpus(2000, 10, 50, noise_tags=noise_tags, random_state=seed)


@pytest.fixture(autouse=True, scope="module")
def _one_start_for_all_ways() -> Iterator[None]:
    """The topics that a fit starts from do not depend on the way of inference, and take half of its time."""
    found: dict[tuple[int, int], Any] = {}

    def found_once(corpus: Any, frequencies: Any, n_topics: int, init: str, random: Any, n_jobs: Any) -> Any:
        key = id(corpus), random.bit_generator.state["state"]["state"]
        if key not in found:  # the corpus is kept with it, so that no other gets its id
            found[key] = corpus, start_topics(corpus, frequencies, n_topics, init, random, n_jobs)
        return found[key][1].copy()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tagtopic.models._settings.start_topics", found_once)
        yield


def cosines(a: Float64s, b: Float64s) -> Float64s:
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (a, b)]
    return np.asarray(unit[0] @ unit[1].T)


def likeness(planted: PlantedCorpus, model: TWTM) -> tuple[float, float, float]:
    """Mean cosine of topics and of tags after the best permutation, and the rank correlation of the tag weights."""
    table = cosines(planted.topic_words, np.asarray(model.components_, np.float64))
    _, order = linear_sum_assignment(-table)
    tags = np.diag(cosines(planted.tag_topics, np.asarray(model.tag_topics_[:, order], np.float64)))
    sizes = np.diff(planted.corpus.tags.indptr)
    several = np.repeat(sizes, sizes) > 1  # the one tag of a document weighs 1 by definition
    weights = model.tag_weights(planted.corpus).data
    rank = spearmanr(planted.tag_weights.data[several], weights[several]).statistic
    return float(table[np.arange(len(order)), order].mean()), float(tags.mean()), float(rank)


@pytest.mark.parametrize("way", ["mixture", "map", "collapsed"])
@pytest.mark.parametrize("seed", range(10))
def test_topics_tags_and_weights_are_recovered(way: str, seed: int) -> None:
    planted = planted_corpus(seed, 0)
    topics, tags, rank = likeness(planted, TWTM(10, inference=way, random_state=seed).fit(planted.corpus))
    assert topics >= 0.95
    assert tags >= 0.95
    assert rank >= 0.85


@pytest.mark.parametrize("way", ["mixture", "map", "collapsed"])
@pytest.mark.parametrize("seed", range(4))
def test_noise_tags_get_less_than_a_third_of_the_weight_of_real_ones(way: str, seed: int) -> None:
    planted = planted_corpus(seed, 1)
    weights = TWTM(10, inference=way, random_state=seed).fit(planted.corpus).tag_weights(planted.corpus).data
    assert weights[planted.noise].mean() < weights[~planted.noise].mean() / 3
