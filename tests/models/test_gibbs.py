"""Fits by Gibbs sampling: the same bits however they are run, averages over draws, planted truth."""

import threading
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tagtopic import LDA, TWDA, TWTM, Corpus, Ledger
from tagtopic._core.memmap import TemporaryArrays
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines.local import LocalEngine
from tagtopic.engines.sampler import LocalSampler
from tagtopic.models._gibbs import switched_topics

PLANTED = make_tagged_corpus(300, 4, 12, 120, random_state=5)
CORPUS = PLANTED.corpus
SETTINGS: dict[str, Any] = {"inference": "gibbs", "random_state": 0, "tag_predictor": False, "progress": False}
LEARNT = (
    "components_", "tag_topics_", "bound_", "topic_shares_", "tag_sizes_", "validation_perplexity_", "own_word_tags_",
    "own_word_words_", "own_word_shares_",
)  # fmt: skip


def same_bits(one: TWDA, other: TWDA) -> None:
    for name in LEARNT:
        assert np.array(getattr(one, name)).tobytes() == np.array(getattr(other, name)).tobytes(), name


def fitted(corpus: Any = CORPUS, **settings: Any) -> TWDA:
    return TWDA(4, **{**SETTINGS, "max_iter": 30, "validation_fraction": 0.2, **settings}).fit(corpus)


@pytest.mark.parametrize("kind", [TWDA, TWTM, LDA])
def test_parameters_are_distributions(kind: Any) -> None:
    settings = {name: value for name, value in SETTINGS.items() if kind is not LDA or name != "tag_predictor"}
    model = kind(4, max_iter=20, **settings).fit(CORPUS)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(model.tag_topics_.sum(axis=1), 1, rtol=1e-5)
    assert model.components_.min() > 0
    assert model.n_iter_ == len(model.bound_) == 20
    assert model.bound_[-1] > model.bound_[0]
    assert model.perplexity(CORPUS) < CORPUS.n_words / 2


def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    one = fitted(n_jobs=1)
    for n_jobs in (2, 4):
        same_bits(fitted(n_jobs=n_jobs), one)


def test_bits_do_not_depend_on_where_arrays_are(tmp_path: Path) -> None:
    CORPUS.save(tmp_path / "corpus")
    engine = LocalEngine(2, spill_at=0, scratch=tmp_path)
    mapped = TWDA(4, max_iter=12, **SETTINGS).fit(Corpus.open(tmp_path / "corpus"), engine=engine)
    same_bits(mapped, TWDA(4, max_iter=12, **SETTINGS).fit(CORPUS))


class SparseRows(LocalEngine):
    """Keeps the counts of words in sparse rows, as for large tables."""

    def sampler(self, corpus: Any, n_topics: int, candidates: Any = None) -> LocalSampler:
        resources = ExitStack()
        options: dict[str, Any] = {"candidates": candidates, "rows": True}
        return LocalSampler(corpus, n_topics, self._threads(resources), TemporaryArrays(), resources, **options)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_bits_do_not_depend_on_how_counts_are_kept(n_jobs: int, tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "decisions.jsonl")
    ledger.record("topic-seed", name="seeded", words=[CORPUS.words[3], CORPUS.words[7]])
    settings = {**SETTINGS, "burn_in": 6, "thinning": 2, "n_draws": 3}
    by_table = TWDA(4, max_iter=14, **settings).fit(CORPUS, ledger=ledger)
    given: dict[str, Any] = {"ledger": ledger, "engine": SparseRows(n_jobs)}
    by_rows = TWDA(4, max_iter=14, **settings).fit(CORPUS, **given)
    path = tmp_path / "checkpoint"
    settings |= {"checkpoint": path, "checkpoint_every": 5}
    with pytest.raises(Killed):
        TWDA(4, max_iter=14, **settings, callbacks=[kill_at_9]).fit(CORPUS, **given)
    resumed = TWDA(4, max_iter=14, **settings).fit(CORPUS, **given)
    for model in (by_rows, resumed):
        same_bits(model, by_table)
        np.testing.assert_array_equal(model.topic_word_draws_, by_table.topic_word_draws_)


class Killed(Exception):
    pass


def kill_at_9(iteration: int, *_: float) -> None:
    if iteration == 9:
        raise Killed


def test_another_seed_gives_another_chain() -> None:
    assert (fitted(max_iter=3, random_state=1).bound_ != fitted(max_iter=3).bound_).all()


