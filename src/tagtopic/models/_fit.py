"""The steps of ``fit``: check, hold out words, learn, set the learnt attributes, prepare the tag predictor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic.corpus import Corpus
from tagtopic.corpus.interface import CorpusLike
from tagtopic.engines.base import Engine
from tagtopic.models import _inputs, _settings
from tagtopic.models._batch import Fit, History, batch_fit
from tagtopic.models._checkpoint import Checkpoint, SavedFit
from tagtopic.models._gibbs import gibbs_fit
from tagtopic.models._guidance import carry_names, start_settings
from tagtopic.models._online import online_fit
from tagtopic.models._progress import fit_progress
from tagtopic.models._queries import sum_topics_by_tag
from tagtopic.models._snapshot import Snapshot
from tagtopic.models._tag_predictor import DeferredPredictor, is_in_memory
from tagtopic.models._validation import ValidationWords, hold_out_words
from tagtopic.tagging.predictor import fit_if_tagged

if TYPE_CHECKING:
    from tagtopic.curation import Decisions
    from tagtopic.models._base import TagTopicModel


def fit_model(model: TagTopicModel, X: Any, tags: Any, engine: Engine | None, decisions: Decisions | None) -> None:
    """Fit a model to documents, with the decisions of a ledger or without."""
    corpus = _prepare_corpus(model, X, tags, decisions, engine)
    checkpoint = _checkpoint(model, corpus)
    saved = checkpoint.load() if checkpoint and model._resumes else None
    with fit_progress(model.progress) as bar:
        bar.start_phase("starting")
        share, seed = _settings.validation_share(model, corpus), _settings.seed_of(model)
        with hold_out_words(corpus, share, seed) as (training, held):
            with start_fit(model, training, held, saved, engine) as fit:
                fit.checkpoint = checkpoint.callback if checkpoint else None
                fit.run([*model.callbacks, *bar.callbacks(fit)])
                outcome, history = fit.outcome, fit.history
                if fit.settings.seeds is not None:
                    seeded = fit.settings.seeds.sizes(model.n_topics)
                    outcome = replace(outcome, topic_sizes=np.maximum(outcome.topic_sizes - seeded, 0.0))
            del fit  # frees its second copy of the topics before the tag predictor is fitted
            set_learnt(model, training, outcome, history)
            if isinstance(corpus, Corpus) and not len(model.tag_document_topics_):
                bar.start_phase("averaging over the documents of tags")
                _average_documents(model, corpus)
        if decisions is not None or model.initial is not None:
            model.topic_matches_ = carry_names(model, decisions)
        model._predictor = None
        # on all words, as documents have them when they are audited
        if model.tag_predictor and isinstance(corpus, Corpus) and is_in_memory(corpus):
            model._predictor = DeferredPredictor(corpus, model.n_jobs, model.progress)
        elif model.tag_predictor:
            bar.start_phase("learning to predict tags")
            model._predictor = fit_if_tagged(corpus, model.n_jobs)


def _prepare_corpus(
    model: TagTopicModel, X: Any, tags: Any, decisions: Decisions | None, engine: Engine | None
) -> CorpusLike:
    """Return the training corpus, with decisions applied; choose the inference method, and check all settings."""
    corpus = _inputs.training_corpus(model, X, tags)
    model._seeds, model._named = {}, {}
    if decisions is not None:
        corpus = _inputs.as_decided(corpus, decisions)
        model._seeds, model._named = decisions.seeds, decisions.named_topics
    model._chosen = _settings.choose_method(model, corpus, engine)
    _settings.check_settings(model, corpus)
    if not corpus.n_tokens:
        raise ValueError(f"there are no words in the {len(corpus)} documents: nothing to learn from")
    _inputs.warn_of_training_documents(corpus, model.n_topics)
    if not model._latent:
        _settings.require_tags(corpus)
    return corpus


def _checkpoint(model: TagTopicModel, corpus: CorpusLike) -> Checkpoint | None:
    if model.checkpoint is None:
        return None
    settings = {**model.get_params(deep=False), "inference": model._method.name}
    settings |= start_settings(model)
    settings = {name: value for name, value in settings.items() if name != "initial" or value is not None}
    return Checkpoint.for_fit(model.checkpoint, model.checkpoint_every, corpus, type(model).__name__, settings)


@contextmanager
def start_fit(
    model: TagTopicModel,
    corpus: CorpusLike,
    held_out: ValidationWords | None,
    saved: SavedFit | None,
    engine: Engine | None,
) -> Iterator[Fit]:
    """Start a fit by EM, online learning or sampling, or resume it from a checkpoint."""
    start = batch_fit
    if model.learning == _settings.ONLINE:
        start = online_fit
    elif model._method.is_sampling:
        start = gibbs_fit
    with start(model, corpus, held_out, saved, engine) as fit:
        if saved is not None:
            saved.restore(fit)
        yield fit


def set_learnt(model: TagTopicModel, corpus: CorpusLike, outcome: Snapshot, history: History) -> None:
    """Set the learnt attributes, all but the tag predictor."""
    model._edits = model._fitted = model._inferred_with = None
    for name, value in outcome.attributes().items():
        setattr(model, name, value)
    model.words_, model.tag_names_ = corpus.words, corpus.tag_names
    model.rules_ = corpus.rules
    model.word_counts_ = corpus.word_counts()
    model.topic_shares_ = _settings.smoothed_shares(outcome.topic_sizes, 0.0)
    model.tag_frequencies_ = corpus.tag_sizes() / len(corpus)
    model.n_documents_ = len(corpus)
    if not model._latent:  # mu is not learnt: documents without tags get the corpus's topic shares as their prior
        model.latent_topic_prior_ = outcome.parameters.mu.sum() * model.topic_shares_ + 1e-6
    model.bound_ = np.array(history.bound)
    model.validation_perplexity_ = np.array(history.perplexity)
    model.prior_updates_ = tuple(history.prior_updates)
    model.inference_ = model._method.name
    model.n_iter_ = len(history.bound)
    model.converged_ = history.converged
    model.interrupted_ = history.interrupted


def _average_documents(model: TagTopicModel, corpus: Corpus) -> None:
    """Set the mean topic proportions of each tag's documents."""
    sums = sum_topics_by_tag(lambda part: model._infer(part).topics, corpus, len(model.components_))
    means = sums / np.maximum(corpus.tag_sizes(), 1)[:, None]
    model.tag_document_topics_ = means.astype(model.components_.dtype)
