"""Records written back with corrected tags."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tagtopic import Corpus, Ledger
from tagtopic.corpus import ReadError
from tagtopic.curation.records import Corrections, RecordCorrector, json_spans, write_corrected

RECORDS: list[dict[str, Any]] = [
    {"id": "a", "plot": 'A ship, in "space"\nand far', "keyword": ["sci-fi", "robot"], "year": 1979, "score": 1e-7},
    {"id": "b", "plot": "ünïcode", "keyword": ["SF", "sci-fi", "ship"], "year": 1980, "score": None},
    {"id": "c", "plot": "", "keyword": [], "year": 1981, "score": 0.1},
    {"id": "d", "plot": "=1+1", "keyword": ["crime"], "year": 1982, "score": 2.50},
]
EXPECTED = [["SF"], ["SF", "ship"], ["drama"], ["crime"]]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger.open(tmp_path / "films.decisions.jsonl")
    ledger.record("tags-merge", canonical="keyword:SF", variants=["keyword:sci-fi"])
    ledger.record("tag-wrong", document="a", tag="keyword:robot")
    ledger.record("tag-add", document="c", tag="keyword:drama")
    ledger.record("tag-add", document="d", tag="keyword:crime")  # it is there already
    return ledger


def corrector(ledger: Ledger, *tags: str, **options: Any) -> RecordCorrector:
    return RecordCorrector(ledger.state, tags or ("keyword",), **options)


def write(path: Path, target: str, made: RecordCorrector, **options: Any) -> Path:
    write_corrected([path], path.with_name(target), made, **options)
    return path.with_name(target)


def test_json_lines_change_in_their_tags_only(ledger: Ledger, tmp_path: Path) -> None:
    lines = [json.dumps(record, ensure_ascii=record["id"] == "b") for record in RECORDS]
    lines[1] = lines[1].replace(": ", ":").replace("null", " null ")
    lines[3] = lines[3].replace("2.5", "2.50")
    path = tmp_path / "films.jsonl"
    path.write_bytes("\r\n".join([*lines, ""]).encode())
    found = write(path, "corrected.jsonl", corrector(ledger)).read_bytes().decode().split("\r\n")
    assert found[3] == lines[3]
    assert found[1] == lines[1].replace('["SF", "sci-fi", "ship"]', '["SF", "ship"]').replace(
        '["SF","sci-fi","ship"]', '["SF", "ship"]'
    )
    for line, record, tags in zip(found, RECORDS, EXPECTED, strict=False):
        assert json.loads(line) == {**record, "keyword": tags}


def test_the_result_is_read_as_the_corrected_corpus(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "films.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    options: dict[str, Any] = {"text": "plot", "tags": ["keyword", "year"], "min_df": 1}
    corrected = ledger.apply(Corpus.read(path, **options))
    again = Corpus.read(write(path, "corrected.jsonl", corrector(ledger, "keyword", "year")), **options)
    assert [set(d.tags) for d in again] == [set(d.tags) for d in corrected]


@pytest.mark.parametrize(("suffix", "delimiter"), [("csv", ","), ("csv", ";"), ("tsv", "\t")])
def test_csv_changes_in_its_tags_only(ledger: Ledger, tmp_path: Path, suffix: str, delimiter: str) -> None:
    path = tmp_path / f"films.{suffix}"
    output = io.StringIO()
    writer = csv.writer(output, delimiter=delimiter, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["id", "plot", "keyword", "score"])
    writer.writerows([r["id"], r["plot"], "|".join(r["keyword"]), r["score"]] for r in RECORDS)
    path.write_bytes(b"\xef\xbb\xbf" + output.getvalue().encode())
    target = write(path, f"corrected.{suffix}", corrector(ledger, separator="|"))
    text = target.read_bytes().decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
    assert [row["keyword"].split("|") for row in rows] == EXPECTED
    assert [row["plot"] for row in rows] == [record["plot"] for record in RECORDS]
    assert text.splitlines()[-1] == output.getvalue().splitlines()[-1]  # nothing changes in d, nor its quotes
    assert text.count("\r\n") == output.getvalue().count("\r\n")


def test_parquet_keeps_its_schema_and_other_columns(ledger: Ledger, tmp_path: Path) -> None:
    schema = pa.schema(
        [("id", pa.string()), ("keyword", pa.large_list(pa.string())), ("score", pa.float32()), ("raw", pa.binary())],
        metadata={"made": "by hand"},
    )
    rows = [{"id": r["id"], "keyword": r["keyword"], "score": r["score"], "raw": b"\x00\xff"} for r in RECORDS]
    table = pa.Table.from_pylist(rows, schema)
    pq.write_table(table, tmp_path / "films.parquet", compression="zstd", row_group_size=2)
    target = write(tmp_path / "films.parquet", "corrected.parquet", corrector(ledger))
    found = pq.read_table(target)
    assert found.schema.equals(pq.read_table(tmp_path / "films.parquet").schema, check_metadata=True)
    assert found["keyword"].to_pylist() == EXPECTED
    assert found.drop_columns("keyword").equals(table.drop_columns("keyword"))
    assert pq.ParquetFile(target).metadata.row_group(0).column(0).compression == "ZSTD"


def test_counts_of_corrections(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "films.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    found = write_corrected([path], tmp_path / "corrected.jsonl", corrector(ledger))
    assert found == Corrections(records=4, changed=3, removed=1, added=1, renamed=2)
    again = write_corrected([tmp_path / "corrected.jsonl"], tmp_path / "again.jsonl", corrector(ledger))
    assert again.changed == 0
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "corrected.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("cell", "separator", "expected"),
    [
        ("sci-fi", None, "SF"),
        ("robot", None, ""),
        ("sci-fi; robot;ship", ";", "SF;ship"),
        ("['sci-fi', 'ship']", None, "['SF', 'ship']"),
        (["sci-fi", None, "robot"], None, ["SF", None]),
        (["ship", "ship"], None, ["ship", "ship"]),
        (["SF", "sci-fi"], None, ["SF"]),
        (["sci-fi", "SF"], None, ["SF"]),
        (None, None, None),
    ],
)
def test_cells_keep_their_form(ledger: Ledger, cell: Any, separator: str | None, expected: Any) -> None:
    record = {"id": "a", "keyword": cell}
    assert {**record, **corrector(ledger, separator=separator).correct(record)}["keyword"] == expected


@pytest.mark.parametrize(
    ("cell", "separator", "expected"),
    [
        (None, None, "drama"),
        ("war", None, "['war', 'drama']"),
        ("war", ",", "war,drama"),
        (["war"], None, ["war", "drama"]),
        (1979, None, [1979, "drama"]),
    ],
)
def test_tags_are_added_in_the_form_of_the_cell(
    ledger: Ledger, cell: Any, separator: str | None, expected: Any
) -> None:
    assert corrector(ledger, separator=separator).correct({"id": "c", "keyword": cell}) == {"keyword": expected}


def test_tags_go_to_the_column_of_their_kind(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "decisions.jsonl")
    for tag in ("genre:war", "plain", "person:Ada"):
        ledger.record("tag-add", document="0", tag=tag)
    made = corrector(ledger, "genre", "tags").correct({"genre": [], "tags": ["old"]})
    assert made == {"genre": ["war"], "tags": ["old", "plain", "person:Ada"]}
    with pytest.raises(ValueError, match=r"'plain' has no kind, and none of the columns genre"):
        corrector(ledger, "genre").correct({"genre": []})


def test_a_tag_that_a_column_cannot_hold_is_refused(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "decisions.jsonl")
    ledger.record("tags-merge", canonical="SF", variants=["keyword:sci-fi"])
    path = tmp_path / "films.jsonl"
    path.write_text('{"keyword": ["ship"]}\n{"keyword": ["sci-fi"]}\n')
    with pytest.raises(ReadError, match=r"line 2: the tag 'SF' cannot be written to the column 'keyword'"):
        write_corrected([path], tmp_path / "corrected.jsonl", corrector(ledger))
    assert not (tmp_path / "corrected.jsonl").exists()
    ledger.record("tags-merge", canonical="keyword:a;b", variants=["keyword:ship"])
    with pytest.raises(ValueError, match="has the separator ';' in it"):
        corrector(ledger, separator=";").correct({"keyword": "ship"})


def test_records_without_ids_are_numbered_across_files(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "decisions.jsonl")
    ledger.record("tag-wrong", document="2", tag="x")
    for name in ("one", "two"):
        (tmp_path / f"{name}.jsonl").write_text('{"tags": ["x"]}\n\n{"tags": ["x", "y"]}\n')
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    write_corrected(files, tmp_path / "all.jsonl.gz", corrector(ledger, "tags"))
    lines = gzip.decompress((tmp_path / "all.jsonl.gz").read_bytes()).decode().splitlines()
    assert [json.loads(line)["tags"] for line in lines if line] == [["x"], ["x", "y"], [], ["x", "y"]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.jsonl", b'{"keyword": []}\n{"keyword": \n', "x.jsonl, line 2: it is not JSON"),
        ("x.jsonl", b"[1]\n", "x.jsonl, line 1: it is not a JSON object"),
        ("x.jsonl", b'{"keyword": []}\n\xff\n', "x.jsonl, line 2: it is not UTF-8"),
        ("x.jsonl", b'{"other": 1}\n', "no column 'keyword'; the columns are other"),
        ("x.jsonl", b'{"keyword": [["nested"]]}\n', "x.jsonl, line 1: column 'keyword' holds a list inside"),
        ("x.csv", b"a,b\n1,2\n", "no column 'keyword'"),
        ("x.csv", b"keyword,b\nx,2\ny\n", "x.csv, line 3: it has 1 cells, and there are 2 columns"),
        ("x.parquet", b"PAR1", "is not a readable Parquet file"),
    ],
)
def test_errors_name_the_file_and_the_line(
    name: str, content: bytes, message: str, ledger: Ledger, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ReadError, match=message):
        write_corrected([tmp_path / name], tmp_path / f"corrected{Path(name).suffix}", corrector(ledger))
    assert not list(tmp_path.glob("*corrected*"))


def test_formats_are_not_converted(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}")
    with pytest.raises(ValueError, match="not from jsonl to csv"):
        write_corrected([tmp_path / "x.jsonl"], tmp_path / "y.csv", corrector(ledger))


@pytest.mark.parametrize("line", ["{}", ' {"a":1 , "b" : [1, {"c": "}"}] }', '{"ü\\"": "x", "b": -1.5e3}\n'])
def test_the_values_of_a_json_object_are_found(line: str) -> None:
    record = json.loads(line)
    assert {name: json.loads(line[first:last]) for name, (first, last) in json_spans(line).items()} == record
