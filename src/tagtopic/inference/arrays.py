"""The arrays that travel between corpus, kernels and engines, grouped under the paper's names.

theta   tag -> topics           (tags, topics)
psi     word -> topics          (words, topics): a word's row is contiguous, a topic's column sums to 1
pi      Dirichlet prior of the tag weights, one number a tag; ``pi_latent`` is the latent tag's
mu      Dirichlet prior of the latent tag's topics
xi      a document's Dirichlet posterior over its tags; ``xi_latent`` is the latent tag's
rho     a document's Dirichlet posterior over the latent tag's topics
alpha   prior counts of theta, beta: prior counts of psi

All are named tuples of plain arrays because Numba takes those as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Float64s = NDArray[np.float64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
UInt16s = NDArray[np.uint16]

PAPER, MIXTURE, MAP, COLLAPSED = 0, 1, 2, 3
"""The ways of inference, as the kernels know them."""

WAYS = {"paper": PAPER, "mixture": MIXTURE, "map": MAP, "collapsed": COLLAPSED}


def way_for_new_documents(inference: str) -> str:
    """How documents are inferred under a model that is learnt: they have no share in it that could be left out."""
    return "map" if inference == "collapsed" else inference


class Documents(NamedTuple):
    """A run of documents: rows ``word_starts[d]:word_starts[d + 1]`` of words and counts, and alike for tags.

    The starts are absolute positions in ``words`` and ``tags``, so a run of a larger collection is a view.
    """

    word_starts: Int64s
    words: Int32s
    counts: Int32s
    tag_starts: Int64s
    tags: Int32s


class Shares(NamedTuple):
    """How much of psi and theta one word of the corpus is, so that its own share can be left out.

    ``topic`` is 1 / (words of the topic + its prior), ``tag`` alike; ``word_prior`` is beta. Empty where not needed.
    """

    topic: Floats
    tag: Floats
    word_prior: Floats


class Model(NamedTuple):
    """What the E-step needs to know of a model. Under the paper's way ``tag_rows`` is log theta, else theta."""

    psi: Floats
    tag_rows: Floats
    pi: Float64s
    pi_latent: float
    mu: Float64s
    latent: bool
    shares: Shares


class State(NamedTuple):
    """Where each document's inference stands: xi by (document, tag) entry, xi_latent and rho by document."""

    xi: Floats
    xi_latent: Floats
    rho: Floats


class Evaluation(NamedTuple):
    """What one E-step says of each document, all at the same xi and rho; the M-step's sums are made from it.

    ``mix`` is e, ``pull`` is M (under the paper's way N = e M), ``ratios`` is c / s by word entry, in the order of
    the block's word-major index, ``weights`` is a by tag entry. The last three are what "collapsed" adds (see
    ``leave_out``): h and Q by document, 1 / s by word entry; elsewhere they have no rows.
    """

    mix: Floats
    pull: Floats
    ratios: Floats
    weights: Floats
    objective: Float64s
    own_mix: Floats
    own_pull: Floats
    inverses: Floats


def read_only(array: NDArray[Any], dtype: type[np.generic] | None = None) -> NDArray[Any]:
    """A plain read-only view, rows contiguous: Numba compiles anew for memory maps, other orders, writeable arrays."""
    view = np.asarray(array, dtype, order="C").view(np.ndarray)
    if view.flags.writeable:
        view = view.view()
        view.flags.writeable = False
    return view
