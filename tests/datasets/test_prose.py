"""Only what a person would read is left of a docstring."""

from tagtopic.datasets.python_docs import prose


def test_doctests_and_their_output_are_dropped() -> None:
    text = "Sum the numbers.\n\n>>> total([1, 2])\n3\n\nNothing else happens.\n"
    assert prose(text).split("\n") == ["Sum the numbers.", "Nothing else happens."]


def test_underlines_and_code_sections_are_dropped_and_the_others_kept() -> None:
    text = """Solve it.

    Parameters
    ----------
    a, b : array_like of shape (n, n), optional
        The matrix.

    References
    ----------
    .. [1] A. Author, Journal of Matrices.

    Notes
    -----
    Uses LAPACK [1]_.

    Examples
    --------
    >>> solve(a)
    array([1., 2.])
    """
    words = prose(text).split()
    assert "matrix." in words
    assert {"a,", "b"} < set(words)
    assert "LAPACK" in words
    assert not {"----------", "Author,", "array([1.,", "[1]_.", "References", "array_like"} & set(words)


def test_literal_blocks_and_directives_are_dropped() -> None:
    text = (
        "Run it like this::\n\n    import os\n    os.fork()\n\nThen wait.\n\n.. versionadded:: 3.2\n\n"
        ".. autosummary::\n   :toctree:\n\n   fork\n\nDone."
    )
    assert prose(text).split("\n") == ["Run it like this::", "Then wait.", "Done."]


def test_roles_fields_addresses_and_maths_leave_their_words() -> None:
    text = ":param path: see :func:`os.path.join` and `~pathlib.Path` at https://example.org/x for $x^2$ and \\alpha"
    assert prose(text).split() == ["path", "see", "os.path.join", "and", "~pathlib.Path", "at", "for", "and"]


def test_an_empty_docstring_has_no_prose() -> None:
    assert prose("") == ""
    assert prose("\n   \n") == ""
