"""Tags of a controlled vocabulary that no training document has, predicted by their labels in the text.

A tag without training documents has neither neighbours nor a classifier. What is known of it is its names: a document
with all words of the label "solar eclipse" may be about solar eclipses. How often such a match is right depends on how
much of the label is there, how common its words are, and how common the tag is. A logistic regression learns this from
the training documents, each left out: its examples are the matches of all labels of the vocabulary, with the number of
other documents that have the tag. Tags that no other document has are among them, so that its probabilities are
calibrated for tags that were never seen: most of them stay unused, however well their labels match.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, owners_of
from tagtopic._core.estimator import BaseEstimator, check_is_fitted
from tagtopic._core.parallel import cut_rows, one_blas_thread
from tagtopic.corpus import Corpus
from tagtopic.corpus.tags import kind_of
from tagtopic.tagging.calibration import fit_coefficients, log_odds_of
from tagtopic.tagging.predictor import Ranked, TagPredictor, training_corpus
from tagtopic.tagging.training_index import name_words

MIN_OVERLAP = 0.5
"""Share of a label's words, weighted by idf, from which it matches a document."""

FULL = 0.999

MAX_EXAMPLES = 4000
"""Training documents whose matches are examples."""

CHUNK = 256
"""Documents whose matches are found together."""

MATCH_FEATURES = (
    "overlap",
    "full",
    "repetition",
    "log_label_documents",
    "full_x_log_label_documents",
    "log_words",
    "log_tag_documents",
    "unseen",
    "full_x_unseen",
)
"""What is known of a match; "label documents" are the other training documents that match the label in full."""


@dataclass(frozen=True)
class LabelMatches:
    """Labels that match documents, the best one of each tag.

    Attributes
    ----------
    documents, tags, labels : array
        The numbers of the document, the tag and the label of each match.
    overlap, repetition : array
        The share of the label's words that the document has, and the same with log2(1 + count) for each word.
    """

    documents: Any
    tags: Any
    labels: Any
    overlap: Any
    repetition: Any


