"""The steps of ``fit`` and of ``partial_fit``.

``fit``: check, hold out words, learn, set the learnt attributes, prepare the tag predictor. ``partial_fit``: new rows
for new words and tags, one online pass over the new documents, and the learnt attributes again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic._core.arrays import Float64s
from tagtopic._core.parallel import cut_rows
from tagtopic.corpus import Corpus
from tagtopic.corpus.interface import CorpusLike
from tagtopic.corpus.matrices import column_counts, column_sums
from tagtopic.engines import LocalEngine
from tagtopic.engines.base import Engine
from tagtopic.inference.methods import ESTIMATE
from tagtopic.inference.types import Priors
from tagtopic.models import _inputs, _settings
from tagtopic.models._batch import Fit, History, batch_fit, fit_progress
from tagtopic.models._checkpoint import Checkpoint, SavedFit
from tagtopic.models._gibbs import gibbs_fit
from tagtopic.models._guidance import carry_names, start_settings
from tagtopic.models._online import OnlineLearner, RunningStatistics, online_fit
from tagtopic.models._queries import sum_topics_by_tag
from tagtopic.models._snapshot import TAGS, WORDS, OwnWordPairs, Sizes, Snapshot, extended
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


def update_model(model: TagTopicModel, corpus: Corpus) -> None:
    """Learn from new documents in one online pass, in their order."""
    if not model._uses_tags:
        corpus = _inputs.without_tags(corpus)
    corpus = corpus.align(*_extended_names(model, corpus)).corpus
    _settings.check_settings(model, None)
    if not model._latent:
        _settings.require_tags(corpus)
    if not corpus.n_tokens:
        return
    sizes = {WORDS: corpus.n_words, TAGS: corpus.n_tags}
    seen_tokens = extended("word_counts_", model.word_counts_, sizes)
    seen_documents = extended("tag_frequencies_", model.tag_frequencies_ * model.n_documents_, sizes)
    tokens, documents = seen_tokens + column_sums(corpus.counts), seen_documents + column_counts(corpus.tags)
    n_before = seen_documents.copy()  # the learner counts on in the array
    running = _running(model, sizes, tokens, seen_tokens, documents, seen_documents)
    priors = Priors(model.tag_topic_prior_, _word_prior(model, sizes, tokens))
    pi = extended("tag_weight_prior_", model.tag_weight_prior_, sizes, fill=_new_weight(model))
    parameters = replace(model.parameters_, pi=pi)
    learning = _settings.prior_learning(model, corpus, documents)
    with LocalEngine(model.n_jobs) as engine:
        learner = OnlineLearner(running, parameters, priors, learning, model._method.for_mini_batches.name, engine)
        batches = (corpus[first:last] for first, last in cut_rows(len(corpus), model.batch_size))
        objective = sum(learner.step(batch).objective for batch in batches)
        _set_updated(model, corpus, learner, float(objective))
    if len(model.tag_document_topics_) or not n_before.any():
        _update_averages(model, corpus, sizes, n_before, documents)


def _update_averages(
    model: TagTopicModel, corpus: Corpus, sizes: Sizes, seen_documents: Float64s, documents: Float64s
) -> None:
    """Update the mean topic proportions of each tag's documents by those of the new ones, under the new parameters."""
    n_topics = len(model.components_)
    known = model.tag_document_topics_.reshape(-1, n_topics).astype(np.float64)
    before = extended("tag_document_topics_", known, sizes) * seen_documents[:, None]
    sums = before + sum_topics_by_tag(lambda part: model._infer(part).topics, corpus, n_topics)
    model.tag_document_topics_ = (sums / np.maximum(documents, 1.0)[:, None]).astype(model.components_.dtype)


def _extended_names(model: TagTopicModel, corpus: Corpus) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The model's words and tags, followed by new ones that occur in the corpus."""
    extended_names = []
    for known, matrix, names in (
        (model.words_, corpus.counts, corpus.words),
        (model.tag_names_, corpus.tags, corpus.tag_names),
    ):
        if names is known:
            extended_names.append(known)
            continue
        old = set(known)
        used = np.flatnonzero(column_counts(matrix))
        extended_names.append((*known, *(names[j] for j in used if names[j] not in old)))
    return extended_names[0], extended_names[1]


