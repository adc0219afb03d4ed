"""Online learning: as good as batch learning in fewer passes, and documents, tags and words may go on arriving."""

from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagtopic._core.memmap import TemporaryArrays
from tagtopic.corpus import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines.base import Statistics
from tagtopic.engines.local import LocalEngine
from tagtopic.engines.posterior import initial_posterior
from tagtopic.inference.types import VariationalPosterior
from tagtopic.models import LDA, TWDA, TWTM, _settings
from tagtopic.models._base import TagTopicModel
from tagtopic.models._online import SWEEPS, TOLERANCE, OnlineLearner, OnlinePasses, Running, States

PLANTED = make_tagged_corpus(2500, 6, 40, 400, model="twda", random_state=4)
TRAIN, TEST = PLANTED.corpus.split(500, 0)
SMALL = make_tagged_corpus(300, 4, 12, 120, random_state=5).corpus
LEARNT: dict[str, Any] = {"tag_weight_prior": "estimate"}


BATCH_LEARNT: dict[type[TagTopicModel], TagTopicModel] = {}


def batch_learnt(kind: type[TagTopicModel]) -> TagTopicModel:
    """What online learning is compared with; not to be changed: the tests share it."""
    if kind not in BATCH_LEARNT:
        BATCH_LEARNT[kind] = kind(6, random_state=0).fit(TRAIN)
    return BATCH_LEARNT[kind]


def learner_of(model: TagTopicModel, corpus: Corpus, engine: LocalEngine) -> OnlineLearner:
    parameters, priors = _settings.start_parameters(model, corpus)
    tokens, documents = corpus.counts.sum(axis=0).astype(float), corpus.tags.sum(axis=0).astype(float)
    running = Running.begin(parameters, tokens, documents)
    return OnlineLearner(running, parameters, priors, _settings.learning_of(model, corpus), "map", engine)


@pytest.mark.parametrize("kind", [TWTM, TWDA, LDA])
def test_a_few_passes_are_within_a_percent_of_batch_learning(kind: type[TagTopicModel]) -> None:
    batch = batch_learnt(kind)
    online = kind(6, random_state=0, learning="online", batch_size=200).fit(TRAIN)
    assert online.perplexity(TEST) < 1.01 * batch.perplexity(TEST)
    assert online.n_iter_ < batch.n_iter_ / 2
    assert np.all(np.diff(online.bound_[1:]) > -1e-3 * np.abs(online.bound_[1:-1]))


def test_a_batch_of_everything_is_one_step_of_batch_learning() -> None:
    model = TWDA(4, random_state=0, tag_topic_prior=np.full(4, 0.5), dtype="float64")
    with LocalEngine(1) as engine:
        learner = learner_of(model, SMALL, engine)
        before = learner.parameters()
        learner.step(SMALL)
        after = learner.parameters()
    sums = Statistics.empty_like(before)
    with LocalEngine(1).session(SMALL, before, "map") as session:
        session.e_step(before, sums, sweeps=SWEEPS, tolerance=TOLERANCE)
        found = session.m_step(sums, learner.priors)
    np.testing.assert_allclose(after.psi, found[0], rtol=1e-6)
    np.testing.assert_allclose(after.theta, found[1], rtol=1e-6)


