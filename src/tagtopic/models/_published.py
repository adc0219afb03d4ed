"""The settings with which a fit follows Algorithm 1 of the article, and what still departs from it.

Departures that no setting removes:

- xi is maximised by natural-gradient steps with backtracking from the document's last xi, pi by an accelerated
  fixed point, both to convergence; the article has gradient descent, without step size or start. The objectives are
  the article's.
- theta and psi have a floor of 1e-10: the logarithm of a probability that became 0 is not finite. pi is kept within
  1e-6 and 1e6, where its maximum does not exist.
- The order within an E-step is gamma, xi, then rho at the new xi, repeated, and gamma last.
- eta, the probability of each tag, is computed (``tag_frequencies_``) and not used, as in the article.

The article does not say when EM has converged, nor where pi and mu start. ``MAX_ITER``, ``TOL`` and ``SWEEPS`` are
those of the authors' released code; pi starts at 1, mu at 3 / n_topics (at most 0.1).
"""

from __future__ import annotations

from typing import Any

from tagtopic.inference.methods import MAXIMUM_LIKELIHOOD

MAX_ITER, TOL, SWEEPS, SWEEP_TOL = 100, 1e-4, 30, 1e-4


def published_settings(*, latent: bool) -> dict[str, Any]:
    """Return the settings of TWTM, or with a ``latent`` tag of TWDA, as published."""
    priors = ["tag_weight_prior", "tag_topic_prior", "topic_word_prior"]
    priors += ["latent_weight_prior", "latent_topic_prior"] if latent else []
    return {
        "inference": "paper",
        "init": "paper",
        "max_iter": MAX_ITER,
        "tol": TOL,
        "sweeps": SWEEPS,
        "sweep_tol": SWEEP_TOL,
        "prior_warm_up": 0,
        "prior_every": 1,
        **dict.fromkeys(priors, MAXIMUM_LIKELIHOOD),
    }
