"""A review of the tags of an explorer's documents: its queue, and answers that are recorded in a ledger.

A `Review` may be used from several threads. The queue is computed once, in the background.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tagtopic.curation.decisions import TOPIC_HIDE, TOPIC_MERGE, TOPIC_RENAME
from tagtopic.curation.ledger import LedgerError
from tagtopic.curation.queue import ReviewQueue, candidates_of
from tagtopic.explore.explorer import LazyValue, NotFoundError, start_thread

if TYPE_CHECKING:
    from tagtopic.curation import Decision, Ledger
    from tagtopic.explore.explorer import Explorer

PREDICTED = 5
"""Missing tags that are proposed per document, at most."""

ACCEPT, REJECT, CORRECT, SKIP = ANSWERS = ("accept", "reject", "correct", "skip")

NO_LEDGER = "there is nothing to record decisions in: start with --ledger to review tags"


class ReviewUnavailableError(Exception):
    """The queue is not ready, or the ledger cannot be read or written."""


class ConflictError(ValueError):
    """A question that was decided meanwhile, or that is no longer asked."""


class Review:
    """The queue of an explorer's documents, and the ledger that answers are recorded in.

    Parameters
    ----------
    explorer : Explorer
        The model and the documents.
    ledger : Ledger
        Where decisions are recorded.
    predicted : int, default=5
        Missing tags to propose per document, at most.

    Raises
    ------
    ValueError
        If there are no tagged documents, or the model cannot audit them.
    """

    def __init__(self, explorer: Explorer, ledger: Ledger, *, predicted: int = PREDICTED) -> None:
        if not explorer.can_audit:
            raise ValueError("a review needs tagged documents (--corpus), and a model with tags")
        self.explorer = explorer
        self.ledger = ledger
        self.predicted = predicted
        self.lock = threading.RLock()
        self._queue = LazyValue(self._make_queue)

    @property
    def queue(self) -> ReviewQueue:
        """The queue; to be used while ``lock`` is held."""
        return self._queue.get()

    @property
    def ready(self) -> bool:
        """Whether the queue has been computed."""
        return self._queue.ready

    def require_ready(self) -> Review:
        """Return this; raise `ReviewUnavailableError`, and compute the queue, if that has not been done."""
        if not self.ready:
            self.start()
            raise ReviewUnavailableError("the queue is being computed: ask again in a moment")
        return self

    def start(self) -> None:
        """Start to compute the queue in the background, unless it is ready or under way."""
        if not (self._queue.ready or self._queue.computing):
            start_thread(self._queue.get)

    def answer(
        self, key: str, answer: str, *, correction: str | None = None, why: str = "", who: str | None = None
    ) -> Decision | None:
        """Record the answer to a question; None if it was skipped.

        Parameters
        ----------
        key : str
            The key of the candidate.
        answer : {"accept", "reject", "correct", "skip"}
            The answer.
        correction : str or None, default=None
            The right tag, for "correct"; one that the model or the ledger knows, so that a typing error adds no tag.
        why : str, default=""
            The reason.
        who : str or None, default=None
            Who decided; None is the ledger's ``who``.

        Returns
        -------
        Decision or None
            The decision.

        Raises
        ------
        ConflictError
            If there is no such question, or it has been decided; nothing is recorded.
        ValueError
            If the answer is none, or the right tag is missing or unknown.
        """
        queue = self.queue
        with self.lock, self.reporting_failures():
            candidate = queue.find(key)
            if candidate is None:
                raise ConflictError("this question is not in the queue any more: nothing was recorded")
            if answer == SKIP:
                queue.skip(candidate)
                return None
            if answer not in ANSWERS:
                raise ValueError(f"there is no answer {answer!r:.40}: there are {', '.join(ANSWERS)}")
            right = self._known_tag(correction) if answer == CORRECT else None
            queue.update()
            if candidate.outcome(self.ledger.state) is not None:
                raise ConflictError("this was decided meanwhile, in another window or by another person")
            return queue.decide(candidate, accept=answer == ACCEPT, correction=right, why=why, who=who)

    def record(self, what: str, fields: dict[str, Any], *, why: str = "", who: str | None = None) -> Decision:
        """Record any decision; topics are given by their number in the model.

        Parameters
        ----------
        what : str
            The kind of decision.
        fields : dict
            Its fields.
        why : str, default=""
            The reason.
        who : str or None, default=None
            Who decided; None is the ledger's ``who``.

        Returns
        -------
        Decision
            The decision.
        """
        model = self.explorer.model
        given = dict(fields)
        if what in (TOPIC_RENAME, TOPIC_HIDE) and "topic" in given:
            given["topic"] = model.topic_reference(given["topic"])
        elif what == TOPIC_MERGE and "topics" in given:
            given["topics"] = [model.topic_reference(number) for number in given["topics"]]
        with self.lock, self.reporting_failures():
            return self.ledger.record(what, who=who, why=why, **given)

    def decisions(self) -> tuple[Sequence[Decision], Set[str]]:
        """Return all decisions of the ledger, and the ids of those that are undone.

        Returns
        -------
        tuple of a sequence of Decision and a set of str
            The decisions, in their order, and the ids.
        """
        with self.lock, self.reporting_failures():
            self.ledger.refresh()
            return self.ledger.entries, self.ledger.state.undone

    @contextmanager
    def reporting_failures(self) -> Iterator[None]:
        """Raise `ReviewUnavailableError` if the ledger cannot be read or written."""
        try:
            yield
        except LedgerError as error:
            raise ReviewUnavailableError(f"the ledger cannot be read, and no decision was recorded: {error}") from error
        except OSError as error:
            reason = error.strerror or error
            raise ReviewUnavailableError(
                f"the ledger cannot be used; the decision was not recorded: {reason}"
            ) from None

    def _known_tag(self, tag: str | None) -> str:
        if tag is None or not tag.strip():
            raise ValueError("the right tag is missing: give one, or accept or reject the tag in question")
        name = tag.strip()
        canonical = self.ledger.state.canonical
        if name in canonical:
            return canonical[name]
        if name in self.explorer.tag_numbers or name in canonical.values():
            return name
        raise ValueError(
            f"neither the model nor the ledger has a tag {name!r:.80}: choose a known one, kind included, or add it "
            "with 'tagtopic decisions add'"
        )

    def _make_queue(self) -> ReviewQueue:
        explorer = self.explorer
        corpus = explorer.documents
        predicted = explorer.model.predict_tags(corpus, self.predicted) if self.predicted else []
        return ReviewQueue(candidates_of(explorer.audit, predicted, corpus), self.ledger)


def require_review(explorer: Explorer) -> Review:
    """Return the review of an explorer; raise `NotFoundError` if there is none."""
    if explorer.review is None:
        raise NotFoundError(NO_LEDGER)
    return explorer.review
