"""The ledger: a file of decisions, one JSON object per line, to which decisions are appended.

A line is written in one call while the file is locked, and synced to disk before ``record`` returns. A process that is
killed while it writes leaves at most an incomplete last line, which had not been reported as recorded; readers ignore
it, and the next writer removes it.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tagtopic._core.display import warn
from tagtopic._core.files import append_lock, write_all
from tagtopic.curation.decisions import UNDO, Decision, Decisions

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

NEW = "new"
"""The id of a decision that is not in a ledger yet."""

ID_DIGITS = 12
"""Hexadecimal digits of an id."""

SHOWN = 200
"""Characters of an incomplete line that a warning shows."""


class LedgerError(ValueError):
    """A file is not a ledger; the message has the file and the line.

    Examples
    --------
    >>> from tagtopic.curation import LedgerError
    >>> issubclass(LedgerError, ValueError)
    True
    """


class Ledger:
    """A file of decisions about tags, topics and words, beside a model: append-only, and shared by several writers.

    Make one with `open`. Decisions are replayed in the order of the file; an undo is a decision too, so that no line is
    ever changed. The file is UTF-8 JSON Lines, to be read, and if need be edited, by hand.

    Parameters
    ----------
    path : Path
        The file, such as ``films.decisions.jsonl``.
    who : str, default=""
        Who decides, for decisions that are recorded without ``who``.

    Attributes
    ----------
    path : Path
        The file.
    who : str
        Who decides.
    entries : tuple of Decision
        All decisions, in the order of the file.
    state : Decisions
        What they amount to.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from tagtopic import Corpus
    >>> from tagtopic.curation import Ledger
    >>> corpus = Corpus.from_texts(["a ship in space", "a killer"], [["sci-fi"], ["crime", "SF"]], ids=["17", "18"])
    >>> ledger = Ledger.open(mkdtemp() + "/films.decisions.jsonl", who="Ana")
    >>> merge = ledger.record("tags-merge", canonical="science fiction", variants=["sci-fi", "SF"])
    >>> wrong = ledger.record("tag-wrong", document="18", tag="science fiction", why="no space in it")
    >>> [document.tags for document in ledger.apply(corpus)]
    [('science fiction',), ('crime',)]
    >>> len(ledger.entries), ledger.state.canonical["SF"], ledger.who, ledger.path.name
    (2, 'science fiction', 'Ana', 'films.decisions.jsonl')
    """

    def __init__(self, path: Path, who: str = "") -> None:
        self.path = path
        self.who = who
        self._entries: list[Decision] = []
        self._lines_by_id: dict[str, int] = {}
        self._state: Decisions | None = None
        self._n_lines = 0
        self._end = 0
        self._last = b""
        self._mutex = threading.RLock()

    @classmethod
    def open(cls, path: str | PathLike[str], *, who: str = "") -> Ledger:
        """Open a ledger; a missing file is an empty one, and made by the first decision.

        Parameters
        ----------
        path : str or path-like
            The file.
        who : str, default=""
            Who decides.

        Returns
        -------
        Ledger
            The ledger, with the decisions of the file.

        Raises
        ------
        LedgerError
            If a line is not a decision; the message has its number.

        Examples
        --------
        >>> Ledger.open("nothing-here.decisions.jsonl").entries
        ()
        """
        ledger = cls(Path(path), who)
        ledger.refresh()
        return ledger

    @property
    def entries(self) -> tuple[Decision, ...]:
        """All decisions, in the order of the file."""
        return tuple(self._entries)

    @property
    def state(self) -> Decisions:
        """What the decisions amount to."""
        with self._mutex:
            if self._state is None:
                self._state = Decisions.replay(self._entries)
            return self._state

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.entries)

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r}, {len(self):,} decisions)"

    def refresh(self) -> bool:
        """Read what other writers have appended, or the whole file if it was edited.

        Returns
        -------
        bool
            Whether there was anything new.

        Raises
        ------
        LedgerError
            If a line is not a decision.

        Examples
        --------
        >>> other = Ledger.open(ledger.path)
        >>> added = other.record("words-ban", words=["film"])
        >>> ledger.refresh(), ledger.state.banned_words
        (True, ('film',))
        """
        with self._mutex:
            try:
                descriptor = os.open(self.path, os.O_RDONLY)
            except FileNotFoundError:
                had_any = bool(self._entries)
                self._forget()
                return had_any
            before = self.entries
            try:
                self._read(descriptor)
            finally:
                os.close(descriptor)
            return self.entries != before

    def record(self, what: str, *, who: str | None = None, why: str = "", **fields: Any) -> Decision:
        """Append a decision; when this returns, it is on disk.

        The kinds and their fields: ``tag-wrong``, ``tag-right``, ``tag-add`` and ``tag-reject`` (a prediction), each
        with ``document`` and ``tag``; ``tags-merge`` (``canonical``, ``variants``); ``tags-keep-apart`` (``tags``);
        ``topic-rename`` (``topic``, ``name``), ``topic-merge`` (``topics``) and ``topic-hide`` (``topic``), with topics
        as TopicReference; ``topic-seed`` (``name``, ``words``); ``words-ban`` (``words``); ``undo`` (``entry``, an id).

        Parameters
        ----------
        what : str
            The kind of decision.
        who : str or None, default=None
            Who decided; None is the ledger's ``who``.
        why : str, default=""
            The reason.
        **fields
            The fields of the kind.

        Returns
        -------
        Decision
            The decision as it was written.

        Raises
        ------
        ValueError
            If there is no such kind, or a field is missing, unknown or invalid.
        LedgerError
            If another writer has appended a line that is not a decision.

        Examples
        --------
        >>> ledger.record("tag-add", document="17", tag="space", who="Ben").fields
        {'document': '17', 'tag': 'space'}
        >>> ledger.record("tag-add", document="17")
        Traceback (most recent call last):
        ValueError: a decision tag-add needs "tag"
        """
        given = {"id": NEW, "what": what, "who": self.who if who is None else who, "why": why}
        (decision,) = self.extend([Decision.from_json({**fields, **given})])
        return decision

    def extend(self, decisions: Iterable[Decision]) -> tuple[Decision, ...]:
        """Append decisions, such as those of another ledger, in one write; when this returns, they are on disk.

        Parameters
        ----------
        decisions : iterable of Decision
            The decisions. Those whose id the ledger has are left out; those with the id "new" get an id, and those
            without a time the present one.

        Returns
        -------
        tuple of Decision
            The decisions that were appended.

        Raises
        ------
        ValueError
            If one undoes a decision that is neither in the ledger nor before it; nothing is appended then.
        LedgerError
            If another writer has appended a line that is not a decision.

        Examples
        --------
        >>> other = Ledger.open(mkdtemp() + "/other.decisions.jsonl", who="Ben")
        >>> added = other.record("tags-keep-apart", tags=["crime", "crimes"])
        >>> len(ledger.extend(other)), len(ledger.extend(other))
        (1, 0)
        """
        given = list(decisions)
        with self._mutex, append_lock(self.path) as descriptor:
            incomplete = self._read(descriptor)
            if incomplete:
                self._remove_incomplete(descriptor, incomplete)
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            added: dict[str, Decision] = {}
            for decision in given:
                if decision.id in self._lines_by_id or decision.id in added:
                    continue
                made = self._new_id(added) if decision.id == NEW else decision.id
                decision = replace(decision, id=made, time=decision.time or now)
                entry = decision.fields["entry"] if decision.what == UNDO else None
                if entry is not None and entry not in self._lines_by_id and entry not in added:
                    raise ValueError(f"there is no earlier decision {entry} to undo")
                added[decision.id] = decision
            if added:
                lines = [json.dumps(each.to_json(), ensure_ascii=False, allow_nan=False) for each in added.values()]
                joint = "\n" if self._last and not self._last.endswith(b"\n") else ""  # an editor left it out
                write_all(descriptor, (joint + "".join(f"{line}\n" for line in lines)).encode())
                self._read(descriptor)
        return tuple(added.values())

    def undo(self, decision: Decision | str, *, who: str | None = None, why: str = "") -> Decision:
        """Append an undo of a decision; the undo of an undo restores what it had undone.

        Parameters
        ----------
        decision : Decision or str
            The decision, or its id.
        who : str or None, default=None
            Who decided; None is the ledger's ``who``.
        why : str, default=""
            The reason.

        Returns
        -------
        Decision
            The undo.

        Raises
        ------
        ValueError
            If the ledger has no such decision.

        Examples
        --------
        >>> added = ledger.record("tag-add", document="18", tag="murder")
        >>> undone = ledger.undo(added)
        >>> added.id in ledger.state.undone
        True
        """
        entry = decision if isinstance(decision, str) else decision.id
        return self.record(UNDO, entry=entry, who=who, why=why)

    def apply(self, corpus: Corpus) -> Corpus:
        """Return the corpus as decided: tags merged, removed and added, banned words without occurrences.

        A decision on a document applies to every document with its id. Tags that no document has any more are dropped.
        Applied twice, the result is the same.

        Parameters
        ----------
        corpus : Corpus
            The documents; they are not changed.

        Returns
        -------
        Corpus
            The corrected documents.

        Examples
        --------
        >>> from tagtopic import Corpus
        >>> ledger.apply(Corpus.from_texts(["a ship"], [["SF"]])).tag_names
        ('science fiction',)
        """
        from tagtopic.curation.corrections import corrected_corpus

        return corrected_corpus(corpus, self.state)

    # ---- private

    def _new_id(self, taken: Container[str] = ()) -> str:
        while (made := uuid4().hex[:ID_DIGITS]) in self._lines_by_id or made in taken:
            pass
        return made

    def _forget(self) -> None:
        self._entries, self._lines_by_id, self._state = [], {}, None
        self._n_lines, self._end, self._last = 0, 0, b""

    def _read(self, descriptor: int) -> bytes:
        """Read on from the last known line, or from the start if what was read before has changed.

        Returns an incomplete last line, of which nothing is kept.
        """
        if not self._is_unchanged(descriptor):
            self._forget()
        try:
            for line in _read_from(descriptor, self._end).splitlines(keepends=True):
                if not line.endswith(b"\n") and not _is_json(line):
                    return line
                self._add_line(line)
        except ValueError:
            self._forget()  # so that a ledger that cannot be read is not taken for a shorter one
            raise
        return b""

    def _is_unchanged(self, descriptor: int) -> bool:
        """Whether the last line that was read is complete, and still where it was."""
        if not self._last.endswith(b"\n") or os.fstat(descriptor).st_size < self._end:
            return False
        return _read_from(descriptor, self._end - len(self._last), len(self._last)) == self._last

    def _add_line(self, line: bytes) -> None:
        self._n_lines += 1
        if line.strip():
            try:
                decision = Decision.from_json(_parse(line))
                self._check(decision)
            except ValueError as error:
                raise LedgerError(f"{self.path}, line {self._n_lines}: {error}") from None
            self._entries.append(decision)
            self._lines_by_id[decision.id] = self._n_lines
            self._state = None
        self._last = line
        self._end += len(line)

    def _check(self, decision: Decision) -> None:
        """Raise unless the id is new and an undo is of an earlier decision."""
        if decision.id in self._lines_by_id:
            raise ValueError(f"line {self._lines_by_id[decision.id]} has the same id, {decision.id}")
        if decision.what == UNDO and decision.fields["entry"] not in self._lines_by_id:
            raise ValueError(f"there is no earlier decision {decision.fields['entry']} to undo")

    def _remove_incomplete(self, descriptor: int, line: bytes) -> None:
        """Remove what a killed writer left; the file is locked."""
        os.ftruncate(descriptor, self._end)
        text = line.decode(errors="replace")[:SHOWN]
        warn(f"{self.path}, line {self._n_lines + 1}: removed an incomplete last line: {text}")


def _read_from(descriptor: int, start: int, size: int | None = None) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(start)
        return file.read() if size is None else file.read(size)


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None


def _is_json(line: bytes) -> bool:
    try:
        _parse(line)
    except ValueError:
        return False
    return True
