"""The documentation of the installed Python: its corpus, its docstrings and their prose."""

import gc
import sys
from pathlib import Path

import pytest

from tagtopic.corpus import Corpus
from tagtopic.datasets import load_python_docs
from tagtopic.datasets.python_docs import Docstring, package_docstrings, prose


@pytest.fixture(scope="module")
def joblib() -> Corpus:
    return load_python_docs(["joblib"], min_tag_documents=1)


def test_documents_are_named_and_tagged(joblib: Corpus) -> None:
    tags = joblib[list(joblib.ids).index("joblib.hashing.hash")].tags
    assert {"package:joblib", "module:joblib.hashing", "kind:function", "parameter:obj", "raises:ValueError"} <= set(
        tags
    )
    assert set(joblib.tag_kinds) == {"package", "module", "kind", "parameter", "raises"}
    assert len(set(joblib.ids)) == len(joblib)


def test_the_same_installation_gives_the_same_corpus(joblib: Corpus) -> None:
    assert load_python_docs(["joblib"], min_tag_documents=1).fingerprint() == joblib.fingerprint()


def test_rare_tags_and_short_docstrings_are_left_out(joblib: Corpus) -> None:
    pruned = load_python_docs(["joblib"], min_words=40, min_tag_documents=10)
    assert len(pruned) < len(joblib)
    assert pruned.tags.sum(axis=0).min() >= 1
    assert 0 < pruned.n_tags < joblib.n_tags


def test_garbage_collection_is_restored() -> None:
    assert gc.isenabled()
    with pytest.raises(ValueError, match="no_such_package: are they installed"):
        load_python_docs(["no_such_package"])
    assert gc.isenabled()


def test_the_default_corpus_is_large() -> None:
    corpus = load_python_docs(["numpy", "joblib"])
    assert len(corpus) > 1000
    assert {"package:joblib", "package:numpy", "raises:ValueError", "parameter:axis"} <= set(corpus.tag_names)
    assert {"matrix", "file", "random", "polynomial"} <= set(corpus.words)
    n_words, n_tags = corpus.document_sizes()
    assert (n_words > 0).mean() > 0.99
    assert n_tags.all()
    assert (corpus.counts > 0).sum(axis=0).min() >= 5


MODULE = '''"""The public module."""
import does_not_exist

class Stack(list):
    """A stack of things."""

    def __init__(self, items, *, limit=None, _secret=0):
        """Not a document of its own."""

    def push(self, item):
        """Put an item on top."""
        if self.full:
            raise OverflowError("full")
        raise self.problem

    def _hidden(self):
        """Hidden."""

try:
    from fast import pop
except ImportError:
    async def pop(stack, /, count=1, *args, **kwargs):
        """Take an item off.

        Raises
        ------
        IndexError
            If there is none.
        """
        raise errors.StackError from None

def no_docstring():
    pass
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "stacklib"
    (folder / "inner" / "tests").mkdir(parents=True)
    (folder / "__init__.py").write_text('"""All about stacks."""\nraise SystemExit("imported!")\n')
    (folder / "_private.py").write_text('"""For authors."""\ndef top(stack):\n    """Show the top."""\n')
    (folder / "inner" / "__init__.py").write_text("")
    (folder / "inner" / "public.py").write_text(MODULE)
    (folder / "inner" / "tests" / "test_it.py").write_text('"""A test."""')
    (folder / "broken.py").write_text("def (:")
    (folder / "binary.py").write_bytes(b"\x00\xff\xfe")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "stacklib"


def test_every_public_object_is_found_under_its_public_name(package: str) -> None:
    found = {doc.name: doc for doc in package_docstrings(package)}
    assert list(found) == [
        "stacklib",
        "stacklib.top",
        "stacklib.inner.public",
        "stacklib.inner.public.Stack",
        "stacklib.inner.public.Stack.push",
        "stacklib.inner.public.pop",
    ]
    assert [doc.kind for doc in found.values()] == ["module", "function", "module", "class", "method", "function"]
    assert found["stacklib.top"].module == "stacklib"
    assert package not in sys.modules


def test_parameters_and_exceptions_are_read(package: str) -> None:
    found = {doc.name.rpartition(".")[2]: doc for doc in package_docstrings(package)}
    assert found["Stack"].parameters == ("items", "limit")
    assert found["push"] == Docstring(
        name="stacklib.inner.public.Stack.push",
        package="stacklib",
        module="stacklib.inner.public",
        kind="method",
        text="Put an item on top.",
        parameters=("item",),
        raises=("OverflowError",),
    )
    assert found["pop"].parameters == ("stack", "count")
    assert found["pop"].raises == ("IndexError", "StackError")


def test_a_package_that_is_not_installed_has_no_docstrings() -> None:
    assert list(package_docstrings("no_such_package_anywhere")) == []
    assert list(package_docstrings("json.decoder")) == []


def test_the_standard_library_has_docstrings() -> None:
    assert any(doc.name == "argparse" and doc.kind == "module" for doc in package_docstrings("python"))


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
