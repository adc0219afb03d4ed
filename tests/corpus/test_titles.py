"""Titles of documents, and documents by id."""

from pathlib import Path

import numpy as np
import pytest

from tagtopic import Corpus

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
