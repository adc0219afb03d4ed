"""The tag predictor of a model: predictions, their reasons, missing tags and the audit of tags.

It is fitted when it is first used or saved, because many models are never used to predict tags. To compile its kernels
took a quarter of the first fit of a small corpus, and its index is most of the memory that a fit adds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.frames import Ranking, Rankings
from tagtopic._core.memmap import file_of
from tagtopic.corpus import Corpus
from tagtopic.models import _inputs
from tagtopic.models._batch import fit_progress
from tagtopic.tagging.predictor import TagPredictor, fit_if_tagged

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel
    from tagtopic.tagging.audit import TagReport
    from tagtopic.tagging.reasons import Reasons

PREDICTION_METHODS = ("neighbours", "likelihood")

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


def predict_tags(
    model: TagTopicModel,
    X: Any,
    n: int,
    *,
    method: str,
    kinds: Iterable[str] | None,
    given: Any,
    exclude: Iterable[str] | None,
) -> Rankings:
    """Predict the tags of documents by the tag predictor or by their likelihood."""
    if method not in PREDICTION_METHODS:
        raise ValueError(f"method={method!r}: expected one of {', '.join(map(repr, PREDICTION_METHODS))}")
    if n < 1:
        raise ValueError(f"n={n!r}: expected a whole number from 1")
    if not model.tag_names_:
        raise ValueError("the model has learnt no tags, so it cannot predict any")
    predictor = _required_predictor(model)
    if given is not None and method != "neighbours":
        raise ValueError(f"method={method!r} does not use given tags: leave given= out")
    corpus, own = (_inputs.words_only(model, X), None) if given is None else _with_tags(model, X, given)
    counts = corpus.counts
    if method == "neighbours":
        found = predictor.predict_counts(counts, n, kinds=kinds, n_jobs=model.n_jobs, given=own, exclude=exclude)
    else:
        from tagtopic.tagging.likelihood import predict_by_likelihood

        allowed = predictor.allowed_tags(kinds, exclude)
        found = predict_by_likelihood(model.parameters_, counts, allowed, model.tag_names_, n, model.n_jobs)
    return Rankings(found, corpus.ids, "probability", corpus.titles)


def documents_missing(model: TagTopicModel, tag: int, X: Any, n: int, tags: Any) -> Ranking[str]:
    """Rank the n documents without a tag that most probably lack it."""
    predictor = _required_predictor(model)
    corpus = model.aligned(X, tags)
    known, own = _with_tags(model, corpus, "own")
    lacking = np.flatnonzero(np.asarray(own[:, [tag]].todense()).ravel() == 0)
    probabilities = predictor.probabilities_of_tag(known.counts[lacking], own[lacking], tag)
    order = np.argsort(-probabilities, kind="stable")[:n]
    titles = None if corpus.titles is None else [corpus.titles[int(lacking[i])] for i in order]
    found = ((corpus.ids[int(lacking[i])], float(probabilities[i])) for i in order)
    return Ranking(found, ("id", "probability"), titles)


def tag_reasons(
    model: TagTopicModel, document: Any, predicted: Iterable[str] | None, tags: Any, given: Any, n: int
) -> Reasons:
    """Take the predictions of a document's tags apart."""
    from tagtopic.tagging.reasons import Reasons, reasons_for

    if given not in (None, "own"):
        raise ValueError(f"given={given!r}: expected None or 'own'")
    predictor = _required_predictor(model)
    corpus = model.one_document(document, tags)
    if predicted is None:
        predicted = [tag for tag, _ in model.predict_tags(corpus, n, given=given)[0]]
    numbers = [model._tag(tag) for tag in predicted]
    known, own = _with_tags(model, corpus, "own")
    row = int(predictor._training_rows(known.counts, own)[0])
    return reasons_for(predictor, known.counts, numbers, own if given else None, row, n) if numbers else Reasons()


def audit_tags(model: TagTopicModel, X: Any, tags: Any) -> TagReport:
    """Estimate the plausibility of all tags of documents."""
    from tagtopic.tagging.audit import audit

    if not model.tag_names_:
        raise ValueError("the model has learnt no tags, so there are none that it could audit")
    predictor = _required_predictor(model)
    corpus = model.aligned(X, tags)
    if not corpus.tags.nnz:
        raise ValueError("the documents have no tags that the model knows: there is nothing to audit")
    posteriors = model._infer_fitted_topics(corpus)
    shares = model._inference_array("topic_shares_")
    return audit(model.parameters_, predictor, shares, model.word_counts_, corpus, posteriors, model.n_jobs)


def _required_predictor(model: TagTopicModel) -> TagPredictor:
    if model.tag_predictor_ is None:
        with_one = "no training document has both words and tags, or its file is of an earlier version"
        reason = with_one if model.tag_predictor else "it was fitted with tag_predictor=False"
        raise ValueError(f"the model has no tag predictor ({reason}): fit_tag_predictor(corpus) makes one")
    return model.tag_predictor_


def _with_tags(model: TagTopicModel, X: Any, given: Any) -> tuple[Corpus, Any]:
    """Return the documents with the words that were seen in training, and the given tags in the model's columns."""
    own = isinstance(given, str)
    if own and given != "own":
        raise ValueError(f"given={given!r}: expected None, 'own' or a list of lists of tags, one per document")
    corpus = model.aligned(X) if own else _inputs.words_only(model, X)
    tags = corpus.tags if own else model.aligned(corpus.counts, tags=list(given)).tags
    return _inputs.without_unseen_words(corpus, model.word_counts_), sp.csr_array(tags)
