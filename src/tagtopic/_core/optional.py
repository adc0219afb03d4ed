"""One message for every optional dependency that is not installed."""

from __future__ import annotations

from importlib.util import find_spec


class MissingExtraError(ImportError):
    """Something was asked for that needs packages which are not installed."""


def is_installed(package: str) -> bool:
    """Whether a package is there; it is not imported."""
    return find_spec(package) is not None


def require(*packages: str, extra: str, purpose: str) -> None:
    """Raise, saying how to install ``extra``, unless all the packages are there; none of them is imported."""
    missing = [package for package in packages if not is_installed(package)]
    if missing:
        raise MissingExtraError(
            f"{purpose} needs {' and '.join(missing)}, not installed here: pip install 'tagtopic[{extra}]'"
        )
