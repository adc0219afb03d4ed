import numpy as np
import pytest

from tagtopic.corpus import Corpus
from tagtopic.corpus.splits import split_tokens
from tagtopic.datasets import make_tagged_corpus

CORPUS = make_tagged_corpus(300, 4, 12, 150, random_state=5).corpus


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
def test_a_size_that_leaves_a_part_empty_is_an_error(corpus: Corpus, test_size: float) -> None:
    with pytest.raises(ValueError, match="test_size"):
        corpus.split(test_size)


def test_corpora_that_cannot_be_split_are_errors(corpus: Corpus) -> None:
    with pytest.raises(ValueError, match="1 documents cannot be split"):
        corpus[:1].split()
    with pytest.raises(ValueError, match="one group"):
        corpus.split(groups=np.zeros(100))
    with pytest.raises(ValueError, match="one label for each of the 100"):
        corpus.split(groups=[1, 2])


def test_observed_and_held_out_tokens_add_up_and_are_about_even() -> None:
    observed, scored = split_tokens(CORPUS)
    assert (observed + scored != CORPUS.counts).nnz == 0
    share = scored.sum() / CORPUS.n_tokens
    assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(CORPUS.n_tokens)
    assert observed.data.min() > 0


def test_the_token_split_depends_on_document_and_word_not_on_position() -> None:
    order = np.random.default_rng(0).permutation(len(CORPUS))
    _, scored = split_tokens(CORPUS)
    _, shuffled = split_tokens(CORPUS[order])
    assert (scored[order] != shuffled).nnz == 0
    renamed = CORPUS.align(CORPUS.words[::-1], CORPUS.tag_names).corpus
    _, reversed_columns = split_tokens(renamed)
    assert (reversed_columns[:, ::-1] != scored).nnz == 0
    _, other_seed = split_tokens(CORPUS, random_state=1)
    assert (other_seed != scored).nnz > 0
