"""Prediction of tags from training documents.

Topics alone do not identify one tag among many (recall@10 of the paper's score on 11,474 authors is 0.03), and added
next to nothing to the evidence that is used here: the nearest training documents and the tags they have. The evidence
for each candidate tag is gathered in one pass over an inverted index (``evidence.py``), turned into features
(``features.py``) and combined into a calibrated probability (``calibration.py``). See docs/decisions/tag-prediction.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats, offsets_of, read_only
from tagtopic._core.estimator import BaseEstimator, check_is_fitted
from tagtopic._core.parallel import ThreadPool, cut_rows
from tagtopic.corpus import Corpus
from tagtopic.corpus.matrices import check_canonical, keep_columns
from tagtopic.corpus.tags import kinds_of
from tagtopic.corpus.validation import is_matrix
from tagtopic.tagging.calibration import ExampleDocuments, fit_combination, log_odds_of
from tagtopic.tagging.completion import (
    N_COMPLETION_FEATURES,
    WordModel,
    candidate_tags,
    completion_features,
    fit_completion,
)
from tagtopic.tagging.cooccurrence import IndexedDocuments
from tagtopic.tagging.evidence import N_CANDIDATES, gather_evidence
from tagtopic.tagging.features import N_FEATURES, StackingArrays, rank_candidates
from tagtopic.tagging.regressions import MIN_DOCUMENTS, TagRegressions, nearest_neighbours
from tagtopic.tagging.training_index import (
    MAX_ENTRIES,
    Queries,
    TrainingIndex,
    build_index,
    document_vectors,
    index_from_arrays,
    inverse_document_frequencies,
    name_shares,
    queries_from_counts,
    select_documents,
    subsample_words,
    take_queries,
)

if TYPE_CHECKING:
    from tagtopic.corpus.interface import CorpusLike
    from tagtopic.corpus.text.rules import TextRules

SHORT = 12
"""Documents with fewer different words are short. Coefficients fitted on whole documents alone find a quarter less of
the tags for two words (TMDB's keywords, held-out training documents: recall@10 0.094 instead of 0.123)."""

N_SHORT = 600
"""Documents that are also used with fewer words."""

FOLDS, MIN_HELD_OUT = 3, 5
"""A corpus with fewer than MIN_HELD_OUT documents for each example cannot spare its examples from the classifiers: they
are cut into FOLDS, and each fold is judged by classifiers of the other documents."""

CHUNK = 128
"""Documents per task."""

STORED = {
    "idf_": "scores",
    "coefficients_": "mix",
    "offsets_": "offsets",
    "calibration_": "tempering",
    "tag_frequencies_": "shares",
    "completion_": "completion",
}
"""Learnt attributes that model files store, and their names in the files."""

NOT_NEGATIVE = ("scores", "weights", "lengths", "sizes", "name_shares", "shares")
"""Stored arrays of floats that are not negative."""

FLOATS = (*NOT_NEGATIVE, "mix", "offsets", "tempering", "completion", "regression_weights", "regression_intercepts")
"""Stored arrays of floats; the others are whole numbers."""

Ranked = list[tuple[str, float]]


class TagPredictor(BaseEstimator):  # type: ignore[misc]
    """Predict the tags of documents from their words, by a training index of tagged documents.

    The topic models fit one (``model.tag_predictor_``); it can be used alone where no topics are needed. Evidence from
    nearest neighbours, the centroid of each tag's documents, tag names in the text, and linear one-vs-rest
    classifiers is combined by a logistic regression that is fitted on documents left out, and calibrated.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads; None uses all cores, ``LOKY_MAX_CPU_COUNT`` at most. The result does not depend on it.
    random_state : int, default=0
        Seed of the samples.
    max_entries : int, default=2**25
        (document, word) entries of the index; larger corpora are sampled.
    n_examples : int, default=1500
        Documents on which the combination of the evidence is fitted.

    Attributes
    ----------
    tag_names_ : tuple of str
        The tags.
    kind_names_ : tuple of str
        The kinds of tags (the part of a name before the colon), sorted.
    tag_frequencies_ : ndarray of shape (n_tags,)
        The share of the indexed documents with each tag.
    words_ : tuple of str
        The vocabulary.
    rules_ : TextRules or None
        How texts became words; None for a corpus of counts, for which texts cannot be predicted.
    n_features_in_ : int
        The number of words.
    index_ : TrainingIndex
        The training documents, indexed by word and tag.
    idf_ : ndarray of shape (n_words,)
        The inverse document frequency of each word.
    regressions_ : TagRegressions
        One-vs-rest linear classifiers of the tags with 5 documents or more.
    coefficients_ : ndarray of shape (2, n_kinds, n_features + 1)
        Coefficients of the features in ``tagtopic.tagging.features.FEATURES`` and an intercept, by kind of tag, for
        long and for short documents.
    offsets_ : ndarray of shape (2, n_tags)
        Offset of each tag's log odds.
    calibration_ : ndarray of shape (2, 3)
        Intercept, slope, and further slope above even odds that map log odds to calibrated ones.
    completion_ : ndarray of shape (n_kinds, n_features)
        Coefficients of the log odds by words, of the co-occurrence with given tags, and an intercept, by kind of tag;
        all 0 in model files of earlier versions, which cannot use given tags.

    Examples
    --------
    >>> from tagtopic import Corpus, TagPredictor
    >>> texts = ["a ship in space", "a monster on a ship", "police hunt a killer"] * 5
    >>> corpus = Corpus.from_texts(texts, [["space"], ["monster"], ["crime"]] * 5)
    >>> predictor = TagPredictor().fit(corpus)
    >>> predictor.predict(["the killer"], n=1)[0][0][0]
    'crime'
    """

    def __init__(
        self,
        *,
        n_jobs: int | None = None,
        random_state: int = 0,
        max_entries: int = MAX_ENTRIES,
        n_examples: int = 1500,
    ) -> None:
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.max_entries = max_entries
        self.n_examples = n_examples

    index_: TrainingIndex
    idf_: Floats
    regressions_: TagRegressions
    coefficients_: Float64s
    offsets_: Float64s
    calibration_: Float64s
    completion_: Float64s
    tag_frequencies_: Float64s
    tag_names_: tuple[str, ...]
    kind_names_: tuple[str, ...]
    words_: tuple[str, ...] | None
    rules_: TextRules | None
    n_features_in_: int

    def fit(self, X: Any, y: Any = None, *, tags: Any = None) -> Self:
        """Index tagged documents and fit the combination of the evidence.

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
        TagPredictor
            Itself.

        Raises
        ------
        ValueError
            If no document has both words and tags.

        Examples
        --------
        >>> TagPredictor(n_jobs=1).fit(["a ship", "a robot"] * 5, tags=[["sea"], ["space"]] * 5)
        TagPredictor(n_jobs=1)
        """
        if not self._fit(training_corpus(X, tags)):
            raise ValueError("no document has a tag: there is nothing to predict")
        return self

    def _fit(self, corpus: CorpusLike) -> bool:
        """Fit if any document has both words and tags; return whether that is so."""
        random = np.random.default_rng(self.random_state)
        rows = select_documents(corpus, self.max_entries, random)
        if not len(rows):
            return False
        kept = corpus if isinstance(corpus, Corpus) and len(rows) == len(corpus) else corpus[rows]
        kept.check()
        idf = inverse_document_frequencies(kept.counts)
        vectors = document_vectors(kept.counts, idf)
        kind_names, kinds = kinds_of(kept.tag_names)
        names = name_shares(kept.tag_names, kept.words, idf)
        index = build_index(vectors, kept.tags, kinds, names, self.n_jobs)
        sample = random.permutation(len(kept))[: self.n_examples]
        neighbours = nearest_neighbours(index, vectors, self.n_jobs)

        everything = np.arange(len(kept))
        n_folds = FOLDS if len(kept) < MIN_HELD_OUT * len(sample) else 1

        def classifiers(rows: Any) -> TagRegressions:
            # without a fold as many of a tag's documents in proportion, or its examples would have no classifier
            least = math.ceil(MIN_DOCUMENTS * len(rows) / len(kept)) if n_folds > 1 else MIN_DOCUMENTS
            return TagRegressions.fit(vectors, kept.tags, rows, neighbours, random, self.n_jobs, min_documents=least)

        parts = []
        for fold in range(n_folds):
            rows = np.sort(sample[fold::n_folds])
            few = subsample_words(kept.counts[rows[: len(rows) * N_SHORT // self.n_examples + 1]], SHORT, random)
            without = classifiers(np.setdiff1d(everything, rows))
            parts.append(ExampleDocuments(rows, vectors[rows], document_vectors(few, idf), without))
        regressions = classifiers(everything) if n_folds > 1 else parts[0].regressions
        learnt = fit_combination(index, parts, len(kind_names), self.n_jobs)
        self.coefficients_, self.offsets_, self.calibration_ = learnt.coefficients, learnt.offsets, learnt.calibrations
        self.index_, self.idf_, self.regressions_ = index, idf, regressions
        self.__dict__.pop("_indexed", None)
        self.completion_ = fit_completion(
            index, self._indexed, parts, learnt.folds, len(kind_names), random, self.n_jobs
        )
        self.tag_frequencies_ = index.tag_counts / np.float64(len(kept))
        self._set_names(kept.tag_names, kind_names, kept.words, kept.rules)
        return True

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what a pickle has; its arrays are writeable, for which Numba would compile anew."""
        super().__setstate__(state)
        if hasattr(self, "index_"):
            self.index_ = TrainingIndex(*(read_only(array) for array in self.index_))

    def _set_names(
        self,
        tag_names: Sequence[str],
        kind_names: tuple[str, ...],
        words: tuple[str, ...] | None,
        rules: TextRules | None,
    ) -> None:
        self.tag_names_, self.kind_names_ = tuple(tag_names), kind_names
        self.words_, self.rules_, self.n_features_in_ = words, rules, len(self.idf_)
        for name in ("_most_common_first", "_indexed"):
            self.__dict__.pop(name, None)

    def predict(self, X: Any, n: int = 10, *, kinds: Iterable[str] | None = None) -> list[Ranked]:
        """Predict the n most probable tags of each document.

        Only words count: the tags of a corpus are neither used nor excluded. Words that no training document has are
        ignored. A document without known words gets the most common tags, with their frequencies.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents; the columns of a matrix are ``words_``.
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
        >>> [tag for tag, _ in predictor.predict(corpus[:1], n=2)[0]]
        ['space', 'monster']
        """
        return self.predict_counts(self._counts(X), n, kinds=kinds, n_jobs=self.n_jobs)

    def predict_proba(self, X: Any, n: int = 100, *, kinds: Iterable[str] | None = None) -> Any:
        """Predict the probabilities of tags as a sparse matrix.

        Parameters
        ----------
        X : Corpus, list of texts, or matrix of word counts (documents, words)
            The documents, as in ``predict``.
        n : int, default=100
            Tags per document; the others are 0.
        kinds : iterable of str, optional
            Predict tags of these kinds only.

        Returns
        -------
        csr_array of shape (n_documents, n_tags)
            Probabilities; the columns are ``tag_names_``. A document may have several tags: rows do not sum to 1.

        Examples
        --------
        >>> predictor.predict_proba(corpus[:2]).shape
        (2, 3)
        """
        ranked = self.predict(X, n, kinds=kinds)
        number = {tag: j for j, tag in enumerate(self.tag_names_)}
        starts = offsets_of(np.array([len(row) for row in ranked], np.int64))
        tags = np.array([number[tag] for row in ranked for tag, _ in row], np.int32)
        values = np.array([probability for row in ranked for _, probability in row], np.float64)
        table = sp.csr_array((values, tags, starts), shape=(len(ranked), len(self.tag_names_)))
        table.sort_indices()
        return table

    def predict_counts(
        self,
        counts: Any,
        n: int = 10,
        *,
        kinds: Iterable[str] | None = None,
        n_jobs: int | None = None,
        given: Any = None,
        exclude: Iterable[str] | None = None,
    ) -> list[Ranked]:
        """Predict as ``predict`` does, for a CSR matrix of counts in the columns ``words_``, all of which count.

        Parameters
        ----------
        counts : CSR of shape (n_documents, n_words)
            The documents.
        n : int, default=10
            The number of tags per document.
        kinds : iterable of str, optional
            Predict tags of these kinds only.
        n_jobs : int or None, default=None
            Threads; None uses all cores.
        given : CSR of shape (n_documents, n_tags), optional
            Tags that the documents have, in the columns ``tag_names_``: they are used, and not predicted again.
        exclude : iterable of str, optional
            Tags that are not predicted, as in ``predict``.

        Returns
        -------
        list of lists of (str, float)
            For each document its tags with their probabilities, most probable first.

        Raises
        ------
        ValueError
            If n is below 1, the predictor has no tags of a kind, or it was fitted by an earlier version, which did not
            learn to use given tags.

        Examples
        --------
        >>> len(predictor.predict_counts(corpus.counts, n=1))
        15
        """
        check_is_fitted(self)
        if n < 1:
            raise ValueError(f"n={n!r}: expected a whole number from 1")
        check_canonical(counts, "counts")
        allowed = self.allowed_tags(kinds, exclude)
        rows = np.zeros(0, np.int64) if given is None else self._training_rows(counts, given)

        def rank(part: tuple[int, int]) -> list[Ranked]:
            queries = queries_from_counts(counts, *part, self.idf_)
            if given is None:
                return self._rank(queries, n, allowed)
            queries = queries._replace(training_rows=read_only(rows[slice(*part)], np.int64))
            return self._complete(queries, sp.csr_array(given[slice(*part)]), n, allowed)

        with ThreadPool(n_jobs) as pool:
            parts = pool.map(rank, cut_rows(counts.shape[0], CHUNK))
        return [ranked for part in parts for ranked in part]

    def probabilities_of_tag(self, counts: Any, given: Any, tag: int) -> Float64s:
        """Return the probability of one tag for documents that have other tags.

        Parameters
        ----------
        counts : CSR of shape (n_documents, n_words)
            The documents.
        given : CSR of shape (n_documents, n_tags)
            The tags that they have.
        tag : int
            The number of the tag.

        Returns
        -------
        ndarray of shape (n_documents,)
            Its probability for each document.

        Examples
        --------
        >>> predictor.probabilities_of_tag(corpus.counts[:2], corpus.tags[:2], 2).shape
        (2,)
        """
        from scipy.special import expit

        check_is_fitted(self)
        rows = self._training_rows(counts, given)
        found = np.zeros(counts.shape[0])

        def fill(part: tuple[int, int]) -> None:
            queries = queries_from_counts(counts, *part, self.idf_)
            queries = queries._replace(training_rows=read_only(rows[slice(*part)], np.int64))
            n = part[1] - part[0]
            asked = sp.csr_array(
                (np.ones(n, np.float32), np.full(n, tag, np.int32), np.arange(n + 1)), shape=(n, len(self.tag_names_))
            )
            own = sp.csr_array(given[slice(*part)])
            if self.completion_.any():
                _, log_odds = self._completion_log_odds(queries, own, None, 1, asked)
                found[slice(*part)] = expit(log_odds)
            else:  # of an earlier version: by words alone
                found[slice(*part)] = expit(self._words.log_odds(queries, asked, self._is_short(queries), 1))

        with ThreadPool(self.n_jobs) as pool:
            pool.map(fill, cut_rows(counts.shape[0], CHUNK))
        return found

    def allowed_tags(self, kinds: Iterable[str] | None = None, exclude: Iterable[str] | None = None) -> Any:
        """Return for each tag whether it is of one of the kinds and not excluded.

        Parameters
        ----------
        kinds : iterable of str or None, default=None
            Kinds of tags; None allows all.
        exclude : iterable of str or None, default=None
            Tags, and kinds followed by a colon, such as ``"year:"``. Unknown ones are ignored.

        Returns
        -------
        ndarray of bool, shape (n_tags,)
            Whether each tag is allowed.

        Examples
        --------
        >>> predictor.allowed_tags(exclude=["space"]).tolist()
        [True, True, False]
        """
        allowed = self.tags_of_kinds(kinds)
        unwanted = {exclude} if isinstance(exclude, str) else set(exclude or ())
        for tag, name in enumerate(self.tag_names_):
            kind, colon, _ = name.partition(":")
            if name in unwanted or (colon and f"{kind}:" in unwanted):
                allowed[tag] = False
        return allowed

    def tags_of_kinds(self, kinds: Iterable[str] | None) -> Any:
        """Return for each tag whether it is of one of the kinds; all are if ``kinds`` is None.

        Parameters
        ----------
        kinds : iterable of str or None
            Kinds of tags.

        Returns
        -------
        ndarray of bool, shape (n_tags,)
            Whether each tag is of one of them.

        Raises
        ------
        ValueError
            If there are no tags of a kind.

        Examples
        --------
        >>> predictor.tags_of_kinds(None).tolist()
        [True, True, True]
        """
        if kinds is None:
            return np.ones(len(self.tag_names_), bool)
        wanted = {kinds} if isinstance(kinds, str) else set(kinds)
        unknown = sorted(wanted.difference(self.kind_names_))
        if unknown:
            known = ", ".join(repr(kind) for kind in self.kind_names_)
            raise ValueError(f"the model has no tags of kind {unknown[0]!r}; it has {known}")
        return np.array([kind in wanted for kind in self.kind_names_])[self.index_.tag_kinds]

    def extended(self, words: tuple[str, ...], tag_names: tuple[str, ...]) -> TagPredictor:
        """Return the predictor in a larger vocabulary with more tags.

        The first words and tags are those of this predictor. The training documents stay the same: new words have the
        largest idf and no postings, new tags no documents.

        Parameters
        ----------
        words : tuple of str
            The vocabulary: ``words_``, followed by new words.
        tag_names : tuple of str
            The tags: ``tag_names_``, followed by new tags.

        Returns
        -------
        TagPredictor
            A predictor for the larger vocabulary.

        Examples
        --------
        >>> predictor.extended((*predictor.words_, "zeppelin"), predictor.tag_names_).n_features_in_
        7
        """
        n_words, n_tags, index = len(words), len(tag_names), self.index_
        kind_names, _ = kinds_of(tag_names)
        by_kind = dict(zip(self.kind_names_, self.coefficients_.swapaxes(0, 1), strict=True))
        mean = self.coefficients_.mean(axis=1)  # for new kinds
        completion = dict(zip(self.kind_names_, self.completion_, strict=True))
        mean_completion = self.completion_.mean(axis=0)
        idf = _padded(self.idf_, n_words, float(self.idf_.max(initial=1.0))).astype(np.float32)
        names = name_shares(tag_names, words, idf)
        starts = index.posting_starts
        changed = {
            "word_starts": np.append(starts, np.full(n_words - len(self.idf_), starts[-1])),
            "lengths": _padded(index.squared_norms, n_tags),
            "sizes": _padded(index.tag_counts, n_tags),
            "name_starts": names.indptr,
            "name_tags": names.indices,
            "name_shares": names.data,
            "scores": idf,
            "mix": np.stack([by_kind.get(kind, mean) for kind in kind_names], axis=1),
            "completion": np.stack([completion.get(kind, mean_completion) for kind in kind_names]),
            "offsets": np.pad(self.offsets_, ((0, 0), (0, n_tags - self.offsets_.shape[1]))),
            "shares": _padded(self.tag_frequencies_, n_tags),
        }
        arrays = {**self.to_arrays(), **changed}
        return TagPredictor.from_arrays(arrays, tag_names, words, self.rules_, **self.get_params())

    def to_arrays(self) -> dict[str, Any]:
        """Return the arrays that a model file stores.

        Examples
        --------
        >>> again = TagPredictor.from_arrays(predictor.to_arrays(), predictor.tag_names_, predictor.words_)
        >>> again == predictor
        True
        """
        learnt = {stored: getattr(self, name) for name, stored in STORED.items()}
        return {**self.index_.to_arrays(), **learnt, **self.regressions_.to_arrays()}

    @classmethod
    def from_arrays(
        cls,
        arrays: dict[str, Any],
        tag_names: Sequence[str],
        words: tuple[str, ...] | None = None,
        rules: TextRules | None = None,
        **settings: Any,
    ) -> TagPredictor:
        """Return the predictor from ``to_arrays``.

        Parameters
        ----------
        arrays : dict
            What ``to_arrays`` returned.
        tag_names : sequence of str
            The tags.
        words : tuple of str or None, default=None
            The vocabulary; without it only counts can be predicted.
        rules : TextRules or None, default=None
            How texts became words; without them texts cannot be predicted.
        **settings
            Constructor arguments.

        Returns
        -------
        TagPredictor
            The predictor.

        Raises
        ------
        ValueError
            If the arrays are inconsistent.

        Examples
        --------
        >>> restored = TagPredictor.from_arrays(predictor.to_arrays(), predictor.tag_names_)
        >>> restored.predict_counts(corpus.counts, n=1) == predictor.predict(corpus, n=1)
        True
        """
        for name, array in arrays.items():
            if array.dtype.kind != ("f" if name in FLOATS else "i"):
                raise ValueError(f"the array {name} of its tag predictor is of type {array.dtype}")
        kind_names, kinds = kinds_of(tag_names)
        index = index_from_arrays(arrays, kinds)
        regressions = TagRegressions.from_arrays(arrays, len(arrays["scores"]), len(kinds))
        no_completion = np.zeros((len(kind_names), N_COMPLETION_FEATURES + 1))
        arrays = {"completion": no_completion, **arrays, "mix": _with_all_features(arrays["mix"])}
        shapes = [(2, len(kind_names), N_FEATURES + 1), (2, len(kinds)), (2, 3), (len(kinds),), no_completion.shape]
        if [arrays[name].shape for name in ("mix", "offsets", "tempering", "shares", "completion")] != shapes:
            raise ValueError("its tag predictor has other tags than the model")
        found = cls(**settings)
        found.index_, found.regressions_ = index, regressions
        for name, stored in STORED.items():
            setattr(found, name, arrays[stored])
        found._set_names(tag_names, kind_names, words, rules)
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TagPredictor):
            return NotImplemented
        mine, theirs = self.to_arrays(), other.to_arrays()
        return self.tag_names_ == other.tag_names_ and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    def _counts(self, X: Any) -> Any:
        """Return documents as a CSR matrix of counts in the columns ``words_``."""
        check_is_fitted(self)
        if isinstance(X, str):
            raise TypeError(f"X is one string, {X[:50]!r}: expected a list of texts, one a document")
        if is_matrix(X) and len(np.shape(X)) == 2:
            return self._known_words(Corpus.from_counts(X, fractional=True).counts)
        if self.words_ is None:
            raise ValueError("the tag predictor does not know its words: give it counts")
        if isinstance(X, Corpus):
            return self._known_words(X.align(self.words_, ()).corpus.counts)
        if self.rules_ is None:
            raise ValueError("the tag predictor was fitted on counts and does not know how texts become words")
        return self._known_words(Corpus.from_texts(X, words=self.words_, rules=self.rules_).counts)

    def _known_words(self, counts: Any) -> Any:
        """Return the counts without the words that no training document has."""
        known = np.diff(self.index_.posting_starts) > 0
        if counts.shape[1] != len(known) or known.all():
            return counts
        return keep_columns(counts, known)

    def _rank(self, queries: Queries, n: int, allowed: Any) -> list[Ranked]:
        evidence = gather_evidence(self.index_, queries, max(N_CANDIDATES, n), allowed, n, n_jobs=1)
        short = read_only(np.diff(queries.starts) < SHORT, np.int64)
        shape = len(short), min(n, evidence.tags.shape[1])
        tags, probabilities = np.zeros(shape, np.int32), np.zeros(shape)
        regressions, stacking = self.regressions_.for_kernels(), self._stacking()
        rank_candidates(queries, evidence, regressions, self.index_.tag_kinds, stacking, short, tags, probabilities)
        name_of = self.tag_names_.__getitem__
        ranked = zip(evidence.n_found.tolist(), tags.tolist(), probabilities.tolist(), strict=True)
        return [
            list(zip(map(name_of, best[:found]), values[:found], strict=True))
            if found
            else self._by_frequency(allowed, n)
            for found, best, values in ranked
        ]

    def _is_short(self, queries: Queries) -> Any:
        """Return for each query whether it has few words, and so the coefficients for short documents."""
        return np.diff(queries.starts) < SHORT

    def _stacking(self) -> StackingArrays:
        arrays = (self.coefficients_, self.offsets_, self.calibration_)
        return StackingArrays(*(read_only(array, np.float64) for array in arrays))

    @cached_property
    def _indexed(self) -> IndexedDocuments:
        return IndexedDocuments.from_index(self.index_)

    @property
    def _words(self) -> WordModel:
        return WordModel(self.index_, self.regressions_, self._stacking())

    def _training_rows(self, counts: Any, tags: Any) -> Any:
        """Return the row of each document in the index, or ABSENT: training documents are left out of it."""
        known = np.diff(self.index_.posting_starts) > 0
        return self._indexed.rows_of(counts, sp.csr_array(tags), known)

    def _complete(self, queries: Queries, given: Any, n: int, allowed: Any) -> list[Ranked]:
        """Rank tags by words and given tags; documents without given tags by words alone."""
        if not self.completion_.any():
            raise ValueError("the tag predictor was fitted by an earlier version, without given tags: fit it again")
        from scipy.special import expit

        candidates, log_odds = self._completion_log_odds(queries, given, allowed, n)
        probabilities = expit(log_odds)
        plain = np.flatnonzero(np.diff(given.indptr) == 0)
        by_words = dict(zip(plain.tolist(), self._rank(take_queries(queries, plain), n, allowed), strict=True))
        ranked = []
        for row in range(candidates.shape[0]):
            entries = slice(candidates.indptr[row], candidates.indptr[row + 1])
            tags, values = candidates.indices[entries], probabilities[entries]
            order = np.argsort(-values, kind="stable")[:n]
            found = [(self.tag_names_[tags[i]], float(values[i])) for i in order]
            ranked.append(by_words.get(row, found))
        return ranked

    def _completion_log_odds(
        self, queries: Queries, given: Any, allowed: Any, n: int, candidates: Any = None
    ) -> tuple[Any, Float64s]:
        """Return the candidates (CSR; by default the best ones) and their log odds."""
        if candidates is None:
            candidates = candidate_tags(self._words, self._indexed, queries, given, allowed, n, 1)
        short = self._is_short(queries)
        features = completion_features(self._words, self._indexed, queries, given, candidates, short, 1)
        return candidates, log_odds_of(features, self.completion_[self.index_.tag_kinds[candidates.indices]])

    @cached_property
    def _most_common_first(self) -> Any:
        return np.argsort(-self.tag_frequencies_, kind="stable")

    def _by_frequency(self, allowed: Any, n: int) -> Ranked:
        most_common = self._most_common_first[allowed[self._most_common_first]][:n]
        return [(self.tag_names_[tag], float(self.tag_frequencies_[tag])) for tag in most_common]


def fit_if_tagged(corpus: CorpusLike, n_jobs: int | None) -> TagPredictor | None:
    """Fit a predictor with the default settings; return None if no document has both words and tags."""
    predictor = TagPredictor(n_jobs=n_jobs)
    return predictor if predictor._fit(corpus) else None


def training_corpus(X: Any, tags: Any) -> Any:
    """Return what ``fit`` takes as a corpus."""
    if hasattr(X, "document_sizes"):  # a Corpus, or documents on a cluster
        if tags is not None:
            raise ValueError("a corpus has its own tags: leave tags= out")
        return X
    if isinstance(X, str):
        raise TypeError(f"X is one string, {X[:50]!r}: expected a list of texts, one a document")
    X = list(X) if isinstance(X, Iterator) else X
    if is_matrix(X) and len(np.shape(X)) == 2:
        return Corpus.from_counts(X, tags, fractional=True)
    return Corpus.from_texts(X, tags)


def _with_all_features(coefficients: Any) -> Any:
    """Return coefficients with zeros for the features that earlier versions did not have, before the intercept."""
    if coefficients.ndim != 3 or not 0 < coefficients.shape[2] <= N_FEATURES:
        return coefficients
    missing = np.zeros((*coefficients.shape[:2], N_FEATURES + 1 - coefficients.shape[2]))
    return np.concatenate([coefficients[..., :-1], missing, coefficients[..., -1:]], axis=2)


def _padded(values: Any, size: int, new: float = 0.0) -> Any:
    return np.append(values, np.full(size - len(values), new))
