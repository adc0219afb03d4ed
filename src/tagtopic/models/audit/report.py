"""The audit of a corpus's tags: which explain nothing of their documents, which may be one, what each kind explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import chi2

from tagtopic.corpus.kinds import kinds_of
from tagtopic.corpus.ragged import owners_of
from tagtopic.inference.arrays import Float64s
from tagtopic.inference.parameters import Parameters
from tagtopic.models.audit.duplicates import NearDuplicate, near_duplicates
from tagtopic.models.audit.fit import Fit, tag_fit
from tagtopic.models.posterior import DocumentPosteriors
from tagtopic.models.records import Coded, Column, Records

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.models.prediction import TagPredictor


WITH_WORDS = 1000
"""So many of the worst entries are given the words that disagree: to go through all entries stays quick."""


@dataclass(frozen=True)
class TagOnDocument:
    """One tag on one document, which is number ``document_number`` of the corpus (ids may repeat).

    ``belongs`` is the probability that the tag belongs there, had that been even odds; ``p_value`` the share of random
    tags that would look as good; ``weight`` and ``expected_weight`` what the model gives it and what its prior would
    have; ``disagreeing`` the document's words that the tag's topics explain least (only for the 1,000 worst).
    """

    document: str
    document_number: int
    tag: str
    belongs: float
    p_value: float
    weight: float
    expected_weight: float
    disagreeing: tuple[str, ...]


@dataclass(frozen=True)
class TagAudit:
    """One tag on all its documents: means, and the p-value of "it is put there at random" (Fisher's method).

    Worst is what belongs least. The p-value is against random tags of all frequencies, so a common tag's is smaller.
    """

    tag: str
    documents: int
    belongs: float
    p_value: float
    weight: float
    expected_weight: float


@dataclass(frozen=True)
class KindSummary:
    """A kind of tag: on how many documents, what share of all words its tags explain, and how well they belong."""

    kind: str
    tags: int
    documents: int
    share: float
    belongs: float


@dataclass(frozen=True)
class TagReport:
    """What an audit found: entries and tags worst first, near-duplicates most alike first, kinds by what they explain.

    ``entries`` and ``tags`` are kept as columns: ``entries[0]`` makes one, ``entries.column("belongs")`` is an array,
    ``entries.table()`` all of them as an Arrow table. ``latent_share`` is the share of all words that no tag explains.
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
        lines += ["least at home:"]
        lines += [
            f"  {entry.tag} on {entry.document}: {entry.belongs:.2f}, weight {entry.weight:.2f} for "
            f"{entry.expected_weight:.2f}; {', '.join(entry.disagreeing)}"
            for entry in self.entries[:10]
        ]
        lines += [f"maybe one: {pair.first} / {pair.second}" for pair in self.duplicates[:10]]
        return "\n".join(lines)


def audit(
    parameters: Parameters,
    predictor: TagPredictor,
    topic_shares: Float64s,
    word_counts: Float64s,
    corpus: Corpus,
    posteriors: DocumentPosteriors,
    n_jobs: int | None,
) -> TagReport:
    """Audit the tags of a corpus that is in the model's columns."""
    by_word = np.asarray(parameters.psi, np.float64) * topic_shares
    word_topics = by_word / np.maximum(by_word.sum(axis=1, keepdims=True), 1e-300)
    fit = tag_fit(predictor, word_topics, np.asarray(word_counts) > 0, corpus, n_jobs)
    owner = owners_of(corpus.tags.indptr)
    weights = np.asarray(posteriors.weights.data, np.float64)
    expected = expected_weights(parameters, corpus, owner)
    kinds, latent = _kinds(corpus, weights, fit.probability, owner, np.asarray(posteriors.latent, np.float64))
    return TagReport(
        entries=_entries(parameters, corpus, posteriors, fit, owner, weights, expected),
        tags=_by_tag(corpus, fit.probability, fit.p_value, weights, expected),
        duplicates=tuple(near_duplicates(corpus.tag_names, parameters.theta, sp.csr_array(corpus.tags))),
        kinds=kinds,
        latent_share=latent,
    )


def _entries(
    parameters: Parameters,
    corpus: Corpus,
    posteriors: DocumentPosteriors,
    fit: Fit,
    owner: Any,
    weights: Float64s,
    expected: Float64s,
) -> Records[TagOnDocument]:
    order = np.lexsort((-fit.p_value, fit.probability))
    told = set(order[:WITH_WORDS].tolist())

    def make(p: int) -> TagOnDocument:
        return TagOnDocument(
            document=corpus.ids[owner[p]],
            document_number=int(owner[p]),
            tag=corpus.tag_names[corpus.tags.indices[p]],
            belongs=float(fit.probability[p]),
            p_value=float(fit.p_value[p]),
            weight=float(weights[p]),
            expected_weight=float(expected[p]),
            disagreeing=_disagreeing(parameters, corpus, posteriors, owner[p], p) if p in told else (),
        )

    columns: dict[str, Column] = {
        "document": Coded(owner, corpus.ids),
        "document_number": owner,
        "tag": Coded(np.asarray(corpus.tags.indices), corpus.tag_names),
        "belongs": fit.probability,
        "p_value": fit.p_value,
        "weight": weights,
        "expected_weight": expected,
    }
    return Records(columns, make, order)


def expected_weights(parameters: Parameters, corpus: Corpus, owner: Any) -> Float64s:
    """The weight of each tag entry by its prior alone."""
    prior = parameters.pi[corpus.tags.indices]
    latent = parameters.pi_latent if parameters.latent else 0.0
    totals = np.bincount(owner, weights=prior, minlength=len(corpus)) + latent
    return np.asarray(prior / totals[owner])


def _by_tag(corpus: Corpus, fit: Any, p_values: Any, weights: Any, expected: Any) -> Records[TagAudit]:
    tags = corpus.tags.indices
    counts = np.bincount(tags, minlength=corpus.n_tags)

    def total(values: Any) -> Any:
        return np.bincount(tags, weights=values, minlength=corpus.n_tags)

    used = np.flatnonzero(counts)
    together = chi2.sf(-2 * total(np.log(p_values))[used], 2 * counts[used])
    belongs, weight, expected_weight = (total(values)[used] / counts[used] for values in (fit, weights, expected))

    def make(i: int) -> TagAudit:
        name, n = corpus.tag_names[used[i]], int(counts[used[i]])
        return TagAudit(name, n, float(belongs[i]), float(together[i]), float(weight[i]), float(expected_weight[i]))

    columns: dict[str, Column] = {
        "tag": Coded(used, corpus.tag_names),
        "documents": counts[used],
        "belongs": belongs,
        "p_value": together,
        "weight": weight,
        "expected_weight": expected_weight,
    }
    return Records(columns, make, np.argsort(belongs, kind="stable"))


def _kinds(corpus: Corpus, weights: Any, fit: Any, owner: Any, latent: Any) -> tuple[tuple[KindSummary, ...], float]:
    names, kinds = kinds_of(corpus.tag_names)
    lengths = np.asarray(corpus.lengths(), np.float64)
    all_words = max(float(lengths.sum()), 1.0)
    of_entry = kinds[corpus.tags.indices]
    found = [
        KindSummary(
            kind=name,
            tags=len(np.unique(corpus.tags.indices[of_entry == number])),
            documents=len(np.unique(owner[of_entry == number])),
            share=float((weights * lengths[owner])[of_entry == number].sum() / all_words),
            belongs=float(fit[of_entry == number].mean()),
        )
        for number, name in enumerate(names)
        if (of_entry == number).any()
    ]
    return tuple(sorted(found, key=lambda kind: -kind.share)), float(latent @ lengths / all_words)


def _disagreeing(
    parameters: Parameters, corpus: Corpus, posteriors: DocumentPosteriors, document: int, entry: int, n: int = 5
) -> tuple[str, ...]:
    """The document's words that its topics explain and the tag's do not."""
    row = slice(corpus.counts.indptr[document], corpus.counts.indptr[document + 1])
    words = corpus.counts.indices[row]
    psi = parameters.psi[words]
    by_tag = psi @ parameters.theta[corpus.tags.indices[entry]]
    loss = corpus.counts.data[row] * np.log((psi @ posteriors.topics[document] + 1e-30) / (by_tag + 1e-30))
    return tuple(corpus.words[words[i]] for i in np.argsort(-loss, kind="stable")[:n] if loss[i] > 0)
