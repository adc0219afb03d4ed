"""How plausible a tag on a document is, learnt from training documents in which wrong tags are planted.

Curators make two kinds of errors: a tag that has nothing to do with the document, and one that was confused with a
sibling of it (``siblings.py``), which was added beside the right tag or put in its place. Three logistic regressions on
features that exclude the document itself (``audit_features.py``) separate the own tags of a sample of training
documents from planted random tags, from siblings beside the right tag, and from siblings in its place
(``planted_tags.py``). One regression for all errors is worse at each, because siblings of a right tag look more
plausible than the right tag by most features.

Random tags are planted half uniformly and half by frequency. How often either would draw a tag is known, and so are the
likelihood ratios r_u and r_f of the two against own tags, from one regression (``draw_ratios``). Likewise for siblings
beside the right tag: s_b if all are chosen alike, s_c if common ones are chosen more often (``sibling_ratios``).
With s_i, of those in its place, the odds that a tag is wrong are

    p_u r_u + p_f r_f + q_b s_b + q_c s_c + q_i s_i,

where p and q are the shares of such errors that the corpus can have at most (``error_shares.py``). Without the
difference between r_u and r_f, tags on many documents, which are seldom wrong in a corpus with uniform errors, would
fill its first page.

The documents' own tags, from which the regressions learn, have the errors among them that are to be found. After the
first fit each counts as much as it is probably right, and the regressions are fitted again.

The plausibility is against random tags drawn in the proportion of p_u and p_f, and its rank among them a p-value; the
score "wrong sibling" is against siblings in the proportion of q_b and q_i. Both are at even prior odds. The suspicion
comes from the odds above. Where documents have one tag of a kind, a second one makes both suspicious, though one of
them is right: the odds of a tag are divided by 1 + e o, where o are the largest odds of the document's other tags of
its kind, and e is the share of documents with a single tag among those with any of the kind.

See docs/decisions/tag-audit.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from tagtopic._core.arrays import Float64s, Floats, owners_of
from tagtopic._core.parallel import one_blas_thread
from tagtopic.tagging.audit_features import (
    AuditEntries,
    TrainingDocuments,
    audit_features,
    sibling_features,
    word_features,
)
from tagtopic.tagging.calibration import MIN_POSITIVES, fit_coefficients, log_odds_of
from tagtopic.tagging.error_shares import bound_shares, combine, rescale_shares
from tagtopic.tagging.planted_tags import BESIDE, IN_PLACE, OWN, RANDOM, PlantedTags, draw_ratios, sibling_ratios
from tagtopic.tagging.siblings import Siblings
from tagtopic.tagging.training_index import ABSENT, document_vectors

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.tagging.predictor import TagPredictor

IN_PLACE_PREFERENCE = 0.1
"""What errors in the place of a right tag count in the bounds, where errors are also added beside right tags.

