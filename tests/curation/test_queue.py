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


@pytest.mark.parametrize(("kind", "accepted_by"), [("suspicious", "tag-reject"), ("missing", "tag-right")])
def test_an_answer_is_about_the_tag_whatever_its_kind(kind: str, accepted_by: str, ledger: Ledger) -> None:
    candidate = Candidate(kind, "space", 0.5, "17")
    queue = ReviewQueue([candidate], ledger)
    for what in ("tag-wrong", "tag-right", "tag-add", "tag-reject"):
        ledger.record(what, document="17", tag="space")
        queue.update()
        has_tag = what in ("tag-right", "tag-add")
        assert candidate.outcome(ledger.state) is (has_tag == (kind == "missing"))
        assert queue.precision == float(candidate.outcome(ledger.state) is True)
    ledger.record(accepted_by, document="17", tag="space")
    assert candidate.outcome(ledger.state) is True


def test_decisions_about_merged_tags_count(ledger: Ledger) -> None:
    candidates = [suspicious("sci-fi", 0.9), suspicious("SF", 0.8, "18"), suspicious("crime", 0.7)]
    queue = ReviewQueue(candidates, ledger)
    ledger.record("tag-wrong", document="17", tag="science fiction")
    ledger.record("tag-right", document="18", tag="sci-fi")
    ledger.record("tags-merge", canonical="science fiction", variants=["sci-fi", "SF"])
    queue.update()
    assert [candidate.outcome(ledger.state) for candidate in candidates] == [True, False, None]
    assert (queue.upcoming(3), queue.progress("suspicious")) == ([candidates[2]], (1, 2, 3))


def test_merged_tags_are_asked_once_under_the_canonical_name(ledger: Ledger) -> None:
    candidates = [
        suspicious("sci-fi", 0.9),
        suspicious("SF", 0.6),  # of the same document: it has the tag if either is right
        Candidate("missing", "SF", 0.7, "17"),  # it has it under another name
        Candidate("missing", "SF", 0.3, "18"),
        Candidate("missing", "sci-fi", 0.5, "18"),
        Candidate("duplicate", "fantasy", 0.2, other="SF"),
        Candidate("duplicate", "fantasy", 0.4, other="sci-fi"),
        Candidate("duplicate", "sci-fi", 0.8, other="SF"),
    ]
    queue = ReviewQueue(candidates, ledger)
    merge = ledger.record("tags-merge", canonical="science fiction", variants=["sci-fi", "SF"])
    queue.update()
    asked = queue.upcoming(9)
    assert [(each.kind, each.tag, each.other, each.document) for each in asked] == [
        ("suspicious", "science fiction", "", "17"),
        ("missing", "science fiction", "", "18"),
        ("duplicate", "fantasy", "science fiction", ""),
    ]
    assert [round(queue.probability(each), 2) for each in asked[:2]] == [0.6, 0.5]
    assert [queue.progress(kind) for kind in ("suspicious", "missing", "duplicate")] == [
        (0, 0, 1), (0, 0, 1), (1, 1, 2)
    ]  # fmt: skip
    assert (queue.n_left, queue.n_decided) == (3, 1)
    assert queue.expected == pytest.approx(sum(map(queue.probability, asked)))
    before = queue.find(candidates[1].key)  # of a page that was loaded before the merge
    assert before is asked[0] is queue.find(asked[0].key)
    assert queue.decide(asked[0]).fields["tag"] == "science fiction"
    assert queue.decide(asked[2], accept=False).fields["tags"] == ("fantasy", "science fiction")
    assert queue.n_left == 1
    ledger.undo(merge)
    queue.update()
    assert candidates[4] in queue.upcoming(9)  # under its own name again
    assert queue.probability(asked[1]) > 0  # held by a page


def test_candidates_are_found_by_key_in_any_queue(ledger: Ledger) -> None:
    first = [suspicious("a", 0.9), Candidate("missing", "a", 0.9, "17"), Candidate("duplicate", "a", 0.5, other="b")]
    again = [Candidate("duplicate", "a", 0.1, other="b", repairs=3), suspicious("a", 0.2)]
    queue = ReviewQueue(first, ledger)
    assert len({candidate.key for candidate in first}) == 3
    assert [queue.find(candidate.key) for candidate in again] == [first[2], first[0]]
    assert queue.find("nothing") is None


def test_corrections_name_another_tag(ledger: Ledger) -> None:
    wrong, missing = suspicious("a", 0.9), Candidate("missing", "b", 0.8, "17")
    pair = Candidate("duplicate", "c", 0.7, other="d")
    queue = ReviewQueue([wrong, missing, pair], ledger)
    with pytest.raises(ValueError, match="the tag in question"):
        queue.decide(wrong, correction="a")
    assert not ledger.entries
    for candidate in (wrong, missing, pair):
        queue.decide(candidate, correction="d", who="Ben")
    assert [entry.what for entry in ledger] == ["tag-add", "tag-wrong", "tag-add", "tag-reject", "tags-merge"]
    assert ledger.state.corrected_tags("17", ["a", "c"]) == ["d"]
    assert (queue.n_left, queue.expected) == (0, 0.0)


def test_the_queue_of_one_kind(ledger: Ledger) -> None:
    queue = ReviewQueue([suspicious("a", 0.9), Candidate("missing", "b", 0.1, "17")], ledger)
    chosen = queue.next("missing")
    assert chosen is not None
    assert chosen.tag == "b"
    assert queue.next("duplicate") is None
    assert queue.expected == pytest.approx(1.0)


def test_rejections_do_not_raise_other_probabilities(ledger: Ledger) -> None:
    best, others = suspicious("a", 0.95), [suspicious(f"tag {n}", score) for n, score in enumerate((0.3, 0.05, 0.001))]
    queue = ReviewQueue([best, *others], ledger)
    before = [queue.probability(candidate) for candidate in others]
    queue.decide(best, accept=False)
    after = [queue.probability(candidate) for candidate in others]
    assert all(later < earlier for later, earlier in zip(after, before, strict=True))
    assert after == sorted(after, reverse=True)
