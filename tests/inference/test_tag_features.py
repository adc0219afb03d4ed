"""Features and probabilities of tags, against the same in plain NumPy."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic._core.arrays import read_only
from tagtopic.tagging import evidence as te
from tagtopic.tagging import features as tf
from tagtopic.tagging.calibration import log_odds_of
from tagtopic.tagging.features import N_FEATURES, WHOLE, write_features
from tagtopic.tagging.predictor import queries_of
from tagtopic.tagging.regressions import Regressions

RNG = np.random.default_rng(0)
N_ROWS = 50


def features_reference(values: Any, best: Any) -> Any:
    """The readable twin."""
    centroid, near, named = values[:, te.CENTROID], values[:, te.NEAR], values[:, te.NAMED]
    share = np.clip(near / np.maximum(best[:, te.ALL_NEAR], 1e-9), 0, 1)
    columns = [
        np.log(centroid + 0.01),
        np.log(near + 0.001),
        np.log(values[:, te.CLOSE] + 1e-5),
        np.log(values[:, te.NEAREST] + 0.02),
        np.log(values[:, te.DOCUMENTS] + 0.5),
        centroid / best[:, te.BEST_CENTROID],
        near / best[:, te.BEST_NEAR],
        np.log(best[:, te.BEST_CENTROID] + 0.01),
        np.log(best[:, te.BEST_NEAR] + 0.001),
        named,
        named > WHOLE,
        named * np.log(values[:, te.DOCUMENTS] + 0.5),
        named * np.log(best[:, te.BEST_CENTROID] + 0.01),
        named * centroid / best[:, te.BEST_CENTROID],
        np.log((share + 0.01) / (1.01 - share)),
        np.log((values[:, te.MEAN] + 1e-4) / (best[:, te.ALL_MEAN] + 1e-4)),
    ]
    return np.stack(columns, axis=1)


def test_features_are_those_of_the_twin() -> None:
    values, best = RNG.random((N_ROWS, te.N_COLUMNS)), RNG.random((N_ROWS, te.N_MEASURES)) + 0.01
    values[:10, te.NAMED] = 1
    values[5:20, te.NEAR] = 0
    best[:3, te.ALL_NEAR] = 0
    values, best = values.astype(np.float32), best.astype(np.float32)
    found = np.empty((N_ROWS, N_FEATURES), np.float32)
    write_features(values, best, found)
    np.testing.assert_allclose(found, features_reference(values, best), rtol=1e-4, atol=1e-5)
    assert found[:, 10].sum() == 10


def planted(n_queries: int = 8, n_tags: int = 5) -> tuple[Any, tf.TagRegressions, te.Evidence]:
    """Documents, regressions of three of the tags, and evidence for some of the tags of each document."""
    vectors = sp.csr_array(RNG.random((n_queries, 20)) * (RNG.random((n_queries, 20)) < 0.4), dtype=np.float32)
    weights = sp.csr_array(RNG.normal(0, 8, (20, 3)) * (RNG.random((20, 3)) < 0.7), dtype=np.float32)
    regressions = tf.TagRegressions(
        read_only(weights.indptr, np.int64),
        read_only(weights.indices, np.int32),
        read_only(weights.data),
        read_only(np.array([0.5, -1, 2], np.float32)),
        read_only(np.array([2, -1, 0, 1, -1], np.int32)),
    )
    evidence = te.Evidence(
        np.arange(n_queries, dtype=np.int64) % (n_tags + 1),
        np.array([RNG.permutation(n_tags) for _ in range(n_queries)], np.int32),
        RNG.random((n_queries, n_tags, te.N_COLUMNS)).astype(np.float32),
        (RNG.random((n_queries, n_tags, te.N_MEASURES)) + 0.01).astype(np.float32),
    )
    return vectors, regressions, evidence


def inputs_reference(vectors: Any, regressions: tf.TagRegressions, evidence: te.Evidence, query: int) -> Any:
    """The readable twin of what a mix sees of the tags found for a query."""
    n, of_tag = evidence.found[query], regressions.of_tag
    weights = sp.csr_array((regressions.weights, regressions.numbers, regressions.starts), shape=(20, 3)).toarray()
    said = np.clip(vectors.toarray()[query] @ weights + regressions.intercepts, -tf.SURE, tf.SURE)
    tags = evidence.tags[query, :n]
    own = np.where(of_tag[tags] >= 0, said[of_tag[tags]], 0)
    features = features_reference(evidence.values[query, :n], evidence.best[query, :n])
    return np.column_stack([features, own, of_tag[tags] >= 0])


def test_a_mix_sees_the_features_and_the_tag_s_own_regression_up_to_a_limit() -> None:
    vectors, regressions, evidence = planted()
    found = np.full((8, 5, tf.N_INPUTS), 7, np.float32)
    tf.write_inputs(queries_of(vectors), evidence, regressions, found)
    for query in range(8):
        n = evidence.found[query]
        expected = inputs_reference(vectors, regressions, evidence, query)
        np.testing.assert_allclose(found[query, :n], expected, rtol=1e-3, atol=1e-5)
        assert np.all(found[query, n:] == 7)
    said = np.abs(found[..., tf.N_FEATURES])
    assert np.any(said == tf.SURE)
    assert np.any((said > 0) & (said < 7))


def test_where_no_tag_has_a_regression_nothing_is_said() -> None:
    vectors, _, evidence = planted()
    none = Regressions.none(20, 5).for_kernels()
    found = np.full((8, 5, tf.N_INPUTS), 7, np.float32)
    tf.write_inputs(queries_of(vectors), evidence, none, found)
    assert not found[5, :5, tf.N_FEATURES :].any()


@pytest.mark.parametrize("n", [1, 3, 5])
def test_tags_are_ranked_by_the_mix_of_the_query_and_the_kind_of_the_tag(n: int) -> None:
    vectors, regressions, evidence = planted()
    kinds, which = read_only(np.array([0, 1, 1, 0, 2], np.int32)), read_only(np.array([0, 1, 1, 0, 1, 0, 1, 0]))
    learnt = RNG.normal(0, 0.3, (2, 3, tf.N_INPUTS + 1)), RNG.normal(size=(2, 5)), RNG.random((2, 3))
    mixes = tf.Mixes(*(read_only(array) for array in learnt))
    tags, probabilities = np.full((8, n), -1, np.int32), np.full((8, n), -1.0)
    tf.rank(queries_of(vectors), evidence, regressions, kinds, mixes, which, tags, probabilities)
    for query in range(8):
        found = evidence.tags[query, : evidence.found[query]]
        inputs, mix = inputs_reference(vectors, regressions, evidence, query), which[query]
        log_odds = log_odds_of(inputs, mixes.coefficients[mix, kinds[found]]) + mixes.offsets[mix, found]
        intercept, slope, bend = mixes.tempering[mix]
        expected = 1 / (1 + np.exp(-(intercept + slope * log_odds + bend * np.maximum(log_odds, 0))))
        order = np.argsort(-expected, kind="stable")[:n]
        assert tags[query, : len(order)].tolist() == found[order].tolist()
        assert probabilities[query, : len(order)] == pytest.approx(expected[order], rel=1e-3)
        assert np.all(tags[query, len(order) :] == -1)


def test_of_tags_as_probable_the_first_comes_first() -> None:
    tags, probabilities = np.zeros(3, np.int32), np.zeros(3)
    n_ranked = 0
    for tag, probability in enumerate([0.2, 0.5, 0.2, 0.5, 0.2, 0.9]):
        n_ranked = tf.enter(tag, probability, n_ranked, tags, probabilities)
    assert n_ranked == 3
    assert tags.tolist() == [5, 1, 3]
    assert probabilities.tolist() == [0.9, 0.5, 0.5]
