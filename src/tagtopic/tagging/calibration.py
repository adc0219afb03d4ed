"""Fit the combination of features into calibrated probabilities (stacking), on training documents left out.

Each document of a sample is queried as if it were not in the training index: the kernels take it, and its part in the
sums of its tags, out exactly. A logistic regression learns from the features of the candidates whether each is one of
the document's own tags, so that its probabilities are calibrated for new documents and the index keeps all documents.

Each document is queried twice, with all its words and with a few, because people also query single sentences. There are
two sets of coefficients, each with a row for every kind of tag that has enough positive examples (years and authors are
not equally easy; other kinds share a common row), and an offset per tag. Finally the log odds are calibrated by
cross-validation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats, Int32s
from tagtopic._core.parallel import cut_rows, one_blas_thread
from tagtopic.tagging.evidence import N_CANDIDATES, Evidence, gather_evidence
from tagtopic.tagging.features import EVIDENCE_FEATURES, FEATURES, N_FEATURES, write_features
from tagtopic.tagging.logistic import fit_logistic
from tagtopic.tagging.regressions import TagRegressions
from tagtopic.tagging.training_index import TrainingIndex, queries_from_vectors

EXAMPLE_BATCH = 64
"""Documents whose examples are computed together: the fit should need no more memory for them than for its EM."""

MIN_POSITIVES = 30
"""Positive examples of a kind of tag from which it has coefficients of its own."""

OFFSET_VARIANCE, OFFSET_STEPS = 1.0, 8
"""Prior variance of the tags' offsets, and Newton steps that fit them."""

FOLDS = 4

IDENTITY = np.array([0.0, 1.0, 0.0])
"""The calibration that leaves log odds unchanged."""

MIN_SLOPE = 0.05

LOG_FREQUENCY = FEATURES.index("log_frequency")
FREQUENCY_PRODUCTS = [FEATURES.index(name) for name in ("name_overlap_x_log_frequency", "margin_x_log_frequency")]

MIN_SPREAD = 0.5
"""Spread of the tags' frequencies from which they are evidence, relative to that of a Poisson distribution."""

FALLBACK_FEATURES = [EVIDENCE_FEATURES.index(name) for name in ("relative_centroid", "relative_knn_vote")]
"""Features with a fixed coefficient where all examples have the same label."""


