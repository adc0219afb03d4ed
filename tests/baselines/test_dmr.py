"""The effects of tags in DMR: the gradient, and recovery of planted effects."""

import numpy as np
import scipy.sparse as sp

from tagtopic.baselines import reference
from tagtopic.baselines.dmr import fit_effects, log_evidence


def test_the_evidence_equals_the_reference_and_its_gradient_finite_differences() -> None:
    rng = np.random.default_rng(0)
    logs, counts = rng.normal(-1, 1, (4, 3)), rng.integers(0, 6, (4, 3)).astype(np.int32)
    counts[1] = 0
    gradient = np.empty((4, 3))
    value = log_evidence(logs, counts, gradient)
    np.testing.assert_allclose(value, reference.dmr_evidence(logs, counts), rtol=1e-12)
    for place in np.ndindex(4, 3):
        step = np.zeros((4, 3))
        step[place] = 1e-5
        slope = (reference.dmr_evidence(logs + step, counts) - reference.dmr_evidence(logs - step, counts)) / 2e-5
        np.testing.assert_allclose(gradient[place], slope, rtol=1e-5, atol=1e-8)


def test_planted_effects_are_recovered() -> None:
    rng = np.random.default_rng(0)
    tags = sp.csr_array((rng.random((3000, 6)) < 0.3).astype(np.int8))
    intercept, effects = np.log([0.5, 0.3, 0.8]), rng.normal(0, 1, (6, 3))
    alpha = np.exp(intercept + tags @ effects)
    mixes = np.array([rng.dirichlet(row) for row in alpha])
    counts = np.array([rng.multinomial(60, mix) for mix in mixes]).astype(np.int32)
    start = np.full(3, np.log(0.1)), np.zeros((6, 3))
    found = fit_effects(tags, counts, *start, centre=np.log(0.1), sigma=2.0, steps=200)
    np.testing.assert_allclose(found[0], intercept, atol=0.15)
    np.testing.assert_allclose(found[1], effects, atol=0.2)


def test_a_tag_on_no_document_has_no_effect() -> None:
    rng = np.random.default_rng(1)
    tags = sp.csr_array(np.hstack([rng.random((50, 1)) < 0.5, np.zeros((50, 1), bool)]).astype(np.int8))
    counts = rng.integers(0, 9, (50, 3)).astype(np.int32)
    _, effects = fit_effects(tags, counts, np.zeros(3), np.zeros((2, 3)), centre=0.0, sigma=1.0, steps=50)
    assert np.abs(effects[0]).max() > 0
    np.testing.assert_array_equal(effects[1], 0)
