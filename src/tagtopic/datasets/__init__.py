"""Corpora that every installation has: drawn with known truth, or read from the Python it runs on."""

from tagtopic.datasets.planted import PlantedCorpus, make_tagged_corpus

__all__ = ["PlantedCorpus", "make_tagged_corpus"]
