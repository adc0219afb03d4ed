"""The common interface of the baselines, on a planted corpus."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import NotFittedError

from tagtopic.baselines import CTM, DMR, LDA, PLDA, AuthorTopic, CorrLDA, LabeledLDA, TopicBaseline
from tagtopic.corpus import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.datasets.planted import PlantedCorpus
from tagtopic.evaluation import perplexity
from tagtopic.models._init import word_frequencies

Split = tuple[Corpus, Corpus]

MAKERS: dict[str, Callable[..., TopicBaseline]] = {
    "LDA": lambda **more: LDA(5, sweeps=200, **more),
    "CTM": lambda **more: CTM(5, max_iter=40, **more),
    "DMR": lambda **more: DMR(5, sweeps=200, optimise_every=20, burn_in=20, **more),
    "LabeledLDA": lambda **more: LabeledLDA(sweeps=200, **more),
    "PLDA": lambda **more: PLDA(sweeps=200, **more),
    "AuthorTopic": lambda **more: AuthorTopic(5, sweeps=100, tag_topic_prior=0.5, **more),
    "CorrLDA": lambda **more: CorrLDA(5, **more),
}


@pytest.fixture(scope="module")
def planted() -> PlantedCorpus:
    return make_tagged_corpus(
        600, 5, 15, 200, tags_per_document=(1, 3), document_length=(60, 120), word_concentration=0.02, random_state=1
    )


@pytest.fixture(scope="module")
def split(planted: PlantedCorpus) -> tuple[Corpus, Corpus]:
    """Training and test documents."""
    return planted.corpus[:450], planted.corpus[450:]


def similarity(found: np.ndarray, true: np.ndarray) -> float:
    """Mean Bhattacharyya coefficient of two sets of distributions under the best matching; 1 if equal."""
    table = np.sqrt(np.asarray(found, np.float64)) @ np.sqrt(true).T
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].mean())


def matching(found: np.ndarray, true: np.ndarray) -> np.ndarray:
    """The found topic that matches each true one."""
    table = np.sqrt(np.asarray(found, np.float64)) @ np.sqrt(true).T
    rows, columns = linear_sum_assignment(-table)
    order = np.empty(len(true), np.int64)
    order[columns] = rows
    return order


@pytest.fixture(scope="module")
def fitted(split: Split) -> Callable[[str], TopicBaseline]:
    """Fit each baseline once, on first use."""
    models: dict[str, TopicBaseline] = {}

    def get(name: str) -> TopicBaseline:
        if name not in models:
            models[name] = MAKERS[name](random_state=0).fit(split[0])
        return models[name]

    return get


each = pytest.mark.parametrize("name", MAKERS)


@each
def test_learnt_arrays_have_the_right_shapes_and_sums(
    name: str, fitted: Callable[[str], TopicBaseline], split: Split
) -> None:
    model, new = fitted(name), split[1]
    n_topics = len(model.components_)
    assert model.components_.shape[1] == len(model.words_) == new.n_words
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, rtol=1e-4)
    seen = model.tag_counts_ > 0
    np.testing.assert_allclose(model.tag_topics_[seen].sum(axis=1), 1.0, rtol=1e-4)
    mixes = model.transform(new)
    assert mixes.shape == (len(new), n_topics)
    np.testing.assert_allclose(mixes.sum(axis=1), 1.0, rtol=1e-6)
    assert model.tag_scores(new).shape == (len(new), new.n_tags)


@each
def test_perplexity_is_below_that_of_the_unigram(
    name: str, fitted: Callable[[str], TopicBaseline], split: Split
) -> None:
    train, new = split
    unigram = np.exp(-(new.counts @ np.log(word_frequencies(train))).sum() / new.n_tokens)
    assert perplexity(fitted(name), new).value < 0.85 * unigram


@pytest.mark.parametrize(("name", "least"), [("LDA", 0.97), ("DMR", 0.97), ("AuthorTopic", 0.85), ("CorrLDA", 0.85)])
def test_planted_topics_are_recovered(
    name: str, least: float, fitted: Callable[[str], TopicBaseline], planted: PlantedCorpus
) -> None:
    """The last two have a lower threshold: the corpus is not drawn from their process."""
    assert similarity(fitted(name).components_, planted.topic_words) > least


@pytest.mark.parametrize("name", ["LDA", "DMR"])
def test_planted_mixes_of_new_documents_are_recovered(
    name: str, fitted: Callable[[str], TopicBaseline], planted: PlantedCorpus, split: Split
) -> None:
    model = fitted(name)
    mixes = model.transform(split[1])[:, matching(model.components_, planted.topic_words)]
    assert np.abs(mixes - planted.document_topics[450:]).sum(axis=1).mean() < 0.25


@pytest.mark.parametrize("name", ["DMR", "AuthorTopic", "CorrLDA"])
def test_planted_topics_of_tags_are_recovered(
    name: str, fitted: Callable[[str], TopicBaseline], planted: PlantedCorpus
) -> None:
    model = fitted(name)
    found = model.tag_topics_[:, matching(model.components_, planted.topic_words)]
    assert (np.sqrt(found) * np.sqrt(planted.tag_topics)).sum(axis=1).mean() > 0.8


@pytest.mark.parametrize("name", ["LabeledLDA", "PLDA"])
def test_topics_of_tags_resemble_the_true_word_distributions(
    name: str, fitted: Callable[[str], TopicBaseline], planted: PlantedCorpus
) -> None:
    """A tag's word distribution is closer to its true one than to those of other tags."""
    model = fitted(name)
    true = planted.tag_topics @ planted.topic_words
    found = np.asarray(model.tag_topics_) @ np.asarray(model.components_, np.float64)
    table = np.sqrt(found) @ np.sqrt(true).T
    assert (table.diagonal() >= np.quantile(table, 0.75, axis=1)).mean() > 0.75


