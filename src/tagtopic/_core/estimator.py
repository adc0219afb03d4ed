"""What the estimators use of scikit-learn, imported without packages that they do not use.

``sklearn.base`` imports ``scipy.stats``, and pandas if it is installed, for a few functions that are rarely called:
half of the time of ``from tagtopic import TWDA``. While it is imported here, placeholders take the place of these
modules; the first access to an attribute of one imports the real module.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

DEFERRED = ("scipy.stats", "pandas")


class _Placeholder(ModuleType):
    """Takes the place of a module until an attribute is read."""

    def __init__(self, spec: ModuleSpec) -> None:
        super().__init__(spec.name)
        self.__spec__ = spec

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            sys.modules.pop(self.__name__, None)
        return getattr(import_module(self.__name__), name)


@contextmanager
def deferred(*names: str) -> Iterator[None]:
    """Put placeholders in the place of modules that are installed and not yet imported, and remove them at the end."""
    placeholders = []
    for name in names:
        spec = None if name in sys.modules else find_spec(name)
        if spec is not None:
            placeholders.append(_Placeholder(spec))
            sys.modules[name] = placeholders[-1]
    try:
        yield
    finally:
        for placeholder in placeholders:
            if sys.modules.get(placeholder.__name__) is placeholder:
                del sys.modules[placeholder.__name__]


with deferred(*DEFERRED):
    _base: Any = import_module("sklearn.base")
    _exceptions: Any = import_module("sklearn.exceptions")
    _utils: Any = import_module("sklearn.utils")
    _validation: Any = import_module("sklearn.utils.validation")

BaseEstimator, TransformerMixin, clone = _base.BaseEstimator, _base.TransformerMixin, _base.clone
ClassNamePrefixFeaturesOutMixin = _base.ClassNamePrefixFeaturesOutMixin
NotFittedError = _exceptions.NotFittedError
check_random_state, estimator_html_repr = _utils.check_random_state, _utils.estimator_html_repr
check_is_fitted, check_non_negative = _validation.check_is_fitted, _validation.check_non_negative
validate_data = _validation.validate_data

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "NotFittedError",
    "TransformerMixin",
    "check_is_fitted",
    "check_non_negative",
    "check_random_state",
    "clone",
    "estimator_html_repr",
    "validate_data",
]
