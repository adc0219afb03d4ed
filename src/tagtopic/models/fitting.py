"""From a model's settings and a corpus to a fit that is ready to run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic.corpus import Corpus
from tagtopic.corpus.collection import Collection, RemoteCorpus
from tagtopic.engines.base import Engine
from tagtopic.engines.local import LocalEngine, start_state
from tagtopic.engines.spill import Spill
from tagtopic.engines.workers import Workers
from tagtopic.models import setup
from tagtopic.models.checkpoint import Saved
from tagtopic.models.em import ExpectationMaximisation, Fit
from tagtopic.models.online import OnlineLearner, Running
from tagtopic.models.passes import OnlinePasses, States
from tagtopic.models.validation import HeldOut

if TYPE_CHECKING:
    from tagtopic.models.base import TagTopicModel


@contextmanager
def fit_of(
    model: TagTopicModel, corpus: Collection, watch: HeldOut | None, saved: Saved | None, engine: Engine | None
) -> Iterator[Fit]:
    """The fit that the settings ask for, from its start or from where it was saved."""
    begin = online_fit if model.learning == setup.ONLINE else batch_fit
    with begin(model, corpus, watch, saved, engine) as fit:
        if saved is not None:
            saved.restore(fit)
        yield fit


@contextmanager
def batch_fit(
    model: TagTopicModel, corpus: Collection, watch: HeldOut | None, saved: Saved | None, engine: Engine | None
) -> Iterator[Fit]:
    """Expectation maximisation on an engine."""
    now = saved.now if saved else None
    parameters, priors = (now.parameters, now.priors) if now else setup.start_parameters(model, corpus)
    settings = setup.em_settings(model, corpus)
    usual: Engine = corpus.engine if isinstance(corpus, RemoteCorpus) else LocalEngine(model.n_jobs)
    documents: Any = corpus  # each engine takes those of its own kind, and refuses others
    with (engine or usual).start(documents, parameters, model.inference) as run:
        yield ExpectationMaximisation(run, parameters, priors, settings, watch)


@contextmanager
def online_fit(
    model: TagTopicModel, corpus: Collection, watch: HeldOut | None, saved: Saved | None, engine: Engine | None
) -> Iterator[Fit]:
    """Passes over the corpus in mini-batches."""
    if (engine is not None and not isinstance(engine, LocalEngine)) or not isinstance(corpus, Corpus):
        raise ValueError("learning='online' runs on this machine, not on a cluster: use learning='batch' there")
    parameters, priors = setup.start_parameters(model, corpus)
    settings = setup.em_settings(model, corpus)
    running = Running.begin(parameters, corpus.word_counts(), corpus.tag_sizes().astype(np.float64))
    local = engine or LocalEngine(model.n_jobs)
    with Workers(local.n_jobs) as workers, closing(Spill(local.scratch, at=local.spill_at)) as spill:
        learner = OnlineLearner(running, parameters, priors, settings.learning, model.inference, workers)
        states = States(corpus.tags.indptr, start_state(corpus, parameters, spill))
        seed = setup.seed_of(model)
        yield OnlinePasses(learner, corpus, settings, watch, batch_size=model.batch_size, seed=seed, states=states)
