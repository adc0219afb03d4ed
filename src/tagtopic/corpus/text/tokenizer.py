"""The tokenizer: texts to numbered words, in one pass over UTF-8 bytes that splits, lower-cases and looks words up.

A word is a run of letters, marks, digits and inner underscores, in any script that separates words; the class of each
Unicode character is in a table with one entry per code point. The kernel works on a batch of texts with a vocabulary
of its own, without the GIL, so that batches run in parallel; `StringTable` then numbers their words for the corpus.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import is_
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from tagtopic._core import arrays
from tagtopic._core.hashing import EMPTY, FNV_OFFSET, FNV_PRIME, fill_slots, splitmix64
from tagtopic._core.jit import compiled
from tagtopic._core.optional import require
from tagtopic._core.strings import StringArray, string_slot
from tagtopic.corpus.text.markup import may_have_markup, strip_markup
from tagtopic.corpus.text.rules import TextRules
from tagtopic.corpus.text.stop_words import LANGUAGES, of_language

GAP = -1
"""Stands in a sequence of words where no phrase can span."""

HARD = 0  # ends a word and a phrase: punctuation, symbols
SOFT = 1  # ends a word but not a phrase: white space, hyphens, apostrophes
LETTER = 2  # letters and their marks, without which Hindi or Tamil words would be split
DIGIT = 3
CONNECTOR = 4  # the underscore: part of a word only inside it
IGNORED = 5  # soft hyphen, joiners, byte order mark: inside a word but not part of it

CONTINUATION = np.int32(0x3F)
"""The bits that a continuation byte of UTF-8 adds; as an int32, since without Numba a shifted uint8 would overflow."""

N_CODE_POINTS = 0x110000
# code points of letters, marks and digits: the first planes and the variation selectors; the rest is private or empty
ASSIGNED = (range(0x323B0), range(0xE0000, 0xE01F0))
SPACES = "'’ʼ\t\n\v\f\r\u200b"
"""Separate words, against their category: apostrophes, control characters, the zero-width space of Khmer and Thai."""

PARAGRAPH_SEPARATOR = "\u2029"  # between the text columns of one document


MAX_CACHED_STEMS = 1 << 18
"""Words whose stems are cached."""

_stemmers = threading.local()


@dataclass(frozen=True)
class Tokens:
    """The words of a batch of documents: `words[ids[offsets[d]:offsets[d + 1]]]`, with gaps if phrases are needed."""

    offsets: NDArray[np.int64]
    ids: NDArray[np.int32]
    words: StringArray
    hashes: NDArray[np.uint64]


@dataclass(frozen=True)
class EncodedTexts:
    """A batch of texts in UTF-8: normalised, and without markup if that is to be stripped.

    Text i is ``data[starts[i]:stops[i]]``. ``may_have_markup`` are the texts from which markup may have been stripped,
    ``unchanged`` those whose bytes are the ones that were given.
    """

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    data: NDArray[np.uint8]
    may_have_markup: NDArray[np.bool_]
    unchanged: NDArray[np.bool_]

    @classmethod
    def of(cls, texts: Sequence[str], *, strip: bool) -> EncodedTexts:
        """Encode texts."""
        normal = [_normalise(text) for text in texts]
        unchanged = np.fromiter(map(is_, texts, normal), dtype=np.bool_, count=len(texts))
        encoded = _encode(normal)
        offsets = arrays.offsets_of(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)))
        starts, stops = offsets[:-1].copy(), offsets[1:].copy()
        data = bytearray().join(encoded)
        marked = _markup_candidates(data, offsets) if strip else np.zeros(len(texts), dtype=np.bool_)
        for i in np.flatnonzero(marked).tolist():  # they follow the others, which are not copied again
            starts[i] = len(data)
            data += _normalise(strip_markup(texts[i])).encode(errors="replace")
            stops[i] = len(data)
        return cls(starts, stops, np.frombuffer(data, dtype=np.uint8), marked, unchanged & ~marked)


def _normalise(text: str) -> str:
    """Return the text in NFKC, which unifies the forms of é and the ligatures of PDFs."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _encode(texts: list[str]) -> list[bytes]:
    """Return the texts in UTF-8; lone surrogates become "?"."""
    try:
        return list(map(str.encode, texts))  # in half the time of naming how errors are handled
    except UnicodeEncodeError:
        return [text.encode(errors="replace") for text in texts]


