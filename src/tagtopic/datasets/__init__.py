"""Corpora without downloads: drawn from known parameters, or read from the installed Python."""

from tagtopic.datasets.planted import PlantedCorpus, PlantedSettings, make_tagged_corpus, write_tagged_corpus
from tagtopic.datasets.planted_effects import PlantedEffects, make_effects_corpus
from tagtopic.datasets.python_docs import Docstring, load_python_docs, package_docstrings

__all__ = [
    "Docstring",
    "PlantedCorpus",
    "PlantedEffects",
    "PlantedSettings",
    "load_python_docs",
    "make_effects_corpus",
    "make_tagged_corpus",
    "package_docstrings",
    "write_tagged_corpus",
]
