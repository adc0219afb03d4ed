"""Data frames of numbers (pandas, polars): a matrix and the names of its columns. Neither library is imported."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_frame(table: Any) -> bool:
    """Whether it is a data frame."""
    return hasattr(table, "to_numpy") and hasattr(table, "columns") and len(getattr(table, "shape", ())) == 2


def column_names(table: Any) -> tuple[str, ...] | None:
    """The names of a data frame's columns; None if they are not strings, or it is no data frame."""
    if not is_frame(table):
        return None
    names = tuple(table.columns)
    return names if all(isinstance(name, str) for name in names) else None


def matrix_of(table: Any, what: str) -> Any:
    """The numbers of a data frame, NaN where there are none; anything else as it is."""
    if not is_frame(table):
        return table
    values = table.to_numpy()
    if values.dtype.kind in "buif":
        return values
    # numbers that may be missing, or of more than one type, come as objects
    columns = [_numbers(_column(table, j), name, what) for j, name in enumerate(table.columns)]
    return np.column_stack(columns) if columns else np.zeros(table.shape)


def require_numbers(table: Any, what: str) -> None:
    """Raise if a data frame has a column of something else; its values are not looked at."""
    for name, dtype in zip(table.columns, table.dtypes, strict=True):
        _check_type(dtype, name, what)


def _column(frame: Any, j: int) -> Any:
    return frame.iloc[:, j] if hasattr(frame, "iloc") else frame[:, j]


def _numbers(column: Any, name: Any, what: str) -> NDArray[np.float64]:
    _check_type(column.dtype, name, what)
    missing = {"dtype": np.float64, "na_value": np.nan} if hasattr(column, "iloc") else {}
    values: NDArray[np.float64] = column.to_numpy(**missing).astype(np.float64)
    return values


def _check_type(dtype: Any, name: Any, what: str) -> None:
    if not _has_numbers(dtype):
        raise TypeError(
            f"{what} is a data frame whose column {name!r} is of type {dtype}: expected numbers in every column "
            "(Corpus.read takes a data frame with columns of texts and tags)"
        )


def _has_numbers(dtype: Any) -> bool:
    """Whether a type of NumPy's, pandas' or polars' is one of numbers or of truth values."""
    if hasattr(dtype, "kind"):
        return dtype.kind in "buif"
    return str(dtype) == "Boolean" or bool(dtype.is_numeric())
