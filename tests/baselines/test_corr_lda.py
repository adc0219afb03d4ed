"""CorrLDA: recovery of planted truth, monotone bound, independence of the number of threads."""

import numpy as np
import pytest

from tagtopic.baselines import CorrLDA
from tagtopic.corpus import Corpus


def draw_from_corr_lda(seed: int = 0) -> tuple[Corpus, np.ndarray, np.ndarray]:
    """Draw a corpus from the model's own process; return it with the true topics of words and of tags."""
    rng = np.random.default_rng(seed)
    psi, tau = rng.dirichlet(np.full(150, 0.05), 4), rng.dirichlet(np.full(20, 0.1), 4)
    counts, tags = np.zeros((800, 150), np.int64), []
    for d in range(800):
        topics = rng.choice(4, size=4, p=rng.dirichlet(np.full(4, 0.3)))
        chosen: dict[int, int] = {}
        for k in topics:
            chosen.setdefault(int(rng.choice(20, p=tau[k])), int(k))
        kept = list(chosen.values())
        for k in rng.choice(kept, size=60):
            counts[d, rng.choice(150, p=psi[k])] += 1
        tags.append([f"tag_{t:02d}" for t in chosen])
    return Corpus.from_counts(counts, tags, tag_names=[f"tag_{t:02d}" for t in range(20)]), psi, tau


@pytest.fixture(scope="module")
def truth() -> tuple[Corpus, np.ndarray, np.ndarray]:
    return draw_from_corr_lda()


def test_planted_topics_of_words_and_tags_are_recovered(truth: tuple[Corpus, np.ndarray, np.ndarray]) -> None:
    corpus, psi, tau = truth
    model = CorrLDA(4, random_state=0).fit(corpus)
    similarity = np.sqrt(model.components_) @ np.sqrt(psi).T
    order = similarity.argmax(axis=0)
    assert sorted(order) == [0, 1, 2, 3]
    assert similarity[order, range(4)].min() > 0.98
    assert (np.sqrt(model.tag_components_[order]) * np.sqrt(tau)).sum(axis=1).min() > 0.97


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("learn", [True, False])
def test_the_bound_never_decreases(truth: tuple[Corpus, np.ndarray, np.ndarray], dtype: str, learn: bool) -> None:
    model = CorrLDA(6, max_iter=40, tol=0, learn_topic_prior=learn, dtype=dtype, random_state=0).fit(truth[0][:200])
    slack = 1e-9 if dtype == "float64" else 1e-6
    assert np.diff(model.bound_).min() >= -slack * abs(model.bound_[0])
    assert model.bound_[-1] > model.bound_[0]


def test_results_do_not_depend_on_the_number_of_threads(truth: tuple[Corpus, np.ndarray, np.ndarray]) -> None:
    one, two = (CorrLDA(4, max_iter=5, n_jobs=n, random_state=0).fit(truth[0]) for n in (1, 2))
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.bound_, two.bound_)


def test_untagged_documents_are_folded_in_but_not_used_in_training(
    truth: tuple[Corpus, np.ndarray, np.ndarray],
) -> None:
    corpus = truth[0]
    bare = Corpus.from_counts(corpus.counts, [()] * len(corpus), words=corpus.words, tag_names=corpus.tag_names)
    model = CorrLDA(4, max_iter=20, random_state=0).fit(corpus)
    mixes = model.transform(bare)
    np.testing.assert_allclose(mixes.sum(axis=1), 1.0)
    assert np.abs(mixes - model.transform(corpus)).sum(axis=1).mean() < 0.4
    with pytest.raises(ValueError, match="no document has both"):
        CorrLDA(4).fit(bare)


@pytest.mark.parametrize("setting", [{"n_topics": 0}, {"dtype": "int8"}, {"topic_word_prior": 0.0}, {"max_iter": 1.5}])
def test_invalid_settings_are_rejected(
    truth: tuple[Corpus, np.ndarray, np.ndarray], setting: dict[str, object]
) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(setting))}="):
        CorrLDA(**setting).fit(truth[0])  # type: ignore[arg-type]
