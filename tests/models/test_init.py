"""Initial topics: NumPy and kernels compute the same updates; seeds are those of k-means++."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import kmeans_plusplus

from tagtopic import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.models import _init

COUNTS = Corpus.from_counts(make_tagged_corpus(60, 3, 8, 50, random_state=0).corpus.counts)


@pytest.mark.parametrize("updates", [1, 6])
def test_small_corpora_are_factorised_as_by_the_kernels(updates: int) -> None:
    topics = _init.random_topics(_init.word_frequencies(COUNTS), 4, np.random.default_rng(0))
    small = _init.factorise(COUNTS, topics, None, updates, None)
    large = _init.factorise(COUNTS, topics, None, updates, None, small=0)
    assert not np.array_equal(small.topics, large.topics)  # of other precision
    np.testing.assert_allclose(small.topics, large.topics, rtol=1e-4, atol=1e-8)
    np.testing.assert_allclose(small.documents, large.documents, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(small.sizes, large.sizes, rtol=1e-5)
    assert small.objective == pytest.approx(large.objective, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_distant_rows_are_those_of_scikit_learn(seed: int) -> None:
    matrix = sp.csr_array(sp.random(80, 30, density=0.2, random_state=seed, format="csr"))
    narrow = sp.csr_matrix((matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)))
    _, expected = kmeans_plusplus(narrow, 10, random_state=seed, n_local_trials=1)
    found = _init.distant_rows(matrix, 10, np.random.RandomState(seed))
    assert found.tolist() == expected.tolist()


def test_identical_rows_are_drawn_without_an_error() -> None:
    assert len(_init.distant_rows(sp.csr_array(np.ones((4, 3))), 3, np.random.RandomState(0))) == 3