@pytest.mark.parametrize("stopped_after", [1, 14, 15, 16, 25])
def test_a_resumed_fit_ends_with_the_same_bits(stopped_after: int, tmp_path: Path) -> None:
    def kill(iteration: int, *_: float) -> None:
        if iteration == stopped_after:
            raise Killed

    checkpoint: dict[str, Any] = {"checkpoint": tmp_path / "fit", "checkpoint_every": 1, "thinning": 4}
    with pytest.raises(Killed):
        fitted(callbacks=[kill], **checkpoint)
    same_bits(fitted(**checkpoint), fitted(thinning=4))


def test_more_sweeps_begin_the_average_anew(tmp_path: Path) -> None:
    # priors that are not spread during burn-in, which becomes longer
    settings: dict[str, Any] = {"latent_topic_prior": 0.1, "tag_weight_prior": 0.2}
    fitted(max_iter=10, checkpoint=tmp_path / "fit", **settings)
    same_bits(fitted(checkpoint=tmp_path / "fit", **settings), fitted(**settings))


def test_the_latent_topics_prior_follows_the_topics_during_burn_in() -> None:
    planted = make_tagged_corpus(400, 5, 12, 200, model="twda", latent_concentration=0.05, random_state=3)
    model = TWDA(5, max_iter=60, **SETTINGS).fit(planted.corpus)
    assert model.prior_updates_ == (10, 20, 30)
    assert model.latent_topic_prior_.sum() == pytest.approx(0.5)  # 0.1 for each topic, as given to all
    _, latent = model.tag_weights(planted.corpus, return_latent=True)
    of_tags = model.tag_weights(planted.corpus) @ model.tag_topics_
    of_latent = (model.transform(planted.corpus) - of_tags).sum(axis=0) / latent.sum()
    assert np.corrcoef(model.latent_topic_prior_, of_latent)[0, 1] > 0.8
    given = TWDA(5, max_iter=20, latent_topic_prior=0.1, tag_weight_prior=0.2, **SETTINGS).fit(planted.corpus)
    assert given.prior_updates_ == ()
    np.testing.assert_array_equal(given.latent_topic_prior_, 0.1)


def test_the_prior_of_weights_follows_the_tags_tokens_during_burn_in() -> None:
    true = np.tile([0.2, 2.0], 6)
    planted = make_tagged_corpus(400, 4, 12, 150, weight_prior=true, tags_per_document=(2, 4), random_state=2)
    model = TWDA(4, max_iter=40, **SETTINGS).fit(planted.corpus)
    found, documents = model.tag_weight_prior_, planted.corpus.tag_sizes()
    assert found @ documents / documents.sum() == pytest.approx(0.2)  # as given to all
    assert found[true > 1].mean() > 2 * found[true < 1].mean()
    given = TWDA(4, max_iter=20, tag_weight_prior=0.3, **SETTINGS).fit(planted.corpus)
    np.testing.assert_array_equal(given.tag_weight_prior_, 0.3)


@pytest.mark.parametrize("after", [3, 22])
def test_interruption_keeps_the_average_so_far(after: int) -> None:
    def interrupt(iteration: int, *_: float) -> None:
        if iteration == after:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match=f"interrupted after {after} iterations"):
        model = fitted(callbacks=[interrupt], burn_in=15, thinning=5)
    assert model.interrupted_
    # before the first draw, it is the state of the chain
    expected = fitted(max_iter=20 if after == 22 else 3, burn_in=15 if after == 22 else 2, thinning=5)
    np.testing.assert_array_equal(model.components_, expected.components_)


def test_parameters_are_averages_over_the_draws() -> None:
    # priors that are not spread during burn-in
    settings: dict[str, Any] = {"own_words": False, "latent_topic_prior": 0.1, "tag_weight_prior": 0.2}
    draws = [fitted(max_iter=n, burn_in=n - 1, **settings) for n in (20, 25, 30)]
    average = fitted(max_iter=30, burn_in=15, thinning=5, **settings)
    for name in ("components_", "tag_topics_"):
        expected = np.mean([getattr(draw, name) for draw in draws], axis=0)
        np.testing.assert_allclose(getattr(average, name), expected, rtol=1e-4)


def test_averages_predict_better_than_draws() -> None:
    train, test = make_tagged_corpus(1200, 6, 20, 300, random_state=1).corpus.split(0.3, random_state=0)
    settings: dict[str, Any] = {**SETTINGS, "max_iter": 60}
    average = TWDA(6, burn_in=30, thinning=2, **settings).fit(train)
    draw = TWDA(6, burn_in=59, **settings).fit(train)
    assert average.perplexity(test) < draw.perplexity(test)


