"""Covariates of documents: the tags of a kind, single tags, and columns of a table beside the corpus."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s
from tagtopic.corpus.tags import kind_of

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

NONE, OTHER = "(none)", "(other)"
"""The level of documents without a tag of a kind, and of those whose tag is not among the most frequent ones."""

MAX_LEVELS = 1000
"""Levels of a kind that a formula has; rarer ones are joined."""


@dataclass(frozen=True)
class Number:
    """A numeric covariate; NaN where a document has none."""

    values: Float64s


@dataclass(frozen=True)
class Category:
    """A covariate with one level per document, most frequent level first."""

    codes: Any
    levels: tuple[str, ...]

    @property
    def values(self) -> Any:
        """The level of each document."""
        return np.array(self.levels, object)[self.codes]


@dataclass(frozen=True)
class Members:
    """A kind of which a document may have several tags: 0/1 (documents, levels), most frequent first."""

    matrix: Any
    levels: tuple[str, ...]


Covariate = Number | Category | Members


def columns_of(data: Any, n_documents: int) -> dict[str, Any]:
    """Return the columns of a table (pandas, polars, Arrow, or a mapping of arrays) as arrays.

    Raises
    ------
    TypeError
        If it is no table.
    ValueError
        If its length is not that of the corpus.
    """
    if data is None:
        return {}
    if isinstance(data, Mapping):
        columns = {str(name): np.asarray(values) for name, values in data.items()}
    else:
        import narwhals as nw

        try:
            frame = nw.from_native(data, eager_only=True)
        except TypeError:
            raise TypeError(f"data is a {type(data).__name__}: expected a data frame or a mapping of columns") from None
        columns = {name: frame[name].to_numpy() for name in frame.columns}
    for name, values in columns.items():
        if values.ndim != 1:
            raise ValueError(f"column {name!r} has {values.ndim} dimensions: expected one value per document")
        if len(values) != n_documents:
            raise ValueError(f"column {name!r} has {len(values)} values, and the corpus {n_documents} documents")
    return columns


def find_covariate(name: str, corpus: Corpus, columns: Mapping[str, Any], max_levels: int = MAX_LEVELS) -> Covariate:
    """Return the covariate of a name: a column of the table, a kind of tag, or a tag, in this order.

    Raises
    ------
    ValueError
        If there is none of this name; the message suggests similar ones.
    """
    if name in columns:
        return _column(columns[name], max_levels)
    kinds = sorted({kind for kind in corpus.tag_kinds if kind})
    if name in kinds:
        return _kind(name, corpus, max_levels)
    if name in corpus.tag_names:
        number = corpus.tag_names.index(name)
        return Number(np.asarray(corpus.tags[:, [number]].toarray()[:, 0] > 0, np.float64))
    known = [*columns, *kinds, *corpus.tag_names]
    near = difflib.get_close_matches(name, known[:100_000], n=3)
    hint = f"; near it are {', '.join(map(repr, near))}" if near else ""
    listed = ", ".join(kinds[:20]) or "none"
    raise ValueError(f"there is no column, kind or tag {name!r} (kinds of tags: {listed}){hint}")


def _column(values: Any, max_levels: int) -> Covariate:
    if values.dtype.kind in "biuf":
        return Number(values.astype(np.float64))
    if values.dtype.kind == "M":
        missing = np.isnat(values)
        days = values.astype("datetime64[D]").astype(np.float64)
        return Number(np.where(missing, np.nan, 1970.0 + days / 365.2425))
    texts = ["" if value is None or value != value else str(value) for value in values.tolist()]
    return _category([text or NONE for text in texts], max_levels)


def _kind(kind: str, corpus: Corpus, max_levels: int) -> Covariate:
    tags = [i for i, name in enumerate(corpus.tag_names) if kind_of(name) == kind]
    matrix = sp.csr_array(corpus.tags[:, tags]).astype(np.float64)
    levels = [corpus.tag_names[i].partition(":")[2] for i in tags]
    sizes = np.diff(matrix.indptr)
    if sizes.max(initial=0) > 1:
        order = np.argsort(-np.bincount(matrix.indices, minlength=len(levels)), kind="stable")[:max_levels]
        return Members(sp.csr_array(matrix[:, order]), tuple(levels[i] for i in order))
    codes = np.full(len(corpus), -1, np.int64)
    codes[sizes > 0] = matrix.indices
    numbers = numbers_of(levels)
    if numbers is not None:
        return Number(np.where(codes >= 0, numbers[codes], np.nan))
    return _category([levels[code] if code >= 0 else NONE for code in codes.tolist()], max_levels)


def numbers_of(texts: Any) -> Float64s | None:
    """Return texts as numbers, None unless all of them are."""
    try:
        return np.array([float(text) for text in texts])
    except ValueError:
        return None


def levels_of(covariate: Number, max_levels: int) -> Category:
    """Return a number as levels, most frequent first."""
    return _category([level_name(value) for value in covariate.values.tolist()], max_levels)


def level_name(value: float) -> str:
    """Return the level that stands for a number."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def without_unused_levels(covariate: Category) -> Category:
    """Return the covariate without the levels that no document has."""
    used = np.unique(covariate.codes)
    if len(used) == len(covariate.levels):
        return covariate
    return Category(np.searchsorted(used, covariate.codes), tuple(covariate.levels[code] for code in used))


def _category(texts: list[str], max_levels: int) -> Category:
    names, codes, counts = np.unique(np.array(texts, object), return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    codes = rank[codes]
    levels = [str(names[i]) for i in order]
    if len(levels) > max_levels:
        codes = np.minimum(codes, max_levels)
        levels = [*levels[:max_levels], OTHER]
    return Category(codes, tuple(levels))
