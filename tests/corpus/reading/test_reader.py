import bz2
import gc
import gzip
import io
import json
import lzma
import random
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

from tagtopic.corpus import Corpus, ReadError, ReadWarning
from tagtopic.corpus.reading.options import ReadOptions
from tagtopic.corpus.reading.reader import Reader

ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": "The engine weaves", "tags": ["author:Ada", "year:1843"], "film": "Alien"},
    {"id": "b", "text": "Notes on the engine", "tags": [], "film": None},
    {"id": "c", "text": "élan \U0001f600 naïve", "tags": ["author:Ada"], "film": "Alien: Covenant"},
]


def write_jsonl(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def check(corpus: Corpus) -> None:
    assert corpus.ids == ["a", "b", "c"]
    assert corpus.tag_names == ("author:Ada", "year:1843")
    assert [document.tags for document in corpus] == [("author:Ada", "year:1843"), (), ("author:Ada",)]
    assert {"engine", "weaves", "élan", "naïve"} <= set(corpus.words)
    assert corpus[0].words["engine"] == 1


@pytest.fixture
def jsonl(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "rows.jsonl", ROWS)


def table() -> Any:
    return pa.Table.from_pylist(ROWS)


def test_json_lines(jsonl: Path) -> None:
    check(Corpus.read(jsonl))
    check(Corpus.read(str(jsonl), text=["text"], tags=["tags"], id="id"))


@pytest.mark.parametrize("name", ["rows.jsonl.gz", "rows.ndjson.xz", "rows.jsonl.zst", "rows.json.bz2"])
def test_compressed(tmp_path: Path, jsonl: Path, name: str) -> None:
    data = jsonl.read_bytes()
    if name.endswith(".zst"):
        with pa.CompressedOutputStream(str(tmp_path / name), "zstd") as stream:
            stream.write(data)
    elif name.endswith(".gz"):  # members one after the other are one file
        (tmp_path / name).write_bytes(gzip.compress(data[:50]) + gzip.compress(data[50:]))
    else:
        (tmp_path / name).write_bytes((lzma if name.endswith(".xz") else bz2).compress(data))
    check(Corpus.read(tmp_path / name))
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[:-12])
    with pytest.raises(ReadError, match=r"rows\..*(damaged or cut off)"):
        Corpus.read(tmp_path / name)
    (tmp_path / name).write_bytes(b"plain text")
    with pytest.raises(ReadError, match="does not hold"):
        Corpus.read(tmp_path / name)


@pytest.mark.parametrize("name", ["rows.parquet", "rows.pq", "rows.feather", "rows.arrow", "rows.ipc", "stream.arrow"])
@pytest.mark.parametrize("packed", [False, True])
def test_columnar_files(tmp_path: Path, name: str, packed: bool) -> None:
    path = tmp_path / name
    if name.endswith(("parquet", "pq")):
        pyarrow.parquet.write_table(table(), path)
    elif name == "stream.arrow":
        with pyarrow.ipc.new_stream(path, table().schema) as writer:
            writer.write_table(table())
    else:
        pyarrow.feather.write_feather(table(), path)
    if packed:
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path = tmp_path / f"{name}.gz"
    check(Corpus.read(path))
    with pytest.raises(ReadError, match=rf"{name}.*has no column 'body'; the columns are 'id', 'text'"):
        Corpus.read(path, text="body")
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    with pytest.raises(ReadError, match=name):
        Corpus.read(path)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ROWS,
        table,
        lambda: table().to_reader(),
        lambda: table().combine_chunks().to_batches()[0],
        lambda: table().to_pandas(),
        lambda: pd.DataFrame(ROWS),
        lambda: pl.DataFrame(ROWS),
        lambda: pl.DataFrame(ROWS).lazy(),
    ],
)
def test_data_frames(make: Any) -> None:
    check(Corpus.read(make()))
    with pytest.raises(ReadError, match="the table has no column 'body'; the columns are 'id', 'text'"):
        Corpus.read(make(), text="body")