def test_validation_words_are_scored_after_each_sweep() -> None:
    model = fitted(max_iter=40)
    assert len(model.validation_perplexity_) == 40
    assert model.validation_perplexity_[-1] < model.validation_perplexity_[0]
    assert model.best_iteration_ == 40
    assert not model.stopped_early_


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_planted_mixtures_of_three_topics_are_recovered(seed: int) -> None:
    """Tags that are planted as mixtures of topics are found as mixtures."""
    rng = np.random.default_rng(seed)
    n_topics, n_tags, n_words = 6, 20, 300
    psi = rng.dirichlet(np.full(n_words, 0.05), n_topics)
    theta = np.zeros((n_tags, n_topics))
    for row in theta:
        row[rng.choice(n_topics, 3, replace=False)] = rng.dirichlet([3, 3, 3])
    tags = [rng.choice(n_tags, rng.integers(1, 4), replace=False) for _ in range(1000)]
    rows = [np.vstack([theta[own], rng.dirichlet(np.full(n_topics, 0.3))]) for own in tags]
    counts = np.array([rng.multinomial(60, rng.dirichlet(np.ones(len(each))) @ each @ psi) for each in rows])
    corpus = Corpus.from_counts(counts.astype(np.int32), [[f"t{j:02}" for j in own] for own in tags])
    model = TWDA(n_topics, **{**SETTINGS, "random_state": seed, "max_iter": 100}).fit(corpus)
    norm = np.linalg.norm
    cosines = (model.components_ @ psi.T) / np.outer(norm(model.components_, axis=1), norm(psi, axis=1))
    found, planted = linear_sum_assignment(-cosines)
    assert cosines[found, planted].min() > 0.8
    order = found[np.argsort(planted)]
    learnt = model.tag_topics_[:, order]
    names = [int(name[1:]) for name in model.tag_names_]
    cosine = (learnt * theta[names]).sum(axis=1) / (norm(learnt, axis=1) * norm(theta[names], axis=1))
    assert cosine.mean() > 0.95


def test_tags_spread_over_more_topics_than_by_point_estimates() -> None:
    def topics_per_tag(model: TWDA) -> float:
        rows = np.maximum(model.tag_topics_, 1e-12)
        return float(np.exp(-(rows * np.log(rows)).sum(axis=1)).mean())

    sampled = TWDA(8, **{**SETTINGS, "max_iter": 60}).fit(CORPUS)
    assert topics_per_tag(sampled) > topics_per_tag(TWDA(8, random_state=0, tag_predictor=False).fit(CORPUS))


def test_documents_without_words_or_tags_are_allowed() -> None:
    counts = np.array([[0, 0, 0], [3, 1, 0], [0, 2, 5], [1, 1, 1]], np.int32)
    model = TWDA(2, max_iter=8, **SETTINGS).fit(counts, tags=[["a"], [], ["a", "b"], ["b"]])
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.bound_).all()


def test_a_document_may_have_more_tags_than_a_byte_counts() -> None:
    tags = [[f"t{i}" for i in range(300)], ["t1"]]
    model = TWDA(2, max_iter=4, **SETTINGS).fit(np.array([[30, 20], [5, 0]], np.int32), tags=tags)
    assert model.tag_topics_.shape == (300, 2)


def corpus_with_own_words(seed: int, n_documents: int = 600) -> tuple[Corpus, Any]:
    """Documents of two tags and a latent mixture, and p(own word | tag): each tag has two words that no topic has."""
    rng = np.random.default_rng(seed)
    n_topics, n_words, n_tags, share = 3, 60, 30, 0.3
    psi, theta = rng.dirichlet(np.full(n_words, 0.1), n_topics), rng.dirichlet(np.full(n_topics, 0.5), n_tags)
    omega = np.zeros((n_tags, n_words + 2 * n_tags))
    for tag in range(n_tags):
        omega[tag, n_words + 2 * tag : n_words + 2 * tag + 2] = share * np.array([2, 1]) / 3
    counts, tags = np.zeros((n_documents, omega.shape[1]), np.int32), np.zeros((n_documents, n_tags), np.int8)
    for d in range(n_documents):
        own = rng.choice(n_tags, 2, replace=False)
        tags[d, own] = 1
        weights, rows = rng.dirichlet([2, 2, 1]), [*theta[own], rng.dirichlet(np.full(n_topics, 0.3))]
        for j in rng.choice(3, 40, p=weights):
            if j < 2 and rng.random() < share:
                counts[d, rng.choice(omega.shape[1], p=omega[own[j]] / share)] += 1
            else:
                counts[d, rng.choice(n_words, p=rows[j] @ psi)] += 1
    return Corpus.from_counts(counts, tags), omega


