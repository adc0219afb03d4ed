"""How plausible a tag on a document is, learnt from training documents in which wrong tags are planted.

Curators make two kinds of errors: a tag that has nothing to do with the document, and one that was confused with a
sibling of it (``siblings.py``), which was added beside the right tag or put in its place. Three logistic regressions on
features that exclude the document itself (``audit_features.py``) separate the own tags of a sample of training
documents from planted random tags, from siblings beside the right tag, and from siblings in its place
(``planted_tags.py``). One regression for all errors is worse at each, because siblings of a right tag look more
plausible than the right tag by most features.

Random tags are planted half uniformly and half by frequency. How often either would draw a tag is known, and so are the
likelihood ratios r_u and r_f of the two against own tags, from one regression (``draw_ratios``). With those of siblings
beside the right tag and in its place, s_b and s_i, the odds that a tag is wrong are

    p_u r_u + p_f r_f + q_b s_b + q_i s_i,

where p and q are the shares of such errors that the corpus can have at most (``error_shares.py``). Without the
difference between r_u and r_f, tags on many documents, which are seldom wrong in a corpus with uniform errors, would
fill its first page.

The plausibility is against random tags drawn in the proportion of p_u and p_f, and its rank among them a p-value; the
score "wrong sibling" is against siblings in the proportion of q_b and q_i. Both are at even prior odds. The suspicion
comes from the odds above. Where documents have one tag of a kind, a second one makes both suspicious, though one of
them is right: the odds of a tag are divided by 1 + e o, where o are the largest odds of the document's other tags of
its kind, and e is the share of documents with a single tag among those with any of the kind.

See docs/decisions/tag-audit.md.
"""

from __future__ import annotations

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
from tagtopic.tagging.error_shares import bound_shares, combine
from tagtopic.tagging.planted_tags import BESIDE, IN_PLACE, OWN, RANDOM, PlantedTags, draw_ratios
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
        wrong_sibling=known(expit(combine(log_ratios[2:], _proportion(judge.shares[2:]))), 0.0),
        suspicion=odds / (1 + odds),
        sibling=np.where(unknown, ABSENT, sibling),
        documents=evidence.documents.astype(np.int64),
    )


def shrink_log_odds(log_odds: Float64s, documents: Float64s, n_examples: int) -> Float64s:
    """Return log odds no larger, in either direction, than the evidence supports.

    The limit is log(1 + n), n being CERTAINTY times the tag's other documents, or the number of examples if that is
    smaller; log odds approach it smoothly, so that their order within a tag does not change.
    """
    limit = np.log1p(np.minimum(CERTAINTY * np.maximum(documents, 1.0), max(n_examples, 1)))
    return np.asarray(limit * np.tanh(log_odds / limit))


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
        return cls(features, compared, tags, training.tag_kinds[tags], documents, fold), sibling

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
class _Judge:
    """Regressions that separate the documents' own tags from random tags, and from siblings of their own tags.

    ``words`` (kinds, word features + 1) are the coefficients of the word features alone, by which siblings are
    compared. ``coefficients`` has for RANDOM and for each kind of siblings (FOLDS + 1, kinds, features + 1): those
    without each fold of the training documents, and those for new documents. ``draw_ratios`` (2, tags) are those of
    random tags. ``shares`` bound the errors: uniform ones, those by frequency, and each kind of siblings. ``null`` are
    the planted random tags, left out.
    """

    words: Float64s
    coefficients: dict[int, Float64s]
    draw_ratios: Float64s
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
        coefficients = {}
        for wrong in (RANDOM, *siblings):
            chosen = np.flatnonzero(known & ((labels == OWN) | (labels == wrong)))
            values, own, kinds = examples.columns(wrong, chosen), labels[chosen] == OWN, examples.kinds[chosen]
            without = [examples.fold[chosen] != fold for fold in range(FOLDS + 1)]
            n_kinds = int(training.tag_kinds.max(initial=0)) + 1
            coefficients[wrong] = np.stack(
                [_fit_at_even_odds(values[given], own[given], kinds[given], n_kinds) for given in without]
            )
        ratios = np.stack(draw_ratios(training.tag_counts)).astype(np.float64)
        nothing = _Null(np.zeros(0), np.zeros(1))
        judge = cls(words, coefficients, ratios, int(known.sum()), np.ones(2 + len(siblings)), nothing)
        raw = judge.log_odds(examples)
        weights = [*ratios[:, examples.tags] * (labels == RANDOM), *(labels == kind for kind in siblings)]
        preferences = np.ones(len(weights))
        if len(siblings) > 1:
            preferences[-1] = IN_PLACE_PREFERENCE
        found, own, drawn = judge.log_ratios(raw, examples), known & (labels == OWN), np.stack(weights) * known
        shares = bound_shares(found, own, drawn, preferences)
        judge = replace(judge, shares=shares)
        errors = np.flatnonzero(known & (labels == RANDOM))
        null = _Null.of(judge.against_random(raw, examples)[errors], judge.draw_ratio()[examples.tags[errors]])
        return replace(judge, null=null)

    def draw_ratio(self) -> Float64s:
        """Return how much more often the random tags of the corpus are drawn than planted ones: an entry per tag."""
        return np.asarray(_proportion(self.shares[:2]) @ self.draw_ratios)

    def log_odds(self, evidence: _Evidence) -> dict[int, Float64s]:
        """Return the log odds of an own tag against each kind of planted tags."""
        return {
            wrong: log_odds_of(evidence.columns(wrong), coefficients[evidence.fold, evidence.kinds])
            for wrong, coefficients in self.coefficients.items()
        }

    def against_random(self, log_odds: dict[int, Float64s], evidence: _Evidence) -> Float64s:
        """Return the log odds against the random tags of the corpus."""
        ratio = np.log(np.maximum(self.draw_ratio()[evidence.tags], 1e-9))
        return shrink_log_odds(log_odds[RANDOM] - ratio, evidence.documents, self.n_examples)

    def log_ratios(self, log_odds: dict[int, Float64s], evidence: _Evidence) -> Float64s:
        """Return the log likelihood ratios of errors against own tags, a row for each of ``shares``."""
        ratios = np.log(np.maximum(self.draw_ratios[:, evidence.tags], 1e-9))
        random, *siblings = (
            shrink_log_odds(values, evidence.documents, self.n_examples) for values in log_odds.values()
        )
        return np.stack([*(ratios - random), *(-values for values in siblings)])


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
            words = _fit_at_even_odds(features, planted.labels[chosen] == OWN, kinds, n_kinds)
        labels.append(planted.labels)
        parts.append(_Evidence.of(planted.training, planted.entries, words, n_jobs)[0])
        del planted
    assert words is not None  # there is at least one round
    columns = (np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(_Evidence))
    return words, np.concatenate(labels), _Evidence(*columns)


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
