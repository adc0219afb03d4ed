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
    assert effects.to_frame("arrow").equals(effects.to_arrow())
    assert isinstance(effects.to_frame(), pd.DataFrame)
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
        ("year + venue *", r"misplaced\. year \+ venue \*$"),
        (".", "name the covariates"),
        ("year | venue", "left side or parts"),
        ("constant + year", "'constant' is 2 for all 600 documents"),
        ("same", "'same' is 'a' for all 600 documents"),
        ("log(half)", r"log\(half\) is not a finite number for 300 of 600 documents, such as document '0'"),
        ("bs(venue, df=3)", "cannot be computed"),
        ("year + C(year)", "'year' has levels in one term"),
        ("table", "'table' has 2 dimensions"),
    ],
)
def test_an_invalid_formula_is_refused(planted: PlantedEffects, model: Any, formula: str, message: str) -> None:
    data = {"constant": np.full(600, 2.0), "same": ["a"] * 600, "half": np.arange(600) >= 300}
    if formula == "table":
        data["table"] = np.ones((600, 2))
    with pytest.raises(ValueError, match=message):
        model.effects(planted.corpus, formula, data=data)


@pytest.mark.parametrize(
    ("formula", "variable", "value", "message"),
    [
        ("bs(year, df=4)", "year", 1900, "has no value at year=1900"),
        ("log(year)", "year", -5, "has no finite value at year=-5"),
        ("year", "year", "soon", "'year' is a number"),
        ("C(year)", "year", 1900, "'year' has no level '1900'"),
        ("venue", "venue", "Z", "'venue' has no level 'Z'"),
        ("venue", "region", "N", "no covariate 'region'"),
    ],
)
def test_a_value_without_a_prediction_is_refused(
    planted: PlantedEffects, model: Any, formula: str, variable: str, value: Any, message: str
) -> None:
    found = model.effects(planted.corpus, formula, topics=[0])
    with pytest.raises(ValueError, match=message):
        found.predict(variable, [value])


@pytest.mark.parametrize(
    ("topics", "message"), [([], "none is asked for"), (["a"], "expected a list"), ([9], "no topic 9")]
)
def test_topics_asked_for_must_be_some_of_the_model(
    planted: PlantedEffects, model: Any, topics: list[Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        model.effects(planted.corpus, "year", topics=topics)


def test_levels_of_a_number_are_compared_one_by_one(planted: PlantedEffects, model: Any) -> None:
    decade = np.where(planted.years < 2007, 1, np.where(planted.years < 2014, 2, 3))
    found = model.effects(planted.corpus, "C(decade)", data={"decade": decade}, topics=[0, 1])
    assert len(found.table) == 2 * 2
    predicted = found.predict("decade").filter(topic=0)
    assert predicted["value"] == ["1", "2", "3"]
    assert found.predict("decade", [3]).filter(topic=0)["estimate"] == predicted["estimate"][2:]


def test_an_interaction_has_an_effect_for_each_value_of_the_other_covariate(
    planted: PlantedEffects, model: Any
) -> None:
    effects = model.effects(planted.corpus, "year * venue + region", topics=[0, 1])
    alone = {venue: effects.contrast("year", 2014, 2005, at={"venue": venue}) for venue in "ABC"}
    assert alone["A"]["contrast"] == ["2014 - 2005 at venue=A"] * 2
    assert len({tuple(table["estimate"]) for table in alone.values()}) == 3
    b = np.array(effects.predict("year", [2014], at={"venue": "B"})["estimate"])
    assert b - effects.predict("year", [2005], at={"venue": "B"})["estimate"] == pytest.approx(
        alone["B"]["estimate"], abs=1e-6
    )
    # averaged over the documents, the effects by venue are the effect of the year
    shares = [np.mean(np.asarray(effects.design.covariates["venue"].values) == venue) for venue in "ABC"]
    mean = sum(share * np.array(alone[venue]["estimate"]) for share, venue in zip(shares, "ABC", strict=True))
    assert mean == pytest.approx(effects.contrast("year", 2014, 2005)["estimate"], abs=0.01)
    table = effects.contrasts(at={"venue": "B"})
    assert set(table["variable"]) == {"year", "region"}
    with pytest.raises(ValueError, match="'year' is the covariate whose values are compared"):
        effects.predict("year", at={"year": 2000})
    with pytest.raises(ValueError, match="no level 'Z'"):
        effects.predict("year", at={"venue": "Z"})


def test_one_of_several_tags_is_set_for_all_documents(planted: PlantedEffects) -> None:
    corpus = planted.corpus
    tags = [[f"author:{d % 3}", f"author:{d % 5 + 3}", f"venue:{'AB'[d % 2]}"] for d in range(len(corpus))]
    design = make_design("author + venue", type(corpus).from_counts(corpus.counts, tags, words=corpus.words))
    rows = np.arange(4)
    found = design.at("venue", ["B"], rows, {"author": "4"}).toarray()
    names = [*design.names]
    assert (found[:, names.index("author[4]")] == 1).all()
    assert (
        found[:, [i for i, name in enumerate(names) if name.startswith("author") and name != "author[4]"]] == 0
    ).all()
    assert (found[:, names.index("venue[T.B]")] == 1).all()
    own = design.at("author", [None], rows, {"venue": "A"}).toarray()
    assert (own[:, 1:] == 0).all()


def test_effects_that_cannot_be_told_apart_are_named(planted: PlantedEffects) -> None:
    with pytest.warns(UserWarning, match=r"twice is a linear combination of other columns"):
        design = make_design("year + twice", planted.corpus, {"twice": 2 * planted.years + 1})
    assert len(design.notes) == 1
    # a basis of splines that has the intercept in it loses no effect
    assert make_design("cr(year, df=4) + venue", planted.corpus).notes == ()
    corpus = planted.corpus
    tags = [["author:a", "author:b"] if d % 2 else ["author:c"] for d in range(len(corpus))]
    notes = make_design("author", type(corpus).from_counts(corpus.counts, tags, words=corpus.words)).notes
    assert "linear combination" in notes[0]  # no warning: a and b always write together


def test_documents_that_are_left_out_are_counted(planted: PlantedEffects) -> None:
    sizes = np.where(np.arange(600) < 50, np.nan, np.arange(600))
    assert make_design("size", planted.corpus, {"size": sizes}).notes == (
        "50 of 600 documents have no words or no value of size",
    )


def test_the_unit_of_a_number_does_not_matter(planted: PlantedEffects) -> None:
    for unit in (1e-12, 1e12):
        found, as_it_is = (make_design("x", planted.corpus, {"x": planted.years * factor}) for factor in (unit, 1.0))
        assert np.allclose(found.matrix.toarray(), as_it_is.matrix.toarray())


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


def test_predictions_without_other_covariates_are_those_of_every_document(planted: PlantedEffects, model: Any) -> None:
    effects = model.effects(planted.corpus, "venue", topics=[1])
    design = effects.design.at("venue", ["B", "C"], np.arange(2)).toarray()
    expected = expit(design @ effects.samples[0]).mean(axis=1)
    assert effects.predict("venue", ["B", "C"])["estimate"] == pytest.approx(expected[::2], abs=1e-6)
