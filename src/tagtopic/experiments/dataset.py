"""The data of an experiment: a corpus whose documents all have words and tags, and labels for classification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tagtopic.corpus import Corpus
from tagtopic.corpus.splits import first_copies
from tagtopic.corpus.text.rules import TagRules

EMBEDDED, PLANTED = "embedded", "planted"
QUICK_DOCUMENTS = 2000
DUPLICATE_SHARE = 0.6
"""Near-duplicates share at least this share of the distinct words of the longer document."""

LABEL_SHARE = 0.25
"""A planted document is labelled with the topics that have at least this share of it."""

TWTM_FORMAT_RULES: dict[str, Any] = {"min_df": 1, "max_df": 1.0, "stop_words": None}
"""Options of ``Corpus.read`` for files in the paper's format, whose vocabulary is selected already."""


@dataclass(frozen=True)
class Selection:
    """Which documents and tags of a corpus are used.

    Parameters
    ----------
    labels : str, optional
        The kind of tag that ``classify`` learns to predict; it is removed from the tags.
    kinds : sequence of str, optional
        Kinds of tags to keep; by default all.
    min_tag_documents : int, default 1
        Tags on fewer documents are removed.
    documents : int, optional
        Maximum number of documents, drawn at random.
    drop_duplicates : bool, default False
        Whether near-duplicates are removed: copies on both sides of a split reward memory.

    Examples
    --------
    >>> from tagtopic.experiments import Selection
    >>> Selection(kinds=["author"], min_tag_documents=5).documents is None
    True
    """

    labels: str | None = None
    kinds: Sequence[str] | None = None
    min_tag_documents: int = 1
    documents: int | None = None
    drop_duplicates: bool = False


@dataclass(frozen=True)
class Dataset:
    """A corpus with labels.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    labels : Corpus or None
        The same documents with their labels as tags.
    notes : tuple of str, default ()
        Which documents were left out, and why.

    Examples
    --------
    >>> from tagtopic.experiments import planted_dataset
    >>> dataset = planted_dataset(quick=True)
    >>> len(dataset.corpus) == len(dataset.labels)
    True
    """

    corpus: Corpus
    labels: Corpus | None
    notes: tuple[str, ...] = ()

    def __getitem__(self, rows: Any) -> Dataset:
        return Dataset(self.corpus[rows], None if self.labels is None else self.labels[rows], self.notes)

    def fold(self, number: int, folds: int) -> tuple[Dataset, Dataset]:
        """Split into a training and a test part of cross-validation; both keep the order of the corpus.

        Parameters
        ----------
        number : int
            Number of the fold, from 0.
        folds : int
            Number of folds.

        Returns
        -------
        tuple of Dataset and Dataset
            Training and test part.
        """
        if not 0 <= number < folds:
            raise ValueError(f"there is no fold {number} of {folds}: they are counted from 0")
        order = np.random.default_rng(0).permutation(len(self.corpus))
        in_test = np.zeros(len(order), np.bool_)
        in_test[np.array_split(order, folds)[number]] = True
        return self[~in_test], self[in_test]

    @property
    def fingerprint(self) -> str:
        """A digest of the corpus and the labels."""
        return self.corpus.fingerprint() + ("" if self.labels is None else self.labels.fingerprint())


def embedded_dataset(*, quick: bool = False, packages: Sequence[str] | None = None) -> Dataset:
    """Load the documentation of the installed Python, with packages as labels.

    Modules are not among the tags: they would reveal the package.

    Parameters
    ----------
    quick : bool, default False
        Use 2000 random documents.
    packages : sequence of str, optional
        Packages to read; by default all installed ones.

    Returns
    -------
    Dataset
        Corpus and labels.

    Examples
    --------
    >>> from tagtopic.experiments import embedded_dataset
    >>> dataset = embedded_dataset(quick=True, packages=["json", "email"])
    >>> set(dataset.labels.tag_kinds)
    {'package'}
    """
    from tagtopic.datasets import load_python_docs

    kinds = ("kind", "parameter", "raises")
    return select_dataset(
        load_python_docs(packages), Selection("package", kinds, documents=QUICK_DOCUMENTS if quick else None)
    )


def planted_dataset(*, quick: bool = False) -> Dataset:
    """Draw a corpus from TWDA, labelled with the true topics of each document.

    Parameters
    ----------
    quick : bool, default False
        400 instead of 4000 documents.

    Returns
    -------
    Dataset
        Corpus and labels.

    Examples
    --------
    >>> from tagtopic.experiments import planted_dataset
    >>> planted_dataset(quick=True).corpus.n_tags
    40
    """
    from tagtopic.datasets import make_tagged_corpus

    drawn = make_tagged_corpus(400 if quick else 4000, 8, 40, 400, model="twda", random_state=0)
    labels = [[f"label:{k}" for k in np.flatnonzero(mix >= LABEL_SHARE)] for mix in drawn.document_topics]
    labelled = Corpus.from_counts(drawn.corpus.counts, labels, words=drawn.corpus.words, ids=drawn.corpus.ids)
    return _complete(Dataset(drawn.corpus, labelled))


