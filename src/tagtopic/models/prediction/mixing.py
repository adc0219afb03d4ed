"""From evidence to a probability: a logistic regression on a handful of features, learnt on documents left out.

Each training document of a sample is asked about as if it were not remembered (the kernel takes it, and its part in its
tags' sums, away exactly). Whether a tag that then comes up is among the document's own is what the regression learns,
so its probabilities are calibrated for new documents, and nothing is held back from the memory. Each is asked about
twice, with all of its words and with a few, since people also ask about a single sentence. One set of coefficients
for each kind of tag that has enough examples, since years and authors are not equally easy; else the common one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic.inference.arrays import Float64s, Floats, Int32s
from tagtopic.inference.tag_evidence import CENTROID, CLOSE, DOCUMENTS, NAMED, NEAR, NEAREST, Evidence

N_FEATURES = 14

ENOUGH = 30
"""Right tags of a kind among the examples, from which it gets coefficients of its own."""

WHOLE = 0.999
"""A name all of whose words the document has."""

RELATIVE = [5, 6]
"""The features that decide, with the odds, where all examples are right, or none."""


def features(evidence: Evidence) -> Floats:
    """(queries, most, N_FEATURES): the evidence in logarithms, and relative to the best of its kind, and that best.

    What a name in the text is worth depends on how common the tag is, how much the text says, and what speaks for the
    tag besides; without these products probabilities above 0.4 are a third too high on TMDB's keywords.
    """
    values, best = evidence.values, evidence.best
    centroid, near, named = values[..., CENTROID], values[..., NEAR], values[..., NAMED]
    columns = [
        np.log(centroid + 0.01),
        np.log(near + 0.001),
        np.log(values[..., CLOSE] + 1e-5),
        np.log(values[..., NEAREST] + 0.02),
        np.log(values[..., DOCUMENTS] + 0.5),
        centroid / best[..., 0],
        near / best[..., 1],
        np.log(best[..., 0] + 0.01),
        np.log(best[..., 1] + 0.001),
        named,
        (named > WHOLE).astype(values.dtype),
        named * np.log(values[..., DOCUMENTS] + 0.5),
        named * np.log(best[..., 0] + 0.01),
        named * centroid / best[..., 0],
    ]
    return np.stack(columns, axis=-1)


def learn_mix(inputs: Floats, right: Any, kinds: Int32s, n_kinds: int) -> Float64s:
    """Coefficients (kinds, N_FEATURES + 1) from examples: ``inputs`` (examples, features), whether right, kind."""
    common = _coefficients(inputs, right)
    table = np.tile(common, (n_kinds, 1))
    for kind in range(n_kinds):
        chosen = kinds == kind
        if n_kinds > 1 and right[chosen].sum() >= ENOUGH:
            table[kind] = _coefficients(inputs[chosen], right[chosen])
    return table


def probabilities(inputs: Floats, coefficients: Float64s) -> Float64s:
    """The probability of each example: ``coefficients`` (examples, N_FEATURES + 1), one row each."""
    from scipy.special import expit

    return np.asarray(expit(np.einsum("...f,...f->...", inputs, coefficients[..., :-1]) + coefficients[..., -1]))


def _coefficients(inputs: Floats, right: Any) -> Float64s:
    from sklearn.linear_model import LogisticRegression

    n_right, n_wrong = int(right.sum()), int((~right).sum())
    if not n_right or not n_wrong:
        slopes = np.zeros(inputs.shape[1])
        slopes[RELATIVE] = 2.0
        return np.append(slopes, -4.0 + np.log((n_right + 1) / (n_wrong + 1)))
    centre, scale = inputs.mean(axis=0, dtype=np.float64), inputs.std(axis=0, dtype=np.float64) + 1e-6
    fitted = LogisticRegression(C=1.0, max_iter=1000).fit((inputs - centre) / scale, right)
    slopes = fitted.coef_[0] / scale
    return np.append(slopes, fitted.intercept_[0] - slopes @ centre)
