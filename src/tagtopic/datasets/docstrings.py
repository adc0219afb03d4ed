"""Docstrings of installed packages, read from source with `ast`: nothing is imported, nothing is executed."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

STANDARD_LIBRARY = "python"

# Folders that hold no documentation of their package: tests, tools, and copies of other packages.
_SKIPPED_FOLDERS = {
    "__pycache__", "_vendor", "_vendored", "benchmarks", "ensurepip", "extern", "externals", "idlelib", "lib2to3",
    "pydoc_data", "site-packages", "dist-packages", "test", "tests", "turtledemo", "vendored",
}  # fmt: skip
_SKIPPED_PARAMETERS = {"self", "cls", "mcs", "args", "kwargs", "kwds", "kw"}
_EXCEPTION_NAME = re.compile(r"[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt|Iteration)")
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Docstring:
    """One documented object of a package.

    Attributes
    ----------
    name:
        Dotted name as a person would write it; private modules are left out (`scipy.optimize.minimize`).
    package:
        The package, or `python` for the standard library.
    module:
        Dotted name of the innermost public module.
    kind:
        `module`, `class`, `method` or `function`.
    text:
        The docstring as it stands in the source.
    parameters:
        Names of the parameters (of a class: of its `__init__`).
    raises:
        Names of the exceptions raised in its body or listed in its documentation.

    Examples
    --------
    >>> from tagtopic.datasets import package_docstrings
    >>> dumps = next(found for found in package_docstrings("json") if found.name == "json.dumps")
    >>> dumps.kind, dumps.parameters[0]
    ('function', 'obj')
    """

    name: str
    package: str
    module: str
    kind: str
    text: str
    parameters: tuple[str, ...] = ()
    raises: tuple[str, ...] = ()


def package_docstrings(package: str) -> Iterator[Docstring]:
    """Yield the docstrings of an installed package (or `python`), in the order of its sorted files.

    A package that is not installed yields nothing; a file that cannot be read or parsed is passed over.

    Examples
    --------
    >>> import pandas as pd
    >>> from tagtopic.datasets import package_docstrings
    >>> list(pd.DataFrame(package_docstrings("json")).columns)
    ['name', 'package', 'module', 'kind', 'text', 'parameters', 'raises']
    """
    for path, parts in _source_files(package):
        tree = _parse(path)
        if tree is None:
            continue
        module = _public_module(parts)
        text = ast.get_docstring(tree)
        if text and module == ".".join(parts):  # a private module speaks to its authors only
            yield Docstring(module, package, module, "module", text)
        yield from _definitions(tree.body, package, module, module, in_class=False)


def _source_files(package: str) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield each source file with the parts of its module's dotted name."""
    root = _folder(package)
    if root is None:
        return
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if _SKIPPED_FOLDERS.intersection(parts) or parts[-1] in ("__main__", "conftest", "setup"):
            continue
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if package != STANDARD_LIBRARY:
            parts = (package, *parts)
        else:
            # The C modules datetime, decimal and io have documented twins _pydatetime, _pydecimal, _pyio.
            parts = (parts[0].removeprefix("_py"), *parts[1:])
            if parts[0] not in sys.stdlib_module_names or parts[0].startswith("_"):
                continue
        yield path, parts


def _folder(package: str) -> Path | None:
    if package == STANDARD_LIBRARY:
        return Path(sysconfig.get_paths()["stdlib"])
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    locations = list(spec.submodule_search_locations or ()) if spec else []
    return Path(locations[0]) if locations else None


def _public_module(parts: tuple[str, ...]) -> str:
    public: list[str] = []
    for part in parts:
        if part.startswith("_"):
            break
        public.append(part)
    return ".".join(public)


def _parse(path: Path) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in other people's sources
            return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _definitions(
    body: list[ast.stmt], package: str, module: str, prefix: str, *, in_class: bool
) -> Iterator[Docstring]:
    """Yield the public definitions of a module or class body, those under `if`, `try` and `with` too."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name.startswith("_"):
                continue
            name = f"{prefix}.{node.name}"
            text = ast.get_docstring(node)
            if text:
                kind = "class" if isinstance(node, ast.ClassDef) else "method" if in_class else "function"
                yield Docstring(name, package, module, kind, text, _parameters(node), _raises(node, text))
            if isinstance(node, ast.ClassDef):
                yield from _definitions(node.body, package, module, name, in_class=True)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            nested = [*node.body, *getattr(node, "orelse", []), *getattr(node, "finalbody", [])]
            for handler in getattr(node, "handlers", []):
                nested += handler.body
            yield from _definitions(nested, package, module, prefix, in_class=in_class)


def _parameters(node: _Definition) -> tuple[str, ...]:
    if isinstance(node, ast.ClassDef):
        starts = [f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
        return _parameters(starts[0]) if starts else ()
    signature = node.args
    names = [argument.arg for argument in (*signature.posonlyargs, *signature.args, *signature.kwonlyargs)]
    return tuple(name for name in names if not name.startswith("_") and name not in _SKIPPED_PARAMETERS)


def _raises(node: _Definition, text: str) -> tuple[str, ...]:
    """Names of exceptions in `raise` statements (a class's methods speak for themselves) and in the Raises section."""
    names = {line.strip().rstrip(":") for line in text.splitlines()}
    if not isinstance(node, ast.ClassDef):
        for inner in ast.walk(node):
            if isinstance(inner, ast.Raise) and inner.exc is not None:
                raised = inner.exc.func if isinstance(inner.exc, ast.Call) else inner.exc
                names.add(raised.attr if isinstance(raised, ast.Attribute) else getattr(raised, "id", ""))
    return tuple(sorted(name for name in names if _EXCEPTION_NAME.fullmatch(name)))
