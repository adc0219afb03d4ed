"""First words of texts, which stand for a title where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tagtopic._core.arrays import SMALL, offsets_of
from tagtopic._core.jit import compiled
from tagtopic._core.strings import StringArray
from tagtopic.corpus.text.markup import strip_markup
from tagtopic.corpus.text.tokenizer import EncodedTexts

TITLE_LENGTH = 80
"""Characters of a text that stand for its title."""

TITLE_SOURCE = 600
"""Characters of a text that are searched for its first words."""

ELLIPSIS = "…".encode()

WIDTH = TITLE_LENGTH + len(ELLIPSIS)
"""Bytes that the title of an ASCII text takes at most, or while it is written."""


def first_words(text: str, *, strip: bool) -> str:
    """Return the first words of a text, without markup if ``strip``, in at most ``TITLE_LENGTH`` characters."""
    start = text[: TITLE_LENGTH + 1]
    if not strip and len(start) > TITLE_LENGTH and _has_single_spaces(start):
        return _shortened(start)
    start = text[: 2 * TITLE_LENGTH]
    words = " ".join(start.split())
    if len(words) <= TITLE_LENGTH or (strip and ("<" in start or "](" in start or strip_markup(start) is not start)):
        start = text[:TITLE_SOURCE]  # much of it is spaces, or there is markup, which may be cut off
        words = " ".join((strip_markup(start) if strip else start).split())
    return words if len(words) <= TITLE_LENGTH else _shortened(words)


def _has_single_spaces(text: str) -> bool:
    """Whether a text is its words with a space between any two; of white space only the space is printable."""
    return text.isprintable() and "  " not in text and text[0] != " " and text[-1] != " "


def _shortened(words: str) -> str:
    return words[: TITLE_LENGTH - 1].rpartition(" ")[0] + "…"


def titles_of(texts: Sequence[str], encoded: EncodedTexts | None, *, strip: bool) -> StringArray:
    """Return the first words of each text, copied from its bytes where these are ASCII and unchanged.

    Parameters
    ----------
    texts : sequence of str
        The texts.
    encoded : EncodedTexts or None
        The same texts encoded, if they are, with the same ``strip``.
    strip : bool
        Whether markup is left out.

    Returns
    -------
    StringArray
        What `first_words` returns for each text.
    """
    if encoded is None or len(encoded.data) < SMALL:
        return StringArray.of([first_words(text, strip=strip) for text in texts], errors="replace")
    titles = np.empty(len(texts) * WIDTH, dtype=np.uint8)
    lengths = np.empty(len(texts), dtype=np.int64)
    ellipsis = np.frombuffer(ELLIPSIS, dtype=np.uint8)
    size = _copy_first_words(encoded.data, encoded.starts, encoded.stops, encoded.unchanged, ellipsis, titles, lengths)
    others = np.flatnonzero(lengths < 0)
    copied = titles[:size].tobytes()
    parts: list[bytes] = []
    start = 0
    may_have_markup = encoded.may_have_markup[others].tolist()
    for i, stop, marked in zip(others.tolist(), (-1 - lengths[others]).tolist(), may_have_markup, strict=True):
        parts += [copied[start:stop], first_words(texts[i], strip=marked).encode(errors="replace")]
        start = stop
    lengths[others] = list(map(len, parts[1::2]))
    return StringArray(offsets_of(lengths), np.frombuffer(b"".join([*parts, copied[start:]]), dtype=np.uint8))


@compiled
def _copy_first_words(
    data: Any, starts: Any, stops: Any, unchanged: Any, ellipsis: Any, titles: Any, lengths: Any
) -> int:
    """Write `first_words` of each text and its length, and return the number of bytes written.

    A text whose first words are not known from its bytes has the length -1 - p, where p is the place of its title.
    """
    size = 0
    for text in range(unchanged.size):
        length = 0
        last_space = 0
        after_space = False
        is_known = unchanged[text]
        if is_known:
            for i in range(starts[text], min(stops[text], starts[text] + TITLE_SOURCE)):
                c = data[i]
                if c == 0x20 or 0x09 <= c <= 0x0D or 0x1C <= c <= 0x1F:  # as str.split has it
                    after_space = length > 0
                    continue
                if c >= 0x80:
                    is_known = False
                    break
                if after_space:
                    if length < TITLE_LENGTH - 1:
                        last_space = length
                    titles[size + length] = 0x20
                    length += 1
                    after_space = False
                titles[size + length] = c
                length += 1
                if length > TITLE_LENGTH:
                    break
        if not is_known:
            lengths[text] = -1 - size
            continue
        if length > TITLE_LENGTH:
            length = last_space
            for byte in ellipsis:
                titles[size + length] = byte
                length += 1
        lengths[text] = length
        size += length
    return size
