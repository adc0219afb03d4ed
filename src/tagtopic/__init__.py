"""tagtopic: topic models for documents that carry text and tags.

    from tagtopic import Corpus, TWDA

The names below are imported when first used, so that ``import tagtopic`` is quick.
"""

from __future__ import annotations

import gc
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tagtopic._version import __version__

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus, Document
    from tagtopic.curation import Ledger
    from tagtopic.models import LDA, TWDA, TWTM
    from tagtopic.models.topic_search import search_topics
    from tagtopic.tagging import TagPredictor

_HOMES = {
    "Corpus": "tagtopic.corpus",
    "Document": "tagtopic.corpus",
    "LDA": "tagtopic.models",
    "Ledger": "tagtopic.curation",
    "TWDA": "tagtopic.models",
    "TWTM": "tagtopic.models",
    "search_topics": "tagtopic.models.topic_search",
    "TagPredictor": "tagtopic.tagging",
}

__all__ = ["LDA", "TWDA", "TWTM", "Corpus", "Document", "Ledger", "TagPredictor", "__version__", "search_topics"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tagtopic' has no attribute {name!r}")
    collects = gc.isenabled()
    gc.disable()  # a tenth of the time of importing: NumPy, SciPy and scikit-learn make many objects and keep them
    try:
        return getattr(import_module(_HOMES[name]), name)
    finally:
        if collects:
            gc.enable()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
