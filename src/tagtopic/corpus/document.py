"""One document as a person reads it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Document:
    """One document as a person reads it: its id, how often each word occurs, and its tags.

    Examples
    --------
    >>> from tagtopic import Corpus
    >>> print(Corpus.from_counts([[2, 1]], [["Ada"]], words=["engine", "note"], ids=["letter"])[0])
    letter
      tags: Ada
      words: engine x2, note
    """

    id: str
    words: dict[str, int]
    tags: tuple[str, ...]

    def __str__(self) -> str:
        by_count = sorted(self.words.items(), key=lambda item: -item[1])
        words = ", ".join(word if n == 1 else f"{word} x{n}" for word, n in by_count)
        return f"{self.id}\n  tags: {', '.join(self.tags) or '(none)'}\n  words: {words or '(none)'}"
