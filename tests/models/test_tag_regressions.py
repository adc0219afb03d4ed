"""The regressions of common tags, as evidence for the tag predictor."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic.corpus import Corpus
from tagtopic.tagging import predictor as predictor_module
from tagtopic.tagging import regressions
from tagtopic.tagging.predictor import TagPredictor
from tagtopic.tagging.regressions import Regressions

N_WORDS = 40


def told_by_one_word(n: int, n_tags: int, seed: int = 0) -> tuple[Any, Any]:
    """Documents of random words; word j, and nothing else, says that a document has tag j. The last tag is rare."""
    random = np.random.default_rng(seed)
    words = random.random((n, N_WORDS)) < 0.2
    tags = words[:, :n_tags].copy()
    tags[20:, -1] = False
    return sp.csr_array(words, dtype=np.float32) * np.float32(0.5), sp.csr_array(tags, dtype=np.int8)


def told_by_two_words(n: int, n_tags: int, seed: int = 0) -> tuple[Any, Any]:
    """Word j says that a document has tag j, unless word 20 + j is there too."""
    words = np.random.default_rng(seed).random((n, N_WORDS)) < 0.4
    tags = words[:, :n_tags] & ~words[:, 20 : 20 + n_tags]
    return sp.csr_array(words, dtype=np.float32) * np.float32(0.25), sp.csr_array(tags, dtype=np.int8)


def fitted(n_jobs: int | None = 1) -> Regressions:
    return Regressions.fit(*told_by_one_word(1500, 11), np.arange(1500), np.random.default_rng(0), n_jobs)


def test_common_tags_learn_their_word_and_rare_ones_have_no_regression() -> None:
    found = fitted()
    assert found.numbers.tolist() == [*range(10), -1]
    assert np.argmax(found.weights.toarray(), axis=0).tolist() == list(range(10))
    vectors, tags = told_by_one_word(300, 11, seed=1)
    said = vectors @ found.weights.toarray() + found.intercepts
    assert np.mean((said > 0) == (tags.toarray()[:, :10] > 0)) > 0.99


def test_rows_that_are_not_given_are_not_learnt_from() -> None:
    vectors, tags = told_by_one_word(1500, 11)
    rows, random = np.arange(0, 1500, 2), np.random.default_rng
    some, alone = (
        Regressions.fit(*given, random(0), 1)
        for given in ((vectors, tags, rows), (vectors[rows], tags[rows], np.arange(len(rows))))
    )
    np.testing.assert_array_equal(some.weights.toarray(), alone.weights.toarray())


def test_threads_and_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    one = fitted()
    monkeypatch.setattr(regressions, "MOST_TAGS_AT_ONCE", 8)
    other = fitted(n_jobs=3)
    np.testing.assert_array_equal(one.intercepts, other.intercepts)
    np.testing.assert_array_equal(one.weights.toarray(), other.weights.toarray())


def test_a_tag_keeps_its_largest_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fitted().weights.toarray()
    monkeypatch.setattr(regressions, "MOST_WORDS", 3)
    few = fitted().weights.toarray()
    for column in range(10):
        kept = np.flatnonzero(few[:, column])
        assert set(kept) == set(np.argsort(-np.abs(whole[:, column]))[:3])
        np.testing.assert_array_equal(few[kept, column], whole[kept, column])


def test_of_many_documents_and_tags_some_are_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, _ = told_by_one_word(1500, 11)
    monkeypatch.setattr(regressions, "MOST_ENTRIES", vectors.nnz // 2)
    monkeypatch.setattr(regressions, "MOST_STEPS", 4 * regressions.EPOCHS * vectors.nnz // 2)
    assert len(fitted().intercepts) == 4


def test_arrays_come_back_in_more_words_and_tags_and_damage_is_told() -> None:
    found = fitted()
    arrays = found.to_arrays()
    again = Regressions.from_arrays(arrays, N_WORDS + 2, 13)
    assert again.numbers.tolist() == [*range(10), -1, -1, -1]
    np.testing.assert_array_equal(again.weights.toarray()[:N_WORDS], found.weights.toarray())
    assert not again.weights.toarray()[N_WORDS:].any()
    for name, value in {
        "regression_numbers": arrays["regression_numbers"] + 1,
        "regression_tags": arrays["regression_tags"] + 5,
        "regression_starts": arrays["regression_starts"][::-1],
        "regression_intercepts": arrays["regression_intercepts"][1:],
    }.items():
        with pytest.raises(ValueError, match="do not fit together"):
            Regressions.from_arrays({**arrays, name: value}, N_WORDS, 11)


def test_the_predictor_believes_them_where_documents_alike_say_less(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, tags = told_by_two_words(900, 10)
    words, names = [f"w{i}" for i in range(N_WORDS)], [f"t{j}" for j in range(10)]
    corpus = Corpus.from_counts((vectors > 0).astype(np.int32), tags, words=words, tag_names=names)
    monkeypatch.setattr(predictor_module, "EXAMPLES", 100)
    without = TagPredictor.fit(corpus)
    monkeypatch.setattr(predictor_module, "ENOUGH_BESIDES", 500)
    having = TagPredictor.fit(corpus)
    asked, own = told_by_two_words(200, 10, seed=1)
    counts = sp.csr_array((asked > 0).astype(np.int32))

    def surprise(predictor: TagPredictor | None) -> float:
        """Mean bits."""
        assert predictor is not None
        truth = own.toarray()
        pairs = [(p, truth[i, int(tag[1:])]) for i, row in enumerate(predictor.predict(counts)) for tag, p in row]
        return float(-np.mean([np.log2(p if right else 1 - p) for p, right in pairs]))

    assert surprise(having) < 0.7 * surprise(without)
    assert having is not None
    assert TagPredictor.from_arrays(having.to_arrays(), names) == having
