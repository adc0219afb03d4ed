"""How priors are asked for, and when they are learnt.

A prior is given as a number or an array (fixed), as "estimate" (empirical Bayes under a hyper-prior) or as
"maximum-likelihood" (as in the paper: no hyper-prior, no smoothing).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tagtopic.inference.arrays import Float64s

ESTIMATE = "estimate"
MAXIMUM_LIKELIHOOD = "maximum-likelihood"

Prior = float | str | Any
"""A number, an array, "estimate" or "maximum-likelihood"."""


def is_learnt(prior: Prior) -> bool:
    """Whether the prior is learnt from the corpus rather than given."""
    return isinstance(prior, str)


def asks_for(word: str, prior: Prior) -> bool:
    """Whether the prior is this word (an array never is)."""
    return isinstance(prior, str) and prior == word


def check_prior(name: str, prior: Prior, *, size: int | None, learnable: bool = True, zero: bool = False) -> None:
    """Raise unless the prior is one of the things a prior may be; ``size`` is that of an array, None for any."""
    if isinstance(prior, str):
        allowed = (ESTIMATE, MAXIMUM_LIKELIHOOD) if learnable else (MAXIMUM_LIKELIHOOD,)
        if prior not in allowed:
            raise ValueError(f"{name}={prior!r}: expected a number, an array or one of {', '.join(map(repr, allowed))}")
        return
    values = np.asarray(prior, dtype=np.float64)
    if values.ndim > 1 or (values.ndim == 1 and size is not None and len(values) != size):
        raise ValueError(f"{name} has the shape {values.shape}: expected one number or {size} of them")
    wrong = ~np.isfinite(values) | (values < 0) | (values == 0 if not zero else False)
    if np.any(wrong):
        raise ValueError(f"{name} must be finite and {'not negative' if zero else 'positive'}")


def spread(prior: Prior, size: int, *, start: float) -> Float64s:
    """The prior as an array of ``size``: what was given, or ``start`` everywhere if it is to be learnt."""
    value = start if is_learnt(prior) else prior
    return np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (size,)))


def smoothed_shares(sizes: Float64s, extra: float) -> Float64s:
    """Shares of a whole, with ``extra`` added to each so that none is zero."""
    return np.asarray((sizes + extra) / (sizes + extra).sum())


@dataclass(frozen=True)
class Schedule:
    """When priors are learnt: at every ``every``-th iteration, the topics' shares from the first on, the Dirichlet
    priors of weights and latent topics only after ``warm_up`` iterations (too early they collapse).
    """

    warm_up: int = 20
    every: int = 10

    def due(self, iteration: int) -> bool:
        """Whether anything may be learnt after this iteration (the first is 1)."""
        return iteration % self.every == 0

    def warm(self, iteration: int) -> bool:
        """Whether the Dirichlet priors may be learnt after this iteration."""
        return iteration >= self.warm_up