def test_every_words_sums_add_up_to_its_tokens() -> None:
    with LocalEngine(2) as engine:
        learner = learner_of(TWDA(4, random_state=0, dtype="float64"), SMALL, engine)
        for first in range(0, len(SMALL), 70):
            learner.step(SMALL[first : first + 70])
        running = learner.running
    np.testing.assert_allclose(running.psi.sum(axis=1), running.tokens, rtol=1e-9)
    np.testing.assert_allclose(running.topic_sizes, running.psi.sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(running.seen_tokens, SMALL.counts.sum(axis=0))


@pytest.mark.parametrize("at", [0, 1 << 20])
@pytest.mark.parametrize("kind", [TWTM, TWDA])
def test_documents_are_taken_up_where_they_were_left(kind: type[TagTopicModel], at: int, tmp_path: Path) -> None:
    with closing(TemporaryArrays(tmp_path, at=at)) as spill:
        parameters, _ = _settings.start_parameters(kind(4, random_state=0), SMALL)
        states = States(SMALL.tags.indptr, initial_posterior(SMALL, parameters, spill.empty))
        assert bool(list(tmp_path.iterdir())) == (at == 0)
        random = np.random.default_rng(0)
        rows = np.sort(random.permutation(len(SMALL))[:90])
        others = np.setdiff1d(np.arange(len(SMALL)), rows)
        before, moved = (
            states.take(others),
            VariationalPosterior(*(part + random.random(part.shape) for part in states.take(rows))),
        )
        states.put(rows, moved)
        kept = (
            VariationalPosterior._fields if kind is TWDA else ("xi", "xi_latent")
        )  # without a latent tag nobody has a rho
        for name in kept:
            mine, expected = getattr(states.take(rows), name), getattr(moved, name)
            np.testing.assert_array_equal(mine, expected.astype(mine.dtype), err_msg=name)
        for mine, expected in zip(states.take(others), before, strict=True):
            np.testing.assert_array_equal(mine, expected)


@pytest.mark.parametrize("kind", [TWTM, TWDA])
def test_held_out_words_are_watched(kind: type[TagTopicModel]) -> None:
    settings: dict[str, Any] = {"batch_size": 60, "random_state": 0, "validation_fraction": 0.2, "max_iter": 3}
    curve = kind(4, learning="online", **settings).fit(SMALL).validation_perplexity_
    assert np.isfinite(curve).all()
    assert curve[-1] < curve[0] < SMALL.n_words


def test_one_document_is_enough() -> None:
    model = TWDA(2, learning="online", random_state=0, max_iter=3).fit(SMALL[:1])
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.bound_).all()


@pytest.mark.parametrize("way", ["collapsed", "mixture", "paper"])
def test_threads_do_not_change_a_bit(way: str) -> None:
    settings: dict[str, Any] = {"learning": "online", "batch_size": 100, "max_iter": 2, "random_state": 0, **LEARNT}
    fits = [TWDA(4, inference=way, n_jobs=n_jobs, **settings).fit(SMALL) for n_jobs in (1, 3)]
    for name in ("components_", "tag_topics_", "tag_weight_prior_", "bound_"):
        assert np.array(getattr(fits[0], name)).tobytes() == np.array(getattr(fits[1], name)).tobytes(), name


def test_a_resumed_fit_ends_with_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"learning": "online", "batch_size": 60, "random_state": 0, "validation_fraction": 0.2}
    settings |= {"tag_weight_prior": "estimate", "latent_topic_prior": "estimate"}
    monkeypatch.setattr(OnlinePasses, "_settled", lambda self: False)
    whole = TWDA(4, max_iter=4, **settings).fit(SMALL)
    path = tmp_path / "fit"
    TWDA(4, max_iter=2, checkpoint=path, **settings).fit(SMALL)
    resumed = TWDA(4, max_iter=4, checkpoint=path, **settings).fit(SMALL)
    assert whole.n_iter_ == resumed.n_iter_ > 2
    for name in ("components_", "tag_topics_", "tag_weight_prior_", "latent_topic_prior_", "validation_perplexity_"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name), err_msg=name)


@pytest.mark.parametrize("kind", [TWTM, TWDA])
def test_learnt_weight_priors_come_near_those_of_batch_learning(kind: type[TagTopicModel]) -> None:
    settings: dict[str, Any] = {"random_state": 0, "tag_weight_prior": "estimate"}
    batch = kind(6, **settings).fit(TRAIN)
    online = kind(6, learning="online", batch_size=200, **settings).fit(TRAIN)
    apart = np.abs(np.log(online.tag_weight_prior_ / batch.tag_weight_prior_))
    assert np.median(apart) < 0.5


def test_documents_may_go_on_arriving() -> None:
    parts = [TRAIN[first : first + 500] for first in range(0, 2000, 500)]
    model = TWDA(6, random_state=0, batch_size=100)
    curve = [model.partial_fit(part).perplexity(TEST) for part in parts]
    assert curve[-1] < curve[0]
    assert curve[-1] < 1.03 * batch_learnt(TWDA).perplexity(TEST)
    assert model.n_documents_ == 2000
    np.testing.assert_allclose(model.word_counts_, TRAIN.counts.sum(axis=0))
    np.testing.assert_allclose(model.tag_frequencies_, TRAIN.tags.sum(axis=0) / 2000)
    assert (model.learning, model.max_iter) == (TWDA().learning, TWDA().max_iter)


