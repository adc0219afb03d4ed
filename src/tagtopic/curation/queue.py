"""A queue of candidates for decisions: suspicious, missing and near-duplicate tags, the most useful decision first.

A candidate has a probability that a person accepts it, and a number of tags on documents that are repaired if so; the
queue is in the order of their product. The probabilities are calibrated by the decisions so far: for each kind of
candidate a logistic regression on the log odds of its score, drawn to the initial one. Tags that have been merged are
asked under their canonical names, and of candidates that then ask the same only one is left.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic._core.arrays import Float64s
from tagtopic.curation.decisions import (
    TAG_ADD,
    TAG_REJECT,
    TAG_RIGHT,
    TAG_WRONG,
    TAGS_KEEP_APART,
    TAGS_MERGE,
    Decisions,
)

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.curation.decisions import Decision
    from tagtopic.curation.ledger import Ledger
    from tagtopic.tagging.audit import TagReport

SUSPICIOUS, MISSING, DUPLICATE = KINDS = ("suspicious", "missing", "duplicate")

WRONG_SHARE = 0.1
"""The share of wrong tags that is assumed before any decision."""

MIN_PROBABILITY = 0.02
"""Predicted tags of a lower probability are no candidates."""

PRIOR_PRECISION = (2.0, 200.0)
"""The precision of the normal priors of intercept and slope around 0 and 1.

