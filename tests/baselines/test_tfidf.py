"""Classifiers on tf-idf features."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from tagtopic.baselines import CorrLDA, TfidfCentroid, TfidfSVM
from tagtopic.corpus import Corpus
from tagtopic.datasets import make_tagged_corpus

Split = tuple[Corpus, Corpus]


@pytest.fixture(scope="module")
def one_tag_each() -> Split:
    made = make_tagged_corpus(400, 6, 6, 150, tags_per_document=1, tag_concentration=0.02, random_state=3)
    return made.corpus[:300], made.corpus[300:]


def accuracy(model: TfidfSVM, corpus: Corpus) -> float:
    best = model.tag_scores(corpus).argmax(axis=1)
    return float((corpus.tags.toarray()[np.arange(len(corpus)), best] > 0).mean())


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_planted_tags_are_predicted(kernel: str, one_tag_each: Split) -> None:
    train, new = one_tag_each
    by_chance = (train.tags.sum(axis=0) / len(train)).max()
    assert accuracy(TfidfSVM(kernel).fit(train), new) > by_chance + 0.3


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.7])
def test_the_precomputed_kernel_equals_that_of_libsvm(gamma: float | str, one_tag_each: Split) -> None:
    train, new = one_tag_each
    once = TfidfSVM("rbf", gamma=gamma).fit(train).tag_scores(new)
    by_label = TfidfSVM("rbf", gamma=gamma, max_kernel_bytes=0).fit(train).tag_scores(new)
    np.testing.assert_allclose(once, by_label, atol=1e-6)


def test_topic_mixes_can_be_the_features(one_tag_each: Split) -> None:
    train, new = one_tag_each
    topics = CorrLDA(6, max_iter=20, random_state=0).fit(train)
    model = TfidfSVM("linear", topics=topics, tfidf=False).fit(train)
    assert model.transform(new).shape == (len(new), 6)
    both = TfidfSVM("linear", topics=topics).fit(train)
    assert both.transform(new).shape == (len(new), train.n_words + 6)


def test_tags_can_be_features_of_other_labels(one_tag_each: Split) -> None:
    """The labels are functions of the tags, so tags as words predict them well."""
    train, new = one_tag_each
    labels = [["even" if int(tag[-1]) % 2 == 0 else "odd" for tag in train[i].tags] for i in range(len(train))]
    truth = np.array([int(new[i].tags[0][-1]) % 2 for i in range(len(new))])
    model = TfidfSVM("linear", tags_as_words=True).fit(train, labels=labels)
    assert model.tag_names_ == ("even", "odd")
    assert (model.tag_scores(new).argmax(axis=1) == truth).mean() > 0.9


def test_labels_on_all_documents_or_none_have_infinite_scores(one_tag_each: Split) -> None:
    train, new = one_tag_each
    labels = [["all", *train[i].tags] for i in range(len(train))]
    names = ["all", "none", *train.tag_names]
    labelled = Corpus.from_counts(train.counts, labels, words=train.words, tag_names=names)
    scores = TfidfSVM("linear").fit(train, labels=labelled).tag_scores(new)
    assert (scores[:, 0] == np.inf).all()
    assert (scores[:, 1] == -np.inf).all()
    assert np.isfinite(scores[:, 2:]).all()


@pytest.mark.parametrize("with_tags", [False, True])
def test_unseen_words_and_tags_change_no_feature(with_tags: bool) -> None:
    """The last word and the last tag are in the vocabulary, as those of a test fold are, but not in training."""
    words, tags = ["red", "blue", "unseen"], ["a", "b", "new"]
    train = Corpus.from_counts([[2, 1, 0], [1, 3, 0]] * 5, [["a"], ["b"]] * 5, words=words, tag_names=tags)
    known = Corpus.from_counts([[2, 1, 0]], [["a"]], words=words, tag_names=tags)
    more = Corpus.from_counts([[2, 1, 4]], [["a", "new"]], words=words, tag_names=tags)
    model = TfidfSVM("linear", tags_as_words=with_tags).fit(train, labels=[["x"], ["y"]] * 5)
    np.testing.assert_array_equal(model.transform(more).toarray(), model.transform(known).toarray())


def test_scores_need_a_fitted_model_and_a_corpus(one_tag_each: Split) -> None:
    with pytest.raises(NotFittedError):
        TfidfSVM().tag_scores(one_tag_each[1])
    with pytest.raises(NotFittedError):
        TfidfSVM().transform(one_tag_each[1])
    model = TfidfSVM("linear").fit(one_tag_each[0])
    for method in (model.tag_scores, model.transform):
        with pytest.raises(TypeError, match=r"a baseline takes a tagtopic\.Corpus, not list"):
            method(["a text"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (TfidfSVM("poly"), "kernel='poly'"),
        (TfidfSVM(tfidf=False), "leaves no features"),
        (TfidfSVM(tags_as_words=True), "give labels="),
    ],
)
def test_invalid_settings_are_rejected(model: TfidfSVM, message: str, one_tag_each: Split) -> None:
    with pytest.raises(ValueError, match=message):
        model.fit(one_tag_each[0])


def test_the_centroid_of_similar_documents_ranks_first() -> None:
    texts = ["ship sea storm", "sea ship harbour", "wheel engine road", "engine fuel wheel"]
    train = Corpus.from_texts(texts, [["sea"], ["sea"], ["car"], ["car"]])
    new = Corpus.from_texts(["a storm at sea", "fuel for the engine"], words=train.words, rules=train.rules)
    scores = TfidfCentroid().fit(train).tag_scores(new)
    assert [train.tag_names[j] for j in scores.argmax(axis=1)] == ["sea", "car"]
    assert scores.max() <= 1 + 1e-12


def test_the_only_document_of_a_tag_has_cosine_one_with_its_centroid() -> None:
    train = Corpus.from_counts(np.array([[3, 1, 0], [0, 1, 4]]), [["a"], ["b"]])
    np.testing.assert_allclose(TfidfCentroid().fit(train).tag_scores(train).diagonal(), 1.0)


def test_fractional_counts_have_positive_weights() -> None:
    counts = [[0.3, 0.5], [0.5, 0], [0, 0.5]]
    corpus = Corpus.from_counts(counts, [["both"], ["x"], ["y"]], fractional=True)
    scores = TfidfCentroid().fit(corpus).tag_scores(corpus)
    assert scores.min() >= 0
    np.testing.assert_allclose(scores.diagonal(), 1.0)


def test_tf_idf_weights_are_one_plus_log_count() -> None:
    corpus = Corpus.from_counts(np.array([[1, 3], [2, 0]]), [["a"], ["b"]])
    model = TfidfCentroid().fit(corpus)
    expected = (1 + np.log([1, 3])) * model.idf_
    np.testing.assert_allclose(model.centroids_.toarray()[0], expected / np.linalg.norm(expected))
