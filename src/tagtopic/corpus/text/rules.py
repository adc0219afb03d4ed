"""How texts become words, as a value that is saved with a corpus or a model so that new text is treated the same."""

import dataclasses
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypedDict

from tagtopic.corpus.text import stop_words

Tokenizer = Callable[[str], Iterable[str]]


@dataclass(frozen=True)
class TextRules:
    """How texts become words and which words are kept.

    Parameters
    ----------
    lowercase:
        Whether words are lower-cased.
    tokenizer:
        A function from a text to its words, for scripts that do not separate words (Chinese, Japanese,
        Thai) or to taste; its words are taken as they are, and the next four rules do not apply to them.
        None: runs of letters, digits and inner underscores, in any script.
    min_length, max_length:
        Shorter and longer words (in characters) are dropped.
    numbers:
        Whether words without any letter are kept.
    stop_words:
        "auto" (the list of the language whose list covers most of the text, if one covers enough), a
        language such as "en" or "english", several as "en+de", a list of words of your own, or None.
    min_df, max_df:
        Words in fewer or more documents are dropped: a number of documents, or a share of them when a
        float. None stands for sensible ones: at least 1 document, rising to 5 in a corpus of 1,000;
        at most half of the documents in a corpus of 1,000 or more.
    max_words:
        Of the rest, so many are kept, those in most documents first; None: all.
    bigrams:
        Two words that follow each other are one word ("machine translation") where their normalised
        pointwise mutual information, between -1 and 1, is at least this (0.5 is a good start). None: never.
    bigram_min_count:
        Pairs seen fewer times are never joined.

    Examples
    --------
    >>> from tagtopic.corpus import TextRules
    >>> TextRules().tokens("Don't panic in 1999")
    ['don', 'panic', 'in']
    """

    lowercase: bool = True
    tokenizer: Tokenizer | str | None = None
    min_length: int = 2
    max_length: int = 60
    numbers: bool = False
    stop_words: str | tuple[str, ...] | None = "auto"
    min_df: int | float | None = None
    max_df: int | float | None = None
    max_words: int | None = 100_000
    bigrams: float | None = None
    bigram_min_count: int = 10

    def __post_init__(self) -> None:
        if self.stop_words is not None and not isinstance(self.stop_words, str):
            object.__setattr__(self, "stop_words", tuple(self.stop_words))
        if self.tokenizer is not None and not callable(self.tokenizer) and not isinstance(self.tokenizer, str):
            raise TypeError(f"tokenizer must be a function from a text to its words, not {self.tokenizer!r}")
        if self.stop_words != "auto":
            stop_words.resolve(self.stop_words)
        if not 1 <= self.min_length <= self.max_length:
            raise ValueError(f"min_length={self.min_length} must be from 1 to max_length={self.max_length}")
        for name in ("min_df", "max_df"):
            _check_df(name, getattr(self, name))
        if self.max_words is not None and self.max_words < 1:
            raise ValueError(f"max_words={self.max_words} must be at least 1, or None for no limit")
        if self.bigrams is not None and (isinstance(self.bigrams, bool) or not -1 <= self.bigrams <= 1):
            raise ValueError(f"bigrams={self.bigrams} must be an association from -1 to 1 (try 0.5), or None")
        if self.bigram_min_count < 1:
            raise ValueError(f"bigram_min_count={self.bigram_min_count} must be at least 1")

    def callable_tokenizer(self) -> Tokenizer:
        """The function itself; an error if these rules come from a file, which keeps only its name."""
        if not callable(self.tokenizer):
            raise ValueError(
                f"texts were read with the tokenizer {self.tokenizer!r}, and a file keeps only its name: give the "
                "function again, as in model.rules_ = model.rules_.replace(tokenizer=function)"
            )
        return self.tokenizer

    def tokens(self, text: str) -> list[str]:
        """The words of one text in their order, before any is dropped for being rare, common or a stop word."""
        from tagtopic.corpus.text import tokenizer as tokens  # it is above this module

        result = tokens.tokenize([text], self)
        return [result.words[number] for number in result.ids if number != tokens.GAP]

    def replace(self, **changes: Any) -> "TextRules":
        """The same rules with some changed."""
        return dataclasses.replace(self, **changes)

    def document_limits(self, n_documents: int) -> tuple[int, int]:
        """The least and the most documents that a word may be in."""
        low = self.min_df if self.min_df is not None else min(5, max(1, n_documents // 200))
        high = self.max_df if self.max_df is not None else (0.5 if n_documents >= 1000 else 1.0)
        least = math.ceil(low * n_documents) if isinstance(low, float) else low
        most = math.floor(high * n_documents) if isinstance(high, float) else high
        return least, most

    def to_json(self) -> dict[str, Any]:
        """The rules as plain values; of a tokenizer only the name is kept."""
        values = dataclasses.asdict(self)
        if callable(self.tokenizer):
            name = getattr(self.tokenizer, "__qualname__", type(self.tokenizer).__qualname__)
            values["tokenizer"] = f"{getattr(self.tokenizer, '__module__', '?')}:{name}"
        if isinstance(self.stop_words, tuple):
            values["stop_words"] = list(self.stop_words)
        return values

    @classmethod
    def from_json(cls, values: Any) -> "TextRules":
        """The rules from what `to_json` gave; an error for anything else. Nothing is imported or run."""
        known = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(values, dict) or not known.issuperset(values):
            raise ValueError(f"these are not text rules: {values!r:.200}")
        try:
            return cls(**values)
        except (TypeError, ValueError) as error:
            raise ValueError(f"these are not text rules: {error}") from None


def _check_df(name: str, value: int | float | None) -> None:
    if value is None:
        return
    if isinstance(value, bool) or (isinstance(value, float) and not 0 <= value <= 1) or value < 0:
        raise ValueError(f"{name}={value} must be a number of documents, or a share from 0.0 to 1.0, or None")


@dataclass(frozen=True)
class TagRules:
    """Which tags are kept.

    Parameters
    ----------
    min_tag_documents:
        Tags on fewer documents are dropped.
    keep_kinds, drop_kinds:
        Kinds to keep (None: all) and to drop; "" is the kind of tags without a colon.
    stop_tags:
        Tags to drop, written whole or as the value after the kind.

    Examples
    --------
    >>> from tagtopic.corpus import TagRules
    >>> TagRules(drop_kinds=["year"]).keeps("year:1999")
    False
    """

    min_tag_documents: int = 1
    keep_kinds: tuple[str, ...] | None = None
    drop_kinds: tuple[str, ...] = ()
    stop_tags: tuple[str, ...] = ("NULL", "null", "NaN", "nan", "N/A", "n/a")

    def __post_init__(self) -> None:
        for name in ("keep_kinds", "drop_kinds", "stop_tags"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))

    def keeps(self, tag: str) -> bool:
        """Whether the tag may stay, whatever the number of its documents."""
        kind, colon, value = tag.partition(":")
        kind = kind if colon else ""
        if tag in self.stop_tags or (colon and value in self.stop_tags) or kind in self.drop_kinds:
            return False
        return self.keep_kinds is None or kind in self.keep_kinds


class RuleOptions(TypedDict, total=False):
    """Every rule by its name, as `Corpus.read` and `Corpus.from_texts` take them."""

    lowercase: bool
    tokenizer: Tokenizer | None
    min_length: int
    max_length: int
    numbers: bool
    stop_words: str | Iterable[str] | None
    min_df: int | float | None
    max_df: int | float | None
    max_words: int | None
    bigrams: float | None
    bigram_min_count: int
    min_tag_documents: int
    keep_kinds: Iterable[str] | None
    drop_kinds: Iterable[str]
    stop_tags: Iterable[str]


def with_options(
    rules: TextRules | None, tag_rules: TagRules | None, options: RuleOptions
) -> tuple[TextRules, TagRules]:
    """Rules (the usual ones where None is given) with single ones replaced by name."""
    of_text = {field.name for field in dataclasses.fields(TextRules)}
    of_tags = {field.name for field in dataclasses.fields(TagRules)}
    values: dict[str, Any] = dict(options)
    for name in values:
        if name not in of_text | of_tags:
            raise TypeError(f"there is no option {name!r}; the rules are {', '.join(sorted(of_text | of_tags))}")
    return (
        dataclasses.replace(rules or TextRules(), **{name: values[name] for name in of_text & values.keys()}),
        dataclasses.replace(tag_rules or TagRules(), **{name: values[name] for name in of_tags & values.keys()}),
    )
