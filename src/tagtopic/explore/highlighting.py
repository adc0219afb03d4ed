"""A text cut into pieces, so that each word of the vocabulary can be coloured where it stands.

The tokenizer gives words without places. So the text is cut at every character that ends a word, and all pieces are
tokenized at once by the model's rules: a piece is a word of the model if that gives one word which it knows.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Container
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tagtopic.corpus.text import tokenizer
from tagtopic.corpus.text.rules import TextRules
from tagtopic.corpus.text.tokenizer import tokenize

INSIDE = (tokenizer.LETTER, tokenizer.DIGIT, tokenizer.CONNECTOR, tokenizer.IGNORED)


@dataclass(frozen=True)
class Piece:
    """A part of a text as it was written, and the word of the vocabulary that it is, if it is one."""

    text: str
    word: str | None


def pieces_of(text: str, rules: TextRules, vocabulary: Container[str]) -> tuple[Piece, ...]:
    """The text in pieces; joined, they are the text. Two words that the model knows as a pair are one piece."""
    if not text:
        return ()
    cut = _cut(text)
    words = _words(cut, rules, vocabulary)
    joined = _with_pairs(cut, words, vocabulary) if rules.bigrams is not None else list(zip(cut, words, strict=True))
    found: list[Piece] = []
    for part, word in joined:
        if word is None and found and found[-1].word is None:
            found[-1] = Piece(found[-1].text + part, None)
        else:
            found.append(Piece(part, word))
    return tuple(found)


def _cut(text: str) -> list[str]:
    """Runs of characters that can be in a word, and runs of those that cannot, in turn."""
    kinds = {character: _is_inside(character) for character in set(text)}
    inside = np.fromiter((kinds[character] for character in text), bool, len(text))
    edges = [0, *(np.flatnonzero(inside[1:] != inside[:-1]) + 1).tolist(), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


def _is_inside(character: str) -> bool:
    """Whether a character, as the tokenizer will see it, can be in a word."""
    return any(tokenizer.character_class(part) in INSIDE for part in unicodedata.normalize("NFKC", character))


def _words(cut: list[str], rules: TextRules, vocabulary: Container[str]) -> list[str | None]:
    tokens = tokenize(cut, rules.replace(bigrams=None))
    single = np.diff(tokens.offsets) == 1
    names = list(tokens.words)
    found = [names[tokens.ids[start]] if one else None for start, one in zip(tokens.offsets[:-1], single, strict=True)]
    if rules.bigrams is not None:
        return found
    return [word if word is not None and word in vocabulary else None for word in found]


def _with_pairs(cut: list[str], words: list[str | None], vocabulary: Container[str]) -> list[tuple[str, str | None]]:
    """Pairs joined, from the left, where only white space and the like is between their words."""
    joined: list[tuple[str, str | None]] = []
    place = 0
    while place < len(cut):
        first, second = words[place], words[place + 2] if place + 2 < len(cut) else None
        pair = f"{first} {second}"
        if first and second and pair in vocabulary and _is_soft(cut[place + 1]):
            joined.append(("".join(cut[place : place + 3]), pair))
            place += 3
        else:
            joined.append((cut[place], first if first is not None and first in vocabulary else None))
            place += 1
    return joined


def _is_soft(between: str) -> bool:
    return all(tokenizer.character_class(character) == tokenizer.SOFT for character in between)
