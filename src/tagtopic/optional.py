"""One message for every optional dependency that is not installed."""

from __future__ import annotations

from importlib.util import find_spec


class MissingExtraError(ImportError):
    """Something was asked for that needs packages which are not installed."""


def require(*packages: str, extra: str, purpose: str) -> None:
    """Raise, saying how to install ``extra``, unless all the packages are there; none of them is imported."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise MissingExtraError(
            f"{purpose} needs {' and '.join(missing)}, not installed here: pip install 'tagtopic[{extra}]'"
        )
