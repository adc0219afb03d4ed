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
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
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
VARIANTS = 10  # of each generated file: damaging it is cheaper than making it
PART = 2_000  # hypothesis remembers every example of a test, so a long run is many tests

words = st.sampled_from(
    ["engine", "Ada", "author:Ada", "été", "日本語", "a b", ";", "", " ", "NULL", "\ud800", "\u2028", '"', "@", "1:2"]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | words | st.text(max_size=20)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=2), max_leaves=6
)
records = st.fixed_dictionaries(
    {"text": words | values}, optional={"tags": st.lists(words) | values, "id": values, "other": values}
)
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
    usual = st.sampled_from([["id", "text", "tags"], ["text", "tags"], ["text"]])
    header = draw(
        usual | usual | st.lists(st.sampled_from(["text", "tags", "text "]) | st.text(max_size=3), max_size=4)
    )
    fields = st.lists(words | st.text(max_size=8), min_size=len(header), max_size=len(header) + draw(st.integers(0, 1)))
    for row in [header, *draw(st.lists(fields, max_size=6))]:
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


PIECES = [b"\n", b"\r", b"\x00", b'"', b",", b"{", b"]", b"\xff\xfe", b"\xef\xbb\xbf", b"\x80", b"@", b":", b"9" * 30]
MADE = {".jsonl": json_lines(), ".csv": csv_text(), ".tsv": csv_text(), ".twtm": authors()}
MADE |= {suffix: tables() for suffix in (".parquet", ".arrow")}
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress, ".zst": _zstd,
}  # fmt: skip


def damaged(data: bytes, random: Random) -> bytes:
    """The bytes with a few of them changed, inserted, removed or cut off."""
    content = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 5])):
        at = random.randint(0, len(content))
        kind = random.choice(["change", "insert", "remove", "cut", "repeat"])
        piece = random.choice([random.randbytes(random.randint(1, 4)), *PIECES])
        if kind == "change":
            content[at : at + len(piece)] = piece
        elif kind == "insert":
            content[at:at] = piece
        elif kind == "remove":
            del content[at : at + random.randint(1, 8)]
        elif kind == "repeat":
            content[at:at] = content[at : at + 20] * 3
        else:
            del content[at:]
    return bytes(content)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    """A name that says a format, and content that is of that format, or of another, or of none."""
    suffix = draw(st.sampled_from(sorted(MADE)))
    strategy = draw(st.sampled_from([*[MADE[suffix]] * 6, st.binary(max_size=50), st.one_of(*MADE.values())]))
    return suffix, draw(strategy)


def variants(suffix: str, content: bytes, random: Random) -> Iterator[tuple[str, bytes]]:
    """The file as it is, then damaged and packed in several ways."""
    yield f"rows{suffix}", content
    for _ in range(VARIANTS - 1):
        changed = damaged(content, random) if random.random() < 0.8 else content
        packer = random.choice(["", "", "", *PACKERS])
        if packer:
            changed = PACKERS[packer](changed)
            changed = damaged(changed, random) if random.random() < 0.5 else changed
        yield f"rows{suffix}{packer}", changed


arguments = st.fixed_dictionaries(
    {},
    optional={
        "on_error": st.sampled_from(["raise", "skip"]),
        "tag_separator": st.sampled_from([";", " "]),
        "tags": st.sampled_from(["tags", "text"]),
        "text": st.sampled_from(["text", ["text", "tags"]]),
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
def test_any_file_gives_a_corpus_or_a_read_error(part: int) -> None:
    every = list(hypothesis.HealthCheck)
    quick = settings(
        max_examples=min(TOTAL, PART) // VARIANTS, deadline=None, database=None, suppress_health_check=every
    )

    @quick
    @hypothesis.seed(part)
    @given(files(), arguments, st.sampled_from([False, False, False, True]), st.integers(0, 2**32))
    def run(file: tuple[str, bytes], options: dict[str, Any], on_disk: bool, seed: int) -> None:
        for name, content in variants(*file, Random(seed)):
            check(name, content, options, on_disk)

    run()
