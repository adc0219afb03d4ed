"""What an experiment is made on: a corpus whose documents all have words and tags, and labels where there are any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagtopic.corpus import Corpus
from tagtopic.corpus.text.rules import TagRules

EMBEDDED, PLANTED = "embedded", "planted"
QUICK_DOCUMENTS = 2000
LABEL_SHARE = 0.25
"""A planted document is labelled with the topics that have this share of it."""

AUTHORS_RULES: dict[str, Any] = {"min_df": 1, "max_df": 1.0, "stop_words": None}
"""The authors of the paper's format have chosen the words already."""


@dataclass(frozen=True)
class Choice:
    """Which documents and tags of a source are taken.

    Attributes
    ----------
    labels:
        The kind of tag that is to be learnt in ``classify``; it is no tag then.
    kinds:
        Kinds of tags to keep; None is all.
    min_tag_documents:
        Tags on fewer documents are left out.
    documents:
        At most so many documents, drawn at random.

    Examples
    --------
    >>> from tagtopic.experiments import Choice
    >>> Choice(kinds=["author"], min_tag_documents=5).documents is None
    True
    """

    labels: str | None = None
    kinds: Sequence[str] | None = None
    min_tag_documents: int = 1
    documents: int | None = None


@dataclass(frozen=True)
class Subject:
    """A corpus and, for the same documents, a corpus whose tags are the labels.

    Examples
    --------
    >>> from tagtopic.experiments import planted
    >>> subject = planted(quick=True)
    >>> len(subject.corpus) == len(subject.labels)
    True
    """

    corpus: Corpus
    labels: Corpus | None

    def __getitem__(self, rows: Any) -> Subject:
        return Subject(self.corpus[rows], None if self.labels is None else self.labels[rows])

    def fold(self, number: int, folds: int) -> tuple[Subject, Subject]:
        """Training and test part, the test parts of all numbers being the whole; each in the corpus's order."""
        if not 0 <= number < folds:
            raise ValueError(f"there is no fold {number} of {folds}: they are counted from 0")
        order = np.random.default_rng(0).permutation(len(self.corpus))
        in_test = np.zeros(len(order), np.bool_)
        in_test[np.array_split(order, folds)[number]] = True
        return self[~in_test], self[in_test]

    @property
    def fingerprint(self) -> str:
        """Of the corpus and the labels."""
        return self.corpus.fingerprint() + ("" if self.labels is None else self.labels.fingerprint())


def embedded(*, quick: bool = False, packages: Sequence[str] | None = None) -> Subject:
    """The documentation of the installed Python: packages are labels, and modules, which give them away, no tags.

    Examples
    --------
    >>> from tagtopic.experiments import embedded
    >>> subject = embedded(quick=True, packages=["json", "email"])
    >>> set(subject.labels.tag_kinds)
    {'package'}
    """
    from tagtopic.datasets import load_python_docs

    kinds = ("kind", "parameter", "raises")
    return select(load_python_docs(packages), Choice("package", kinds, documents=QUICK_DOCUMENTS if quick else None))


def planted(*, quick: bool = False) -> Subject:
    """A corpus drawn from TWDA, labelled with the true topics of each document.

    Examples
    --------
    >>> from tagtopic.experiments import planted
    >>> planted(quick=True).corpus.n_tags
    40
    """
    from tagtopic.datasets import make_tagged_corpus

    drawn = make_tagged_corpus(400 if quick else 4000, 8, 40, 400, model="twda", random_state=0)
    labels = [[f"label:{k}" for k in np.flatnonzero(mix >= LABEL_SHARE)] for mix in drawn.document_topics]
    labelled = Corpus.from_counts(drawn.corpus.counts, labels, words=drawn.corpus.words, ids=drawn.corpus.ids)
    return _complete(Subject(drawn.corpus, labelled))


def select(corpus: Corpus, choice: Choice) -> Subject:
    """The documents and tags that are asked for; documents without words, tags or (where asked for) labels go.

    Examples
    --------
    >>> from tagtopic import Corpus
    >>> from tagtopic.experiments import Choice, select
    >>> corpus = Corpus.from_counts([[1, 2], [2, 1]], [["author:Ada", "genre:note"], ["genre:letter"]])
    >>> subject = select(corpus, Choice(labels="genre"))
    >>> len(subject.corpus), subject.corpus.tag_names
    (1, ('author:Ada',))
    """
    labels = None
    if choice.labels is not None:
        labels = corpus.select_tags(TagRules(keep_kinds=(choice.labels,)))
        if not labels.tags.nnz:
            raise ValueError(
                f"no document has a tag of the kind {choice.labels!r} to be its label; kinds are: {_kinds_of(corpus)}"
            )
    unknown = [kind for kind in choice.kinds or () if kind not in corpus.tag_kinds]
    if unknown:
        raise ValueError(f"no document has a tag of the kind {unknown[0]!r} to keep; kinds are: {_kinds_of(corpus)}")
    kinds = None if choice.kinds is None else tuple(choice.kinds)
    drop = () if choice.labels is None else (choice.labels,)
    rules = TagRules(min_tag_documents=choice.min_tag_documents, keep_kinds=kinds, drop_kinds=drop)
    subject = _complete(Subject(corpus.select_tags(rules), labels))
    if choice.documents is not None and choice.documents < len(subject.corpus):
        subject = subject[np.random.default_rng(0).permutation(len(subject.corpus))[: choice.documents]]
    return subject


def _kinds_of(corpus: Corpus) -> str:
    return ", ".join(sorted(set(corpus.tag_kinds))) or "none"


def _complete(subject: Subject) -> Subject:
    """Without the documents that lack something: TWTM needs tags, and one corpus for all models is fair."""
    matrices = [subject.corpus.counts, subject.corpus.tags]
    matrices += [] if subject.labels is None else [subject.labels.tags]
    whole = np.logical_and.reduce([np.diff(matrix.indptr) > 0 for matrix in matrices])
    if not whole.any():
        raise ValueError("no document has words and tags: there is nothing to experiment on")
    return subject if whole.all() else subject[whole]


def commonest_tags(subject: Subject, n: int) -> Subject:
    """With the n tags on most documents only."""
    corpus = subject.corpus
    documents = corpus.tag_sizes()
    kept = np.sort(np.argsort(-documents, kind="stable")[:n])
    names = [corpus.tag_names[j] for j in kept]
    return _complete(Subject(corpus.align(corpus.words, names).corpus, subject.labels))