def _new_weight(model: TagTopicModel) -> float:
    """The initial weight prior of a new tag."""
    prior: Any = _settings.setting(model, "tag_weight_prior")
    return _settings.INITIAL_TAG_WEIGHT if _settings.is_learnt(prior) else float(np.mean(prior))


def _word_prior(model: TagTopicModel, sizes: Sizes, tokens: Float64s) -> Float64s:
    """beta, spread anew by the words' frequencies.

    A new word has the mean if one value per word was given, and the smallest value if it was estimated.
    """
    prior: Any = _settings.setting(model, "topic_word_prior")
    if _settings.is_option(ESTIMATE, prior):
        learnt = model.topic_word_prior_
        return extended("topic_word_prior_", learnt, sizes, fill=float(learnt.min()))
    if np.ndim(prior) == 1:
        given = np.asarray(prior, np.float64)
        return extended("topic_word_prior_", given, sizes, fill=float(np.mean(given)))
    return _settings.topic_word_prior(model, tokens)


def _running(
    model: TagTopicModel,
    sizes: Sizes,
    tokens: Float64s,
    seen_tokens: Float64s,
    documents: Float64s,
    seen_documents: Float64s,
) -> RunningStatistics:
    """The sufficient statistics behind the model, as of one pass, scaled to all documents including the new."""
    topic_sizes = model.topic_shares_ * model.word_counts_.sum() + model.topic_word_prior_.sum()
    psi = _expected_counts(model.components_.T, topic_sizes, model.topic_word_prior_[:, None], sizes[WORDS])
    tag_sizes = (model.tag_sizes_ + model.tag_topic_prior_.sum())[:, None]
    theta = _expected_counts(model.tag_topics_, tag_sizes, model.tag_topic_prior_, sizes[TAGS])
    for counts, now, before in ((psi, tokens, seen_tokens), (theta, documents, seen_documents)):
        counts *= np.where(before > 0, now / np.maximum(before, 1.0), 1.0)[:, None].astype(counts.dtype)
    return RunningStatistics(psi, theta, tokens, seen_tokens, documents, seen_documents)


def _expected_counts(shares: Any, sizes: Any, prior: Any, n_rows: int) -> Any:
    """The counts behind probabilities, without their prior; zero in new rows."""
    counts = np.zeros((n_rows, shares.shape[1]), shares.dtype)
    np.maximum(shares * sizes - prior, 0.0, out=counts[: len(shares)], casting="same_kind")
    return counts


def _set_updated(model: TagTopicModel, corpus: Corpus, learner: OnlineLearner, objective: float) -> None:
    # online updates learn no own words: those of the model stay; new words and tags come after the known ones
    own_words = OwnWordPairs(model.own_word_tags_, model.own_word_words_, model.own_word_shares_)
    snapshot = replace(learner.snapshot(), own_words=own_words, tag_document_topics=model.tag_document_topics_)
    for name, value in snapshot.attributes().items():
        setattr(model, name, value)
    model.words_, model.tag_names_ = corpus.words, corpus.tag_names
    model.n_features_in_ = corpus.n_words
    if hasattr(model, "feature_names_in_"):
        model.feature_names_in_ = np.array(corpus.words, dtype=object)
    model.word_counts_ = learner.running.tokens
    model.n_documents_ += len(corpus)
    model.tag_frequencies_ = learner.running.documents / model.n_documents_
    model.topic_shares_ = _settings.smoothed_shares(snapshot.topic_sizes, 0.0)
    model.bound_ = np.append(model.bound_, objective)
    model.validation_perplexity_ = np.empty(0)  # of these documents no words are held out: the last iteration is kept
    model.n_iter_ += 1
    if model.tag_predictor_ is not None:
        model.tag_predictor_ = model.tag_predictor_.extended(corpus.words, corpus.tag_names)
    elif model.tag_predictor:
        model.tag_predictor_ = fit_if_tagged(corpus, model.n_jobs)
