"""Explanation of a document: the topic and the tag that each of its words is assigned to.

Under "map", "mixture" and "cvb0" a word w is assigned to tag j and topic k with probability a_j t_jk psi_wk / s_w, the
joint responsibility of the E-step. "paper" has no such joint: its responsibilities are those of topics,
e_k psi_wk / s_w, and a topic is then divided among the tags in proportion to a_j theta_jk (for the latent tag its mean
topics), which is Bayes' rule for the tag behind a topic.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import digamma

from tagtopic._core.arrays import Float64s, Int64s
from tagtopic._core.frames import Tabular
from tagtopic.engines.local import LocalEngine
from tagtopic.engines.posterior import SWEEPS, TOLERANCE, tag_shares
from tagtopic.inference.methods import method_of
from tagtopic.inference.types import Parameters

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus


COLUMNS = ("word", "count", "topic", "topic_share", "tag", "tag_share", "own_share")
"""The columns of an explanation as a data frame."""


@dataclass(frozen=True)
class WordAssignment:
    """One word of a document, and the topic and tag that it is most probably assigned to.

    Attributes
    ----------
    word : str
        The word.
    count : float
        How often it occurs.
    topic : int
        The most probable topic.
    topic_share : float
        The probability of that topic.
    tag : str or None
        The most probable tag; None is the document's latent tag.
    tag_share : float
        The probability of that tag.
    tags : dict of str to float
        The probability of every tag of the document.
    latent_share : float
        The probability of the latent tag.
    own_share : float
        The probability that it is one of the tags' own words, and of no topic.

    Examples
    --------
    >>> from tagtopic.tagging import WordAssignment
    >>> WordAssignment("ship", 2, 3, 0.9, "space", 0.8, {"space": 0.8, "crime": 0.1}, 0.1).tag
    'space'
    """

    word: str
    count: float
    topic: int
    topic_share: float
    tag: str | None
    tag_share: float
    tags: dict[str, float]
    latent_share: float
    own_share: float = 0.0


@dataclass(frozen=True)
class Explanation(Tabular):
    """The result of ``model.explain``: the words of a document with their assignments.

    As a data frame, a row per word with the columns word, count, topic, topic_share, tag, tag_share and own_share.

    Attributes
    ----------
    id : str
        The id of the document.
    words : tuple of WordAssignment
        Its words, the most frequent first.
    tag_shares : dict of str to float
        The share of all its words that each tag explains, largest first.
    latent_share : float
        The share that only the latent tag explains.
    title : str
        The title of the document, or its first words; "" if it has none.

    Examples
    --------
    >>> from tagtopic import TWDA, Corpus
    >>> corpus = Corpus.from_texts(["a ship in space", "police hunt a killer"] * 5, [["space"], ["crime"]] * 5)
    >>> explanation = TWDA(2, random_state=0).fit(corpus).explain(corpus[0])
    >>> list(explanation.tag_shares)
    ['space']
    """

    id: str
    words: tuple[WordAssignment, ...]
    tag_shares: dict[str, float]
    latent_share: float
    title: str = ""

    def __str__(self) -> str:
        tags = ", ".join(f"{tag} {share:.0%}" for tag, share in self.tag_shares.items())
        name = f"{self.id} ({self.title})" if self.title else self.id
        lines = [f"{name}: {tags or 'no tags'}; no tag {self.latent_share:.0%}"]
        lines += [
            f"  {word.word} x{word.count:g}: {_source(word)}, {word.tag or 'no tag'} ({word.tag_share:.0%})"
            for word in self.words
        ]
        return "\n".join(lines)

    def _arrow_table(self, most: int | None = None) -> Any:
        import pyarrow as pa

        return pa.table({name: [getattr(w, name) for w in self.words] for name in COLUMNS})

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self).partition(chr(10))[0])}</p>{super()._repr_html_()}"


def _source(word: WordAssignment) -> str:
    """The topic of a word, or that it is a tag's own."""
    if word.own_share > word.topic_share:
        return f"own word ({word.own_share:.0%})"
    return f"topic {word.topic} ({word.topic_share:.0%})"