def _markup_candidates(data: bytearray, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The texts that may have markup; all of few, for which no kernel is loaded."""
    if len(data) < arrays.SMALL:
        return np.ones(len(offsets) - 1, dtype=np.bool_)
    return may_have_markup(np.frombuffer(data, dtype=np.uint8), offsets)


def tokenize(texts: Sequence[str] | EncodedTexts, rules: TextRules) -> Tokens:
    """Return the words of each text, by the rules."""
    if not isinstance(texts, EncodedTexts):
        if rules.tokenizer is not None:
            return _tokenize_with(rules.callable_tokenizer(), texts, rules.bigrams is not None)
        texts = EncodedTexts.of(texts, strip=rules.markup == "strip")
    data, n_texts = texts.data, len(texts.starts)
    classes, cases = class_table(), case_table(rules.lowercase)
    # pages beyond what is used are never touched, so generous bounds cost no memory
    ids = np.empty(len(data) + n_texts, dtype=np.int32)
    letters = np.empty(len(data) * 3 // 2 + 4, dtype=np.uint8)  # lower case takes at most 3 bytes for 2
    offsets = np.zeros(n_texts + 1, dtype=np.int64)
    most_words = (len(data) + n_texts) // 2  # a word takes a byte, and one more or the end of its text to end it
    word_offsets = np.zeros(most_words + 1, dtype=np.int64)
    hashes = np.empty(most_words, dtype=np.uint64)
    plain = np.zeros(256, dtype=np.uint8)
    plain[:128] = np.where(classes[:128] == LETTER, cases[:128], 0)
    n_words = _tokenize(
        data, texts.starts, texts.stops, classes, cases, plain, rules.min_length, rules.max_length, rules.numbers,
        rules.bigrams is not None, np.full(4096, EMPTY, dtype=np.int32), offsets, ids, word_offsets, letters, hashes,
    )  # fmt: skip
    words = StringArray(word_offsets[: n_words + 1].copy(), letters[: word_offsets[n_words]].copy())
    tokens = Tokens(offsets, ids[: offsets[-1]].copy(), words, hashes[:n_words].copy())
    return tokens if rules.stem is None else _stemmed(tokens, stemmer(rules.stem))


def _stemmed(tokens: Tokens, stem: Callable[[str], str]) -> Tokens:
    """Return the words reduced to their stems."""
    numbers: dict[str, int] = {}
    stems = [numbers.setdefault(stem(word), len(numbers)) for word in tokens.words]
    renumbered = np.array([*stems, GAP], dtype=np.int32)  # so that a gap, -1, stays one
    names = StringArray.of(numbers)
    return Tokens(tokens.offsets, renumbered[tokens.ids], names, names.hashes())


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
            if len(stems) >= MAX_CACHED_STEMS:
                stems.clear()
            stems[word] = word if word in stop_words else stem(word) or word
        return stems[word]

    return cached


def tokens_of_lists(documents: Sequence[Sequence[str]], *, phrases: bool) -> Tokens:
    """Return the words of documents that are lists of words."""
    return _tokenize_with(lambda words: words, documents, phrases)


def _tokenize_with(tokenizer: Callable[[Any], Iterable[str]], texts: Sequence[Any], phrases: bool) -> Tokens:
    """Return the words by a tokenizer of the user, unchanged except that empty ones are dropped."""
    number: dict[str, int] = {}
    ids: list[int] = []
    lengths: list[int] = []
    for text in texts:
        words = tokenizer(text)
        if isinstance(words, str):
            raise TypeError(f"the tokenizer gave back the string {words[:50]!r}: it must give a list of strings")
        before = len(ids)
        ids.extend(number.setdefault(word, len(number)) for word in words if word != "")
        lengths.append(len(ids) - before)
    try:
        names = StringArray.of(number)
    except (TypeError, ValueError) as error:
        raise type(error)(f"the tokenizer gave words that cannot be used: {error}") from None
    spaced = next((word for word in number if " " in word), None) if phrases else None
    if spaced is not None:
        raise ValueError(f"the tokenizer gave the word {spaced!r}: with bigrams, words cannot have spaces in them")
    offsets = arrays.offsets_of(np.array(lengths, dtype=np.int64))
    return Tokens(offsets, np.array(ids, dtype=np.int32), names, names.hashes())


@compiled
def _tokenize(
    data: Any,
    starts: Any,
    stops: Any,
    classes: Any,
    cases: Any,
    plain: Any,
    min_length: int,
    max_length: int,
    numbers: bool,
    gaps: bool,
    slots: Any,
    offsets: Any,
    ids: Any,
    word_offsets: Any,
    letters: Any,
    hashes: Any,
) -> int:
    """Fill the arrays from ``offsets`` on and return the number of distinct words.

    ``plain`` is the lower case of each byte that is a letter on its own, 0 for all others.
    """
    n_texts = starts.size
    n_ids = 0
    n_words = 0
    for text in range(n_texts):
        i = starts[text]
        end = stops[text]
        first_id = n_ids
        word_start = word_offsets[n_words]
        position = word_start
        h = FNV_OFFSET
        length = 0
        pending = 0
        has_letter = False
        while i <= end:
            # the common case: letters of one byte in sequence
            while pending == 0 and i < end and plain[data[i]]:
                letter = plain[data[i]]
                letters[position] = letter
                h = (h ^ np.uint64(letter)) * FNV_PRIME
                position += 1
                length += 1
                i += 1
                has_letter = True
            kind = HARD
            code = np.int32(0)
            if i == end:
                i += 1
            else:
                code = np.int32(data[i])
                if code < 0x80:
                    i += 1
                elif code < 0xE0:
                    code = ((code & 0x1F) << 6) | (data[i + 1] & CONTINUATION)
                    i += 2
                elif code < 0xF0:
                    code = ((code & 0x0F) << 12) | ((data[i + 1] & CONTINUATION) << 6) | (data[i + 2] & CONTINUATION)
                    i += 3
                else:
                    code = ((code & 0x07) << 18) | ((data[i + 1] & CONTINUATION) << 12)
                    code |= ((data[i + 2] & CONTINUATION) << 6) | (data[i + 3] & CONTINUATION)
                    i += 4
                kind = classes[code]
            if kind == LETTER or kind == DIGIT:  # noqa: SIM109
                if length > 0:
                    for _ in range(pending):
                        letters[position] = 95
                        h = (h ^ np.uint64(95)) * FNV_PRIME
                        position += 1
                        length += 1
                pending = 0
                start = position
                position = _append(letters, position, cases[code])
                for j in range(start, position):
                    h = (h ^ np.uint64(letters[j])) * FNV_PRIME
                length += 1
                has_letter |= kind == LETTER
            elif kind == CONNECTOR:
                pending += 1
            elif kind != IGNORED:
                if length > 0:
                    if min_length <= length <= max_length and (has_letter or numbers):
                        if n_words * 2 >= slots.size:
                            slots = fill_slots(hashes, n_words, slots.size * 4)
                        h = splitmix64(h)
                        slot = string_slot(slots, hashes, word_offsets, letters, h, letters, word_start, position)
                        if slots[slot] < 0:
                            slots[slot] = n_words
                            hashes[n_words] = h
                            n_words += 1
                            word_offsets[n_words] = position
                            word_start = position
                        ids[n_ids] = slots[slot]
                        n_ids += 1
                    elif gaps and n_ids > first_id and ids[n_ids - 1] != GAP:
                        ids[n_ids] = GAP
                        n_ids += 1
                    position = word_start
                    h = FNV_OFFSET
                    length = 0
                    has_letter = False
                pending = 0
                if gaps and kind == HARD and n_ids > first_id and ids[n_ids - 1] != GAP:
                    ids[n_ids] = GAP
                    n_ids += 1
        offsets[text + 1] = n_ids
    return n_words


@numba.njit(inline="always")
def _append(letters: Any, position: int, code: int) -> int:
    """Write a code point as UTF-8; return the position after it."""
    if code < 0x80:
        letters[position] = code
        return position + 1
    if code < 0x800:
        letters[position] = 0xC0 | (code >> 6)
        letters[position + 1] = 0x80 | (code & 0x3F)
        return position + 2
    if code < 0x10000:
        letters[position] = 0xE0 | (code >> 12)
        letters[position + 1] = 0x80 | ((code >> 6) & 0x3F)
        letters[position + 2] = 0x80 | (code & 0x3F)
        return position + 3
    letters[position] = 0xF0 | (code >> 18)
    letters[position + 1] = 0x80 | ((code >> 12) & 0x3F)
    letters[position + 2] = 0x80 | ((code >> 6) & 0x3F)
    letters[position + 3] = 0x80 | (code & 0x3F)
    return position + 4


def character_class(character: str) -> int:
    """Return the class of a character."""
    if character in SPACES:
        return SOFT
    if character == PARAGRAPH_SEPARATOR:
        return HARD
    return class_of_category(unicodedata.category(character))


def class_of_category(category: str) -> int:
    """Return the class of a Unicode category, but for characters that are exceptions."""
    if category[0] in "LM":
        return LETTER
    if category[0] == "N":
        return DIGIT
    if category[0] == "Z" or category == "Pd":
        return SOFT
    return {"Pc": CONNECTOR, "Cf": IGNORED}.get(category, HARD)


def lower(character: str) -> str:
    """Return the lower case as one character; the Turkish İ, the only one that needs two, becomes i."""
    return character.lower()[0]


@lru_cache(maxsize=1)
def class_table() -> NDArray[np.uint8]:
    """Return the class of every code point."""
    table = np.zeros(N_CODE_POINTS, dtype=np.uint8)
    for part in ASSIGNED:
        categories = [unicodedata.category(chr(code)) for code in part]
        classes = {category: class_of_category(category) for category in set(categories)}
        table[part.start : part.stop] = [classes[category] for category in categories]
    for character in (*SPACES, PARAGRAPH_SEPARATOR):
        table[ord(character)] = character_class(character)
    return table


@lru_cache(maxsize=2)
def case_table(lowercase: bool) -> NDArray[np.int32]:
    """Return the replacement of every code point: its lower case, or itself."""
    table = np.arange(N_CODE_POINTS, dtype=np.int32)
    if lowercase:
        part = ASSIGNED[0]
        table[part.start : part.stop] = [ord(lower(chr(code))) for code in part]
    return table