def select_dataset(corpus: Corpus, selection: Selection) -> Dataset:
    """Select documents and tags of a corpus; documents without words, tags or requested labels are removed.

    ``notes`` of the result says how many.

    Parameters
    ----------
    corpus : Corpus
        Documents.
    selection : Selection
        Which of them and of their tags are used.

    Returns
    -------
    Dataset
        Corpus and labels.

    Raises
    ------
    ValueError
        If no tag is of a requested kind, or no document is left.

    Examples
    --------
    >>> from tagtopic import Corpus
    >>> from tagtopic.experiments import Selection, select_dataset
    >>> corpus = Corpus.from_counts([[1, 2], [2, 1]], [["author:Ada", "genre:note"], ["genre:letter"]])
    >>> dataset = select_dataset(corpus, Selection(labels="genre"))
    >>> len(dataset.corpus), dataset.corpus.tag_names
    (1, ('author:Ada',))
    >>> dataset.notes
    ('1 of 2 documents has no tags (left out)',)
    """
    labels = None
    if selection.labels is not None:
        labels = corpus.select_tags(TagRules(keep_kinds=(selection.labels,)))
        if not labels.tags.nnz:
            kinds_found = _kinds_of(corpus)
            raise ValueError(
                f"no document has a tag of the kind {selection.labels!r} to be its label; kinds are: {kinds_found}"
            )
    unknown = [kind for kind in selection.kinds or () if kind not in corpus.tag_kinds]
    if unknown:
        raise ValueError(f"no document has a tag of the kind {unknown[0]!r} to keep; kinds are: {_kinds_of(corpus)}")
    kinds = None if selection.kinds is None else tuple(selection.kinds)
    drop = () if selection.labels is None else (selection.labels,)
    rules = TagRules(min_tag_documents=selection.min_tag_documents, keep_kinds=kinds, drop_kinds=drop)
    dataset = Dataset(corpus.select_tags(rules), labels)
    if selection.drop_duplicates:
        dataset = _without_copies(dataset)
    dataset = _complete(dataset)
    if selection.documents is not None and selection.documents < len(dataset.corpus):
        dataset = dataset[np.random.default_rng(0).permutation(len(dataset.corpus))[: selection.documents]]
    return dataset


def _kinds_of(corpus: Corpus) -> str:
    return ", ".join(sorted(set(corpus.tag_kinds))) or "none"


def _complete(dataset: Dataset) -> Dataset:
    """Remove documents without words, tags or labels: TWTM needs tags, and all models must get the same corpus."""
    matrices = {"words": dataset.corpus.counts, "tags": dataset.corpus.tags}
    if dataset.labels is not None:
        matrices["labels"] = dataset.labels.tags
    present = {what: np.diff(matrix.indptr) > 0 for what, matrix in matrices.items()}
    complete = np.logical_and.reduce(list(present.values()))
    if not complete.any():
        raise ValueError("no document has words and tags: there is nothing to experiment on")
    missing = {what: int((~has).sum()) for what, has in present.items()}
    notes = [_left_out(n, len(dataset.corpus), f"no {what}") for what, n in missing.items() if n]
    return dataset if complete.all() else replace(dataset[complete], notes=(*dataset.notes, *notes))


def _without_copies(dataset: Dataset) -> Dataset:
    """Remove documents that share 60% of their distinct words with an earlier one."""
    rows = np.flatnonzero(first_copies(dataset.corpus.counts, DUPLICATE_SHARE) < 0)
    copies = len(dataset.corpus) - len(rows)
    note = f"{copies:,} of {len(dataset.corpus):,} documents nearly duplicate an earlier one (left out)"
    return replace(dataset[rows], notes=(*dataset.notes, note)) if copies else dataset


def _left_out(n: int, total: int, lack: str) -> str:
    return f"{n:,} of {total:,} documents {'has' if n == 1 else 'have'} {lack} (left out)"


def with_seen_words(test: Corpus, train: Corpus) -> Corpus:
    """Return the test documents without the words that no training document has."""
    seen = [word for word, count in zip(train.words, train.word_counts(), strict=True) if count > 0]
    return test.align(seen, test.tag_names).corpus


def with_commonest_tags(dataset: Dataset, n: int) -> Dataset:
    """Keep the n most frequent tags only."""
    corpus = dataset.corpus
    documents = corpus.tag_sizes()
    kept = np.sort(np.argsort(-documents, kind="stable")[:n])
    names = [corpus.tag_names[j] for j in kept]
    return _complete(Dataset(corpus.align(corpus.words, names).corpus, dataset.labels, dataset.notes))
