"""From evidence to a probability: a logistic regression on a handful of features, learnt on documents left out.

Each training document of a sample is asked about as if it were not remembered (the kernel takes it, and its part in its
tags' sums, away exactly). Whether a tag that then comes up is among the document's own is what the regression learns,
so its probabilities are calibrated for new documents, and nothing is held back from the memory. Each is asked about
twice, with all of its words and with a few, since people also ask about a single sentence: there are two mixes, each
with one set of coefficients for each kind of tag that has enough examples (years and authors are not equally easy;
else the common one) and an offset for each tag.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s
from tagtopic._core.blas import one_blas_thread
from tagtopic.tagging.evidence import Evidence
from tagtopic.tagging.features import N_FEATURES, write_features

ENOUGH = 30
"""Right tags of a kind among the examples, from which it gets coefficients of its own."""

OFFSET_VARIANCE, OFFSET_STEPS = 1.0, 8

FOLDS = 4
AS_IT_IS = np.array([0.0, 1.0, 0.0])
"""Tempering that changes nothing."""

LEAST_SLOPE = 0.05

RELATIVE = [5, 6]
"""The features that decide, with the odds, where all examples are right, or none."""


def features(evidence: Evidence) -> Floats:
    """(..., N_FEATURES): what the mix sees of the evidence for each tag."""
    found = np.empty((*evidence.tags.shape, N_FEATURES), np.float32)
    values, best = (array.reshape(-1, array.shape[-1]) for array in (evidence.values, evidence.best))
    write_features(values, best, found.reshape(-1, N_FEATURES))
    return found


def learn_mix(inputs: Floats, right: Any, kinds: Int32s, n_kinds: int) -> Float64s:
    """Coefficients (kinds, N_FEATURES + 1) from examples: ``inputs`` (examples, features), whether right, kind."""
    common = _coefficients(inputs, right)
    table = np.tile(common, (n_kinds, 1))
    for kind in range(n_kinds):
        chosen = kinds == kind
        if n_kinds > 1 and right[chosen].sum() >= ENOUGH:
            table[kind] = _coefficients(inputs[chosen], right[chosen])
    return table


def learn_offsets(log_odds: Float64s, right: Any, tags: Int32s, n_tags: int) -> Float64s:
    """What to add to the log odds of each tag, since the same evidence is worth more for some: by Newton's method.

    The prior is normal around 0 with variance OFFSET_VARIANCE, so rare tags keep what all tags of their kind have.
    """
    from scipy.special import expit

    offsets = np.zeros(n_tags)
    for _ in range(OFFSET_STEPS):
        given = expit(log_odds + offsets[tags])
        slope = np.bincount(tags, weights=right - given, minlength=n_tags) - offsets / OFFSET_VARIANCE
        curvature = np.bincount(tags, weights=given * (1 - given), minlength=n_tags) + 1 / OFFSET_VARIANCE
        offsets += np.clip(slope / curvature, -1, 1)
    return offsets


@dataclass(frozen=True)
class Examples:
    """Tags that came up for documents left out: features, whether right, the tag and its kind, and the document."""

    inputs: Floats
    right: Any
    tags: Int32s
    kinds: Int32s
    documents: Any

    def __getitem__(self, chosen: Any) -> Examples:
        return Examples(*(getattr(self, field.name)[chosen] for field in fields(self)))


def joined(parts: Sequence[Examples]) -> Examples:
    """All of them."""
    names = [field.name for field in fields(Examples)]
    return Examples(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def learn_from(examples: Examples, n_kinds: int, n_tags: int) -> tuple[Float64s, Float64s]:
    """The mix, and the offsets on top of it."""
    mix = learn_mix(examples.inputs, examples.right, examples.kinds, n_kinds)
    log_odds = log_odds_of(examples.inputs, mix[examples.kinds])
    return mix, learn_offsets(log_odds, examples.right, examples.tags, n_tags)


def learn_tempering(examples: Examples, n_kinds: int, n_tags: int) -> Float64s:
    """How sure to be: intercept, slope, and a further slope above even odds, for log odds as they come out.

    Learnt on log odds of documents that the mix and the offsets they come from have not seen. Both slopes are kept
    positive, so that the order of a document's tags stays.
    """
    if not examples.right.any() or examples.right.all():
        return AS_IT_IS
    fold = examples.documents % FOLDS
    log_odds = np.zeros(len(fold))
    for left_out in range(FOLDS):
        here = fold == left_out
        seen, asked = examples[~here], examples[here]
        if not len(seen.right) or not len(asked.right):
            return AS_IT_IS
        mix, offsets = learn_from(seen, n_kinds, n_tags)
        log_odds[here] = log_odds_of(asked.inputs, mix[asked.kinds]) + offsets[asked.tags]
    slopes = _coefficients(np.stack([log_odds, np.maximum(log_odds, 0.0)], axis=-1), examples.right)
    intercept, low, bend = slopes[2], max(slopes[0], LEAST_SLOPE), slopes[1]
    return np.array([intercept, low, max(bend, LEAST_SLOPE - low)])


def probabilities(inputs: Floats, coefficients: Float64s) -> Float64s:
    """The probability of each example: ``coefficients`` (examples, features + 1), one each."""
    from scipy.special import expit

    return np.asarray(expit(log_odds_of(inputs, coefficients)))


def log_odds_of(inputs: Floats, coefficients: Float64s) -> Float64s:
    """The log odds of each example."""
    return np.asarray(np.einsum("...f,...f->...", inputs, coefficients[..., :-1]) + coefficients[..., -1])


def _coefficients(inputs: Floats, right: Any) -> Float64s:
    from sklearn.linear_model import LogisticRegression

    n_right, n_wrong = int(right.sum()), int((~right).sum())
    if not n_right or not n_wrong:
        slopes = np.zeros(inputs.shape[1])
        slopes[RELATIVE] = 2.0
        return np.append(slopes, -4.0 + np.log((n_right + 1) / (n_wrong + 1)))
    centre, scale = inputs.mean(axis=0, dtype=np.float64), inputs.std(axis=0, dtype=np.float64) + 1e-6
    # few features and many examples: Newton takes 8 steps where L-BFGS takes 45. Threads that wait for so little
    # cost more than they give
    with one_blas_thread():
        fitted = LogisticRegression(C=1.0, solver="newton-cholesky").fit((inputs - centre) / scale, right)
    slopes = fitted.coef_[0] / scale
    return np.append(slopes, fitted.intercept_[0] - slopes @ centre)