They are the hardest to tell from own tags, so that their own bound is loose: they would take what others explain."""

MIN_SHARE = 1e-4
"""Added to the share of each kind of error in the proportions of the two scores."""

FOLDS = 3
"""Parts of the training documents, each judged by regressions on the others: an error is not an example of its own."""

N_RANDOM = 2
"""Kinds of random errors: drawn uniformly, and by frequency."""

REFITS = 2
"""Fits in which own tags count by the probability that they are right, after the one in which all count alike."""

REACHED = 0.7
"""The part of their bounds that errors are taken to reach in these weights: bounds are loose where evidence is weak."""

CERTAINTY = 20.0
"""Odds that one document with a tag, or one word of a document, supports, see ``shrink_log_odds``."""


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
    judge = _Judge.fit(training, n_jobs, np.random.default_rng(random_state))
    vectors, tags = document_vectors(corpus.counts, predictor.idf_), sp.csr_array(corpus.tags)
    tags.sort_indices()
    entries = AuditEntries(vectors, training.rows_of(vectors, tags, seen), tags, tags)
    evidence, sibling = _Evidence.of(training, entries, judge.words, n_jobs)
    raw = judge.log_odds(evidence)
    against_random, log_ratios = judge.against_random(raw, evidence), judge.log_ratios(raw, evidence)
    unknown = evidence.documents == 0
    odds = np.where(unknown, 0.0, np.exp(combine(log_ratios, judge.shares)))
    exclusive = exclusiveness(training.tags, training.tag_kinds)[evidence.kinds]
    odds = odds / (1 + exclusive * largest_other(odds, entries.owner, evidence.kinds))

    def known(values: Any, otherwise: float) -> Float64s:
        return np.where(unknown, otherwise, values)

    return EntryScores(
        plausibility=known(expit(against_random), 0.5),
        p_value=known(judge.null.p_values(against_random), 1.0),
        wrong_sibling=known(expit(combine(log_ratios[N_RANDOM:], _proportion(judge.shares[N_RANDOM:]))), 0.0),
        suspicion=odds / (1 + odds),
        sibling=np.where(unknown, ABSENT, sibling),
        documents=evidence.documents.astype(np.int64),
    )


def shrink_log_odds(log_odds: Float64s, documents: Float64s, words: Float64s, n_examples: int) -> Float64s:
    """Return log odds no larger, in either direction, than the evidence supports.

    The limit is log(1 + n), n being CERTAINTY times the tag's other documents or the document's words, whichever are
    fewer, or the number of examples if that is smaller; log odds approach it smoothly, so that their order within a tag
    does not change. A document without known words has even odds: the regressions have seen none.
    """
    support = CERTAINTY * np.minimum(np.maximum(documents, 1.0), words)
    limit = np.log1p(np.minimum(support, max(n_examples, 1)))
    return np.asarray(limit * np.tanh(log_odds / np.maximum(limit, 1e-12)))


def exclusiveness(tags: Any, kinds: Any) -> Float64s:
    """Return for each kind the share of documents with a single tag among those that have any of it."""
    n_kinds = int(kinds.max(initial=0)) + 1
    groups, counts = np.unique(owners_of(tags.indptr) * n_kinds + kinds[tags.indices], return_counts=True)
    n_documents = np.bincount(groups % n_kinds, minlength=n_kinds)
    return np.asarray(np.bincount(groups % n_kinds, counts == 1, n_kinds) / np.maximum(n_documents, 1))


def largest_other(values: Float64s, owner: Any, kinds: Any) -> Float64s:
    """Return for each entry the largest value among the other entries of its document and kind, or 0."""
    order = np.lexsort((-values, kinds, owner))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(owner[order]) != 0) | (np.diff(kinds[order]) != 0)
    starts, group = np.flatnonzero(first), np.cumsum(first) - 1
    largest = values[order[starts]]
    second = np.zeros(len(starts))
    several = np.diff(np.append(starts, len(order))) > 1
    second[several] = values[order[starts[several] + 1]]
    found = np.empty(len(order))
    found[order] = np.where(first, second[group], largest[group])
    return found


@dataclass(frozen=True)
class _Evidence:
    """What the regressions see of each entry: features without and with siblings, and where the entry belongs."""

    features: Float64s
    compared: Float64s
    tags: Any
    kinds: Any
    documents: Float64s
    words: Float64s
    fold: Any

    @classmethod
    def of(
        cls, training: TrainingDocuments, entries: AuditEntries, words: Float64s, n_jobs: int | None
    ) -> tuple[_Evidence, Any]:
        """Compute all features; also return the sibling of each entry that fits better, or ABSENT."""
        tags, rows = entries.tags.indices, entries.training_rows[entries.owner]
        siblings: Siblings = training.siblings_of(tags)
        compared, sibling = sibling_features(training, siblings, entries, words, n_jobs)
        features = audit_features(training, entries, n_jobs)
        fold = np.where(rows >= 0, rows % FOLDS, FOLDS)
        documents = training.other_documents(entries)
        words = np.diff(entries.vectors.indptr)[entries.owner].astype(np.float64)
        return cls(features, compared, tags, training.tag_kinds[tags], documents, words, fold), sibling

    def columns(self, wrong: int, chosen: Any = slice(None)) -> Float64s:
        """Return the features by which a kind of wrong tags is told from own tags."""
        if wrong == RANDOM:
            return np.asarray(self.features[chosen])
        return np.hstack([self.features[chosen], self.compared[chosen]])


@dataclass(frozen=True)
class _Null:
    """The log odds of planted random tags, ascending, and the weight of all from each on."""

    log_odds: Float64s
    weight_from: Float64s

    @classmethod
    def of(cls, log_odds: Float64s, weights: Float64s) -> _Null:
        order = np.argsort(log_odds, kind="stable")
        scaled = weights[order] * (len(order) / max(weights.sum(), 1e-300))
        return cls(log_odds[order], np.append(np.cumsum(scaled[::-1])[::-1], 0.0))

    def p_values(self, log_odds: Float64s) -> Float64s:
        """Return the share of random tags with at least these log odds."""
        at_least = self.weight_from[np.searchsorted(self.log_odds, log_odds, side="left")]
        return np.asarray((1 + at_least) / (1 + len(self.log_odds)))


@dataclass(frozen=True)
class _ErrorKind:
    """A kind of errors: the label of the planted tags that are like them, and how much more often it has each tag."""

    label: int
    ratios: Float64s

    def weights(self, labels: Any, tags: Any) -> Float64s:
        """Return how often each example is drawn among errors of the kind."""
        return np.asarray(self.ratios[tags] * (labels == self.label))


def _error_kinds(training: TrainingDocuments, siblings: Sequence[int], planted: Any) -> list[_ErrorKind]:
    """Return the kinds of errors: random ones, then siblings; ``planted`` are the planted tags of the first kind."""
    alike = np.ones(len(training.tag_counts))
    uniform, by_frequency = (ratios.astype(np.float64) for ratios in draw_ratios(training.tag_counts))
    common = sibling_ratios(training.tag_counts, training.tag_kinds, planted).astype(np.float64)
    return [
        _ErrorKind(RANDOM, uniform),
        _ErrorKind(RANDOM, by_frequency),
        _ErrorKind(siblings[0], alike),
        _ErrorKind(siblings[0], common),
        *(_ErrorKind(kind, alike) for kind in siblings[1:]),
    ]


@dataclass(frozen=True)
class _Judge:
    """Regressions that separate the documents' own tags from random tags, and from siblings of their own tags.

    ``words`` (kinds, word features + 1) are the coefficients of the word features alone, by which siblings are
    compared. ``coefficients`` has for RANDOM and for each kind of siblings (FOLDS + 1, kinds, features + 1): those
    without each fold of the training documents, and those for new documents. ``errors`` are the kinds of errors, the
    N_RANDOM kinds of random tags first, and ``shares`` their bounds. ``null`` are the planted random tags, left out.
    """

    words: Float64s
    coefficients: dict[int, Float64s]
    errors: list[_ErrorKind]
    n_examples: int
    shares: Float64s
    null: _Null

    @classmethod
    def fit(cls, training: TrainingDocuments, n_jobs: int | None, random: np.random.Generator) -> _Judge:
        words, labels, examples = _collect_examples(training, n_jobs, random)
        # the tag of a new document is known from others: a tag that only this document has is not such an example
        known = examples.documents > 0
        n_planted = np.bincount(labels[known], minlength=IN_PLACE + 1)
        siblings = [kind for kind in (BESIDE, IN_PLACE) if n_planted[kind] >= MIN_POSITIVES] or [IN_PLACE]
        errors = _error_kinds(training, siblings, examples.tags[known & (labels == siblings[0])])
        preferences = np.array([IN_PLACE_PREFERENCE if error.label in siblings[1:] else 1.0 for error in errors])
        own, drawn = known & (labels == OWN), np.stack([error.weights(labels, examples.tags) for error in errors])
        judge = cls(words, {}, errors, int(known.sum()), np.ones(len(errors)), _Null(np.zeros(0), np.zeros(1)))
        n_kinds, counted = int(training.tag_kinds.max(initial=0)) + 1, np.ones(len(labels))
        for refit in range(1 + REFITS):
            judge = judge.refitted((RANDOM, *siblings), examples, labels, known, counted, n_kinds)
            found = judge.log_ratios(judge.log_odds(examples), examples)
            if not refit:
                shares = bound_shares(found, own, drawn * known, preferences)
            else:  # their proportion stays: own tags with weights would support the one that the weights came from
                shares = rescale_shares(found, own, drawn * known, judge.shares)
            judge = replace(judge, shares=shares)
            counted = np.where(labels == OWN, expit(-combine(found, REACHED * judge.shares)), 1.0)
        wrong = np.flatnonzero(known & (labels == RANDOM))
        against_random = judge.against_random(judge.log_odds(examples), examples)[wrong]
        return replace(judge, null=_Null.of(against_random, judge.draw_ratio()[examples.tags[wrong]]))

    def refitted(
        self,
        kinds_of_wrong: Sequence[int],
        examples: _Evidence,
        labels: Any,
        known: Any,
        counted: Float64s,
        n_kinds: int,
    ) -> _Judge:
        """Return the judge with regressions fitted to examples that count as much as ``counted`` says."""
        fitted = {}
        for wrong in kinds_of_wrong:
            chosen = np.flatnonzero(known & ((labels == OWN) | (labels == wrong)))
            values, own, kinds = examples.columns(wrong, chosen), labels[chosen] == OWN, examples.kinds[chosen]
            weights, starts = counted[chosen], self.coefficients.get(wrong, [None] * (FOLDS + 1))
            without = (examples.fold[chosen] != fold for fold in range(FOLDS + 1))
            fitted[wrong] = np.stack(
                [
                    _fit_at_even_odds(values[given], own[given], kinds[given], n_kinds, weights[given], start)
                    for given, start in zip(without, starts, strict=True)
                ]
            )
        return replace(self, coefficients=fitted)

    def draw_ratio(self) -> Float64s:
        """Return how much more often the random tags of the corpus are drawn than planted ones: an entry per tag."""
        ratios = np.stack([error.ratios for error in self.errors[:N_RANDOM]])
        return np.asarray(_proportion(self.shares[:N_RANDOM]) @ ratios)

    def log_odds(self, evidence: _Evidence) -> dict[int, Float64s]:
        """Return the log odds of an own tag against each kind of planted tags."""
        return {
            wrong: log_odds_of(evidence.columns(wrong), coefficients[evidence.fold, evidence.kinds])
            for wrong, coefficients in self.coefficients.items()
        }

    def against_random(self, log_odds: dict[int, Float64s], evidence: _Evidence) -> Float64s:
        """Return the log odds against the random tags of the corpus."""
        ratio = np.log(np.maximum(self.draw_ratio()[evidence.tags], 1e-9))
        return shrink_log_odds(log_odds[RANDOM] - ratio, evidence.documents, evidence.words, self.n_examples)

    def log_ratios(self, log_odds: dict[int, Float64s], evidence: _Evidence) -> Float64s:
        """Return the log likelihood ratios of errors against own tags, a row for each kind of errors."""
        shrunk = {
            wrong: shrink_log_odds(values, evidence.documents, evidence.words, self.n_examples)
            for wrong, values in log_odds.items()
        }
        return np.stack(
            [np.log(np.maximum(error.ratios[evidence.tags], 1e-9)) - shrunk[error.label] for error in self.errors]
        )


def _proportion(shares: Float64s) -> Float64s:
    """Return shares relative to their sum, none of them 0."""
    return np.asarray((shares + MIN_SHARE) / (shares + MIN_SHARE).sum())


def _collect_examples(
    training: TrainingDocuments, n_jobs: int | None, random: np.random.Generator
) -> tuple[Float64s, Any, _Evidence]:
    """Return the coefficients of the word features, and the labels and the evidence of all planted examples.

    The coefficients are those of the first round, so that no more than one planted index is in memory.
    """
    n_kinds = int(training.tag_kinds.max(initial=0)) + 1
    words: Float64s | None = None
    labels, parts = [], []
    for planted in PlantedTags.rounds(training, n_jobs, random):
        if words is None:
            known = planted.training.other_documents(planted.entries) > 0
            chosen = np.flatnonzero(known & ((planted.labels == OWN) | (planted.labels == RANDOM)))
            features = word_features(planted.training, planted.entries, n_jobs)[chosen].astype(np.float64)
            kinds = training.tag_kinds[planted.entries.tags.indices[chosen]]
            own = planted.labels[chosen] == OWN
            words = _fit_at_even_odds(features, own, kinds, n_kinds, np.ones(len(chosen)))
        labels.append(planted.labels)
        parts.append(_Evidence.of(planted.training, planted.entries, words, n_jobs)[0])
        del planted
    assert words is not None  # there is at least one round
    columns = (np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(_Evidence))
    return words, np.concatenate(labels), _Evidence(*columns)


def _fit_at_even_odds(
    features: Float64s, is_own: Any, kinds: Any, n_kinds: int, counted: Float64s, start: Float64s | None = None
) -> Float64s:
    """Return the coefficients for each kind of tag, at even prior odds; ``counted`` is how much each example counts."""
    with one_blas_thread():
        coefficients = fit_coefficients(features, is_own, kinds, n_kinds, start, counted)
    for kind in range(n_kinds):
        of_kind = kinds == kind
        if min((of_kind & is_own).sum(), (of_kind & ~is_own).sum()) < MIN_POSITIVES:
            of_kind = np.ones(len(kinds), bool)  # its coefficients are those of all kinds
        own, wrong = counted[of_kind & is_own].sum(), counted[of_kind & ~is_own].sum()
        coefficients[kind, -1] -= np.log((1 + own) / (1 + wrong))
    return coefficients
