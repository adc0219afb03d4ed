"""Markup in texts from the web: URLs, HTML tags and entities, and the targets of Markdown links.

What is removed is replaced by separators of the same length, so that positions in the text stay what they were.
"""

from __future__ import annotations

import re
from html import unescape

SEPARATOR = "\u2029"
"""Ends a word and a phrase."""

JOINER = "\u00ad"
"""Neither part of a word nor the end of one: it fills the place of an entity that stands for one letter."""

TAG_NAMES = (
    "a abbr address article aside b big blockquote body br button caption center cite code col colgroup dd del details "
    "div dl dt em figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd "
    "label li link main mark meta nav noscript ol option p param picture pre q s samp section select small source span "
    "strike strong sub summary sup svg table tbody td tfoot th thead title tr tt u ul var video wbr"
)

_ATTRIBUTE = r"""\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+)"""
_HIDDEN = re.compile(r"<!--.*?-->|<(script|style)\b[^>]*>.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(rf"</?(?:{'|'.join(TAG_NAMES.split())})(?:{_ATTRIBUTE})*\s*/?>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_LINK = re.compile(r"\]\([^\s()]*(?:\([^\s()]*\)[^\s()]*)*(?:\s+(?:\"[^\"]*\"|'[^']*'))?\)")
_URL = re.compile(r"(?:\b(?:https?|ftp)://|\bmailto:|\bwww\.(?=\w))[^\s<>\"'`{}|\\^]+", re.IGNORECASE)


def strip_markup(text: str) -> str:
    """Replace the markup of a text by separators; a text without markup is returned as it is.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    str
        A text of the same length, without URLs, HTML tags and comments, entities, and targets of Markdown links. The
        text of a link stays.
    """
    if "<" in text:
        text = _TAG.sub(_blank, _HIDDEN.sub(_blank, text))
    if "](" in text:
        text = _LINK.sub(_blank, text)
    if "://" in text or "www." in (lowered := text.lower()) or "mailto:" in lowered:
        text = _URL.sub(_blank, text)
    if "&" in text:
        text = _ENTITY.sub(_character, text)
    return text


def _blank(found: re.Match[str]) -> str:
    return SEPARATOR * len(found[0])


def _character(found: re.Match[str]) -> str:
    """The letter that an entity stands for; a separator for any other character."""
    character = unescape(found[0])
    if len(character) != 1 or not character.isalnum():
        return " " * len(found[0])
    return character + JOINER * (len(found[0]) - 1)
