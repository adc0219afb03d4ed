"""What is handed to a `Corpus`, checked at the door."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tagtopic.corpus import frames, matrices
from tagtopic.corpus.names import Names


def names(given: Iterable[str], what: str) -> tuple[str, ...]:
    """Distinct strings that can be stored, or an error that says which is not."""
    if isinstance(given, str):
        raise TypeError(f"{what} is one string, {given!r}: expected a list of names")
    result = tuple(given)
    try:
        Names.of(result)
    except TypeError as error:
        raise TypeError(f"in {what}, {error}") from None
    except ValueError as error:
        raise ValueError(f"in {what}, {error}") from None
    if len(set(result)) != len(result):
        repeated = Counter(result).most_common(1)[0][0]
        raise ValueError(f"{what} has {repeated!r} more than once: every column needs a name of its own")
    return result


def column_names(given: Iterable[str] | None, what: str, prefix: str, n: int) -> tuple[str, ...]:
    """The names of n columns, numbered ones if none are given."""
    if given is None:
        return tuple(f"{prefix}_{j}" for j in range(n))
    result = names(given, what)
    if len(result) != n:
        raise ValueError(f"there are {n} columns but {len(result)} {what}")
    return result


def ids(given: Iterable[str] | None, n_documents: int) -> Names:
    """The ids of n documents, numbers if none are given."""
    result = Names.numbered(n_documents) if given is None else Names.of(given)
    if len(result) != n_documents:
        raise ValueError(f"there are {n_documents} documents but {len(result)} ids")
    return result


def tags(given: Any, tag_names: Iterable[str] | None, n_documents: int) -> dict[str, Any]:
    """The `tags` and `tag_names` of a corpus from lists of names, a matrix, or None."""
    if given is None:
        given = [()] * n_documents
    if matrices.is_matrix(given):
        matrix = matrices.tags_matrix(frames.matrix_of(given, "tags"))
        given_names = frames.column_names(given) if tag_names is None else tag_names
        all_names = column_names(given_names, "tag_names", "tag", matrix.shape[1])
    else:
        wanted = None if tag_names is None else names(tag_names, "tag_names")
        matrix, all_names = matrices.tags_matrix_from_lists(given, wanted)
        names(all_names, "tags")
    if matrix.shape[0] != n_documents:
        raise ValueError(f"there are {n_documents} documents but tags for {matrix.shape[0]}")
    return {"tags": matrix, "tag_names": all_names}
