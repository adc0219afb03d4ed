"""A vocabulary that exists already, such as a model's, made ready for looking words up."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tagtopic.corpus import checks
from tagtopic.corpus.names import Names
from tagtopic.corpus.wordtable import WordTable


@dataclass(frozen=True)
class KnownWords:
    """Words with a table of them, and those that are pairs ("machine translation") taken apart."""

    words: tuple[str, ...]
    table: WordTable
    pair_columns: NDArray[np.int32]
    first: Names
    second: Names


def known_words(words: Iterable[str]) -> KnownWords:
    """The words made ready; the last few vocabularies are kept, since a model asks again for every new text."""
    return _known_words(words if isinstance(words, str) else tuple(words))


@lru_cache(maxsize=4)
def _known_words(given: tuple[str, ...] | str) -> KnownWords:
    words = checks.names(given, "words")
    table = WordTable()
    packed = Names.of(words)
    table.add(packed, packed.hashes())
    parts = [(column, *word.partition(" ")) for column, word in enumerate(words) if " " in word]
    columns = np.array([column for column, *_ in parts], dtype=np.int32)
    return KnownWords(words, table, columns, Names.of(part[1] for part in parts), Names.of(part[3] for part in parts))
