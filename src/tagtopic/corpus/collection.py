"""What a fit asks of the documents that it learns from, wherever they are."""

from abc import abstractmethod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tagtopic.corpus.corpus import Corpus
from tagtopic.corpus.text.rules import TextRules


class Collection(Protocol):
    """A `Corpus` on this machine, or one whose documents stand on the machines of a cluster."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the vocabulary."""
        ...

    @property
    def tag_names(self) -> tuple[str, ...]:
        """The tags that occur."""
        ...

    @property
    def rules(self) -> TextRules | None:
        """How texts became words."""
        ...

    @property
    def n_words(self) -> int:
        """How many words the vocabulary has."""
        ...

    @property
    def n_tags(self) -> int:
        """How many tags there are."""
        ...

    @property
    def n_tokens(self) -> int:
        """How many words there are in all, repeats counted."""
        ...

    def __len__(self) -> int:
        """How many documents there are."""
        ...

    def __getitem__(self, rows: NDArray[np.int64], /) -> Corpus:
        """Some documents, on this machine."""
        ...

    def word_counts(self) -> NDArray[np.float64]:
        """How often each word occurs."""
        ...

    def tag_sizes(self) -> NDArray[np.int64]:
        """How many documents have each tag."""
        ...

    def document_sizes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """How many different words, and how many tags, each document has."""
        ...

    def fingerprint(self) -> str:
        """A digest of everything in it."""
        ...


class RemoteCorpus(Collection):
    """A `Collection` whose documents are elsewhere; `engine` is the one that knows where."""

    engine: Any

    @abstractmethod
    def without_tags(self) -> "RemoteCorpus":
        """The same documents, as if they had no tags."""

    @abstractmethod
    def less(self, rows: NDArray[np.int64], words: NDArray[np.int32], taken: NDArray[Any]) -> "RemoteCorpus":
        """The same documents with some of the words of `rows` taken out: which, and how many, by entry."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the documents."""