def test_objects_with_an_arrow_stream() -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return table().__arrow_c_stream__(requested_schema)

    check(Corpus.read(Stream()))


def test_hugging_face_datasets_by_their_interface() -> None:
    class Dataset:
        __module__ = "datasets.arrow_dataset"
        column_names = tuple(ROWS[0])

        def __len__(self) -> int:
            return len(ROWS)

        def select_columns(self, columns: list[str]) -> "Dataset":
            self.columns = columns
            return self

        def with_format(self, kind: None) -> "Dataset":
            return self

        def iter(self, batch_size: int) -> Any:
            yield {name: [row[name] for row in ROWS] for name in self.columns}

    check(Corpus.read(Dataset()))
    several = type("DatasetDict", (dict,), {"__module__": "datasets.dataset_dict"})
    with pytest.raises(ReadError, match=r"choose one, as in dataset\['train'\]"):
        Corpus.read(several(train=1))


def test_data_frames_of_several_batches_keep_their_rows() -> None:
    rows = [{"text": f"word{i % 10}", "tags": [f"t{i}"]} for i in range(5000)]
    for source in (rows, pa.Table.from_pylist(rows), pl.DataFrame(rows), pd.DataFrame(rows)):
        corpus = Corpus.read(source, min_df=1)
        assert [document.tags for document in corpus[4990:]] == [(f"t{i}",) for i in range(4990, 5000)]


def test_folders_globs_and_lists(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "1.jsonl", ROWS[:1])
    (tmp_path / "deeper").mkdir()
    write_jsonl(tmp_path / "deeper" / "2.jsonl", ROWS[1:2])
    pyarrow.parquet.write_table(pa.Table.from_pylist(ROWS[2:]), tmp_path / "deeper" / "3.parquet")
    (tmp_path / "notes.txt").write_text("not data")
    (tmp_path / ".hidden.jsonl").write_text("not data")
    check(Corpus.read(tmp_path))
    check(Corpus.read(tmp_path / "**" / "[123].*"))
    check(Corpus.read([tmp_path / "1.jsonl", str(tmp_path / "deeper")]))


def test_missing_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no file"):
        Corpus.read(tmp_path / "none.jsonl")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        Corpus.read(tmp_path / "*.jsonl")
    with pytest.raises(FileNotFoundError, match="has no file that can be read"):
        Corpus.read(tmp_path)
    (tmp_path / "file.doc").write_text("")
    with pytest.raises(ValueError, match="does not say what format"):
        Corpus.read(tmp_path / "file.doc")
    with pytest.raises(ValueError, match="no format 'word'; there are arff, arrow, csv"):
        Corpus.read(tmp_path / "file.doc", format="word")
    for wrong in (3, None, [], [1], object(), {"text": "a"}):
        with pytest.raises(TypeError, match="cannot be read: expected a path"):
            Corpus.read(wrong)


