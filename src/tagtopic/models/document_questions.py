"""Which documents show what a topic is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tagtopic.inference.arrays import Floats, way_for_new_documents
from tagtopic.models.posterior import DocumentPosteriors, infer, largest

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.inference.parameters import Parameters

LEAST_WORDS = 20
"""Documents with fewer words are not listed for a topic while longer ones are at hand: their mix says little."""


class DocumentQuestions:
    """The documents of a topic."""

    if TYPE_CHECKING:
        inference: str
        n_jobs: int | None

        @property
        def parameters_(self) -> Parameters:
            """The learnt parameters."""
            ...

        def aligned(self, X: Any, tags: Any = None) -> Corpus:
            """X as a Corpus in the model's words and tags."""
            ...

        def _topic(self, topic: int) -> int: ...

    def top_documents(self, X: Any, topic: int, n: int = 10, *, tags: Any = None) -> list[tuple[str, float]]:
        """The n documents that have most of a topic: their ids, and its share of each.

        Documents of fewer than 20 known words are left out while there are n longer ones: their mix says little.

        Examples
        --------
        >>> topic, _ = model.top_topics("space", 1)[0]
        >>> [id for id, share in model.top_documents(["the police", "a ship in space", "a monster"], topic, 2)]
        ['1', '2']
        """
        topic = self._topic(topic)
        corpus = self.aligned(X, tags)
        shares = self._infer(corpus).topics[:, topic]
        return [(corpus.ids[d], share) for d, share in most_of_topic(shares, corpus.lengths(), n)]

    def _infer(self, aligned: Corpus) -> DocumentPosteriors:
        return infer(self.parameters_, way_for_new_documents(self.inference), aligned, self.n_jobs)


def most_of_topic(shares: Floats, lengths: ArrayLike, n: int) -> list[tuple[int, float]]:
    """The n documents with the largest shares, largest first; short ones only where too few are longer."""
    long_enough = np.asarray(lengths) >= LEAST_WORDS
    values = np.where(long_enough, shares, -1.0) if long_enough.sum() >= n else np.asarray(shares)
    return largest(values, range(len(values)), n)
