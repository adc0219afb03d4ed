"""The audit of a corpus's tags: which explain nothing of their documents, which may be one, what each kind explains.

How well a tag fits a document, against tags drawn at random.

On a sample of remembered documents, each judged as if it were new, a logistic regression on all that speaks for a tag
(``evidence.py``) learns to tell the document's own tags from tags drawn at random and put on it too: at most as many as
it has, since nobody knows how noisy a corpus is. Its output for a tag is its plausibility: the probability
that the tag is one of the document's own, at even prior odds; its place among the random ones is a p-value.
See docs/decisions/tag-audit.md.
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
from tagtopic.tagging.audit_evidence import Asked, Remembered, evidence
from tagtopic.tagging.calibration import learn_mix, probabilities
from tagtopic.tagging.duplicates import NearDuplicate, near_duplicates
from tagtopic.tagging.training_index import weighted_rows

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.tagging.predictor import TagPredictor


EXAMPLES = 1000
"""Documents that the mix is learnt on."""


@dataclass(frozen=True)
class Fit:
    """For each (document, tag) entry: the plausibility of the tag, and the p-value of "it is random"."""

    probability: Float64s
    p_value: Float64s


def tag_fit(
    predictor: TagPredictor, word_topics: Floats, seen: Any, corpus: Corpus, n_jobs: int | None, random_state: int = 0
) -> Fit:
    """How well the tags of a corpus, in the model's columns and the words that it has ``seen``, fit its documents.

    Nothing is known of a tag that no other document has: its plausibility is 0.5 and its p-value 1.
    """
    random = np.random.default_rng(random_state)
    remembered = Remembered.of(predictor, word_topics)
    mix, chance = _learn(remembered, n_jobs, random)
    vectors, tags = weighted_rows(corpus.counts, predictor.scores), sp.csr_array(corpus.tags)
    asked = Asked(vectors, remembered.rows_of(vectors, tags, seen), tags, tags)
    values = probabilities(evidence(remembered, asked, n_jobs), mix[predictor.memory.kinds[tags.indices]])
    at_least = len(chance) - np.searchsorted(chance, values, side="left")
    unknown = remembered.others(asked) == 0
    return Fit(np.where(unknown, 0.5, values), np.where(unknown, 1.0, (1 + at_least) / (1 + len(chance))))


def _learn(remembered: Remembered, n_jobs: int | None, random: np.random.Generator) -> tuple[Float64s, Float64s]:
    """The mix for each kind of tag, and what it says of the random tags, ascending."""
    memory = remembered.predictor.memory
    sample = np.sort(random.permutation(remembered.documents.shape[0])[:EXAMPLES])
    own = sp.csr_array(remembered.tags[sample])
    drawn = _random_tags(own, np.flatnonzero(memory.sizes), random)
    # each is judged among all of them, as in a corpus with noise
    asked = Asked(remembered.documents[sample], sample, sp.csr_array(own + drawn), sp.csr_array(own + drawn))
    is_own = np.asarray(own[asked.owner, asked.tags.indices]).ravel() > 0
    # a new document's tag is known from others: one that only this document has is no example of that
    known = remembered.others(asked) > 0
    inputs, kinds = evidence(remembered, asked, n_jobs), memory.kinds[asked.tags.indices]
    random_ones = known & ~is_own
    mix = learn_mix(inputs[known], is_own[known], kinds[known], len(remembered.predictor.kind_names))
    mix[:, -1] -= np.log((1 + (known & is_own).sum()) / (1 + random_ones.sum()))  # even odds
    return mix, np.sort(probabilities(inputs[random_ones], mix[kinds[random_ones]]))


def _random_tags(own: Any, known: Any, random: np.random.Generator) -> Any:
    """For each document tags drawn at random, one at least and at most as many as it has, less those that it has."""
    sizes = np.diff(own.indptr)
    rows = np.repeat(np.arange(own.shape[0]), np.ceil(random.random(len(sizes)) * sizes).astype(np.int64))
    drawn = sp.csr_array((np.ones(len(rows), np.float32), (rows, random.choice(known, len(rows)))), shape=own.shape)
    drawn.data[:] = 1
    others = sp.csr_array(drawn - drawn.multiply(own))
    others.eliminate_zeros()
    others.sort_indices()
    return others


WITH_WORDS = 1000
"""So many of the worst entries are given the words that disagree: to go through all entries stays quick."""


@dataclass(frozen=True)
class TagOnDocument:
    """One tag on one document, which is number ``document_number`` of the corpus (ids may repeat).

    ``plausibility`` is the probability that the tag is one of the document's own rather than a random one, at even
    prior odds; ``p_value`` the share of random tags that would score as high; ``weight`` is the model's weight of the
    tag and ``expected_weight`` its weight by the prior alone; ``disagreeing`` are the document's words that the tag's
    topics explain least (only for the 1,000 least plausible).
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
    """One tag on all its documents: means, and the p-value of "it is put there at random" (Fisher's method).

    Sorted by plausibility, lowest first. The p-value is against random tags of all frequencies, so a common
    tag's is smaller.
    """

    tag: str
    documents: int
    plausibility: float
    p_value: float
    weight: float
    expected_weight: float


@dataclass(frozen=True)
class KindSummary:
    """A kind of tag: on how many documents, what share of all words its tags explain, and their mean plausibility."""

    kind: str
    tags: int
    documents: int
    share: float
    plausibility: float


@dataclass(frozen=True)
class TagReport:
    """What an audit found: entries and tags worst first, near-duplicates most alike first, kinds by what they explain.

    ``entries`` and ``tags`` are kept as columns: ``entries[0]`` makes one, ``entries.column("plausibility")`` is an
    array, ``entries.table()`` all of them as an Arrow table. ``latent_share`` is the share of all words that no tag
    explains.
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
            plausibility=float(fit.probability[p]),
            p_value=float(fit.p_value[p]),
            weight=float(weights[p]),
            expected_weight=float(expected[p]),
            disagreeing=_disagreeing(parameters, corpus, posteriors, owner[p], p) if p in told else (),
        )

    columns: dict[str, Column] = {
        "document": Categorical(owner, corpus.ids),
        "document_number": owner,
        "tag": Categorical(np.asarray(corpus.tags.indices), corpus.tag_names),
        "plausibility": fit.probability,
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
    plausibility, weight, expected_weight = (total(values)[used] / counts[used] for values in (fit, weights, expected))

    def make(i: int) -> TagAudit:
        name, n = corpus.tag_names[used[i]], int(counts[used[i]])
        return TagAudit(
            name, n, float(plausibility[i]), float(together[i]), float(weight[i]), float(expected_weight[i])
        )

    columns: dict[str, Column] = {
        "tag": Categorical(used, corpus.tag_names),
        "documents": counts[used],
        "plausibility": plausibility,
        "p_value": together,
        "weight": weight,
        "expected_weight": expected_weight,
    }
    return Records(columns, make, np.argsort(plausibility, kind="stable"))


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
            plausibility=float(fit[of_entry == number].mean()),
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
