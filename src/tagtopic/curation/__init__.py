"""Decisions of people about tags, topics and words: a file of decisions, and what follows from it.

``ledger`` has the file, ``decisions`` the kinds of decisions and the state that they amount to, ``corrections`` the
corrected tags of a corpus,
``matching`` the counterparts of topics in another model, ``records`` files with corrected tags.
"""

from tagtopic.curation.decisions import Decision, Decisions, TopicReference
from tagtopic.curation.ledger import Ledger, LedgerError
from tagtopic.curation.matching import TopicMatch

__all__ = ["Decision", "Decisions", "Ledger", "LedgerError", "TopicMatch", "TopicReference"]
