"""The paper's score of a tag, p(d | tag), against a NumPy twin."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic.inference import reference
from tagtopic.inference.likelihood import tag_log_likelihoods

RNG = np.random.default_rng(0)
COUNTS = sp.csr_array(RNG.poisson(0.4, (40, 30)).astype(np.int32))


def test_the_score_is_the_log_likelihood() -> None:
    psi = RNG.dirichlet(np.ones(30), 4).T.astype(np.float32)
    theta = RNG.dirichlet(np.ones(4), 12).astype(np.float32)
    counts = COUNTS.astype(np.float32)
    out = np.empty((6, 12))
    tag_log_likelihoods(counts.indptr, counts.indices, counts.data, psi, theta, 2, 8, out)
    assert out == pytest.approx(reference.tag_log_likelihoods(counts.toarray()[2:8], psi, theta), rel=1e-5)


def test_the_score_of_a_long_document_does_not_underflow() -> None:
    psi = RNG.dirichlet(np.ones(400), 3).T.astype(np.float32)
    theta = RNG.dirichlet(np.ones(3), 5).astype(np.float32)
    counts, out = sp.csr_array(np.ones((1, 400), np.float32)), np.empty((1, 5))  # each probability is about 1/400
    tag_log_likelihoods(counts.indptr, counts.indices, counts.data, psi, theta, 0, 1, out)
    assert out == pytest.approx(reference.tag_log_likelihoods(counts.toarray(), psi, theta), rel=1e-5)
