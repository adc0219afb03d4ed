"""The audit of a corpus's tags: implausible tags of documents, near-duplicate tags, and the words that kinds explain.

The plausibility of a tag on a document is learnt from a sample of training documents, each left out of the training
index: a logistic regression on the features of ``audit_features.py`` separates the document's own tags from tags drawn
at random and added to it (at most as many as it has, because the noise of a corpus is unknown). Its output, at even
prior odds, is the plausibility; the rank of that among the random tags of the sample gives a p-value. See
docs/decisions/tag-audit.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import chi2

from tagtopic._core.arrays import Float64s, Floats, owners_of
from tagtopic._core.records import Categorical, Column, Records
from tagtopic.corpus.tags import kinds_of
from tagtopic.engines.posterior import DocumentPosteriors
from tagtopic.inference.types import Parameters
from tagtopic.tagging.audit_features import AuditEntries, TrainingDocuments, audit_features
from tagtopic.tagging.calibration import fit_coefficients, probabilities_of
from tagtopic.tagging.duplicates import NearDuplicate, near_duplicates
from tagtopic.tagging.training_index import document_vectors

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.tagging.predictor import TagPredictor

N_EXAMPLES = 1000
"""Training documents on which the regression is fitted."""

MAX_WITH_WORDS = 1000
"""Entries, the least plausible, that list the words that disagree, so that iteration over all entries stays fast."""


@dataclass(frozen=True)
class TagOnDocument:
    """One tag on one document.

    Attributes
    ----------
    document : str
        The id of the document.
    document_number : int
        Its number in the corpus (ids may repeat).
    tag : str
        The tag.
    plausibility : float
        The probability that the tag is one of the document's own rather than a random one, at even prior odds.
    p_value : float
        The share of random tags with at least this plausibility.
    weight : float
        The weight of the tag in the document.
    expected_weight : float
        Its weight by the prior alone.
    disagreeing : tuple of str
        The document's words that the tag's topics explain least (only for the 1,000 least plausible entries).

    Examples
    --------
    >>> from tagtopic.tagging import TagOnDocument
    >>> entry = TagOnDocument("Alien", 7, "genre:comedy", 0.03, 0.02, 0.01, 0.25, ("ship", "crew"))
    >>> entry.plausibility
    0.03
    """

    document: str
    document_number: int
    tag: str
    plausibility: float
    p_value: float
    weight: float
    expected_weight: float
    disagreeing: tuple[str, ...]


@dataclass(frozen=True)
class TagAudit:
    """One tag over all its documents.

    Attributes
    ----------
    tag : str
        The tag.
    documents : int
        The number of its documents.
    plausibility, weight, expected_weight : float
        Means over its documents.
    p_value : float
        The p-value of "the tag is assigned at random", by Fisher's method over its documents. It is against random tags
        of all frequencies, so that a common tag's is smaller.

    Examples
    --------
    >>> from tagtopic.tagging import TagAudit
    >>> TagAudit("genre:comedy", 120, 0.81, 1e-9, 0.3, 0.25).documents
    120
    """

    tag: str
    documents: int
    plausibility: float
    p_value: float
    weight: float
    expected_weight: float


@dataclass(frozen=True)
class KindSummary:
    """One kind of tag.

    Attributes
    ----------
    kind : str
        The kind: the part of a tag's name before the colon.
    tags, documents : int
        The number of its tags, and of the documents that have any.
    share : float
        The share of all words that its tags explain.
    plausibility : float
        The mean plausibility of its tags.

    Examples
    --------
    >>> from tagtopic.tagging import KindSummary
    >>> KindSummary("genre", 18, 950, 0.4, 0.85).share
    0.4
    """

    kind: str
    tags: int
    documents: int
    share: float
    plausibility: float


@dataclass(frozen=True)
class TagReport:
    """The result of ``model.audit_tags``; ``print`` it for a summary.

    Attributes
    ----------
    entries : Records of TagOnDocument
        All tags of documents, the least plausible first. Kept as columns: ``entries[0]`` is one entry,
        ``entries.column("plausibility")`` an array, ``entries.table()`` an Arrow table.
    tags : Records of TagAudit
        All tags, the least plausible first.
    duplicates : tuple of NearDuplicate
        Pairs of tags that may be one, the most similar first.
    kinds : tuple of KindSummary
        Kinds of tags, by the share of the words that they explain.
    latent_share : float
        The share of all words that no tag explains.

    Examples
    --------
    >>> from tagtopic import TWDA, Corpus
    >>> texts = ["a ship in space", "a monster on a ship", "police hunt a killer"] * 5
    >>> corpus = Corpus.from_texts(texts, [["space"], ["monster"], ["crime"]] * 5)
    >>> report = TWDA(2, random_state=0).fit(corpus).audit_tags(corpus)
    >>> len(report.entries), len(report.tags)
    (15, 3)
    """

    entries: Records[TagOnDocument]
    tags: Records[TagAudit]
    duplicates: tuple[NearDuplicate, ...]
    kinds: tuple[KindSummary, ...]
    latent_share: float

    def __str__(self) -> str:
        lines = [f"{len(self.entries)} tags on documents; {self.latent_share:.0%} of the words have no tag's support"]
        lines += [
            f"  {kind.kind or '(no kind)'}: {kind.share:.0%} of the words, {kind.documents} documents"
            for kind in self.kinds
        ]
        lines += ["least plausible:"]
        lines += [
            f"  {entry.tag} on {entry.document}: {entry.plausibility:.2f}, weight {entry.weight:.2f} for "
            f"{entry.expected_weight:.2f}; {', '.join(entry.disagreeing)}"
            for entry in self.entries[:10]
        ]
        lines += [f"maybe one: {pair.first} / {pair.second}" for pair in self.duplicates[:10]]
        return "\n".join(lines)


@dataclass(frozen=True)
class EntryScores:
    """Plausibility and p-value of each (document, tag) entry."""

    plausibility: Float64s
    p_value: Float64s


def audit(
    parameters: Parameters,
    predictor: TagPredictor,
    topic_shares: Float64s,
    word_counts: Float64s,
    corpus: Corpus,
    posteriors: DocumentPosteriors,
    n_jobs: int | None,
) -> TagReport:
    """Audit the tags of a corpus in the model's columns.

    Parameters
    ----------
    parameters : Parameters
        The model.
    predictor : TagPredictor
        The predictor with the training index.
    topic_shares : array
        The share of each topic in the training words.
    word_counts : array
        How often each word occurred in training; documents are compared by the words that did.
    corpus : Corpus
        The documents.
    posteriors : DocumentPosteriors
        Their posteriors under the model.
    n_jobs : int or None
        Threads.

    Returns
    -------
    TagReport
    """
    joint = np.asarray(parameters.psi, np.float64) * topic_shares
    word_topics = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    scores = _score_entries(predictor, word_topics, np.asarray(word_counts) > 0, corpus, n_jobs)
    owner = owners_of(corpus.tags.indptr)
    weights = np.asarray(posteriors.weights.data, np.float64)
    expected = _expected_weights(parameters, corpus, owner)
    latent = np.asarray(posteriors.latent, np.float64)
    kinds, latent_share = _summarise_kinds(corpus, weights, scores.plausibility, owner, latent)
    return TagReport(
        entries=_entries(parameters, corpus, posteriors, scores, owner, weights, expected),
        tags=_summarise_tags(corpus, scores, weights, expected),
        duplicates=tuple(near_duplicates(corpus.tag_names, parameters.theta, sp.csr_array(corpus.tags))),
        kinds=kinds,
        latent_share=latent_share,
    )


def _score_entries(
    predictor: TagPredictor, word_topics: Floats, seen: Any, corpus: Corpus, n_jobs: int | None, random_state: int = 0
) -> EntryScores:
    """Score the tags of a corpus in the model's columns; ``seen`` are the words that occurred in training.

    A tag that no other training document has is unknown: its plausibility is 0.5 and its p-value 1.
    """
    random = np.random.default_rng(random_state)
    training = TrainingDocuments.from_predictor(predictor, word_topics)
    coefficients, null = _fit_plausibility(training, n_jobs, random)
    vectors, tags = document_vectors(corpus.counts, predictor.idf_), sp.csr_array(corpus.tags)
    entries = AuditEntries(vectors, training.rows_of(vectors, tags, seen), tags, tags)
    features = audit_features(training, entries, n_jobs)
    values = probabilities_of(features, coefficients[predictor.index_.tag_kinds[tags.indices]])
    at_least = len(null) - np.searchsorted(null, values, side="left")
    unknown = training.other_documents(entries) == 0
    return EntryScores(np.where(unknown, 0.5, values), np.where(unknown, 1.0, (1 + at_least) / (1 + len(null))))


def _fit_plausibility(
    training: TrainingDocuments, n_jobs: int | None, random: np.random.Generator
) -> tuple[Float64s, Float64s]:
    """Return the coefficients for each kind of tag, and the plausibilities of the random tags, ascending."""
    index = training.predictor.index_
    sample = np.sort(random.permutation(training.documents.shape[0])[:N_EXAMPLES])
    own = sp.csr_array(training.tags[sample])
    drawn = _draw_random_tags(own, np.flatnonzero(index.tag_counts), random)
    # each is scored among all of them, as in a corpus with noise
    both = sp.csr_array(own + drawn)
    entries = AuditEntries(training.documents[sample], sample, both, both)
    is_own = np.asarray(own[entries.owner, entries.tags.indices]).ravel() > 0
    # the tag of a new document is known from others: a tag that only this document has is not such an example
    known = training.other_documents(entries) > 0
    features, kinds = audit_features(training, entries, n_jobs), index.tag_kinds[entries.tags.indices]
    is_random = known & ~is_own
    n_kinds = len(training.predictor.kind_names_)
    coefficients = fit_coefficients(features[known], is_own[known], kinds[known], n_kinds)
    coefficients[:, -1] -= np.log((1 + (known & is_own).sum()) / (1 + is_random.sum()))  # even prior odds
    return coefficients, np.sort(probabilities_of(features[is_random], coefficients[kinds[is_random]]))


def _draw_random_tags(own: Any, known: Any, random: np.random.Generator) -> Any:
    """Draw random tags for each document, at least one and at most as many as it has, without its own."""
    counts = np.diff(own.indptr)
    rows = np.repeat(np.arange(own.shape[0]), np.ceil(random.random(len(counts)) * counts).astype(np.int64))
    drawn = sp.csr_array((np.ones(len(rows), np.float32), (rows, random.choice(known, len(rows)))), shape=own.shape)
    drawn.data[:] = 1
    others = sp.csr_array(drawn - drawn.multiply(own))
    others.eliminate_zeros()
    others.sort_indices()
    return others


def _entries(
    parameters: Parameters,
    corpus: Corpus,
    posteriors: DocumentPosteriors,
    scores: EntryScores,
    owner: Any,
    weights: Float64s,
    expected: Float64s,
) -> Records[TagOnDocument]:
    order = np.lexsort((-scores.p_value, scores.plausibility))
    with_words = set(order[:MAX_WITH_WORDS].tolist())

    def make(p: int) -> TagOnDocument:
        return TagOnDocument(
            document=corpus.ids[owner[p]],
            document_number=int(owner[p]),
            tag=corpus.tag_names[corpus.tags.indices[p]],
            plausibility=float(scores.plausibility[p]),
            p_value=float(scores.p_value[p]),
            weight=float(weights[p]),
            expected_weight=float(expected[p]),
            disagreeing=_disagreeing(parameters, corpus, posteriors, owner[p], p) if p in with_words else (),
        )

    columns: dict[str, Column] = {
        "document": Categorical(owner, corpus.ids),
        "document_number": owner,
        "tag": Categorical(np.asarray(corpus.tags.indices), corpus.tag_names),
        "plausibility": scores.plausibility,
        "p_value": scores.p_value,
        "weight": weights,
        "expected_weight": expected,
    }
    return Records(columns, make, order)


def _expected_weights(parameters: Parameters, corpus: Corpus, owner: Any) -> Float64s:
    """Return the weight of each entry by its prior alone."""
    prior = parameters.pi[corpus.tags.indices]
    latent = parameters.pi_latent if parameters.latent else 0.0
    totals = np.bincount(owner, weights=prior, minlength=len(corpus)) + latent
    return np.asarray(prior / totals[owner])


def _summarise_tags(corpus: Corpus, scores: EntryScores, weights: Any, expected: Any) -> Records[TagAudit]:
    tags = corpus.tags.indices
    counts = np.bincount(tags, minlength=corpus.n_tags)

    def total(values: Any) -> Any:
        return np.bincount(tags, weights=values, minlength=corpus.n_tags)

    used = np.flatnonzero(counts)
    p_value = chi2.sf(-2 * total(np.log(scores.p_value))[used], 2 * counts[used])  # Fisher's method
    plausibility, weight, expected_weight = (
        total(values)[used] / counts[used] for values in (scores.plausibility, weights, expected)
    )

    def make(i: int) -> TagAudit:
        return TagAudit(
            tag=corpus.tag_names[used[i]],
            documents=int(counts[used[i]]),
            plausibility=float(plausibility[i]),
            p_value=float(p_value[i]),
            weight=float(weight[i]),
            expected_weight=float(expected_weight[i]),
        )

    columns: dict[str, Column] = {
        "tag": Categorical(used, corpus.tag_names),
        "documents": counts[used],
        "plausibility": plausibility,
        "p_value": p_value,
        "weight": weight,
        "expected_weight": expected_weight,
    }
    return Records(columns, make, np.argsort(plausibility, kind="stable"))


def _summarise_kinds(
    corpus: Corpus, weights: Any, plausibility: Any, owner: Any, latent: Any
) -> tuple[tuple[KindSummary, ...], float]:
    """Return the kinds of tags by the share of the words that they explain, and the share that no tag explains."""
    names, kinds = kinds_of(corpus.tag_names)
    lengths = np.asarray(corpus.lengths(), np.float64)
    n_tokens = max(float(lengths.sum()), 1.0)
    of_entry = kinds[corpus.tags.indices]
    found = [
        KindSummary(
            kind=name,
            tags=len(np.unique(corpus.tags.indices[of_entry == number])),
            documents=len(np.unique(owner[of_entry == number])),
            share=float((weights * lengths[owner])[of_entry == number].sum() / n_tokens),
            plausibility=float(plausibility[of_entry == number].mean()),
        )
        for number, name in enumerate(names)
        if (of_entry == number).any()
    ]
    return tuple(sorted(found, key=lambda kind: -kind.share)), float(latent @ lengths / n_tokens)


def _disagreeing(
    parameters: Parameters, corpus: Corpus, posteriors: DocumentPosteriors, document: int, entry: int, n: int = 5
) -> tuple[str, ...]:
    """Return the document's words that its topics explain and the tag's topics do not."""
    row = slice(corpus.counts.indptr[document], corpus.counts.indptr[document + 1])
    words = corpus.counts.indices[row]
    psi = parameters.psi[words]
    by_tag = parameters.word_probabilities(int(corpus.tags.indices[entry]), words)
    loss = corpus.counts.data[row] * np.log((psi @ posteriors.topics[document] + 1e-30) / (by_tag + 1e-30))
    return tuple(corpus.words[words[i]] for i in np.argsort(-loss, kind="stable")[:n] if loss[i] > 0)
