"""Decisions of people about tags, topics and words: a file of decisions, and what follows from it.

``ledger`` has the file, ``decisions`` the kinds of decisions and the state that they amount to, ``corrections`` the
corrected tags of a corpus, ``matching`` the counterparts of topics in another model, ``records`` files with corrected
tags, ``queue`` what there is to decide, ``exchange`` questions and decisions for other tools, ``thesaurus`` canonical
lists of tags, ``imports`` decisions from files.
"""

from tagtopic.curation.decisions import Decision, Decisions, TopicReference
from tagtopic.curation.ledger import Ledger, LedgerError
from tagtopic.curation.matching import TopicMatch
from tagtopic.curation.queue import Candidate, ReviewQueue

__all__ = [
    "Candidate",
    "Decision",
    "Decisions",
    "Ledger",
    "LedgerError",
    "ReviewQueue",
    "TopicMatch",
    "TopicReference",
]
