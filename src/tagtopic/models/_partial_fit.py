"""More documents for a model that is fitted, with tags and words that it may not know yet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic._core.arrays import Float64s
from tagtopic._core.parallel import cut_rows
from tagtopic.corpus import Corpus
from tagtopic.corpus.matrices import column_sizes, column_sums
from tagtopic.engines import LocalEngine
from tagtopic.inference.types import Priors
from tagtopic.models import _settings
from tagtopic.models._online import OnlineLearner, Running
from tagtopic.models._settings import ESTIMATE, asks_for, is_learnt, smoothed_shares
from tagtopic.tagging.predictor import fit_if_tagged

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel


def learn_more(model: TagTopicModel, corpus: Corpus) -> None:
    """One online pass over documents that the model has not seen, in the order in which they come."""
    if not model._uses_tags:
        from tagtopic.models._inputs import without_tags

        corpus = without_tags(corpus)
    corpus = corpus.align(*_grown_names(model, corpus)).corpus
    _settings.check_settings(model, None)
    if not model._latent:
        _settings.require_tags(corpus)
    if not corpus.n_tokens:
        return
    tokens = _grown(model.word_counts_, corpus.n_words) + column_sums(corpus.counts)
    documents = _grown(model.tag_frequencies_ * model.n_documents_, corpus.n_tags) + column_sizes(corpus.tags)
    running = _running(model, tokens, documents)
    priors = Priors(model.tag_topic_prior_, _word_prior(model, tokens))
    pi = _grown(model.tag_weight_prior_, corpus.n_tags, _new_weight(model))
    parameters = replace(model.parameters_, pi=pi)
    learning = _settings.learning_of(model, corpus, documents)
    with LocalEngine(model.n_jobs) as engine:
        learner = OnlineLearner(running, parameters, priors, learning, model.inference, engine)
        batches = (corpus[first:last] for first, last in cut_rows(len(corpus), model.batch_size))
        objective = sum(learner.step(batch).objective for batch in batches)
        _keep(model, corpus, learner, float(objective))


def _grown_names(model: TagTopicModel, corpus: Corpus) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The model's words and tags, and after them the corpus's others that occur."""
    grown = []
    for known, matrix, names in (
        (model.words_, corpus.counts, corpus.words),
        (model.tag_names_, corpus.tags, corpus.tag_names),
    ):
        if names is known:
            grown.append(known)
            continue
        old = set(known)
        used = np.flatnonzero(column_sizes(matrix))
        grown.append((*known, *(names[j] for j in used if names[j] not in old)))
    return grown[0], grown[1]


def _grown(values: Any, size: int, new: float = 0.0) -> Float64s:
    return np.append(values, np.full(size - len(values), new))


def _new_weight(model: TagTopicModel) -> float:
    """Where the weight prior of a new tag starts."""
    prior: Any = model.tag_weight_prior
    return _settings.START_TAG_WEIGHT if is_learnt(prior) else float(np.mean(prior))


def _word_prior(model: TagTopicModel, tokens: Float64s) -> Float64s:
    """beta, spread anew by the words' frequencies; a new word has the mean where one for each word was given,
    and the least where it was learnt.
    """
    prior: Any = model.topic_word_prior
    if asks_for(ESTIMATE, prior):
        learnt = model.topic_word_prior_
        return _grown(learnt, len(tokens), float(learnt.min()))
    if np.ndim(prior) == 1:
        return _grown(np.asarray(prior, np.float64), len(tokens), float(np.mean(prior)))
    return _settings.topic_word_prior(model, (tokens + 0.01) / (tokens + 0.01).sum())


def _running(model: TagTopicModel, tokens: Float64s, documents: Float64s) -> Running:
    """The sums that the model was made from, as if all of it had been seen once, scaled to what there is now."""
    sizes = model.topic_shares_ * model.word_counts_.sum() + model.topic_word_prior_.sum()
    psi = _made_from(model.components_.T, sizes, model.topic_word_prior_[:, None], len(tokens))
    tag_sizes = (model.tag_sizes_ + model.tag_topic_prior_.sum())[:, None]
    theta = _made_from(model.tag_topics_, tag_sizes, model.tag_topic_prior_, len(documents))
    seen = _grown(model.word_counts_, len(tokens)), _grown(model.tag_frequencies_ * model.n_documents_, len(documents))
    for sums, now, before in ((psi, tokens, seen[0]), (theta, documents, seen[1])):
        sums *= np.where(before > 0, now / np.maximum(before, 1.0), 1.0)[:, None].astype(sums.dtype)
    return Running(psi, theta, tokens, seen[0], documents, seen[1])


def _made_from(shares: Any, sizes: Any, prior: Any, n_rows: int) -> Any:
    """Shares back to the sums behind them; rows that are new have none."""
    sums = np.zeros((n_rows, shares.shape[1]), shares.dtype)
    np.maximum(shares * sizes - prior, 0.0, out=sums[: len(shares)], casting="same_kind")
    return sums


def _keep(model: TagTopicModel, corpus: Corpus, learner: OnlineLearner, objective: float) -> None:
    running, parameters = learner.running, learner.parameters()
    model.words_, model.tag_names_ = corpus.words, corpus.tag_names
    model.n_features_in_ = corpus.n_words
    if hasattr(model, "feature_names_in_"):
        model.feature_names_in_ = np.array(corpus.words, dtype=object)
    model.components_, model.tag_topics_ = parameters.psi.T, parameters.theta
    model.word_counts_, model.tag_sizes_ = running.tokens, running.theta.sum(axis=1, dtype=np.float64)
    model.n_documents_ += len(corpus)
    model.tag_frequencies_ = running.documents / model.n_documents_
    model.topic_shares_ = smoothed_shares(running.topic_sizes, 0.0)
    model.tag_weight_prior_, model.latent_weight_prior_ = parameters.pi, parameters.pi_latent
    if model._latent:
        model.latent_topic_prior_ = parameters.mu
    model.tag_topic_prior_, model.topic_word_prior_ = learner.priors.alpha, learner.priors.beta
    model.bound_ = np.append(model.bound_, objective)
    model.validation_perplexity_ = np.empty(0)  # no words were held out of these: the last iteration is kept
    model.n_iter_ += 1
    if model.tag_predictor_ is None:
        model.tag_predictor_ = fit_if_tagged(corpus, model.n_jobs)
    else:
        model.tag_predictor_ = model.tag_predictor_.extended(corpus.words, corpus.tag_names)