The intercept, how often a kind of candidate is accepted, is learnt from a few decisions. The slope needs many: it would
fall to 0 after the first rejected candidates, which have the highest scores, and with it the order of the others.
"""

NEWTON_STEPS = 20
LIMIT = 1e-6
KEY_DIGITS = 16


@dataclass(frozen=True)
class Candidate:
    """Something to decide.

    Attributes
    ----------
    kind : {"suspicious", "missing", "duplicate"}
        A tag that may be wrong on its document, a tag that a document may lack, or two tags that may be one.
    tag : str
        The tag; of near-duplicates the more frequent one.
    score : float
        The probability of acceptance before any decision.
    document : str, default=""
        The document's id; "" for near-duplicates.
    document_number : int, default=-1
        The document's number in the corpus.
    other : str, default=""
        The rarer of two near-duplicates.
    repairs : int, default=1
        Tags on documents that are repaired if it is accepted.
    words : tuple of str, default=()
        Words of the document that speak against a suspicious tag.

    Examples
    --------
    >>> from tagtopic.curation import Candidate
    >>> Candidate("suspicious", "space", 0.4, document="17").question
    'is the tag wrong?'
    """

    kind: str
    tag: str
    score: float
    document: str = ""
    document_number: int = -1
    other: str = ""
    repairs: int = 1
    words: tuple[str, ...] = ()

    @cached_property
    def key(self) -> str:
        """A digest of what is to be decided: the same in every queue, whatever the model and the order."""
        content = json.dumps([self.kind, self.document, self.tag, self.other])
        return hashlib.sha256(content.encode()).hexdigest()[:KEY_DIGITS]

    @property
    def question(self) -> str:
        """What is to be decided."""
        questions = {SUSPICIOUS: "is the tag wrong?", MISSING: "is the tag missing?", DUPLICATE: "are the tags one?"}
        return questions[self.kind]

    def decision(self, *, accept: bool) -> tuple[str, dict[str, Any]]:
        """Return the kind and the fields of the decision that accepts or rejects this.

        Parameters
        ----------
        accept : bool
            Whether the answer to the question is yes.

        Returns
        -------
        tuple of str and dict
            The arguments of ``Ledger.record``.
        """
        if self.kind == DUPLICATE:
            if accept:
                return TAGS_MERGE, {"canonical": self.tag, "variants": [self.other]}
            return TAGS_KEEP_APART, {"tags": [self.tag, self.other]}
        accepted, rejected = (TAG_WRONG, TAG_RIGHT) if self.kind == SUSPICIOUS else (TAG_ADD, TAG_REJECT)
        return accepted if accept else rejected, {"document": self.document, "tag": self.tag}

    def correction(self, tag: str) -> list[tuple[str, dict[str, Any]]]:
        """Return the kinds and the fields of the decisions that another tag is right.

        The document has the other tag instead; near-duplicates are merged under it.

        Parameters
        ----------
        tag : str
            The right tag, or the canonical name of near-duplicates.

        Returns
        -------
        list of tuples of str and dict
            The arguments of calls of ``Ledger.record``; the last one decides the candidate.

        Raises
        ------
        ValueError
            If it is the tag in question.
        """
        if self.kind == DUPLICATE:
            variants = [name for name in (self.tag, self.other) if name != tag]
            return [(TAGS_MERGE, {"canonical": tag, "variants": variants})]
        if tag == self.tag:
            raise ValueError(f"{tag!r:.80} is the tag in question: give another one, or accept or reject it")
        return [(TAG_ADD, {"document": self.document, "tag": tag}), self.decision(accept=self.kind == SUSPICIOUS)]

    def outcome(self, decisions: Decisions) -> bool | None:
        """Return whether it was accepted; None if it is undecided.

        Parameters
        ----------
        decisions : Decisions
            The decisions so far.

        Returns
        -------
        bool or None
            The answer.
        """
        if self.kind == DUPLICATE:
            one, other = (decisions.canonical.get(tag, tag) for tag in (self.tag, self.other))
            if one == other:
                return True
            return False if tuple(sorted((one, other))) in decisions.kept_apart else None
        tag = decisions.canonical.get(self.tag, self.tag)
        verdict = decisions.verdicts.get(self.document, {}).get(tag)
        return None if verdict is None else self._is_accepted_by(verdict)

    def _is_accepted_by(self, verdict: str) -> bool:
        return (verdict in (TAG_RIGHT, TAG_ADD)) == (self.kind == MISSING)


def candidates_of(
    report: TagReport, predicted: Sequence[Sequence[tuple[str, float]]], corpus: Corpus
) -> list[Candidate]:
    """Return the candidates of an audit and of predicted tags.

    Parameters
    ----------
    report : TagReport
        The audit of the corpus.
    predicted : list of lists of (str, float)
        Tags with probabilities per document, as ``predict_tags`` returns them.
    corpus : Corpus
        The documents.

    Returns
    -------
    list of Candidate
        Suspicious tags, missing tags and near-duplicates.
    """
    odds = WRONG_SHARE / (1 - WRONG_SHARE)
    found = []
    for entry in report.entries:
        against = odds * (1 - entry.plausibility) / max(entry.plausibility, LIMIT)
        number = entry.document_number
        score = against / (1 + against)
        found.append(Candidate(SUSPICIOUS, entry.tag, score, entry.document, number, words=entry.disagreeing))
    for number, ranked in enumerate(predicted):
        own = set(corpus[number].tags)
        found += [
            Candidate(MISSING, tag, probability, corpus.ids[number], number)
            for tag, probability in ranked
            if tag not in own and probability >= MIN_PROBABILITY
        ]
    for pair in report.duplicates:
        by_size = sorted(zip(pair.documents, (pair.first, pair.second), strict=True), key=lambda each: -each[0])
        (_, frequent), (repairs, rare) = by_size
        found.append(Candidate(DUPLICATE, frequent, pair.similarity, other=rare, repairs=max(1, repairs)))
    return found


class ReviewQueue:
    """The undecided candidates, the most useful decision first.

    Parameters
    ----------
    candidates : iterable of Candidate
        What there is to decide.
    ledger : Ledger
        Where decisions are recorded; candidates that it has decided are not in the queue.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from tagtopic import Ledger
    >>> from tagtopic.curation import Candidate, ReviewQueue
    >>> candidates = [Candidate("suspicious", tag, score, "17") for tag, score in [("space", 0.2), ("crime", 0.6)]]
    >>> queue = ReviewQueue(candidates, Ledger.open(mkdtemp() + "/films.decisions.jsonl"))
    >>> first = queue.next()
    >>> first.tag
    'crime'
    >>> queue.decide(first, accept=True).what
    'tag-wrong'
    >>> queue.next().tag, queue.n_left, queue.precision
    ('space', 1, 1.0)
    """

    def __init__(self, candidates: Iterable[Candidate], ledger: Ledger) -> None:
        self.ledger = ledger
        self._candidates = list(candidates)
        self._kinds = np.array([KINDS.index(candidate.kind) for candidate in self._candidates], np.int64)
        scores = np.clip([candidate.score for candidate in self._candidates], LIMIT, 1 - LIMIT)
        self._logits = np.log(scores / (1 - scores))
        self._repairs = np.array([candidate.repairs for candidate in self._candidates], np.float64)
        self._skips = np.zeros(len(self._candidates), np.int64)
        self._index = {id(candidate): number for number, candidate in enumerate(self._candidates)}
        self._duplicates = np.flatnonzero(self._kinds == KINDS.index(DUPLICATE)).tolist()
        self._numbers_of: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._numbers_with: dict[str, list[int]] = defaultdict(list)
        for number, candidate in enumerate(self._candidates):
            self._numbers_with[candidate.tag].append(number)
            if candidate.kind != DUPLICATE:
                self._numbers_of[candidate.document, candidate.tag].append(number)
            else:
                self._numbers_with[candidate.other].append(number)
        self._renamed: dict[tuple[int, str, str], Candidate] = {}  # kept, so that callers may hold them
        self._canonical: Mapping[str, str] = {}
        self._asked = self._candidates
        self._repeated = np.zeros(len(self._candidates), np.bool_)
        self._state: Decisions | None = None
        self.update()

    @cached_property
    def _number_by_key(self) -> dict[str, int]:
        return {candidate.key: number for number, candidate in enumerate(self._candidates)}

    def find(self, key: str) -> Candidate | None:
        """Return the candidate of a key, decided or not; after a merge, that of the canonical names.

        Parameters
        ----------
        key : str
            ``Candidate.key``.

        Returns
        -------
        Candidate or None
            The candidate; None if there is none of this key.
        """
        number = self._number_by_key.get(key)
        if number is None:
            numbers = (n for (n, *_), candidate in self._renamed.items() if candidate.key == key)
            number = min(numbers, key=lambda n: (self._repeated[n], n), default=None)  # that which is asked
        return None if number is None else self._asked[number]

    def update(self) -> None:
        """Read the ledger, and calibrate and sort the queue by its decisions.

        Decisions are looked up among the candidates and not the reverse, because there may be many more candidates.
        """
        self.ledger.refresh()
        state = self.ledger.state
        if state is self._state:
            return
        self._state = state
        if state.canonical != self._canonical:
            self._rename(state.canonical)
        self._decided = np.zeros(len(self._candidates), np.bool_)
        self._accepted = np.zeros(len(self._candidates), np.bool_)
        variants: dict[str, list[str]] = defaultdict(list)
        for variant, name in state.canonical.items():
            variants[name].append(variant)
        for document, verdicts in state.verdicts.items():
            for tag, verdict in verdicts.items():
                for name in (tag, *variants.get(tag, ())):
                    for number in self._numbers_of.get((document, name), ()):
                        self._decided[number] = True
                        self._accepted[number] = self._candidates[number]._is_accepted_by(verdict)
        for number in self._duplicates:
            outcome = self._candidates[number].outcome(state)
            self._decided[number], self._accepted[number] = outcome is not None, outcome is True
        self._probabilities = np.empty(len(self._candidates))
        for kind in range(len(KINDS)):
            rows = self._kinds == kind
            known = rows & self._decided & ~self._repeated
            intercept, slope = _calibrate(self._logits[known], self._accepted[known])
            self._probabilities[rows] = 1 / (1 + np.exp(-(intercept + slope * self._logits[rows])))

    def _rename(self, canonical: Mapping[str, str]) -> None:
        """Ask about merged tags under their canonical names, and once."""
        self._canonical = dict(canonical)
        self._asked = list(self._candidates)
        self._repeated[:] = False
        groups: dict[tuple[str, ...], set[int]] = defaultdict(set)
        for name in {*canonical, *canonical.values()}:
            for number in self._numbers_with.get(name, ()):
                candidate = self._renamed_candidate(number)
                if candidate.kind != DUPLICATE:
                    groups[candidate.document, candidate.tag, ""].add(number)
                elif candidate.tag != candidate.other:  # else it has been accepted
                    groups[tuple(sorted((candidate.tag, candidate.other)))].add(number)
        for same in groups.values():
            first = min(same, key=self._precedence)
            self._repeated[[number for number in same if number != first]] = True

    def _precedence(self, number: int) -> tuple[bool, float, int]:
        """The order of candidates that ask the same after a merge: the first of them is asked.

        A tag that the document has under any name is not missing, and is wrong only if it is so under all of them.
        """
        kind, logit = self._candidates[number].kind, float(self._logits[number])
        return kind == MISSING, logit if kind == SUSPICIOUS else -logit, number

    def _renamed_candidate(self, number: int) -> Candidate:
        """The candidate with the canonical names of its tags, which is asked from now on."""
        candidate, canonical = self._candidates[number], self._canonical
        tag, other = canonical.get(candidate.tag, candidate.tag), canonical.get(candidate.other, candidate.other)
        if (tag, other) != (candidate.tag, candidate.other):
            if (number, tag, other) not in self._renamed:
                renamed = replace(candidate, tag=tag, other=other)
                self._renamed[number, tag, other] = renamed
                self._index[id(renamed)] = number
            self._asked[number] = self._renamed[number, tag, other]
        return self._asked[number]

    def next(self, kind: str | None = None) -> Candidate | None:
        """Return the most useful undecided candidate; those that were skipped come last.

        Parameters
        ----------
        kind : {"suspicious", "missing", "duplicate"} or None, default=None
            Candidates of this kind only.

        Returns
        -------
        Candidate or None
            The candidate; None if all are decided.
        """
        return next(iter(self.upcoming(1, kind)), None)

    def upcoming(self, n: int, kind: str | None = None) -> list[Candidate]:
        """Return the first candidates of the queue.

        Parameters
        ----------
        n : int
            How many, at most.
        kind : {"suspicious", "missing", "duplicate"} or None, default=None
            Candidates of this kind only.

        Returns
        -------
        list of Candidate
            The candidates, the most useful decision first.
        """
        values = self._probabilities * self._repairs
        left = self._left if kind is None else self._left & (self._kinds == KINDS.index(kind))
        found: list[Candidate] = []
        while len(found) < n and left.any():
            first = left & (self._skips == self._skips[left].min())
            number = int(np.argmax(np.where(first, values, -1.0)))
            found.append(self._asked[number])
            left[number] = False
        return found

    @property
    def _left(self) -> Any:
        return ~self._decided & ~self._repeated

    def probability(self, candidate: Candidate) -> float:
        """Return the calibrated probability that a candidate of this queue is accepted.

        Parameters
        ----------
        candidate : Candidate
            The candidate.

        Returns
        -------
        float
            The probability.
        """
        return float(self._probabilities[self._index[id(candidate)]])

    def decide(
        self,
        candidate: Candidate,
        *,
        accept: bool = True,
        correction: str | None = None,
        why: str = "",
        who: str | None = None,
    ) -> Decision:
        """Record a decision, and calibrate the queue by it.

        Parameters
        ----------
        candidate : Candidate
            What was decided.
        accept : bool, default=True
            Whether the answer to its question is yes; not used with a correction.
        correction : str or None, default=None
            The right tag, if it is another one; see `Candidate.correction`.
        why : str, default=""
            The reason.
        who : str or None, default=None
            Who decided; None is the ledger's ``who``.

        Returns
        -------
        Decision
            The decision on the candidate as it was recorded.
        """
        decisions = [candidate.decision(accept=accept)] if correction is None else candidate.correction(correction)
        # the last one decides the candidate: a process that is killed before it leaves the question in the queue
        recorded = [self.ledger.record(what, who=who, why=why, **fields) for what, fields in decisions]
        self.update()
        return recorded[-1]

    def skip(self, candidate: Candidate) -> None:
        """Put a candidate last; nothing is recorded.

        Parameters
        ----------
        candidate : Candidate
            The candidate.
        """
        self._skips[self._index[id(candidate)]] += 1

    def progress(self, kind: str) -> tuple[int, int, int]:
        """Return the numbers of accepted, of decided and of all candidates of a kind.

        Parameters
        ----------
        kind : {"suspicious", "missing", "duplicate"}
            The kind.

        Returns
        -------
        tuple of int
            Accepted, decided, all.
        """
        rows = (self._kinds == KINDS.index(kind)) & ~self._repeated
        return int(self._accepted[rows].sum()), int(self._decided[rows].sum()), int(rows.sum())

    @property
    def expected(self) -> float:
        """The expected number of candidates that are still to be accepted."""
        return float(self._probabilities[self._left].sum())

    @property
    def n_decided(self) -> int:
        """The number of decided candidates."""
        return int((self._decided & ~self._repeated).sum())

    @property
    def n_left(self) -> int:
        """The number of undecided candidates."""
        return int(self._left.sum())

    @property
    def precision(self) -> float | None:
        """The share of decided candidates that were accepted; None before the first decision."""
        decided = self._decided & ~self._repeated
        return float(self._accepted[decided].mean()) if decided.any() else None


def _calibrate(logits: Float64s, accepted: Any) -> tuple[float, float]:
    """Intercept and slope of a logistic regression, by Newton's method, with normal priors around 0 and 1."""
    prior, precision = np.array([0.0, 1.0]), np.array(PRIOR_PRECISION)
    found = prior.copy()
    if not len(logits):
        return 0.0, 1.0
    rows = np.column_stack([np.ones(len(logits)), logits])
    for _ in range(NEWTON_STEPS):
        probabilities = 1 / (1 + np.exp(-rows @ found))
        gradient = rows.T @ (accepted - probabilities) - precision * (found - prior)
        weights = probabilities * (1 - probabilities)
        hessian = (rows * weights[:, None]).T @ rows + np.diag(precision)
        step = np.linalg.solve(hessian, gradient)
        found = found + step
        if np.abs(step).max() < LIMIT:
            break
    return float(found[0]), float(max(found[1], 0.0))