@pytest.mark.parametrize("seed", [1, 2])
def test_planted_own_words_are_recovered(seed: int, tmp_path: Path) -> None:
    corpus, omega = corpus_with_own_words(seed)
    train, test = corpus[:500], corpus[500:]
    settings = {**SETTINGS, "max_iter": 200, "n_draws": 5}
    model, without = TWDA(3, **settings).fit(train), TWDA(3, own_words=False, **settings).fit(train)
    found = model.own_words_.toarray()
    cosines = (found * omega).sum(axis=1) / np.linalg.norm(found, axis=1) / np.linalg.norm(omega, axis=1)
    assert cosines.mean() > 0.95
    assert not without.own_words_.nnz
    for method in ("completion", "tags"):
        assert model.perplexity(test, method=method) < 0.8 * without.perplexity(test, method=method)
    words = corpus.words[60:62]
    assert words[0] in {word for word, _ in model.tag_words(corpus.tag_names[0], 5)}
    document = next(d for d in range(500, 600) if corpus.tags[[d], :1].nnz and corpus.counts[[d], 60:61].nnz)
    explained = next(word for word in model.explain(corpus[document]).words if word.word == words[0])
    assert explained.tag == corpus.tag_names[0]
    assert explained.own_share > 0.8
    assert f"{words[0]} x" in str(model.explain(corpus[document]))
    model.save(tmp_path / "own.tagtopic")
    loaded = TWDA.load(tmp_path / "own.tagtopic")
    same_bits(loaded, model)
    assert loaded.perplexity(test) == model.perplexity(test)
    shares = [draw.own_words.shares for draw in loaded.draws_ if draw.own_words is not None]
    np.testing.assert_allclose(np.mean(shares, axis=0), model.own_words_.sum(axis=1), atol=0.15)
    assert np.std(shares, axis=0).min() > 0


def test_own_words_make_tags_easier_to_tell_from_the_words() -> None:
    corpus, _ = corpus_with_own_words(3)
    found = []
    for own_words in (True, False):
        model = TWDA(3, own_words=own_words, max_iter=60, **{**SETTINGS, "tag_predictor": True}).fit(corpus[:500])
        predicted = model.predict_tags(corpus[500:], 2, method="likelihood")
        true = [{corpus.tag_names[j] for j in row.indices} for row in corpus[500:].tags]
        found.append(sum(tag in names for names, row in zip(true, predicted, strict=True) for tag, _ in row))
    assert found[0] > found[1] + 20


def test_own_words_outlast_mini_batches() -> None:
    train, more = CORPUS[:250], CORPUS[250:]
    model = TWDA(4, max_iter=20, **SETTINGS).fit(train)
    before = model.own_words_
    assert before.nnz
    assert (model.partial_fit(more).own_words_ != before).nnz == 0
    assert np.isfinite(model.perplexity(more))


def test_own_words_are_for_the_sampler_only() -> None:
    with pytest.raises(ValueError, match="own_words=True"):
        TWDA(2, inference="cvb0", own_words=True).fit(CORPUS)


@pytest.mark.parametrize("counts", [[[2**31 - 1, 1], [1, 2]], [[2**30, 2**30], [1, 1]]])  # of a word, of a tag
def test_counts_beyond_32_bits_are_refused_or_not_sampled(counts: list[list[int]]) -> None:
    corpus = Corpus.from_counts(counts, [["a"], ["a"]])
    with pytest.raises(ValueError, match=r'at most 2,147,483,647 tokens .* 2,147,483,6\d\d: use inference="cvb0"'):
        TWDA(2, **SETTINGS).fit(corpus)
    model = TWDA(2, max_iter=2, random_state=0).fit(corpus)
    assert model.inference_ == "cvb0"
    assert np.isfinite(model.components_).all()


