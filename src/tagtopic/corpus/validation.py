"""Input validation: what users pass (sparse, dense, data frames, lists of names) as the parts of a corpus, or an error.

Data frames (pandas, polars) are recognised by their methods; neither library is imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tagtopic._core.arrays import offsets_of
from tagtopic._core.strings import StringArray
from tagtopic.corpus.matrices import INT32_MAX, csr, is_nondecreasing, is_sorted


def is_frame(table: Any) -> bool:
    """Whether it is a data frame."""
    return hasattr(table, "to_numpy") and hasattr(table, "columns") and len(getattr(table, "shape", ())) == 2


def column_names(table: Any) -> tuple[str, ...] | None:
    """Return the names of a data frame's columns; None if they are not strings, or it is no data frame."""
    if not is_frame(table):
        return None
    names = tuple(table.columns)
    return names if all(isinstance(name, str) for name in names) else None


def matrix_of(table: Any, what: str) -> Any:
    """Return the numbers of a data frame, NaN for missing values; anything else unchanged."""
    if not is_frame(table):
        return table
    values = table.to_numpy()
    if values.dtype.kind in "buif":
        return values
    # numbers that may be missing, or of more than one type, come as objects
    columns = [_numbers(_column(table, j), name, what) for j, name in enumerate(table.columns)]
    return np.column_stack(columns) if columns else np.zeros(table.shape)


def require_numbers(table: Any, what: str) -> None:
    """Raise unless all columns of a data frame are numeric; only their types are checked."""
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
    """Whether a NumPy, pandas or polars type is numeric or Boolean."""
    if hasattr(dtype, "kind"):
        return dtype.kind in "buif"
    return str(dtype) == "Boolean" or bool(dtype.is_numeric())


