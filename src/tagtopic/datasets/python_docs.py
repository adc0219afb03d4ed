"""The documentation of the installed Python as a corpus.

Docstrings are read from source with `ast`: no package is imported or executed.
"""

from __future__ import annotations

import ast
import gc
import importlib.util
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tagtopic.corpus import Corpus

STANDARD_LIBRARY = "python"

# The standard library, the dependencies of tagtopic, and scientific packages, as far as they are installed.
PACKAGES = (
    STANDARD_LIBRARY, "numpy", "scipy", "sklearn", "numba", "joblib", "pyarrow", "narwhals", "pandas", "polars",
    "matplotlib", "networkx", "statsmodels", "xarray", "skimage", "gensim", "nltk",
)  # fmt: skip

# Folders without documentation of their package: tests, tools, and copies of other packages.
_SKIPPED_FOLDERS = {
    "__pycache__", "_vendor", "_vendored", "benchmarks", "ensurepip", "extern", "externals", "idlelib", "lib2to3",
    "pydoc_data", "site-packages", "dist-packages", "test", "tests", "turtledemo", "vendored",
}  # fmt: skip
_SKIPPED_PARAMETERS = {"self", "cls", "mcs", "args", "kwargs", "kwds", "kw"}
_EXCEPTION_NAME = re.compile(r"[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt|Iteration)")
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

# Sections of code, of citations, and of names rather than sentences.
_DROPPED_SECTIONS = {"examples", "example", "references", "see also", "methods"}
_SECTION_LINE = re.compile(r"[-=~^*]{3,}")
_ROLE = re.compile(r":[\w:+.-]+:`~?([^`<]*)(?:<[^`]*>)?`")
_DIRECTIVE = re.compile(r"\.\. (?:[\w:-]+::.*|\[[^\]]*\].*|_[^:]*:.*|\|[^|]*\|.*)")
_CODE_DIRECTIVES = (".. math", ".. code", ".. plot", ".. autosummary", ".. toctree", ".. figure", ".. [")
_FIELD = re.compile(r":(?:param|parameter|type|arg|keyword|kwarg|raises|return|returns|rtype|var|ivar)\b([^:]*):")
_CITATION = re.compile(r"\[[\w.-]+\]_")
_ADDRESS = re.compile(r"(?:https?|ftp)://\S+|\bdoi:\S+")
_TYPED = re.compile(r"^(\s*\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+){0,5}) : .*$", re.MULTILINE)  # `axis : int, optional`
_MATHS = re.compile(r"\$[^$\n]+\$|\\[A-Za-z]+")


def load_python_docs(
    packages: Iterable[str] | None = None,
    *,
    min_words: int = 15,
    min_df: int = 5,
    max_df: float = 0.25,
    min_tag_documents: int = 5,
    keep_texts: bool = False,
) -> Corpus:
    """Read the docstrings of the standard library and of installed scientific packages as a tagged corpus.

    One document per public module, class, function and method that is documented in Python source; its tags are
    `package:`, `module:`, `kind:` (module, class, function, method), `parameter:` for each parameter and `raises:`
    for each exception. Sources are parsed, not imported. Code examples, markup and citations are left out. The
    same installation always gives the same corpus; it takes about ten seconds.

    Parameters
    ----------
    packages : iterable of str, default=None
        Packages to read, `python` being the standard library; None: that and every installed package of a list of
        scientific ones.
    min_words : int, default=15
        Docstrings with fewer words are left out.
    min_df : int, default=5
        Words in fewer documents are left out of the vocabulary.
    max_df : float, default=0.25
        Words in a larger share of the documents are left out of the vocabulary.
    min_tag_documents : int, default=5
        Tags on fewer documents are left out.
    keep_texts : bool, default=False
        Whether the corpus keeps the texts, as `corpus.texts`.

    Returns
    -------
    Corpus
        The corpus.

    Raises
    ------
    ValueError
        If none of the packages has a docstring, or none is installed.

    Examples
    --------
    >>> from tagtopic.datasets import load_python_docs
    >>> corpus = load_python_docs(["json"], min_df=1, min_tag_documents=1)
    >>> "parameter:indent" in corpus.tag_names
    True
    """
    chosen = PACKAGES if packages is None else tuple(packages)
    documents: dict[str, tuple[str, list[str]]] = {}
    with _no_garbage_collection():
        for docstring in _docstrings(chosen):
            text = prose(docstring.text)
            # Of a name with several definitions (platform variants, private twins) the longest text is kept.
            if len(text.split()) >= min_words and len(text) > len(documents.get(docstring.name, ("",))[0]):
                documents[docstring.name] = text, _tags(docstring)
    if not documents:
        raise ValueError(f"no documented source was found for {', '.join(chosen)}: are they installed?")
    return Corpus.from_texts(
        [text for text, _ in documents.values()],
        [tags for _, tags in documents.values()],
        ids=list(documents),
        min_df=min_df,
        max_df=max_df,
        min_tag_documents=min_tag_documents,
        keep_texts=keep_texts,
    )


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Pause the cycle collector, which would visit millions of syntax nodes (a quarter of the time) and free none."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _docstrings(packages: Iterable[str]) -> Iterator[Docstring]:
    for package in packages:
        yield from package_docstrings(package)


