"""Who runs the E-step where: ``LocalEngine`` on this machine, ``SparkEngine`` on a cluster."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagtopic.engines.local import LocalEngine
    from tagtopic.engines.spark.engine import SparkEngine

_HOMES = {"LocalEngine": "tagtopic.engines.local", "SparkEngine": "tagtopic.engines.spark.engine"}

__all__ = ["LocalEngine", "SparkEngine"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tagtopic.engines' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
