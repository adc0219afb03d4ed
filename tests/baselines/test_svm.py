"""tf-idf and support vector machines tell planted tags apart."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from tagtopic.baselines import CorrLDA, TfidfSVM
from tagtopic.corpus import Corpus
from tagtopic.datasets import make_tagged_corpus

Halves = tuple[Corpus, Corpus]


@pytest.fixture(scope="module")
def one_tag_each() -> Halves:
    made = make_tagged_corpus(400, 6, 6, 150, tags_per_document=1, tag_concentration=0.02, random_state=3)
    return made.corpus[:300], made.corpus[300:]


def share_right(model: TfidfSVM, corpus: Corpus) -> float:
    best = model.tag_scores(corpus).argmax(axis=1)
    return float((corpus.tags.toarray()[np.arange(len(corpus)), best] > 0).mean())


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_planted_tags_are_told(kernel: str, one_tag_each: Halves) -> None:
    train, new = one_tag_each
    by_chance = (train.tags.sum(axis=0) / len(train)).max()
    assert share_right(TfidfSVM(kernel).fit(train), new) > by_chance + 0.3


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.7])
def test_a_kernel_made_once_is_the_kernel_of_libsvm(
    gamma: float | str, one_tag_each: Halves, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, new = one_tag_each
    once = TfidfSVM("rbf", gamma=gamma).fit(train).tag_scores(new)
    monkeypatch.setattr("tagtopic.baselines.tfidf.KERNEL_BYTES", 0)
    np.testing.assert_allclose(once, TfidfSVM("rbf", gamma=gamma).fit(train).tag_scores(new), atol=1e-6)


def test_topics_alone_can_be_the_features(one_tag_each: Halves) -> None:
    train, new = one_tag_each
    topics = CorrLDA(6, max_iter=20, random_state=0).fit(train)
    model = TfidfSVM("linear", topics=topics, tfidf=False).fit(train)
    assert model.transform(new).shape == (len(new), 6)
    both = TfidfSVM("linear", topics=topics).fit(train)
    assert both.transform(new).shape == (len(new), train.n_words + 6)


def test_labels_apart_from_tags_may_use_the_tags(one_tag_each: Halves) -> None:
    """The labels follow from the tags alone, so with the tags as words they are told better."""
    train, new = one_tag_each
    labels = [["even" if int(tag[-1]) % 2 == 0 else "odd" for tag in train[i].tags] for i in range(len(train))]
    truth = np.array([int(new[i].tags[0][-1]) % 2 for i in range(len(new))])
    model = TfidfSVM("linear", tags_as_words=True).fit(train, labels=labels)
    assert model.tag_names_ == ("even", "odd")
    assert (model.tag_scores(new).argmax(axis=1) == truth).mean() > 0.9


def test_labels_of_all_documents_or_none_are_not_learnt(one_tag_each: Halves) -> None:
    train, new = one_tag_each
    labels = [["all", *train[i].tags] for i in range(len(train))]
    names = ["all", "none", *train.tag_names]
    labelled = Corpus.from_counts(train.counts, labels, words=train.words, tag_names=names)
    scores = TfidfSVM("linear").fit(train, labels=labelled).tag_scores(new)
    assert (scores[:, 0] == np.inf).all()
    assert (scores[:, 1] == -np.inf).all()
    assert np.isfinite(scores[:, 2:]).all()


@pytest.mark.parametrize("with_tags", [False, True])
def test_what_no_training_document_has_changes_no_feature(with_tags: bool) -> None:
    """The last word and the last tag stand in the vocabulary, as those of a test fold do, and were never learnt."""
    words, tags = ["red", "blue", "unseen"], ["a", "b", "new"]
    train = Corpus.from_counts([[2, 1, 0], [1, 3, 0]] * 5, [["a"], ["b"]] * 5, words=words, tag_names=tags)
    known = Corpus.from_counts([[2, 1, 0]], [["a"]], words=words, tag_names=tags)
    more = Corpus.from_counts([[2, 1, 4]], [["a", "new"]], words=words, tag_names=tags)
    model = TfidfSVM("linear", tags_as_words=with_tags).fit(train, labels=[["x"], ["y"]] * 5)
    np.testing.assert_array_equal(model.transform(more).toarray(), model.transform(known).toarray())


def test_only_a_fitted_machine_answers_and_only_about_a_corpus(one_tag_each: Halves) -> None:
    with pytest.raises(NotFittedError):
        TfidfSVM().tag_scores(one_tag_each[1])
    with pytest.raises(NotFittedError):
        TfidfSVM().transform(one_tag_each[1])
    model = TfidfSVM("linear").fit(one_tag_each[0])
    for ask in (model.tag_scores, model.transform):
        with pytest.raises(TypeError, match=r"a baseline takes a tagtopic\.Corpus, not list"):
            ask(["a text"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (TfidfSVM("poly"), "kernel='poly'"),
        (TfidfSVM(tfidf=False), "leaves no features"),
        (TfidfSVM(tags_as_words=True), "give labels="),
    ],
)
def test_impossible_settings_are_refused(model: TfidfSVM, said: str, one_tag_each: Halves) -> None:
    with pytest.raises(ValueError, match=said):
        model.fit(one_tag_each[0])
