"""A fitted model, with or without documents, prepared for views.

An `Explorer` may be used from several threads. What is slow to compute for many documents (posteriors, audit) is
computed once, at first use or in the background by `Explorer.warm`.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import scipy.sparse as sp

from tagtopic.corpus.tags import kind_of
from tagtopic.engines.posterior import DocumentPosteriors
from tagtopic.inference.methods import METHODS
from tagtopic.models._queries import TagMixes
from tagtopic.models.plotting import topic_similarity

if TYPE_CHECKING:
    from tagtopic._core.arrays import Float64s
    from tagtopic._core.records import Records
    from tagtopic.corpus import Corpus
    from tagtopic.curation import Ledger
    from tagtopic.explore.analyses import Analyses
    from tagtopic.explore.review import Review
    from tagtopic.explore.views.overview import Quality
    from tagtopic.models._base import TagTopicModel
    from tagtopic.tagging.audit import TagOnDocument, TagReport


class NotFoundError(ValueError):
    """A topic, tag or document that does not exist, or a view that lacks its documents or its second model."""


_YEAR = re.compile(r"(1[5-9]|20)\d\d")

_Value = TypeVar("_Value")


class LazyValue(Generic[_Value]):
    """A value computed at first use, once for all threads; an exception is raised to the caller and not cached."""

    def __init__(self, compute: Callable[[], _Value]) -> None:
        self._compute = compute
        self._lock = threading.Lock()
        self._value: tuple[_Value] | None = None

    def get(self) -> _Value:
        """Return the value; compute it, or wait for the thread that is computing it."""
        if self._value is None:
            with self._lock:
                if self._value is None:
                    self._value = (self._compute(),)
        return self._value[0]

    @property
    def ready(self) -> bool:
        """Whether `get` returns at once."""
        return self._value is not None

    @property
    def computing(self) -> bool:
        """Whether a thread is computing the value."""
        return self._lock.locked()


class Explorer:
    """A fitted model and the documents to show with it: what pages, API, report and plots are made from.

    Parameters
    ----------
    model : fitted model
        A fitted model.
    corpus : Corpus, optional
        Documents to show. Without them there are no document pages, no audit and no measure of quality.
    texts : sequence of str, optional
        Texts of the documents, in the order of the corpus, to highlight words in; by default those that the
        corpus keeps, if it does.
    name : str, default="model"
        Name of the model in titles.
    other : fitted model, optional
        A second fitted model to compare with.
    other_name : str, default="other model"
        Name of the second model.
    ledger : Ledger, optional
        Where decisions of a review of the documents' tags are recorded; without one there is no review.
    predicted : int, default=5
        Missing tags that a review proposes per document, at most.

    Attributes
    ----------
    model : fitted model
        The model.
    corpus : Corpus or None
        The documents in the columns of the model.
    posteriors : DocumentPosteriors
        Topic mixes and tag weights of all documents.
    quality : Quality or None
        Perplexity and share of the words explained by tags, on a sample of the documents.
    audit : TagReport
        The audit of the documents' tags.
    can_audit : bool
        Whether there are tagged documents and a model that can audit them.
    review : Review or None
        The review of the documents' tags.

    Raises
    ------
    ValueError
        If the number of texts is not the number of documents, or there is a ledger and no tags to review.

    Examples
    --------
    >>> from tagtopic import TWDA, Corpus
    >>> corpus = Corpus.from_texts(["a ship in space", "police hunt a killer"] * 5, [["space"], ["crime"]] * 5)
    >>> model = TWDA(2, random_state=0).fit(corpus)
    >>> from tagtopic.explore import Explorer
    >>> Explorer(model, corpus, name="films").can_audit
    True
    """

    def __init__(
        self,
        model: TagTopicModel,
        corpus: Corpus | None = None,
        *,
        texts: Sequence[str] | None = None,
        name: str = "model",
        other: TagTopicModel | None = None,
        other_name: str = "other model",
        ledger: Ledger | None = None,
        predicted: int = 5,
    ) -> None:
        if texts is None and corpus is not None:
            texts = corpus.texts
        if texts is not None and (corpus is None or len(texts) != len(corpus)):
            raise ValueError(f"there are {len(texts)} texts for {0 if corpus is None else len(corpus)} documents")
        self.model = model
        self._predicts = model.tag_predictor_ is not None  # fitted here if it is not yet, not by the first request
        self.corpus = None if corpus is None else model.aligned(corpus)
        self._given = corpus
        self.texts = texts
        self.name = name
        self.other, self.other_name = other, other_name
        self.other_corpus = None if corpus is None or other is None else other.aligned(corpus)
        self._posteriors = LazyValue(self._infer_all)
        self._weights_by_tag: LazyValue[Any] = LazyValue(lambda: sp.csc_array(self.posteriors.weights))
        self._quality = LazyValue(self._measure_quality)
        self._audit = LazyValue(self._audit_all)
        self.review = None if ledger is None else self._review(ledger, predicted)

    @cached_property
    def tag_numbers(self) -> dict[str, int]:
        """The number of each tag: its row in the model's tag arrays."""
        return {tag: number for number, tag in enumerate(self.model.tag_names_)}

    @cached_property
    def word_numbers(self) -> dict[str, int]:
        """The number of each word: its column in the model's word arrays."""
        return {word: number for number, word in enumerate(self.model.words_)}

    @cached_property
    def folded_tags(self) -> list[str]:
        """The tags in the form that searches compare: case-folded."""
        return [tag.casefold() for tag in self.model.tag_names_]

    @cached_property
    def document_numbers(self) -> dict[str, int]:
        """The number of each document by id; the first one's where ids repeat."""
        ids = () if self.corpus is None else self.corpus.ids
        numbers: dict[str, int] = {}
        for number, name in enumerate(ids):
            numbers.setdefault(name, number)
        return numbers

    @cached_property
    def tag_mixes(self) -> TagMixes:
        """The topics of each tag's training documents, or of the documents shown if the model does not have them."""
        mixes = self.model._tag_mixes
        if self.model._has_document_topics or not self.has_document_topics:
            return mixes
        assert self.corpus is not None
        sizes = self.corpus.tag_sizes()
        sums = self.corpus.tags.T.astype(np.float64) @ self.posteriors.topics.astype(np.float64)
        return TagMixes(mixes.names, sums / np.maximum(sizes, 1)[:, None], sizes.astype(np.float64))

    @property
    def has_document_topics(self) -> bool:
        """Whether `tag_mixes` has the topics of documents; else those of the tags themselves, as nothing else is known.

        A model that was fitted on a cluster or saved by an early version does not have them.
        """
        return self.model._has_document_topics or (self.corpus is not None and self.corpus.tags.nnz > 0)

    @cached_property
    def topic_words(self) -> list[tuple[str, ...]]:
        """The ten most probable words of each topic; the first few are its label on every page."""
        topics = range(len(self.model.components_))
        return [tuple(word for word, _ in self.model.top_words(topic, 10)) for topic in topics]

    @cached_property
    def topic_similarity(self) -> Float64s:
        """Bhattacharyya similarity of topics: (topics, topics)."""
        return topic_similarity(self.model.components_)

    @property
    def titles(self) -> Sequence[str] | None:
        """The titles of the documents, if they have any."""
        return None if self.corpus is None else self.corpus.titles

    @cached_property
    def analyses(self) -> Analyses:
        """Trends and effects of the documents, and groups of topics."""
        from tagtopic.explore.analyses import Analyses

        return Analyses(self.model, self._given)

    @property
    def documents(self) -> Corpus:
        """The documents; raises `NotFoundError` if there are none."""
        if self.corpus is None:
            raise NotFoundError("no documents were given beside the model: start with --corpus to see them")
        return self.corpus

    @property
    def posteriors(self) -> DocumentPosteriors:
        """Topic mixes and tag weights of all documents."""
        return self._posteriors.get()

    @property
    def posteriors_ready(self) -> bool:
        """Whether the posteriors have been computed."""
        return self._posteriors.ready

    @property
    def weights_by_tag(self) -> Any:
        """The tag weights by tag: CSC (documents, tags)."""
        return self._weights_by_tag.get()

    @property
    def quality(self) -> Quality | None:
        """How well the model predicts the documents' words; None without documents."""
        return self._quality.get()

    @property
    def can_audit(self) -> bool:
        """Whether there are tagged documents and a model that can audit them."""
        return self.corpus is not None and self.corpus.tags.nnz > 0 and self._predicts

    @property
    def audit(self) -> TagReport:
        """The audit of the documents' tags; raises `NotFoundError` if there is nothing to audit."""
        if not self.can_audit:
            if self.corpus is None:
                raise NotFoundError("an audit needs documents: start with --corpus")
            raise NotFoundError("there are no tags to audit: neither these documents nor the model have any")
        return self._audit.get()

    @property
    def audit_ready(self) -> bool:
        """Whether the audit has been computed."""
        return self._audit.ready

    @cached_property
    def audit_by_tag(self) -> dict[str, Records[TagOnDocument]]:
        """The entries of the audit by tag, most suspicious first."""
        return self.audit.entries.by("tag")

    def infer(self, corpus: Corpus) -> DocumentPosteriors:
        """Infer topic mixes and tag weights of documents that are in the columns of the model.

        Parameters
        ----------
        corpus : Corpus
            The documents.

        Returns
        -------
        DocumentPosteriors
            Their topic mixes and tag weights.
        """
        return self.model._infer(corpus)

    @property
    def method_for_new_documents(self) -> str:
        """The inference method for documents that the model was not fitted to."""
        return METHODS[self.model.inference_].for_new_documents.name

    @property
    def reads_texts(self) -> bool:
        """Whether the model can tokenize texts: false after a fit to counts, or without its custom tokenizer."""
        rules = self.model.rules_
        return rules is not None and not isinstance(rules.tokenizer, str)

    @cached_property
    def years(self) -> dict[int, list[int]]:
        """The numbers of the tags of each year, if the tags of one kind are years."""
        return years_of(self.model.tag_names_)

    def warm(self) -> threading.Thread:
        """Compile the kernels and compute what is slow in a background thread, and return the thread.

        Returns
        -------
        threading.Thread
            The thread, which has been started.
        """
        return start_thread(self._warm)

    def warm_audit(self) -> None:
        """Start the audit in the background, unless it is ready or under way."""
        if not (self._audit.ready or self._audit.computing):
            start_thread(self._audit.get)

    def _warm(self) -> None:
        from tagtopic.explore import views

        if self.reads_texts:
            views.new_document(self, " ".join(self.model.words_[:3]), self.model.tag_names_[:1])
        if self.corpus is not None and len(self.corpus):
            views.document(self, 0)
        _ = self.quality
        if self.corpus is not None:
            _ = self.weights_by_tag
        if self.can_audit:
            _ = self.audit
        if self.review is not None:
            _ = self.review.queue

    def _review(self, ledger: Ledger, predicted: int) -> Review:
        from tagtopic.explore.review import Review

        return Review(self, ledger, predicted=predicted)

    def _measure_quality(self) -> Quality | None:
        from tagtopic.explore.views.overview import measure_quality

        return None if self.corpus is None else measure_quality(self.model, self.corpus)

    def _infer_all(self) -> DocumentPosteriors:
        return self.infer(self.documents)

    def _audit_all(self) -> TagReport:
        return self.model.audit_tags(self.documents)


def start_thread(target: Callable[[], object]) -> threading.Thread:
    """Start a background thread that does not keep the process alive.

    Its errors are not printed: whoever asks for the result meets them, and at the end of the process, when its pools
    accept no more work, nobody does.
    """

    def run() -> None:
        with suppress(Exception):
            target()

    thread = threading.Thread(target=run, name="tagtopic-warm", daemon=True)
    thread.start()
    return thread


def years_of(tag_names: tuple[str, ...]) -> dict[int, list[int]]:
    """The numbers of the tags of each year, if at least 80% of the tags of a kind are years; the largest such kind."""
    by_kind: dict[str, list[int]] = defaultdict(list)
    for column, name in enumerate(tag_names):
        by_kind[kind_of(name)].append(column)
    best: dict[int, list[int]] = {}
    for columns in by_kind.values():
        years: dict[int, list[int]] = defaultdict(list)
        for column in columns:
            value = tag_names[column].rpartition(":")[2].strip()
            if _YEAR.fullmatch(value):
                years[int(value)].append(column)
        if len(years) > len(best) and len(years) >= 0.8 * len(columns):
            best = dict(sorted(years.items()))
    return best
