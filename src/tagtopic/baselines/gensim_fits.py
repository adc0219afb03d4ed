"""The fit that gensim makes: arrays in, arrays out. It runs in a child process; nothing else imports gensim."""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic._core.isolation import Arrays

Words = list[tuple[int, int]]
"""A document's words and how often each occurs."""


def fit_author_topic(arrays: Arrays, settings: dict[str, Any]) -> Arrays:
    """The Author-Topic model: ``topic_words`` (words, topics), ``topic_prior`` (topics), ``tag_topics`` (tags, topics).

    A tag never seen has a row of zeros. A document without tags gets an author of its own, as in LDA. Of several starts
    the one under which the documents are likeliest is kept.
    """
    documents, authors = _documents(arrays)
    seeds = np.random.SeedSequence(settings["seed"]).generate_state(settings["starts"])
    fits = (_fit(documents, authors, int(arrays["n_words"]), settings, int(seed)) for seed in seeds)
    model = max(fits, key=lambda fit: _log_likelihood(fit, documents, authors))
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


def _documents(arrays: Arrays) -> tuple[list[Words], dict[int, list[str]]]:
    """Documents that have words, as gensim takes them, and the authors of each."""
    word_starts, tag_starts = arrays["word_starts"], arrays["tag_starts"]
    documents: list[Words] = []
    authors: dict[int, list[str]] = {}
    for d in range(len(word_starts) - 1):
        entries = slice(word_starts[d], word_starts[d + 1])
        if entries.start == entries.stop:
            continue
        tags = arrays["tags"][tag_starts[d] : tag_starts[d + 1]].tolist()
        authors[len(documents)] = [f"tag {tag}" for tag in tags] or [f"document {d}"]
        documents.append(list(zip(arrays["words"][entries].tolist(), arrays["counts"][entries].tolist(), strict=True)))
    return documents, authors


def _fit(documents: list[Words], authors: dict[int, list[str]], n_words: int, settings: Any, seed: int) -> Any:
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


def _log_likelihood(model: Any, documents: list[Words], authors: dict[int, list[str]]) -> float:
    """Of all words, each by one of its document's authors, all equally likely."""
    topics = model.get_topics()
    author_topics = model.state.gamma / model.state.gamma.sum(axis=1, keepdims=True)
    value = 0.0
    for d, document in enumerate(documents):
        words, counts = np.array(document).T
        mix = author_topics[[model.author2id[author] for author in authors[d]]].mean(axis=0)
        value += float(counts @ np.log(mix @ topics[:, words]))
    return value
