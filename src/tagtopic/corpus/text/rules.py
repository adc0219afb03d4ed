"""Rules by which texts become words, and by which tags are kept.

The rules for texts are saved with a corpus and a model, so that new texts are processed in the same way.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tagtopic.corpus.text import stop_words

Tokenizer = Callable[[str], Iterable[str]]

MARKUP = ("strip", "keep")


@dataclass(frozen=True, kw_only=True)
class TextRules:
    """Rules by which texts become words, and by which words are kept.

    Parameters
    ----------
    lowercase : bool, default=True
        Whether words are lower-cased.
    tokenizer : callable, default=None
        A function from a text to its words, for scripts that do not separate words (Chinese, Japanese,
        Thai) or for special needs; its words are used unchanged, and `lowercase`, `min_length`, `max_length` and
        `numbers` do not apply to them. None: runs of letters, digits and inner underscores, in any script.
    min_length, max_length : int, default=2, 60
        Shorter and longer words (in characters) are dropped.
    numbers : bool, default=False
        Whether words without any letter are kept.
    stop_words : str or collection of str, default="auto"
        "auto" (the list of the language whose list covers most of the text, if it covers enough), a
        language such as "en" or "english", several as "en+de", a list of words, or None.
    min_df, max_df : int or float, default=None
        Words in fewer or more documents are dropped: a number of documents, or a share of them if a
        float. None: at least 1 document, rising to 5 in a corpus of 1,000; at most half of the documents in a
        corpus of 1,000 or more.
    max_words : int, default=100,000
        The largest size of the vocabulary: words in most documents are kept; None: all.
    bigrams : float, default=None
        Two words in sequence are joined ("machine translation") where their normalised pointwise mutual information,
        between -1 and 1, is at least this (0.5 is a good start). None: never.
    bigram_min_count : int, default=10
        Pairs with fewer occurrences are not joined.
    stem : str, default=None
        A language such as "en" or "english": words are reduced to their stems ("comput" for computer and computing) by
        its Snowball stemmer, which needs the extra `stem`. None: words stay as they are.
    markup : {"strip", "keep"}, default="strip"
        Whether URLs, HTML tags and entities, and the targets of Markdown links are left out of texts that have them.
        A `tokenizer` gets its texts unchanged.

    Raises
    ------
    ValueError, TypeError
        If a rule has a value that it cannot have.

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
    stop_words: str | Collection[str] | None = "auto"
    min_df: int | float | None = None
    max_df: int | float | None = None
    max_words: int | None = 100_000
    bigrams: float | None = None
    bigram_min_count: int = 10
    stem: str | None = None
    markup: str = "strip"

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
        if self.markup not in MARKUP:
            raise ValueError(f"markup={self.markup!r} must be one of {', '.join(map(repr, MARKUP))}")
        if self.stem is not None and not isinstance(self.stem, str):
            raise TypeError(f"stem={self.stem!r} must be a language such as 'en', or None")
        if self.stem is not None and self.tokenizer is not None:
            raise ValueError("stem is for the words of the usual tokenizer: one of your own has to stem them itself")

    def callable_tokenizer(self) -> Tokenizer:
        """Return the tokenizer; raise if these rules come from a file, which has only its name.

        Returns
        -------
        callable

        Raises
        ------
        ValueError
            If there is only a name.
        """
        if not callable(self.tokenizer):
            raise ValueError(
                f"texts were read with the tokenizer {self.tokenizer!r}, and a file keeps only its name: give the "
                "function again, as in model.rules_ = model.rules_.replace(tokenizer=function)"
            )
        return self.tokenizer

    def tokens(self, text: str) -> list[str]:
        """Return the words of a text in their order, rare, frequent and stop words included.

        Parameters
        ----------
        text : str
            The text.

        Returns
        -------
        list of str
            Its words.
        """
        from tagtopic.corpus.text import tokenizer  # which imports this module

        result = tokenizer.tokenize([text], self)
        return [result.words[number] for number in result.ids if number != tokenizer.GAP]

    def replace(self, **changes: Any) -> TextRules:
        """Return the rules with some changed.

        Parameters
        ----------
        **changes
            Rules by name.

        Returns
        -------
        TextRules
            The changed rules.
        """
        return dataclasses.replace(self, **changes)

    def document_limits(self, n_documents: int) -> tuple[int, int]:
        """Return the smallest and the largest number of documents that a word may be in.

        Parameters
        ----------
        n_documents : int
            Number of documents of the corpus.

        Returns
        -------
        least, most : int
            The limits, from `min_df` and `max_df`.
        """
        low = self.min_df if self.min_df is not None else min(5, max(1, n_documents // 200))
        high = self.max_df if self.max_df is not None else (0.5 if n_documents >= 1000 else 1.0)
        least = math.ceil(low * n_documents) if isinstance(low, float) else low
        most = math.floor(high * n_documents) if isinstance(high, float) else high
        return least, most

    def to_json(self) -> dict[str, Any]:
        """Return the rules as plain values; of a tokenizer only the name."""
        values = dataclasses.asdict(self)
        if callable(self.tokenizer):
            name = getattr(self.tokenizer, "__qualname__", type(self.tokenizer).__qualname__)
            values["tokenizer"] = f"{getattr(self.tokenizer, '__module__', '?')}:{name}"
        if isinstance(self.stop_words, tuple):
            values["stop_words"] = list(self.stop_words)
        return values

    @classmethod
    def from_json(cls, values: Any) -> TextRules:
        """Return the rules from the result of `to_json`; raise for anything else. No code is imported or executed.

        Parameters
        ----------
        values : dict
            What `to_json` returned.

        Returns
        -------
        TextRules
            The rules; a tokenizer is its name.

        Raises
        ------
        ValueError
            If the values are not rules.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(values, dict) or not known.issuperset(values):
            raise ValueError(f"these are not text rules: {values!r:.200}")
        try:
            return cls(**{"markup": "keep", **values})  # files of earlier versions were read with all markup
        except (TypeError, ValueError) as error:
            raise ValueError(f"these are not text rules: {error}") from None


def _check_df(name: str, value: int | float | None) -> None:
    if value is None:
        return
    if isinstance(value, bool) or (isinstance(value, float) and not 0 <= value <= 1) or value < 0:
        raise ValueError(f"{name}={value} must be a number of documents, or a share from 0.0 to 1.0, or None")


@dataclass(frozen=True, kw_only=True)
class TagRules:
    """Rules by which tags are kept.

    Parameters
    ----------
    min_tag_documents : int, default=1
        Tags on fewer documents are dropped.
    keep_kinds, drop_kinds : collection of str, default=None, ()
        Kinds to keep (None: all) and to drop; "" is the kind of tags without a colon.
    stop_tags : collection of str
        Tags to drop, in full or as the value after the kind; by default the common spellings of missing values.

    Examples
    --------
    >>> from tagtopic.corpus import TagRules
    >>> TagRules(drop_kinds=["year"]).keeps("year:1999")
    False
    """

    min_tag_documents: int = 1
    keep_kinds: Collection[str] | None = None
    drop_kinds: Collection[str] = ()
    stop_tags: Collection[str] = ("NULL", "null", "NaN", "nan", "N/A", "n/a")

    def __post_init__(self) -> None:
        for name in ("keep_kinds", "drop_kinds", "stop_tags"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))

    def keeps(self, tag: str) -> bool:
        """Return whether the tag is kept if it has enough documents.

        Parameters
        ----------
        tag : str
            The tag.

        Returns
        -------
        bool
            False if the tag or its kind is dropped.
        """
        kind, colon, value = tag.partition(":")
        kind = kind if colon else ""
        if tag in self.stop_tags or (colon and value in self.stop_tags) or kind in self.drop_kinds:
            return False
        return self.keep_kinds is None or kind in self.keep_kinds


def with_options(
    rules: TextRules | None, tag_rules: TagRules | None, options: Mapping[str, Any]
) -> tuple[TextRules, TagRules]:
    """Return the rules, defaults in place of None, with single ones replaced by name."""
    of_text = {field.name for field in dataclasses.fields(TextRules)}
    of_tags = {field.name for field in dataclasses.fields(TagRules)}
    for name in options:
        if name not in of_text | of_tags:
            raise TypeError(f"there is no option {name!r}; the rules are {', '.join(sorted(of_text | of_tags))}")
    return (
        dataclasses.replace(rules or TextRules(), **{name: options[name] for name in of_text & options.keys()}),
        dataclasses.replace(tag_rules or TagRules(), **{name: options[name] for name in of_tags & options.keys()}),
    )
