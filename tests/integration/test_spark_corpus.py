"""Corpora that executors read, and their fits, against the same files read on this machine."""

from __future__ import annotations

import gzip
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tagtopic import LDA, TWDA, TWTM, Corpus
from tagtopic.corpus import ReadError, ReadWarning
from tagtopic.engines.local import LocalEngine
from tagtopic.testing import SparkCluster

COLUMNS: dict[str, Any] = {"text": ["title", "body"], "tags": ["author", "labels"]}
EXECUTOR = "CoarseGrainedExecutorBackend"
SETTINGS: dict[str, Any] = {"n_topics": 3, "max_iter": 4, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """Letters with stop words, rare words, tags of two kinds, a document without tags and one without words."""
    random = np.random.default_rng(0)
    subjects = {"Ada": "engine number wheel card", "Mary": "monster storm lightning night", "Jane": "ball letter pride"}
    found: list[dict[str, Any]] = []
    for i in range(240):
        author = str(random.choice(list(subjects)))
        text = " ".join(random.choice([*subjects[author].split(), "the", "and", "of", "a", f"rare{i}"], 14))
        labels = [str(label) for label in random.choice(["letter", "draft", "NULL", "proof"], random.integers(0, 3))]
        found.append({"id": f"n{i}", "title": f"To {author}", "body": text, "author": author, "labels": labels})
    found[7] |= {"author": None, "labels": []}
    found[9] |= {"title": "", "body": None}
    return found


@pytest.fixture(scope="module")
def parquet(rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files, of which the second is the larger: Spark would rather read it first."""
    folder = tmp_path_factory.mktemp("letters")
    pq.write_table(pa.Table.from_pylist(rows[:80]), folder / "a.parquet")
    pq.write_table(pa.Table.from_pylist(rows[80:]), folder / "b.parquet")
    return folder


def assert_same_corpus(remote: Any, local: Corpus) -> None:
    assert (remote.words, remote.tag_names, remote.rules) == (local.words, local.tag_names, local.rules)
    np.testing.assert_array_equal(remote.word_counts(), local.word_counts())
    np.testing.assert_array_equal(remote.tag_sizes(), local.tag_sizes())
    for mine, theirs in zip(remote.document_sizes(), local.document_sizes(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert remote[np.arange(len(local))].fingerprint() == local.fingerprint()


def assert_same_model(one: Any, other: Any, relative: float = 0.0) -> None:
    for name in ("components_", "tag_topics_", "tag_weight_prior_", "word_counts_", "validation_perplexity_"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=relative, err_msg=name)
    assert one.tag_predictor_ == other.tag_predictor_


def test_a_corpus_and_its_fit_equal_those_of_one_machine(parquet: Path, spark_engine: Callable[..., Any]) -> None:
    local = Corpus.read(parquet, **COLUMNS)
    engine = spark_engine()
    with engine.read(parquet, **COLUMNS) as remote:
        assert len(remote.blocks) > 1
        assert_same_corpus(remote, local)
        settings = SETTINGS | {"validation_fraction": 0.2}
        found = TWDA(**settings).fit(remote)
        expected = TWDA(**settings).fit(local, engine=LocalEngine(1))
        assert_same_model(found, expected, 1e-4)  # partitions are other blocks: the sums are rounded elsewhere
        with pytest.raises(ValueError, match=r"and 1 of 240 have none \('n7'\)"):
            TWTM(**SETTINGS).fit(remote, engine=engine)
        with pytest.raises(ValueError, match="on a cluster"):
            TWDA(**SETTINGS).fit(remote, engine=LocalEngine(1))
        with pytest.raises(ValueError, match=r"read them with tags=\(\)"):
            LDA(**SETTINGS).fit(remote)


def test_a_fit_of_one_partition_of_lines_has_the_same_bits(
    rows: list[dict[str, Any]], tmp_path: Path, spark_engine: Callable[..., Any]
) -> None:
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    lines[3] = "{not json"
    source = tmp_path / "letters.jsonl.gz"
    source.write_bytes(gzip.compress("\n".join(lines).encode() + b'\n{"body": "\xff"}\n\n'))
    engine = spark_engine()
    with pytest.raises(ReadError, match="line 4: is not JSON"):
        engine.read(source, **COLUMNS)
    with pytest.raises(ReadError, match="no column 'genre'"):
        engine.read(source, text="body", tags="genre", on_error="skip")
    with pytest.warns(ReadWarning, match="2 of 241 rows"):
        remote = engine.read(source, on_error="skip", **COLUMNS)
    with pytest.warns(ReadWarning):
        local = Corpus.read(source, on_error="skip", **COLUMNS)
    with remote:
        assert_same_corpus(remote, local)
        assert_same_model(
            TWDA(**SETTINGS).fit(remote), TWDA(**SETTINGS).fit(local, engine=LocalEngine(1, block_entries=2000))
        )
        assert len(remote.blocks) == 1


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_the_fingerprint_of_a_frame_does_not_depend_on_partitions(
    rows: list[dict[str, Any]], parquet: Path, context: Any, spark_engine: Callable[..., Any]
) -> None:
    from pyspark.sql import SparkSession

    engine = spark_engine(weight_update="components")
    frame = SparkSession(context).read.parquet(str(parquet / "b.parquet"))
    with engine.read(frame, **COLUMNS) as one, engine.read(frame.coalesce(1), **COLUMNS) as other:
        assert one.fingerprint() == other.fingerprint()
        assert_same_corpus(one, Corpus.read(pa.Table.from_pylist(rows[80:]), **COLUMNS))
        without_ids = engine.read(frame.drop("id"), **COLUMNS)
        assert without_ids.fingerprint() != one.fingerprint()
        assert list(without_ids[np.array([5, 150])].ids) == ["5", "150"]
    with pytest.raises(ReadError, match="the frame has no column 'story'"):
        engine.read(frame, text="story")
    phrases: dict[str, Any] = {"bigrams": 0.0, "bigram_min_count": 4}
    with engine.read(frame.repartition(3), **phrases, **COLUMNS) as joined:
        expected = Corpus.read(pa.Table.from_pylist(rows[80:]), **phrases, **COLUMNS)
        assert any(" " in word for word in joined.words)
        assert (joined.words, joined.rules) == (expected.words, expected.rules)
        np.testing.assert_array_equal(joined.word_counts(), expected.word_counts())


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_the_shuffle_of_a_frame_is_computed_once(
    rows: list[dict[str, Any]], context: Any, spark_engine: Callable[..., Any]
) -> None:
    from pyspark.sql import SparkSession

    computed = context.accumulator(0)

    def counted(row: dict[str, Any]) -> tuple[str, str]:
        computed.add(1)
        return row["id"], row["body"]

    pairs = context.parallelize(rows, 2).map(counted)
    frame = SparkSession(context).createDataFrame(pairs, "id string, body string").repartition(3)
    with spark_engine().read(frame, text="body", id="id", tags=(), bigrams=0.0, bigram_min_count=4) as corpus:
        assert len(corpus) == len(rows)
        assert corpus.words
    assert computed.value == len(rows)


def test_documents_of_lost_executors_are_read_again(
    parquet: Path, cluster: SparkCluster, spark_engine: Callable[..., Any]
) -> None:
    source = parquet / "b.parquet"  # one partition: the bits are those of one machine
    settings = SETTINGS | {"tag_weight_prior": "estimate", "max_iter": 21}
    expected = TWDA(**settings).fit(Corpus.read(source, **COLUMNS), engine=LocalEngine(1, block_entries=2000))
    killed: list[int] = []

    def executors() -> list[int]:
        return [pid for worker in cluster.workers for pid in cluster.processes_of(worker, EXECUTOR)]

    def kill(iteration: int, *_: Any) -> None:
        if iteration in (2, 5) and len(killed) < len(doomed):  # one after the other: one of them has the documents
            killed.append(doomed[len(killed)])
            os.kill(killed[-1], signal.SIGKILL)

    with spark_engine().read(source, **COLUMNS) as remote:
        doomed = executors()
        found = TWDA(**settings, callbacks=[kill]).fit(remote)
    assert killed == doomed
    assert_same_model(found, expected)


def test_columns_are_found_by_name_in_each_file(
    rows: list[dict[str, Any]], tmp_path: Path, spark_engine: Callable[..., Any]
) -> None:
    first, second = pa.Table.from_pylist(rows[:80]), pa.Table.from_pylist(rows[80:])
    turned = second.select(second.column_names[::-1]).append_column("year", pa.array([1818] * len(second)))
    pq.write_table(first, tmp_path / "a.parquet")
    pq.write_table(turned, tmp_path / "b.parquet")
    with spark_engine().read(tmp_path, **COLUMNS) as remote:
        assert_same_corpus(remote, Corpus.read(tmp_path, **COLUMNS))
    pq.write_table(turned.drop_columns(["labels"]), tmp_path / "b.parquet")
    with pytest.raises(ReadError, match=r"b\.parquet has no column 'labels'"):
        spark_engine().read(tmp_path, **COLUMNS)


def test_a_name_with_characters_of_patterns_is_one_file(
    rows: list[dict[str, Any]], tmp_path: Path, spark_engine: Callable[..., Any]
) -> None:
    for i, name in enumerate(("a[1].jsonl", "a1.jsonl", "{b,c}*?.jsonl")):
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows[i * 80 : (i + 1) * 80])))
    with spark_engine().read(tmp_path, **COLUMNS) as remote:
        assert_same_corpus(remote, Corpus.read(tmp_path, **COLUMNS))
