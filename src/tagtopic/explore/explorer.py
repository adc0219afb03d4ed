"""A model, and documents if there are any, made ready to be looked at.

An explorer may be asked from many threads at once. What is slow for many documents (their posteriors, the audit) is
made once, when first asked for or in the background by ``warm``.

What a person is told when there is nothing to show.

A value that takes long, made once: whoever comes while it is being made waits for it.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import scipy.sparse as sp

from tagtopic.corpus.tags import kind_of
from tagtopic.engines import LocalEngine
from tagtopic.engines.posterior import DocumentPosteriors
from tagtopic.inference.methods import method_of
from tagtopic.models.topic_map import topic_similarity

if TYPE_CHECKING:
    from tagtopic._core.arrays import Float64s, Floats
    from tagtopic._core.records import Records
    from tagtopic.corpus import Corpus
    from tagtopic.explore.views.overview import Quality
    from tagtopic.models._base import TagTopicModel
    from tagtopic.tagging.audit import TagOnDocument, TagReport


class NothingToShowError(ValueError):
    """What was asked for is not there: no such topic, tag or document, or nothing was given to show it from."""


Value = TypeVar("Value")


class Once(Generic[Value]):
    """Calls ``make`` when first asked, from whichever thread; an error is not kept but raised to who asked."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: tuple[Value] | None = None

    def get(self) -> Value:
        """The value, made now if it is not there."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = (self._make(),)
        return self._made[0]

    @property
    def ready(self) -> bool:
        """Whether ``get`` would return at once."""
        return self._made is not None

    @property
    def being_made(self) -> bool:
        """Whether somebody is making it now."""
        return self._lock.locked()


class Explorer:
    """A fitted model with what there is to see beside it.

    Parameters
    ----------
    model:
        A fitted model.
    corpus:
        Documents, if there are any to show.
    texts:
        The documents' texts in the order of the corpus; by default those that the corpus keeps, if it does.
    name:
        What the model is called on its pages.
    other, other_name:
        A second model to compare with.

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
    ) -> None:
        if texts is None and corpus is not None:
            texts = corpus.texts
        if texts is not None and (corpus is None or len(texts) != len(corpus)):
            raise ValueError(f"there are {len(texts)} texts for {0 if corpus is None else len(corpus)} documents")
        self.model = model
        self.corpus = None if corpus is None else model.aligned(corpus)
        self.texts = texts
        self.name = name
        self.other, self.other_name = other, other_name
        self.other_corpus = None if corpus is None or other is None else other.aligned(corpus)
        self._posteriors = Once(self._infer_all)
        self._by_tag: Once[Any] = Once(lambda: sp.csc_array(self.posteriors.weights))
        self._quality = Once(self._measure)
        self._audit = Once(self._audit_all)

    @cached_property
    def tag_numbers(self) -> dict[str, int]:
        """The number of each tag: its place among the model's tags."""
        return {tag: number for number, tag in enumerate(self.model.tag_names_)}

    @cached_property
    def word_numbers(self) -> dict[str, int]:
        """The column of each word."""
        return {word: number for number, word in enumerate(self.model.words_)}

    @cached_property
    def searchable_tags(self) -> list[str]:
        """The tags as they are searched."""
        return [tag.casefold() for tag in self.model.tag_names_]

    @cached_property
    def document_numbers(self) -> dict[str, int]:
        """The place of each document; of documents with the same id, the first's."""
        ids = () if self.corpus is None else self.corpus.ids
        numbers: dict[str, int] = {}
        for number, name in enumerate(ids):
            numbers.setdefault(name, number)
        return numbers

    @cached_property
    def tag_roots(self) -> Floats:
        """The square roots of the tags' topics, from which their likeness is made."""
        return np.sqrt(self.model.tag_topics_)

    @cached_property
    def topic_words(self) -> list[tuple[str, ...]]:
        """The ten likeliest words of each topic: pages name topics by the first of them, many times."""
        topics = range(len(self.model.components_))
        return [tuple(word for word, _ in self.model.top_words(topic, 10)) for topic in topics]

    @cached_property
    def topic_likeness(self) -> Float64s:
        """How alike topics are: (topics, topics)."""
        return topic_similarity(self.model.components_)

    @property
    def documents(self) -> Corpus:
        """The documents; an error if there are none."""
        if self.corpus is None:
            raise NothingToShowError("no documents were given beside the model: start with --corpus to see them")
        return self.corpus

    @property
    def posteriors(self) -> DocumentPosteriors:
        """Topic mix and tag weights of every document."""
        return self._posteriors.get()

    @property
    def weights_by_tag(self) -> Any:
        """CSC (documents, tags): the same weights, one tag after the other."""
        return self._by_tag.get()

    @property
    def quality(self) -> Quality | None:
        """How well the model tells the documents' words; None without documents."""
        return self._quality.get()

    @property
    def can_audit(self) -> bool:
        """Whether there are documents with tags to audit, and a model that can."""
        return self.corpus is not None and self.corpus.tags.nnz > 0 and self.model.tag_predictor_ is not None

    @property
    def audit(self) -> TagReport:
        """The audit of the documents' tags; an error if there is nothing to audit."""
        if not self.can_audit:
            if self.corpus is None:
                raise NothingToShowError("an audit needs documents: start with --corpus")
            raise NothingToShowError("there are no tags to audit: neither these documents nor the model have any")
        return self._audit.get()

    @property
    def audit_ready(self) -> bool:
        """Whether the audit is there already."""
        return self._audit.ready

    @cached_property
    def audit_by_tag(self) -> dict[str, Records[TagOnDocument]]:
        """The entries of the audit by tag, worst first."""
        return self.audit.entries.by("tag")

    def infer(self, corpus: Corpus) -> DocumentPosteriors:
        """Topic mixes and tag weights of documents that are in the model's columns."""
        return LocalEngine(self.model.n_jobs).infer(corpus, self.model.parameters_, self.method_for_new_documents)

    @property
    def method_for_new_documents(self) -> str:
        """The inference method for documents that the model was not fitted to."""
        return method_of(self.model.inference).for_new_documents.name

    @property
    def reads_texts(self) -> bool:
        """Whether the model knows how texts become words; of a tokenizer, a model file keeps only the name."""
        rules = self.model.rules_
        return rules is not None and not isinstance(rules.tokenizer, str)

    @cached_property
    def years(self) -> dict[int, list[int]]:
        """The tags of each year, if a kind of tag is years."""
        return years_of(self.model.tag_names_)

    def warm(self) -> threading.Thread:
        """Compile what pages need, and make what is slow, in a thread of its own; the thread."""
        return _in_background(self._warm)

    def warm_audit(self) -> None:
        """See to it that the audit is being made."""
        if not (self._audit.ready or self._audit.being_made):
            _in_background(self._audit.get)

    def _warm(self) -> None:
        if self.reads_texts:
            from tagtopic.explore.views import examine

            examine(self, " ".join(self.model.words_[:3]), self.model.tag_names_[:1])
        _ = self.quality
        if self.corpus is not None:
            _ = self.weights_by_tag
        if self.can_audit:
            _ = self.audit

    def _measure(self) -> Quality | None:
        from tagtopic.explore.views.overview import quality

        return None if self.corpus is None else quality(self.model, self.corpus)

    def _infer_all(self) -> DocumentPosteriors:
        return self.infer(self.documents)

    def _audit_all(self) -> TagReport:
        return self.model.audit_tags(self.documents)


def _in_background(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, name="tagtopic-warm", daemon=True)
    thread.start()
    return thread


YEAR = re.compile(r"(1[5-9]|20)\d\d")


def years_of(tag_names: tuple[str, ...]) -> dict[int, list[int]]:
    """The tags of each year, in order, if most tags of some kind are years; of several such kinds, the largest."""
    by_kind: dict[str, list[int]] = defaultdict(list)
    for column, name in enumerate(tag_names):
        by_kind[kind_of(name)].append(column)
    best: dict[int, list[int]] = {}
    for columns in by_kind.values():
        years: dict[int, list[int]] = defaultdict(list)
        for column in columns:
            value = tag_names[column].rpartition(":")[2].strip()
            if YEAR.fullmatch(value):
                years[int(value)].append(column)
        if len(years) > len(best) and len(years) >= 0.8 * len(columns):
            best = dict(sorted(years.items()))
    return best