def test_tags_and_words_that_arrive_later_are_learnt(tmp_path: Path) -> None:
    train, test = make_tagged_corpus(1500, 6, 40, 400, random_state=4).corpus.split(300, 0)
    new_tags, old_tags = train.tag_names[:8], train.tag_names[8:]
    old_words = train.words[:100] + train.words[110:]
    with_new = train.tags.toarray()[:, :8].any(axis=1)
    known, arriving = train[~with_new].align(old_words, old_tags).corpus, train[with_new]
    model = TWTM(6, random_state=0, batch_size=100).fit(known)
    model.partial_fit(arriving)
    assert model.words_[: len(old_words)] == old_words
    assert model.words_[len(old_words) :] == train.words[100:110]
    assert set(model.tag_names_) == set(train.tag_names)
    whole = TWTM(6, random_state=0).fit(train)
    assert model.perplexity(test) < 1.05 * whole.perplexity(test)
    rows = [model.tag_names_.index(name) for name in new_tags]
    assert np.median(model.tag_topics_[rows].max(axis=1)) > 2 / 6  # far from flat: something was learnt of them
    model.save(tmp_path / "model")
    again = TWTM.load(tmp_path / "model").partial_fit(test)
    assert again.n_documents_ == len(train) + len(test)
    assert len(again.predict_tags(test[:2], n=3)) == 2


def test_texts_are_read_in_the_words_that_the_model_has() -> None:
    texts = ["red apple pie", "green apple", "blue sea", "deep blue sea", "red pie", "green sea"] * 3
    model = TWDA(2, random_state=0).fit(texts, tags=[["a"]] * 18)
    words = model.words_
    model.partial_fit(["red plum pie"], tags=[["b"]])
    assert model.words_ == words
    assert model.tag_names_ == ("a", "b")


def test_a_batch_fit_goes_on_where_it_stands() -> None:
    """Documents like those already seen leave a model as good as it was."""
    model = deepcopy(batch_learnt(TWDA))
    before = model.perplexity(TEST)
    assert model.partial_fit(TRAIN[:200]).perplexity(TEST) < 1.02 * before


def test_online_learning_is_not_for_clusters() -> None:
    class Elsewhere(LocalEngine):
        supports_online = False

        def session(self, *_: Any, **__: Any) -> Any:
            raise AssertionError

    with pytest.raises(ValueError, match="learning='online' runs on this machine, not on a cluster"):
        TWDA(4, learning="online").fit(SMALL, engine=Elsewhere())
    with pytest.raises(ValueError, match="learning='sometimes'"):
        TWDA(4, learning="sometimes").fit(SMALL)
    with pytest.raises(ValueError, match="batch_size=0"):
        TWDA(4, learning="online", batch_size=0).fit(SMALL)


@pytest.mark.parametrize("prior", ["tag_weight_prior", "topic_word_prior"])
def test_new_words_and_tags_are_learnt_beside_priors_that_were_arrays(prior: str) -> None:
    size = {"tag_weight_prior": SMALL.n_tags, "topic_word_prior": SMALL.n_words}[prior]
    model = TWDA(3, max_iter=3, random_state=0, **{prior: np.full(size, 0.5)}).fit(SMALL)  # type: ignore[arg-type]
    words = list(SMALL.words)
    words[int(SMALL.counts[:10].sum(axis=0).argmax())] = "newer"
    new = Corpus.from_counts(SMALL.counts[:10], [["new"]] * 10, words=words)
    for _ in range(2):
        model.partial_fit(new)
    assert (model.tag_names_[-1], model.words_[-1]) == ("new", "newer")
    assert getattr(model, f"{prior}_")[-1] == pytest.approx(0.5)


def test_after_more_documents_the_last_iteration_is_the_one_that_is_kept() -> None:
    model = TWDA(3, max_iter=4, validation_fraction=0.3, patience=2, random_state=0).fit(SMALL)
    for _ in range(4):
        model.partial_fit(SMALL[:20])
    assert model.best_iteration_ == model.n_iter_ == len(model.bound_) == 8
    assert not model.stopped_early_
