"""What a person is told when there is nothing to show."""

from __future__ import annotations


class NothingToShowError(ValueError):
    """What was asked for is not there: no such topic, tag or document, or nothing was given to show it from."""
