"""Wrong tags are planted as errors occur, and the shares of errors are bounded by what own tags look like."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic import Corpus, TagPredictor
from tagtopic.datasets import make_tagged_corpus
from tagtopic.tagging.audit_features import TrainingDocuments, audit_features
from tagtopic.tagging.planted_tags import MIN_PLANTED, OWN, RANDOM, SIBLING, PlantedTags
from tagtopic.tagging.plausibility import MAX_ERRORS, bound_share
from tagtopic.tagging.training_index import build_index


@pytest.fixture(scope="module")
def training() -> TrainingDocuments:
    corpus = make_tagged_corpus(400, 6, 20, 200, tags_per_document=(1, 3), random_state=0).corpus
    word_topics = np.full((corpus.n_words, 2), 0.5)
    word_topics[::2] = [0.9, 0.1]
    return TrainingDocuments.from_training_index(TagPredictor(n_jobs=1).fit(corpus).index_, word_topics)


def test_planted_tags_are_in_the_index_beside_or_in_place_of_own_tags(training: TrainingDocuments) -> None:
    planted = PlantedTags.plant(training, training.word_topics, 1, np.random.default_rng(0))
    entries, labels = planted.entries, planted.labels
    own = np.asarray(training.tags[entries.training_rows[entries.owner], entries.tags.indices]).ravel() > 0
    np.testing.assert_array_equal(labels == OWN, own)
    share = np.mean(labels != OWN)
    assert 0.08 < share < 0.16  # some draws are tags that the document has
    assert {RANDOM, SIBLING} <= set(labels.tolist())
    assert planted.training.has_tag(entries.training_rows, entries.owner, entries.tags.indices).all()
    n_wrong = (labels != OWN).sum()
    n_gone = training.tags.nnz - (labels == OWN).sum()
    assert 0.35 < n_gone / n_wrong < 0.65
    counts = np.bincount(entries.tags.indices, minlength=len(training.tag_counts))
    np.testing.assert_array_equal(planted.training.tag_counts, counts)


def test_a_planted_tag_has_the_features_of_a_document_that_is_not_in_the_index(training: TrainingDocuments) -> None:
    planted = PlantedTags.plant(training, training.word_topics, 1, np.random.default_rng(1))
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


def test_small_corpora_are_planted_several_times(training: TrainingDocuments) -> None:
    rounds = PlantedTags.rounds(training, training.word_topics, 1, np.random.default_rng(0))
    planted = [(part.labels != OWN).sum() for part in rounds]
    assert sum(planted[:-1]) < MIN_PLANTED
    assert len(rounds) > 1


def test_the_share_of_errors_is_bounded_by_how_own_tags_look() -> None:
    random = np.random.default_rng(0)
    wrong = random.normal(-3, 1, 2000)
    clean = random.normal(3, 1, 20000)
    for share in (0.0, 0.05, 0.1):
        own = np.where(random.random(20000) < share, random.normal(-3, 1, 20000), clean)
        assert bound_share(own, wrong) == pytest.approx(share, abs=0.012)
    assert bound_share(random.normal(-3, 1, 20000), wrong) == MAX_ERRORS  # they look alike
    assert bound_share(clean[:5], wrong) == MAX_ERRORS  # too few to tell


def test_a_corpus_whose_tags_have_no_siblings_can_be_planted() -> None:
    corpus = Corpus.from_texts(["a ship in space", "police hunt a killer"] * 2, [["space"], ["crime"]] * 2)
    index = TagPredictor(n_jobs=1).fit(corpus).index_
    alone = TrainingDocuments.from_training_index(index, np.full((corpus.n_words, 2), 0.5))
    for part in PlantedTags.rounds(alone, alone.word_topics, 1, np.random.default_rng(0)):
        assert len(part.labels) == part.entries.tags.nnz > 0