@dataclass(frozen=True)
class Examples:
    """Candidates of documents left out: features, labels (whether the tag is the document's), tag, kind, document."""

    features: Floats
    labels: Any
    tags: Int32s
    kinds: Int32s
    documents: Any

    def __getitem__(self, chosen: Any) -> Examples:
        return Examples(*(getattr(self, field.name)[chosen] for field in fields(self)))

    @classmethod
    def concatenate(cls, parts: Sequence[Examples]) -> Examples:
        """Return all parts as one."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


Stacking = tuple[Float64s, Float64s]
"""Coefficients by kind, and offsets by tag."""

StackingFit = Callable[[Examples, int, int], Stacking]


@dataclass(frozen=True)
class ExampleDocuments:
    """Training documents to learn from, and classifiers that were fitted without them.

    Attributes
    ----------
    rows : array
        Their rows in the index.
    vectors, short : CSR
        The documents with all their words, and some of them (the first) with few.
    regressions : TagRegressions
        Classifiers that have not seen them.
    """

    rows: Any
    vectors: Any
    short: Any
    regressions: TagRegressions


@dataclass(frozen=True)
class Combination:
    """The learnt combination.

    Attributes
    ----------
    coefficients, offsets, calibrations : array
        For whole documents (0) and for short ones (1).
    folds : list of pairs of arrays
        For each fold of the examples, the coefficients and offsets of whole documents that were fitted without it.
    """

    coefficients: Float64s
    offsets: Float64s
    calibrations: Float64s
    folds: list[Stacking]


def fit_combination(
    index: TrainingIndex, parts: Sequence[ExampleDocuments], n_kinds: int, n_jobs: int | None
) -> Combination:
    """Fit the combination on the rows ``parts`` of the index, each left out of it."""
    found: list[list[Examples]] = [[], []]
    for part in parts:
        for first, last in cut_rows(len(part.rows), EXAMPLE_BATCH):
            _add_examples(index, part, first, last, found, n_jobs)
    sizes = n_kinds, len(index.tag_counts)
    learnt = []
    with one_blas_thread():  # threads cost more than they gain on matrices this small
        for batches in found:
            examples = without_balanced_frequencies(Examples.concatenate(batches), n_kinds)
            coefficients, offsets = fit_stacking(examples, *sizes)
            folds = fit_folds(examples, *sizes, partial(fit_stacking, start=coefficients))
            learnt.append((coefficients, offsets, fit_calibration(examples, folds), folds))
    coefficients, offsets, calibrations = (np.stack([one[part] for one in learnt]) for part in range(3))
    return Combination(coefficients, offsets, calibrations, learnt[0][3])


def _add_examples(
    index: TrainingIndex, part: ExampleDocuments, first: int, last: int, found: list[list[Examples]],
    n_jobs: int | None,
) -> None:  # fmt: skip
    """Add the candidates of documents ``first:last`` to those of whole (0) and of short (1) documents."""
    shorts = part.short[first:last]
    whole = np.arange(first, last)
    documents = np.concatenate([whole, whole[: shorts.shape[0]]])
    both = sp.csr_array(sp.vstack([part.vectors[first:last], shorts]))
    queries = queries_from_vectors(both, part.rows[documents], documents - first)
    all_tags = np.ones(len(index.tag_counts), bool)
    evidence = gather_evidence(index, queries, N_CANDIDATES, all_tags, N_CANDIDATES, n_jobs)
    features = np.zeros((*evidence.tags.shape, N_FEATURES), np.float32)
    write_features(queries, evidence, part.regressions.for_kernels(), features)
    labels = _labels(index, part.rows[documents], evidence)
    owners = np.broadcast_to(part.rows[documents][:, None], labels.shape)
    kinds = index.tag_kinds[evidence.tags]
    present = np.arange(evidence.tags.shape[1]) < evidence.n_found[:, None]
    for is_short, queried in enumerate((slice(0, last - first), slice(last - first, None))):
        here = present[queried]
        arrays: Any = (array[queried][here] for array in (features, labels, evidence.tags, kinds, owners))
        found[is_short].append(Examples(*arrays))


def _labels(index: TrainingIndex, rows: Any, evidence: Evidence) -> Any:
    """Return for each candidate whether it is a tag of the training document in its row."""
    own = np.zeros(len(index.tag_counts), bool)
    labels = np.zeros(evidence.tags.shape, bool)
    for i, row in enumerate(rows):
        tags = index.document_tags[index.document_tag_starts[row] : index.document_tag_starts[row + 1]]
        own[tags] = True
        labels[i] = own[evidence.tags[i]]
        own[tags] = False
    return labels


def fit_coefficients(
    features: Floats, labels: Any, kinds: Int32s, n_kinds: int, start: Float64s | None = None,
    weights: Floats | None = None,
) -> Float64s:  # fmt: skip
    """Return logistic-regression coefficients (kinds, features + 1), the intercept last.

    ``start`` are coefficients of similar examples, from which the fit takes fewer steps; ``weights`` are how much each
    example counts, by default 1.
    """
    starts = [None] * n_kinds if start is None else start
    enough = [n_kinds > 1 and labels[kinds == kind].sum() >= MIN_POSITIVES for kind in range(n_kinds)]
    table = np.zeros((n_kinds, features.shape[1] + 1))
    if not all(enough):
        table[:] = _fit_logistic(features, labels, starts[enough.index(False)], weights)
    for kind in np.flatnonzero(enough):
        chosen = kinds == kind
        counted = None if weights is None else weights[chosen]
        table[kind] = _fit_logistic(features[chosen], labels[chosen], starts[kind], counted)
    return table


def fit_offsets(log_odds: Float64s, labels: Any, tags: Int32s, n_tags: int) -> Float64s:
    """Return an offset to the log odds of each tag, the posterior mode under Normal(0, OFFSET_VARIANCE), by Newton.

    The same evidence is worth more for some tags than for others; the prior keeps rare tags near 0.
    """
    from scipy.special import expit

    offsets = np.zeros(n_tags)
    for _ in range(OFFSET_STEPS):
        probability = expit(log_odds + offsets[tags])
        gradient = np.bincount(tags, weights=labels - probability, minlength=n_tags) - offsets / OFFSET_VARIANCE
        curvature = np.bincount(tags, weights=probability * (1 - probability), minlength=n_tags) + 1 / OFFSET_VARIANCE
        offsets += np.clip(gradient / curvature, -1, 1)
    return offsets


def fit_stacking(examples: Examples, n_kinds: int, n_tags: int, start: Float64s | None = None) -> Stacking:
    """Return the coefficients by kind, and the offsets by tag; ``start`` are coefficients of similar examples."""
    coefficients = fit_coefficients(examples.features, examples.labels, examples.kinds, n_kinds, start)
    log_odds = log_odds_of(examples.features, coefficients[examples.kinds])
    return coefficients, fit_offsets(log_odds, examples.labels, examples.tags, n_tags)


def without_balanced_frequencies(examples: Examples, n_kinds: int) -> Examples:
    """Return the examples with a constant log frequency for kinds of tags that are all about equally frequent.

    A document that is left out takes one document from each of its own tags and none from the others. Where the
    frequencies differ less than chance would make them, as in classes that were balanced on purpose, this one document
    would tell own tags apart; new documents never differ in it.
    """
    column = examples.features[:, LOG_FREQUENCY].astype(np.float64)
    in_index = np.log(np.exp(column) + examples.labels)  # of all documents, none left out
    features = examples.features.copy()
    for kind in range(n_kinds):
        chosen = examples.kinds == kind
        if chosen.any() and in_index[chosen].std() < MIN_SPREAD * np.exp(-in_index[chosen] / 2).mean():
            mean = in_index[chosen].mean()
            for product in FREQUENCY_PRODUCTS:
                features[chosen, product] *= mean / column[chosen]
            features[chosen, LOG_FREQUENCY] = mean
    return replace(examples, features=features)


def fit_folds(examples: Examples, n_kinds: int, n_tags: int, fit: StackingFit = fit_stacking) -> list[Stacking]:
    """Return for each of FOLDS folds of the documents what is fitted on the others; nothing for uniform examples."""
    if not examples.labels.any() or examples.labels.all():
        return []
    fold = fold_of(examples.documents)
    if any(not (fold == number).any() or (fold == number).all() for number in range(FOLDS)):
        return []
    return [fit(examples[fold != number], n_kinds, n_tags) for number in range(FOLDS)]


def fold_of(documents: Any) -> Any:
    """Return the fold of each training document."""
    return documents % FOLDS


def fit_calibration(examples: Examples, folds: Sequence[Stacking]) -> Float64s:
    """Return the calibration of log odds: intercept, slope, and a further slope above even odds.

    It is fitted on the log odds of documents that the coefficients and offsets behind them were not fitted on
    (``fit_folds``). Both slopes are kept positive, so that the order of a document's tags does not change.
    """
    if not folds:
        return IDENTITY
    fold = fold_of(examples.documents)
    log_odds = np.zeros(len(fold))
    for number, (coefficients, offsets) in enumerate(folds):
        here = fold == number
        test = examples[here]
        log_odds[here] = log_odds_of(test.features, coefficients[test.kinds]) + offsets[test.tags]
    slopes = _fit_logistic(np.stack([log_odds, np.maximum(log_odds, 0.0)], axis=-1), examples.labels)
    intercept, slope, further = slopes[2], max(slopes[0], MIN_SLOPE), slopes[1]
    return np.array([intercept, slope, max(further, MIN_SLOPE - slope)])


def probabilities_of(features: Floats, coefficients: Float64s) -> Float64s:
    """Return the probability of each example; ``coefficients`` (examples, features + 1) has a row for each."""
    from scipy.special import expit

    return np.asarray(expit(log_odds_of(features, coefficients)))


def log_odds_of(features: Floats, coefficients: Float64s) -> Float64s:
    """Return the log odds of each example."""
    return np.asarray(np.einsum("...f,...f->...", features, coefficients[..., :-1]) + coefficients[..., -1])


def _fit_logistic(
    features: Floats, labels: Any, start: Float64s | None = None, weights: Floats | None = None
) -> Float64s:
    n_positive, n_negative = int(labels.sum()), int((~labels).sum())
    if not n_positive or not n_negative:
        slopes = np.zeros(features.shape[1])
        slopes[FALLBACK_FEATURES] = 2.0
        return np.append(slopes, -4.0 + np.log((n_positive + 1) / (n_negative + 1)))
    centre, spread = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    # a feature that varies by rounding only has no slope: divided by its spread, the slope would be thousands
    varies = spread > 1e-5 * np.abs(centre) + 1e-7
    scale = np.where(varies, spread + 1e-6, np.inf)
    if start is not None:
        start = np.append(np.where(varies, start[:-1] * (spread + 1e-6), 0.0), start[-1] + start[:-1] @ centre)
    scaled = (features - centre.astype(features.dtype)) * (1 / scale).astype(features.dtype)
    *fitted, intercept = fit_logistic(scaled, labels, start, weights)
    slopes = fitted / scale
    return np.append(slopes, intercept - slopes @ centre)
