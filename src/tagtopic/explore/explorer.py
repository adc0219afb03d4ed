"""A model, and documents if there are any, made ready to be looked at.

An explorer may be asked from many threads at once. What is slow for many documents (their posteriors, the audit) is
made once, when first asked for or in the background by ``warm``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tagtopic.explore.errors import NothingToShowError
from tagtopic.explore.layout import likeness
from tagtopic.explore.once import Once
from tagtopic.explore.years import years_of
from tagtopic.inference.arrays import way_for_new_documents
from tagtopic.models.posterior import DocumentPosteriors, infer

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.explore.views.quality import Quality
    from tagtopic.inference.arrays import Float64s, Floats
    from tagtopic.models.audit.report import TagOnDocument, TagReport
    from tagtopic.models.base import TagTopicModel
    from tagtopic.models.records import Records


class Explorer:
    """A fitted model with what there is to see beside it.

    Parameters
    ----------
    model:
        A fitted model.
    corpus:
        Documents, if there are any to show.
    texts:
        The documents' texts in the order of the corpus, if they are at hand: a corpus keeps only counts.
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
        return likeness(self.model.components_)

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
        return infer(self.model.parameters_, self.way, corpus, self.model.n_jobs)

    @property
    def way(self) -> str:
        """The way in which the model infers documents."""
        return way_for_new_documents(self.model.inference)

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
        from tagtopic.explore.views.quality import quality

        return None if self.corpus is None else quality(self.model, self.corpus)

    def _infer_all(self) -> DocumentPosteriors:
        return self.infer(self.documents)

    def _audit_all(self) -> TagReport:
        return self.model.audit_tags(self.documents)


def _in_background(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, name="tagtopic-warm", daemon=True)
    thread.start()
    return thread
