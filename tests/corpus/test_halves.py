"""Tokens in two halves."""

import numpy as np

from tagtopic.corpus.splits import split_tokens
from tagtopic.datasets import make_tagged_corpus

CORPUS = make_tagged_corpus(300, 4, 12, 150, random_state=5).corpus


def test_halves_add_up_to_the_document_and_are_about_even() -> None:
    observed, scored = split_tokens(CORPUS)
    assert (observed + scored != CORPUS.counts).nnz == 0
    share = scored.sum() / CORPUS.n_tokens
    assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(CORPUS.n_tokens)
    assert observed.data.min() > 0


def test_a_tokens_half_depends_on_document_and_word_and_not_on_where_they_stand() -> None:
    order = np.random.default_rng(0).permutation(len(CORPUS))
    _, scored = split_tokens(CORPUS)
    _, shuffled = split_tokens(CORPUS[order])
    assert (scored[order] != shuffled).nnz == 0
    renamed = CORPUS.align(CORPUS.words[::-1], CORPUS.tag_names).corpus
    _, reversed_columns = split_tokens(renamed)
    assert (reversed_columns[:, ::-1] != scored).nnz == 0
    _, other_seed = split_tokens(CORPUS, random_state=1)
    assert (other_seed != scored).nnz > 0
