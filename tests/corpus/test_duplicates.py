"""Near-duplicates: the same as comparing every pair of documents."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tagtopic import Corpus
from tagtopic.corpus.splits import first_copies


def by_all_pairs(counts: np.ndarray, threshold: float) -> list[int]:
    found = [-1] * len(counts)
    words = [set(np.flatnonzero(row)) for row in counts]
    for later in range(len(counts)):
        for earlier in range(later):
            longest = max(len(words[later]), len(words[earlier]))
            if found[earlier] < 0 and longest and len(words[later] & words[earlier]) >= threshold * longest:
                found[later] = earlier
                break
    return found


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 2), min_size=6, max_size=6), min_size=1, max_size=12),
    st.sampled_from([0.25, 0.5, 0.6, 0.75, 1.0]),
)
def test_pairs_are_those_of_comparing_all(rows: list[list[int]], threshold: float) -> None:
    counts = np.array(rows, np.int32)
    assert first_copies(sp.csr_array(counts), threshold).tolist() == by_all_pairs(counts, threshold)


def test_copies_among_many_documents_are_found() -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.05, (400, 600)).astype(np.int32)
    copies = rng.choice(200, 30, replace=False)
    counts[300:330] = counts[copies]
    counts[np.arange(300, 330), rng.integers(0, 600, 30)] += 1  # one word differs
    found = first_copies(sp.csr_array(counts), 0.6)
    np.testing.assert_array_equal(found[300:330], copies)
    assert (np.delete(found, np.arange(300, 330)) == -1).all()


def test_a_corpus_keeps_the_first_copy_with_its_tags_and_documents_without_words() -> None:
    corpus = Corpus.from_counts(
        [[1, 1, 1], [0, 0, 0], [2, 1, 1], [0, 0, 0], [0, 0, 4]], [["a"], ["b"], ["c"], [], ["a"]], ids=list("vwxyz")
    )
    kept = corpus.without_near_duplicates()
    assert list(kept.ids) == ["v", "w", "y", "z"]
    assert [document.tags for document in kept] == [("a",), ("b",), (), ("a",)]


@pytest.mark.parametrize("threshold", [0, -1, 1.5, float("nan")])
def test_an_impossible_threshold_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match=r"threshold=.*expected a share above 0"):
        Corpus.from_counts([[1]]).without_near_duplicates(threshold)
