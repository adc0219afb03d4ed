"""Noise tags: as many as asked for, never the document's own, nested by share. Derived tags: added to the own ones."""

from itertools import combinations

import numpy as np
import pytest

from tagtopic import Corpus
from tagtopic.corpus.tags import with_derived_tags, with_noise_tags
from tagtopic.datasets import make_tagged_corpus

CORPUS = make_tagged_corpus(200, 3, 30, 50, tags_per_document=(1, 5), random_state=0).corpus


def noise_of(share: float, **more: object) -> list[set[int]]:
    noisy, is_noise = with_noise_tags(CORPUS, share, **more)  # type: ignore[arg-type]
    starts, columns = noisy.tags.indptr, noisy.tags.indices
    return [
        set(columns[starts[i] : starts[i + 1]][is_noise[starts[i] : starts[i + 1]]].tolist()) for i in range(len(noisy))
    ]


def test_own_tags_are_kept_and_noise_tags_are_others() -> None:
    noisy, is_noise = with_noise_tags(CORPUS, 0.5)
    own = noisy.tags.copy()
    own.data = (~is_noise).astype(np.int8)
    own.eliminate_zeros()
    assert (own != CORPUS.tags).nnz == 0
    assert noisy.tags.max() == 1
    assert noisy.tags.has_sorted_indices
    assert noisy.fingerprint() == with_noise_tags(CORPUS, 0.5)[0].fingerprint()


def test_the_number_of_noise_tags_follows_the_share() -> None:
    sizes = np.diff(CORPUS.tags.indptr)
    np.testing.assert_array_equal([len(noise) for noise in noise_of(1.0)], sizes)
    half = np.array([len(noise) for noise in noise_of(0.5)])
    assert np.abs(half - 0.5 * sizes).max() < 1
    assert half.sum() == pytest.approx(0.5 * sizes.sum(), rel=0.1)
    assert not any(noise_of(0.0))


def test_a_larger_share_includes_the_noise_of_a_smaller_one() -> None:
    for less, more in zip(noise_of(0.4), noise_of(1.0), strict=True):
        assert less <= more


def test_noise_is_drawn_from_known_tags_until_they_are_exhausted() -> None:
    assert set().union(*noise_of(1.0, known=[1, 2, 3])) <= {1, 2, 3}
    assert max(len(noise) for noise in noise_of(1.0, known=[1])) == 1


def test_a_negative_share_is_an_error() -> None:
    with pytest.raises(ValueError, match="share=-1"):
        with_noise_tags(CORPUS, -1)


def test_derived_tags_are_added_to_the_documents_own() -> None:
    given = [["a", "b", "c"], ["b"], []]
    corpus = Corpus.from_counts([[1], [2], [3]], given)
    paired = with_derived_tags(corpus, lambda tags: ["+".join(pair) for pair in combinations(tags, 2)])
    assert [sorted(paired[i].tags) for i in range(3)] == [["a", "a+b", "a+c", "b", "b+c", "c"], ["b"], []]
    assert paired.tags.has_sorted_indices
    assert paired.counts.toarray().tolist() == [[1], [2], [3]]
    same = with_derived_tags(corpus, lambda tags: tags)
    assert [sorted(same[i].tags) for i in range(3)] == given
    with pytest.raises(ValueError, match=r"derive gave None for document '0': expected names of tags"):
        with_derived_tags(corpus, lambda tags: [None])  # type: ignore[list-item]
