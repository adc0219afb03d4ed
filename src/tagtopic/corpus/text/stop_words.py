"""Stop words by language, and the detection of a language by them."""

from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files

LANGUAGES = {
    "cs": "czech", "da": "danish", "de": "german", "en": "english", "es": "spanish", "fi": "finnish", "fr": "french",
    "hu": "hungarian", "id": "indonesian", "it": "italian", "nb": "norwegian", "nl": "dutch", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish", "tr": "turkish", "uk": "ukrainian",
}  # fmt: skip
CODES = {name: code for code, name in LANGUAGES.items()}

# In running text the list of its language covers 30 to 50 % of the words, that of a related language 10 to 20 %
AUTO_SHARE = 0.15


@cache
def of_language(language: str) -> frozenset[str]:
    """Return the stop words of a language, given by its code or English name."""
    code = CODES.get(language.lower(), language.lower())
    if code not in LANGUAGES:
        known = ", ".join(f"{code} ({name})" for code, name in LANGUAGES.items())
        raise ValueError(f"there are no stop words for the language {language!r}; there are for {known}")
    text = (files("tagtopic.corpus.text") / "languages" / f"{code}.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def resolve(given: str | Iterable[str] | None) -> frozenset[str]:
    """Return the stop words of a language ("en", "english"), of several ("en+de"), of a list of words, or of None."""
    if given is None:
        return frozenset()
    if isinstance(given, str):
        return frozenset().union(*(of_language(language.strip()) for language in given.split("+")))
    words = frozenset(given)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"stop_words has {word!r}, a {type(word).__name__}: expected words")
    return words


def detect(share_covered: Callable[[frozenset[str]], float]) -> str | None:
    """Return the language whose list covers the largest share of the words, if the share is large enough."""
    shares = {code: share_covered(of_language(code)) for code in LANGUAGES}
    best = max(shares, key=lambda code: shares[code])
    return best if shares[best] >= AUTO_SHARE else None
