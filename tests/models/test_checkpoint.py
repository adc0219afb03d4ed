"""Killed and resumed is the same as never stopped."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagtopic.datasets import make_tagged_corpus
from tagtopic.models import TWDA, TWTM
from tagtopic.models.checkpoint import CheckpointError

CORPUS = make_tagged_corpus(300, 4, 12, 120, random_state=5).corpus
LEARNT = {"tag_weight_prior": "estimate", "latent_weight_prior": "estimate", "latent_topic_prior": "estimate"}


def same(one: TWDA, other: TWDA) -> None:
    for name in ("components_", "tag_topics_", "tag_weight_prior_", "latent_topic_prior_", "bound_", "topic_shares_"):
        assert np.array(getattr(one, name)).tobytes() == np.array(getattr(other, name)).tobytes(), name
    assert one.n_iter_ == other.n_iter_
    assert one.converged_ == other.converged_
    assert one.prior_updates_ == other.prior_updates_


@pytest.mark.parametrize("way", ["map", "mixture", "paper", "collapsed"])
@pytest.mark.parametrize("stopped_after", [1, 7, 22])
def test_a_resumed_fit_ends_with_the_same_bits(way: str, stopped_after: int, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"inference": way, "random_state": 0, "tol": 0, **LEARNT}
    whole = TWDA(4, max_iter=45, **settings).fit(CORPUS)
    path = tmp_path / "fit.checkpoint"
    TWDA(4, max_iter=stopped_after, checkpoint=path, checkpoint_every=5, **settings).fit(CORPUS)
    resumed = TWDA(4, max_iter=45, checkpoint=path, n_jobs=1, **settings).fit(CORPUS)
    same(resumed, whole)


def test_a_finished_fit_is_not_run_again(tmp_path: Path) -> None:
    model = TWTM(4, random_state=0, max_iter=6, tol=0, checkpoint=tmp_path / "fit").fit(CORPUS)
    calls: list[int] = []
    model.set_params(callbacks=[lambda iteration, *_: calls.append(iteration)]).fit(CORPUS)
    assert calls == []
    model.set_params(max_iter=8).fit(CORPUS)
    assert calls == [7, 8]


def test_another_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fit"
    TWDA(4, random_state=0, max_iter=2, checkpoint=path).fit(CORPUS)
    with pytest.raises(CheckpointError, match="checkpoint of another run"):
        TWDA(5, random_state=0, max_iter=2, checkpoint=path).fit(CORPUS)
    with pytest.raises(CheckpointError, match="checkpoint of another run"):
        TWDA(4, random_state=0, max_iter=2, checkpoint=path).fit(CORPUS[:200])
    with pytest.raises(CheckpointError, match="checkpoint of another run"):
        TWTM(4, random_state=0, max_iter=2, checkpoint=path).fit(CORPUS)


def test_a_damaged_checkpoint_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "fit"
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(CheckpointError, match="remove the file to start anew"):
        TWDA(4, max_iter=2, checkpoint=path).fit(CORPUS)
    with pytest.raises(ValueError, match="checkpoint_every=0"):
        TWDA(4, max_iter=2, checkpoint=path, checkpoint_every=0).fit(CORPUS)


def test_kill_minus_nine_leaves_a_good_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "fit"
    script = textwrap.dedent(f"""
        import sys
        from tagtopic.datasets import make_tagged_corpus
        from tagtopic.models import TWDA
        corpus = make_tagged_corpus(300, 4, 12, 120, random_state=5).corpus
        said = lambda iteration, *_: print(iteration, flush=True)
        TWDA(4, random_state=0, max_iter=100000, tol=0, checkpoint={str(path)!r}, checkpoint_every=1,
             callbacks=[said]).fit(corpus)
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= 12:
                os.kill(process.pid, signal.SIGKILL)
                break
    resumed = TWDA(4, random_state=0, max_iter=200, tol=0, checkpoint=path, checkpoint_every=1).fit(CORPUS)
    same(resumed, TWDA(4, random_state=0, max_iter=200, tol=0).fit(CORPUS))


def test_a_fit_that_converged_is_not_run_again(tmp_path: Path) -> None:
    model = TWDA(4, random_state=0, tol=1e-3, tag_topic_prior=np.full(4, 0.5), checkpoint=tmp_path / "fit").fit(CORPUS)
    n_iter = model.n_iter_
    assert model.converged_
    assert model.fit(CORPUS).n_iter_ == n_iter
    assert model.converged_
