"""The schema of learnt arrays agrees with fitted models, snapshots and documentation."""

import inspect
import re
from typing import Any

import numpy as np
import pytest

from tagtopic import LDA, TWDA, TWTM
from tagtopic.datasets import make_tagged_corpus
from tagtopic.inference.types import CountTotals, Parameters, Priors
from tagtopic.models._snapshot import (
    ARRAYS,
    DRAWS,
    IN_SNAPSHOTS,
    ITERATIONS,
    MODEL_DTYPE,
    NUMBERS,
    PAIRS,
    TAGS,
    TOPICS,
    WORDS,
    Snapshot,
    check_shapes,
    extended,
    snapshot_shapes,
)

CORPUS = make_tagged_corpus(60, 3, 6, 40, random_state=0).corpus
SIZES = {TOPICS: 3, WORDS: CORPUS.n_words, TAGS: CORPUS.n_tags, ITERATIONS: 2}


def snapshot(*, leave_one_out: bool) -> Snapshot:
    random = np.random.default_rng(0)
    beta = random.random(5)
    behind = CountTotals(random.random(3), random.random(4), beta) if leave_one_out else None
    psi, theta = random.random((5, 3)), random.random((4, 3))
    parameters = Parameters(psi, theta, random.random(4), 2.5, random.random(3), True, behind)
    return Snapshot(parameters, Priors(random.random(3), beta), random.random(3), random.random(4))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", [TWTM, TWDA])
def test_fitted_attributes_have_the_axes_and_dtypes_of_the_schema(kind: Any, dtype: str) -> None:
    settings: dict[str, Any] = {"dtype": dtype, "validation_fraction": 0.5, "random_state": 0}
    model = kind(3, inference="gibbs", max_iter=2, **settings).fit(CORPUS)
    sizes = SIZES | {PAIRS: model.own_words_.nnz}
    assert sizes[PAIRS]
    for name, learnt in ARRAYS.items():
        if DRAWS in learnt.axes:
            assert getattr(model, name).shape == (0,)
            continue
        assert getattr(model, name).shape == tuple(sizes[axis] for axis in learnt.axes), name
        assert getattr(model, name).dtype == (dtype if learnt.dtype == MODEL_DTYPE else learnt.dtype), name
    for name, learnt in NUMBERS.items():
        assert type(getattr(model, name)).__name__ == learnt.dtype, name
    others = {"words_", "tag_names_", "rules_", "prior_updates_", "inference_"}
    assert {name for name in vars(model) if name.endswith("_")} == {*ARRAYS, *NUMBERS, *others}


@pytest.mark.parametrize("leave_one_out", [True, False])
def test_a_snapshot_survives_as_arrays(leave_one_out: bool) -> None:
    before = snapshot(leave_one_out=leave_one_out)
    arrays = before.to_arrays("best.")
    after = Snapshot.from_arrays(arrays, "best.")
    assert after.to_arrays("best.").keys() == arrays.keys()
    for name, array in after.to_arrays("best.").items():
        np.testing.assert_array_equal(array, arrays[name], err_msg=name)
    assert (after.parameters.totals is not None) == leave_one_out
    assert (after.parameters.pi_latent, after.parameters.latent) == (2.5, True)
    shapes = snapshot_shapes({TOPICS: 3, WORDS: 5, TAGS: 4})
    assert {name.removeprefix("best.") for name in arrays} == {
        name for name in shapes if leave_one_out or not (name in IN_SNAPSHOTS and IN_SNAPSHOTS[name].batch_only)
    }
    assert {name: array.shape for name, array in before.to_arrays().items()}.items() <= shapes.items()


def test_attributes_of_a_snapshot_are_topic_major() -> None:
    before = snapshot(leave_one_out=True)
    attributes = before.attributes()
    np.testing.assert_array_equal(attributes["components_"], before.parameters.psi.T)
    np.testing.assert_array_equal(attributes["tag_topics_"], before.parameters.theta)
    assert attributes["latent_weight_prior_"] == 2.5


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    model = TWDA(3, max_iter=2, random_state=0).fit(CORPUS)
    check_shapes(model)
    model.tag_topics_ = model.tag_topics_[:, 0]
    with pytest.raises(ValueError, match=r"its tag_topics_ has the shape \(6,\) instead of \(6, 3\)"):
        check_shapes(model)


def test_arrays_are_extended_along_words_and_tags_only() -> None:
    sizes = {WORDS: 4, TAGS: 5}
    np.testing.assert_array_equal(extended("word_counts_", np.ones(3), sizes), [1, 1, 1, 0])
    np.testing.assert_array_equal(extended("tag_weight_prior_", np.ones(4), sizes, fill=0.5), [1, 1, 1, 1, 0.5])
    assert extended("tag_topics_", np.ones((4, 3)), sizes).shape == (5, 3)


@pytest.mark.parametrize("kind", [TWTM, TWDA, LDA])
def test_parameters_and_attributes_are_documented(kind: Any) -> None:
    documented = set(re.findall(r"^(\w+) : ", inspect.cleandoc(kind.__doc__), re.MULTILINE))
    assert set(inspect.signature(kind).parameters) <= documented
    learnt = {name for name in vars(kind(2, max_iter=1, random_state=0).fit(CORPUS)) if name.endswith("_")}
    undocumented = learnt - documented
    assert all(name.startswith(("tag_", "own_word_")) for name in undocumented) if kind is LDA else not undocumented
