"""What is experimented on: complete documents, labels apart from tags, folds that are a partition."""

import numpy as np
import pytest

from tagtopic.corpus import Corpus
from tagtopic.experiments import Choice, embedded, planted, select
from tagtopic.experiments.data import commonest_tags

COUNTS = np.array([[1, 0], [0, 2], [1, 1], [0, 0], [3, 0], [1, 2]])
TAGS = ["author:A genre:x", "author:B", "genre:y", "author:A genre:x", "author:A year:1", "author:A genre:y"]
CORPUS = Corpus.from_counts(COUNTS, [tags.split() for tags in TAGS])


def test_labels_are_no_tags_and_every_document_is_complete() -> None:
    subject = select(CORPUS, Choice(labels="genre"))
    assert list(subject.corpus.ids) == ["0", "5"]
    assert subject.corpus.tag_kinds == ("author", "author", "year")
    assert subject.labels is not None
    assert subject.labels.tag_names == ("genre:x", "genre:y")
    assert list(subject.labels.ids) == ["0", "5"]


def test_kinds_and_rare_tags_can_be_left_out() -> None:
    subject = select(CORPUS, Choice(kinds=("author",), min_tag_documents=2))
    assert subject.corpus.tag_names == ("author:A",)
    assert list(subject.corpus.ids) == ["0", "4", "5"]
    assert subject.labels is None


def test_documents_are_drawn_and_the_same_ones_again() -> None:
    first = select(planted(quick=True).corpus, Choice(documents=50))
    assert len(first.corpus) == 50
    assert first.fingerprint == select(planted(quick=True).corpus, Choice(documents=50)).fingerprint


def test_a_kind_that_is_not_there_is_said() -> None:
    with pytest.raises(ValueError, match=r"no document has a tag of the kind 'colour'.*author, genre, year"):
        select(CORPUS, Choice(labels="colour"))
    with pytest.raises(ValueError, match=r"no document has a tag of the kind 'colour'.*author, genre, year"):
        select(CORPUS, Choice(kinds=("author", "colour")))


def test_nothing_left_is_said() -> None:
    with pytest.raises(ValueError, match="no document has words and tags"):
        select(CORPUS, Choice(min_tag_documents=10))


def test_folds_are_a_partition() -> None:
    subject = planted(quick=True)
    parts = [subject.fold(number, 5) for number in range(5)]
    ids = [name for _, test in parts for name in test.corpus.ids]
    assert sorted(ids) == sorted(subject.corpus.ids)
    for train, test in parts:
        assert not {*train.corpus.ids} & {*test.corpus.ids}
        assert len(train.corpus) + len(test.corpus) == len(subject.corpus)
        assert test.labels is not None
        assert list(test.labels.ids) == list(test.corpus.ids)
    with pytest.raises(ValueError, match="no fold 5"):
        subject.fold(5, 5)


def test_the_commonest_tags_stay() -> None:
    subject = commonest_tags(planted(quick=True), 3)
    whole = planted(quick=True).corpus
    documents = np.bincount(whole.tags.indices, minlength=whole.n_tags)
    assert {*subject.corpus.tag_names} == {whole.tag_names[j] for j in np.argsort(-documents, kind="stable")[:3]}
    assert np.diff(subject.corpus.tags.indptr).min() >= 1


def test_planted_labels_are_the_topics_that_matter() -> None:
    subject = planted(quick=True)
    assert subject.labels is not None
    assert subject.labels.n_tags == 8
    assert np.diff(subject.labels.tags.indptr).min() >= 1


def test_the_embedded_corpus_does_not_give_its_labels_away() -> None:
    subject = embedded(quick=True, packages=("joblib", "narwhals"))
    assert {*subject.corpus.tag_kinds} == {"kind", "parameter", "raises"}
    assert subject.labels is not None
    assert {*subject.labels.tag_kinds} == {"package"}
