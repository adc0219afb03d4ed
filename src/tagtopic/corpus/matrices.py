"""From what people hand over (sparse, dense, lists of names) to the two matrices of a corpus, or a clear error.

Both are `scipy.sparse.csr_array` with int32 columns, sorted and unique in each row, int32 row offsets and
read-only arrays. Past two thousand million entries the offsets are int64: scipy's own constructor would then
make the columns int64 too, copying a memory map to do it, so `csr` puts the arrays in place itself.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tagtopic.corpus import frames, ragged
from tagtopic.corpus.ragged import offsets_of

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
    offsets, columns = ragged.take_range(matrix.indptr, matrix.indices, start, stop)
    _, data = ragged.take_range(matrix.indptr, matrix.data, start, stop)
    return csr(offsets, columns, data, matrix.shape[1])


def take(matrix: Any, rows: NDArray[np.int64]) -> Any:
    """Any rows of a matrix made by `csr`, in this order."""
    offsets, columns = ragged.take(matrix.indptr, matrix.indices, rows)
    _, data = ragged.take(matrix.indptr, matrix.data, rows)
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
    offsets = ragged.offsets_of(np.fromiter(map(len, columns), dtype=np.int64, count=len(columns)))
    flat = np.fromiter((j for row in columns for j in row), dtype=np.int32, count=int(offsets[-1]))
    return csr(offsets, flat, np.ones(len(flat), dtype=np.int8), len(column)), tuple(names)


def is_matrix(tags: Any) -> bool:
    """Whether tags are a matrix (sparse, an array of numbers, a data frame) rather than lists of names."""
    if sp.issparse(tags) or frames.is_frame(tags):
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
