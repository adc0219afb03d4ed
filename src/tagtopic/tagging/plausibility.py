"""How plausible a tag on a document is, learnt from training documents in which wrong tags are planted.

Curators make two kinds of errors: a tag that has nothing to do with the document, and one that was confused with a
sibling of it (``siblings.py``). Each has a logistic regression on features that exclude the document itself
(``audit_features.py``): one separates the own tags of a sample of training documents from planted random tags, the
other from planted siblings of their own tags (``planted_tags.py``). The first gives the plausibility, whose rank among
the random tags of the sample is a p-value, the other the score "wrong sibling"; both are at even prior odds. One
regression for both kinds of errors is worse at either, because siblings of a right tag look more plausible than the
right tag by most features.

The suspicion is the probability that a tag is wrong. With the likelihood ratios r and s of a random tag and of a
sibling against an own tag, its odds are

    p r + q s,

where p and q are the shares of such errors that the corpus can have at most. Own tags include the errors that are
already there. If a share p of them is random, then at least p times the share of the random tags that look worse than
some threshold look worse among own tags too: the smallest ratio of these shares over thresholds bounds p (as the class
prior of positive and unlabelled examples is bounded; Scott 2015). The shares are those of all kinds of tags together:
that of a kind which the words cannot predict would be bounded by nothing, and its tags would fill the first page. See
docs/decisions/tag-audit.md.

References
----------
C. Scott. A rate of convergence for mixture proportion estimation, with application to learning from noisy labels.
AISTATS 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from tagtopic._core.arrays import Float64s, Floats
from tagtopic._core.parallel import one_blas_thread
from tagtopic.tagging.audit_features import AuditEntries, TrainingDocuments, audit_features, sibling_features
from tagtopic.tagging.calibration import MIN_POSITIVES, fit_coefficients, log_odds_of
from tagtopic.tagging.features import N_EVIDENCE_FEATURES
from tagtopic.tagging.planted_tags import OWN, RANDOM, SIBLING, PlantedTags
from tagtopic.tagging.siblings import Siblings
from tagtopic.tagging.training_index import ABSENT, document_vectors

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.tagging.predictor import TagPredictor

QUANTILES = np.linspace(0.5, 0.9, 9)
"""Thresholds at which the shares of errors are bounded, as quantiles of the planted tags."""

MAX_ERRORS = 0.25
"""The largest share of the tags that is taken to be wrong in one way."""

FOLDS = 3
"""Parts of the training documents, each judged by regressions on the others: an error is not an example of its own."""

CERTAINTY = 20.0
"""Odds that one document with a tag supports, see ``shrink_log_odds``."""


@dataclass(frozen=True)
class EntryScores:
    """The scores of each (document, tag) entry.

    ``sibling`` is the number of the sibling that fits the document better, or ABSENT; ``documents`` the number of other
    training documents with the tag.
    """

    plausibility: Float64s
    p_value: Float64s
    wrong_sibling: Float64s
    suspicion: Float64s
    sibling: Any
    documents: Any


def score_entries(
    predictor: TagPredictor, word_topics: Floats, seen: Any, corpus: Corpus, n_jobs: int | None, random_state: int = 0
) -> EntryScores:
    """Score the tags of a corpus in the model's columns; ``seen`` are the words that occurred in training.

    A tag that no other training document has is unknown: its plausibility is 0.5, its p-value 1 and its suspicion 0.
    It is no sibling of the document's own tags, whose documents would have to be similar to its others.
    """
    training = TrainingDocuments.from_training_index(predictor.index_, word_topics)
    judge = _Judge.fit(training, word_topics, n_jobs, np.random.default_rng(random_state))
    vectors, tags = document_vectors(corpus.counts, predictor.idf_), sp.csr_array(corpus.tags)
    tags.sort_indices()
    entries = AuditEntries(vectors, training.rows_of(vectors, tags, seen), tags, tags)
    against_random, against_siblings, sibling = judge.log_odds(training, entries, n_jobs)
    others = training.other_documents(entries)
    unknown = others == 0
    at_least = len(judge.null) - np.searchsorted(judge.null, against_random, side="left")
    wrong = np.logaddexp(np.log(judge.random_share) - against_random, np.log(judge.sibling_share) - against_siblings)

    def known(values: Any, otherwise: float) -> Float64s:
        return np.where(unknown, otherwise, values)

    return EntryScores(
        plausibility=known(expit(against_random), 0.5),
        p_value=known((1 + at_least) / (1 + len(judge.null)), 1.0),
        wrong_sibling=known(expit(-against_siblings), 0.0),
        suspicion=known(expit(wrong), 0.0),
        sibling=np.where(unknown, ABSENT, sibling),
        documents=others.astype(np.int64),
    )


def shrink_log_odds(log_odds: Float64s, documents: Float64s, n_examples: int) -> Float64s:
    """Return log odds no larger, in either direction, than the evidence supports.

    The limit is log(1 + n), n being CERTAINTY times the tag's other documents, or the number of examples if that is
    smaller; log odds approach it smoothly, so that their order within a tag does not change.
    """
    limit = np.log1p(np.minimum(CERTAINTY * np.maximum(documents, 1.0), max(n_examples, 1)))
    return np.asarray(limit * np.tanh(log_odds / limit))


@dataclass(frozen=True)
class _Judge:
    """Regressions that separate the documents' own tags from random tags, and from siblings of their own tags.

    ``words`` (kinds, word features + 1) are the coefficients of the word features alone, by which siblings are
    compared. ``against_random`` and ``against_siblings`` (FOLDS + 1, kinds, features + 1) are the coefficients without
    each fold of the training documents, and those for new documents. ``random_share`` and ``sibling_share`` bound
    the errors. ``null`` are the log odds of the planted random tags, left out, ascending.
    """

    words: Float64s
    against_random: Float64s
    against_siblings: Float64s
    n_examples: int
    random_share: float
    sibling_share: float
    null: Float64s

    @classmethod
    def fit(
        cls, training: TrainingDocuments, word_topics: Floats, n_jobs: int | None, random: np.random.Generator
    ) -> _Judge:
        rounds = PlantedTags.rounds(training, word_topics, n_jobs, random)
        labels = np.concatenate([planted.labels for planted in rounds])
        kinds = training.tag_kinds[np.concatenate([planted.entries.tags.indices for planted in rounds])]
        n_kinds = int(training.tag_kinds.max(initial=0)) + 1
        documents = np.concatenate([planted.training.other_documents(planted.entries) for planted in rounds])
        # the tag of a new document is known from others: a tag that only this document has is not such an example
        known = documents > 0
        features = np.concatenate([audit_features(planted.training, planted.entries, n_jobs) for planted in rounds])

        def fit(values: Float64s, wrong: int, given: Any = True) -> Float64s:
            chosen = known & ((labels == OWN) | (labels == wrong)) & given
            return _fit_at_even_odds(values[chosen], labels[chosen] == OWN, kinds[chosen], n_kinds)

        words = fit(features[:, :N_EVIDENCE_FEATURES], RANDOM)
        everything = np.hstack([features, np.concatenate([_compare(planted, words, n_jobs) for planted in rounds])])
        rows = np.concatenate([planted.entries.training_rows[planted.entries.owner] for planted in rounds])
        n_examples = int(known.sum())
        learnt, shares, left_out = [], [], []
        for values, wrong in ((features, RANDOM), (everything, SIBLING)):
            coefficients = np.stack([fit(values, wrong, rows % FOLDS != fold) for fold in range(FOLDS + 1)])
            log_odds = log_odds_of(values, coefficients[rows % FOLDS, kinds])
            log_odds = shrink_log_odds(log_odds, documents, n_examples)
            own, errors = known & (labels == OWN), known & (labels == wrong)
            learnt.append(coefficients)
            shares.append(bound_share(log_odds[own], log_odds[errors]))
            left_out.append(np.sort(log_odds[errors]))
        return cls(words, learnt[0], learnt[1], n_examples, shares[0], shares[1], left_out[0])

    def log_odds(
        self, training: TrainingDocuments, entries: AuditEntries, n_jobs: int | None
    ) -> tuple[Float64s, Float64s, Any]:
        """Return the log odds against random tags and against siblings, and the sibling that fits better or ABSENT."""
        siblings: Siblings = training.siblings_of(entries.tags.indices)
        compared, sibling = sibling_features(training, siblings, entries, self.words, n_jobs)
        features = audit_features(training, entries, n_jobs)
        kinds, documents = training.tag_kinds[entries.tags.indices], training.other_documents(entries)
        rows = entries.training_rows[entries.owner]
        fold = np.where(rows >= 0, rows % FOLDS, FOLDS)
        against_random, against_siblings = (
            shrink_log_odds(log_odds_of(values, coefficients[fold, kinds]), documents, self.n_examples)
            for values, coefficients in (
                (features, self.against_random),
                (np.hstack([features, compared]), self.against_siblings),
            )
        )
        return against_random, against_siblings, sibling


def _compare(planted: PlantedTags, words: Float64s, n_jobs: int | None) -> Float64s:
    siblings = planted.training.siblings_of(planted.entries.tags.indices)
    return sibling_features(planted.training, siblings, planted.entries, words, n_jobs)[0]


def bound_share(own: Float64s, wrong: Float64s) -> float:
    """Return the largest share of wrong ones among own tags that their log odds allow, at most MAX_ERRORS."""
    if min(len(own), len(wrong)) < MIN_POSITIVES:
        return MAX_ERRORS  # too few of either to tell
    ratios = [
        (1 + (own < threshold).sum()) / (1 + len(own)) / max(float((wrong < threshold).mean()), 1 / len(wrong))
        for threshold in np.quantile(wrong, 1 - QUANTILES)
    ]
    return float(min(*ratios, MAX_ERRORS))


def _fit_at_even_odds(features: Float64s, is_own: Any, kinds: Any, n_kinds: int) -> Float64s:
    """Return the coefficients for each kind of tag, at even prior odds."""
    with one_blas_thread():
        coefficients = fit_coefficients(features, is_own, kinds, n_kinds)
    for kind in range(n_kinds):
        of_kind = kinds == kind
        if min((of_kind & is_own).sum(), (of_kind & ~is_own).sum()) < MIN_POSITIVES:
            of_kind = np.ones(len(kinds), bool)  # its coefficients are those of all kinds
        coefficients[kind, -1] -= np.log((1 + (of_kind & is_own).sum()) / (1 + (of_kind & ~is_own).sum()))
    return coefficients
