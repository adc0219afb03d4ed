import numpy as np
import pytest

from tagtopic.corpus import Corpus


@pytest.fixture
def corpus() -> Corpus:
    return Corpus.from_counts(np.ones((100, 2)))


def test_parts_are_disjoint_and_complete_and_in_order(corpus: Corpus) -> None:
    train, test = corpus.split(0.2)
    assert (len(train), len(test)) == (80, 20)
    assert sorted([*train.ids, *test.ids]) == sorted(corpus.ids)
    assert [int(i) for i in train.ids] == sorted(int(i) for i in train.ids)


def test_the_same_seed_gives_the_same_parts(corpus: Corpus) -> None:
    assert corpus.split(30, 5)[1].ids == corpus.split(30, 5)[1].ids
    assert corpus.split(30, 5)[1].ids != corpus.split(30, 6)[1].ids


def test_groups_stay_together(corpus: Corpus) -> None:
    groups = np.repeat(np.arange(20), 5)
    train, test = corpus.split(0.3, groups=groups)
    of_train, of_test = ({groups[int(i)] for i in part.ids} for part in (train, test))
    assert not of_train & of_test
    assert len(test) == 30


def test_both_parts_have_documents_even_when_groups_are_uneven() -> None:
    corpus = Corpus.from_counts(np.ones((10, 1)))
    for seed in range(10):
        train, test = corpus.split(0.1, seed, groups=["a"] * 9 + ["b"])
        assert len(train)
        assert len(test)


@pytest.mark.parametrize("test_size", [0, 0.0, 1.0, 100, -0.5, float("nan")])
def test_a_size_that_leaves_a_part_empty_is_refused(corpus: Corpus, test_size: float) -> None:
    with pytest.raises(ValueError, match="test_size"):
        corpus.split(test_size)


def test_what_cannot_be_split_is_refused(corpus: Corpus) -> None:
    with pytest.raises(ValueError, match="1 documents cannot be split"):
        corpus[:1].split()
    with pytest.raises(ValueError, match="one group"):
        corpus.split(groups=np.zeros(100))
    with pytest.raises(ValueError, match="one label for each of the 100"):
        corpus.split(groups=[1, 2])
