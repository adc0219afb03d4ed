"""The inference methods: what each one is called, and what follows from the choice; also the words that settings take.

This table is the only list of them. Checks of settings, ``--help``, the engines and the models derive from it, and a
test compares it with ``docs/model.md``. To add a method, add a code and a row here, its branch in the kernels of
``e_step``, its twin in ``reference`` and tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PAPER, MIXTURE, MAP, CVB0, GIBBS = 0, 1, 2, 3, 4
"""The inference methods as the kernels take them."""


@dataclass(frozen=True)
class Defaults:
    """The settings of an estimator that are given as None: the best values differ from method to method.

    Parameters
    ----------
    max_iter : int
        The setting of the same name.
    tag_weight_prior, latent_weight_prior, topic_word_prior : float
        The settings of the same names.
    """

    max_iter: int = 200
    tag_weight_prior: float = 1.0
    latent_weight_prior: float = 5.0
    topic_word_prior: float = 0.07


@dataclass(frozen=True)
class InferenceMethod:
    """One approximation of the posterior of documents, and its properties.

    Parameters
    ----------
    name : str
        The value of ``inference=`` and of ``--inference``.
    code : int
        Its number in the kernels.
    summary : str
        One line for ``--help`` and documentation.
    is_bound : bool, default=False
        The objective is a lower bound on the log likelihood.
    is_monotone : bool, default=True
        No EM iteration lowers the objective while priors are fixed.
    is_penalised : bool, default=True
        The log density of theta and psi under their priors is part of the objective.
    is_mean_field : bool, default=False
        Weights and latent topics enter as ``exp(E[log x])``; otherwise as means.
    is_geometric : bool, default=False
        The topic mix is a geometric mean of the tags' rows: kernels take log theta, which must not be zero.
    is_leave_one_out : bool, default=False
        Each token's own expected counts are subtracted before it is assigned. The objective of the first iteration,
        which has nothing to subtract, is then not comparable with the following ones.
    is_sampling : bool, default=False
        Assignments are drawn at random, and parameters are averages over draws: there is no E-step.
    name_for_new_documents : str or None, default=None
        The method for documents that psi and theta were not estimated from; None is the same one.
    name_for_mini_batches : str or None, default=None
        The method of online learning and of ``partial_fit``; None is the same one.
    defaults : Defaults
        The defaults of priors.
    aliases : tuple of str, default=()
        Other spellings that are accepted.
    """

    name: str
    code: int
    summary: str
    is_bound: bool = False
    is_monotone: bool = True
    is_penalised: bool = True
    is_mean_field: bool = False
    is_geometric: bool = False
    is_leave_one_out: bool = False
    is_sampling: bool = False
    name_for_new_documents: str | None = None
    name_for_mini_batches: str | None = None
    defaults: Defaults = Defaults()
    aliases: tuple[str, ...] = ()

    @property
    def for_new_documents(self) -> InferenceMethod:
        """The method for documents that psi and theta were not estimated from."""
        return self if self.name_for_new_documents is None else METHODS[self.name_for_new_documents]

    @property
    def for_mini_batches(self) -> InferenceMethod:
        """The method of online learning and of ``partial_fit``."""
        return self if self.name_for_mini_batches is None else METHODS[self.name_for_mini_batches]


_ALL = (
    InferenceMethod(
        "gibbs",
        GIBBS,
        "collapsed Gibbs sampling, averaged over draws; lowest held-out perplexity, tags are mixtures of topics",
        is_monotone=False,
        is_penalised=False,
        is_sampling=True,
        name_for_new_documents="map",
        name_for_mini_batches="cvb0",
        defaults=Defaults(400, tag_weight_prior=0.2, latent_weight_prior=1.0, topic_word_prior=0.05),
    ),
    InferenceMethod(
        "cvb0",
        CVB0,
        "collapsed variational Bayes with leave-one-out counts; a point estimate, also learnt online",
        is_monotone=False,
        is_penalised=False,
        is_leave_one_out=True,
        name_for_new_documents="map",
        aliases=("collapsed",),
    ),
    InferenceMethod("map", MAP, "maximum a posteriori weights; fastest"),
    InferenceMethod(
        "mixture",
        MIXTURE,
        "mean field over weights and joint (tag, topic) assignments; a lower bound on the likelihood",
        is_bound=True,
        is_mean_field=True,
    ),
    InferenceMethod(
        "paper",
        PAPER,
        "the article's update equations (as_published and --preset paper have its priors and start too)",
        is_bound=True,
        is_geometric=True,
    ),
)

METHODS: dict[str, InferenceMethod] = {method.name: method for method in _ALL}
"""All inference methods by name."""

E_STEP_METHODS: dict[str, InferenceMethod] = {
    name: method for name, method in METHODS.items() if not method.is_sampling
}
"""Those with an E-step."""

ESTIMATE, MAXIMUM_LIKELIHOOD = LEARNT = ("estimate", "maximum-likelihood")
"""Values of priors that are learnt: empirical Bayes under a hyper-prior, or without one, as in the paper."""

INITS = ("merged", "nmf", "random", "paper")
"""Values of ``init=``."""

AUTO = "auto"
"""The default of ``inference=``: a fit chooses, by the size of the corpus and by what the sampler can do."""


def method_of(name: Any) -> InferenceMethod:
    """Find an inference method by its name or an alias.

    Parameters
    ----------
    name : str
        As in ``TWDA(inference=name)``.

    Returns
    -------
    InferenceMethod

    Raises
    ------
    ValueError
        If there is no such method.

    Examples
    --------
    >>> method_of("collapsed").name
    'cvb0'
    """
    for method in METHODS.values():
        if isinstance(name, str) and (name == method.name or name in method.aliases):
            return method
    raise ValueError(f"inference={name!r}: expected one of {', '.join(map(repr, (AUTO, *METHODS)))}")
