"""Designs of regressions from formulas: sparse matrices, and the rows of documents had they other values.

Formulas are those of formulaic: terms joined by ``+``, interactions by ``:`` and ``*``, splines by ``bs(year, df=4)``,
levels of a number by ``C(year)``. Terms call known functions only, so that a formula cannot execute other code.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Int64s, owners_of
from tagtopic._core.optional import require
from tagtopic.analysis.covariates import (
    Category,
    Covariate,
    Members,
    Number,
    columns_of,
    find_covariate,
    levels_of,
    without_unused_levels,
)

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

FUNCTIONS = ("bs", "cr", "cs", "cc", "poly", "C", "I", "center", "scale", "log", "log10", "log2", "exp")
"""What a formula may call."""

NODES = (
    ast.Expression, ast.Call, ast.Name, ast.Load, ast.Constant, ast.keyword, ast.BinOp, ast.UnaryOp, ast.Add, ast.Sub,
    ast.Mult, ast.Div, ast.Pow, ast.USub, ast.UAdd, ast.List, ast.Tuple,
)  # fmt: skip

MAX_COLUMNS = 5_000
"""Columns of a design: a regression inverts a matrix of this size for each topic."""

COLLINEAR = 1e-10
"""A column is a linear combination of others if this part of its square, or less, is left beside them."""

NAMED = 5
"""Columns that a warning names."""

MARKS = re.compile("\x1b\\[[0-9;]*m|[\u29db\u29da]")
"""How formulaic marks the place of an error on a terminal."""


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
    notes : tuple of str
        Documents that are left out, and columns that are linear combinations of others.
    """

    formula: str
    matrix: Any
    names: tuple[str, ...]
    documents: Int64s
    covariates: Mapping[str, Covariate]
    intercept: int | None
    centres: Float64s
    scales: Float64s
    notes: tuple[str, ...]
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

    def at(
        self, variable: str, values: Sequence[Any], rows: Int64s, fixed: Mapping[str, Any] = MappingProxyType({})
    ) -> Any:
        """Return the design of some documents for each value of a variable in place of their own.

        Parameters
        ----------
        variable : str
            The covariate.
        values : sequence
            Numbers, or levels; None stands for no level of a kind with several per document.
        rows : ndarray of int
            The documents, as rows of the design.
        fixed : mapping of str to object, default={}
            Values of other covariates, for all documents.

        Returns
        -------
        csr_array of shape (values times rows, columns)
            The rows of the first value come first.

        Raises
        ------
        ValueError
            If a term of the formula has no value there.
        """
        repeated = np.tile(rows, len(values))
        given = {name: np.full(len(repeated), value, object) for name, value in fixed.items()}
        given[variable] = np.repeat(np.array(values, object), len(rows))
        others = self.matrix[repeated]
        n_made = min((first for first, _ in self._member_columns.values()), default=self.matrix.shape[1])
        blocks = [others[:, :n_made]]
        if given.keys() - self._member_columns.keys():
            blocks = [self._made_at(given, repeated)]
        for name, (first, last) in self._member_columns.items():
            blocks.append(self._members_at(name, given[name]) if name in given else others[:, first:last])
        return sp.csr_array(sp.hstack(blocks))

    def _made_at(self, given: Mapping[str, Any], rows: Int64s) -> Any:
        """The columns that formulaic makes."""
        frame = self._frame(rows)
        for name, values in given.items():
            if name not in self._member_columns:
                frame[name] = values.astype(float) if isinstance(self.covariates[name], Number) else values
        from formulaic.errors import FormulaicError

        where = ", ".join(f"{name}={values[0]}" for name, values in given.items())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = sp.csr_array(self._spec.get_model_matrix(frame, context={}), dtype=np.float64)
        except (FormulaicError, ValueError, TypeError) as error:
            raise ValueError(f"{self.formula!r} has no value at {where} or other values: {_one_line(error)}") from None
        if not np.isfinite(made.data).all():
            raise ValueError(f"{self.formula!r} has no finite value at {where} or other values")
        return scaled(made, self.centres[: made.shape[1]], self.scales[: made.shape[1]])

    def _members_at(self, name: str, values: Any) -> Any:
        covariate = self.covariates[name]
        assert isinstance(covariate, Members)
        chosen = np.array([-1 if value is None else covariate.levels.index(value) for value in values], np.int64)
        filled = np.flatnonzero(chosen >= 0)
        shape = (len(chosen), len(covariate.levels))
        return sp.csr_array((np.ones(len(filled)), (filled, chosen[filled])), shape=shape)

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
        If the formula is invalid, a covariate is unknown or the same for all documents, a term has no finite value, or
        there are too many columns.

    Warns
    -----
    UserWarning
        If columns of a covariate with one value per document are linear combinations of others.
    """
    require("formulaic", extra="analysis", purpose="a formula of effects")
    terms = _parse(formula)
    variables = set[str]().union(*(_variables_of_term(term) for term in terms))
    if not variables:
        raise ValueError(f"the formula {formula!r} has no covariate")
    names = sorted(variables)
    covariates, documents = _find_covariates(names, terms, corpus, data, words, max_levels)
    members = {name: covariate for name, covariate in covariates.items() if isinstance(covariate, Members)}
    _check_members_alone(terms, members)
    ordinary = [term for term in terms if not _variables_of_term(term) & members.keys()]
    made, spec = _made_by_formulaic(formula, ordinary, covariates, corpus.ids, documents)
    column_names = [*map(str, spec.column_names)]
    term_columns = [(_variables_of_term(term), list(indices)) for term, indices in spec.term_indices.items()]
    blocks, member_columns = [made], {}
    for name, covariate in members.items():
        first = len(column_names)
        column_names += [f"{name}[{level}]" for level in covariate.levels]
        member_columns[name] = (first, len(column_names))
        term_columns.append((frozenset([name]), list(range(first, len(column_names)))))
        blocks.append(covariate.matrix)
    if len(column_names) > MAX_COLUMNS:
        raise ValueError(
            f"the formula {formula!r} has {len(column_names):,} columns, more than {MAX_COLUMNS:,}: see max_levels"
        )
    matrix = sp.csc_array(sp.hstack(blocks, format="csc"))
    intercept = column_names.index("Intercept") if "Intercept" in column_names else None
    centres, scales = _standardisation(matrix, intercept)
    standard = scaled(matrix, centres, scales)
    dependent = _confounded_columns(standard, intercept, term_columns, made.shape[1])
    notes = [] if len(documents) == len(corpus) else [_missing_note(len(corpus) - len(documents), len(corpus), names)]
    if dependent:
        notes.append(_confounded_note([column_names[column] for column in dependent]))
        if dependent[0] < made.shape[1]:  # tags that always occur together are no mistake in a formula
            warnings.warn(f"{formula!r}: {notes[-1]}", stacklevel=2)
    return Design(
        formula, standard, tuple(column_names), documents, covariates, intercept, centres,
        scales, tuple(notes), spec, member_columns, term_columns,
    )  # fmt: skip


def _parse(formula: str) -> list[Any]:
    """The terms of a formula."""
    from formulaic import Formula
    from formulaic.errors import FormulaicError

    try:
        terms = list(Formula(formula))
    except (FormulaicError, SyntaxError, AttributeError, TypeError) as error:
        reason = "'.' is not supported: name the covariates" if "`.`" in str(error) else _one_line(error)
        raise ValueError(f"the formula {formula!r} is invalid: {reason}") from None
    if any(not hasattr(term, "factors") for term in terms):
        raise ValueError(
            f"the formula {formula!r} has a left side or parts: give the covariates only, such as 'year + venue'"
        )
    return terms


def _variables_of_term(term: Any) -> frozenset[str]:
    return frozenset(name for factor in term.factors for name in variables_of(factor))


def _find_covariates(
    names: Sequence[str], terms: Sequence[Any], corpus: Corpus, data: Any, words: Any, max_levels: int
) -> tuple[dict[str, Covariate], Int64s]:
    """The covariates of the documents that have words and values of all of them, and these documents."""
    columns = columns_of(data, len(corpus))
    found = {name: find_covariate(name, corpus, columns, max_levels) for name in names}
    kept = np.ones(len(corpus), bool) if words is None else np.asarray(words) > 0
    for covariate in found.values():
        if isinstance(covariate, Number):
            kept = kept & np.isfinite(covariate.values)
    documents = np.flatnonzero(kept)
    if len(documents) < 2:
        raise ValueError(f"{len(documents)} of {len(corpus)} documents have words and values of {', '.join(names)}")
    covariates = {name: _taken(covariate, documents) for name, covariate in found.items()}
    for name in _names_with_levels(terms):
        covariate = covariates[name]
        if isinstance(covariate, Number):
            covariates[name] = levels_of(covariate, max_levels)
    for name, covariate in covariates.items():
        _check_varies(name, covariate)
    return covariates, documents


def _check_members_alone(terms: Sequence[Any], members: Mapping[str, Members]) -> None:
    for term in terms:
        several = members.keys() & _variables_of_term(term)
        if several and not (len(term.factors) == 1 and term.factors[0].expr in members):
            raise ValueError(
                f"documents have several tags of kind {min(several)!r}, which can only be a term of its own: "
                f"{term} is not"
            )


def _made_by_formulaic(
    formula: str, terms: Sequence[Any], covariates: Mapping[str, Covariate], ids: Sequence[str], documents: Int64s
) -> tuple[Any, Any]:
    """The columns of terms that formulaic makes, and its description of them."""
    from formulaic import Formula
    from formulaic.errors import FormulaicError

    frame = _frame({n: c for n, c in covariates.items() if not isinstance(c, Members)}, np.arange(len(documents)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = Formula(list(terms)).get_model_matrix(frame, output="sparse", context={}, na_action="ignore")
    except (FormulaicError, ValueError, TypeError, KeyError) as error:
        raise ValueError(f"the formula {formula!r} cannot be computed: {_one_line(error)}") from None
    found = sp.csr_array(made, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(found.data))
    if len(bad):
        column = made.model_spec.column_names[int(found.indices[bad[0]])]
        n_bad, row = int((found.indices[bad] == found.indices[bad[0]]).sum()), owners_of(found.indptr)[bad[0]]
        raise ValueError(
            f"the formula {formula!r} cannot be computed: {column} is not a finite number for {n_bad:,} of "
            f"{len(documents):,} documents, such as document {ids[int(documents[row])]!r}"
        )
    return found, made.model_spec


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


def _names_with_levels(terms: Sequence[Any]) -> set[str]:
    """The covariates of which ``C`` makes levels; raise ValueError if another term has them as numbers."""
    factors = [factor for term in terms for factor in term.factors]
    made = {str(factor.expr): str(factor.expr).startswith("C(") for factor in factors}
    levels, others = (
        set().union(*(variables_of(factor) for factor in factors if made[str(factor.expr)] == wanted), set[str]())
        for wanted in (True, False)
    )
    both = sorted(levels & others)
    if both:
        raise ValueError(f"{both[0]!r} has levels in one term (C) and not in another: use one of them")
    return levels


def _check_varies(name: str, covariate: Covariate) -> None:
    if isinstance(covariate, Number) and np.ptp(covariate.values) == 0:
        raise ValueError(f"{name!r} is {covariate.values[0]:g} for all {len(covariate.values):,} documents: no effect")
    if isinstance(covariate, Category) and len(covariate.levels) == 1:
        raise ValueError(f"{name!r} is {covariate.levels[0]!r} for all {len(covariate.codes):,} documents: no effect")


def _confounded_columns(
    matrix: Any, intercept: int | None, terms: Sequence[tuple[frozenset[str], Sequence[int]]], n_made: int
) -> list[int]:
    """Columns that are linear combinations of those of other terms, or of other tags of a kind."""
    kept = np.ones(matrix.shape[1], bool)
    for _, columns in terms:
        if len(columns) > 1 and columns[0] < n_made:  # a basis of splines may be redundant by itself: no effect is lost
            own = [*columns] if intercept is None else [intercept, *columns]
            place = None if intercept is None else 0
            kept[[own[i] for i in _dependent_columns(matrix[:, own], place)]] = False
    rest = np.flatnonzero(kept)
    place = None if intercept is None else int(np.searchsorted(rest, intercept))
    return [int(rest[i]) for i in _dependent_columns(matrix[:, rest], place)]


def _dependent_columns(matrix: Any, intercept: int | None) -> list[int]:
    """Columns that are linear combinations of others, by a Cholesky factorisation with pivots."""
    squares = np.asarray((matrix.T @ matrix).toarray())
    roots = np.sqrt(np.diag(squares))
    roots[roots == 0] = 1.0
    if intercept is not None:
        roots[intercept] /= 2  # the first pivot, so that it is not named
    _, order, rank, _ = scipy.linalg.lapack.dpstrf(squares / roots / roots[:, None], tol=COLLINEAR, lower=1)
    return sorted(int(column) - 1 for column in order[rank:])


def _confounded_note(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMED])
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    verb = "is a linear combination" if len(names) == 1 else "are linear combinations"
    return f"{shown}{more} {verb} of other columns: what the data leave open is settled by the prior of coefficients"


def _missing_note(n_missing: int, n_documents: int, names: Sequence[str]) -> str:
    verb = "has" if n_missing == 1 else "have"
    return f"{n_missing:,} of {n_documents:,} documents {verb} no words or no value of {', '.join(names)}"


def _standardisation(matrix: Any, intercept: int | None) -> tuple[Float64s, Float64s]:
    centres, scales = np.zeros(matrix.shape[1]), np.ones(matrix.shape[1])
    for j in range(matrix.shape[1]):
        values = matrix.data[matrix.indptr[j] : matrix.indptr[j + 1]]
        if j == intercept or (values == 1.0).all():
            continue
        mean = values.sum() / matrix.shape[0]
        n_zero = matrix.shape[0] - len(values)
        spread = float(np.sqrt((((values - mean) ** 2).sum() + n_zero * mean**2) / matrix.shape[0]))
        scales[j] = 2 * spread if spread > 1e-9 * float(np.abs(values).max(initial=0.0)) else 1.0
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
        return without_unused_levels(Category(covariate.codes[documents], covariate.levels))
    return Members(sp.csr_array(covariate.matrix[documents]), covariate.levels)


def _one_line(error: Exception) -> str:
    return " ".join(MARKS.sub("", str(error)).split())
