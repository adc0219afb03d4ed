"""Tag prediction: planted tags are found, with calibrated probabilities, by a model and by a predictor alone."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tagtopic import LDA, TWDA, TWTM, Corpus
from tagtopic._core.tensors import read_tensors, write_tensors
from tagtopic.datasets import make_tagged_corpus
from tagtopic.models._io import FORMAT, KIND, ModelFileError
from tagtopic.tagging import TagPredictor

PLANTED = make_tagged_corpus(900, 16, 30, 600, tags_per_document=(1, 3), tag_concentration=0.03, random_state=1).corpus
TRAIN, TEST = PLANTED.split(0.3, random_state=0)
FILMS = [
    ("a detective hunts a killer", ["genre:crime", "director:Ada"]),
    ("the killer and the detective", ["genre:crime", "director:Ada"]),
    ("a ship flies to a planet", ["genre:space", "director:Eve"]),
    ("monsters on a lost planet ship", ["genre:space", "director:Eve"]),
] * 4


@pytest.fixture(scope="module")
def model() -> TWDA:
    return TWDA(16, random_state=0, max_iter=30, progress=False).fit(TRAIN)


@pytest.fixture(scope="module")
def films() -> TWDA:
    corpus = Corpus.from_texts([text for text, _ in FILMS], [tags for _, tags in FILMS], stop_words="en")
    return TWDA(2, random_state=0, max_iter=10, progress=False).fit(corpus)


def recall(model: TWDA, n: int, **how: str) -> float:
    found = [{tag for tag, _ in tags} for tags in model.predict_tags(TEST, n, **how)]
    truth = [set(document.tags) for document in TEST]
    return float(np.mean([len(own & tags) / len(own) for own, tags in zip(truth, found, strict=True)]))


def test_planted_tags_are_found(model: TWDA) -> None:
    by_chance = 5 / 30
    assert recall(model, 5) > 3.5 * by_chance
    assert recall(model, 5, method="likelihood") > 2 * by_chance
    assert recall(model, 30) > 0.95  # only tags that no similar document has are missing


def test_the_likelihood_is_of_a_document_with_one_tag(model: TWDA) -> None:
    """By hand: the words of the tag and the latent tag, by their priors; in TWTM, which has none, of the tag alone.

    The latent tag's topics follow those of the tag's documents, drawn towards the prior as by three documents more.
    """
    twtm = TWTM(6, max_iter=5, random_state=0, progress=False).fit(TRAIN)
    prior, documents = model.latent_topic_prior_ / model.latent_topic_prior_.sum(), TRAIN.tag_sizes()[:, None]
    latent_topics = (documents * model.tag_document_topics_ + 3 * prior) / (documents + 3)
    latent = latent_topics @ model.components_
    shares = model.latent_weight_prior_ / (model.latent_weight_prior_ + model.tag_weight_prior_[:, None])
    for fitted, share in ((model, shares), (twtm, 0)):
        own_words = fitted.own_words_.toarray()
        of_topics = (1 - own_words.sum(axis=1, keepdims=True)) * (fitted.tag_topics_ @ fitted.components_)
        scores = TEST[:20].counts @ np.log((1 - share) * (of_topics + own_words) + share * latent).T
        best = [fitted.tag_names_[j] for j in scores.argmax(axis=1)]
        assert [tags[0][0] for tags in fitted.predict_tags(TEST[:20], 1, method="likelihood")] == best


def test_probabilities_are_calibrated(model: TWDA) -> None:
    pairs = [
        (probability, tag in document.tags)
        for document, tags in zip(TEST, model.predict_tags(TEST, 10), strict=True)
        for tag, probability in tags
    ]
    given, right = np.array(pairs, dtype=float).T
    bins = np.minimum((given * 10).astype(int), 9)
    error = sum(abs(given[bins == b].sum() - right[bins == b].sum()) for b in range(10)) / len(given)
    assert error < 0.05
    assert right[given > 0.5].mean() > 0.5 > right[given < 0.2].mean()


@pytest.mark.parametrize(("n_tags", "size"), [(2, 300), (3, 20), (20, 15)])
def test_tags_that_are_equally_frequent_and_unrelated_to_the_text_have_their_share(n_tags: int, size: int) -> None:
    random = np.random.default_rng(0)
    tags = random.permutation(np.repeat(np.arange(n_tags), size))
    counts = random.poisson(0.1, (len(tags) + 100, 200))
    counts[:, 0] += 1
    predictor = TagPredictor(n_jobs=1).fit(counts[: len(tags)], tags=[[f"{tag}"] for tag in tags])
    probabilities = predictor.predict_proba(counts[len(tags) :], n_tags).toarray()
    assert probabilities.sum(axis=1).mean() == pytest.approx(1, abs=0.15)
    assert probabilities.max() < 0.9


def test_tags_are_sorted_by_probability_and_do_not_depend_on_the_tags_of_the_documents(model: TWDA) -> None:
    untagged = Corpus.from_counts(TEST.counts, words=TEST.words)
    found = model.predict_tags(TEST[:20])
    assert found == model.predict_tags(untagged[:20])
    for tags in found:
        assert len(tags) == 10
        values = [probability for _, probability in tags]
        assert values == sorted(values, reverse=True)
        assert all(0 <= value <= 1 for value in values)


def test_predictions_do_not_depend_on_batches_and_threads(model: TWDA) -> None:
    whole = model.predict_tags(TEST)
    assert [model.predict_tags(TEST[[i]])[0] for i in (0, 100)] == [whole[0], whole[100]]
    assert TagPredictor(n_jobs=1).fit(TRAIN) == TagPredictor(n_jobs=3).fit(TRAIN)


def test_sentences_and_kinds_are_predicted_after_save_and_load(films: TWDA, tmp_path: Path) -> None:
    films.save(tmp_path / "films.tagtopic")
    again = TWDA.load(tmp_path / "films.tagtopic")
    (tags,) = again.predict_tags(["the detective finds the killer"])
    assert {tag for tag, _ in tags[:2]} == {"genre:crime", "director:Ada"}
    assert tags[0][1] > 0.5
    (directors,) = again.predict_tags(["the detective finds the killer"], kinds=["director"])
    assert directors[0] == next(pair for pair in tags if pair[0] == "director:Ada")
    assert again.tag_predictor_ == films.tag_predictor_
    assert films.predict_tags(["a planet"], 1, method="likelihood")[0][0][0].endswith(("space", "Eve"))


def test_rare_dissimilar_tags_are_predicted_by_kind_and_do_not_change_the_others() -> None:
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice([f"w{side}{i}" for i in range(30)], 12)) + " shared" for side in (0, 1) * 200]
    tags = [[f"side:{i % 2}", f"day:{i % 7}"] + ["rare:far"] * (i == 1) + ["rare:near"] * (i == 2) for i in range(400)]
    corpus = Corpus.from_texts(texts, tags)
    predictor = TagPredictor().fit(corpus)
    (few,) = predictor.predict(corpus.counts[[0]], 5)
    (all_tags,) = predictor.predict(corpus.counts[[0]], 11)
    (rare,) = predictor.predict(corpus.counts[[0]], 2, kinds=["rare"])
    assert {tag for tag, _ in rare} == {"rare:far", "rare:near"}
    assert [pair for pair in all_tags if pair[0].startswith("rare")] == rare
    assert len(all_tags) == 11
    assert few == all_tags[:5]


@pytest.mark.filterwarnings("ignore:none of the words", "ignore:1 of 1 texts have no word")
def test_documents_without_known_words_get_the_most_common_tags(films: TWDA) -> None:
    (tags,) = films.predict_tags(["zzz qqq"])
    assert tags[0][1] == pytest.approx(0.5)
    assert len(tags) == 4


def test_impossible_requests_are_errors(films: TWDA) -> None:
    with pytest.raises(ValueError, match="no tags of kind 'year'; it has 'director', 'genre'"):
        films.predict_tags(["a ship"], kinds=["year"])
    with pytest.raises(ValueError, match="expected one of 'neighbours', 'likelihood'"):
        films.predict_tags(["a ship"], method="magic")
    untagged = LDA(2, max_iter=2, random_state=0, progress=False).fit(TRAIN)
    with pytest.raises(ValueError, match="learnt no tags"):
        untagged.predict_tags(TEST)


def test_fit_tag_predictor_equals_the_predictor_of_the_fit(model: TWDA) -> None:
    fitted = model.tag_predictor_
    assert model.fit_tag_predictor(TRAIN).tag_predictor_ == fitted


def test_a_corpus_too_large_for_the_index_is_sampled() -> None:
    part = TagPredictor(max_entries=5000).fit(TRAIN)
    assert 4000 < len(part.index_.posting_documents) <= 5000
    assert len(part.predict(TEST.counts[:3])) == 3


def test_an_inconsistent_index_in_a_file_is_an_error(films: TWDA, tmp_path: Path) -> None:
    films.save(tmp_path / "films.tagtopic")
    header, tensors = read_tensors(tmp_path / "films.tagtopic", KIND, FORMAT)
    tensors["tag_predictor.documents"] = tensors["tag_predictor.documents"] + 1000
    write_tensors(tmp_path / "bad.tagtopic", KIND, header, tensors)
    with pytest.raises(ModelFileError, match="do not fit together"):
        TWDA.load(tmp_path / "bad.tagtopic")


def test_fractional_counts_are_not_truncated() -> None:
    tags = [list(document.tags) for document in TRAIN]
    shares = TRAIN.counts / np.asarray(TRAIN.lengths())[:, None]
    learnt = TWDA(16, random_state=0, max_iter=5, progress=False).fit(shares, tags=tags)
    of_test = TEST.counts / np.asarray(TEST.lengths())[:, None]
    hits = [best[0][0] in document.tags for best, document in zip(learnt.predict_tags(of_test, 1), TEST, strict=True)]
    assert np.mean(hits) > 0.5


@pytest.mark.parametrize("method", ["neighbours", "likelihood"])
def test_no_kinds_give_no_tags(films: TWDA, method: str) -> None:
    assert films.predict_tags(["a ship", ""], kinds=[], method=method) == [[], []]


def test_a_predictor_alone_equals_that_of_a_model(films: TWDA) -> None:
    texts, tags = [text for text, _ in FILMS], [tags for _, tags in FILMS]
    corpus = Corpus.from_texts(texts, tags, stop_words="en")
    alone = TagPredictor().fit(corpus)
    assert alone == films.tag_predictor_
    assert alone.predict(texts, 3) == films.predict_tags(texts, 3)
    assert alone.predict(corpus, 3) == alone.predict(corpus.counts, 3) == alone.predict(texts, 3)
    assert alone.predict(["a planet"], 1, kinds=["director"])[0][0][0] == "director:Eve"


def test_words_that_no_training_document_has_are_ignored() -> None:
    texts, tags = [text for text, _ in FILMS], [tags for _, tags in FILMS]
    known = Corpus.from_texts(texts, tags)
    wider = Corpus.from_texts(
        ["zeppelin", *texts, "zeppelin"], [None, *tags, None], min_df=1, words=(*known.words, "zeppelin")
    )
    predictor = TagPredictor().fit(wider)
    assert predictor.predict(["a planet"]) == predictor.predict(["a planet zeppelin"])


def test_texts_and_counts_with_tags_are_fitted_like_the_corpus_made_from_them() -> None:
    texts, tags = [text for text, _ in FILMS], [tags for _, tags in FILMS]
    corpus = Corpus.from_texts(texts, tags)
    expected = TagPredictor().fit(corpus)
    assert TagPredictor().fit(texts, tags=tags) == expected
    by_counts = TagPredictor().fit(corpus.counts, tags=tags)
    assert by_counts.predict(corpus.counts, 2) != []
    with pytest.raises(ValueError, match="does not know how texts become words"):
        by_counts.predict(texts)


def test_probabilities_as_a_sparse_matrix() -> None:
    predictor = TagPredictor().fit(TRAIN)
    table = predictor.predict_proba(TEST[:20], n=5)
    assert table.shape == (20, TRAIN.n_tags)
    for row, ranked in enumerate(predictor.predict(TEST[:20], n=5)):
        assert {
            predictor.tag_names_[j]: p for j, p in zip(table[[row]].indices, table[[row]].data, strict=True)
        } == dict(ranked)


def test_the_predictor_follows_scikit_learn() -> None:
    predictor = TagPredictor(n_jobs=2, n_examples=50)
    assert predictor.get_params()["n_examples"] == 50
    fitted = predictor.fit(TRAIN)
    assert fitted is predictor
    copy = clone(predictor)
    assert copy.get_params() == predictor.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(TEST)


def test_a_corpus_without_tags_cannot_be_fitted() -> None:
    with pytest.raises(ValueError, match="nothing to predict"):
        TagPredictor().fit(Corpus.from_texts(["a ship", "a planet"]))
    with pytest.raises(TypeError, match="X is one string"):
        TagPredictor().fit("a ship")
    predictor = TagPredictor().fit(TRAIN)
    with pytest.raises(ValueError, match="n=0"):
        predictor.predict(TEST, 0)


def test_an_extended_predictor_predicts_the_same() -> None:
    predictor = TagPredictor().fit(TRAIN)
    extended = predictor.extended((*TRAIN.words, "new"), (*TRAIN.tag_names, "year:2001"))
    assert extended.predict(TEST, 5) == predictor.predict(TEST, 5)
    assert extended.kind_names_ == ("", "year")
