"""The sampler on a real cluster against the local one with the same rounds: the same bits, whatever fails."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tagtopic import TWDA, Corpus
from tagtopic.engines import LocalEngine
from tagtopic.testing import SparkCluster

EXECUTOR = "CoarseGrainedExecutorBackend"
ROUNDS = 2
SETTINGS: dict[str, Any] = {
    "n_topics": 3,
    "inference": "gibbs",
    "max_iter": 5,
    "thinning": 1,
    "n_draws": 2,
    "validation_fraction": 0.2,
    "random_state": 0,
    "n_jobs": 1,
    "tag_predictor": False,
}
LEARNT = (
    "components_", "tag_topics_", "bound_", "validation_perplexity_", "topic_word_draws_", "tag_topic_draws_",
    "own_word_tags_", "own_word_draws_",
)  # fmt: skip


def assert_same_model(one: TWDA, other: TWDA) -> None:
    for name in LEARNT:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(one.own_words_.toarray(), other.own_words_.toarray())


@pytest.fixture(scope="module")
def expected(corpus: Corpus) -> TWDA:
    return TWDA(**SETTINGS).fit(corpus, engine=LocalEngine(1, sampler_rounds=ROUNDS))


def test_lost_executors_and_a_new_driver_do_not_change_the_bits(
    corpus: Corpus, expected: TWDA, cluster: SparkCluster, spark_engine: Callable[..., Any], tmp_path: Path
) -> None:
    """Executors are killed in the first fit, which is stopped; another one resumes from its checkpoint."""
    engine = spark_engine(sampler_rounds=ROUNDS)
    killed: list[int] = []

    class Stopped(Exception):
        pass

    def fail(iteration: int, *_: Any) -> None:
        if iteration in (1, 2):
            running = [pid for worker in cluster.workers for pid in cluster.processes_of(worker, EXECUTOR)]
            killed.append(next(pid for pid in running if pid not in killed))
            os.kill(killed[-1], signal.SIGKILL)
        if iteration == 4:
            raise Stopped

    saved: dict[str, Any] = {"checkpoint": str(tmp_path / "fit.checkpoint"), "checkpoint_every": 3}
    with pytest.raises(Stopped):
        TWDA(**SETTINGS, **saved, callbacks=[fail]).fit(corpus, engine=engine)
    assert len(killed) == 2
    iterations: list[int] = []
    resumed = TWDA(**SETTINGS, **saved, callbacks=[lambda iteration, *_: iterations.append(iteration)])
    assert_same_model(resumed.fit(corpus, engine=engine), expected)
    assert iterations == [4, 5]


def test_documents_that_executors_read_give_the_same_bits(
    tmp_path: Path, spark_engine: Callable[..., Any], corpus: Corpus
) -> None:
    """In partitions of other sizes than the blocks; own words are searched for on executors."""
    rows = [{"text": " ".join(document.words), "tags": list(document.tags)} for document in corpus]
    for name, part in (("a", rows[:70]), ("b", rows[70:])):
        pq.write_table(pa.Table.from_pylist(part), tmp_path / f"{name}.parquet")
    columns: dict[str, Any] = {"text": "text", "tags": "tags", "min_df": 1, "stop_words": None}
    local = Corpus.read(tmp_path, **columns)
    expected = TWDA(**SETTINGS).fit(local, engine=LocalEngine(1, sampler_rounds=ROUNDS))
    assert expected.own_words_.nnz
    with spark_engine(sampler_rounds=ROUNDS).read(tmp_path, **columns) as remote:
        assert len(remote.placement().partitions) > 1
        assert_same_model(TWDA(**SETTINGS).fit(remote), expected)
        chosen = TWDA(**SETTINGS | {"inference": "auto", "max_iter": 1, "n_draws": 0}).fit(remote)
        assert chosen.inference_ == "gibbs"
