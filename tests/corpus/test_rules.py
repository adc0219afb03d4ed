import json
from typing import Any

import pytest

from tagtopic.corpus import TagRules, TextRules
from tagtopic.corpus.text import rules, stop_words


def my_tokenizer(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize(
    "given",
    [TextRules(), TextRules(stop_words=("a", "b"), min_df=0.1, max_df=7, bigrams=0.3), TextRules(stop_words=None)],
)
def test_json_keeps_every_rule(given: TextRules) -> None:
    assert TextRules.from_json(json.loads(json.dumps(given.to_json()))) == given


def test_json_has_only_the_name_of_a_tokenizer() -> None:
    loaded = TextRules.from_json(TextRules(tokenizer=my_tokenizer).to_json())
    assert isinstance(loaded.tokenizer, str)
    assert loaded.tokenizer.endswith(":my_tokenizer")
    with pytest.raises(ValueError, match=r"my_tokenizer.*give the function"):
        loaded.tokens("a b")
    assert loaded.replace(tokenizer=my_tokenizer).tokens("a b") == ["a", "b"]


@pytest.mark.parametrize("values", [None, [], {"unknown": 1}, {"min_length": "x"}, {"min_df": -1}, {"stop_words": [1]}])
def test_json_that_has_no_rules_is_an_error(values: Any) -> None:
    with pytest.raises(ValueError, match="not text rules"):
        TextRules.from_json(values)


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_df": -1},
        {"max_df": 1.5},
        {"min_df": True},
        {"max_words": 0},
        {"bigrams": 2.0},
        {"bigrams": True},
        {"min_length": 0},
        {"max_length": 1},
        {"stop_words": "klingon"},
        {"bigram_min_count": 0},
    ],
)
def test_impossible_rules_are_errors(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="|".join(wrong) + "|language"):
        TextRules(**wrong)


def test_a_tokenizer_must_be_a_function() -> None:
    with pytest.raises(TypeError, match="tokenizer must be a function"):
        TextRules(tokenizer=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "n", "limits"),
    [
        (TextRules(), 2, (1, 2)),
        (TextRules(), 600, (3, 600)),
        (TextRules(), 5000, (5, 2500)),
        (TextRules(min_df=0.1, max_df=0.9), 25, (3, 22)),
        (TextRules(min_df=7, max_df=9), 25, (7, 9)),
    ],
)
def test_document_limits(given: TextRules, n: int, limits: tuple[int, int]) -> None:
    assert given.document_limits(n) == limits


def test_every_language_has_stop_words() -> None:
    for code, name in stop_words.LANGUAGES.items():
        words = stop_words.of_language(code)
        assert words == stop_words.of_language(name.upper())
        assert len(words) > 90
        assert all(word == word.lower().strip() for word in words)
    assert {"the", "und"} <= stop_words.resolve("en+german")
    assert stop_words.resolve(["en", "own"]) == {"en", "own"}


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        (TagRules(), ["author:Ada", "year:1843", "draft"]),
        (TagRules(keep_kinds=("author", "")), ["author:Ada", "draft"]),
        (TagRules(drop_kinds="year"), ["author:Ada", "draft"]),
        (TagRules(stop_tags=("Ada", "draft")), ["year:1843", "NULL", "author:NULL"]),
    ],
)
def test_tags_are_kept_by_kind_and_stop_list(rule: TagRules, kept: list[str]) -> None:
    tags = ["author:Ada", "year:1843", "draft", "NULL", "author:NULL"]
    assert [tag for tag in tags if rule.keeps(tag)] == kept


def test_options_by_name_change_text_and_tag_rules() -> None:
    text, tags = rules.with_options(TextRules(min_df=3), None, {"max_df": 9, "min_tag_documents": 2})
    assert (text.min_df, text.max_df, tags.min_tag_documents) == (3, 9, 2)
    with pytest.raises(TypeError, match=r"no option 'mindf'; the rules are .*min_df"):
        rules.with_options(None, None, {"mindf": 3})
