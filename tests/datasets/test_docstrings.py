"""Docstrings are found by reading, not by importing."""

import sys
from pathlib import Path

import pytest

from tagtopic.datasets.python_docs import Docstring, package_docstrings

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


def test_a_package_that_is_not_installed_yields_nothing() -> None:
    assert list(package_docstrings("no_such_package_anywhere")) == []
    assert list(package_docstrings("json.decoder")) == []


def test_the_standard_library_is_there() -> None:
    assert any(doc.name == "argparse" and doc.kind == "module" for doc in package_docstrings("python"))