def check_array(values: Any, what: str) -> Any:
    """Return a matrix whose indices are within its shape, or raise; other values are returned unchanged.

    SciPy does not check the indices of a sparse matrix, and reads and writes memory outside its arrays when it converts
    one whose indices are wrong. Its cached flags about the order of entries are dropped: they may be outdated.
    """
    if np.ma.is_masked(values):
        raise ValueError(f"{what} has masked entries: fill them first, as in {what}.filled(0)")
    if not sp.issparse(values) or values.ndim != 2:
        return values
    if values.format in ("csr", "csc"):
        n_major, n_minor = values.shape if values.format == "csr" else values.shape[::-1]
        _check_indices(values, n_major, n_minor, what)
        kind = sp.csr_array if values.format == "csr" else sp.csc_array
        return kind((values.data, values.indices, values.indptr), shape=values.shape)
    if values.format == "bsr":
        rows, columns = (n // size for n, size in zip(values.shape, values.blocksize, strict=True))
        _check_indices(values, rows, columns, what)
        return sp.bsr_array((values.data, values.indices, values.indptr), shape=values.shape)
    if values.format == "lil" and [*map(len, values.rows)] != [*map(len, values.data)]:
        raise ValueError(f"{what} has other numbers of columns than of values in some row: it is damaged")
    try:
        entries = values if values.format == "coo" else values.tocoo()
    except (ValueError, IndexError) as error:
        raise ValueError(f"{what} is damaged: {error}") from None
    for axis, (indices, size) in enumerate(zip(entries.coords, entries.shape, strict=True)):
        if len(indices) != len(entries.data):
            raise ValueError(f"{what} has {len(indices)} indices for {len(entries.data)} values: it is damaged")
        _check_range(indices, size, ("row", "column")[axis], what)
    return sp.coo_array((entries.data, entries.coords), shape=entries.shape)


def _check_indices(matrix: Any, n_major: int, n_minor: int, what: str) -> None:
    starts, indices = matrix.indptr, matrix.indices
    if (
        starts.dtype.kind != "i"
        or starts.shape != (n_major + 1,)
        or starts[0] != 0
        or not is_nondecreasing(starts)  # np.diff could overflow
        or indices.ndim != 1
        or starts[-1] > min(len(indices), len(matrix.data))
    ):
        raise ValueError(f"the indptr of {what} does not fit its shape, indices and data: the matrix is damaged")
    _check_range(indices[: starts[-1]], n_minor, "column" if matrix.format != "csc" else "row", what)


def _check_range(indices: NDArray[Any], size: int, axis: str, what: str) -> None:
    if indices.dtype.kind != "i":
        raise TypeError(f"the indices of {what} are of type {indices.dtype}: they must be whole numbers")
    if len(indices) and (indices.min() < 0 or indices.max() >= size):
        wrong = indices[(indices < 0) | (indices >= size)][0]
        raise ValueError(f"{what} has an entry in {axis} {wrong}, and there are {size} {axis}s: the matrix is damaged")


def counts_matrix(counts: Any, *, fractional: bool = False) -> Any:
    """Return documents x words as int32 counts; duplicate entries are added, explicit zeros dropped.

    With `fractional`, entries need not be whole numbers; if any is not, all are float32.
    """
    return _whole_number_matrix(counts, "counts", "word", fractional=fractional)


def tags_matrix(tags: Any) -> Any:
    """Return documents x tags as ones; a tag given more than once to a document counts once."""
    matrix = _whole_number_matrix(tags, "tags", "tag")
    return csr(matrix.indptr, matrix.indices, np.ones(matrix.nnz, dtype=np.int8), matrix.shape[1])


def tags_matrix_from_lists(tags: Iterable[Any], names: Sequence[str] | None) -> tuple[Any, tuple[str, ...]]:
    """Return documents x tags and the names of the tags, sorted unless given, from a list of names per document."""
    rows = [_tag_list(document_tags, i) for i, document_tags in enumerate(tags)]
    if names is None:
        names = sorted({tag for row in rows for tag in row})
    column = {name: j for j, name in enumerate(names)}
    for i, row in enumerate(rows):
        for tag in row:
            if tag not in column:
                raise ValueError(f"document {i} has the tag {tag!r}, which is not among the {len(column)} tag_names")
    columns = [sorted({column[tag] for tag in row}) for row in rows]
    offsets = offsets_of(np.fromiter(map(len, columns), dtype=np.int64, count=len(columns)))
    flat = np.fromiter((j for row in columns for j in row), dtype=np.int32, count=int(offsets[-1]))
    return csr(offsets, flat, np.ones(len(flat), dtype=np.int8), len(column)), tuple(names)


def is_matrix(tags: Any) -> bool:
    """Whether tags are a matrix (sparse, an array of numbers, a data frame) rather than lists of names."""
    if sp.issparse(tags) or is_frame(tags):
        return True
    dtype = getattr(tags, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind in "buifc"


def _tag_list(tags: Any, document: int) -> list[str]:
    if tags is None:
        return []
    if isinstance(tags, str | bytes) or not isinstance(tags, Iterable):
        raise TypeError(
            f"the tags of document {document} are {tags!r}: expected a list of names, as in "
            '[["author:Ada", "year:1843"], …]'
        )
    row = list(tags)
    for tag in row:
        if not isinstance(tag, str):
            raise TypeError(
                f"document {document} has the tag {tag!r}, a {type(tag).__name__}: tags are strings "
                "(for a matrix of zeros and ones pass a numpy or scipy.sparse array)"
            )
        if not tag:
            raise ValueError(f"document {document} has an empty tag")
    return row


def _whole_number_matrix(values: Any, what: str, column: str, *, fractional: bool = False) -> Any:
    """Return a matrix of whole numbers in canonical form, or raise a `ValueError` that names the document."""
    _check_shape(values, what, column)
    values = check_array(values, what)
    if fractional and (parts := _fractional_parts(values, what)) is not None:
        return csr(*parts)
    if sp.issparse(values) and values.format == "csr" and is_sorted(values.indptr, values.indices):
        matrix = values  # the common and the large case: nothing to add up, so no detour through coordinates
        _check_whole(values.data, lambda at: _row_of(values, at), what)
    else:
        entries = sp.coo_array(values)
        _check_whole(entries.data, lambda at: int(entries.coords[0][at].min()), what)
        # int64 first: entries given twice are added, and their sum may be past int32
        matrix = sp.csr_array(entries.astype(np.int64))
        matrix.sum_duplicates()
    if matrix.nnz and matrix.data.max() > INT32_MAX:
        at = np.array([matrix.data.argmax()])
        raise ValueError(f"document {_row_of(matrix, at)} has {matrix.data[at[0]]} in {what}; the most is {INT32_MAX}")
    offsets, columns, data = matrix.indptr, matrix.indices, matrix.data
    used = data != 0
    if not used.all():
        offsets, columns, data = offsets_of(used)[offsets], columns[used], data[used]
    # copies, so that nothing the caller does to their matrix later can reach the corpus
    return csr(offsets.astype(np.int64), columns.astype(np.int32), data.astype(np.int32), int(matrix.shape[1]))


def _fractional_parts(values: Any, what: str) -> tuple[Any, ...] | None:
    """Return the parts of a canonical float32 matrix if any entry is not a whole number, else None."""
    matrix = sp.csr_array(values, copy=True)
    if matrix.dtype.kind != "f" or np.array_equal(matrix.data, np.floor(matrix.data)):
        return None
    matrix.sum_duplicates()
    wrong = np.flatnonzero(~((matrix.data >= 0) & (matrix.data <= INT32_MAX)))  # NaN compares false
    if len(wrong):
        raise ValueError(
            f"document {_row_of(matrix, wrong)} has the value {matrix.data[wrong[0]]} in {what}: "
            f"they must be numbers from 0 to {INT32_MAX}"
        )
    matrix = matrix.astype(np.float32)
    matrix.eliminate_zeros()  # also what is too small for float32
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data, int(matrix.shape[1])


def _check_shape(values: Any, what: str, column: str) -> None:
    dtype, shape = (values.dtype, values.shape) if sp.issparse(values) else (np.asarray(values).dtype, np.shape(values))
    if len(shape) != 2:
        raise ValueError(f"{what} must have two dimensions (documents x {column}s), not {len(shape)}")
    if dtype.kind not in "buif":
        raise TypeError(f"{what} must be whole numbers; they are of type {dtype}")
    if shape[1] > INT32_MAX:
        raise ValueError(f"{what} has {shape[1]} columns; at most {INT32_MAX} are possible")


def _row_of(matrix: Any, at: NDArray[Any]) -> int:
    return int(np.searchsorted(matrix.indptr, at[0], side="right")) - 1


def _check_whole(data: NDArray[Any], document: Callable[[NDArray[Any]], int], what: str) -> None:
    """Raise for negative, fractional, infinite and NaN entries, naming the first document that has one."""
    if data.dtype.kind == "b":
        return
    wrong = ~((data >= 0) & (data <= INT32_MAX))  # NaN compares false
    if data.dtype.kind == "f":
        wrong |= data != np.floor(data)
    if wrong.any():
        at = np.flatnonzero(wrong)
        raise ValueError(
            f"document {document(at)} has the value {data[at[0]]} in {what}: "
            f"they must be whole numbers from 0 to {INT32_MAX}"
        )


def check_names(given: Iterable[str], what: str) -> tuple[str, ...]:
    """Return the names as a tuple; raise unless they are distinct strings that UTF-8 can encode."""
    if isinstance(given, str):
        raise TypeError(f"{what} is one string, {given!r}: expected a list of names")
    result = tuple(given)
    try:
        StringArray.of(result)
    except TypeError as error:
        raise TypeError(f"in {what}, {error}") from None
    except ValueError as error:
        raise ValueError(f"in {what}, {error}") from None
    require_distinct(result, what)
    return result


def require_distinct(names: Sequence[str], what: str) -> None:
    """Raise if a name occurs twice."""
    if len(set(names)) != len(names):
        repeated = Counter(names).most_common(1)[0][0]
        raise ValueError(f"{what} has {repeated!r} more than once: every column needs a name of its own")


def check_column_names(given: Iterable[str] | None, what: str, prefix: str, n: int) -> tuple[str, ...]:
    """Return the names of n columns, numbered by default."""
    if given is None:
        return tuple(f"{prefix}_{j}" for j in range(n))
    result = check_names(given, what)
    if len(result) != n:
        raise ValueError(f"there are {n} columns but {len(result)} {what}")
    return result


def index_of(texts: Any) -> list[str] | None:
    """Return the labels of the index of a pandas series as ids, None if the texts have no index."""
    index = getattr(texts, "index", None)
    return None if index is None or callable(index) else [str(label) for label in index]


def check_ids(given: Iterable[str] | None, n_documents: int) -> StringArray:
    """Return the ids of n documents, "0", "1", … by default."""
    result = StringArray.numbered(n_documents) if given is None else StringArray.of(given)
    if len(result) != n_documents:
        raise ValueError(f"there are {n_documents} documents but {len(result)} ids")
    return result


def check_tags(given: Any, tag_names: Iterable[str] | None, n_documents: int) -> dict[str, Any]:
    """Return the arguments `tags` and `tag_names` of a corpus from lists of names, a matrix, or None."""
    if given is None:
        given = [()] * n_documents
    if is_matrix(given):
        matrix = tags_matrix(matrix_of(given, "tags"))
        given_names = column_names(given) if tag_names is None else tag_names
        all_names = check_column_names(given_names, "tag_names", "tag", matrix.shape[1])
    else:
        wanted = None if tag_names is None else check_names(tag_names, "tag_names")
        matrix, all_names = tags_matrix_from_lists(given, wanted)
        check_names(all_names, "tags")
    if matrix.shape[0] != n_documents:
        raise ValueError(f"there are {n_documents} documents but tags for {matrix.shape[0]}")
    return {"tags": matrix, "tag_names": all_names}
