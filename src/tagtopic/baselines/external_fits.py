"""Fits by tomotopy and gensim: arrays in, arrays out. They run in a child process; no other module imports the two.

Words and tags are passed to tomotopy by their column numbers, as strings. ``topic_words`` in each result is
(words, topics).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.isolation import Arrays

Settings = dict[str, Any]
BagOfWords = list[tuple[int, int]]
"""The words of a document and their counts, as gensim takes them."""

SWEEPS_PER_CALL = 20
"""Between calls of native code the child process can notice that its parent has ended."""


def fit_lda(arrays: Arrays, settings: Settings) -> Arrays:
    """Fit LDA; the result also has ``topic_prior`` (topics), tomotopy's alpha."""
    import tomotopy

    model = tomotopy.LDAModel(
        k=settings["n_topics"], alpha=settings["document_topic_prior"], **_common_arguments(settings)
    )
    for words, _ in _tomotopy_documents(arrays):
        model.add_doc(words)
    _train_tomotopy(model, settings)
    return {"topic_words": _tomotopy_topic_words(model, arrays), "topic_prior": np.asarray(model.alpha, np.float64)}


def fit_labeled_lda(arrays: Arrays, settings: Settings) -> Arrays:
    """Fit Labeled LDA; the result also has ``topic_prior`` and ``topic_tags`` (topics), the tag of each topic."""
    import tomotopy

    model = tomotopy.LLDAModel(alpha=settings["document_topic_prior"], **_common_arguments(settings))
    return _fit_labeled(model, arrays, settings, per_tag=1, latent=0)


def fit_plda(arrays: Arrays, settings: Settings) -> Arrays:
    """Fit PLDA; as Labeled LDA, with several topics per tag followed by the latent ones, whose tag is -1."""
    import tomotopy

    per_tag, latent = settings["topics_per_tag"], settings["latent_topics"]
    model = tomotopy.PLDAModel(
        latent_topics=latent,
        topics_per_label=per_tag,
        alpha=settings["document_topic_prior"],
        **_common_arguments(settings),
    )
    return _fit_labeled(model, arrays, settings, per_tag=per_tag, latent=latent)


def _fit_labeled(model: Any, arrays: Arrays, settings: Settings, *, per_tag: int, latent: int) -> Arrays:
    for words, tags in _tomotopy_documents(arrays):
        model.add_doc(words, labels=tags)
    _train_tomotopy(model, settings)
    known = np.array(list(model.topic_label_dict), np.int64)
    topic_tags = np.concatenate([np.repeat(known, per_tag), np.full(latent, -1)])
    if model.k != len(topic_tags):
        raise RuntimeError(f"tomotopy made {model.k} topics where {len(topic_tags)} were expected")
    prior = np.broadcast_to(np.asarray(model.alpha, np.float64), (model.k,)).copy()
    return {"topic_words": _tomotopy_topic_words(model, arrays), "topic_prior": prior, "topic_tags": topic_tags}


def _common_arguments(settings: Settings) -> Settings:
    return {"eta": settings["topic_word_prior"], "seed": settings["seed"]}


def _tomotopy_documents(arrays: Arrays) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the tokens and the tags of each document that has words."""
    word_starts, tag_starts = arrays["word_starts"], arrays["tag_starts"]
    for d in range(len(word_starts) - 1):
        entries = slice(word_starts[d], word_starts[d + 1])
        tags = arrays["tags"][tag_starts[d] : tag_starts[d + 1]]
        words = np.repeat(arrays["words"][entries], arrays["counts"][entries])
        if len(words):
            yield [str(word) for word in words], [str(tag) for tag in tags]


def _train_tomotopy(model: Any, settings: Settings) -> None:
    model.optim_interval = settings["optimise_every"]
    model.burn_in = settings["burn_in"]
    for done in range(0, settings["sweeps"], SWEEPS_PER_CALL):
        model.train(min(SWEEPS_PER_CALL, settings["sweeps"] - done), workers=settings["n_jobs"])


def _tomotopy_topic_words(model: Any, arrays: Arrays) -> NDArray[np.float32]:
    words = np.array(list(model.used_vocabs), np.int64)
    topic_words = np.zeros((int(arrays["n_words"]), model.k), np.float32)
    for topic in range(model.k):
        topic_words[words, topic] = model.get_topic_word_dist(topic)
    return topic_words


def fit_author_topic(arrays: Arrays, settings: dict[str, Any]) -> Arrays:
    """Fit the Author-Topic model; the result also has ``topic_prior`` (topics) and ``tag_topics`` (tags, topics).

    A tag that does not occur has a row of zeros. A document without tags gets an author of its own, as in LDA. Of
    several initialisations the one with the highest likelihood is kept.
    """
    documents, authors = _gensim_documents(arrays)
    seeds = np.random.SeedSequence(settings["seed"]).generate_state(settings["starts"])
    fits = (_fit_gensim(documents, authors, int(arrays["n_words"]), settings, int(seed)) for seed in seeds)
    model = max(fits, key=lambda fit: _author_log_likelihood(fit, documents, authors))
    tag_topics = np.zeros((settings["n_tags"], settings["n_topics"]))
    for author, row in model.author2id.items():
        kind, _, number = author.partition(" ")
        if kind == "tag":
            tag_topics[int(number)] = model.state.gamma[row] / model.state.gamma[row].sum()
    topics = np.asarray(model.get_topics(), np.float32)
    return {
        "topic_words": np.ascontiguousarray(topics.T),
        "topic_prior": np.asarray(model.alpha, np.float64),
        "tag_topics": tag_topics,
    }


def _gensim_documents(arrays: Arrays) -> tuple[list[BagOfWords], dict[int, list[str]]]:
    """Return the documents that have words, and the authors of each."""
    word_starts, tag_starts = arrays["word_starts"], arrays["tag_starts"]
    documents: list[BagOfWords] = []
    authors: dict[int, list[str]] = {}
    for d in range(len(word_starts) - 1):
        entries = slice(word_starts[d], word_starts[d + 1])
        if entries.start == entries.stop:
            continue
        tags = arrays["tags"][tag_starts[d] : tag_starts[d + 1]].tolist()
        authors[len(documents)] = [f"tag {tag}" for tag in tags] or [f"document {d}"]
        documents.append(list(zip(arrays["words"][entries].tolist(), arrays["counts"][entries].tolist(), strict=True)))
    return documents, authors


def _fit_gensim(
    documents: list[BagOfWords], authors: dict[int, list[str]], n_words: int, settings: Any, seed: int
) -> Any:
    from gensim.models import AuthorTopicModel

    return AuthorTopicModel(
        corpus=documents,
        num_topics=settings["n_topics"],
        id2word={word: str(word) for word in range(n_words)},
        doc2author=authors,
        passes=settings["passes"],
        iterations=settings["iterations"],
        alpha=settings["tag_topic_prior"],
        eta=settings["topic_word_prior"],
        gamma_threshold=1e-10,
        eval_every=0,
        random_state=seed,
    )


def _author_log_likelihood(model: Any, documents: list[BagOfWords], authors: dict[int, list[str]]) -> float:
    """Return log p(words) with each word by one of its document's authors, all equally likely."""
    topics = model.get_topics()
    author_topics = model.state.gamma / model.state.gamma.sum(axis=1, keepdims=True)
    value = 0.0
    for d, document in enumerate(documents):
        words, counts = np.array(document).T
        mix = author_topics[[model.author2id[author] for author in authors[d]]].mean(axis=0)
        value += float(counts @ np.log(mix @ topics[:, words]))
    return value
