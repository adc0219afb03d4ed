import csv
from pathlib import Path

import pytest

from tagtopic.corpus import Corpus, ReadError, ReadWarning
from tagtopic.corpus.reading.options import ReadOptions
from tagtopic.corpus.reading.reader import Reader


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv"


def test_quotes_embedded_newlines_and_crlf(path: Path) -> None:
    write(path, 'id,text,tags\r\na,"alpha, ""two""\r\nthree",x\r\n\r\nb,,"y\nz"\r\n')
    corpus = Corpus.read(path)
    assert corpus.ids == ["a", "b"]
    assert corpus[0].words == {"alpha": 1, "two": 1, "three": 1}
    assert corpus.tag_names == ("x", "y z")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_detected(path: Path, delimiter: str) -> None:
    write(path, f"id{delimiter}text\na{delimiter}engine\n")
    assert Corpus.read(path)[0].words == {"engine": 1}
    assert Corpus.read(path, delimiter=delimiter)[0].words == {"engine": 1}


def test_tab_separated_values(tmp_path: Path) -> None:
    write(tmp_path / "rows.tsv", "id\ttext\na\talpha, two\n")
    assert Corpus.read(tmp_path / "rows.tsv")[0].words == {"alpha": 1, "two": 1}


def test_tags_in_one_cell(path: Path) -> None:
    write(path, "text,tags,year\na,x; y ;;x,1843\nb,,\n")
    corpus = Corpus.read(path, tags=["tags", "year"], tag_separator=";")
    assert corpus[0].tags == ("x", "y", "year:1843")
    assert corpus[1].tags == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,tags\na\n", "line 2: has 1 fields where the header has 2"),
        ("text,tags\na,b,c\n", "line 2: has 3 fields where the header has 2"),
        ('text,tags\n"a"b,c\n', "line 2: is not CSV"),
        ('text,tags\nx,y\n"a\nb\nc', "line 3: is not CSV: unexpected end of data"),
        (b"text,tags\nx,y\n\xff,c\n", "line 3: is not utf-8"),
        ('"text', "line 1, the header: unexpected end"),
        (b"\xff\n", "line 1, the header: is not utf-8"),
        ("text,text\na,b\n", "more than one column called 'text'"),
        ("body,tags\na,b\n", "has no column 'text'; the columns are 'body', 'tags'"),
    ],
)
def test_errors_name_the_line(path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(ReadError, match=rf"rows\.csv.*{message}"):
        Corpus.read(write(path, content))


def test_rows_after_a_bad_one_are_read(path: Path) -> None:
    write(path, b'text,tags\n"a"b,c\nx,y\n"multi\nline\xff",z\nlast,w\n')
    with pytest.warns(ReadWarning, match="of"):
        corpus = Corpus.read(path, on_error="skip")
    assert {"x", "last"} & {document.tags[0] for document in corpus} == set()
    assert corpus[len(corpus) - 1].tags == ("w",)
    assert corpus[0].tags == ("y",)


def test_an_open_quotation_mark_does_not_swallow_the_file(path: Path) -> None:
    write(path, 'text,tags\n"open,x\n' + "filler,y\n" * 20 + "last,z\n")
    reader = Reader(ReadOptions(on_error="skip"), max_line=50)
    assert [tags for batch in reader.read(path) for tags in batch.tags][-1] == ["z"]
    with pytest.warns(ReadWarning, match="is a quotation mark not closed"):
        reader.warn(21)


def test_other_encodings(path: Path) -> None:
    write(path, "text\nélan\n".encode("utf-16"))
    assert Corpus.read(path)[0].words == {"élan": 1}
    write(path, "text\nélan\n".encode("latin-1"))
    assert Corpus.read(path, encoding="latin-1")[0].words == {"élan": 1}


def test_the_field_size_limit_of_the_process_is_restored(path: Path) -> None:
    before = csv.field_size_limit()
    Corpus.read(write(path, "text\n" + "word " * 100_000 + "\n"))
    assert csv.field_size_limit() == before


def test_an_impossible_delimiter_is_an_error(path: Path) -> None:
    with pytest.raises(ReadError, match="delimiter='ab' is not possible"):
        Corpus.read(write(path, "text\na\n"), delimiter="ab")


@pytest.mark.parametrize("end", ["", '500,"good text",x\n', '500,"text\n'])
def test_rows_after_an_open_quote_are_read(path: Path, end: str) -> None:
    rows = "".join(f"{i},word,x\n" for i in range(3, 500))
    write(path, f'id,text,tags\n1,word,x\n2,"open,x\n{rows}{end}')
    with pytest.warns(ReadWarning, match=r"rows were skipped: .*line 3: is not CSV: .*mark not closed") as caught:
        corpus = Corpus.read(path, on_error="skip")
    n_skipped = 2 if end.endswith("text\n") else 1
    assert str(caught[0].message).startswith(f"{n_skipped} of {500 if end else 499} rows")
    assert list(corpus.ids[:3]) == ["1", "3", "4"]
    assert "499" in corpus.ids
    assert ("500" in corpus.ids) == ("good" in end)


def test_rows_between_an_open_quote_and_a_line_in_another_encoding_are_read(path: Path) -> None:
    write(path, b'text,tags\n"open,x\nfine,y\n\xff,z\nlast,w\n')
    with pytest.warns(ReadWarning, match=r"2 of 4 .*line 2: goes on to line 4, which is not utf-8.*line 4: is not utf"):
        corpus = Corpus.read(path, on_error="skip")
    assert [document.tags for document in corpus] == [("y",), ("w",)]


def test_lines_that_are_not_read_again_are_named(path: Path) -> None:
    write(path, "text,tags\nfirst,x\n" + 'x",y,"z\n' * 10)  # each line opens a quote, and leaves one open
    reader = Reader(ReadOptions(on_error="skip"), max_reread=50)
    assert sum(len(batch.ids) for batch in reader.read(path)) == 1
    with pytest.warns(ReadWarning, match=r"1 of 2 rows .*line 3: is not CSV.*; left out are lines 3 to 12"):
        reader.warn(1)


def test_a_long_record_of_too_many_fields_names_its_lines(path: Path) -> None:
    with pytest.raises(ReadError, match="line 2: has 3 fields where the header has 2; it is made of lines 2 to 4"):
        Corpus.read(write(path, 'text,tags\n"a\nb\nc",d,e\n'))
