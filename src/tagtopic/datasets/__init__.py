"""Corpora that every installation has: drawn with known truth, or read from the Python it runs on."""

from tagtopic.datasets.planted import PlantedCorpus, make_tagged_corpus
from tagtopic.datasets.planted_on_disk import write_tagged_corpus
from tagtopic.datasets.python_docs import load_python_docs
from tagtopic.datasets.recipe import Recipe

__all__ = ["PlantedCorpus", "Recipe", "load_python_docs", "make_tagged_corpus", "write_tagged_corpus"]
