"""Generated files of every format, whole and damaged: a corpus or our own error, and nothing half-written.

A few hundred in the tests; `make fuzz` runs 200,000.
"""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagtopic.corpus import Corpus, ReadError, ReadWarning

TOTAL = int(os.environ.get("TAGTOPIC_FUZZ", "400"))
PART = 1000  # hypothesis remembers every example of a test, so a long run is many tests

words = st.sampled_from(
    ["engine", "Ada", "author:Ada", "été", "日本語", "a b", ";", "", " ", "NULL", "\ud800", "\u2028", '"', "@", "1:2"]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | words | st.text(max_size=20)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=2), max_leaves=6
)
records = st.dictionaries(st.sampled_from(["text", "tags", "id", "other", "author"]), values, max_size=5)
typed_records = st.fixed_dictionaries(
    {
        "text": st.none() | words,
        "tags": st.none() | st.lists(words | st.none(), max_size=3),
        "id": st.none() | st.integers(0, 99),
    }
)
line_ends = st.sampled_from(["\n", "\r\n", "\n\n", "\r"])


@st.composite
def json_lines(draw: st.DrawFn) -> bytes:
    rows = draw(st.lists(records, max_size=6))
    lines = [json.dumps(row, ensure_ascii=draw(st.booleans())) for row in rows]
    return _encoded(draw, draw(line_ends).join(lines))


@st.composite
def csv_text(draw: st.DrawFn) -> bytes:
    buffer = io.StringIO()
    quoting: Any = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    end, separator = draw(line_ends), draw(st.sampled_from(",;\t|"))
    writer = csv.writer(buffer, delimiter=separator, lineterminator=end, quoting=quoting)
    header = draw(st.lists(st.sampled_from(["text", "tags", "id", "text "]) | st.text(max_size=3), max_size=4))
    for row in [header, *draw(st.lists(st.lists(words | st.text(max_size=8), max_size=4), max_size=6))]:
        writer.writerow(row)
    return _encoded(draw, buffer.getvalue())


def _encoded(draw: st.DrawFn, text: str) -> bytes:
    encoding = draw(
        st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-be", "latin-1", "utf-32"])
    )
    return text.encode(encoding, errors="replace" if encoding == "latin-1" else "surrogatepass")


@st.composite
def authors(draw: st.DrawFn) -> bytes:
    number = st.integers(-1, 6).map(str) | st.sampled_from(["x", "", "1e3", "²", "99999999999999999999"])
    pairs = st.lists(st.tuples(number, number).map(":".join) | number, max_size=4)
    lines = []
    for _ in range(draw(st.integers(0, 5))):
        tags, bag = draw(st.lists(number, max_size=3)), draw(pairs)
        counts = [draw(st.just(str(len(part))) | number) for part in (tags, bag)]
        lines.append(f"{counts[0]} {' '.join(tags)} {draw(st.sampled_from('@@@@ '))} {counts[1]} {' '.join(bag)}")
    return "\n".join(lines).encode()


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    rows = draw(st.lists(typed_records, min_size=1, max_size=5))
    cleaned = json.loads(json.dumps(rows).replace("\\ud800", "?"))
    table = pa.Table.from_pylist(cleaned)
    if draw(st.booleans()):
        table = table.select(draw(st.lists(st.sampled_from(["text", "tags", "id"]), unique=True)))
    write: Callable[[Any], bytes] = draw(st.sampled_from([_parquet, _feather, _stream]))
    return write(table)


def _parquet(table: Any) -> bytes:
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer)
    return buffer.getvalue()


def _feather(table: Any) -> bytes:
    buffer = io.BytesIO()
    pyarrow.feather.write_feather(table, buffer)
    return buffer.getvalue()


def _stream(table: Any) -> bytes:
    buffer = io.BytesIO()
    with pyarrow.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue()


def _zstd(data: bytes) -> bytes:
    target = pa.BufferOutputStream()
    with pa.CompressedOutputStream(target, "zstd") as stream:
        stream.write(data)
    return bytes(target.getvalue())


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress, ".zst": _zstd,
}  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """Some bytes changed, inserted, removed or cut off, or none."""
    content = bytearray(data)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 1, 3]))):
        at = draw(st.integers(0, len(content)))
        kind = draw(st.sampled_from(["change", "insert", "remove", "cut"]))
        piece = draw(st.binary(min_size=1, max_size=4))
        if kind == "change":
            content[at : at + len(piece)] = piece
        elif kind == "insert":
            content[at:at] = piece
        elif kind == "remove":
            del content[at : at + 3]
        else:
            del content[at:]
    return bytes(content)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    """A name that says a format, and content that is more or less of that format."""
    made = {".jsonl": json_lines(), ".csv": csv_text(), ".tsv": csv_text(), ".twtm": authors()}
    made |= {suffix: tables() for suffix in (".parquet", ".arrow")}
    suffix = draw(st.sampled_from(sorted(made)))
    content = draw(
        st.one_of(made[suffix], made[suffix], made[suffix], st.binary(max_size=50), st.one_of(*made.values()))
    )
    content = draw(damaged(content))
    packer = draw(st.sampled_from(["", "", "", *PACKERS]))
    if packer:
        content = draw(damaged(PACKERS[packer](content)))
    return f"rows{suffix}{packer}", content


arguments = st.fixed_dictionaries(
    {},
    optional={
        "on_error": st.sampled_from(["raise", "skip"]),
        "tag_separator": st.sampled_from([";", " "]),
        "tags": st.sampled_from(["tags", ["tags", "author"]]),
        "text": st.sampled_from(["text", ["text", "other"]]),
        "encoding": st.sampled_from(["utf-8", "latin-1", "utf-16"]),
        "min_df": st.just(1),
        "n_jobs": st.just(1),
        "numbers": st.just(True),
    },
)


def check(name: str, content: bytes, options: dict[str, Any], on_disk: bool) -> None:
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ReadWarning)
        folder = Path(place)
        (folder / "words.txt").write_text("engine\nnote\nnote \n\nzero\n")
        (folder / "tags.txt").write_text("Ada\nNULL\n1843\n")
        (folder / name).write_bytes(content)
        before = set(folder.iterdir())
        target = folder / "corpus"
        told = ""
        try:
            corpus = Corpus.read(folder / name, to=target if on_disk else None, **options)
        except ReadError as error:
            told = str(error)
        if told:
            assert name in told
            assert set(folder.iterdir()) == before
            return
        assert set(folder.iterdir()) == before | ({target} if on_disk else set())
        assert corpus.counts.shape == (len(corpus), corpus.n_words)
        assert corpus.tags.shape == (len(corpus), corpus.n_tags)
        assert corpus.counts.indices.size == 0 or corpus.counts.indices.max() < corpus.n_words
        assert len(list(corpus)) == len(corpus.ids) == len(corpus)
        if on_disk:
            assert Corpus.open(target).fingerprint() == corpus.fingerprint()


@pytest.mark.parametrize("part", range(-(-TOTAL // PART)))
def test_any_file_gives_a_corpus_or_our_own_error(part: int) -> None:
    @settings(
        max_examples=min(TOTAL, PART), deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck)
    )
    @hypothesis.seed(part)
    @given(files(), arguments, st.sampled_from([False, False, False, True]))
    def run(file: tuple[str, bytes], options: dict[str, Any], on_disk: bool) -> None:
        check(*file, options, on_disk)

    run()
