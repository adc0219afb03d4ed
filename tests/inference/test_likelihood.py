"""Log probabilities of documents against one line of NumPy."""

import numpy as np
import pytest
from scipy.sparse import random_array

from tagtopic._core.arrays import Floats
from tagtopic.inference.likelihood import log_probabilities


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_probability_of_documents_given_their_mixes(dtype: type) -> None:
    rng = np.random.default_rng(0)
    counts = (5 * random_array((6, 40), density=0.3, format="csr", random_state=rng)).ceil()
    mixes: Floats = rng.dirichlet(np.ones(7), 6).astype(dtype)
    psi: Floats = rng.dirichlet(np.ones(40), 7).T.astype(dtype)
    psi[counts.indices[0]] = 0  # a word without topics has probability 1e-300
    found = log_probabilities(counts.indptr, counts.indices, counts.data, mixes, psi)
    expected = (counts.toarray() * np.log(np.maximum(mixes.astype(float) @ psi.T.astype(float), 1e-300))).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == np.float32 else 1e-12)
