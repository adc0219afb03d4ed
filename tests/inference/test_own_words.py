"""Words of tags' own: candidates and their places in documents, against dense tables."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic import Corpus
from tagtopic._core.parallel import ThreadPool
from tagtopic.engines.blocks import documents_of
from tagtopic.inference.own_words import (
    OWN_TOKENS,
    OWN_WORD_SCALE,
    own_word_candidates,
    own_word_entries,
    own_word_probabilities,
)
from tagtopic.inference.types import OwnWords

RNG = np.random.default_rng(3)
COUNTS = RNG.poisson(0.7, (60, 15)).astype(np.int32)
TAGS = (RNG.random((60, 7)) < 0.3).astype(np.int8)
TAGS[:, 6] = 0
CORPUS = Corpus.from_counts(COUNTS, TAGS)


def dense(pairs: Any, values: Any) -> Any:
    table = np.zeros((TAGS.shape[1], COUNTS.shape[1]))
    table[np.repeat(np.arange(len(table)), np.diff(pairs.starts)), pairs.words] = values
    return table


@pytest.mark.parametrize("batch_pairs", [1, 100, 1 << 20])
@pytest.mark.parametrize("least", [1, 3, 8])
def test_candidates_occur_in_enough_documents_of_the_tag(least: int, batch_pairs: int) -> None:
    found = own_word_candidates(CORPUS.counts, CORPUS.tags, min_documents=least, batch_pairs=batch_pairs)
    together = TAGS.T.astype(int) @ (COUNTS > 0)
    np.testing.assert_array_equal(dense(found, 1), (together >= least).astype(float))
    np.testing.assert_array_equal(found.tokens, OWN_TOKENS * (together >= least).any(axis=1))
    expected = OWN_WORD_SCALE * COUNTS.sum(axis=0) / COUNTS.sum()
    np.testing.assert_allclose(dense(found, found.prior), (together >= least) * expected)
    assert (found.totals > 0).all()


def test_a_corpus_without_tags_has_no_candidates() -> None:
    found = own_word_candidates(CORPUS.counts, sp.csr_array((60, 0), dtype=np.int8))
    assert (len(found.words), found.starts.tolist()) == (0, [0])


def test_entries_are_the_own_words_of_the_document_s_tags() -> None:
    candidates = own_word_candidates(CORPUS.counts, CORPUS.tags, min_documents=5)
    values = RNG.random(len(candidates.words))
    omega = dense(candidates, values)
    own_words = OwnWords(candidates.starts, candidates.words, values)
    part = documents_of(CORPUS, 10, 40)
    with ThreadPool(2) as pool:
        entries = own_word_entries(part, own_words, pool)
    shares = RNG.random(int(part.tag_starts[-1] - part.tag_starts[0]))
    found = own_word_probabilities(entries, part, shares, values)
    weights = np.zeros((30, TAGS.shape[1]))
    weights[TAGS[10:40] > 0] = shares
    expected = np.concatenate([(weights[i] @ omega)[COUNTS[10 + i] > 0] for i in range(30)])
    np.testing.assert_allclose(found, expected)


def test_shares_and_words_of_a_tag() -> None:
    own_words = OwnWords(np.array([0, 0, 2, 3]), np.array([1, 4, 0], np.int32), np.array([0.1, 0.2, 0.5]))
    np.testing.assert_allclose(own_words.shares, [0, 0.3, 0.5])
    assert [values.tolist() for values in own_words.of_tag(1)] == [[1, 4], [0.1, 0.2]]
