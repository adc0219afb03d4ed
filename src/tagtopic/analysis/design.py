"""Designs of regressions from formulas: sparse matrices, and the rows of documents had they other values.

Formulas are those of formulaic: terms joined by ``+``, interactions by ``:`` and ``*``, splines by ``bs(year, df=4)``.
Terms call known functions only, so that a formula cannot execute other code.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Int64s
from tagtopic._core.optional import require
from tagtopic.analysis.covariates import Category, Covariate, Members, Number, columns_of, find_covariate

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

FUNCTIONS = ("bs", "cr", "cs", "cc", "poly", "C", "center", "scale", "log", "log10", "log2", "exp")
"""What a formula may call."""

NODES = (
    ast.Expression, ast.Call, ast.Name, ast.Load, ast.Constant, ast.keyword, ast.BinOp, ast.UnaryOp, ast.Add, ast.Sub,
    ast.Mult, ast.Div, ast.Pow, ast.USub, ast.UAdd, ast.List, ast.Tuple,
)  # fmt: skip

MAX_COLUMNS = 5_000
"""Columns of a design: a regression inverts a matrix of this size for each topic."""


@dataclass(frozen=True)
class Design:
    """A design matrix and what it was made of.

    Parameters
    ----------
    formula : str
        The formula.
    matrix : csr_array of shape (documents, columns)
        Columns other than 0/1 ones are centred and divided by twice their standard deviation.
    names : tuple of str
        The columns.
    documents : ndarray of int
        The positions of the documents in the corpus; those without a value of a number are left out.
    covariates : dict of str to Covariate
        The covariates, of the documents of the design.
    intercept : int or None
        The column of the intercept.
    centres, scales : ndarray of shape (columns,)
        What was subtracted from each column, and what it was then divided by.
    """

    formula: str
    matrix: Any
    names: tuple[str, ...]
    documents: Int64s
    covariates: Mapping[str, Covariate]
    intercept: int | None
    centres: Float64s
    scales: Float64s
    _spec: Any
    _member_columns: Mapping[str, tuple[int, int]]
    _terms: Sequence[tuple[frozenset[str], Sequence[int]]]

    def columns_of(self, variable: str) -> tuple[Int64s, bool]:
        """The columns that depend on a variable, and whether one of them also depends on another."""
        found: list[int] = []
        mixed = False
        for variables, columns in self._terms:
            if variable in variables:
                found += columns
                mixed |= len(variables) > 1
        return np.array(sorted(found), np.int64), mixed

    def at(self, variable: str, values: Sequence[Any], rows: Int64s) -> Any:
        """Return the design of some documents for each value of a variable in place of their own.

        Parameters
        ----------
        variable : str
            The covariate.
        values : sequence
            Numbers, or levels; None stands for no level of a kind with several per document.
        rows : ndarray of int
            The documents, as rows of the design.

        Returns
        -------
        csr_array of shape (values times rows, columns)
            The rows of the first value come first.
        """
        if variable in self._member_columns:
            return self._with_members(variable, values, rows)
        repeated = np.tile(rows, len(values))
        frame = self._frame(repeated)
        frame[variable] = np.repeat(np.array(values, object), len(rows))
        if isinstance(self.covariates[variable], Number):
            frame[variable] = frame[variable].astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = sp.csr_array(self._spec.get_model_matrix(frame, context={}))
        n_made = made.shape[1]
        made = scaled(made, self.centres[:n_made], self.scales[:n_made])
        if not self._member_columns:
            return made
        return sp.csr_array(sp.hstack([made, self.matrix[repeated][:, n_made:]]))

    def _with_members(self, variable: str, values: Sequence[Any], rows: Int64s) -> Any:
        first, last = self._member_columns[variable]
        covariate = self.covariates[variable]
        assert isinstance(covariate, Members)
        base = self.matrix[np.tile(rows, len(values))]
        level = np.array([-1 if value is None else covariate.levels.index(value) for value in values])
        chosen = np.repeat(level, len(rows))
        own = sp.csr_array(
            (np.ones((chosen >= 0).sum()), (np.flatnonzero(chosen >= 0), chosen[chosen >= 0])),
            shape=(len(chosen), last - first),
        )
        return sp.csr_array(sp.hstack([base[:, :first], own, base[:, last:]]))

    def _frame(self, rows: Int64s) -> Any:
        return _frame({n: c for n, c in self.covariates.items() if not isinstance(c, Members)}, rows)

    def original_scale(self, coefficients: Float64s) -> Float64s:
        """Return coefficients (columns, …) for columns that are neither centred nor scaled."""
        found = coefficients / self.scales.reshape(-1, *[1] * (coefficients.ndim - 1))
        if self.intercept is not None:
            found[self.intercept] = coefficients[self.intercept] - np.tensordot(
                np.where(np.arange(len(self.names)) == self.intercept, 0.0, self.centres), found, axes=(0, 0)
            )
        return found


def scaled(matrix: Any, centres: Float64s, scales: Float64s) -> Any:
    """Subtract the centres of columns, and divide by their scales; columns without a centre stay sparse."""
    moved, found = np.flatnonzero(centres != 0), sp.csc_array(matrix, dtype=np.float64)
    if len(moved):
        others = np.flatnonzero(centres == 0)
        dense = sp.csc_array(found[:, moved].toarray() - centres[moved])
        order = np.argsort(np.concatenate([others, moved]))
        found = sp.csc_array(sp.hstack([found[:, others], dense], format="csc"))[:, order]
    return sp.csr_array(found @ sp.diags_array(1.0 / scales))


def make_design(formula: str, corpus: Corpus, data: Any = None, *, words: Any = None, max_levels: int = 1000) -> Design:
    """Make the design of a formula for the documents of a corpus.

    Parameters
    ----------
    formula : str
        The right side of a formula, such as "year + venue".
    corpus : Corpus
        The documents, with the tags that are covariates.
    data : data frame, mapping of columns, or None, default=None
        More covariates, a row per document.
    words : ndarray of shape (documents,) or None, default=None
        The number of words of each document; those without any are left out.
    max_levels : int, default=1000
        The most levels of a covariate.

    Returns
    -------
    Design

    Raises
    ------
    ValueError
        If the formula is invalid, a covariate is unknown, or there are too many columns.
    """
    require("formulaic", extra="analysis", purpose="a formula of effects")
    from formulaic import Formula
    from formulaic.errors import FormulaicError

    try:
        parsed = Formula(formula)
        terms = list(parsed)
    except (FormulaicError, SyntaxError, AttributeError, TypeError) as error:
        raise ValueError(f"the formula {formula!r} is invalid: {_one_line(error)}") from None
    if any(not hasattr(term, "factors") for term in terms):
        raise ValueError(f"the formula {formula!r} has a left side: give the covariates only, such as 'year + venue'")
    by_term = [(term, frozenset(name for factor in term.factors for name in variables_of(factor))) for term in terms]
    columns = columns_of(data, len(corpus))
    names = sorted(set().union(*(variables for _, variables in by_term)))
    if not names:
        raise ValueError(f"the formula {formula!r} has no covariate")
    covariates = {name: find_covariate(name, corpus, columns, max_levels) for name in names}
    kept = np.ones(len(corpus), bool) if words is None else np.asarray(words) > 0
    for covariate in covariates.values():
        if isinstance(covariate, Number):
            kept = kept & np.isfinite(covariate.values)
    documents = np.flatnonzero(kept)
    if len(documents) < 2:
        raise ValueError(f"{len(documents)} of {len(corpus)} documents have words and values of {', '.join(names)}")
    covariates = {name: _taken(covariate, documents) for name, covariate in covariates.items()}
    members = [name for name in names if isinstance(covariates[name], Members)]
    for term, variables in by_term:
        alone = len(term.factors) == 1 and term.factors[0].expr in members
        if set(members) & variables and not alone:
            several = next(iter(set(members) & variables))
            raise ValueError(
                f"documents have several tags of kind {several!r}, which can only be a term of its own: {term} is not"
            )
    ordinary = [term for term, variables in by_term if not variables & set(members)]
    frame = _frame({name: c for name, c in covariates.items() if name not in members}, np.arange(len(documents)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = Formula(ordinary).get_model_matrix(frame, output="sparse", context={})
    except (FormulaicError, ValueError, TypeError, KeyError) as error:
        raise ValueError(f"the formula {formula!r} cannot be computed: {_one_line(error)}") from None
    spec = made.model_spec
    column_names = [*map(str, spec.column_names)]
    term_columns = [
        (frozenset(name for factor in term.factors for name in variables_of(factor)), list(indices))
        for term, indices in spec.term_indices.items()
    ]
    blocks, member_columns, width = [sp.csr_array(made, dtype=np.float64)], {}, len(column_names)
    for name in members:
        covariate = covariates[name]
        assert isinstance(covariate, Members)
        member_columns[name] = (width, width + len(covariate.levels))
        term_columns.append((frozenset([name]), list(range(*member_columns[name]))))
        column_names += [f"{name}[{level}]" for level in covariate.levels]
        blocks.append(covariate.matrix)
        width += len(covariate.levels)
    if width > MAX_COLUMNS:
        raise ValueError(f"the formula {formula!r} has {width:,} columns, more than {MAX_COLUMNS:,}: see max_levels")
    matrix = sp.csc_array(sp.hstack(blocks, format="csc"))
    intercept = column_names.index("Intercept") if "Intercept" in column_names else None
    centres, scales = _standardisation(matrix, intercept)
    return Design(
        formula, scaled(matrix, centres, scales), tuple(column_names), documents, covariates, intercept, centres,
        scales, spec, member_columns, term_columns,
    )  # fmt: skip


def variables_of(factor: Any) -> set[str]:
    """Return the covariates that a factor of a formula depends on; raise ValueError if it is not allowed."""
    expression = str(factor.expr)
    if factor.eval_method.name == "LOOKUP":
        return {expression}
    if factor.eval_method.name == "LITERAL":
        return set()
    parsed = ast.parse(expression, mode="eval")
    found, called = set(), set()
    for node in ast.walk(parsed):
        if not isinstance(node, NODES):
            raise ValueError(f"a formula cannot have {type(node).__name__.lower()}: {expression!r}")
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
                raise ValueError(f"{expression!r}: a formula can call {', '.join(FUNCTIONS)}")
            called.add(node.func)
        elif isinstance(node, ast.Name) and node not in called:
            found.add(node.id)
    return found - {node.id for node in called}


def _standardisation(matrix: Any, intercept: int | None) -> tuple[Float64s, Float64s]:
    centres, scales = np.zeros(matrix.shape[1]), np.ones(matrix.shape[1])
    for j in range(matrix.shape[1]):
        values = matrix.data[matrix.indptr[j] : matrix.indptr[j + 1]]
        if j == intercept or (values == 1.0).all():
            continue
        mean = values.sum() / matrix.shape[0]
        spread = np.sqrt(max(float((values**2).sum() / matrix.shape[0] - mean**2), 0.0))
        scales[j] = 2 * spread if spread > 1e-9 * max(1.0, abs(mean)) else 1.0
        centres[j] = mean if intercept is not None else 0.0
    return centres, scales


def _frame(covariates: Mapping[str, Covariate], rows: Int64s) -> Any:
    import pandas as pd

    columns = {}
    for name, covariate in covariates.items():
        if isinstance(covariate, Category):
            columns[name] = pd.Categorical.from_codes(covariate.codes[rows], categories=list(covariate.levels))
        elif isinstance(covariate, Number):
            columns[name] = covariate.values[rows]
    return pd.DataFrame(columns, index=range(len(rows)))


def _taken(covariate: Covariate, documents: Int64s) -> Covariate:
    if isinstance(covariate, Number):
        return Number(covariate.values[documents])
    if isinstance(covariate, Category):
        return Category(covariate.codes[documents], covariate.levels)
    return Members(sp.csr_array(covariate.matrix[documents]), covariate.levels)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
