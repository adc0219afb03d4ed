"""Corpora that every installation has: drawn with known truth, or read from the Python it runs on."""

from tagtopic.datasets.planted import PlantedCorpus, Recipe, make_tagged_corpus, write_tagged_corpus
from tagtopic.datasets.python_docs import Docstring, load_python_docs, package_docstrings

__all__ = [
    "Docstring",
    "PlantedCorpus",
    "Recipe",
    "load_python_docs",
    "make_tagged_corpus",
    "package_docstrings",
    "write_tagged_corpus",
]
