"""The embedded corpus: the documentation of the Python it runs on."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tagtopic.corpus import Corpus
from tagtopic.datasets.docstrings import STANDARD_LIBRARY, Docstring, package_docstrings
from tagtopic.datasets.prose import prose

# The standard library, what tagtopic itself depends on, and well-known scientific packages where installed.
PACKAGES = (
    STANDARD_LIBRARY, "numpy", "scipy", "sklearn", "numba", "joblib", "pyarrow", "narwhals", "pandas", "polars",
    "matplotlib", "networkx", "statsmodels", "xarray", "skimage", "gensim", "nltk",
)  # fmt: skip


def load_python_docs(
    packages: Iterable[str] | None = None,
    *,
    min_words: int = 15,
    min_df: int = 5,
    max_df: float = 0.25,
    min_tag_documents: int = 5,
    texts_into: list[str] | None = None,
) -> Corpus:
    """Read the docstrings of the standard library and of installed scientific packages as a tagged corpus.

    One document per public module, class, function and method that is documented in Python source; its tags are
    `package:`, `module:`, `kind:` (module, class, function, method), `parameter:` for each parameter and `raises:`
    for each exception. Sources are parsed, never imported. Code examples, markup and citations are left out. The
    same installation always gives the same corpus; it takes about ten seconds.

    Parameters
    ----------
    packages:
        Names of packages to read, `python` being the standard library; by default that and every package of a list
        of scientific ones that is installed.
    min_words:
        Docstrings with fewer words are left out.
    min_df, max_df:
        Words in fewer documents, or in a larger share of them, are left out of the vocabulary.
    min_tag_documents:
        Tags on fewer documents are left out.
    texts_into:
        A list that the texts are added to, in the order of the documents.

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
            # A name that is defined twice (platform variants, private twins) keeps its longest text.
            if len(text.split()) >= min_words and len(text) > len(documents.get(docstring.name, ("",))[0]):
                documents[docstring.name] = text, _tags(docstring)
    if not documents:
        raise ValueError(f"no documented source was found for {', '.join(chosen)}: are they installed?")
    texts = [text for text, _ in documents.values()]
    if texts_into is not None:
        texts_into += texts
    return Corpus.from_texts(
        texts,
        [tags for _, tags in documents.values()],
        ids=list(documents),
        min_df=min_df,
        max_df=max_df,
        min_tag_documents=min_tag_documents,
    )


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Pause the cycle collector: it would walk millions of syntax nodes, a quarter of the time, and free none."""
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
