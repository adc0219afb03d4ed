"""How probable words are, given the topic mixes of their documents."""

from __future__ import annotations

import numpy as np

from tagtopic.compiled import compiled_reordering
from tagtopic.inference.arrays import Float64s, Floats, Int32s, Int64s


@compiled_reordering
def log_probabilities(starts: Int64s, words: Int32s, counts: Floats, mixes: Floats, psi: Floats) -> Float64s:
    """By document, ``sum_w c_w log(mix . psi_w)``."""
    values = np.zeros(starts.shape[0] - 1)
    for d in range(starts.shape[0] - 1):
        for p in range(starts[d], starts[d + 1]):
            total = 0.0
            for k in range(psi.shape[1]):
                total += mixes[d, k] * psi[words[p], k]
            values[d] += counts[p] * np.log(max(float(total), 1e-300))
    return values
