import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagtopic.corpus import Corpus, ReadError, ReadWarning

ALL: dict[str, Any] = {"min_df": 1, "max_df": 1.0, "stop_words": None}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "words.txt").write_text("engine\nnote\u00a0\nnote\n\u00a0\nunused\n")
    (tmp_path / "tags.txt").write_text("1843\nAda Lovelace\nNULL\n")
    (tmp_path / "documents.twtm").write_text("2 0 1 @ 2 0:2 1:1\n1 2 @ 1 2:3\n\n0 @ 2 3:5 0:1\n")
    return tmp_path


@pytest.mark.parametrize("name", ["", "documents.twtm", "*.twtm"])
def test_documents_with_their_dictionaries(folder: Path, name: str) -> None:
    corpus = Corpus.read(folder / name, **ALL)
    assert corpus.words == ("engine", "note")
    np.testing.assert_array_equal(corpus.counts.toarray(), [[2, 1], [0, 3], [1, 0]])
    assert [document.tags for document in corpus] == [("1843", "Ada Lovelace"), (), ()]
    assert corpus.ids == ["0", "1", "2"]
    assert "NULL" in Corpus.read(folder, stop_tags=(), **ALL).tag_names


def test_compressed_and_with_other_dictionaries(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    packed = folder / "elsewhere" / "d.twtm.gz"
    packed.write_bytes(gzip.compress((folder / "documents.twtm").read_bytes()))
    with pytest.raises(FileNotFoundError, match=r"words\.txt is missing"):
        Corpus.read(packed)
    dictionaries = (folder / "words.txt", folder / "tags.txt")
    assert len(Corpus.read(packed, dictionaries=dictionaries, **ALL)) == 3


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1 0 2 0:1", 'no "@"'),
        ("2 0 @ 1 0:1", "says '2' but has 1 tags"),
        ("1 0 @ 2 0:1", "says '2' but has 1 words"),
        ("@", "says 'nothing' but has 0 tags"),
        ("1 3 @ 1 0:1", "'3' where a tag from 0 to 2"),
        ("1 0 @ 1 5:1", "'5' where a word from 0 to 4"),
        ("1 0 @ 1 0", "'0' where word:count belongs"),
        ("1 0 @ 1 0:x", "'x' where a count"),
        ("1 0 @ 1 0:-1", "'-1' where a count"),
        ("1 -1 @ 1 0:1", "'-1' where a tag"),
        ("1 0 @ 1 0:99999999", "where a count"),
        ("1 0 @ 2 0:9999999 1:9999999", "more than 10,000,000 words"),
    ],
)
def test_bad_lines_are_reported(folder: Path, line: str, reason: str) -> None:
    (folder / "documents.twtm").write_text(f"0 @ 1 0:1\n{line}\n0 @ 1 0:1\n")
    with pytest.raises(ReadError, match=rf"documents\.twtm, line 2: .*{reason}"):
        Corpus.read(folder)
    with pytest.warns(ReadWarning, match="1 of 3 rows"):
        assert len(Corpus.read(folder, on_error="skip")) == 2


def test_bigrams_need_word_order(folder: Path) -> None:
    with pytest.raises(ValueError, match="bigrams cannot be found"):
        Corpus.read(folder, bigrams=0.5)


def test_a_dictionary_that_is_not_text_is_an_error(folder: Path) -> None:
    (folder / "words.txt").write_bytes(b"fine\n\xff\n")
    with pytest.raises(ReadError, match=r"words\.txt, line 2: is not utf-8"):
        Corpus.read(folder)
