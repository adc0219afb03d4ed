"""The fits that tomotopy makes: arrays in, arrays out. They run in a child process; nothing else imports tomotopy.

Words and tags are passed by their column numbers, as strings. ``topic_words`` in each answer is (words, topics).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.isolation import Arrays

Settings = dict[str, Any]

SWEEPS_AT_ONCE = 20
"""Between calls of the native code the child notices that its parent has died."""


def fit_lda(arrays: Arrays, settings: Settings) -> Arrays:
    """LDA: adds ``topic_prior`` (topics), tomotopy's alpha."""
    import tomotopy

    model = tomotopy.LDAModel(k=settings["n_topics"], alpha=settings["document_topic_prior"], **_common(settings))
    for words, _ in _documents(arrays):
        model.add_doc(words)
    _train(model, settings)
    return {"topic_words": _topic_words(model, arrays), "topic_prior": np.asarray(model.alpha, np.float64)}


def fit_labeled_lda(arrays: Arrays, settings: Settings) -> Arrays:
    """Labeled LDA: adds ``topic_prior`` and ``topic_tags`` (topics), the tag of each topic."""
    import tomotopy

    model = tomotopy.LLDAModel(alpha=settings["document_topic_prior"], **_common(settings))
    return _fit_labels(model, arrays, settings, per_tag=1, latent=0)


def fit_plda(arrays: Arrays, settings: Settings) -> Arrays:
    """PLDA: as Labeled LDA, with several topics a tag and last the latent ones, whose tag is -1."""
    import tomotopy

    per_tag, latent = settings["topics_per_tag"], settings["latent_topics"]
    model = tomotopy.PLDAModel(
        latent_topics=latent, topics_per_label=per_tag, alpha=settings["document_topic_prior"], **_common(settings)
    )
    return _fit_labels(model, arrays, settings, per_tag=per_tag, latent=latent)


def _fit_labels(model: Any, arrays: Arrays, settings: Settings, *, per_tag: int, latent: int) -> Arrays:
    for words, tags in _documents(arrays):
        model.add_doc(words, labels=tags)
    _train(model, settings)
    known = np.array(list(model.topic_label_dict), np.int64)
    topic_tags = np.concatenate([np.repeat(known, per_tag), np.full(latent, -1)])
    if model.k != len(topic_tags):
        raise RuntimeError(f"tomotopy made {model.k} topics where {len(topic_tags)} were expected")
    prior = np.broadcast_to(np.asarray(model.alpha, np.float64), (model.k,)).copy()
    return {"topic_words": _topic_words(model, arrays), "topic_prior": prior, "topic_tags": topic_tags}


def _common(settings: Settings) -> Settings:
    return {"eta": settings["topic_word_prior"], "seed": settings["seed"]}


def _documents(arrays: Arrays) -> Iterator[tuple[list[str], list[str]]]:
    """Each document that has words: its words, repeated, and its tags."""
    word_starts, tag_starts = arrays["word_starts"], arrays["tag_starts"]
    for d in range(len(word_starts) - 1):
        entries = slice(word_starts[d], word_starts[d + 1])
        tags = arrays["tags"][tag_starts[d] : tag_starts[d + 1]]
        words = np.repeat(arrays["words"][entries], arrays["counts"][entries])
        if len(words):
            yield [str(word) for word in words], [str(tag) for tag in tags]


def _train(model: Any, settings: Settings) -> None:
    model.optim_interval = settings["optimise_every"]
    model.burn_in = settings["burn_in"]
    for done in range(0, settings["sweeps"], SWEEPS_AT_ONCE):
        model.train(min(SWEEPS_AT_ONCE, settings["sweeps"] - done), workers=settings["n_jobs"])


def _topic_words(model: Any, arrays: Arrays) -> NDArray[np.float32]:
    words = np.array(list(model.used_vocabs), np.int64)
    topic_words = np.zeros((int(arrays["n_words"]), model.k), np.float32)
    for topic in range(model.k):
        topic_words[words, topic] = model.get_topic_word_dist(topic)
    return topic_words
