"""Documents on their way into a corpus, in batches."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tagtopic.corpus.tokens import Tokens

BATCH_CHARACTERS = 1 << 21  # of text tokenized at a time: several batches are in memory at once
BATCH_ROWS = 1 << 13


@dataclass(frozen=True)
class Rows:
    """Some documents in a row: their texts (or words), the tags of each, and their ids."""

    texts: list[str]
    tags: list[list[str]]
    ids: list[str]
    tokens: Tokens | None = None  # instead of texts, from sources whose words are numbers already


def rows_of_texts(texts: Iterable[Any]) -> Iterator[Rows]:
    """Texts in memory as batches; None, and what data frames put in its place, count as empty."""
    if isinstance(texts, str):
        raise TypeError(f"texts is one string, {texts[:50]!r}: expected a list of texts, one a document")
    batch: list[str] = []
    size = done = 0
    for i, given in enumerate(texts):
        text = "" if is_missing(given) else given
        if not isinstance(text, str):
            raise TypeError(f"the text of document {i} is {text!r:.50}, a {type(text).__name__}: expected a string")
        batch.append(text)
        size += len(text)
        if size >= BATCH_CHARACTERS or len(batch) >= BATCH_ROWS:
            yield _untagged(batch, done)
            done += len(batch)
            batch, size = [], 0
    if batch:
        yield _untagged(batch, done)


def is_missing(text: Any) -> bool:
    """Whether it is None, or the NaN or NA that data frames put in its place."""
    if isinstance(text, str):
        return False
    return text is None or (isinstance(text, float) and text != text) or type(text).__name__ == "NAType"


def _untagged(texts: list[str], first: int) -> Rows:
    return Rows(texts, [[] for _ in texts], [str(first + i) for i in range(len(texts))])
