"""Documents in: readers, tokens, vocabularies, the immutable Corpus and its form on disk."""

from tagtopic.corpus.aligning import Alignment
from tagtopic.corpus.corpus import Corpus
from tagtopic.corpus.description import Description
from tagtopic.corpus.document import Document
from tagtopic.corpus.names import Names
from tagtopic.corpus.reading.errors import ReadError, ReadWarning
from tagtopic.corpus.rules import TagRules, TextRules

__all__ = [
    "Alignment",
    "Corpus",
    "Description",
    "Document",
    "Names",
    "ReadError",
    "ReadWarning",
    "TagRules",
    "TextRules",
]
