"""Features and probabilities of candidate tags, against a NumPy twin."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic._core.arrays import read_only
from tagtopic.tagging import evidence as te
from tagtopic.tagging import features as tf
from tagtopic.tagging.calibration import log_odds_of
from tagtopic.tagging.features import FULL_NAME, N_EVIDENCE_FEATURES, write_evidence_features
from tagtopic.tagging.regressions import TagRegressions
from tagtopic.tagging.training_index import queries_from_vectors

RNG = np.random.default_rng(0)
N_ROWS = 50


def twin_evidence_features(values: Any, best: Any) -> Any:
    """Return the features from the evidence."""
    centroid, vote, overlap = values[:, te.CENTROID], values[:, te.KNN_VOTE], values[:, te.NAME_OVERLAP]
    share = np.clip(vote / np.maximum(best[:, te.TOTAL_KNN_VOTE], 1e-9), 0, 1)
    columns = [
        np.log(centroid + 0.01),
        np.log(vote + 0.001),
        np.log(values[:, te.FOURTH_POWERS] + 1e-5),
        np.log(values[:, te.NEAREST] + 0.02),
        np.log(values[:, te.FREQUENCY] + 0.5),
        centroid / best[:, te.BEST_CENTROID],
        vote / best[:, te.BEST_KNN_VOTE],
        np.log(best[:, te.BEST_CENTROID] + 0.01),
        np.log(best[:, te.BEST_KNN_VOTE] + 0.001),
        overlap,
        overlap > FULL_NAME,
        overlap * np.log(values[:, te.FREQUENCY] + 0.5),
        overlap * np.log(best[:, te.BEST_CENTROID] + 0.01),
        overlap * centroid / best[:, te.BEST_CENTROID],
        np.log((share + 0.01) / (1.01 - share)),
        np.log((values[:, te.MEAN] + 1e-4) / (best[:, te.OVERALL_MEAN] + 1e-4)),
    ]
    return np.stack(columns, axis=1)


def test_evidence_features_equal_the_twin() -> None:
    values, best = RNG.random((N_ROWS, te.N_EVIDENCE)), RNG.random((N_ROWS, te.N_REFERENCES)) + 0.01
    values[:10, te.NAME_OVERLAP] = 1
    values[5:20, te.KNN_VOTE] = 0
    best[:3, te.TOTAL_KNN_VOTE] = 0
    values, best = values.astype(np.float32), best.astype(np.float32)
    found = np.empty((N_ROWS, N_EVIDENCE_FEATURES), np.float32)
    write_evidence_features(values, best, found)
    np.testing.assert_allclose(found, twin_evidence_features(values, best), rtol=1e-4, atol=1e-5)
    assert found[:, tf.EVIDENCE_FEATURES.index("full_name")].sum() == 10


def test_every_feature_has_a_name() -> None:
    assert len(tf.EVIDENCE_FEATURES) == tf.N_EVIDENCE_FEATURES
    assert len(tf.FEATURES) == tf.N_FEATURES


def planted(n_queries: int = 8, n_tags: int = 5) -> tuple[Any, tf.RegressionArrays, te.Evidence]:
    """Documents, regressions of three of the tags, and evidence for some of the tags of each document."""
    vectors = sp.csr_array(RNG.random((n_queries, 20)) * (RNG.random((n_queries, 20)) < 0.4), dtype=np.float32)
    weights = sp.csr_array(RNG.normal(0, 8, (20, 3)) * (RNG.random((20, 3)) < 0.7), dtype=np.float32)
    regressions = tf.RegressionArrays(
        read_only(weights.indptr, np.int64),
        read_only(weights.indices, np.int32),
        read_only(weights.data),
        read_only(np.array([0.5, -1, 2], np.float32)),
        read_only(np.array([2, -1, 0, 1, -1], np.int32)),
    )
    evidence = te.Evidence(
        np.arange(n_queries, dtype=np.int64) % (n_tags + 1),
        np.array([RNG.permutation(n_tags) for _ in range(n_queries)], np.int32),
        RNG.random((n_queries, n_tags, te.N_EVIDENCE)).astype(np.float32),
        (RNG.random((n_queries, n_tags, te.N_REFERENCES)) + 0.01).astype(np.float32),
    )
    return vectors, regressions, evidence


def twin_features(vectors: Any, regressions: tf.RegressionArrays, evidence: te.Evidence, query: int) -> Any:
    """Return all features of the candidates of a query."""
    n, of_tag = evidence.n_found[query], regressions.number_of_tag
    weights = sp.csr_array((regressions.weights, regressions.numbers, regressions.starts), shape=(20, 3)).toarray()
    margins = np.clip(vectors.toarray()[query] @ weights + regressions.intercepts, -tf.MAX_MARGIN, tf.MAX_MARGIN)
    tags, values, references = evidence.tags[query, :n], evidence.values[query, :n], evidence.references[query, :n]
    has = of_tag[tags] >= 0
    own = np.where(has, margins[of_tag[tags]], 0)
    squared = np.where(has, np.maximum(1 + own, 0) ** 2, 0)
    by_frequency = own * np.log(values[:, te.FREQUENCY] + 0.5)
    share = values[:, te.KNN_VOTE] / references[:, te.TOTAL_KNN_VOTE]
    features = twin_evidence_features(values, references)
    return np.column_stack([features, own, has, squared, by_frequency, values[:, te.CENTROID], share])


def test_features_include_the_clipped_margin_of_the_tag_s_classifier() -> None:
    vectors, regressions, evidence = planted()
    found = np.full((8, 5, tf.N_FEATURES), 7, np.float32)
    tf.write_features(queries_from_vectors(vectors), evidence, regressions, found)
    for query in range(8):
        n = evidence.n_found[query]
        expected = twin_features(vectors, regressions, evidence, query)
        np.testing.assert_allclose(found[query, :n], expected, rtol=1e-3, atol=1e-5)
        assert np.all(found[query, n:] == 7)
    margins = np.abs(found[..., tf.N_EVIDENCE_FEATURES])
    assert np.any(margins == tf.MAX_MARGIN)
    assert np.any((margins > 0) & (margins < 7))


def test_margins_are_zero_without_classifiers() -> None:
    vectors, _, evidence = planted()
    none = TagRegressions.none(20, 5).for_kernels()
    found = np.full((8, 5, tf.N_FEATURES), 7, np.float32)
    tf.write_features(queries_from_vectors(vectors), evidence, none, found)
    assert not found[5, :5, tf.N_EVIDENCE_FEATURES : tf.N_EVIDENCE_FEATURES + 4].any()


@pytest.mark.parametrize("n", [1, 3, 5])
def test_candidates_are_ranked_by_the_coefficients_of_their_kind_and_of_the_query_length(n: int) -> None:
    vectors, regressions, evidence = planted()
    kinds, which = read_only(np.array([0, 1, 1, 0, 2], np.int32)), read_only(np.array([0, 1, 1, 0, 1, 0, 1, 0]))
    learnt = RNG.normal(0, 0.3, (2, 3, tf.N_FEATURES + 1)), RNG.normal(size=(2, 5)), RNG.random((2, 3))
    stacking = tf.StackingArrays(*(read_only(array) for array in learnt))
    tags, probabilities = np.full((8, n), -1, np.int32), np.full((8, n), -1.0)
    tf.rank_candidates(
        queries_from_vectors(vectors), evidence, regressions, kinds, stacking, which, tags, probabilities
    )
    for query in range(8):
        found = evidence.tags[query, : evidence.n_found[query]]
        features, row = twin_features(vectors, regressions, evidence, query), which[query]
        log_odds = log_odds_of(features, stacking.coefficients[row, kinds[found]]) + stacking.offsets[row, found]
        intercept, slope, bend = stacking.calibration[row]
        expected = 1 / (1 + np.exp(-(intercept + slope * log_odds + bend * np.maximum(log_odds, 0))))
        order = np.argsort(-expected, kind="stable")[:n]
        assert tags[query, : len(order)].tolist() == found[order].tolist()
        assert probabilities[query, : len(order)] == pytest.approx(expected[order], rel=1e-3)
        assert np.all(tags[query, len(order) :] == -1)


def test_ties_keep_the_order_of_insertion() -> None:
    tags, probabilities = np.zeros(3, np.int32), np.zeros(3)
    n_ranked = 0
    for tag, probability in enumerate([0.2, 0.5, 0.2, 0.5, 0.2, 0.9]):
        n_ranked = tf.insert_ranked(tag, probability, n_ranked, tags, probabilities)
    assert n_ranked == 3
    assert tags.tolist() == [5, 1, 3]
    assert probabilities.tolist() == [0.9, 0.5, 0.5]
