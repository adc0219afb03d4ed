"""What each Unicode character does to a word: a table with one entry a code point, made once a process."""

import unicodedata
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

HARD = 0  # ends a word and a phrase: punctuation, symbols
SOFT = 1  # ends a word but not a phrase: white space, hyphens, apostrophes
LETTER = 2  # letters and the marks that belong to them, without which Hindi or Tamil words fall apart
DIGIT = 3
CONNECTOR = 4  # the underscore: part of a word only inside it
IGNORED = 5  # soft hyphen, joiners, byte order mark: inside a word but not of it

N_CODE_POINTS = 0x110000
# where letters, marks and digits can be: the first planes, and the variation selectors; the rest is private or empty
ASSIGNED = (range(0x323B0), range(0xE0000, 0xE01F0))
APOSTROPHES = "'’ʼ"
ZERO_WIDTH_SPACE = "\u200b"  # is of category Cf, but it separates words in Khmer and Thai texts
PARAGRAPH_SEPARATOR = "\u2029"  # what we put between the text columns of one document


def character_class(character: str) -> int:
    """The class of one character."""
    if character in APOSTROPHES or character == ZERO_WIDTH_SPACE or character in "\t\n\v\f\r":
        return SOFT
    if character == PARAGRAPH_SEPARATOR:
        return HARD
    category = unicodedata.category(character)
    if category[0] in "LM":
        return LETTER
    if category[0] == "N":
        return DIGIT
    if category[0] == "Z" or category == "Pd":
        return SOFT
    return {"Pc": CONNECTOR, "Cf": IGNORED}.get(category, HARD)


def lower(character: str) -> str:
    """The lower case as one character; the only one that needs two, the Turkish İ, becomes i."""
    return character.lower()[0]


@lru_cache(maxsize=1)
def class_table() -> NDArray[np.uint8]:
    """The class of every code point."""
    table = np.zeros(N_CODE_POINTS, dtype=np.uint8)
    for part in ASSIGNED:
        table[part.start : part.stop] = [character_class(chr(code)) for code in part]
    return table


@lru_cache(maxsize=2)
def case_table(lowercase: bool) -> NDArray[np.int32]:
    """What every code point is replaced by: its lower case, or itself."""
    table = np.arange(N_CODE_POINTS, dtype=np.int32)
    if lowercase:
        part = ASSIGNED[0]
        table[part.start : part.stop] = [ord(lower(chr(code))) for code in part]
    return table
