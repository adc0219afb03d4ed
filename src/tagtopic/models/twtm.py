"""The Tag-Weighted Topic Model."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from tagtopic.models._base import TagTopicModel
from tagtopic.models._batch import Callback
from tagtopic.models._settings import Prior


class TWTM(TagTopicModel):
    """The Tag-Weighted Topic Model: each document's topics are a weighted mix of its tags' topics, and of no others.

    Every training document needs a tag (TWDA does not ask for that). At ``transform`` a document without known tags
    gets the topics that its words alone speak for.

    The parameters are those of TWDA, less the latent tag's.

    Examples
    --------
    >>> from tagtopic import TWTM, Corpus
    >>> texts = ["a ship flies to a planet", "a monster on the ship", "police hunt a killer", "a killer and the police"]
    >>> tags = [["space"], ["space", "monster"], ["crime"], ["crime", "Fincher"]]
    >>> corpus = Corpus.from_texts(texts * 5, tags * 5)
    >>> model = TWTM(n_topics=2, random_state=0).fit(corpus)
    >>> model.tag_weights(corpus).shape
    (20, 4)
    """

    _latent = False
    latent_weight_prior = 1.0
    latent_topic_prior = None

    def __init__(
        self,
        n_topics: int = 50,
        *,
        inference: str = "cvb0",
        max_iter: int = 200,
        tol: float = 1e-5,
        sweeps: int = 2,
        tag_weight_prior: Prior = 1.0,
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
