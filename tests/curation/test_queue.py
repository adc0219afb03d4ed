"""The queue of candidates for decisions."""

from pathlib import Path

import numpy as np
import pytest

from tagtopic import TWDA, Ledger
from tagtopic.curation import Candidate, ReviewQueue
from tagtopic.curation.queue import candidates_of
from tagtopic.datasets import make_tagged_corpus


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "decisions.jsonl")


def suspicious(tag: str, score: float, document: str = "17") -> Candidate:
    return Candidate("suspicious", tag, score, document)


def next_tag(queue: ReviewQueue) -> str:
    candidate = queue.next()
    assert candidate is not None
    return candidate.tag


@pytest.mark.parametrize("accept", [True, False])
@pytest.mark.parametrize(
    ("candidate", "kinds"),
    [
        (suspicious("space", 0.5), ("tag-wrong", "tag-right")),
        (Candidate("missing", "space", 0.5, "17"), ("tag-add", "tag-reject")),
        (Candidate("duplicate", "SF", 0.5, other="sci-fi"), ("tags-merge", "tags-keep-apart")),
    ],
)
def test_decisions_are_recorded_and_not_asked_again(
    candidate: Candidate, kinds: tuple[str, str], accept: bool, ledger: Ledger
) -> None:
    queue = ReviewQueue([candidate], ledger)
    assert candidate.outcome(ledger.state) is None
    decision = queue.decide(candidate, accept=accept)
    assert decision.what == kinds[0 if accept else 1]
    assert candidate.outcome(ledger.state) is accept
    assert queue.next() is None
    assert ReviewQueue([candidate], Ledger.open(ledger.path)).next() is None
    assert (queue.n_decided, queue.n_left, queue.precision) == (1, 0, float(accept))
    ledger.undo(decision)
    queue.update()
    assert queue.next() is candidate


def test_the_order_is_by_probability_times_repairs(ledger: Ledger) -> None:
    many = Candidate("duplicate", "SF", 0.2, other="sci-fi", repairs=10)
    queue = ReviewQueue([suspicious("a", 0.5), suspicious("b", 0.9), many], ledger)
    assert next_tag(queue) == "SF"
    queue.decide(many, accept=True)
    assert next_tag(queue) == "b"


def test_skipped_candidates_come_last_and_nothing_is_recorded(ledger: Ledger) -> None:
    first, second = suspicious("a", 0.9), suspicious("b", 0.1)
    queue = ReviewQueue([first, second], ledger)
    queue.skip(first)
    assert next_tag(queue) == "b"
    queue.skip(second)
    assert next_tag(queue) == "a"
    assert not ledger.entries


def test_decisions_move_the_probabilities_of_their_kind(ledger: Ledger) -> None:
    wrong = [suspicious(f"tag {n}", 0.6, str(n)) for n in range(20)]
    missing = Candidate("missing", "space", 0.5, "17")
    queue = ReviewQueue([*wrong, missing], ledger)
    assert queue.probability(wrong[0]) == pytest.approx(0.6)
    assert next_tag(queue) == "tag 0"
    for candidate in wrong[:6]:
        queue.decide(candidate, accept=False)
    assert queue.probability(wrong[-1]) < 0.45
    assert queue.probability(missing) == pytest.approx(0.5)
    assert next_tag(queue) == "space"


def test_decisions_of_another_writer_count(ledger: Ledger) -> None:
    candidate = suspicious("a", 0.9)
    queue = ReviewQueue([candidate], ledger)
    Ledger.open(ledger.path).record("tag-wrong", document="17", tag="a")
    queue.update()
    assert queue.next() is None


def test_planted_wrong_tags_are_found_sooner_than_in_random_order(ledger: Ledger) -> None:
    drawn = make_tagged_corpus(400, 6, 25, 300, noise_tags=0.5, random_state=0)
    model = TWDA(6, random_state=0, max_iter=20).fit(drawn.corpus)
    rows = np.repeat(np.arange(len(drawn.corpus)), np.diff(drawn.corpus.tags.indptr))
    noise = {
        (int(row), drawn.corpus.tag_names[tag])
        for row, tag, is_noise in zip(rows, drawn.corpus.tags.indices, drawn.noise, strict=True)
        if is_noise
    }
    candidates = candidates_of(model.audit_tags(drawn.corpus), model.predict_tags(drawn.corpus, 3), drawn.corpus)
    assert {candidate.kind for candidate in candidates} >= {"suspicious", "missing"}
    own = {(int(row), drawn.corpus.tag_names[tag]) for row, tag in zip(rows, drawn.corpus.tags.indices, strict=True)}
    assert not [c for c in candidates if c.kind == "missing" and (c.document_number, c.tag) in own]
    queue = ReviewQueue([c for c in candidates if c.kind == "suspicious"], ledger)
    for _ in range(40):
        candidate = queue.next()
        assert candidate is not None
        queue.decide(candidate, accept=(candidate.document_number, candidate.tag) in noise)
    assert queue.precision is not None
    assert queue.precision > 2 * len(noise) / drawn.corpus.tags.nnz
