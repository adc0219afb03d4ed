"""Documents in: readers, tokens, vocabularies, the immutable Corpus and its form on disk."""

from tagtopic._core.strings import StringArray
from tagtopic.corpus.corpus import Corpus, Document
from tagtopic.corpus.description import Description
from tagtopic.corpus.reading.errors import ReadError, ReadWarning
from tagtopic.corpus.text.rules import TagRules, TextRules
from tagtopic.corpus.vocabulary import Alignment

__all__ = [
    "Alignment",
    "Corpus",
    "Description",
    "Document",
    "ReadError",
    "ReadWarning",
    "StringArray",
    "TagRules",
    "TextRules",
]
