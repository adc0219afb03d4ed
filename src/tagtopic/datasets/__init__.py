"""Corpora that every installation has: drawn with known truth, or read from the Python it runs on."""

from tagtopic.datasets.docstrings import Docstring, package_docstrings
from tagtopic.datasets.planted import PlantedCorpus, make_tagged_corpus
from tagtopic.datasets.planted_on_disk import write_tagged_corpus
from tagtopic.datasets.python_docs import load_python_docs
from tagtopic.datasets.recipe import Recipe

__all__ = [
    "Docstring",
    "PlantedCorpus",
    "Recipe",
    "load_python_docs",
    "make_tagged_corpus",
    "package_docstrings",
    "write_tagged_corpus",
]
