"""Documents in: readers, tokens, vocabularies, the immutable Corpus and its form on disk."""

from tagtopic.corpus.corpus import Alignment, Corpus, Document
from tagtopic.corpus.description import Description
from tagtopic.corpus.names import Names

__all__ = ["Alignment", "Corpus", "Description", "Document", "Names"]
