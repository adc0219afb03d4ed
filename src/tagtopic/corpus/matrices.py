"""From what people hand over (sparse, dense, lists of names) to the two matrices of a corpus, or a clear error.

Both are `scipy.sparse.csr_array` with int32 columns, sorted and unique in each row, int32 row offsets and
read-only arrays. Past two thousand million entries the offsets are int64: scipy's own constructor would then
make the columns int64 too, copying a memory map to do it, so `csr` puts the arrays in place itself.

Data frames of numbers (pandas, polars): a matrix and the names of its columns. Neither library is imported.

What is handed to a `Corpus`, checked at the door.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tagtopic._core import arrays
from tagtopic._core.arrays import offsets_of, row_blocks
from tagtopic._core.jit import compiled
from tagtopic._core.memmap import file_of, release
from tagtopic._core.strings import StringArray


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


INT32_MAX = 2**31 - 1
FLOAT32_MAX = float(np.finfo(np.float32).max)


def csr(offsets: NDArray[Any], columns: NDArray[np.int32], data: NDArray[Any], n_columns: int) -> Any:
    """A canonical `csr_array` over these arrays as they are, made read-only."""
    if offsets[-1] <= INT32_MAX:
        offsets = offsets.astype(np.int32, copy=False)  # of one type with the columns, as scipy's operations want it
    matrix = sp.csr_array((len(offsets) - 1, n_columns), dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data.view(), columns.view(), offsets.view()
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    matrix.has_canonical_format = True
    return matrix


def take_range(matrix: Any, start: int, stop: int) -> Any:
    """Rows start to stop of a matrix made by `csr`, sharing its columns and data."""
    offsets, columns = arrays.take_row_range(matrix.indptr, matrix.indices, start, stop)
    _, data = arrays.take_row_range(matrix.indptr, matrix.data, start, stop)
    return csr(offsets, columns, data, matrix.shape[1])


def take(matrix: Any, rows: NDArray[np.int64]) -> Any:
    """Any rows of a matrix made by `csr`, in this order."""
    offsets, columns = arrays.take_rows(matrix.indptr, matrix.indices, rows)
    _, data = arrays.take_rows(matrix.indptr, matrix.data, rows)
    return csr(offsets, columns, data, matrix.shape[1])


def move_columns(matrix: Any, target: NDArray[np.int32], n_columns: int) -> Any:
    """The matrix with column j moved to target[j], or dropped where that is negative; targets are distinct."""
    columns = target[matrix.indices] if matrix.nnz else matrix.indices
    keep = columns >= 0
    offsets = offsets_of(keep)[matrix.indptr]
    columns, data = columns[keep], matrix.data[keep]
    if (np.diff(target[target >= 0]) < 0).any():
        moved = sp.csr_array((data, columns, offsets), shape=(len(offsets) - 1, n_columns))
        moved.sort_indices()
        columns, data = moved.indices.astype(np.int32, copy=False), moved.data
    return csr(offsets, columns, data, n_columns)


def keep_columns(matrix: Any, kept: NDArray[np.bool_]) -> Any:
    """The matrix with only these columns filled; it has as many as before."""
    return move_columns(matrix, np.where(kept, np.arange(len(kept)), -1).astype(np.int32), len(kept))


def counts_matrix(counts: Any, *, fractional: bool = False) -> Any:
    """Documents x words as int32 counts; entries given twice are added, explicit zeros are dropped.

    With `fractional`, entries need not be whole; if any is not, they are float32.
    """
    return _whole_number_matrix(counts, "counts", "word", fractional=fractional)


def tags_matrix(tags: Any) -> Any:
    """Documents x tags as ones; a tag given more than once to a document counts once."""
    matrix = _whole_number_matrix(tags, "tags", "tag")
    return csr(matrix.indptr, matrix.indices, np.ones(matrix.nnz, dtype=np.int8), matrix.shape[1])


def tags_matrix_from_lists(tags: Iterable[Any], names: Sequence[str] | None) -> tuple[Any, tuple[str, ...]]:
    """Documents x tags and the tags' names (sorted, unless given) from one list of names per document."""
    rows = [_tag_list(document_tags, i) for i, document_tags in enumerate(tags)]
    if names is None:
        names = sorted({tag for row in rows for tag in row})
    column = {name: j for j, name in enumerate(names)}
    for i, row in enumerate(rows):
        for tag in row:
            if tag not in column:
                raise ValueError(f"document {i} has the tag {tag!r}, which is not among the {len(column)} tag_names")
    columns = [sorted({column[tag] for tag in row}) for row in rows]
    offsets = arrays.offsets_of(np.fromiter(map(len, columns), dtype=np.int64, count=len(columns)))
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
    """Any matrix of whole numbers in canonical form, or a `ValueError` that names the document at fault."""
    _check_shape(values, what, column)
    if fractional and (parts := _fractional_parts(values, what)) is not None:
        return csr(*parts)
    if sp.issparse(values) and values.format == "csr" and values.has_canonical_format:
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
    """The parts of a canonical float32 matrix if any entry is not whole, else None."""
    matrix = sp.csr_array(values, copy=True)
    if matrix.dtype.kind != "f" or np.array_equal(matrix.data, np.floor(matrix.data)):
        return None
    matrix.sum_duplicates()
    wrong = np.flatnonzero(~((matrix.data >= 0) & (matrix.data <= FLOAT32_MAX)))  # NaN compares false
    if len(wrong):
        raise ValueError(
            f"document {_row_of(matrix, wrong)} has the value {matrix.data[wrong[0]]} in {what}: "
            f"they must be numbers from 0 to {FLOAT32_MAX:.4g}"
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
    """Refuse negative, fractional, infinite and NaN entries, naming the first document that has one."""
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
    """Distinct strings that can be stored, or an error that says which is not."""
    if isinstance(given, str):
        raise TypeError(f"{what} is one string, {given!r}: expected a list of names")
    result = tuple(given)
    try:
        StringArray.of(result)
    except TypeError as error:
        raise TypeError(f"in {what}, {error}") from None
    except ValueError as error:
        raise ValueError(f"in {what}, {error}") from None
    if len(set(result)) != len(result):
        repeated = Counter(result).most_common(1)[0][0]
        raise ValueError(f"{what} has {repeated!r} more than once: every column needs a name of its own")
    return result


def check_column_names(given: Iterable[str] | None, what: str, prefix: str, n: int) -> tuple[str, ...]:
    """The names of n columns, numbered ones if none are given."""
    if given is None:
        return tuple(f"{prefix}_{j}" for j in range(n))
    result = check_names(given, what)
    if len(result) != n:
        raise ValueError(f"there are {n} columns but {len(result)} {what}")
    return result


def check_ids(given: Iterable[str] | None, n_documents: int) -> StringArray:
    """The ids of n documents, numbers if none are given."""
    result = StringArray.numbered(n_documents) if given is None else StringArray.of(given)
    if len(result) != n_documents:
        raise ValueError(f"there are {n_documents} documents but {len(result)} ids")
    return result


def check_tags(given: Any, tag_names: Iterable[str] | None, n_documents: int) -> dict[str, Any]:
    """The `tags` and `tag_names` of a corpus from lists of names, a matrix, or None."""
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


BLOCK_ENTRIES = 1 << 21
"""Entries of a matrix that are looked at before their pages are given back."""


def damaged(path: Path, what: str) -> ValueError:
    """The error of a saved corpus whose files do not fit together."""
    return ValueError(f"the corpus at {path} is damaged: {what}. Make it again from its source")


def never_fall(offsets: NDArray[Any]) -> bool:
    """Whether no offset is less than the one before it."""
    for start in range(0, len(offsets) - 1, BLOCK_ENTRIES):
        block = offsets[start : start + BLOCK_ENTRIES + 1]
        if (block[1:] < block[:-1]).any():
            return False
        release(block)
    return True


def check_columns(matrix: Any) -> None:
    """Refuse a matrix in files with a column that it does not have: kernels take columns as they come."""
    if file_of(matrix.indices) is not None:
        column_sizes(matrix)


def parts(matrix: Any, *, with_data: bool = True) -> Iterator[tuple[int, int, Any, Any]]:
    """The matrix's rows part by part: (first row, last row, columns, values); pages are given back after each part."""
    starts = matrix.indptr
    for first, last in row_blocks(starts, BLOCK_ENTRIES):
        entries = slice(int(starts[first]), int(starts[last]))
        columns, values = matrix.indices[entries], matrix.data[entries]
        yield first, last, columns, values
        release(columns, values) if with_data else release(columns)


def row_sums(matrix: Any) -> NDArray[Any]:
    """The sum of each row, whole numbers where the matrix has whole numbers."""
    dtype = np.float64 if matrix.data.dtype.kind == "f" else np.int64
    sums = np.zeros(matrix.shape[0], dtype=dtype)
    for first, last, _, values in parts(matrix):
        starts = matrix.indptr[first : last + 1] - matrix.indptr[first]
        filled = np.flatnonzero(np.diff(starts))  # reduceat has no sum of nothing
        if len(filled):
            sums[first:last][filled] = np.add.reduceat(values, starts[filled], dtype=dtype)
    return sums


def column_sums(matrix: Any) -> NDArray[np.float64]:
    """The sum of each column, ``np.bincount(indices, weights=data)`` without its copies."""
    sums = np.zeros(matrix.shape[1])
    for _, _, columns, values in parts(matrix):
        if not _add_to_columns(columns, values, sums):
            raise _wrong_column(columns, len(sums))
    return sums


def column_sizes(matrix: Any) -> NDArray[np.int64]:
    """The number of entries in each column."""
    sizes = np.zeros(matrix.shape[1], np.int64)
    for _, _, columns, _ in parts(matrix, with_data=False):
        if not _count_columns(columns, sizes):
            raise _wrong_column(columns, len(sizes))
    return sizes


def _wrong_column(columns: NDArray[Any], n_columns: int) -> ValueError:
    wrong = columns[(columns < 0) | (columns >= n_columns)][0]
    file = file_of(columns)
    if file is None:
        return ValueError(f"an entry is in column {wrong} of a matrix with {n_columns} columns")
    return damaged(file.parent, f"{file.name} has an entry in column {wrong}, and there are {n_columns}")


@compiled
def _add_to_columns(columns: Any, values: Any, sums: Any) -> bool:
    """``np.add.at(sums, columns, values)``, and whether all columns are there; it ends at the first that is not."""
    for i in range(columns.size):
        if not 0 <= columns[i] < sums.size:
            return False
        sums[columns[i]] += values[i]
    return True


@compiled
def _count_columns(columns: Any, sizes: Any) -> bool:
    """``np.add.at(sizes, columns, 1)``, and whether all columns are there; it ends at the first that is not."""
    for i in range(columns.size):
        if not 0 <= columns[i] < sizes.size:
            return False
        sizes[columns[i]] += 1
    return True