def explain_document(
    parameters: Parameters, inference: str, corpus: Corpus, groups: Int64s | None = None
) -> Explanation:
    """Explain the one document of a corpus in the model's columns.

    Parameters
    ----------
    parameters : Parameters
        The model.
    inference : str
        The inference method.
    corpus : Corpus
        One document.
    groups : ndarray of shape (topics,) or None, default=None
        The number of the topic that each topic of the parameters is part of; None: its own.

    Returns
    -------
    Explanation
    """
    # words, tags (the latent one last), topics (own words last)
    joint = joint_assignment(parameters, inference, corpus)
    counts = np.asarray(corpus.counts.data, np.float64)
    names = [corpus.tag_names[j] for j in corpus.tags.indices]
    by_tag = joint.sum(axis=2)
    by_topic = joint.sum(axis=1)
    if groups is not None:
        columns = np.append(groups, groups.max() + 1)
        merged = np.zeros((len(by_topic), int(columns[-1]) + 1))
        np.add.at(merged.T, columns, by_topic.T)
        by_topic = merged
    words = [
        _word_assignment(corpus.words[w], float(count), by_topic[i], by_tag[i], names)
        for i, (w, count) in enumerate(zip(corpus.counts.indices, counts, strict=True))
    ]
    total = max(float(counts.sum()), 1e-12)
    shares = counts @ by_tag / total
    ranked = sorted(zip(names, shares[:-1].tolist(), strict=True), key=lambda pair: -pair[1])
    ordered = sorted(words, key=lambda word: (-word.count, word.word))
    title = "" if corpus.titles is None else corpus.titles[0]
    return Explanation(corpus.ids[0], tuple(ordered), dict(ranked), float(shares[-1]), title)


def joint_assignment(parameters: Parameters, inference: str, corpus: Corpus) -> Float64s:
    """Return p(tag, topic | word) of a document: (words, tags with the latent tag last, topics); sums to 1 per word.

    Beyond the last topic are the tags' own words.
    """
    method = method_of(inference)
    xi, xi_latent, rho = _converged_posterior(parameters, inference, corpus)
    theta = np.asarray(parameters.topic_rows[corpus.tags.indices], np.float64)
    psi = np.asarray(parameters.psi[corpus.counts.indices], np.float64)
    latent = rho / rho.sum()
    shares, latent_share = tag_shares(corpus, xi, xi_latent)
    weights = np.append(shares, latent_share).astype(np.float64)
    if method.is_mean_field:
        total = digamma(xi.sum() + xi_latent.sum())
        weights = np.exp(digamma(np.maximum(np.append(xi, xi_latent).astype(np.float64), 1e-12)) - total)
        latent = np.exp(digamma(rho) - digamma(rho.sum()))
        if xi_latent[0] == 0:
            weights[-1] = 0.0
    mixed = weights[:, None] * np.vstack([theta, latent])
    if not method.is_geometric:
        joint = np.dstack([psi[:, None, :] * mixed, _own_words(parameters, corpus) * weights])
        return np.asarray(joint / np.maximum(joint.sum(axis=(1, 2), keepdims=True), 1e-300))
    logs = np.vstack([np.log(np.maximum(theta, 1e-30)), digamma(rho) - digamma(rho.sum())])
    geometric = weights @ logs
    topics = psi * np.exp(geometric - geometric.max())
    topics /= np.maximum(topics.sum(axis=1, keepdims=True), 1e-300)
    tag_given_topic = mixed / np.maximum(mixed.sum(axis=0), 1e-300)
    joint = topics[:, None, :] * tag_given_topic
    return np.dstack([joint, np.zeros(joint.shape[:2])])


def _own_words(parameters: Parameters, corpus: Corpus) -> Float64s:
    """Return omega of the document's words and tags, with zeros for the latent tag: (words, tags + 1)."""
    words, tags = corpus.counts.indices, corpus.tags.indices
    found = np.zeros((len(words), len(tags) + 1))
    if parameters.own_words is not None:
        for j, tag in enumerate(tags):
            own, omega = parameters.own_words.of_tag(int(tag))
            _, here, there = np.intersect1d(words, own, assume_unique=True, return_indices=True)
            found[here, j] = omega[there]
    return found


def _converged_posterior(parameters: Parameters, inference: str, corpus: Corpus) -> tuple[Any, Any, Float64s]:
    """Return the document's xi, the latent tag's, and rho, after sweeps to convergence."""
    with LocalEngine(1).session(corpus, parameters, inference) as session:
        session.infer(parameters, sweeps=SWEEPS, tolerance=TOLERANCE)
        xi, xi_latent, rho = session.posterior
        return xi, xi_latent, np.asarray(rho[0], np.float64)


def _word_assignment(word: str, count: float, topics: Float64s, tags: Float64s, names: list[str]) -> WordAssignment:
    topic, tag = int(topics[:-1].argmax()), int(tags.argmax())
    return WordAssignment(
        word=word,
        count=count,
        topic=topic,
        topic_share=float(topics[topic]),
        tag=names[tag] if tag < len(names) else None,
        tag_share=float(tags[tag]),
        tags=dict(zip(names, tags[:-1].tolist(), strict=True)),
        latent_share=float(tags[-1]),
        own_share=float(topics[-1]),
    )
