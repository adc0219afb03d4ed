"""Questions about tags: prediction, audit, near-duplicates, explanations and rankings.

The names below are imported on first use, so that a model's fit loads only the predictor.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagtopic.tagging.audit import KindSummary, TagAudit, TagOnDocument, TagReport
    from tagtopic.tagging.duplicates import NearDuplicate, near_duplicates
    from tagtopic.tagging.explanation import Explanation, WordAssignment
    from tagtopic.tagging.labels import VocabularyPredictor
    from tagtopic.tagging.predictor import TagPredictor
    from tagtopic.tagging.ranking import RankedTag, RankedTags
    from tagtopic.tagging.reasons import Reasons, TagReasons

_MODULES = {
    "Explanation": "explanation",
    "KindSummary": "audit",
    "NearDuplicate": "duplicates",
    "RankedTag": "ranking",
    "RankedTags": "ranking",
    "Reasons": "reasons",
    "TagAudit": "audit",
    "TagOnDocument": "audit",
    "TagPredictor": "predictor",
    "TagReasons": "reasons",
    "TagReport": "audit",
    "VocabularyPredictor": "labels",
    "WordAssignment": "explanation",
    "near_duplicates": "duplicates",
}

__all__ = [
    "Explanation",
    "KindSummary",
    "NearDuplicate",
    "RankedTag",
    "RankedTags",
    "Reasons",
    "TagAudit",
    "TagOnDocument",
    "TagPredictor",
    "TagReasons",
    "TagReport",
    "VocabularyPredictor",
    "WordAssignment",
    "near_duplicates",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
