"""Prediction with the tags that documents have, and the reasons for predicted tags."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic.corpus import Corpus
from tagtopic.tagging import TagPredictor
from tagtopic.tagging.completion import related_tags
from tagtopic.tagging.cooccurrence import IndexedDocuments
from tagtopic.tagging.reasons import reasons_for

N_PAIRS = 12


def paired_corpus(n: int, seed: int) -> Corpus:
    """Tags a0 … and b0 … come in pairs; the words name the topic of a pair only, with noise, and none of the tags."""
    random = np.random.default_rng(seed)
    pairs = random.integers(N_PAIRS, size=n)
    texts = [
        " ".join(f"w{pair // 4}x{word}" for word in random.integers(30, size=10))
        + " "
        + " ".join(f"noise{word}" for word in random.integers(40, size=4))
        for pair in pairs
    ]
    tags = [[f"a:{pair}", f"b:{pair}"] for pair in pairs]
    return Corpus.from_texts(texts, tags)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return paired_corpus(600, 0)


@pytest.fixture(scope="module")
def predictor(corpus: Corpus) -> TagPredictor:
    return TagPredictor(n_jobs=1, n_examples=200).fit(corpus)


def given_first(predictor: TagPredictor, corpus: Corpus) -> tuple[sp.csr_array, list[str]]:
    """The tag of kind a of each document, and the one of kind b."""
    columns = {name: j for j, name in enumerate(predictor.tag_names_)}
    given = np.zeros((len(corpus), len(columns)), np.int8)
    hidden = []
    for i in range(len(corpus)):
        first, second = sorted(corpus[i].tags)
        given[i, columns[first]] = 1
        hidden.append(second)
    return sp.csr_array(given), hidden


def test_given_tags_find_their_partner_where_words_cannot(predictor: TagPredictor) -> None:
    new = paired_corpus(60, 1)
    counts = new.align(predictor.words_ or (), ()).corpus.counts
    given, hidden = given_first(predictor, new)
    with_tags = predictor.predict_counts(counts, 1, given=given, n_jobs=1)
    by_words = predictor.predict_counts(counts, 1, kinds=["b"], n_jobs=1)
    right = np.mean([row[0][0] == tag for row, tag in zip(with_tags, hidden, strict=True)])
    words_right = np.mean([row[0][0] == tag for row, tag in zip(by_words, hidden, strict=True)])
    assert right > 0.95
    assert words_right < 0.6


def test_given_and_excluded_tags_are_never_predicted(predictor: TagPredictor, corpus: Corpus) -> None:
    given = sp.csr_array(corpus.tags[:20])
    ranked = predictor.predict_counts(corpus.counts[:20], 24, given=given, exclude=["a:1", "b:"], n_jobs=1)
    for row, document in zip(ranked, (corpus[i] for i in range(20)), strict=True):
        names = {tag for tag, _ in row}
        assert names
        assert not names & set(document.tags)
        assert "a:1" not in names
        assert not any(tag.startswith("b:") for tag in names)


def test_documents_without_given_tags_are_predicted_by_words(predictor: TagPredictor, corpus: Corpus) -> None:
    none = sp.csr_array((5, corpus.n_tags), dtype=np.int8)
    counts = paired_corpus(5, 1).align(predictor.words_ or (), ()).corpus.counts
    by_words = predictor.predict_counts(counts, 3, n_jobs=1)
    assert predictor.predict_counts(counts, 3, given=none, n_jobs=1) == by_words


def test_related_tags_are_those_that_occur_together(predictor: TagPredictor, corpus: Corpus) -> None:
    documents = IndexedDocuments.from_index(predictor.index_)
    columns = {name: j for j, name in enumerate(predictor.tag_names_)}
    given = sp.csr_array(np.eye(corpus.n_tags, dtype=np.float32)[[columns["a:3"]]])
    found = related_tags(documents, given, np.array([-1]))
    assert set(found.indices) == {columns["a:3"], columns["b:3"]}


def test_a_training_document_does_not_relate_its_own_tags() -> None:
    texts = [f"word{i} common" for i in range(6)]
    predictor = TagPredictor(n_jobs=1).fit(texts, tags=[["a", "b"], ["a", "c"], ["a", "c"], ["b"], ["b"], ["a"]])
    documents = IndexedDocuments.from_index(predictor.index_)
    given = sp.csr_array(np.array([[1, 0, 0]] * 3, np.float32))
    found = related_tags(documents, given, np.array([-1, 0, 1])).toarray() > 0
    assert found[:, 1:].tolist() == [[True, True], [False, True], [True, True]]


def test_predictors_of_earlier_versions_refuse_given_tags(predictor: TagPredictor, corpus: Corpus) -> None:
    arrays = predictor.to_arrays()
    del arrays["completion"]
    old = TagPredictor.from_arrays(arrays, predictor.tag_names_, predictor.words_)
    with pytest.raises(ValueError, match="fit it again"):
        old.predict_counts(corpus.counts[:1], given=corpus.tags[:1])


def test_reasons_name_the_words_whose_removal_lowers_the_log_odds(predictor: TagPredictor, corpus: Corpus) -> None:
    row = sp.csr_array(corpus.counts[:1])
    tag = int(corpus.tags.indices[0])
    (reason,) = reasons_for(predictor, row, [tag], training_row=0, n=5)
    assert [value for _, value in reason.words] == sorted((value for _, value in reason.words), reverse=True)
    assert not any(word.startswith("noise") for word, _ in reason.words[:3])
    documents = IndexedDocuments.from_index(predictor.index_)
    assert reason.documents
    assert all(row != 0 and documents.tags[row, tag] for row, _ in reason.documents)


def test_reasons_with_given_tags_name_the_partner(predictor: TagPredictor, corpus: Corpus) -> None:
    row, given = sp.csr_array(corpus.counts[:1]), sp.csr_array(corpus.tags[:1])
    first, second = (predictor.tag_names_[j] for j in corpus.tags.indices[:2])
    (reason,) = reasons_for(predictor, row, [predictor.tag_names_.index(second)], given, training_row=0)
    assert [tag for tag, _ in reason.tags] == [first]
    assert reason.tags[0][1] > 1
    assert "other tags" in str(reason)
