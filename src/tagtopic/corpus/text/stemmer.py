"""Stemming: inflected forms of a word become one, by the Snowball stemmers."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tagtopic._core.optional import require
from tagtopic.corpus.text.stop_words import LANGUAGES, of_language

_stemmers = threading.local()


def stemmer(language: str) -> Callable[[str], str]:
    """Return the stemmer of a language, one per thread: stemmers have a state.

    Stop words of the language are left as they are, so that they are still recognised.

    Parameters
    ----------
    language : str
        A language by its code or English name, such as "en" or "english".

    Returns
    -------
    callable
        A function from a word in lower case to its stem.

    Raises
    ------
    MissingExtraError
        If the package snowballstemmer is not installed.
    ValueError
        If there is no stemmer for the language.
    """
    name = LANGUAGES.get(language.lower(), language.lower())
    found: dict[str, Callable[[str], str]] = vars(_stemmers)
    if name not in found:
        found[name] = _new_stemmer(name)
    return found[name]


def check_language(language: str) -> None:
    """Raise unless there is a stemmer for a language."""
    stemmer(language)


def _new_stemmer(name: str) -> Callable[[str], str]:
    require("snowballstemmer", extra="stem", purpose="stemming")
    import snowballstemmer

    known = [language for language in snowballstemmer.algorithms() if language != "porter"]
    if name not in known:
        raise ValueError(f"there is no stemmer for the language {name!r}; there are {', '.join(sorted(known))}")
    stop_words = of_language(name) if name in LANGUAGES.values() else frozenset()
    stem = snowballstemmer.stemmer(name).stemWord
    stems: dict[str, str] = {}

    def cached(word: str) -> str:
        if word not in stems:
            if len(stems) >= MAX_CACHED:
                stems.clear()
            stems[word] = word if word in stop_words else stem(word) or word
        return stems[word]

    return cached


MAX_CACHED = 1 << 18
"""Words whose stems are cached."""
