"""Titles of documents, and documents by id."""

import random
from pathlib import Path

import numpy as np
import pytest

from tagtopic import Corpus
from tagtopic.corpus.text.titles import first_words, titles_of
from tagtopic.corpus.text.tokenizer import EncodedTexts

ROWS = [
    {"id": "a", "title": "On  Engines", "text": "The engine weaves algebra"},
    {"id": "b", "title": None, "text": "See <b>notes</b> at https://x.org/y on " + "storms " * 40, "label": "Storms"},
    {"id": "a", "title": 3, "text": ""},
]


def test_a_column_of_titles_is_found_and_texts_stand_in_for_missing_ones() -> None:
    corpus = Corpus.read(ROWS)
    assert corpus.titles is not None
    assert corpus.titles[0] == "On Engines"
    assert corpus.titles[1].startswith("See notes at on storms storms")
    assert corpus.titles[1].endswith("storms…")
    assert len(corpus.titles[1]) <= 80
    assert corpus.titles[2] == ""
    assert list(Corpus.read(ROWS, title="label").titles or ()) == ["The engine weaves algebra", "Storms", ""]
    assert Corpus.from_counts([[1]]).titles is None


SEPARATORS = (" ", " ", " ", "  ", "\t", "\n\n", "\x1c", "\u00a0", "\u2029", "")
WORDS = (
    "a", "of", "letters", "antidisestablishmentarianism" * 3, "\x00", "\u2026", "\ufb01ne",
    "\u201cquoted\u201d", "e\u0301", "\uff21", "\ud800", "<b>bold</b>", "https://x.org/y", "&amp;",
)  # fmt: skip


@pytest.mark.parametrize("strip", [True, False])
@pytest.mark.parametrize("n_kinds", [4, len(WORDS)])
def test_first_words_from_bytes_are_those_of_the_texts(strip: bool, n_kinds: int) -> None:
    choose = random.Random(0)
    texts = [
        "".join(choose.choice(WORDS[:n_kinds]) + choose.choice(SEPARATORS) for _ in range(choose.randrange(80)))
        for _ in range(2000)
    ]
    assert list(titles_of(texts, EncodedTexts.of(texts, strip=strip), strip=strip)) == [
        title.encode(errors="replace").decode() for title in (first_words(text, strip=strip) for text in texts)
    ]


@pytest.mark.parametrize("text", ["word " * 40, "word " * 15, " " * 300 + "word " * 40, "", "x" * 100, "x" * 81 + " y"])
def test_first_words_have_single_spaces_and_at_most_80_characters(text: str) -> None:
    words = " ".join(text.split())
    expected = words if len(words) <= 80 else words[:79].rpartition(" ")[0] + "…"
    assert first_words(text, strip=False) == first_words(text, strip=True) == expected


def test_titles_follow_their_documents(tmp_path: Path) -> None:
    corpus = Corpus.read(ROWS)
    assert list(corpus[::-1].titles or ()) == list(reversed(list(corpus.titles or ())))
    assert list(corpus[np.array([0, 0])].titles or ()) == ["On Engines"] * 2
    corpus.save(tmp_path / "saved")
    assert list(Corpus.open(tmp_path / "saved").titles or ()) == list(corpus.titles or ())
    assert Corpus.read(ROWS, to=tmp_path / "read")[0].title == "On Engines"
    assert corpus.align(["engine"], []).corpus[0].title == "On Engines"
    with pytest.raises(ValueError, match="there are 3 documents but 1 titles"):
        corpus.with_titles(["one"])


def test_a_document_is_found_by_its_id() -> None:
    corpus = Corpus.read(ROWS)
    assert corpus["a"] == corpus[0]  # the first of two
    assert corpus["b"].title.startswith("See notes")
    with pytest.raises(KeyError, match="there is no document 'bb'; near it are 'b'"):
        corpus["bb"]
