"""How topics depend on covariates and time, how they group, and what to call them, each with its uncertainty.

The names below are imported on first use, so that a fit does not load them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagtopic.analysis.contrast import Contrast
    from tagtopic.analysis.effects import Effects
    from tagtopic.analysis.hierarchy import Group
    from tagtopic.analysis.labels import TopicDescription
    from tagtopic.analysis.table import Table
    from tagtopic.analysis.timeline import Timeline
    from tagtopic.analysis.trends import Trends

_MODULES = {
    "Contrast": "contrast",
    "Effects": "effects",
    "Group": "hierarchy",
    "Table": "table",
    "Timeline": "timeline",
    "TopicDescription": "labels",
    "Trends": "trends",
}

__all__ = ["Contrast", "Effects", "Group", "Table", "Timeline", "TopicDescription", "Trends"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
