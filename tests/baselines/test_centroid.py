import numpy as np

from tagtopic.baselines import TfidfCentroid
from tagtopic.corpus import Corpus


def test_the_tag_whose_documents_are_alike_is_first() -> None:
    texts = ["ship sea storm", "sea ship harbour", "wheel engine road", "engine fuel wheel"]
    train = Corpus.from_texts(texts, [["sea"], ["sea"], ["car"], ["car"]])
    new = Corpus.from_texts(["a storm at sea", "fuel for the engine"], words=train.words, rules=train.rules)
    scores = TfidfCentroid().fit(train).tag_scores(new)
    assert [train.tag_names[j] for j in scores.argmax(axis=1)] == ["sea", "car"]
    assert scores.max() <= 1 + 1e-12


def test_a_document_that_is_the_tags_only_one_has_cosine_one() -> None:
    train = Corpus.from_counts(np.array([[3, 1, 0], [0, 1, 4]]), [["a"], ["b"]])
    np.testing.assert_allclose(TfidfCentroid().fit(train).tag_scores(train).diagonal(), 1.0)


def test_part_of_a_word_speaks_for_its_tags_and_not_against_them() -> None:
    counts = [[0.3, 0.5], [0.5, 0], [0, 0.5]]
    corpus = Corpus.from_counts(counts, [["both"], ["x"], ["y"]], fractional=True)
    scores = TfidfCentroid().fit(corpus).tag_scores(corpus)
    assert scores.min() >= 0
    np.testing.assert_allclose(scores.diagonal(), 1.0)


def test_whole_words_weigh_one_and_their_logarithm() -> None:
    corpus = Corpus.from_counts(np.array([[1, 3], [2, 0]]), [["a"], ["b"]])
    model = TfidfCentroid().fit(corpus)
    expected = (1 + np.log([1, 3])) * model.idf_
    np.testing.assert_allclose(model.centroids_.toarray()[0], expected / np.linalg.norm(expected))
