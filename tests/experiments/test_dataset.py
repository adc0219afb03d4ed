"""Datasets of experiments: complete documents, labels separate from tags, folds that partition the corpus."""

import numpy as np
import pytest

from tagtopic.corpus import Corpus
from tagtopic.experiments import Selection, embedded_dataset, planted_dataset, select_dataset
from tagtopic.experiments.dataset import with_commonest_tags, with_seen_words

COUNTS = np.array([[1, 0], [0, 2], [1, 1], [0, 0], [3, 0], [1, 2]])
TAGS = ["author:A genre:x", "author:B", "genre:y", "author:A genre:x", "author:A year:1", "author:A genre:y"]
CORPUS = Corpus.from_counts(COUNTS, [tags.split() for tags in TAGS])


def test_labels_are_removed_from_the_tags_and_documents_are_complete() -> None:
    dataset = select_dataset(CORPUS, Selection(labels="genre"))
    assert list(dataset.corpus.ids) == ["0", "5"]
    assert dataset.corpus.tag_kinds == ("author", "author", "year")
    assert dataset.labels is not None
    assert dataset.labels.tag_names == ("genre:x", "genre:y")
    assert list(dataset.labels.ids) == ["0", "5"]


def test_documents_that_are_left_out_are_reported() -> None:
    dataset = select_dataset(CORPUS, Selection(labels="genre"))
    assert dataset.notes == (
        "1 of 6 documents has no words (left out)",
        "1 of 6 documents has no tags (left out)",
        "2 of 6 documents have no labels (left out)",
    )
    assert dataset.fold(0, 2)[0].notes == dataset.notes
    assert planted_dataset(quick=True).corpus.tags.nnz


def test_near_duplicates_can_be_dropped() -> None:
    corpus = Corpus.from_counts([[1, 2, 0], [2, 1, 0], [0, 0, 3]], [["a"], ["a"], ["b"]])
    dataset = select_dataset(corpus, Selection(drop_duplicates=True))
    assert list(dataset.corpus.ids) == ["0", "2"]
    assert dataset.notes == ("1 of 3 documents nearly duplicate an earlier one (left out)",)


def test_words_without_a_training_document_can_be_left_out() -> None:
    train, test = CORPUS[[1]], CORPUS[[0, 2, 5]]
    scored = with_seen_words(test, train)
    assert scored.words == (CORPUS.words[1],)
    assert scored.counts.toarray().tolist() == [[0], [1], [2]]
    assert scored.tag_names == test.tag_names


def test_selection_by_kind_and_frequency() -> None:
    dataset = select_dataset(CORPUS, Selection(kinds=("author",), min_tag_documents=2))
    assert dataset.corpus.tag_names == ("author:A",)
    assert list(dataset.corpus.ids) == ["0", "4", "5"]
    assert dataset.labels is None


def test_documents_are_sampled_reproducibly() -> None:
    first = select_dataset(planted_dataset(quick=True).corpus, Selection(documents=50))
    assert len(first.corpus) == 50
    assert first.fingerprint == select_dataset(planted_dataset(quick=True).corpus, Selection(documents=50)).fingerprint


def test_an_unknown_kind_is_reported() -> None:
    with pytest.raises(ValueError, match=r"no document has a tag of the kind 'colour'.*author, genre, year"):
        select_dataset(CORPUS, Selection(labels="colour"))
    with pytest.raises(ValueError, match=r"no document has a tag of the kind 'colour'.*author, genre, year"):
        select_dataset(CORPUS, Selection(kinds=("author", "colour")))


def test_an_empty_selection_is_reported() -> None:
    with pytest.raises(ValueError, match="no document has words and tags"):
        select_dataset(CORPUS, Selection(min_tag_documents=10))


def test_folds_partition_the_corpus() -> None:
    dataset = planted_dataset(quick=True)
    parts = [dataset.fold(number, 5) for number in range(5)]
    ids = [name for _, test in parts for name in test.corpus.ids]
    assert sorted(ids) == sorted(dataset.corpus.ids)
    for train, test in parts:
        assert not {*train.corpus.ids} & {*test.corpus.ids}
        assert len(train.corpus) + len(test.corpus) == len(dataset.corpus)
        assert test.labels is not None
        assert list(test.labels.ids) == list(test.corpus.ids)
    with pytest.raises(ValueError, match="no fold 5"):
        dataset.fold(5, 5)


def test_the_most_frequent_tags_are_kept() -> None:
    dataset = with_commonest_tags(planted_dataset(quick=True), 3)
    whole = planted_dataset(quick=True).corpus
    documents = np.bincount(whole.tags.indices, minlength=whole.n_tags)
    assert {*dataset.corpus.tag_names} == {whole.tag_names[j] for j in np.argsort(-documents, kind="stable")[:3]}
    assert np.diff(dataset.corpus.tags.indptr).min() >= 1


def test_planted_labels_are_the_large_topics() -> None:
    dataset = planted_dataset(quick=True)
    assert dataset.labels is not None
    assert dataset.labels.n_tags == 8
    assert np.diff(dataset.labels.tags.indptr).min() >= 1


def test_the_tags_of_the_embedded_corpus_do_not_reveal_its_labels() -> None:
    dataset = embedded_dataset(quick=True, packages=("joblib", "narwhals"))
    assert {*dataset.corpus.tag_kinds} == {"kind", "parameter", "raises"}
    assert dataset.labels is not None
    assert {*dataset.labels.tag_kinds} == {"package"}
