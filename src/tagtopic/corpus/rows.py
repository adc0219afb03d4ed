"""Documents on their way into a corpus, in batches."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tagtopic.corpus.tokens import Tokens, tokens_of_lists

BATCH_CHARACTERS = 1 << 21  # of text tokenized at a time: several batches are in memory at once
BATCH_ROWS = 1 << 13


@dataclass(frozen=True)
class Rows:
    """Some documents in a row: their texts (or words), the tags of each, and their ids."""

    texts: list[str]
    tags: list[list[str]]
    ids: list[str]
    tokens: Tokens | None = None  # instead of texts, from sources whose words are numbers already


def rows_of_texts(texts: Iterable[Any], *, phrases: bool = False) -> Iterator[Rows]:
    """Texts in memory as batches, or lists of words; None, and what data frames put in its place, count as empty."""
    if isinstance(texts, str):
        raise TypeError(f"texts is one string, {texts[:50]!r}: expected a list of texts, one a document")
    batch: list[Any] = []
    size = done = 0
    for i, given in enumerate(texts):
        text = "" if is_missing(given) else given
        if not isinstance(text, str) and not is_words(text):
            raise TypeError(
                f"the text of document {i} is {text!r:.50}, a {type(text).__name__}: expected a string or words"
            )
        if batch and (
            size >= BATCH_CHARACTERS or len(batch) >= BATCH_ROWS or isinstance(text, str) != isinstance(batch[0], str)
        ):
            yield _untagged(batch, done, phrases)
            done += len(batch)
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield _untagged(batch, done, phrases)


def is_words(document: Any) -> bool:
    """Whether it is a text that was cut into words before."""
    return isinstance(document, list | tuple) and all(isinstance(word, str) for word in document)


def is_missing(text: Any) -> bool:
    """Whether it is None, or the NaN or NA that data frames put in its place."""
    if isinstance(text, str):
        return False
    return text is None or (isinstance(text, float) and text != text) or type(text).__name__ == "NAType"


def _untagged(texts: list[Any], first: int, phrases: bool) -> Rows:
    tags: list[list[str]] = [[] for _ in texts]
    ids = [str(first + i) for i in range(len(texts))]
    if isinstance(texts[0], str):
        return Rows(texts, tags, ids)
    return Rows([], tags, ids, tokens_of_lists(texts, phrases=phrases))