@each
def test_true_tags_rank_above_chance(name: str, fitted: Callable[[str], TopicBaseline], split: Split) -> None:
    new = split[1]
    ranks = fitted(name).tag_scores(new).argsort(axis=1).argsort(axis=1) / (new.n_tags - 1)
    assert ranks[new.tags.toarray() > 0].mean() > 0.62  # 0.5 by chance


@each
def test_results_do_not_depend_on_batches_or_order(
    name: str, fitted: Callable[[str], TopicBaseline], split: Split
) -> None:
    model, new = fitted(name), split[1]
    backwards = np.arange(len(new))[::-1]
    np.testing.assert_allclose(model.transform(new[backwards])[backwards], model.transform(new), atol=1e-6)
    whole = model.tag_scores(new)
    parts = np.concatenate([scores for _, scores in model.tag_score_batches(new, 37)])
    np.testing.assert_allclose(parts, whole, rtol=1e-9, atol=1e-9)


@each
def test_a_documents_own_tags_do_not_change_its_scores(
    name: str, fitted: Callable[[str], TopicBaseline], split: Split
) -> None:
    new = split[1][:20]
    bare = Corpus.from_counts(new.counts, [()] * 20, words=new.words, tag_names=new.tag_names)
    np.testing.assert_array_equal(fitted(name).tag_scores(new), fitted(name).tag_scores(bare))


def fit_briefly(name: str, corpus: Corpus) -> TopicBaseline:
    """Fit a few sweeps with a word and a tag in the vocabulary that no document has."""
    brief = {"sweeps": 3, "passes": 1, "starts": 1, "max_iter": 3}
    model = MAKERS[name](random_state=7)
    model.set_params(**{key: value for key, value in brief.items() if key in model.get_params()})
    return model.fit(corpus.align((*corpus.words, "never"), (*corpus.tag_names, "nobody")).corpus)


