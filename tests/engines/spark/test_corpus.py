"""A corpus read on a cluster that is this process: it equals the corpus read on one machine."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tagtopic import Corpus
from tagtopic.corpus import ReadError
from tagtopic.corpus.reading.options import ReadOptions
from tagtopic.corpus.text.rules import with_options
from tagtopic.engines.distributed.reading import IDS, TABLE, pack_batches
from tagtopic.engines.distributed.scratch import Scratch
from tagtopic.engines.spark.corpus import SparkCorpus, read_corpus
from tagtopic.engines.spark.source import Source, format_of, is_readable, open_source, paths_of

WORDS = ["the", "of", "and", "a", "engine", "wheel", "card", "number", "monster", "storm", "night", "ice"]


class HereRDD:
    """The methods of an RDD that reading calls."""

    def __init__(self, make: Callable[[], list[list[Any]]]) -> None:
        self.make = make

    def mapPartitionsWithIndex(self, function: Any) -> HereRDD:
        return HereRDD(lambda: [list(function(i, iter(part))) for i, part in enumerate(self.make())])

    def mapPartitions(self, function: Any) -> HereRDD:
        return self.mapPartitionsWithIndex(lambda _, part: function(part))

    def partitionBy(self, n: int, place: Callable[[Any], int]) -> HereRDD:
        return HereRDD(
            lambda: [[pair for part in self.make() for pair in part if place(pair[0]) == i] for i in range(n)]
        )

    _jrdd = SimpleNamespace(rdd=lambda: SimpleNamespace(dependencies=lambda: SimpleNamespace(isEmpty=lambda: True)))
    """Nothing to remove: nothing is written."""

    def cache(self) -> HereRDD:
        made = self.make()
        return HereRDD(lambda: made)

    def collect(self) -> list[Any]:
        return [value for part in self.make() for value in part]


CONTEXT: Any = SimpleNamespace(
    defaultParallelism=3,
    broadcast=lambda value: SimpleNamespace(value=value, destroy=lambda: None),
    runJob=lambda rdd, function, parts: [value for i in parts for value in function(iter(rdd.make()[i]))],
)


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))


def table_of(n_rows: int) -> pa.Table:
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice([*WORDS, f"rare{i // 3}"], 12)) for i in range(n_rows)]
    tags = [[str(tag) for tag in random.choice(["x:a", "x:b", "N/A", "c", "d"], i % 3)] for i in range(n_rows)]
    texts[4], tags[5] = "", ["only:once"]
    return pa.table({"body": texts, "tags": tags})


def read_here(table: pa.Table, cuts: Iterable[int], block_entries: int = 100, **options: Any) -> SparkCorpus:
    """The table cut into partitions (some may be empty) and read."""
    bounds = [0, *cuts, len(table)]
    parts = [
        [cell.as_py() for batch in pack_batches(table[first:last].to_batches()) for cell in batch.column(0)]
        for first, last in pairwise(bounds)
    ]
    request = ReadOptions(text="body", tags=None, id=None, tag_separator=None, on_error="raise")
    source: Any = Source(HereRDD(lambda: parts), TABLE)  # type: ignore[arg-type]
    return read_corpus(None, CONTEXT, source, request, *with_options(None, None, options), block_entries)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_df": 3, "max_words": 9},
        {"stop_words": ["ice"], "min_tag_documents": 2},
        {"bigrams": 0.0, "bigram_min_count": 2},
        {"bigrams": -0.2, "bigram_min_count": 3, "max_words": 20, "stop_words": None},
    ],
)
def test_words_and_tags_equal_those_read_on_one_machine(options: Any) -> None:
    table = table_of(60)
    found, expected = read_here(table, [10, 10, 41], **options), Corpus.read(table, text="body", **options)
    assert (found.words, found.tag_names, found.rules) == (expected.words, expected.tag_names, expected.rules)
    np.testing.assert_array_equal(found.word_counts(), expected.word_counts())
    np.testing.assert_array_equal(found.tag_sizes(), expected.tag_sizes())
    for mine, theirs in zip(found.document_sizes(), expected.document_sizes(), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("options", [{}, {"bigrams": 0.0, "bigram_min_count": 2}])
def test_blocks_store_the_documents_in_order(options: Any) -> None:
    table = table_of(60)
    found, expected = read_here(table, [10, 10, 41], **options), Corpus.read(table, text="body", **options)
    assert any(" " in word for word in found.words) == bool(options)
    home = Scratch(found.home)
    assert len(found.blocks) > 3
    assert found.blocks[-1].last == len(found) == 60
    for block in found.blocks:
        stored, own = home.block(block.number), expected[block.first : block.last]
        np.testing.assert_array_equal(stored.words[stored.block.documents.words], own.counts.indices)
        np.testing.assert_array_equal(stored.block.documents.counts, own.counts.data)
        np.testing.assert_array_equal(stored.tags[stored.block.documents.tags], own.tags.indices)
        assert bytes(home.extra(block.number, IDS[1])).decode() == "".join(own.ids)


def test_words_of_some_documents_can_be_removed() -> None:
    table = table_of(60)
    whole, rows = read_here(table, [30]), np.array([3, 30, 59])
    expected = Corpus.read(table, text="body")
    taken = np.minimum(expected[rows].counts.data, 1)
    less = whole._stored.less(_taken(expected, rows, taken))
    left = np.array(expected.counts.toarray())
    left[rows] -= left[rows] > 0
    np.testing.assert_array_equal(less.document_sizes[0], (left > 0).sum(axis=1))


def _taken(corpus: Corpus, rows: Any, taken: Any) -> Any:
    from tagtopic._core.arrays import offsets_of
    from tagtopic.engines.distributed.reading import RemovedWords

    return RemovedWords(rows, offsets_of(corpus.document_sizes()[0][rows]), taken)


class HereCluster:
    """The methods of a cluster that fetching calls."""

    def __init__(self, corpus: SparkCorpus) -> None:
        self.partitions, self.scratch = corpus.placement().partitions, Scratch(corpus.home)

    def share(self, value: Any) -> Any:
        return nullcontext(SimpleNamespace(value=value))

    def run(self, task: Any, step: int, partitions: list[int]) -> list[Any]:
        return [found for i in partitions for found in task(self.partitions[i], self.scratch)]


def test_documents_are_indexed_as_in_a_local_corpus() -> None:
    table = table_of(60)
    remote, local = read_here(table, [10, 10, 41]), Corpus.read(table, text="body")
    remote.__dict__["cluster"] = HereCluster(remote)
    rows: Any
    for rows in ([59, 3, 3, -1], [], np.arange(60) % 7 == 0, slice(None, None, -9), slice(5, 2), np.array([12, 30])):
        assert remote[rows].fingerprint() == local[rows].fingerprint()
    assert (remote[17], remote[-1]) == (local[17], local[-1])
    for rows in ([60], -61, [0.5], [True]):
        with pytest.raises(IndexError):
            remote[rows]


def test_the_fingerprint_does_not_depend_on_partitions() -> None:
    table = table_of(60)
    one, other = read_here(table, []), read_here(table, [7, 50], block_entries=50)
    assert one.fingerprint() == other.fingerprint()
    assert read_here(table[:59], []).fingerprint() != one.fingerprint()
    assert read_here(pa.concat_tables([table[1:], table[:1]]), []).fingerprint() != one.fingerprint()


def test_a_bad_row_is_located() -> None:
    table = pa.table({"body": ["a text", None], "tags": [["x"], ["y"]]})
    broken = table.set_column(0, "body", pa.array([{"a": 1}, {"a": 2}]))
    with pytest.raises(ReadError, match="part 1 of the source, row 1: column 'body'"):
        read_here(broken, [])
    with pytest.raises(ReadError, match="no documents"):
        read_here(table[:0], [])


def test_files_that_a_cluster_reads(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.parquet", "c.csv", "d.jsonl.zst"):
        (tmp_path / name).touch()
    readable = {name: is_readable([str(tmp_path / name)]) for name in ("a.jsonl", "b.parquet", "c.csv", "d.jsonl.zst")}
    assert readable == {"a.jsonl": True, "b.parquet": True, "c.csv": False, "d.jsonl.zst": False}
    assert not is_readable(["-"])
    assert not is_readable([str(tmp_path / "a.jsonl"), str(tmp_path / "b.parquet")])
    assert is_readable("s3a://bucket/posts.parquet")
    assert paths_of(["s3a://bucket/posts.parquet", tmp_path / "a.jsonl"]) == [
        "s3a://bucket/posts.parquet",
        f"file://{tmp_path / 'a.jsonl'}",
    ]


def test_an_address_is_always_read_by_the_cluster() -> None:
    assert all(map(is_readable, ["s3a://bucket/posts/", "s3a://bucket/posts.csv", "file:///x/pq"]))
    with pytest.raises(ValueError, match="the name of posts does not say what format"):
        format_of(paths_of("s3a://bucket/posts/"), None)
    assert format_of(paths_of("s3a://bucket/posts/"), "parquet") == "parquet"


def test_a_folder_of_texts_needs_its_format(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    assert is_readable(str(tmp_path), "text")
    assert paths_of(tmp_path, "text") == [f"file://{tmp_path / 'a.txt'}"]


@pytest.mark.parametrize("name", ["_a.jsonl", ".a.jsonl", "a:b.jsonl"])
def test_files_that_spark_ignores_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    assert not is_readable(str(tmp_path / name))
    with pytest.raises(ValueError, match=r"Spark does not read .*rename it"):
        paths_of(tmp_path / name)


@pytest.mark.parametrize(
    ("source", "kind", "message"),
    [
        ([], ValueError, "the list of files is empty"),
        ([{"text": "a"}], TypeError, "cannot read a list of this machine"),
        (io.BytesIO(b"{}"), TypeError, "cannot read a BytesIO of this machine"),
        (pa.table({"text": ["a"]}), TypeError, r"cannot read a Table .*session.createDataFrame"),
    ],
)
def test_sources_that_executors_cannot_read_raise(source: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        open_source(None, source, ReadOptions())  # type: ignore[arg-type]
