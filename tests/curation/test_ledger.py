"""The file of decisions: appended by several writers, replayed to the same state, with errors that name the line."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tagtopic.curation import Decisions, Ledger, LedgerError

WRITER = """
import sys
from tagtopic.curation import Ledger
ledger = Ledger.open(sys.argv[1], who=sys.argv[2])
for n in range(int(sys.argv[3])):
    decision = ledger.record("tag-add", document=str(n), tag="x" * (n % 50 + 1))
    print(decision.id, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "films.decisions.jsonl"


def start_writer(path: Path, who: str, n: int) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", WRITER, str(path), who, str(n)], stdout=subprocess.PIPE, text=True)


def test_a_decision_is_one_line_that_can_be_read_by_hand(path: Path) -> None:
    Ledger.open(path, who="Zoë").record("tag-wrong", document="17", tag="café", why="no coffee")
    (line,) = path.read_text("utf-8").splitlines()
    record = json.loads(line)
    assert list(record) == ["id", "time", "who", "what", "document", "tag", "why"]
    assert (record["who"], record["what"], record["tag"], record["why"]) == ("Zoë", "tag-wrong", "café", "no coffee")
    assert "café" in line
    assert record["time"].endswith("+00:00")


def test_a_ledger_that_is_opened_again_has_the_same_state(path: Path) -> None:
    ledger = Ledger.open(path)
    first = ledger.record("tags-merge", canonical="SF", variants=["sci-fi"])
    ledger.record("tag-wrong", document="17", tag="sci-fi")
    ledger.undo(first)
    again = Ledger.open(path)
    assert again.entries == ledger.entries
    assert again.state == ledger.state
    assert again.state.to_json() == Decisions.replay(list(ledger)).to_json()


def test_writers_see_what_others_have_appended(path: Path) -> None:
    one, other = Ledger.open(path), Ledger.open(path)
    decision = one.record("words-ban", words=["film"])
    other.undo(decision)
    assert not one.state.undone
    assert one.refresh()
    assert not one.refresh()
    assert one.state.undone == {decision.id}
    assert one.entries == other.entries


def test_a_file_that_was_edited_is_read_again(path: Path) -> None:
    ledger = Ledger.open(path)
    ledger.record("words-ban", words=["film"])
    ledger.record("words-ban", words=["movie"])
    path.write_text(path.read_text().replace("movie", "novel"))
    assert ledger.refresh()
    assert ledger.state.banned_words == ("film", "novel")
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    ledger.record("words-ban", words=["book"])
    assert ledger.state.banned_words == ("book", "film")
    path.unlink()
    assert ledger.refresh()
    assert not ledger.entries


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_line_ends_that_an_editor_leaves_are_read(path: Path, end: str) -> None:
    Ledger.open(path).record("words-ban", words=["film"])
    path.write_bytes(path.read_bytes().rstrip() + end.encode())
    ledger = Ledger.open(path)
    assert len(ledger) == 1
    ledger.refresh()
    assert len(ledger) == 1
    ledger.record("words-ban", words=["movie"])
    assert len(ledger) == len(Ledger.open(path)) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: it is not JSON"),
        ("[1]", "line 2: a decision is an object"),
        ('{"id": "b", "what": "undo", "entry": "nothing"}', "line 2: there is no earlier decision nothing to undo"),
        ('{"id": "a", "what": "words-ban", "words": ["x"]}', "line 2: line 1 has the same id, a"),
        ("[" * 100_000, "line 2: it is nested too deeply"),
    ],
)
def test_errors_name_the_file_and_the_line(path: Path, line: str, message: str) -> None:
    path.write_text('{"id": "a", "what": "words-ban", "words": ["film"]}\n' + line + "\n")
    with pytest.raises(LedgerError, match=rf"films\.decisions\.jsonl, {message}"):
        Ledger.open(path)


def test_bytes_that_are_not_utf8_are_an_error(path: Path) -> None:
    path.write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(LedgerError, match="line 1: it is not UTF-8"):
        Ledger.open(path)


def test_a_damaged_ledger_is_not_appended_to(path: Path) -> None:
    ledger = Ledger.open(path)
    ledger.record("words-ban", words=["film"])
    path.write_text(path.read_text() + "nonsense\n")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="line 2"):
        ledger.record("words-ban", words=["movie"])
    assert path.read_bytes() == before


def test_invalid_decisions_are_not_written(path: Path) -> None:
    ledger = Ledger.open(path)
    with pytest.raises(ValueError, match='needs "tag"'):
        ledger.record("tag-add", document="17")
    with pytest.raises(ValueError, match="no earlier decision a1"):
        ledger.undo("a1")
    assert not path.exists() or not path.read_bytes()


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_an_incomplete_last_line_is_ignored_and_then_removed(path: Path, cut: int) -> None:
    ledger = Ledger.open(path)
    ledger.record("words-ban", words=["film"])
    complete = path.read_bytes()
    ledger.record("words-ban", words=["movie"])
    path.write_bytes(path.read_bytes()[:-cut] if cut < 60 else complete + b'{"id"')
    again = Ledger.open(path)
    assert again.state.banned_words == (("film", "movie") if cut == 1 else ("film",))
    if cut == 1:  # only the line end is missing
        again.record("words-ban", words=["book"])
    else:
        with pytest.warns(UserWarning, match="line 2: removed an incomplete last line"):
            again.record("words-ban", words=["book"])
    assert Ledger.open(path).entries == again.entries
    assert "book" in again.state.banned_words


def test_a_full_disk_leaves_the_file_as_it_was(path: Path, no_room: Callable[[], AbstractContextManager[None]]) -> None:
    ledger = Ledger.open(path)
    ledger.record("words-ban", words=["film"])
    before = path.read_bytes()
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with no_room(), pytest.raises(OSError, match="File too large"):
            ledger.record("words-ban", words=["movie"])
    finally:
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    assert Ledger.open(path).entries == ledger.entries


def test_threads_share_a_ledger(path: Path) -> None:
    ledger = Ledger.open(path)
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda n: ledger.record("tag-add", document=str(n), tag="x"), range(40)))
    assert {d.id for d in made} == {d.id for d in Ledger.open(path)}
    assert Ledger.open(path).entries == ledger.entries


def test_two_processes_lose_no_decision_when_both_are_killed(path: Path) -> None:
    """Whatever a writer has reported as recorded is in the file, and the file is whole, after kill -9."""
    reported: list[str] = []
    for kill_after in (1, 17):
        writers = [start_writer(path, who, 100_000) for who in ("Ana", "Ben")]
        for writer in writers:
            assert writer.stdout is not None
            reported += [writer.stdout.readline().strip() for _ in range(kill_after)]
        for writer in writers:
            os.kill(writer.pid, signal.SIGKILL)
        for writer in writers:
            reported += [line.strip() for line in writer.communicate()[0].splitlines(keepends=True) if "\n" in line]
    ledger = Ledger.open(path)
    assert set(reported) <= {decision.id for decision in ledger}
    assert {decision.who for decision in ledger} == {"Ana", "Ben"}
    assert Ledger.open(path).state.to_json() == ledger.state.to_json()