def test_standard_input_and_open_files(jsonl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BytesIO(jsonl.read_bytes())

    monkeypatch.setattr(sys, "stdin", Input)
    check(Corpus.read("-"))
    with jsonl.open("rb") as file:
        check(Corpus.read(file))
    check(Corpus.read(io.BytesIO(gzip.compress(jsonl.read_bytes()))))
    csv = io.BytesIO(b"text,tags\nan engine,x\n")
    assert Corpus.read(csv, format="csv")[0].tags == ("x",)
    with pytest.raises(ValueError, match="cannot be read from a stream"):
        Corpus.read(io.BytesIO(), format="parquet")
    with pytest.raises(ReadError, match="the stream, line 1: is not JSON"):
        Corpus.read(io.BytesIO(b"x"), format="jsonl")


def test_a_stream_is_plain_text_unless_it_begins_like_json_or_columns_are_named() -> None:
    plain = "\r\nAn engine weaves\r\n\n{not a record}\nNaïve notes".encode()
    corpus = Corpus.read(io.BytesIO(plain))
    assert corpus.ids == ["0", "1", "2"]
    assert [sorted(document.words) for document in corpus][1:] == [["record"], ["naïve", "notes"]]
    rows = b'\n  {"text": "an engine", "tags": ["x"]}\n'
    assert Corpus.read(io.BytesIO(rows))[0].tags == ("x",)
    assert Corpus.read(io.BytesIO(rows), format="text").n_tags == 0
    with pytest.raises(ReadError, match="the stream, line 2: is not JSON"):
        Corpus.read(io.BytesIO(plain), text="body")
    with pytest.raises(ReadError, match=r"the stream has no column 'body'; the columns are 'text'"):
        Corpus.read(io.BytesIO(plain), text="body", format="text")
    with pytest.raises(ReadError, match="the stream, line 3: is not JSON"):
        Corpus.read(io.BytesIO(rows + b"then a sentence"))
    with pytest.raises(ReadError, match="the stream, line 1: is not utf-8"):
        Corpus.read(io.BytesIO(b"\x80 x\nfine"))
    assert len(Corpus.read(io.BytesIO(b" \n"))) == 0


def test_plain_text_needs_the_format(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("An engine\n\nAnother engine\n")
    assert len(Corpus.read(tmp_path / "notes.txt", format="text")) == 2
    with pytest.raises(ValueError, match=r"notes.txt does not say what format it has"):
        Corpus.read(tmp_path / "notes.txt")


def test_a_saved_corpus_is_opened(jsonl: Path, tmp_path: Path) -> None:
    corpus = Corpus.read(jsonl, to=tmp_path / "c")
    check(corpus)
    check(Corpus.read(tmp_path / "c"))
    assert corpus.fingerprint() == Corpus.read(jsonl).fingerprint()
    with pytest.raises(ValueError, match="is a saved corpus"):
        Corpus.read(tmp_path / "c", to=tmp_path / "d")


def test_a_saved_corpus_accepts_tag_rules_but_no_text_rules(jsonl: Path, tmp_path: Path) -> None:
    corpus = Corpus.read(jsonl, to=tmp_path / "c")
    tag = corpus.tag_names[0]
    assert Corpus.read(tmp_path / "c", stop_tags=[tag]).tag_names == corpus.tag_names[1:]
    assert Corpus.read(tmp_path / "c", rules=corpus.rules).words == corpus.words
    with pytest.raises(ValueError, match="counted already: min_length, min_df can only be given where the texts"):
        Corpus.read(tmp_path / "c", min_df=2, min_length=3)


def test_new_texts_with_the_same_vocabulary_and_rules_give_the_same_counts(jsonl: Path) -> None:
    corpus = Corpus.read(jsonl)
    again = Corpus.read([{"text": "engine engine unheard"}], rules=corpus.rules, words=corpus.words)
    assert again.words == corpus.words
    assert again[0].words == {"engine": 2}


def test_no_phrase_spans_two_text_columns() -> None:
    rows = [{"title": "machine", "body": "translation", "parts": ["alpha", None, "three"]}] * 20
    corpus = Corpus.read(rows, text=["title", "body", "parts"], bigrams=-1.0)
    assert set(corpus.words) == {"machine", "translation", "alpha", "three"}


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_bad_rows_are_reported_with_file_and_line(tmp_path: Path, on_error: str) -> None:
    path = tmp_path / "rows.jsonl"
    good = json.dumps(ROWS[0])
    path.write_bytes(f'{good}\n\n{{"text": }}\n[1]\n{good}\n{{"text": {{}}}}\n'.encode() + b'{"text": "\xff"}\n')
    if on_error == "raise":
        with pytest.raises(ReadError, match=r"rows\.jsonl, line 3: is not JSON: .*on_error=\"skip\""):
            Corpus.read(path)
        return
    with pytest.warns(ReadWarning, match=r"4 of 6 rows were skipped: .*line 3.*line 4: is not a JSON ob.*line 6.*…"):
        corpus = Corpus.read(path, on_error="skip")
    assert corpus.ids == ["a", "a"]


def test_reasons_of_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    for content, reason in [
        (b'{"text": {"a": 1}}', "column 'text' holds an object"),
        (b'{"text": "a", "tags": [["b"]]}', "column 'tags' holds a list"),
        (b'{"text": "a", "id": {}}', "column 'id' holds an object"),
        (b'{"text": "\xff"}', "is not utf-8 .*encoding="),
        (b"[" * 100_000, "nested too deeply|is not JSON"),
        (b'{"text": ' + b"9" * 10_000 + b"}", "is not JSON"),
        (b'"text"', "is not a JSON object"),
    ]:
        path.write_bytes(content)
        with pytest.raises(ReadError, match=rf"line 1: .*({reason})"):
            Corpus.read(path)


def test_an_unknown_column_is_an_error_that_lists_the_columns(jsonl: Path) -> None:
    with pytest.raises(ReadError, match=r"no column 'storyline'; in its first 3 rows .* 'id', 'text', 'tags', 'film'"):
        Corpus.read(jsonl, text="storyline")
    with pytest.raises(ReadError, match="'director'"):
        Corpus.read(jsonl, tags=["film", "director"])
    with pytest.raises(ReadError, match="'key'"):
        Corpus.read(jsonl, id="key")


def test_rows_without_a_column_have_null_there(tmp_path: Path) -> None:
    rows = [{"text": "a"}, {"note": 1}, {"text": None, "note": None}]
    corpus = Corpus.read(write_jsonl(tmp_path / "r.jsonl", rows), id="note")
    assert len(corpus) == 3
    assert corpus.ids == ["0", "1", "2"]


def test_a_missing_column_is_noticed_early(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a"}\n' * 1000 + "not JSON\n")
    with pytest.raises(ReadError, match=r"rows\.jsonl has no column 'author'; in its first 1,000 rows the columns"):
        Corpus.read(path, tags="author")
    with pytest.raises(ReadError, match=r"has no column 'txt' \(is it 'text'\?\)"):
        Corpus.read(path, text="txt")


def test_encodings_and_byte_order_marks(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    row = '{"text": "élan naïve", "tags": ["é"]}\r\n'
    for encoding, given in [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("utf-8-sig", "utf-8"),
        ("utf-16", None),
        ("utf-32", None),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("latin-1", "latin-1"),
        ("cp1252", "windows-1252"),
    ]:
        path.write_bytes((row * 3).encode(encoding))
        corpus = Corpus.read(path, encoding=given)
        assert len(corpus) == 3, encoding
        assert corpus[2].words == {"élan": 1, "naïve": 1}, encoding
        assert corpus.tag_names == ("é",)
    for wrong in ("klingon", "rot13", "zip"):
        with pytest.raises(ReadError, match="no text encoding called"):
            Corpus.read(path, encoding=wrong)
    path.write_bytes("x".encode("utf-16") + b"\x00")
    with pytest.raises(ReadError, match=r"utf-16|not JSON"):
        Corpus.read(path)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "rows.tsv"])
def test_empty_files_have_no_documents(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert len(Corpus.read(tmp_path / name)) == 0


def test_empty_tables_have_no_documents(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(table().slice(0, 0), tmp_path / "rows.parquet")
    assert len(Corpus.read(tmp_path / "rows.parquet")) == 0
    (tmp_path / "empty.parquet").write_bytes(b"")
    with pytest.raises(ReadError, match="not a readable Parquet file"):
        Corpus.read(tmp_path / "empty.parquet")
    (tmp_path / "empty.arrow").write_bytes(b"")
    with pytest.raises(ReadError, match="is empty"):
        Corpus.read(tmp_path / "empty.arrow")


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_a_line_of_a_hundred_megabytes(tmp_path: Path, name: str) -> None:
    long = "longword " * 11_500_000
    content = json.dumps({"text": long}) if name.endswith("jsonl") else f'text,tags\n"{long}",x'
    (tmp_path / name).write_text(f"{content}\n")
    corpus = Corpus.read(tmp_path / name, n_jobs=1)
    assert corpus[0].words == {"longword": 11_500_000}


def test_lines_that_are_too_long_are_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "' + "x" * 3_000_000 + '"}\n{"text": "good"}\n')
    reader = Reader(ReadOptions(on_error="skip"), max_line=100)
    assert [text for batch in reader.read(path) for text in batch.texts] == ["good"]
    with pytest.warns(ReadWarning, match="line 1: is longer than"):
        reader.warn(1)


def test_wrong_arguments(jsonl: Path) -> None:
    with pytest.raises(ValueError, match="on_error must be"):
        Corpus.read(jsonl, on_error="ignore")
    with pytest.raises(ValueError, match="tag_separator is empty"):
        Corpus.read(jsonl, tag_separator="")
    with pytest.raises(TypeError, match="names, which are strings"):
        Corpus.read(jsonl, text=[1])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="no option 'txt'"):
        Corpus.read(jsonl, txt="text")  # type: ignore[call-arg]


def test_an_interrupted_read_leaves_nothing(jsonl: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()

    def tokenizer(text: str) -> list[str]:
        if "Notes" in text:
            raise KeyboardInterrupt
        return text.split()

    with pytest.raises(KeyboardInterrupt):
        Corpus.read(jsonl, to=target / "c", tokenizer=tokenizer)
    with pytest.raises(ReadError):
        Corpus.read(jsonl, to=target / "c", text="none")
    assert list(target.iterdir()) == []


def test_other_files_are_not_overwritten(jsonl: Path, tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match="choose another name"):
        Corpus.read(jsonl, to=jsonl)
    with pytest.raises(FileExistsError, match="choose another name"):
        Corpus.read(jsonl, to=tmp_path)


def test_the_progress_bar_is_shown_on_request(
    jsonl: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    check(Corpus.read(jsonl, progress=True))
    shown = capsys.readouterr().err
    assert "reading" in shown
    assert "counting" in shown
    Corpus.read(jsonl)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("n_rows", [1, 2000])
def test_one_file_of_json_lines_without_texts_is_an_error(tmp_path: Path, n_rows: int) -> None:
    write_jsonl(tmp_path / "1.jsonl", ROWS)
    write_jsonl(tmp_path / "2.jsonl", [{"body": "a"}] * n_rows)
    write_jsonl(tmp_path / "3.jsonl", ROWS)
    examined = "only row" if n_rows == 1 else "first 1,000 rows"
    with pytest.raises(ReadError, match=rf"2\.jsonl has no column 'text'; in its {examined} the columns are 'body'"):
        Corpus.read(tmp_path)


def test_a_file_of_json_lines_may_lack_tags_that_others_have(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "1.jsonl", [{"title": "a", "body": "b", "author": "x"}])
    write_jsonl(tmp_path / "2.jsonl", [{"title": "c"}])
    (tmp_path / "3.jsonl").write_text("")
    assert len(Corpus.read(tmp_path, text=["title", "body"], tags="author")) == 2
    with pytest.raises(ReadError, match=r"3\.jsonl has no column 'place'"):
        Corpus.read(tmp_path, text=["title", "body"], tags=["author", "place"])


def test_a_given_format_selects_the_files_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "more.txt.gz").write_bytes(gzip.compress(b"four\n"))
    (tmp_path / ".hidden.txt").write_text("hidden")
    write_jsonl(tmp_path / "rows.jsonl", ROWS)
    assert len(Corpus.read(tmp_path, format="text")) == 4
    assert len(Corpus.read(tmp_path, format="jsonl")) == len(ROWS)
    check(Corpus.read(tmp_path))


def test_a_given_format_applies_to_files_of_any_name(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("one\n")
    (tmp_path / "notes.md").write_text("two\nthree\n")
    (tmp_path / "_marker").write_text("hidden")
    assert len(Corpus.read(tmp_path, format="text")) == 3
    with pytest.raises(FileNotFoundError, match="has no file that can be read"):
        Corpus.read(tmp_path)


def test_a_truncated_file_is_an_error_after_its_last_line(tmp_path: Path) -> None:
    words = random.Random(0).choices(range(10**9), k=20_000)
    packed = gzip.compress("".join(f'{{"text": "w{word}"}}\n' for word in words).encode())
    (tmp_path / "rows.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(ReadError, match=r"rows\.jsonl\.gz cannot be read after line (\d+): it is dam") as caught:
        Corpus.read(tmp_path / "rows.jsonl.gz")
    assert 9_000 < int(str(caught.value).split("after line ")[1].split(":")[0]) < 11_000
    (tmp_path / "rows.jsonl.gz").write_bytes(packed[:20])
    with pytest.raises(ReadError, match=r"rows\.jsonl\.gz cannot be read: it is damaged"):
        Corpus.read(tmp_path / "rows.jsonl.gz")


def test_closed_standard_input_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ReadError, match="standard input is closed"):
        Corpus.read("-")


def test_an_error_in_a_stream_suggests_the_format_option() -> None:
    with pytest.raises(ReadError, match=r'line 2: is not JSON: .*format="csv" \(--format csv\)'):
        Corpus.read(io.BytesIO(b"\ntext,tags\nan engine,x\n"), tags="tags")
    with pytest.raises(ReadError, match="line 2: is not JSON") as caught:
        Corpus.read(io.BytesIO(b'{"text": "a", "tags": []}\nan engine,x\n'), tags="tags")
    assert "--format" not in str(caught.value)


def test_each_file_of_a_folder_is_a_document(tmp_path: Path) -> None:
    files = {"1843/ada.txt": "An engine\nof engines", "1843/note.txt": "Notes", "babbage.txt": "Tables"}
    for place, text in files.items():
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(text)
    with pytest.raises(FileNotFoundError, match=r"it has 3 .txt files: format=.files. \(--format files\)"):
        Corpus.read(tmp_path)
    corpus = Corpus.read(tmp_path, format="files", tags="folder", stop_words=None)
    assert list(corpus.ids) == ["1843/ada.txt", "1843/note.txt", "babbage.txt"]
    assert corpus.tag_names == ("folder:1843",)
    assert corpus[0].words == {"an": 1, "engine": 1, "of": 1, "engines": 1}
    assert corpus[2].tags == ()
    (tmp_path / "1843/note.txt").write_bytes(b"caf\xe9")
    with pytest.raises(ReadError, match=r"note.txt: is not utf-8"):
        Corpus.read(tmp_path, format="files")
    assert len(Corpus.read(tmp_path, format="files", encoding="latin-1")) == 3


def test_the_stream_of_the_caller_stays_open() -> None:
    stream = io.BytesIO(b'{"text": "engine"}\n')
    assert len(Corpus.read(stream, format="jsonl")) == 1
    gc.collect()
    assert not stream.closed


def test_cells_with_a_likely_separator_are_reported() -> None:
    rows = [{"text": "engine", "genre": f"{a};{b}"} for a in "abcd" for b in "wxyz"]
    with pytest.warns(ReadWarning, match=r"column 'genre': 100% of its different tags have a ';'") as told:
        Corpus.read(rows, tags="genre")
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Corpus.read(rows, tags="genre", tag_separator=";").n_tags == 8
        Corpus.read([{"text": "engine", "by": f"{a}, Ada" if a < "e" else a} for a in "abcdefghijklm"], tags="by")


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["drama,comedy", "drama", "comedy,action", "action,drama"], ","),
        (["war; peace", "war", "peace; trade", "trade"], ";"),
        (["Kissinger, Henry A.", "Nixon, Richard", "Haig, Alexander", "Rogers, William", "Ford, Gerald"], None),
        (["Smith, Ann", "Smith, Bob", "Jones, Cid", "Miller, Eve", "Brown, Flo"], None),
    ],
)
def test_a_comma_separates_tags_if_its_parts_recur(cells: list[str], separator: str | None) -> None:
    rows = [{"text": "engine", "by": cell} for cell in cells]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Corpus.read(rows, tags="by")
    assert [f"tag_separator={separator!r}" in str(warning.message) for warning in caught] == [True] * bool(separator)


ARRAYS = {
    "one line": '[{"text": "a ship"}, {"text": "a [storm], at sea", "tags": ["x"]}]',
    "lines": '[\n{"text": "a ship"},\n\n{"text": "a [storm], at sea",\n "tags": ["x"]}\n]\n',
    "indented": json.dumps([{"text": "a ship"}, {"text": "a [storm], at sea", "tags": ["x"]}], indent=2),
}


@pytest.mark.parametrize("layout", ARRAYS)
def test_a_json_array_is_read_as_json_lines_are(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(ARRAYS[layout])
    corpus = Corpus.read(path, stop_words=None)
    assert corpus.words == ("at", "sea", "ship", "storm")
    assert corpus.tag_names == ("x",)
    assert len(Corpus.read(io.BytesIO(ARRAYS[layout].encode()))) == 2


def test_many_objects_of_many_lines_are_all_read(tmp_path: Path) -> None:
    rows = [{"text": f"word{i}", "notes": list(range(i % 40))} for i in range(300)]
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows, indent=1))
    assert len(Corpus.read(path)) == 300