class VocabularyPredictor(BaseEstimator):  # type: ignore[misc]
    """Predict the tags of a controlled vocabulary, those without training documents by their labels.

    Tags of training documents are predicted by a ``TagPredictor``; all other tags of the vocabulary by their labels,
    with a probability that is learnt from how matches of labels turn out on the training documents.

    Parameters
    ----------
    labels : mapping of str to sequence of str
        For each tag of the vocabulary its labels, the preferred one and alternatives
        (``tagtopic.curation.thesaurus.labels_of`` makes it from a thesaurus).
    n_jobs : int or None, default=None
        Threads; None uses all cores. The result does not depend on it.
    random_state : int, default=0
        Seed of the samples.

    Attributes
    ----------
    predictor_ : TagPredictor
        The predictor of the tags that training documents have.
    tag_names_ : tuple of str
        The tags of the vocabulary.
    words_ : tuple of str
        The words of the training documents, then words that only labels have.
    coefficients_ : ndarray of shape (n_features + 1,)
        Coefficients of MATCH_FEATURES and an intercept, which give the log odds of a match.

    Examples
    --------
    >>> from tagtopic.tagging import VocabularyPredictor
    >>> texts = ["a ship at sea", "a robot in space", "a dog"] * 8
    >>> labels = {"sea": ["sea"], "space": ["space"], "animal": ["dog", "cat"], "music": ["violin"]}
    >>> predictor = VocabularyPredictor(labels, n_jobs=1).fit(texts, tags=[["sea"], ["space"], ["animal"]] * 8)
    >>> "music" in dict(predictor.predict(["a violin in space"], n=4)[0])
    True
    """

    def __init__(
        self, labels: Mapping[str, Sequence[str]], *, n_jobs: int | None = None, random_state: int = 0
    ) -> None:
        self.labels = labels
        self.n_jobs = n_jobs
        self.random_state = random_state

    predictor_: TagPredictor
    tag_names_: tuple[str, ...]
    words_: tuple[str, ...]
    coefficients_: Float64s

    def fit(self, X: Any, y: Any = None, *, tags: Any = None) -> Self:
        """Fit the predictor of known tags, and how matches of labels turn out.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents; those without words or without tags are not used.
        y : None
            Ignored.
        tags : list of lists of names, or 0/1 matrix, optional
            The tags of texts or counts; a Corpus has its own.

        Returns
        -------
        VocabularyPredictor
            Itself.

        Raises
        ------
        ValueError
            If no document has both words and tags, or no tag has a label.
        TypeError
            If the documents are on a cluster.

        Examples
        --------
        >>> predictor = VocabularyPredictor({"sea": ["ship"]}, n_jobs=1)
        >>> predictor.fit(["a ship", "a robot"] * 5, tags=[["sea"], ["x"]] * 5).tag_names_
        ('sea',)
        """
        corpus = training_corpus(X, tags)
        if not isinstance(corpus, Corpus):
            raise TypeError("labels are matched in documents in memory or in files, not on a cluster")
        if not any(self.labels.values()):
            raise ValueError("no tag of the vocabulary has a label")
        self.predictor_ = TagPredictor(n_jobs=self.n_jobs, random_state=self.random_state).fit(corpus)
        self.tag_names_ = tuple(self.labels)
        self._index_labels()
        rows = np.flatnonzero((np.diff(corpus.counts.indptr) > 0) & (np.diff(corpus.tags.indptr) > 0))
        counts, own = self._widened(corpus.counts[rows]), self._vocabulary_tags(corpus)[rows]
        matches = self._matches(counts)
        full = matches.overlap > FULL
        self._label_documents = np.bincount(matches.labels[full], minlength=len(self._tag_of_label))
        self._tag_documents = np.bincount(own.indices, minlength=len(self.tag_names_))
        chosen = np.random.default_rng(self.random_state).permutation(len(rows))[:MAX_EXAMPLES]
        here = np.isin(matches.documents, chosen)
        examples = LabelMatches(*(array[here] for array in vars(matches).values()))
        n_tags = np.int64(len(self.tag_names_))
        is_own = np.isin(examples.documents * n_tags + examples.tags, owners_of(own.indptr) * n_tags + own.indices)
        features = self._features(examples, is_own, leave_out=True)
        self.coefficients_ = np.append(np.zeros(len(MATCH_FEATURES)), np.log(0.5 / (len(is_own) + 1)))
        if is_own.any() and not is_own.all():
            with one_blas_thread():
                self.coefficients_ = fit_coefficients(features, is_own, np.zeros(len(is_own), np.int32), 1)[0]
        return self

    def predict(self, X: Any, n: int = 10, *, kinds: Iterable[str] | None = None) -> list[Ranked]:
        """Predict the n most probable tags of each document, with or without training documents.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents. Words that no training document has match labels in texts only.
        n : int, default=10
            The number of tags per document.
        kinds : iterable of str, optional
            Predict tags of these kinds only.

        Returns
        -------
        list of lists of (str, float)
            For each document its tags with their probabilities, most probable first.

        Examples
        --------
        >>> predictor = VocabularyPredictor({"dog": ["dog"]}, n_jobs=1)
        >>> predictor = predictor.fit(["a ship", "a robot"] * 5, tags=[["x"], ["y"]] * 5)
        >>> sorted(tag for tag, _ in predictor.predict(["a dog on a ship"], n=3)[0])
        ['dog', 'x', 'y']
        """
        check_is_fitted(self)
        wanted = None if kinds is None else {kinds} if isinstance(kinds, str) else set(kinds)
        known = None if wanted is None else sorted(wanted.intersection(self.predictor_.kind_names_))
        ranked = self.predictor_.predict(X, n, kinds=known)
        for row, others in zip(ranked, self.predict_unseen(X, kinds=wanted), strict=True):
            row += others
            row.sort(key=lambda pair: -pair[1])
            del row[n:]
        return ranked

    def predict_unseen(self, X: Any, *, kinds: Iterable[str] | None = None) -> list[Ranked]:
        """Predict the tags that no training document has, wherever a label of theirs matches.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents.
        kinds : iterable of str, optional
            Predict tags of these kinds only.

        Returns
        -------
        list of lists of (str, float)
            For each document the tags whose labels match, with their probabilities, most probable first.

        Examples
        --------
        >>> predictor = VocabularyPredictor({"dog": ["dog"]}, n_jobs=1)
        >>> predictor = predictor.fit(["a ship", "a robot"] * 5, tags=[["x"], ["y"]] * 5)
        >>> [tag for tag, _ in predictor.predict_unseen(["a dog on a ship"])[0]]
        ['dog']
        """
        from scipy.special import expit

        check_is_fitted(self)
        counts = self._counts(X)
        wanted = None if kinds is None else {kinds} if isinstance(kinds, str) else set(kinds)
        allowed = np.array([wanted is None or kind_of(tag) in wanted for tag in self.tag_names_], bool)
        allowed &= self._tag_documents == 0
        found = self._matches(counts)
        kept = allowed[found.tags]
        found = LabelMatches(*(array[kept] for array in vars(found).values()))
        features = self._features(found, np.zeros(len(found.tags), bool), leave_out=False)
        probabilities = expit(log_odds_of(features, self.coefficients_))
        ranked: list[Ranked] = [[] for _ in range(counts.shape[0])]
        for i in np.lexsort((found.tags, -probabilities, found.documents)):
            ranked[found.documents[i]].append((self.tag_names_[found.tags[i]], float(probabilities[i])))
        return ranked

    def _index_labels(self) -> None:
        """Cut the labels into words, as texts are cut, and compute the share of each word in each label."""
        predictor = self.predictor_
        pairs = [(tag, label) for tag, name in enumerate(self.tag_names_) for label in dict.fromkeys(self.labels[name])]
        if predictor.rules_ is None:
            cut: Any = [sorted(name_words(f":{label}")) for _, label in pairs]
            labels = Corpus.from_texts(cut, min_df=1, max_df=1.0, min_length=1, stop_words=None, numbers=True)
        else:
            rules = replace(predictor.rules_, min_df=1, max_df=1.0, max_words=None)
            labels = Corpus.from_texts([label for _, label in pairs], rules=rules)
        words = predictor.words_ or ()
        number = {word: j for j, word in enumerate(words)}
        new = [word for word in labels.words if word not in number]
        self.words_ = (*words, *new)
        number |= {word: len(words) + j for j, word in enumerate(new)}
        idf = np.append(predictor.idf_, np.full(len(new), predictor.idf_.max(initial=1.0)))
        columns = np.array([number[word] for word in labels.words], np.int64)[labels.counts.indices]
        owner = owners_of(labels.counts.indptr)
        totals = np.bincount(owner, weights=idf[columns], minlength=len(pairs))
        shares = (idf[columns] / totals[owner]).astype(np.float32)
        self._shares = sp.csr_array((shares, (columns, owner)), shape=(len(self.words_), len(pairs)))
        self._tag_of_label = np.array([tag for tag, _ in pairs], np.int64)
        self._words_of_label = np.maximum(np.diff(labels.counts.indptr), 1)

    def _vocabulary_tags(self, corpus: Corpus) -> Any:
        """Return the tags of the documents in the columns of the vocabulary."""
        number = {name: j for j, name in enumerate(self.tag_names_)}
        columns = np.array([number.get(name, -1) for name in corpus.tag_names], np.int64)
        found = columns[corpus.tags.indices]
        kept = found >= 0
        entries = (np.ones(int(kept.sum()), np.int8), (owners_of(corpus.tags.indptr)[kept], found[kept]))
        return sp.csr_array(entries, shape=(len(corpus), len(self.tag_names_)))

    def _counts(self, X: Any) -> Any:
        """Return documents as counts in the columns ``words_``."""
        rules = self.predictor_.rules_
        if isinstance(X, Corpus):
            return X.align(self.words_, ()).corpus.counts
        if rules is not None and not hasattr(X, "shape"):
            return Corpus.from_texts(X, words=self.words_, rules=rules).counts
        return self._widened(self.predictor_._counts(X))

    def _widened(self, counts: Any) -> Any:
        """Return counts with empty columns for words that only labels have."""
        shape = counts.shape[0], len(self.words_)
        return sp.csr_array((counts.data, counts.indices, counts.indptr), shape=shape)

    def _matches(self, counts: Any) -> LabelMatches:
        parts = [self._matches_of(counts[first:last], first) for first, last in cut_rows(counts.shape[0], CHUNK)]
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return LabelMatches(*map(np.concatenate, columns)) if parts else self._matches_of(counts, 0)

    def _matches_of(self, counts: Any, first: int) -> LabelMatches:
        """Return the best label of each tag and document, from which MIN_OVERLAP of its words are there."""
        there, repeated = sp.csr_array(counts, dtype=np.float32), sp.csr_array(counts, dtype=np.float32)
        there.data, repeated.data = np.ones_like(there.data), np.log2(1 + repeated.data)
        overlaps, repetitions = sp.csr_array(there @ self._shares), sp.csr_array(repeated @ self._shares)
        overlaps.sort_indices()
        repetitions.sort_indices()
        enough = np.flatnonzero(overlaps.data >= MIN_OVERLAP)
        documents, labels = owners_of(overlaps.indptr)[enough], overlaps.indices[enough].astype(np.int64)
        overlap, tags = overlaps.data[enough], self._tag_of_label[labels]
        order = np.lexsort((labels, -overlap, tags, documents))
        _, first_of_pair = np.unique(documents[order] * np.int64(len(self.tag_names_)) + tags[order], return_index=True)
        best = order[first_of_pair]
        return LabelMatches(
            documents[best] + first, tags[best], labels[best], overlap[best], repetitions.data[enough[best]]
        )

    def _features(self, matches: LabelMatches, is_own: Any, *, leave_out: bool) -> Float64s:
        """Return MATCH_FEATURES of each match; without the document itself if it is one of the training documents."""
        full = (matches.overlap > FULL).astype(np.float64)
        label_documents = self._label_documents[matches.labels] - (full if leave_out else 0)
        tag_documents = self._tag_documents[matches.tags] - is_own
        log_label, unseen = np.log(label_documents + 0.5), tag_documents == 0
        columns = [
            matches.overlap,
            full,
            matches.repetition,
            log_label,
            full * log_label,
            np.log(self._words_of_label[matches.labels]),
            np.log(tag_documents + 0.5),
            unseen,
            full * unseen,
        ]
        return np.stack(columns, axis=1).astype(np.float64)
