"""Effects of covariates on the topic shares of documents, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from tagtopic._core.arrays import Float64s, Floats, Int64s
from tagtopic._core.parallel import Parallel
from tagtopic.analysis.composition import SAMPLES, draw_shares, sample_regressions
from tagtopic.analysis.covariates import NONE, OTHER, Category, Covariate, Members, Number, level_name, numbers_of
from tagtopic.analysis.design import Design
from tagtopic.analysis.regression import MANY_COLUMNS, Regression
from tagtopic.analysis.table import Table, TidyResult, check_level, summarise
from tagtopic.inference.types import Parameters

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

FEWER_SAMPLES = 400
"""Samples of the coefficients of a design of more than ``MANY_COLUMNS``."""

REFERENCE_DOCUMENTS = 1000
"""Documents over which predictions are averaged: a sample of those of a larger corpus."""

QUANTILES = 32
"""Groups of documents by the rest of their linear predictor, where a covariate has many levels."""

MANY_VALUES = 24
GRID = 25
"""Values of a number for which shares are predicted."""

OWN_VALUES: Mapping[str, Any] = MappingProxyType({})
"""No covariate has another value than the documents'."""


@dataclass(frozen=True)
class Effects(TidyResult):
    """Effects of covariates on topic shares: contrasts, predictions and coefficients, each with intervals.

    An effect is a difference of expected shares: that of documents had they one value of the covariate, minus that
    had they another, the other covariates as they are, averaged over documents. Intervals include the uncertainty of
    the documents' topics and, if draws were kept (``n_draws``), of the topics.

    Attributes
    ----------
    formula : str
        The formula.
    topics : tuple of int
        The topics.
    names : tuple of str
        Their names or labels.
    level : float
        The probability of an interval.
    n_documents : int
        The documents that have words and all covariates.
    n_draws : int
        The draws of the topics; 1 if none were kept.
    design : Design
        The design of the regression.
    weights : ndarray of shape (n_documents,)
        The documents' weights, of mean 1.
    samples : ndarray of shape (topics, columns, samples)
        Samples of the coefficients of the design, whose columns are centred and scaled.

    Examples
    --------
    >>> from tagtopic import LDA
    >>> from tagtopic.datasets import make_effects_corpus
    >>> planted = make_effects_corpus(200, n_topics=3, random_state=1)
    >>> model = LDA(3, max_iter=100, thinning=10, n_draws=5, random_state=0).fit(planted.corpus)
    >>> effects = model.effects(planted.corpus, "year + venue")
    >>> effects
    Effects('year + venue', 3 topics, 200 documents, 95% intervals)
    >>> effects.table.columns
    ('topic', 'name', 'variable', 'contrast', 'estimate', 'low', 'high', 'positive')
    >>> effects.contrast("venue", "B", "C").filter(topic=0)["contrast"]
    ['B - C']
    """

    formula: str
    topics: tuple[int, ...]
    names: tuple[str, ...]
    level: float
    n_documents: int
    n_draws: int
    design: Design
    weights: Float64s
    samples: Floats

    @property
    def variables(self) -> tuple[str, ...]:
        """The covariates.

        Examples
        --------
        >>> effects.variables
        ('venue', 'year')
        """
        return tuple(self.design.covariates)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: documents that are left out, and effects that cannot be told apart.

        Examples
        --------
        >>> effects.notes
        ()
        """
        return self.design.notes

    @cached_property
    def table(self) -> Table:
        """The effects of all covariates as a tidy table.

        Levels of a kind are compared with its most frequent level, or, if documents have several of them, with none;
        a tag with its absence; a number's upper quartile with its lower one. ``positive`` is the probability that the
        effect is above zero.

        Examples
        --------
        >>> sorted(set(effects.table["variable"]))
        ['venue', 'year']
        """
        return self.contrasts()

    def contrasts(self, variable: str | None = None, *, at: Mapping[str, Any] = OWN_VALUES) -> Table:
        """Return the effects of a covariate, or of all, at values of the others.

        Parameters
        ----------
        variable : str or None, default=None
            The covariate; None is all that are not in ``at``.
        at : mapping of str to object, default={}
            Values of other covariates: with interactions, effects depend on them.

        Returns
        -------
        Table
            Rows as those of ``table``.

        Raises
        ------
        ValueError
            If the covariate or a level is unknown.

        Examples
        --------
        >>> effects.contrasts("year", at={"venue": "B"}).filter(topic=0)["contrast"]
        ['2014 - 2005 at venue=B']
        """
        rows: list[dict[str, Any]] = []
        for name in [other for other in self.variables if other not in at] if variable is None else [variable]:
            values, reference = _standard_values(self._covariate(name))
            rows += self._contrasts(name, values, reference, self._fixed(at, name))
        return _table(sorted(rows, key=lambda row: row["position"]), "effects on topic shares" + _where(at))

    def contrast(self, variable: str, value: Any, reference: Any, *, at: Mapping[str, Any] = OWN_VALUES) -> Table:
        """Compare the expected shares at two values of a covariate.

        Parameters
        ----------
        variable : str
            The covariate.
        value, reference : object
            A number, a level, or None for no level of a kind of which documents have several.
        at : mapping of str to object, default={}
            Values of other covariates, which documents otherwise have as they are.

        Returns
        -------
        Table
            A row per topic: the share at ``value`` minus that at ``reference``.

        Raises
        ------
        ValueError
            If the covariate or a level is unknown.

        Examples
        --------
        >>> effects.contrast("year", 2019, 2000).columns[:4]
        ('topic', 'name', 'variable', 'contrast')
        """
        values = self._checked(variable, [value])
        other = self._checked(variable, [reference])[0]
        return _table(self._contrasts(variable, values, other, self._fixed(at, variable)), variable)

    def predict(
        self, variable: str, values: Sequence[Any] | None = None, *, at: Mapping[str, Any] = OWN_VALUES
    ) -> Table:
        """Predict the expected shares at values of a covariate, averaged over documents.

        Parameters
        ----------
        variable : str
            The covariate.
        values : sequence or None, default=None
            Numbers or levels; None is all levels, or 25 numbers over the range.
        at : mapping of str to object, default={}
            Values of other covariates: with "year * venue", ``at={"venue": "B"}`` is the course over the years at B.

        Returns
        -------
        Table
            A row per topic and value, with shares within [0, 1].

        Raises
        ------
        ValueError
            If the covariate or a level is unknown, or the formula has no value there.

        Examples
        --------
        >>> found = effects.predict("year", [2000, 2010])
        >>> len(found), min(found["low"]) >= 0
        (6, True)
        """
        covariate = self._covariate(variable)
        wanted = _all_values(covariate) if values is None else self._checked(variable, list(values))
        found = summarise(self._predictions(variable, wanted, self._fixed(at, variable)), self.level)
        n = len(wanted)
        number = isinstance(covariate, Number)
        return Table(
            {
                "topic": np.repeat(self.topics, n).tolist(),
                "name": [name for name in self.names for _ in range(n)],
                "variable": [variable] * (n * len(self.topics)),
                "value": [float(v) if number else _value_name(covariate, v) for v in wanted] * len(self.topics),
                **{name: values.ravel().tolist() for name, values in found.items()},
            },
            f"expected topic shares by {variable}" + _where(at),
        )

    def coefficients(self) -> Table:
        """Return the coefficients of the logits of shares, with intervals.

        Returns
        -------
        Table
            A row per topic and column of the design.

        Examples
        --------
        >>> effects.coefficients().filter(topic=0)["term"]
        ['Intercept', 'year', 'venue[T.B]', 'venue[T.C]']
        """
        rows: dict[str, list[Any]] = {name: [] for name in ("topic", "name", "term", "estimate", "low", "high")}
        for topic, name, samples in zip(self.topics, self.names, self.samples, strict=True):
            drawn = self.design.original_scale(samples.astype(np.float64))
            rows["topic"] += [topic] * len(drawn)
            rows["name"] += [name] * len(drawn)
            rows["term"] += self.design.names
            for column, values in summarise(drawn, self.level).items():
                rows[column] += values.tolist()
        return Table(rows, "coefficients of the logits of topic shares")

    def __repr__(self) -> str:
        return (
            f"Effects({self.formula!r}, {len(self.topics)} topics, {self.n_documents:,} documents, "
            f"{self.level:.0%} intervals)"
        )

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    def _covariate(self, variable: str) -> Covariate:
        if variable not in self.design.covariates:
            raise ValueError(f"there is no covariate {variable!r}: the formula has {', '.join(self.variables)}")
        return self.design.covariates[variable]

    def _checked(self, variable: str, values: list[Any]) -> list[Any]:
        covariate = self._covariate(variable)
        if isinstance(covariate, Number):
            return [_number(variable, value) for value in values]
        if isinstance(covariate, Category):
            values = [_level(value) for value in values]
        allowed = [*covariate.levels, None] if isinstance(covariate, Members) else list(covariate.levels)
        for value in values:
            if value not in allowed:
                raise ValueError(f"{variable!r} has no level {value!r}: it has {', '.join(map(str, allowed[:20]))}")
        return values

    def _fixed(self, at: Mapping[str, Any], variable: str) -> dict[str, Any]:
        """The values of other covariates, checked."""
        if variable in at:
            raise ValueError(f"at={dict(at)!r}: {variable!r} is the covariate whose values are compared")
        return {name: self._checked(name, [value])[0] for name, value in at.items()}

    def _contrasts(
        self, variable: str, values: list[Any], reference: Any, fixed: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        covariate = self._covariate(variable)
        shares = self._predictions(variable, [reference, *values], fixed)
        differences = shares[:, 1:] - shares[:, :1]
        found = {**summarise(differences, self.level), "positive": (differences > 0).mean(axis=2)}
        return [
            {
                "position": position,
                "topic": topic,
                "name": name,
                "variable": variable,
                "contrast": f"{_value_name(covariate, value)} - {_value_name(covariate, reference)}" + _where(fixed),
                **{column: float(values[position, i]) for column, values in found.items()},
            }
            for position, (topic, name) in enumerate(zip(self.topics, self.names, strict=True))
            for i, value in enumerate(values)
        ]

    @cached_property
    def _reference(self) -> tuple[Int64s, Float64s]:
        """The documents over which predictions are averaged, and their weights."""
        n = self.design.matrix.shape[0]
        rows = np.arange(n)
        if n > REFERENCE_DOCUMENTS:
            rows = np.sort(np.random.default_rng(0).choice(n, REFERENCE_DOCUMENTS, replace=False))
        weights = self.weights[rows]
        return rows, weights / weights.sum()

    def _predictions(self, variable: str, values: list[Any], fixed: Mapping[str, Any]) -> Floats:
        """Expected shares (topics, values, samples)."""
        rows, weights = self._reference
        columns, mixed = self.design.columns_of(variable)
        found = np.empty((len(self.topics), len(values), self.samples.shape[2]), np.float32)
        others = np.setdiff1d(np.arange(len(self.design.names)), columns)
        # with no other covariate all documents have the same prediction
        if not mixed and (len(values) > MANY_VALUES or others.tolist() in ([], [self.design.intercept])):
            base = self.design.at(variable, values[:1], rows, fixed) if fixed else self.design.matrix[rows]
            rest = sp.csr_array(base[:, others])
            own = sp.csr_array(self.design.at(variable, values, rows[:1])[:, columns])
            for k, samples in enumerate(self.samples):
                found[k] = _grouped_means(rest @ samples[others], weights, own @ samples[columns])
            return found
        design = self.design.at(variable, values, rows, fixed)
        for k, samples in enumerate(self.samples):
            for i in range(len(values)):
                part = design[i * len(rows) : (i + 1) * len(rows)]
                found[k, i] = weights @ expit(part @ samples)
        return found


def _grouped_means(rest: Floats, weights: Float64s, own: Floats) -> Floats:
    """The means over documents of expit(rest + own), where documents are grouped by the quantiles of ``rest``."""
    if np.ptp(rest, axis=0).max() < 1e-6:
        return np.asarray(expit(rest[:1] + own))
    order = np.argsort(rest, axis=0)
    found = np.zeros_like(own)
    for part in np.array_split(order, QUANTILES):
        if not len(part):
            continue
        share = weights[part]
        mean = (np.take_along_axis(rest, part, axis=0) * share).sum(axis=0) / share.sum(axis=0)
        found += share.sum(axis=0) * expit(mean + own)
    return found


def estimate_effects(
    design: Design,
    corpus: Corpus,
    draws: Sequence[Parameters],
    *,
    groups: Any,
    topics: Sequence[int],
    names: Sequence[str],
    weights: Any,
    clusters: Any,
    level: float,
    parallel: Parallel,
    seed: int,
) -> Effects:
    """Estimate the effects of the covariates of a design.

    Parameters
    ----------
    design : Design
        The design.
    corpus : Corpus
        The documents in the model's words and tags, as many as the design was made for.
    draws : sequence of Parameters
        Draws of the topics.
    groups : ndarray of int or None
        For each fitted topic, the number of the topic that it is part of.
    topics : sequence of int
        The topics to report. The result for a topic does not depend on the others.
    names : sequence of str
        The names of all topics.
    weights, clusters : array or None
        By document of the corpus.
    level : float
        The probability of an interval.
    parallel : Parallel
        Threads over documents and topics.
    seed : int
        Seed.

    Returns
    -------
    Effects
    """
    check_level(level, 0.95)
    regression = regression_of(design, len(corpus), weights, clusters)
    documents = corpus if len(design.documents) == len(corpus) else corpus[design.documents]
    drawn = draw_shares(documents, draws, regression, parallel, seed)
    n_samples = SAMPLES if regression.n_columns <= MANY_COLUMNS else FEWER_SAMPLES
    samples = sample_regressions(drawn, regression, topics, groups, n_samples, parallel, seed)
    chosen = tuple(names[topic] for topic in topics)
    return Effects(
        design.formula, tuple(topics), chosen, level, len(design.documents), len(draws), design, regression.weights,
        samples,
    )  # fmt: skip


def regression_of(design: Design, n_documents: int, weights: Any = None, clusters: Any = None) -> Regression:
    """Make the regression of a design, with weights and clusters of all documents of a corpus."""
    kept = design.documents
    given = np.ones(len(kept))
    if weights is not None:
        try:
            values = np.asarray(weights, np.float64)
        except (TypeError, ValueError):
            raise ValueError("weights must be numbers") from None
        if values.shape != (n_documents,):
            raise ValueError(f"weights has the shape {values.shape}, and the corpus {n_documents} documents")
        if not np.isfinite(values).all() or (values < 0).any() or not values[kept].any():
            raise ValueError("weights must be finite, not negative, and not all zero")
        given = values[kept] / values[kept].mean()
    numbers = None
    if clusters is not None:
        labels = np.asarray(clusters)
        if labels.shape != (n_documents,):
            raise ValueError(f"clusters has the shape {labels.shape}, and the corpus {n_documents} documents")
        numbers = np.unique(labels[kept].astype(str), return_inverse=True)[1].astype(np.int64)
        if numbers.max() < 1:
            raise ValueError("clusters: all documents are of one cluster, and intervals need at least two")
    penalised = np.ones(len(design.names), bool)
    if design.intercept is not None:
        penalised[design.intercept] = False
    return Regression(design.matrix, given, penalised, numbers)


def _standard_values(covariate: Covariate) -> tuple[list[Any], Any]:
    """The values that are compared, and the reference."""
    if isinstance(covariate, Members):
        return list(covariate.levels), None
    if isinstance(covariate, Category):
        return list(covariate.levels[1:]), covariate.levels[0]
    distinct = np.unique(covariate.values)
    if len(distinct) <= 2:
        return [float(distinct[-1])], float(distinct[0])
    low, high = np.quantile(covariate.values, [0.25, 0.75], method="nearest")
    if low == high:
        low, high = distinct[0], distinct[-1]
    return [float(high)], float(low)


def _number(variable: str, value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = np.nan
    if not np.isfinite(found):
        raise ValueError(f"{variable!r} is a number: it has no value {value!r}")
    return found


def _level(value: Any) -> Any:
    """The level that a value stands for: levels are texts."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    return level_name(float(value)) if isinstance(value, int | float | np.integer | np.floating) else value


def _where(values: Mapping[str, Any]) -> str:
    """How a contrast or a title names values of other covariates."""
    return f" at {', '.join(f'{name}={_plain(value)}' for name, value in values.items())}" if values else ""


def _plain(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _all_values(covariate: Covariate) -> list[Any]:
    if isinstance(covariate, Members):
        return [None, *covariate.levels]
    if isinstance(covariate, Category):
        named = [level for level in covariate.levels if level not in (NONE, OTHER)]
        numbers = numbers_of(named)
        if numbers is None:
            return list(covariate.levels)
        rest = [level for level in covariate.levels if level in (NONE, OTHER)]
        return [named[i] for i in np.argsort(numbers, kind="stable")] + rest
    distinct = np.unique(covariate.values)
    if len(distinct) <= 2 * GRID and np.equal(distinct, np.round(distinct)).all():
        return [float(value) for value in distinct]
    return [float(value) for value in np.linspace(distinct[0], distinct[-1], GRID)]


def _value_name(covariate: Covariate, value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(covariate, Number) else str(value)


def _table(rows: list[dict[str, Any]], title: str) -> Table:
    names = ("topic", "name", "variable", "contrast", "estimate", "low", "high", "positive")
    return Table({name: [row[name] for row in rows] for name in names}, title)
