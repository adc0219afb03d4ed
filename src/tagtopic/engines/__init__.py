"""Engines: where documents are inferred, on this machine or on a cluster.

``ENGINES`` lists them. To add one, subclass ``tagtopic.engines.base.Engine`` and add a row: the command line derives
its options from the table, and models use whichever engine they are given.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagtopic.engines.base import Engine
    from tagtopic.engines.local import LocalEngine
    from tagtopic.engines.spark.engine import SparkEngine

__all__ = ["ENGINES", "LocalEngine", "SparkEngine", "engine_class"]

WEIGHT_UPDATES = ("driver", "average", "plain-average", "components", "gradient")
"""How an engine on a cluster may update pi, the prior of the tag weights."""


@dataclass(frozen=True)
class EngineEntry:
    """An engine as the command line shows it, before its module is imported.

    Attributes
    ----------
    module, class_name : str
        Where its class is defined.
    on_cluster : bool
        Whether it needs the address of a cluster.
    weight_updates : tuple of str
        The updates of pi to choose from; empty if there is only one.
    """

    module: str
    class_name: str
    on_cluster: bool = False
    weight_updates: tuple[str, ...] = ()


ENGINES = {
    "local": EngineEntry("tagtopic.engines.local", "LocalEngine"),
    "spark": EngineEntry(
        "tagtopic.engines.spark.engine", "SparkEngine", on_cluster=True, weight_updates=WEIGHT_UPDATES
    ),
}
"""All engines by name, the default first."""


def engine_class(name: str) -> type[Engine]:
    """Return an engine's class by its name in ``ENGINES``.

    Parameters
    ----------
    name : str
        As in ``--engine``.

    Returns
    -------
    type

    Raises
    ------
    ValueError
        If there is no such engine.

    Examples
    --------
    >>> from tagtopic.engines import engine_class
    >>> engine_class("local").__name__
    'LocalEngine'
    """
    if name not in ENGINES:
        raise ValueError(f"engine={name!r}: expected one of {', '.join(map(repr, ENGINES))}")
    entry = ENGINES[name]
    found: type[Engine] = getattr(import_module(entry.module), entry.class_name)
    return found


def imported_engines() -> list[type[Engine]]:
    """Return the classes of the engines whose modules this process has imported."""
    return [engine_class(name) for name, entry in ENGINES.items() if entry.module in sys.modules]


def __getattr__(name: str) -> Any:
    for entry in ENGINES.values():
        if name == entry.class_name:
            return getattr(import_module(entry.module), name)
    raise AttributeError(f"module 'tagtopic.engines' has no attribute {name!r}")
