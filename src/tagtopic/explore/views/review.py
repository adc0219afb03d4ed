"""The review queue: the question to answer next with its evidence, what comes after it, progress, recent decisions.

The evidence of a word for a tag is log p(word | tag) / p(word), with p(word) its frequency in the training documents.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagtopic.corpus.text.tokenizer import PARAGRAPH_SEPARATOR
from tagtopic.curation.decisions import UNDO
from tagtopic.curation.queue import DUPLICATE, KINDS, MISSING, SUSPICIOUS
from tagtopic.explore.views.document import find_spans
from tagtopic.explore.views.items import DocumentValue, WordShare, distinctive_words

if TYPE_CHECKING:
    from tagtopic.curation import Candidate, Decisions, Ledger, ReviewQueue
    from tagtopic.explore.explorer import Explorer
    from tagtopic.explore.review import Review

N_UPCOMING, N_RECENT, N_WORDS, N_DOCUMENTS = 8, 8, 8, 3
TEXT_CHARACTERS = 3000
"""Characters of a text; its own page has all of it."""

MIN_EVIDENCE = float(np.log(2))
"""Words that are less than twice as frequent, or rare, under a tag than in all documents are no evidence."""

KIND_LABELS = {SUSPICIOUS: "suspicious tags", MISSING: "missing tags", DUPLICATE: "near-duplicates"}


@dataclass(frozen=True)
class EvidenceSpan:
    """A part of a text; ``evidence`` is 1 for a word that is evidence for the tag, -1 against it, 0 for neither."""

    text: str
    evidence: int


@dataclass(frozen=True)
class TagSummary:
    """One of two near-duplicate tags: its number of documents, distinctive words and some documents."""

    tag: str
    number: int
    n_documents: int
    words: tuple[WordShare, ...]
    documents: tuple[DocumentValue, ...]


@dataclass(frozen=True)
class Question:
    """Something to decide.

    ``number`` is the tag's number in the model, or that of a variant that has been merged into it. ``document``,
    ``document_number``, ``tags`` (as decided so far), ``words_for``, ``words_against``, ``text`` (None without
    texts) and ``is_shortened`` are of a suspicious or missing tag; ``pair`` is of near-duplicates.
    """

    key: str
    kind: str
    question: str
    tag: str
    number: int
    other: str
    probability: float
    repairs: int
    document: str
    document_number: int
    tags: tuple[str, ...]
    words_for: tuple[str, ...]
    words_against: tuple[str, ...]
    text: tuple[EvidenceSpan, ...] | None
    is_shortened: bool
    pair: tuple[TagSummary, ...]


@dataclass(frozen=True)
class UpcomingQuestion:
    """A question that comes later."""

    key: str
    kind: str
    tag: str
    other: str
    document: str
    document_number: int
    probability: float


@dataclass(frozen=True)
class RecentDecision:
    """A decision of the ledger that can be undone."""

    id: str
    what: str
    description: str
    who: str
    why: str
    time: str


@dataclass(frozen=True)
class KindProgress:
    """The progress of one kind of question."""

    kind: str
    label: str
    accepted: int
    decided: int
    total: int


@dataclass(frozen=True)
class ReviewView:
    """The queue of one kind, or of all (``kind`` None). ``precision`` is the share of accepted among all decided."""

    kind: str | None
    ledger: str
    who: str
    decided: int
    left: int
    precision: float | None
    expected: float
    kinds: tuple[KindProgress, ...]
    question: Question | None
    upcoming: tuple[UpcomingQuestion, ...]
    recent: tuple[RecentDecision, ...]


def review(review: Review, kind: str | None = None) -> ReviewView:
    """Describe the queue, after decisions of other writers."""
    queue = review.queue
    with review.lock, review.reporting_failures():
        queue.update()
        upcoming = queue.upcoming(1 + N_UPCOMING, kind)
        state = review.ledger.state
        return ReviewView(
            kind=kind,
            ledger=review.ledger.path.name,
            who=review.ledger.who,
            decided=queue.n_decided,
            left=queue.n_left,
            precision=queue.precision,
            expected=queue.expected,
            kinds=tuple(KindProgress(name, KIND_LABELS[name], *queue.progress(name)) for name in KINDS),
            question=_question(review.explorer, queue, upcoming[0], state) if upcoming else None,
            upcoming=tuple(_upcoming(queue, candidate) for candidate in upcoming[1:]),
            recent=_recent(review.ledger),
        )


def _question(explorer: Explorer, queue: ReviewQueue, candidate: Candidate, state: Decisions) -> Question:
    is_pair = candidate.kind == DUPLICATE
    row = candidate.document_number
    numbers = {tag: _number(explorer, tag, state) for tag in (candidate.tag, candidate.other) if tag}
    evidence = {} if is_pair else _evidence(explorer, row, numbers[candidate.tag])
    text = "" if is_pair or explorer.texts is None else explorer.texts[row]
    return Question(
        key=candidate.key,
        kind=candidate.kind,
        question=candidate.question,
        tag=candidate.tag,
        number=numbers[candidate.tag],
        other=candidate.other,
        probability=queue.probability(candidate),
        repairs=candidate.repairs,
        document=candidate.document,
        document_number=row,
        tags=() if is_pair else tuple(state.corrected_tags(candidate.document, explorer.documents[row].tags)),
        words_for=_strongest(evidence, 1),
        words_against=_strongest(evidence, -1),
        text=None if is_pair or explorer.texts is None else _spans(explorer, text[:TEXT_CHARACTERS], evidence),
        is_shortened=len(text) > TEXT_CHARACTERS,
        pair=tuple(_summary(explorer, *item) for item in numbers.items()) if is_pair else (),
    )


def _number(explorer: Explorer, tag: str, state: Decisions) -> int:
    """The number of a tag in the model; if it has been merged under a name that the model lacks, that of a variant."""
    names = (tag, *(variant for variant, name in state.canonical.items() if name == tag))
    return next(explorer.tag_numbers[name] for name in names if name in explorer.tag_numbers)


def _upcoming(queue: ReviewQueue, candidate: Candidate) -> UpcomingQuestion:
    return UpcomingQuestion(
        key=candidate.key,
        kind=candidate.kind,
        tag=candidate.tag,
        other=candidate.other,
        document=candidate.document,
        document_number=candidate.document_number,
        probability=queue.probability(candidate),
    )


def _recent(ledger: Ledger) -> tuple[RecentDecision, ...]:
    """The last decisions that are in force, the latest first."""
    undone = ledger.state.undone
    found: list[RecentDecision] = []
    for entry in reversed(ledger.entries):
        if entry.what != UNDO and entry.id not in undone:
            found.append(RecentDecision(entry.id, entry.what, entry.describe(), entry.who, entry.why, entry.time))
        if len(found) == N_RECENT:
            break
    return tuple(found)


def _evidence(explorer: Explorer, row: int, tag: int) -> dict[str, tuple[float, float]]:
    """The evidence of each word of a document for a tag: of one occurrence, and of all of them."""
    model, corpus = explorer.model, explorer.documents
    part = slice(corpus.counts.indptr[row], corpus.counts.indptr[row + 1])
    words = corpus.counts.indices[part]
    counts = np.asarray(corpus.counts.data[part], np.float64)
    frequency = np.asarray(model.word_counts_, np.float64)[words] / max(float(model.word_counts_.sum()), 1.0)
    by_tag = np.asarray(model.parameters_.word_probabilities(tag, words), np.float64)
    ratios = np.log((by_tag + 1e-12) / (frequency + 1e-12))
    return {
        corpus.words[word]: (float(ratio), float(count * ratio))
        for word, count, ratio in zip(words, counts, ratios, strict=True)
    }


def _sign(ratio: float) -> int:
    return 0 if abs(ratio) < MIN_EVIDENCE else 1 if ratio > 0 else -1


def _strongest(evidence: dict[str, tuple[float, float]], sign: int) -> tuple[str, ...]:
    found = [word for word, (ratio, _) in evidence.items() if _sign(ratio) == sign]
    return tuple(sorted(found, key=lambda word: -sign * evidence[word][1])[:N_WORDS])


def _spans(explorer: Explorer, text: str, evidence: dict[str, tuple[float, float]]) -> tuple[EvidenceSpan, ...]:
    rules = explorer.model.rules_
    if rules is None or rules.tokenizer is not None:  # positions of words are unknown to a custom tokenizer
        return (EvidenceSpan(text, 0),)
    signs = {word: _sign(ratio) for word, (ratio, _) in evidence.items()}
    spans = find_spans(text, rules, signs)
    return tuple(_join(EvidenceSpan(_shown(span.text), signs.get(span.word or "", 0)) for span in spans))


def _shown(text: str) -> str:
    return text.replace(PARAGRAPH_SEPARATOR, "\n\n")


def _join(spans: Iterable[EvidenceSpan]) -> list[EvidenceSpan]:
    """Join neighbours that are no evidence."""
    joined: list[EvidenceSpan] = []
    for span in spans:
        if joined and span.evidence == joined[-1].evidence == 0:
            joined[-1] = EvidenceSpan(joined[-1].text + span.text, 0)
        else:
            joined.append(span)
    return joined


def _summary(explorer: Explorer, tag: str, number: int) -> TagSummary:
    model, weights, ids = explorer.model, explorer.weights_by_tag, explorer.documents.ids
    column = slice(weights.indptr[number], weights.indptr[number + 1])
    rows, values = weights.indices[column], weights.data[column]
    first = np.argsort(-values, kind="stable")[:N_DOCUMENTS]
    distribution = model.parameters_.word_probabilities(number)
    share = max(float(model.tag_frequencies_[number]), 1e-3)
    return TagSummary(
        tag=tag,
        number=number,
        n_documents=len(rows),
        words=distinctive_words(explorer, distribution, share, N_WORDS),
        documents=tuple(DocumentValue(ids[rows[i]], int(rows[i]), float(values[i])) for i in first),
    )
