import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagtopic.corpus import TextRules
from tagtopic.corpus.text import tokenizer
from tagtopic.corpus.text.tokenizer import GAP, tokenize

# single characters, and pieces in which classes and byte lengths meet
odd = [
    "word",
    "WORD",
    "_",
    "a_b",
    "été",
    "İst",
    "Ⱥ",
    "हिन्दी",
    "ﬁ",
    "\xad",
    "\u200d",
    "\u200b",
    "12",
    "３",
    "𝒳",
    "-",
    ". ",
]
pieces = st.text(st.characters(), max_size=5) | st.sampled_from(odd)
texts = st.lists(pieces, max_size=12).map("".join)


def twin(text: str, rules: TextRules) -> list[str]:
    """The slow and plain way: classes as letters, words by a regular expression over them."""
    text = unicodedata.normalize("NFKC", text).encode(errors="replace").decode()
    visible = [c for c in text if tokenizer.character_class(c) != tokenizer.IGNORED]
    classes = "".join("HSLDC"[tokenizer.character_class(c)] for c in visible)
    words = []
    for match in re.finditer(r"[LD](?:[LDC]*[LD])?", classes):
        if rules.min_length <= len(match[0]) <= rules.max_length and ("L" in match[0] or rules.numbers):
            found = visible[match.start() : match.end()]
            cased = [tokenizer.lower(c) if rules.lowercase else c for c in found]
            words.append("".join("_" if k == "C" else c for c, k in zip(cased, match[0], strict=True)))
    return words


@given(st.lists(texts, max_size=12), st.booleans(), st.booleans(), st.integers(1, 3))
def test_the_kernel_equals_its_plain_python_twin(
    batch: list[str], lowercase: bool, numbers: bool, min_length: int
) -> None:
    rules = TextRules(lowercase=lowercase, numbers=numbers, min_length=min_length, max_length=12, markup="keep")
    tokens = tokenize(batch, rules)
    words = list(tokens.words)
    rows = [tokens.ids[tokens.offsets[i] : tokens.offsets[i + 1]] for i in range(len(batch))]
    assert [[words[j] for j in row] for row in rows] == [twin(text, rules) for text in batch]
    assert len(set(words)) == len(words)
    assert tokens.hashes.tolist() == tokens.words.hashes().tolist()


def test_the_end_of_a_text_ends_a_word() -> None:
    letters = list("abcdefghijklmnopqrstuvwxyz")
    tokens = tokenize(letters, TextRules(min_length=1))
    assert list(tokens.words) == letters
    assert tokens.ids.tolist() == list(range(26))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Cat's state-of-the-art mat.", ["the", "cat", "state", "of", "the", "art", "mat"]),
        ("L’Été à İzmir, ΛΌΓΟΣ", ["été", "izmir", "λόγοσ"]),
        ("हिन्दी में शब्द", ["हिन्दी", "में", "शब्द"]),
        ("слово за словом", ["слово", "за", "словом"]),
        ("كلمة في جملة", ["كلمة", "في", "جملة"]),
        ("한국어 단어", ["한국어", "단어"]),
        ("me\u0301tal m\u00e9tal e\ufb03cient", ["métal", "métal", "efficient"]),
        ("co\u00adoperate \ufeffbom", ["cooperate", "bom"]),
        ("_init_ snake_case __x__", ["init", "snake_case"]),
        ("3rd 42 1984 b2b", ["3rd", "b2b"]),
        ("", []),
        ("  \n\t…", []),
    ],
)
def test_words_of_many_scripts(text: str, words: list[str]) -> None:
    assert TextRules().tokens(text) == words


def test_the_hash_table_of_words_grows() -> None:
    text = " ".join(f"word{i}" for i in range(20_000))
    assert TextRules().tokens(text) == text.split()


def test_phrases_end_at_punctuation_but_not_at_hyphens() -> None:
    tokens = tokenize(["one-two three. four, 5 five"], TextRules(bigrams=0.5))
    names = [None if i == GAP else tokens.words[i] for i in tokens.ids]
    assert names == ["one", "two", "three", None, "four", None, "five", None]


def test_a_custom_tokenizer() -> None:
    rules = TextRules(tokenizer=lambda text: text.split("|"))
    assert rules.tokens("A|b c||1") == ["A", "b c", "1"]


def test_a_custom_tokenizer_must_return_words() -> None:
    with pytest.raises(TypeError, match="gave back the string"):
        TextRules(tokenizer=str).tokens("a")
    with pytest.raises(TypeError, match="cannot be used"):
        TextRules(tokenizer=lambda text: [1]).tokens("a")  # type: ignore[list-item]
    with pytest.raises(ValueError, match="cannot have spaces"):
        TextRules(tokenizer=lambda text: ["a b"], bigrams=0.5).tokens("a")


def test_an_enormous_word_is_dropped() -> None:
    tokens = tokenize(["x" * 30_000_000, "next"], TextRules())
    assert list(tokens.words) == ["next"]
    np.testing.assert_array_equal(tokens.offsets, [0, 0, 1])
