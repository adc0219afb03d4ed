"""Latent Dirichlet Allocation, the family's member without tags."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from tagtopic.models._base import TagTopicModel
from tagtopic.models._batch import Callback
from tagtopic.models._settings import Prior


class LDA(TagTopicModel):
    """Latent Dirichlet Allocation: TWDA on documents whose tags, if they have any, are not looked at.

    ``latent_topic_prior`` is the Dirichlet prior of a document's topics. The other parameters are those of TWDA, less
    the tags'.

    Examples
    --------
    >>> from tagtopic import LDA
    >>> texts = ["a ship flies to a planet", "a monster on the ship", "police hunt a killer", "a killer and the police"]
    >>> model = LDA(n_topics=2, random_state=0).fit(texts * 5)
    >>> model.transform(["a ship"]).shape
    (1, 2)
    """

    _latent = True
    _uses_tags = False
    tag_weight_prior = 1.0
    latent_weight_prior = 1.0
    tag_topic_prior = 0.0
    unknown_tags = "ignore"

    def __init__(
        self,
        n_topics: int = 50,
        *,
        inference: str = "cvb0",
        max_iter: int = 200,
        tol: float = 1e-5,
        sweeps: int = 2,
        latent_topic_prior: Prior | None = None,
        topic_word_prior: Prior = 0.07,
        init: str = "merged",
        dtype: str = "float32",
        learning: str = "batch",
        batch_size: int = 2048,
        validation_fraction: float | None = None,
        patience: int = 10,
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
        self.latent_topic_prior = latent_topic_prior
        self.topic_word_prior = topic_word_prior
        self.init = init
        self.dtype = dtype
        self.learning = learning
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.progress = progress
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