def test_fractional_counts_are_refused() -> None:
    with pytest.raises(ValueError, match='assigns whole tokens, and the counts have fractions: use inference="cvb0"'):
        TWDA(2, **SETTINGS).fit(np.array([[0.5, 1.5], [1.0, 2.0]]), tags=[["a"], ["b"]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"latent_topic_prior": "estimate"}, "latent_topic_prior='estimate': inference=\"gibbs\" takes fixed priors"),
        ({"tag_weight_prior": "maximum-likelihood"}, "of tag_weight_prior and latent_weight_prior it takes"),
        ({"topic_word_prior": 0}, "topic_word_prior has zeros"),
        ({"tag_topic_prior": 0}, "tag_topic_prior has zeros"),
        ({"burn_in": 30}, "burn_in=30: expected fewer sweeps than max_iter=30"),
        ({"burn_in": -1}, "burn_in=-1: expected a whole number from 0"),
        ({"thinning": 0}, "thinning=0: expected a whole number from 1"),
        ({"n_topics": 65_536}, "n_topics=65536: inference=\"gibbs\" has at most 65535"),
    ],
)  # fmt: skip
def test_settings_that_a_sampler_cannot_use_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TWDA(**{"n_topics": 4, **SETTINGS, "max_iter": 30, **settings}).fit(CORPUS)


def test_a_sampled_model_learns_more_from_mini_batches() -> None:
    model = fitted(max_iter=10)
    assert model.partial_fit(CORPUS[:50]).n_documents_ == 350


def test_online_learning_needs_no_sampler() -> None:
    online = TWDA(4, learning="online", **{**SETTINGS, "max_iter": 2, "topic_word_prior": 0.07}).fit(CORPUS)
    other = TWDA(
        4,
        learning="online",
        **{**SETTINGS, "inference": "cvb0", "max_iter": 2},
        tag_weight_prior=0.2,
        latent_weight_prior=1,
    ).fit(CORPUS)
    np.testing.assert_array_equal(online.components_, other.components_)


def test_a_saved_model_answers_the_same(tmp_path: Path) -> None:
    model = fitted(max_iter=10)
    model.save(tmp_path / "model")
    loaded = TWDA.load(tmp_path / "model")
    same_bits(loaded, model)
    assert (loaded.burn_in, loaded.thinning, loaded.tag_weight_prior) == (None, 10, None)
    np.testing.assert_array_equal(loaded.transform(CORPUS), model.transform(CORPUS))


