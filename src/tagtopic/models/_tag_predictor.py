"""The tag predictor of a model, fitted when it is first used or saved.

Many models are never asked for tags. To compile the predictor's kernels took a quarter of the first fit of a small
corpus, and its index is most of the memory that a fit adds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from tagtopic._core.memmap import file_of
from tagtopic.corpus import Corpus
from tagtopic.models._progress import fit_progress
from tagtopic.tagging.predictor import TagPredictor, fit_if_tagged

Fitted = TagPredictor | None
"""None if no training document has both words and tags."""


class DeferredPredictor:
    """The predictor of a training corpus, fitted by the first call of ``get``; copies of a model share it.

    Parameters
    ----------
    corpus : Corpus
        The training corpus, in memory.
    n_jobs : int or None
        Threads.
    progress : bool or None
        Whether to show that the predictor is fitted; None: if standard error is a terminal.
    """

    def __init__(self, corpus: Corpus, n_jobs: int | None, progress: bool | None) -> None:
        self._corpus: Corpus | None = corpus.with_texts(None)
        self._n_jobs, self._progress = n_jobs, progress
        self._fitted: Fitted = None
        self._lock = threading.Lock()

    def get(self) -> Fitted:
        """Return the predictor."""
        with self._lock:
            if self._corpus is not None:
                with fit_progress(self._progress) as bar:
                    bar.start_phase("learning to predict tags")
                    self._fitted = fit_if_tagged(self._corpus, self._n_jobs)
                self._corpus = None
            return self._fitted

    def __reduce__(self) -> tuple[Callable[[Fitted], Fitted], tuple[Fitted]]:
        return _unchanged, (self.get(),)


def _unchanged(predictor: Fitted) -> Fitted:
    return predictor


def is_in_memory(corpus: Corpus) -> bool:
    """Whether a corpus is in memory, so that it does not change; one in files may."""
    return file_of(corpus.counts.data) is None and file_of(corpus.tags.data) is None