def _tags(docstring: Docstring) -> list[str]:
    module = () if docstring.module == docstring.package else (f"module:{docstring.module}",)
    return [
        f"package:{docstring.package}",
        *module,
        f"kind:{docstring.kind}",
        *(f"parameter:{name}" for name in docstring.parameters),
        *(f"raises:{name}" for name in docstring.raises),
    ]


@dataclass(frozen=True)
class Docstring:
    """One documented object of a package.

    Attributes
    ----------
    name : str
        Dotted name without private modules (`scipy.optimize.minimize`).
    package : str
        The package, or `python` for the standard library.
    module : str
        Dotted name of the innermost public module.
    kind : {"module", "class", "method", "function"}
        The kind of object.
    text : str
        The docstring.
    parameters : tuple of str
        Names of the parameters (of a class: of its `__init__`).
    raises : tuple of str
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

    A package that is not installed yields nothing; a file that cannot be read or parsed is skipped.

    Parameters
    ----------
    package : str
        Name of the package; `python` is the standard library.

    Yields
    ------
    Docstring
        One documented object.

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
        if text and module == ".".join(parts):  # the docstring of a private module is for its authors
            yield Docstring(module, package, module, "module", text)
        yield from _definitions(tree.body, package, module, module, in_class=False)


def _source_files(package: str) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield each source file with the parts of its module's dotted name."""
    root = _folder(package)
    if root is None:
        return
    for path in sorted(_files_below(root, package)):
        parts = path.relative_to(root).with_suffix("").parts
        if _SKIPPED_FOLDERS.intersection(parts) or parts[-1] in ("__main__", "conftest", "setup"):
            continue
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if package != STANDARD_LIBRARY:
            parts = (package, *parts)
        else:
            # The C modules datetime, decimal and io have documented Python versions _pydatetime, _pydecimal, _pyio.
            parts = (parts[0].removeprefix("_py"), *parts[1:])
            if parts[0] not in sys.stdlib_module_names or parts[0].startswith("_"):
                continue
        yield path, parts


def _files_below(root: Path, package: str) -> Iterator[Path]:
    """Yield the source files of a package; those of installed packages may be among the standard library's."""
    if package != STANDARD_LIBRARY:
        yield from root.rglob("*.py")
        return
    for path in root.iterdir():
        if path.name.removesuffix(".py").removeprefix("_py") in sys.stdlib_module_names:
            yield from path.rglob("*.py") if path.is_dir() else [path]


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
        with _no_garbage_collection(), warnings.catch_warnings():
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


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield all statements in a body; ``ast.walk``, which visits expressions too, takes five times as long."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, part, []))
        for branch in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from _statements(branch.body)


def _raises(node: _Definition, text: str) -> tuple[str, ...]:
    """Return the exceptions in `raise` statements (of a class: not of its methods) and in the Raises section."""
    names = {line.strip().rstrip(":") for line in text.splitlines()}
    if not isinstance(node, ast.ClassDef):
        for inner in _statements(node.body):
            if isinstance(inner, ast.Raise) and inner.exc is not None:
                raised = inner.exc.func if isinstance(inner.exc, ast.Call) else inner.exc
                names.add(raised.attr if isinstance(raised, ast.Attribute) else getattr(raised, "id", ""))
    return tuple(sorted(name for name in names if _EXCEPTION_NAME.fullmatch(name)))


def prose(docstring: str) -> str:
    """Return the prose of a docstring in reStructuredText, numpydoc or plain style: no code, markup or citations."""
    lines = _without_sections(docstring.expandtabs().splitlines())
    text = "\n".join(_without_code(lines))
    for pattern, replacement in (
        (_TYPED, r"\1"),  # a type is the same few words everywhere
        (_ROLE, r"\1"),
        (_FIELD, r"\1 "),
        (_CITATION, " "),
        (_ADDRESS, " "),
        (_MATHS, " "),
    ):
        text = pattern.sub(replacement, text)
    return text.replace("`", " ").replace("*", " ").strip()


def _without_sections(lines: list[str]) -> list[str]:
    """Drop section underlines, and whole sections of code or citations (numpydoc)."""
    kept: list[str] = []
    dropping = False
    for number, line in enumerate(lines):
        underline = lines[number + 1].strip() if number + 1 < len(lines) else ""
        if line.strip() and _SECTION_LINE.fullmatch(underline):
            dropping = line.strip().rstrip(":").lower() in _DROPPED_SECTIONS
            continue
        if not dropping and not _SECTION_LINE.fullmatch(line.strip()):
            kept.append(line)
    return kept


def _without_code(lines: list[str]) -> list[str]:
    """Drop doctests with their output, literal blocks after `::`, directives, and tables' rules."""
    kept: list[str] = []
    in_doctest = False
    literal: int | None = None  # the indentation that a literal block goes deeper than
    for line in lines:
        stripped = line.strip()
        indentation = len(line) - len(line.lstrip())
        if not stripped:
            in_doctest = False
            continue
        if literal is not None:
            if indentation > literal:
                continue
            literal = None
        if stripped.startswith((">>>", "In [")):
            in_doctest = True
        if in_doctest:
            continue
        if _DIRECTIVE.match(stripped):
            literal = indentation if stripped.startswith(_CODE_DIRECTIVES) else None
            continue
        if stripped.endswith("::"):
            literal = indentation
        kept.append(line)
    return kept
