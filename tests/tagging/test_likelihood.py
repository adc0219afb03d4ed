"""The paper's score of a tag, p(d | tag), against a NumPy twin."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic._core.arrays import Floats
from tagtopic.tagging.likelihood import NO_PAIRS, tag_log_likelihood_matrix, tag_log_likelihoods

RNG = np.random.default_rng(0)
COUNTS = sp.csr_array(RNG.poisson(0.4, (40, 30)).astype(np.int32))
NUMBERS = np.arange(300)


def expected_scores(counts: Floats, psi: Floats, theta: Floats) -> Floats:
    """Return log p(document | tag) for each row of a dense table of counts and each tag."""
    return np.asarray(counts @ np.log(psi @ theta.T))


def test_the_score_is_the_log_likelihood() -> None:
    psi = RNG.dirichlet(np.ones(30), 4).T.astype(np.float32)
    theta = RNG.dirichlet(np.ones(4), 12).astype(np.float32)
    counts = COUNTS.astype(np.float32)
    out = np.empty((6, 12))
    tag_log_likelihoods(counts.indptr, counts.indices, counts.data, psi, theta, NUMBERS, NO_PAIRS, 2, 8, out)
    assert out == pytest.approx(expected_scores(counts.toarray()[2:8], psi, theta), rel=1e-5)


def test_words_of_a_tag_s_own_are_added() -> None:
    psi, theta = RNG.dirichlet(np.ones(30), 4).T, RNG.dirichlet(np.ones(4), 12)
    omega = sp.csr_array(RNG.random((12, 30)) * (RNG.random((12, 30)) < 0.3))
    chosen, counts = np.array([1, 4, 11]), COUNTS.astype(np.float64)
    own = omega.indptr.astype(np.int64), omega.indices.astype(np.int32), omega.data
    out = np.empty((40, 3))
    tag_log_likelihoods(counts.indptr, counts.indices, counts.data, psi, theta[chosen], chosen, own, 0, 40, out)
    expected = counts.toarray() @ np.log(psi @ theta[chosen].T + omega.toarray()[chosen].T)
    np.testing.assert_allclose(out, expected)
    np.testing.assert_allclose(tag_log_likelihood_matrix(counts, theta[chosen], psi, omega[chosen]), expected)


def test_the_score_of_a_long_document_does_not_underflow() -> None:
    psi = RNG.dirichlet(np.ones(400), 3).T.astype(np.float32)
    theta = RNG.dirichlet(np.ones(3), 5).astype(np.float32)
    counts, out = sp.csr_array(np.ones((1, 400), np.float32)), np.empty((1, 5))  # each probability is about 1/400
    tag_log_likelihoods(counts.indptr, counts.indices, counts.data, psi, theta, NUMBERS, NO_PAIRS, 0, 1, out)
    assert out == pytest.approx(expected_scores(counts.toarray(), psi, theta), rel=1e-5)


def test_the_scores_of_many_documents_are_those_of_one_at_a_time() -> None:
    psi = RNG.dirichlet(np.ones(30), 6).T
    theta = RNG.dirichlet(np.ones(6), 300)
    expected = expected_scores(COUNTS.toarray(), psi, theta)
    np.testing.assert_allclose(tag_log_likelihood_matrix(COUNTS, theta, psi), expected)


def test_both_scores_agree_where_a_tag_excludes_words() -> None:
    psi = RNG.dirichlet(np.ones(30), 6).T
    psi[:10, 0] = 0
    counts, out = COUNTS.astype(np.float64), np.empty((40, 6))
    tag_log_likelihoods(counts.indptr, counts.indices, counts.data, psi, np.eye(6), NUMBERS, NO_PAIRS, 0, 40, out)
    np.testing.assert_allclose(tag_log_likelihood_matrix(counts, np.eye(6), psi), out)
