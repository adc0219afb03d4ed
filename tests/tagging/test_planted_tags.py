"""Wrong tags are planted as errors occur: at random or as siblings, beside the right tag or in its place."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic import Corpus, TagPredictor
from tagtopic.datasets import make_tagged_corpus
from tagtopic.tagging.audit_features import TrainingDocuments, audit_features
from tagtopic.tagging.planted_tags import (
    BESIDE,
    IN_PLACE,
    MIN_PLANTED,
    OWN,
    RANDOM,
    PlantedTags,
    draw_ratios,
    sibling_ratios,
)
from tagtopic.tagging.training_index import OF_WORDS, build_index


@pytest.fixture(scope="module")
def training() -> TrainingDocuments:
    corpus = make_tagged_corpus(400, 6, 20, 200, tags_per_document=(1, 3), random_state=0).corpus
    word_topics = np.full((corpus.n_words, 2), 0.5)
    word_topics[::2] = [0.9, 0.1]
    return TrainingDocuments.from_training_index(TagPredictor(n_jobs=1).fit(corpus).index_, word_topics)


def test_planted_tags_are_in_the_index_beside_or_in_place_of_own_tags(training: TrainingDocuments) -> None:
    planted = PlantedTags.plant(training, 1, np.random.default_rng(0))
    entries, labels = planted.entries, planted.labels
    own = np.asarray(training.tags[entries.training_rows[entries.owner], entries.tags.indices]).ravel() > 0
    np.testing.assert_array_equal(labels == OWN, own)
    share = np.mean(labels != OWN)
    assert 0.08 < share < 0.16  # some draws are tags that the document has
    assert {RANDOM, BESIDE, IN_PLACE} <= set(labels.tolist())
    assert planted.training.has_tag(entries.training_rows, entries.owner, entries.tags.indices).all()
    n_wrong = (labels != OWN).sum()
    n_gone = training.tags.nnz - (labels == OWN).sum()
    assert 0.35 < n_gone / n_wrong < 0.65
    counts = np.bincount(entries.tags.indices, minlength=len(training.tag_counts))
    np.testing.assert_array_equal(planted.training.tag_counts, counts)


def test_a_planted_tag_has_the_features_of_a_document_that_is_not_in_the_index(training: TrainingDocuments) -> None:
    planted = PlantedTags.plant(training, 1, np.random.default_rng(1))
    wrong = int(np.flatnonzero(planted.labels == RANDOM)[0])
    row = int(planted.entries.owner[wrong])
    entry = planted.entries[row : row + 1]
    here = audit_features(planted.training, entry, 1)
    left = np.delete(np.arange(training.tags.shape[0]), row)
    documents, tags = training.documents[left], sp.csr_array(planted.training.tags[left])
    names = sp.csr_array((training.documents.shape[1], training.tags.shape[1]), dtype=np.float32)
    index = build_index(documents, tags, training.tag_kinds, names, 1)
    elsewhere = TrainingDocuments.from_training_index(index, training.word_topics)
    new = type(entry)(entry.vectors, np.array([-1]), entry.tags, entry.own_tags)
    words = slice(0, 9)  # nearest neighbours, centroid and frequency; later features depend on the corpus mean
    np.testing.assert_allclose(here[:, words], audit_features(elsewhere, new, 1)[:, words], atol=2e-3)


def test_what_depends_on_words_only_is_shared_with_the_index_without_planted_tags(training: TrainingDocuments) -> None:
    planted = PlantedTags.plant(training, 1, np.random.default_rng(0)).training
    assert planted.documents is training.documents
    assert planted.index.posting_weights is training.index.posting_weights
    anew = TrainingDocuments.from_training_index(planted.index, training.word_topics)
    np.testing.assert_array_equal(planted.tags.toarray(), anew.tags.toarray())
    np.testing.assert_array_equal(planted.cooccurrences.toarray(), anew.cooccurrences.toarray())
    np.testing.assert_allclose(planted.tag_topics, anew.tag_topics, atol=1e-6)
    names = sp.csr_array((training.documents.shape[1], training.tags.shape[1]), dtype=np.float32)
    built = build_index(training.documents, planted.tags, training.tag_kinds, names, 1)
    for name in OF_WORDS:
        np.testing.assert_array_equal(getattr(planted.index, name), getattr(built, name))


def test_small_corpora_are_planted_several_times(training: TrainingDocuments) -> None:
    rounds = list(PlantedTags.rounds(training, 1, np.random.default_rng(0)))
    planted = [(part.labels != OWN).sum() for part in rounds]
    assert sum(planted[:-1]) < MIN_PLANTED
    assert len(rounds) > 1


def test_siblings_are_planted_beside_a_tag_only_where_it_stays(training: TrainingDocuments) -> None:
    planted = PlantedTags.plant(training, 1, np.random.default_rng(0))
    entries, labels = planted.entries, planted.labels
    n_tags, n_before = np.diff(entries.tags.indptr), np.diff(training.tags[entries.training_rows].indptr)
    only = np.bincount(entries.owner, labels != OWN, len(n_tags)) == 1  # documents with one wrong tag
    for label, added in ((BESIDE, 1), (IN_PLACE, 0)):
        rows = entries.owner[labels == label]
        rows = rows[only[rows]]
        assert len(rows) > 5
        np.testing.assert_array_equal(n_tags[rows], n_before[rows] + added)


def test_documents_that_mostly_have_one_tag_get_the_wrong_one_in_its_place() -> None:
    corpus = make_tagged_corpus(400, 6, 20, 200, tags_per_document=1, random_state=0).corpus
    tags = [[*document.tags, *(corpus[0].tags if i % 6 == 0 else [])] for i, document in enumerate(corpus)]
    some_have_two = Corpus.from_counts(corpus.counts, tags, words=corpus.words)
    index = TagPredictor(n_jobs=1).fit(some_have_two).index_
    training = TrainingDocuments.from_training_index(index, np.full((corpus.n_words, 2), 0.5))
    planted = PlantedTags.plant(training, 1, np.random.default_rng(0))
    assert set(planted.labels.tolist()) == {OWN, RANDOM, IN_PLACE}


def test_draw_ratios_are_those_of_the_probabilities_of_a_draw() -> None:
    counts = np.array([6.0, 2.0, 0.0, 2.0])
    uniform, by_frequency = draw_ratios(counts)
    probabilities = np.array([1 / 3, 1 / 3, 0, 1 / 3]), counts / 10
    np.testing.assert_allclose((uniform + by_frequency)[counts > 0], 2)
    np.testing.assert_allclose(uniform * probabilities[1], by_frequency * probabilities[0])


def test_sibling_ratios_follow_the_roots_of_counts_and_have_a_mean_of_one_among_planted_tags() -> None:
    counts, kinds = np.array([8.0, 3.0, 0.0, 15.0, 99.0]), np.array([0, 0, 0, 1, 2])
    planted = np.array([0, 1, 1, 3, 3])  # none of the third kind
    ratios = sibling_ratios(counts, kinds, planted)
    np.testing.assert_allclose(ratios[0] / ratios[1], 3 / 2)
    for kind in (0, 1):
        assert ratios[planted[kinds[planted] == kind]].mean() == pytest.approx(1)
    assert ratios[4] == pytest.approx(10 / np.sqrt(counts[planted] + 1).mean())
    assert np.isfinite(sibling_ratios(counts, kinds, planted[:0])).all()


def test_a_corpus_whose_tags_have_no_siblings_can_be_planted() -> None:
    corpus = Corpus.from_texts(["a ship in space", "police hunt a killer"] * 2, [["space"], ["crime"]] * 2)
    index = TagPredictor(n_jobs=1).fit(corpus).index_
    alone = TrainingDocuments.from_training_index(index, np.full((corpus.n_words, 2), 0.5))
    for part in PlantedTags.rounds(alone, 1, np.random.default_rng(0)):
        assert len(part.labels) == part.entries.tags.nnz > 0
