"""Features and log odds of tags, against the same in plain NumPy."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic.inference import tag_evidence as te
from tagtopic.inference.tag_features import N_FEATURES, WHOLE, write_features, write_log_odds, write_regressions
from tagtopic.models.prediction.predictor import queries_of

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


def test_regressions_are_products_with_the_document_up_to_a_limit() -> None:
    vectors = sp.csr_array(RNG.random((8, 20)) * (RNG.random((8, 20)) < 0.4), dtype=np.float32)
    weights = sp.csr_array(RNG.normal(0, 2, (20, 3)) * (RNG.random((20, 3)) < 0.7), dtype=np.float32)
    intercepts, of_tag = np.array([0.5, -1, 2], np.float32), np.array([2, -1, 0, 1, -1], np.int32)
    tags = np.tile(np.arange(5, dtype=np.int32), (8, 1))
    found = np.empty((8, 5, 2), np.float32)
    arrays = weights.indptr.astype(np.int64), weights.indices.astype(np.int32), weights.data
    write_regressions(queries_of(vectors), *arrays, intercepts, of_tag, tags, 1.5, found)
    said = np.clip(vectors.toarray() @ weights.toarray() + intercepts, -1.5, 1.5)
    assert found[..., 1].tolist() == [[1, 0, 1, 1, 0]] * 8
    np.testing.assert_allclose(found[:, [0, 2, 3], 0], said[:, [2, 0, 1]], rtol=1e-4, atol=1e-5)
    assert not found[:, [1, 4], 0].any()
    assert np.any(np.abs(said) == 1.5)
    assert np.any(np.abs(said) < 1.5)


def test_log_odds_are_those_of_the_tag_s_kind_in_the_query_s_mix() -> None:
    inputs = RNG.random((6, 4, 5)).astype(np.float32)
    tags, kinds = RNG.integers(0, 9, (6, 4)).astype(np.int32), RNG.integers(0, 3, 9).astype(np.int32)
    which, mix, offsets = np.array([0, 1, 1, 0, 1, 0]), RNG.normal(size=(2, 3, 6)), RNG.normal(size=(2, 9))
    found = np.empty((6, 4))
    write_log_odds(inputs, tags, kinds, which, mix, offsets, found)
    own = mix[which[:, None], kinds[tags]]
    expected = (inputs * own[..., :-1]).sum(axis=-1) + own[..., -1] + offsets[which[:, None], tags]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
