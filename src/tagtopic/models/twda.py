"""Tag-Weighted Dirichlet Allocation."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from tagtopic.models._base import TagTopicModel
from tagtopic.models._batch import Callback
from tagtopic.models._settings import Prior


class TWDA(TagTopicModel):
    """Tag-Weighted Dirichlet Allocation: each document's topics are a weighted mix of its tags' and of its own.

    Besides its tags every document has one latent tag with topics of its own, so documents with few tags, wrong tags
    or none are modelled too (with none, it is LDA).

    Parameters
    ----------
    n_topics:
        How many topics.
    inference:
        ``"cvb0"`` (the default, and best on held-out words: each word is assigned by leave-one-out counts),
        ``"map"`` (the mode of a penalised likelihood), ``"mixture"`` (a bound on the likelihood, no looser than the
        paper's) or ``"paper"`` (the paper's equations as printed).
    max_iter, tol:
        EM ends after ``max_iter`` iterations, or when one changes the objective by at most ``tol`` of it.
    sweeps:
        Passes over a document in each E-step.
    tag_weight_prior, latent_weight_prior:
        Dirichlet prior of the weights in a document: a number, one for each tag, ``"estimate"``, or
        ``"maximum-likelihood"`` as in the paper.
    latent_topic_prior:
        Dirichlet prior of the latent tag's topics, likewise; None is 3 / ``n_topics``, at most 0.1, for each.
    tag_topic_prior:
        Prior counts of each tag's topics: a number of words, spread over the topics by their size, or one for each
        topic; 0 or ``"maximum-likelihood"`` is none.
    topic_word_prior:
        Prior counts of each topic's words: a mean a word, spread by the words' frequencies, or one for each word; 0 or
        ``"maximum-likelihood"`` is none. ``"estimate"`` learns mean and spread from held-out words: those of
        ``validation_fraction``, or half of the words of 5% of the documents (20,000 at most), which are then not
        learnt from.
    init:
        Where topics start: ``"merged"`` (too many, the most alike merged), ``"nmf"`` or ``"random"``.
    dtype:
        ``"float32"``, or ``"float64"`` at about half the speed.
    learning, batch_size:
        ``"batch"``: each iteration infers all documents, then updates what was learnt. ``"online"``: what was learnt is
        updated after every ``batch_size`` documents; an iteration is a pass over all of them, and few are needed.
        ``partial_fit`` goes on in the same way with documents that arrive later.
    validation_fraction, patience:
        Hold out half of the words of this share of the documents, and watch how well they are predicted: the iteration
        that predicts them best is kept, and the fit ends when ``patience`` more have not bettered it. None: nothing
        is watched, and all words are learnt from (but see ``topic_word_prior``).
    unknown_tags:
        What to do after training about tags never seen in it: ``"ignore"`` (with a warning) or ``"error"``.
    n_jobs:
        Threads; None is all cores. The result is the same bits for any number.
    random_state:
        Seed of the start.
    callbacks:
        Functions called after each iteration with its number, the bound, and the seconds so far.
    progress:
        Draw a progress bar; None does if standard error is a terminal.
    checkpoint, checkpoint_every:
        A file where the fit writes down where it stands, every so many iterations. A fit of the same corpus with the
        same settings that finds it there goes on from it, and ends with the same bits as if it had never stopped.

    Examples
    --------
    >>> from tagtopic import TWDA, Corpus
    >>> texts = ["a ship flies to a planet", "a monster on the ship", "police hunt a killer", "a killer and the police"]
    >>> tags = [["space"], ["space", "monster"], ["crime"], ["crime", "Fincher"]]
    >>> corpus = Corpus.from_texts(texts * 5, tags * 5)
    >>> model = TWDA(n_topics=2, random_state=0).fit(corpus)
    >>> model.most_used_tags(2)
    ['crime', 'space']
    >>> model.predict_tags(["a monster"], n=2)[0][0][0]
    'monster'
    """

    _latent = True

    def __init__(
        self,
        n_topics: int = 50,
        *,
        inference: str = "cvb0",
        max_iter: int = 200,
        tol: float = 1e-5,
        sweeps: int = 2,
        tag_weight_prior: Prior = 1.0,
        latent_weight_prior: Prior = 5.0,
        latent_topic_prior: Prior | None = None,
        tag_topic_prior: Prior = 2.0,
        topic_word_prior: Prior = 0.07,
        init: str = "merged",
        dtype: str = "float32",
        learning: str = "batch",
        batch_size: int = 2048,
        validation_fraction: float | None = None,
        patience: int = 10,
        unknown_tags: str = "ignore",
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] = (),
        progress: bool | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int = 10,
    ) -> None:
        self.n_topics = n_topics
        self.inference = inference
        self.max_iter = max_iter
        self.tol = tol
        self.sweeps = sweeps
        self.tag_weight_prior = tag_weight_prior
        self.latent_weight_prior = latent_weight_prior
        self.latent_topic_prior = latent_topic_prior
        self.tag_topic_prior = tag_topic_prior
        self.topic_word_prior = topic_word_prior
        self.init = init
        self.dtype = dtype
        self.learning = learning
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.unknown_tags = unknown_tags
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.progress = progress
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
