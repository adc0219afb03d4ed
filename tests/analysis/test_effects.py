"""Effects of covariates: planted truth, bounds, independence of the topics asked for, formulas."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit

from tagtopic.analysis.design import make_design
from tagtopic.analysis.effects import Effects, regression_of
from tagtopic.analysis.regression import PRIOR_SCALE, Regression, fit_draws, fit_topic, row_leverages
from tagtopic.datasets import PlantedEffects


@pytest.fixture(scope="module")
def effects(planted: PlantedEffects, model: Any) -> Effects:
    found: Effects = model.effects(planted.corpus, "year + venue + region")
    return found


def test_intervals_hold_most_planted_effects_and_estimates_follow_them(
    planted: PlantedEffects, effects: Effects, truth_of: Any
) -> None:
    inside, estimates, truths = [], [], []
    for variable, value, reference in (
        ("venue", "B", "A"),
        ("venue", "C", "A"),
        ("region", "S", "N"),
        ("year", 2014, 2005),
    ):
        expected = _expected(planted, variable, value) - _expected(planted, variable, reference)
        truth = expected.mean(axis=0)[truth_of]
        table = effects.contrast(variable, value, reference)
        inside += [low <= t <= high for t, low, high in zip(truth, table["low"], table["high"], strict=True)]
        estimates += table["estimate"]
        truths += truth.tolist()
    assert sum(inside) >= 13  # of 16, at 95%
    assert np.corrcoef(estimates, truths)[0, 1] > 0.95
    assert np.abs(truths).max() > 0.1


def test_effects_of_a_topic_do_not_depend_on_the_topics_asked_for(
    planted: PlantedEffects, model: Any, effects: Effects
) -> None:
    alone = model.effects(planted.corpus, "year + venue + region", topics=[2])
    assert alone.table.to_dicts() == effects.table.filter(topic=2).to_dicts()


def test_no_prediction_is_outside_zero_and_one(planted: PlantedEffects, effects: Effects) -> None:
    table = effects.predict("year", [1800, 2010, 2300])
    assert min(table["low"]) >= 0
    assert max(table["high"]) <= 1
    assert max(table["estimate"]) > 0.9  # far outside the data one topic takes over, and no more than all


def test_tables_become_pandas_polars_and_arrow(effects: Effects) -> None:
    assert list(effects.to_pandas().columns) == list(effects.to_polars().columns) == effects.to_arrow().column_names
    assert isinstance(effects.to_pandas(), pd.DataFrame)
    assert pl.DataFrame(effects.table).shape == pa.table(effects).shape == (16, 8)


def test_columns_of_a_table_are_covariates_and_documents_without_a_value_are_left_out(
    planted: PlantedEffects, model: Any
) -> None:
    length = np.asarray(planted.corpus.lengths(), float)
    length[:50] = np.nan
    for data in ({"size": length}, pd.DataFrame({"size": length}), pl.DataFrame({"size": length})):
        assert model.effects(planted.corpus, "bs(size, df=3) + `venue:B`", data=data, topics=[0]).n_documents == 550


def test_clusters_of_copies_widen_intervals(planted: PlantedEffects, model: Any) -> None:
    twice = planted.corpus[np.repeat(np.arange(300), 4)]
    alone = model.effects(twice, "region", topics=[0, 1]).table
    together = model.effects(twice, "region", topics=[0, 1], clusters=np.repeat(np.arange(300), 4)).table
    ratio = (np.array(together["high"]) - together["low"]) / (np.array(alone["high"]) - alone["low"])
    assert (ratio > 1.4).all()


def test_documents_without_weight_do_not_count(planted: PlantedEffects, model: Any) -> None:
    half = np.arange(600) < 300
    weighted = model.effects(planted.corpus, "region", weights=half.astype(float), topics=[0]).table
    subset = model.effects(planted.corpus[half], "region", topics=[0]).table
    assert weighted["estimate"][0] == pytest.approx(subset["estimate"][0], abs=0.02)


def test_kinds_of_which_documents_have_several_are_terms_of_their_own(planted: PlantedEffects, model: Any) -> None:
    corpus = planted.corpus
    rng = np.random.default_rng(0)
    tags = [[f"author:{a}" for a in rng.choice(30, rng.integers(1, 4), replace=False)] for _ in range(len(corpus))]
    several = type(corpus).from_counts(corpus.counts, tags, words=corpus.words)
    found = model.effects(several, "author", max_levels=20)
    assert len(found.table) == 4 * 20
    assert found.table["contrast"][0].endswith(" - none")
    with pytest.raises(ValueError, match="several tags of kind 'author'"):
        model.effects(several, "C(author)")


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("share ~ year", "left side"),
        ("year +", "invalid"),
        ("yaer", "near it are 'year'"),
        ("__import__('os').getcwd()", "cannot have|can call|invalid"),
        ("open('x')", "can call"),
        ("1", "no covariate"),
    ],
)
def test_an_invalid_formula_is_refused(planted: PlantedEffects, model: Any, formula: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.effects(planted.corpus, formula)


def test_a_counterfactual_design_has_the_rows_of_documents_with_that_value(planted: PlantedEffects) -> None:
    design = make_design("bs(year, df=4) * venue + region", planted.corpus)
    venue = design.covariates["venue"]
    rows = np.flatnonzero(np.asarray(venue.values) == "B")[:5]  # type: ignore[union-attr]
    assert np.allclose(design.at("venue", ["B"], rows).toarray(), design.matrix[rows].toarray())
    assert not np.allclose(design.at("venue", ["C"], rows).toarray(), design.matrix[rows].toarray())


def test_coefficients_are_those_of_the_columns_as_given(planted: PlantedEffects, effects: Effects) -> None:
    design = make_design("year + venue + region", planted.corpus)
    raw = np.column_stack([np.ones(600), *(np.asarray(c) for c in _raw_columns(planted, design.names))])
    coefficients = np.random.default_rng(0).normal(size=len(design.names))
    assert np.allclose(raw @ design.original_scale(coefficients), design.matrix @ coefficients)


def _expected(planted: PlantedEffects, variable: str, value: Any) -> Any:
    return planted.expected_shares(**{variable: value})


def _raw_columns(planted: PlantedEffects, names: tuple[str, ...]) -> list[Any]:
    tags = planted.corpus.tags.toarray()
    levels = [name for name in planted.corpus.tag_names if not name.startswith("year")]
    columns = {"{}[T.{}]".format(*name.split(":")): tags[:, planted.corpus.tag_names.index(name)] for name in levels}
    return [columns.get(name, planted.years) for name in names[1:]]


def test_the_regression_maximises_its_objective() -> None:
    rng = np.random.default_rng(1)
    matrix = np.column_stack([np.ones(80), rng.normal(size=(80, 2))])
    shares, weights = rng.beta(1, 3, 80), rng.uniform(0.5, 2.0, 80)
    regression = Regression(sp.csr_array(matrix), weights, np.array([False, True, True]))

    def loss(b: Any) -> Any:
        eta = matrix @ b
        return (
            -(weights * (shares * eta - np.logaddexp(0, eta))).sum() + 0.5 * 0.3 / PRIOR_SCALE**2 * (b[1:] ** 2).sum()
        )

    expected = minimize(loss, np.zeros(3), tol=1e-12).x
    fit = fit_topic(regression, shares, 0.3)
    assert np.allclose(fit.coefficients, expected, atol=1e-5)
    other = np.clip(shares + rng.normal(0, 0.02, 80), 0, 1)
    assert np.allclose(
        fit_draws(regression, fit, other[None])[:, 0], fit_topic(regression, other, 0.3).coefficients, atol=1e-3
    )


def test_leverages_and_information_equal_those_of_dense_matrices() -> None:
    rng = np.random.default_rng(2)
    dense = rng.normal(size=(12, 4)) * (rng.random((12, 4)) < 0.6)
    matrix, inverse = sp.csr_array(dense), rng.normal(size=(4, 4))
    found = row_leverages(matrix.indptr, matrix.indices, matrix.data, inverse)
    assert np.allclose(found, ((dense @ inverse) * dense).sum(axis=1))
    weights = rng.random(12)
    information = Regression(matrix, np.ones(12), np.ones(4, bool)).information(weights)
    assert np.allclose(information, dense.T @ (dense * weights[:, None]))


def test_sampled_coefficients_have_the_robust_covariance() -> None:
    rng = np.random.default_rng(3)
    matrix = np.column_stack([np.ones(400), rng.normal(size=400)])
    shares = expit(-1 + 0.5 * matrix[:, 1]) * rng.uniform(0, 2, 400).clip(0, 1)
    fit = fit_topic(Regression(sp.csr_array(matrix), np.ones(400), np.array([False, True])), shares, 0.2)
    p = expit(matrix @ fit.coefficients)
    bread = np.linalg.inv(matrix.T @ (matrix * (p * (1 - p))[:, None]))
    robust = bread @ (matrix.T @ (matrix * ((shares - p) ** 2)[:, None])) @ bread
    factor = fit.spread(np.eye(2))
    assert np.allclose(factor @ factor.T, robust, rtol=0.03, atol=1e-5)


def test_weights_and_clusters_must_fit_the_corpus(planted: PlantedEffects) -> None:
    design = make_design("year", planted.corpus)
    with pytest.raises(ValueError, match="600 documents"):
        regression_of(design, 600, weights=[1.0])
    with pytest.raises(ValueError, match="one cluster"):
        regression_of(design, 600, clusters=["a"] * 600)
