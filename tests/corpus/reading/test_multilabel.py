"""Public multi-label data sets: ARFF and the text format of extreme classification."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from tagtopic import Corpus
from tagtopic.corpus.reading.errors import ReadError, ReadWarning

EXTREME = "4 5 3\n0,2 0:1 3:2\n1 4:3\n 1:1\n0 2:1 1:1\n"

SPARSE = """% comment
@relation 'films: -C 2'
@attribute 'sea story' {0,1}
@attribute crime {0,1}
@attribute ship numeric
@attribute 'pirate\\'s' {0,1}
@attribute gold numeric

@data
{0 1,2 3,3 1}
{1 1,4 2}
% another comment
{}
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_extreme_classification_format(tmp_path: Path) -> None:
    corpus = Corpus.read(write(tmp_path / "train.txt", EXTREME), format="extreme")
    expected = [[1, 0, 0, 2, 0], [0, 0, 0, 0, 3], [0, 1, 0, 0, 0], [0, 1, 1, 0, 0]]
    np.testing.assert_array_equal(corpus.counts.toarray(), expected)
    np.testing.assert_array_equal(corpus.tags.toarray(), [[1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 0]])
    assert corpus.tag_names == ("0", "1", "2")
    assert np.issubdtype(corpus.counts.dtype, np.integer)


def test_extreme_format_with_names_weights_and_compression(tmp_path: Path) -> None:
    path = tmp_path / "train.txt.gz"
    path.write_bytes(gzip.compress(b"2 3 2\n0:0.5 2:1.25\n1 1:2\n"))
    words = write(tmp_path / "words.txt", "ship\ngold\nship\n")
    tags = write(tmp_path / "tags.txt", "sea\ncrime\n")
    corpus = Corpus.read(path, format="extreme", dictionaries=(words, tags))
    assert (corpus.words, corpus.tag_names) == (("ship", "gold", "ship (2)"), ("sea", "crime"))
    np.testing.assert_array_equal(corpus.counts.toarray(), [[0.5, 0, 1.25], [0, 2, 0]])
    np.testing.assert_array_equal(corpus.tags.toarray(), [[0, 0], [0, 1]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2 5\n", r"line 1: expected three whole numbers"),
        (EXTREME.replace("4:3", "5:3"), r"train.txt, line 3: has '5' where a word from 0 to 4"),
        (EXTREME.replace("0,2", "0,3"), r"line 2: has '3' where a tag from 0 to 2"),
        (EXTREME.replace("4:3", "4:-1"), r"line 3: has '-1' where a number from 0"),
        (EXTREME.replace("4:3", "4:nan"), r"line 3: has 'nan'"),
        (EXTREME.replace("4:3", "4"), r"line 3: has '4' where word:value"),
        (EXTREME.replace("4 5 3", "5 5 3"), r"says 5 documents and has 4"),
    ],
)
def test_damaged_extreme_files_are_reported(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ReadError, match=message):
        Corpus.read(write(tmp_path / "train.txt", text), format="extreme")


def test_bad_rows_can_be_skipped(tmp_path: Path) -> None:
    with pytest.warns(ReadWarning, match="1 of 4 rows were skipped"):
        corpus = Corpus.read(
            write(tmp_path / "train.txt", EXTREME.replace("4:3", "9:3")), format="extreme", on_error="skip"
        )
    assert len(corpus) == 3


def test_sparse_arff_of_meka(tmp_path: Path) -> None:
    corpus = Corpus.read(write(tmp_path / "films.arff", SPARSE))
    assert corpus.words == ("ship", "pirate's", "gold")
    assert corpus.tag_names == ("sea story", "crime")
    np.testing.assert_array_equal(corpus.counts.toarray(), [[3, 1, 0], [0, 0, 2], [0, 0, 0]])
    np.testing.assert_array_equal(corpus.tags.toarray(), [[1, 0], [0, 1], [0, 0]])
    last = Corpus.read(write(tmp_path / "last.arff", SPARSE.replace("-C 2", "-C -2")))
    assert last.tag_names == ("pirate's", "gold")


def test_dense_arff_of_mulan_with_labels_beside_it(tmp_path: Path) -> None:
    attributes = "@attribute ship numeric\n@attribute 'sea, open' {0,1}\n@attribute b NUMERIC\n"
    text = f"@relation films\n{attributes}@DATA\n2,1,0.5\n?,0,1\n"
    write(
        tmp_path / "films.xml", '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="sea, open"/></labels>'
    )
    corpus = Corpus.read(write(tmp_path / "films-train.arff", text))
    assert (corpus.words, corpus.tag_names) == (("ship", "b"), ("sea, open",))
    np.testing.assert_array_equal(corpus.counts.toarray(), [[2, 0.5], [0, 1]])
    np.testing.assert_array_equal(corpus.tags.toarray(), [[1], [0]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SPARSE.replace(": -C 2", ""), r"does not say which attributes are tags: expected films.xml"),
        (SPARSE.replace("@data", ""), r"no @data|where @attribute or @data"),
        (SPARSE.replace("{0 1,2 3,3 1}", "{0 1,9 3}"), r"films.arff, line 10: has '9' where a column"),
        (SPARSE.replace("{0 1,2 3,3 1}", "{0 2}"), r"line 10: has '2' where one of 0, 1 belongs, in 'sea story'"),
        (SPARSE.replace("{0 1,2 3,3 1}", "1,0,1"), r"line 10: has 3 values for 5 attributes"),
        (SPARSE.replace("{0 1,2 3,3 1}", "{0 1"), r"line 10: has no closing brace"),
        (SPARSE.replace("gold numeric", "gold string"), r"line 7: has an attribute of type 'string'"),
    ],
)
def test_damaged_arff_files_are_reported(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ReadError, match=message):
        Corpus.read(write(tmp_path / "films.arff", text))


def test_options_of_reading_apply(tmp_path: Path) -> None:
    path = write(tmp_path / "films.arff", SPARSE)
    assert Corpus.read(path, words=["gold", "silver"]).counts.toarray().tolist() == [[0, 0], [2, 0], [0, 0]]
    assert len(Corpus.read(path, to=tmp_path / "saved")) == len(Corpus.open(tmp_path / "saved")) == 3
    assert Corpus.read(path, stop_tags=["crime"]).tag_names == ("sea story",)
    with pytest.raises(ValueError, match="min_length can only be given where the texts themselves are read"):
        Corpus.read(path, min_length=4)
    with pytest.raises(ValueError, match="one file of this format at a time"):
        Corpus.read([path, path])
