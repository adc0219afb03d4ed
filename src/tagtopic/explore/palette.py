"""The colours of topics: by number, the same in every view, light and dark.

The twelve were chosen by maximising the least OKLab distance between any two, as seen with normal sight and with
simulated protanopia, deuteranopia and tritanopia; on their ground each has a contrast of at least 3 to 1. From the 13th
topic on they come again: a colour never stands without its topic's number.
"""

from __future__ import annotations

LIGHT = (
    "#0556b9", "#de765d", "#068588", "#853685", "#9f761d", "#1d0280",
    "#4a96ec", "#601f45", "#2f5a09", "#cc4873", "#6b693e", "#908fb5",
)  # fmt: skip
DARK = (
    "#89c1fe", "#fda271", "#30b4ae", "#cb65e0", "#f4df8c", "#715ec3",
    "#b2e3fe", "#9c5e88", "#65904b", "#fb768d", "#b29e1d", "#c4c4c4",
)  # fmt: skip


def place(topic: int) -> int:
    """Which of the colours a topic has."""
    return topic % len(LIGHT)


def colour(topic: int, *, dark: bool = False) -> str:
    """The colour of a topic."""
    return (DARK if dark else LIGHT)[place(topic)]