def test_fits_in_several_threads_have_the_same_bits() -> None:
    models: list[TWDA] = []
    threads = [threading.Thread(target=lambda: models.append(fitted(max_iter=8))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model in models[1:]:
        same_bits(model, models[0])


def test_switched_topics_are_detected() -> None:
    topics = np.random.default_rng(0).dirichlet(np.full(50, 0.1), 5).T
    assert not switched_topics(topics, topics).any()
    assert switched_topics(topics, topics[:, [0, 2, 1, 3, 4]]).tolist() == [False, True, True, False, False]


def test_a_settled_chain_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(max_iter=120, progress=None)
    assert model.converged_


def test_kept_draws_are_distributions_around_the_average(tmp_path: Path) -> None:
    model = fitted(max_iter=120, thinning=4, n_draws=5)
    assert model.topic_word_draws_.shape == (5, 4, CORPUS.n_words)
    assert model.tag_topic_draws_.shape == (5, 12, 4)
    np.testing.assert_allclose(model.topic_word_draws_.sum(axis=2), 1, rtol=1e-4)
    np.testing.assert_allclose(model.tag_topic_draws_.sum(axis=2), 1, rtol=1e-4)
    assert np.abs(model.topic_word_draws_.mean(axis=0) - model.components_).max() < 0.03
    same_bits(fitted(max_iter=120, thinning=4), model)  # keeping draws changes nothing else
    model.save(tmp_path / "model")
    loaded = TWDA.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.topic_word_draws_, model.topic_word_draws_)
    np.testing.assert_array_equal(loaded.tag_topic_draws_, model.tag_topic_draws_)
    assert len(loaded.draws_) == 5
    assert loaded.partial_fit(CORPUS[:20]).tag_topic_draws_.shape == (0,)


def test_a_resumed_fit_has_the_same_draws(tmp_path: Path) -> None:
    def interrupt(iteration: int, *_: float) -> None:
        if iteration == 24:
            raise KeyboardInterrupt

    settings: dict[str, Any] = {"thinning": 3, "n_draws": 2}
    with pytest.warns(UserWarning, match="interrupted"):
        half = fitted(checkpoint=tmp_path / "fit", checkpoint_every=4, callbacks=[interrupt], **settings)
    assert len(half.tag_topic_draws_) == 1
    resumed, whole = fitted(checkpoint=tmp_path / "fit", checkpoint_every=4, **settings), fitted(**settings)
    same_bits(resumed, whole)
    np.testing.assert_array_equal(resumed.topic_word_draws_, whole.topic_word_draws_)
    np.testing.assert_array_equal(resumed.tag_topic_draws_, whole.tag_topic_draws_)


def test_more_draws_than_the_chain_has_are_refused() -> None:
    with pytest.raises(ValueError, match="n_draws=4: max_iter=30 sweeps with thinning=5 give 3 draws after burn-in"):
        fitted(thinning=5, n_draws=4)


def test_intervals_of_topics_need_draws() -> None:
    with pytest.raises(ValueError, match="the model has 0 draws, and intervals need 5 or more"):
        fitted(max_iter=4).tag_topic_intervals()
    with pytest.raises(ValueError, match="level=1: expected a probability"):
        fitted(max_iter=12, thinning=1, n_draws=5).tag_topic_intervals(1)


@pytest.mark.slow
def test_intervals_cover_the_truth_also_with_learnt_topics() -> None:
    n_topics, n_tags = 5, 12
    planted = make_tagged_corpus(
        600, n_topics, n_tags, 400, model="twda", tags_per_document=(2, 4), document_length=(40, 100),
        tag_concentration=0.4, latent_concentration=0.4, word_exponent=0.0, random_state=3,
    )  # fmt: skip
    model = TWDA(
        n_topics, tag_weight_prior=1.0, latent_weight_prior=1.0, latent_topic_prior=0.4, tag_topic_prior=0.4 * n_topics,
        topic_word_prior=0.1, burn_in=100, thinning=10, n_draws=30, **{**SETTINGS, "max_iter": 400},
    ).fit(planted.corpus)  # fmt: skip
    found, true = linear_sum_assignment(-model.components_ @ planted.topic_words.T)
    order = found[np.argsort(true)]
    intervals = model.tag_topic_intervals(0.9)
    low, high = intervals.low[:, order], intervals.high[:, order]
    assert 0.8 <= ((low <= planted.tag_topics) & (planted.tag_topics <= high)).mean() <= 0.97
    weights = model.tag_weights(planted.corpus[:120], intervals=0.9)
    truth = planted.tag_weights[:120].data
    assert 0.85 <= ((weights.low.data <= truth) & (truth <= weights.high.data)).mean() <= 0.95


def test_latent_topics_of_a_new_document_follow_its_tags() -> None:
    unread = CORPUS.with_matrices(counts=0 * CORPUS.counts)
    settings = {**SETTINGS, "max_iter": 30, "own_words": False}
    follows, given = (TWDA(4, latent_topic_prior=prior, **settings).fit(CORPUS) for prior in (None, 0.1))
    tagged = np.flatnonzero(np.diff(CORPUS.tags.indptr) == 1)

    def latent_topics(model: TWDA) -> Any:
        """The topics expected of the latent tag in documents with a single tag and no words."""
        weights, latent = model.tag_weights(unread[tagged], return_latent=True)
        topics = model.transform(unread[tagged]) - weights @ model.tag_topics_
        return topics / latent[:, None]

    tags = CORPUS.tags.indices[CORPUS.tags.indptr[tagged]]
    assert follows.parameters_.latent_topics_by_tag is not None
    np.testing.assert_allclose(latent_topics(follows), follows.parameters_.latent_topics_by_tag[tags], atol=1e-5)
    np.testing.assert_allclose(latent_topics(given), 0.25, atol=1e-5)


def test_estimated_weight_priors_approach_those_that_documents_were_drawn_with() -> None:
    planted = make_tagged_corpus(
        800, 5, 15, 150, model="twda", weight_prior=1.0, latent_prior=2.0, latent_concentration=0.1, random_state=0
    )
    settings = {**SETTINGS, "own_words": False, "tag_weight_prior": "estimate"}
    model = TWDA(5, max_iter=120, latent_weight_prior="estimate", **settings).fit(planted.corpus)
    assert 0.4 < model.tag_weight_prior_.mean() < 1.5  # 0.2 at the start
    assert 1.5 < model.latent_weight_prior_ < 3.0  # 1 at the start
    tags_only = TWDA(5, max_iter=40, **settings).fit(planted.corpus)
    assert tags_only.latent_weight_prior_ == 1.0
    assert tags_only.tag_weight_prior_.mean() > 0.205
