"""The models that are compared, under the paper's names, and their arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s
from tagtopic.corpus import Corpus
from tagtopic.models._published import published_settings

SEED = 0
BATCH_DOCUMENTS = 1024


@dataclass(frozen=True)
class ModelSpec:
    """A compared model: its class, and its constructor arguments in all runs, in full runs and in quick ones."""

    module: str
    class_name: str
    common: dict[str, Any]
    full: dict[str, Any]
    quick: dict[str, Any]
    has_topics: bool = True
    is_external: bool = False


OURS = "tagtopic.models"
NO_PREDICTOR = {"tag_predictor": False}
"""No experiment with a topic model asks the tag predictor, which takes a large part of a fit's time."""

Arguments = dict[str, Any]
DEFAULTS: tuple[Arguments, Arguments] = ({}, {"max_iter": 30})
"""Our models have their default settings: 400 sweeps of the sampler."""

AS_PUBLISHED: tuple[Arguments, Arguments] = ({}, {"max_iter": 15})
"""The settings of ``as_published``: at most 100 iterations of Algorithm 1."""

GIBBS = ({"sweeps": 1000}, {"sweeps": 50})
LABELED = ({"sweeps": 300, "optimise_every": 20}, {"sweeps": 30})
"""A sweep over one topic for each of thousands of tags takes a hundred times as long."""

MODEL_SPECS = {
    "TWTM": ModelSpec(OURS, "TWTM", NO_PREDICTOR, *DEFAULTS),
    "TWDA": ModelSpec(OURS, "TWDA", NO_PREDICTOR, *DEFAULTS),
    "TWTM (paper)": ModelSpec(OURS, "TWTM", published_settings(latent=False) | NO_PREDICTOR, *AS_PUBLISHED),
    "TWDA (paper)": ModelSpec(OURS, "TWDA", published_settings(latent=True) | NO_PREDICTOR, *AS_PUBLISHED),
    "TWDA (prior learnt)": ModelSpec(OURS, "TWDA", NO_PREDICTOR, *DEFAULTS),
    "LDA (ours)": ModelSpec(OURS, "LDA", {}, *DEFAULTS),
    "LDA": ModelSpec("tagtopic.baselines", "LDA", {}, *GIBBS, is_external=True),
    "LDA with tags": ModelSpec("tagtopic.baselines", "LDA", {"tags_as_words": True}, *GIBBS, is_external=True),
    "CTM": ModelSpec("tagtopic.baselines", "CTM", {}, {}, {"max_iter": 10}),
    "CTM with tags": ModelSpec("tagtopic.baselines", "CTM", {"tags_as_words": True}, {}, {"max_iter": 10}),
    "DMR": ModelSpec("tagtopic.baselines", "DMR", {"sigma": 0.5}, *GIBBS),
    "ATM": ModelSpec("tagtopic.baselines", "AuthorTopic", {}, {"sweeps": 1000}, {"sweeps": 40}, is_external=True),
    "CorrLDA": ModelSpec("tagtopic.baselines", "CorrLDA", {}, {}, {"max_iter": 20}),
    "PLDA": ModelSpec("tagtopic.baselines", "PLDA", {}, *LABELED, has_topics=False, is_external=True),
    "PLDA, 2 topics a tag": ModelSpec(
        "tagtopic.baselines", "PLDA", {"topics_per_tag": 2}, *LABELED, has_topics=False, is_external=True
    ),
    "Labeled LDA": ModelSpec("tagtopic.baselines", "LabeledLDA", {}, *LABELED, has_topics=False, is_external=True),
}

EXTERNAL_TIMEOUT = 3600.0
"""Time limit of an external library's fit, in seconds."""

RUNTIME_ARGUMENTS = {"n_jobs", "timeout", "progress", "callbacks", "checkpoint", "checkpoint_every"}


def model_arguments(name: str, topics: int | None, *, quick: bool) -> dict[str, Any]:
    """Return all constructor arguments that the result of a model depends on.

    Defaults are included, so that a model whose defaults have changed is measured again.
    """
    spec = MODEL_SPECS[name]
    given = spec.common | (spec.quick if quick else spec.full) | {"random_state": SEED}
    if spec.has_topics:
        given["n_topics"] = topics
    settings = _model_class(spec)(**given).get_params(deep=False)
    return {key: value for key, value in sorted(settings.items()) if key not in RUNTIME_ARGUMENTS}


def build_model(name: str, arguments: dict[str, Any], jobs: int | None) -> Any:
    """Return the unfitted model."""
    spec = MODEL_SPECS[name]
    extra: dict[str, Any] = {"n_jobs": jobs}
    if spec.is_external:
        extra = {"timeout": EXTERNAL_TIMEOUT}  # with more than one thread tomotopy's fits differ from run to run
    if spec.module == OURS:
        extra["progress"] = False
    return _model_class(spec)(**arguments, **extra)


def fit_model(model: Any, corpus: Corpus, **fit_arguments: Any) -> Any:
    """Fit a model; raise if Ctrl-C ended the fit early, since such a fit is not comparable with others."""
    model.fit(corpus, **fit_arguments)
    if getattr(model, "interrupted_", False):
        raise KeyboardInterrupt
    return model


def _model_class(spec: ModelSpec) -> Any:
    return getattr(import_module(spec.module), spec.class_name)


def tag_score_batches(model: Any, corpus: Corpus, *, with_latent: bool = False) -> Iterator[tuple[slice, Float64s]]:
    """Yield the scores of all tags in batches of documents; for tagtopic's models the paper's log p(d | tag).

    A tag is scored by its own row of theta alone (and its own words, if tags have some), as the baselines and the
    authors' code do. With ``with_latent``, which tagtopic's models with a latent tag have, it is scored by the topics
    that are expected of a document with this tag only: after sampling, those of the latent tag follow the topics of the
    tag's documents.
    """
    if hasattr(model, "tag_score_batches"):
        yield from model.tag_score_batches(corpus, BATCH_DOCUMENTS)
        return
    from tagtopic.tagging.likelihood import tag_log_likelihood_matrix

    known, parameters = model.aligned(corpus), model.parameters_
    mixes = parameters.expected_mix_by_tag() if with_latent else parameters.topic_rows
    own_words = parameters.expected_own_words() if with_latent else parameters.own_words
    if own_words is not None:
        shape = len(mixes), len(parameters.psi)
        own_words = sp.csr_array((own_words.omega, own_words.words, own_words.starts), shape=shape)
    for first in range(0, len(known), BATCH_DOCUMENTS):
        batch = slice(first, min(first + BATCH_DOCUMENTS, len(known)))
        scores = tag_log_likelihood_matrix(known[batch].counts, mixes, parameters.psi, own_words)
        scores[:, np.asarray(model.tag_frequencies_) == 0] = -np.inf
        yield batch, scores