def test_a_damaged_json_array_names_the_line_where_its_object_begins(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('[\n{"text": "a"},\n{"text": "b"\n')
    with pytest.raises(ReadError, match=r"rows\.json, line 3: is not JSON"):
        Corpus.read(path)
    path.write_text('[{"text": "a"},\n3]')
    with pytest.raises(ReadError, match=r"line 2: is not JSON: '3\]' where an object should be"):
        Corpus.read(path)


def test_the_index_of_a_pandas_frame_gives_ids() -> None:
    frame = pd.DataFrame({"text": ["a ship", "a storm"]}, index=["first", "second"])
    assert list(Corpus.read(frame).ids) == ["first", "second"]
    assert list(Corpus.read(frame.reset_index(drop=True)).ids) == ["0", "1"]
    assert list(Corpus.read(frame.assign(id=["x", "y"])).ids) == ["x", "y"]


def test_a_spreadsheet_is_read_by_its_first_sheet(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    path = tmp_path / "rows.xlsx"
    write_xlsx(path, [["text", "by", "year"], ["a ship", "Ada", 1843], [None, None, None], ["a storm", None, 1851]])
    corpus = Corpus.read(path, tags=["by", "year"])
    assert [document.tags for document in corpus] == [("by:Ada", "year:1843"), ("year:1851",)]
    with pytest.raises(ReadError, match=r"rows\.xlsx has no column 'body'"):
        Corpus.read(path, text="body")
    path.write_bytes(b"no spreadsheet")
    with pytest.raises(ReadError, match=r"rows\.xlsx is not a readable spreadsheet"):
        Corpus.read(path)


def write_xlsx(path: Path, rows: list[list[Any]]) -> None:
    """Write the smallest workbook with one sheet."""

    def cell(value: Any) -> str:
        if value is None:
            return "<c/>"
        return f"<c><v>{value}</v></c>" if isinstance(value, int) else f'<c t="inlineStr"><is><t>{value}</t></is></c>'

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    sheet = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
        'ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="s" sheetId="1" '
        'r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_a_dataset_saved_by_hugging_face_is_read_from_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "train"
    folder.mkdir()
    for number, text in enumerate(["a ship", "a storm"]):
        table = pa.table({"text": [text], "tags": [["x"]]})
        with pa.ipc.new_stream(folder / f"data-0000{number}-of-00002.arrow", table.schema) as writer:
            writer.write_table(table)
    files = [{"filename": f"data-0000{number}-of-00002.arrow"} for number in range(2)]
    (folder / "state.json").write_text(json.dumps({"_data_files": files}))
    (folder / "dataset_info.json").write_text("{}")
    assert Corpus.read(folder, stop_words=None).words == ("ship", "storm")
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train"]}')
    with pytest.raises(ReadError, match=r"has several datasets \(train\): choose one"):
        Corpus.read(tmp_path)
