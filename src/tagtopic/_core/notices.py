"""Warnings that point at the line of the person who is warned."""

from __future__ import annotations

import sys
import warnings

BETWEEN = ("tagtopic", "sklearn")
"""Packages in which that line is not: ours, and scikit-learn, which wraps our methods."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest line that called this package."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
