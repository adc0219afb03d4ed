"""The interface of a corpus: what a fit needs of its documents, on this machine or on a cluster."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tagtopic.corpus.corpus import Corpus
from tagtopic.corpus.text.rules import TextRules


class CorpusLike(Protocol):
    """A `Corpus` on this machine, or a `RemoteCorpus`."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the vocabulary."""
        ...

    @property
    def tag_names(self) -> tuple[str, ...]:
        """The tags."""
        ...

    @property
    def rules(self) -> TextRules | None:
        """The rules by which texts became words."""
        ...

    @property
    def n_words(self) -> int:
        """Number of words in the vocabulary."""
        ...

    @property
    def n_tags(self) -> int:
        """Number of tags."""
        ...

    @property
    def n_tokens(self) -> int:
        """Number of tokens of all documents."""
        ...

    def __len__(self) -> int:
        """Return the number of documents."""
        ...

    def __getitem__(self, rows: NDArray[np.int64], /) -> Corpus:
        """Return some documents as a corpus on this machine."""
        ...

    def word_counts(self) -> NDArray[np.float64]:
        """Return the number of tokens of each word."""
        ...

    def tag_sizes(self) -> NDArray[np.int64]:
        """Return the number of documents of each tag."""
        ...

    def document_sizes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the number of distinct words, and the number of tags, of each document."""
        ...

    def fingerprint(self) -> str:
        """Return a digest of the content."""
        ...


class RemoteCorpus(CorpusLike):
    """A corpus whose documents are on a cluster; `engine` is the engine that reads them."""

    engine: Any

    @abstractmethod
    def without_tags(self) -> RemoteCorpus:
        """Return the same documents without their tags."""

    @abstractmethod
    def without_tokens(self, rows: NDArray[np.int64], words: NDArray[np.int32], taken: NDArray[Any]) -> RemoteCorpus:
        """Return the same documents less some tokens of `rows`: for each entry its word and the number of tokens."""

    @abstractmethod
    def close(self) -> None:
        """Release the documents."""
