"""Optional dependencies: one error message for every package that is not installed."""

from __future__ import annotations

from importlib.util import find_spec


class MissingExtraError(ImportError):
    """A feature needs packages that are not installed."""


def is_installed(package: str) -> bool:
    """Whether a package is installed; it is not imported."""
    return find_spec(package) is not None


def require(*packages: str, extra: str, purpose: str) -> None:
    """Raise, naming the extra to install, unless all the packages are installed; none of them is imported."""
    missing = [package for package in packages if not is_installed(package)]
    if missing:
        raise MissingExtraError(
            f"{purpose} needs {' and '.join(missing)}, not installed here: pip install 'tagtopic[{extra}]'"
        )