@each
def test_fits_are_reproducible_and_unseen_words_and_tags_are_ignored(name: str, split: Split) -> None:
    """Words and tags of the vocabulary that did not occur in training have no influence and no score."""
    train, new = split
    model, again = fit_briefly(name, train), fit_briefly(name, train)
    np.testing.assert_array_equal(model.components_, again.components_)
    assert not model.components_[:, model.word_counts_ == 0].any()
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, rtol=1e-4)
    counts = np.hstack([new.counts.toarray(), np.ones((len(new), 1), np.int64)])
    marked = [[*new[i].tags, "nobody", "stranger"] for i in range(len(new))]
    strange = Corpus.from_counts(counts, marked, words=(*new.words, "never"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that "stranger" is left out
        np.testing.assert_allclose(model.transform(strange), model.transform(new), atol=1e-6)
        found = perplexity(model, strange, method="fitted")
    assert found.unknown_tokens == len(new) + (new.n_tokens - model.aligned(new).n_tokens)
    assert found.value == pytest.approx(perplexity(model, new, method="fitted").value, rel=1e-6)
    assert (model.tag_scores(strange)[:, model.tag_names_.index("nobody")] == -np.inf).all()


def test_ctm_recovers_correlated_topics() -> None:
    """Drawn from its own process: topics 0 and 1 are correlated, so are 2 and 3, and the pairs negatively."""
    rng = np.random.default_rng(0)
    sign = np.array([1, 1, -1, -1])
    covariance = 1.5**2 * (0.65 * np.outer(sign, sign) + 0.35 * np.eye(4))
    logits = rng.multivariate_normal(np.zeros(4), covariance, 500)
    mixes = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    topics = rng.dirichlet(np.full(150, 0.05), 4)
    corpus = Corpus.from_counts(np.array([rng.multinomial(80, mix @ topics) for mix in mixes]))
    model = CTM(4, max_iter=60, random_state=0).fit(corpus)
    order = matching(model.components_, topics)
    found = model.topic_covariance_[np.ix_(order, order)]
    scale = np.sqrt(np.diag(found))
    together = np.outer(sign, sign) > 0
    correlation = found / np.outer(scale, scale)
    assert correlation[together].min() > 0.2
    assert correlation[~together].max() < -0.1
    error = np.abs(model.transform(corpus)[:, order] - mixes).sum(axis=1).mean()
    assert error < 0.6 * np.abs(mixes.mean(axis=0) - mixes).sum(axis=1).mean()


@pytest.mark.parametrize("maker", [LDA, CTM])
def test_tags_can_be_taken_as_words(maker: Any, split: Split) -> None:
    train, new = split
    length = {"sweeps": 50} if maker is LDA else {"max_iter": 15}
    model = maker(5, tags_as_words=True, random_state=0, **length).fit(train)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, rtol=1e-4)
    assert model.column_topics_.shape == (train.n_words + train.n_tags, 5)
    bare = Corpus.from_counts(new.counts, [()] * len(new), words=new.words, tag_names=new.tag_names)
    assert np.abs(model.transform(new) - model.transform(bare)).max() > 0.01  # the tags have an influence
    ranks = model.tag_scores(new).argsort(axis=1).argsort(axis=1) / (new.n_tags - 1)
    assert ranks[new.tags.toarray() > 0].mean() > 0.62  # 0.5 by chance


def test_results_with_tags_as_words_are_conditional_on_words(split: Split) -> None:
    """Mixes times components equal p(w | the token is a word)."""
    model = LDA(5, sweeps=20, tags_as_words=True, random_state=0).fit(split[0])
    new = model.aligned(split[1])
    raw = model._fold_in(model._columns(new)) @ model.column_topics_[: new.n_words].T
    expected = raw / raw.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.transform(new) @ model.components_, expected, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("maker", [LabeledLDA, PLDA, AuthorTopic, CorrLDA])
def test_models_of_tags_need_tags(maker: Any, split: Split) -> None:
    bare = Corpus.from_counts(split[0].counts)
    with pytest.raises(ValueError, match="tag"):
        maker().fit(bare)


def test_gensim_recovers_topics(split: Split, planted: PlantedCorpus) -> None:
    model = AuthorTopic(5, method="gensim", passes=10, starts=4, random_state=0).fit(split[0])
    assert similarity(model.components_, planted.topic_words) > 0.85


def test_plda_has_topics_per_tag_and_shared_ones(split: Split) -> None:
    train, new = split
    model = PLDA(2, latent_topics=3, sweeps=5, random_state=0).fit(train)
    assert len(model.components_) == 2 * train.n_tags + 3
    used = model.transform(new)[0] > 0
    own = np.isin(model.topic_tags_, [train.tag_names.index(tag) for tag in new[0].tags])
    np.testing.assert_array_equal(used, own | (model.topic_tags_ < 0))


@pytest.mark.parametrize("setting", [{"sweeps": 0}, {"n_topics": True}, {"burn_in": -1}, {"optimise_every": 1.5}])
def test_invalid_settings_are_rejected(setting: dict[str, Any], split: Split) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(setting))}="):
        LDA(**setting).fit(split[0])


@pytest.mark.parametrize(
    ("maker", "setting"),
    [
        (DMR, {"sigma": 0.0}),
        (DMR, {"document_topic_prior": -1.0}),
        (DMR, {"topic_word_prior": float("nan")}),
        (LDA, {"document_topic_prior": 0.0}),
        (LDA, {"topic_word_prior": "auto"}),
        (PLDA, {"topic_word_prior": -1.0}),
        (CTM, {"dtype": "int32"}),
        (CTM, {"topic_word_prior": float("inf")}),
        (CorrLDA, {"topic_tag_prior": float("inf")}),
        (AuthorTopic, {"tag_topic_prior": float("inf")}),
        (AuthorTopic, {"tag_topic_prior": "auto"}),
        (AuthorTopic, {"method": "gensim", "topic_word_prior": "large"}),
    ],
)
def test_invalid_numbers_are_rejected(maker: Any, setting: dict[str, Any], split: Split) -> None:
    with pytest.raises(ValueError, match=f"{list(setting)[-1]}="):
        maker(**setting).fit(split[0])


@each
def test_perplexity_needs_a_fitted_model(name: str, split: Split) -> None:
    with pytest.raises(NotFittedError):
        perplexity(MAKERS[name](), split[1])


@pytest.mark.parametrize("maker", [LabeledLDA, PLDA])
def test_a_tag_of_training_documents_without_words_is_ignored(maker: Any, split: Split) -> None:
    """It occurred but has no topics."""
    train = Corpus.from_counts([[2, 1, 0], [1, 0, 3], [0, 0, 0]], [["a"], ["b"], ["wordless"]])
    new = Corpus.from_counts([[1, 1, 1]], [["wordless"]], words=train.words)
    bare = Corpus.from_counts([[1, 1, 1]], words=train.words)
    model = maker(sweeps=5, random_state=0).fit(train)
    np.testing.assert_allclose(model.transform(new).sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.transform(new), model.transform(bare))


def test_fit_needs_a_corpus_with_words(split: Split) -> None:
    with pytest.raises(TypeError, match=r"takes a tagtopic\.Corpus"):
        LDA().fit(split[0].counts)
    with pytest.raises(ValueError, match="no words"):
        LDA().fit(Corpus.from_counts(np.zeros((2, 3), np.int64)))


def test_a_baseline_has_no_bound(fitted: Callable[[str], TopicBaseline], split: Split) -> None:
    with pytest.raises(ValueError, match="LDA gives no bound"):
        perplexity(fitted("LDA"), split[1], method="bound")
