"""Siblings of tags: those with the most similar documents."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic.tagging.siblings import Siblings, tag_profiles


def test_siblings_share_words_and_kind() -> None:
    words = np.array(
        [[1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 0, 0, 1, 1], [1, 1, 0, 0, 0]], np.float32
    )  # documents of tags 0, 1, 2 and, of another kind, 3
    tags = np.eye(4, dtype=np.float32)
    found = Siblings.find(sp.csr_array(words), sp.csr_array(tags), np.array([0, 0, 0, 1]), n=2)
    assert found.numbers.tolist() == [[1, -1], [0, -1], [-1, -1], [-1, -1]]
    assert found.similarities[0, 0] == pytest.approx(0.5)


def test_profiles_keep_the_largest_entries_of_the_sums() -> None:
    random = np.random.default_rng(0)
    documents = sp.csr_array(random.random((30, 12)) * (random.random((30, 12)) < 0.5), dtype=np.float32)
    tags = sp.csr_array((random.random((30, 4)) < 0.4).astype(np.float32))
    found = tag_profiles(documents, tags, max_words=3).toarray()
    sums = (tags.T @ documents).toarray()
    for row, expected in zip(found, sums, strict=True):
        kept = np.argsort(-expected)[:3]
        assert set(np.flatnonzero(row)) == set(kept)
        np.testing.assert_allclose(row[kept], expected[kept] / np.linalg.norm(expected[kept]), rtol=1e-5)
