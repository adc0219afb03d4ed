"""The audit of a corpus's tags: implausible tags of documents, near-duplicate tags, and the words that kinds explain.

How plausible a tag on a document is, is estimated in ``plausibility.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import chi2

from tagtopic._core.arrays import Float64s, owners_of
from tagtopic._core.frames import Rows, Tabular
from tagtopic._core.records import Categorical, Column, Records
from tagtopic.corpus.tags import kinds_of
from tagtopic.engines.posterior import DocumentPosteriors
from tagtopic.inference.types import Parameters
from tagtopic.tagging.duplicates import NearDuplicate, near_duplicates
from tagtopic.tagging.plausibility import EntryScores, score_entries

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.tagging.predictor import TagPredictor

ORDERS = {"random": "plausibility", "sibling": "wrong_sibling", "both": "suspicion"}
"""The orders of entries, and the column that each goes by; the plausibility ascends, the others descend."""

MAX_WITH_WORDS = 1000
"""Entries, the most suspicious, that list the words that disagree, so that iteration over all entries stays fast."""


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
        The document's words that the tag's topics explain least (only for the 1,000 most suspicious entries).
    wrong_sibling : float, default=0.5
        The probability that the tag is a sibling of the document's own (a tag whose documents are similar) rather than
        its own, at even prior odds; 0 for a tag that no other training document has.
    suspicion : float, default=0.0
        The probability that the tag is wrong, either a random one or a sibling of the document's own, given how many
        such errors the training documents can have at most.
    sibling : str or None, default=None
        The sibling that fits the document better than the tag, if there is one.
    documents : int, default=0
        The number of other training documents with the tag.

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
    wrong_sibling: float = 0.5
    suspicion: float = 0.0
    sibling: str | None = None
    documents: int = 0

    @property
    def looks_random(self) -> float:
        """The probability that the tag is a random one rather than the document's own: 1 - plausibility."""
        return 1 - self.plausibility


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
class TagReport(Tabular):
    """The result of ``model.audit_tags``; ``print`` it for a summary.

    As a data frame, a row per entry, the most suspicious first; ``tags``, ``duplicates`` and ``kinds`` have the same
    method.

    Attributes
    ----------
    entries : Records of TagOnDocument
        All tags of documents, the most suspicious first. Kept as columns: ``entries[0]`` is one entry,
        ``entries.column("plausibility")`` an array, ``entries.table()`` an Arrow table.
    tags : Records of TagAudit
        All tags, the least plausible first.
    duplicates : Rows of NearDuplicate
        Pairs of tags that may be one, the most similar first, by name and topics.
    kinds : Rows of KindSummary
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
    duplicates: Rows[NearDuplicate]
    kinds: Rows[KindSummary]
    latent_share: float

    def select(
        self,
        *,
        order: str = "both",
        kinds: Iterable[str] | None = None,
        min_documents: int = 0,
        below: float = 1.0,
    ) -> TagReport:
        """Return the report with some of the entries and tags, or in another order.

        Parameters
        ----------
        order : {"both", "random", "sibling"}, default="both"
            The first entries are those that are most probably wrong (the most suspicious), that look most like random
            tags (the least plausible), or most like wrong siblings.
        kinds : iterable of str or None, default=None
            Tags of these kinds only.
        min_documents : int, default=0
            Tags only that are on at least this many (other training) documents.
        below : float, default=1.0
            Entries only with at most this plausibility.

        Returns
        -------
        TagReport
            The report; its near-duplicates and kinds stay as they are.

        Raises
        ------
        ValueError
            If there is no such order.

        Examples
        --------
        >>> len(report.select(min_documents=100).entries)
        0
        """
        if order not in ORDERS:
            raise ValueError(f"order={order!r}: expected one of {', '.join(map(repr, ORDERS))}")
        wanted = {kinds} if isinstance(kinds, str) else None if kinds is None else set(kinds)

        def of_kind(names: Sequence[str]) -> Any:
            if wanted is None:
                return np.ones(len(names), bool)
            return np.array([name.partition(":")[0] in wanted if ":" in name else "" in wanted for name in names], bool)

        entries, tags = self.entries, self.tags
        kept = of_kind(entries.column("tag")) & (entries.column("documents") >= min_documents)
        entries = entries.where(kept & (entries.column("plausibility") <= below))
        if order != "both":
            entries = entries.sorted_by(ORDERS[order], descending=order != "random")
        tags = tags.where(of_kind(tags.column("tag")) & (tags.column("documents") >= min_documents))
        return replace(self, entries=entries, tags=tags)

    def __str__(self) -> str:
        lines = [f"{len(self.entries)} tags on documents; {self.latent_share:.0%} of the words have no tag's support"]
        lines += [
            f"  {kind.kind or '(no kind)'}: {kind.share:.0%} of the words, {kind.documents} documents"
            for kind in self.kinds
        ]
        lines += ["most suspicious:"]
        lines += [
            f"  {entry.tag} on {entry.document}: {entry.suspicion:.2f}, weight {entry.weight:.2f} for "
            f"{entry.expected_weight:.2f}; {', '.join(entry.disagreeing)}"
            for entry in self.entries[:10]
        ]
        lines += [f"maybe one: {pair.first} / {pair.second}" for pair in self.duplicates[:10]]
        return "\n".join(lines)

    def _arrow_table(self, most: int | None = None) -> Any:
        return self.entries._arrow_table(most)

    def _n_rows(self) -> int:
        return len(self.entries)


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
    word_topics = parameters.psi * topic_shares.astype(np.float32)
    word_topics /= np.maximum(word_topics.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    scores = score_entries(predictor, word_topics, np.asarray(word_counts) > 0, corpus, n_jobs)
    owner = owners_of(corpus.tags.indptr)
    weights = np.asarray(posteriors.weights.data, np.float64)
    expected = _expected_weights(parameters, corpus, owner)
    latent = np.asarray(posteriors.latent, np.float64)
    kinds, latent_share = _summarise_kinds(corpus, weights, scores.plausibility, owner, latent)
    return TagReport(
        entries=_entries(parameters, corpus, posteriors, scores, owner, weights, expected),
        tags=_summarise_tags(corpus, scores, weights, expected),
        duplicates=Rows(near_duplicates(corpus.tag_names, parameters.theta, sp.csr_array(corpus.tags))),
        kinds=Rows(kinds),
        latent_share=latent_share,
    )


def _entries(
    parameters: Parameters,
    corpus: Corpus,
    posteriors: DocumentPosteriors,
    scores: EntryScores,
    owner: Any,
    weights: Float64s,
    expected: Float64s,
) -> Records[TagOnDocument]:
    order = np.lexsort((scores.plausibility, -scores.suspicion))
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
            wrong_sibling=float(scores.wrong_sibling[p]),
            suspicion=float(scores.suspicion[p]),
            sibling=corpus.tag_names[scores.sibling[p]] if scores.sibling[p] >= 0 else None,
            documents=int(scores.documents[p]),
        )

    columns: dict[str, Column] = {
        "document": Categorical(owner, corpus.ids),
        **({} if corpus.titles is None else {"title": Categorical(owner, corpus.titles)}),
        "document_number": owner,
        "tag": Categorical(np.asarray(corpus.tags.indices), corpus.tag_names),
        "plausibility": scores.plausibility,
        "p_value": scores.p_value,
        "weight": weights,
        "expected_weight": expected,
        "wrong_sibling": scores.wrong_sibling,
        "suspicion": scores.suspicion,
        "sibling": Categorical(
            np.where(scores.sibling >= 0, scores.sibling, len(corpus.tag_names)), (*corpus.tag_names, "")
        ),
        "documents": scores.documents,
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
