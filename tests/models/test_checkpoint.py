"""Checkpoints: a resumed fit ends like one that was not interrupted, and other files are refused."""

import os
import signal
import subprocess
import sys
import textwrap
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tagtopic._core.tensors import read_tensors, write_tensors
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines.local import LocalEngine
from tagtopic.inference.methods import E_STEP_METHODS
from tagtopic.models import TWDA, TWTM
from tagtopic.models._checkpoint import FORMAT, KIND, OLDEST_FORMAT, RENAMED, CheckpointError, canonical_text
from tagtopic.models._settings import initial_parameters
from tagtopic.models._validation import ValidationWords

CORPUS = make_tagged_corpus(300, 4, 12, 120, random_state=5).corpus
LEARNT: dict[str, Any] = {
    "tag_weight_prior": "estimate",
    "latent_weight_prior": "estimate",
    "latent_topic_prior": "estimate",
}


def same(one: TWDA, other: TWDA) -> None:
    for name in ("components_", "tag_topics_", "tag_weight_prior_", "latent_topic_prior_", "bound_", "topic_shares_"):
        assert np.array(getattr(one, name)).tobytes() == np.array(getattr(other, name)).tobytes(), name
    assert one.n_iter_ == other.n_iter_
    assert one.converged_ == other.converged_
    assert one.prior_updates_ == other.prior_updates_


@cache
def uninterrupted(method: str) -> TWDA:
    return TWDA(4, max_iter=45, inference=method, random_state=0, tol=0, **LEARNT).fit(CORPUS)


@pytest.mark.parametrize("method", E_STEP_METHODS)
@pytest.mark.parametrize("stopped_after", [1, 7, 22])
def test_a_resumed_fit_ends_with_the_same_bits(method: str, stopped_after: int, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"inference": method, "random_state": 0, "tol": 0, **LEARNT}
    path = tmp_path / "fit.checkpoint"
    TWDA(4, max_iter=stopped_after, checkpoint=path, checkpoint_every=5, **settings).fit(CORPUS)
    resumed = TWDA(4, max_iter=45, checkpoint=path, n_jobs=1, **settings).fit(CORPUS)
    same(resumed, uninterrupted(method))


def test_a_finished_fit_is_not_run_again(tmp_path: Path) -> None:
    model = TWTM(4, random_state=0, max_iter=6, tol=0, checkpoint=tmp_path / "fit").fit(CORPUS)
    calls: list[int] = []
    model.set_params(callbacks=[lambda iteration, *_: calls.append(iteration)]).fit(CORPUS)
    assert calls == []
    model.set_params(max_iter=8).fit(CORPUS)
    assert calls == [7, 8]


def test_a_checkpoint_of_another_fit_is_refused(tmp_path: Path) -> None:
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


def rewrite(path: Path, arrays: dict[str, Any] | None = None, **header: Any) -> None:
    """Change a checkpoint's arrays (None takes one away) and its header."""
    ours, tensors = read_tensors(path, KIND, FORMAT)
    changed = {name: array for name, array in (tensors | (arrays or {})).items() if array is not None}
    write_tensors(path, KIND, ours | header, changed)


WRONG_ARRAYS: list[tuple[dict[str, Any], str]] = [
    ({"psi": np.zeros((3, 4), np.float32)}, r"its array psi has the shape \(3, 4\) instead of \(120, 4\)"),
    ({"beta": np.zeros(1)}, r"its array beta has the shape \(1,\) instead of \(120,\)"),
    ({"xi": np.ones(1, np.float32)}, r"its array xi has the shape \(1,\)"),
    ({"rho": np.ones((1, 4), np.float32)}, r"its array rho has the shape \(1, 4\) instead of \(300, 4\)"),
    ({"best.theta": np.zeros((1, 4), np.float32)}, r"its array best.theta has the shape \(1, 4\)"),
    ({"best.pi": None}, "it has no array best.pi"),
    ({"mu": None}, "it has no array mu"),
    ({"other": np.zeros(2)}, "it has the array other"),
]


@pytest.mark.parametrize("learning", ["batch", "online"])
def test_arrays_of_other_shapes_are_refused(learning: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rising = count(1.0)
    monkeypatch.setattr(ValidationWords, "perplexity", lambda *_: next(rising))  # the best is not the last
    path = tmp_path / "fit"
    settings: dict[str, Any] = {
        "inference": "cvb0",
        "learning": learning,
        "validation_fraction": 0.1,
        "random_state": 0,
        "tol": 0,
    }
    TWDA(4, max_iter=2, checkpoint=path, **settings).fit(CORPUS)
    written = path.read_bytes()
    for wrong, message in WRONG_ARRAYS:
        path.write_bytes(written)
        rewrite(path, wrong)
        with pytest.raises(CheckpointError, match=f"does not fit its run: {message}.*remove the file to start anew"):
            TWDA(4, max_iter=3, checkpoint=path, **settings).fit(CORPUS)


@pytest.mark.parametrize("format", [OLDEST_FORMAT - 1, FORMAT + 1])
def test_another_format_is_refused(format: int, tmp_path: Path) -> None:
    path = tmp_path / "fit"
    TWDA(4, random_state=0, max_iter=2, checkpoint=path).fit(CORPUS)
    rewrite(path, format=format, run="as that format had it")
    with pytest.raises(CheckpointError, match=f"in format {format}.*tagtopic is needed; remove the file to start anew"):
        TWDA(4, random_state=0, max_iter=2, checkpoint=path).fit(CORPUS)


def test_a_fit_resumes_from_the_oldest_format(tmp_path: Path) -> None:
    path = tmp_path / "fit"
    settings: dict[str, Any] = {"inference": "cvb0", "random_state": 0, "tol": 0, "checkpoint": path, **LEARNT}
    TWDA(4, max_iter=7, **settings).fit(CORPUS)
    _, tensors = read_tensors(path, KIND, FORMAT)
    assert set(RENAMED.values()) <= tensors.keys()
    old = {before: tensors[now] for before, now in RENAMED.items()} | dict.fromkeys(RENAMED.values())
    rewrite(path, old, format=OLDEST_FORMAT)
    same(TWDA(4, max_iter=45, **settings).fit(CORPUS), uninterrupted("cvb0"))


def test_an_invalid_history_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "fit"
    TWDA(4, random_state=0, max_iter=2, checkpoint=path).fit(CORPUS)
    rewrite(path, history={"no_such_thing": []})
    with pytest.raises(CheckpointError, match=r"is damaged .*remove the file to start anew"):
        TWDA(4, random_state=0, max_iter=2, checkpoint=path).fit(CORPUS)


def test_a_session_refuses_posteriors_of_other_documents() -> None:
    parameters, _ = initial_parameters(TWDA(4, inference="map", random_state=0), CORPUS)
    expected = pytest.raises(ValueError, match=r"xi has the shape \(1,\): expected")
    with LocalEngine(1).session(CORPUS, parameters, "map") as session, expected:
        session.restore(session.posterior._replace(xi=session.posterior.xi[:1]))


PRIOR = np.random.default_rng(0).uniform(0.1, 1.0, 2000).round(3)


@pytest.mark.parametrize(
    "equal",
    [
        (0, np.int64(0), np.array(0)),
        (0.5, np.float32(0.5), np.float64(0.5)),
        (PRIOR, PRIOR.copy(), PRIOR.tolist(), tuple(PRIOR), pd.Series(PRIOR)),
        (np.array([1, 2]), np.array([1.0, 2.0], np.float32), [1, np.float64(2)]),
        (np.random.RandomState(3), np.random.RandomState(3)),
        (np.random.default_rng(3), np.random.default_rng(3)),
        ("float32", np.dtype("float32"), np.str_("float32")),
        (None, None),
        (True, np.bool(True)),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_equal_settings_have_the_same_canonical_text(equal: tuple[Any, ...]) -> None:
    assert len({canonical_text(value) for value in equal}) == 1


def test_different_settings_have_different_canonical_texts() -> None:
    middle, digit = PRIOR.copy(), PRIOR.copy()
    middle[1000] += 0.1
    digit[0] += 1e-12
    moved = np.random.RandomState(3)
    moved.normal()
    generators = [np.random.default_rng(3), np.random.default_rng(4)]
    generators += [np.random.Generator(np.random.Philox(seed)) for seed in (3, 4)]
    arrays = [PRIOR, middle, digit, PRIOR.reshape(2, -1), [0.5]]
    settings = [*arrays, *generators, np.random.RandomState(3), moved, 0.5, 1, True, None, "None", "estimate"]
    assert len({canonical_text(value) for value in settings}) == len(settings)


def test_a_changed_number_of_a_prior_makes_another_fit(tmp_path: Path) -> None:
    path = tmp_path / "fit"
    prior = np.full(CORPUS.n_words, 0.1)
    TWDA(4, random_state=0, max_iter=2, checkpoint=path, topic_word_prior=prior).fit(CORPUS)
    changed = prior.copy()
    changed[60] += 1e-10
    with pytest.raises(CheckpointError, match="checkpoint of another run"):
        TWDA(4, random_state=0, max_iter=3, checkpoint=path, topic_word_prior=changed).fit(CORPUS)
    TWDA(4, random_state=np.int64(0), max_iter=3, checkpoint=path, topic_word_prior=prior.tolist()).fit(CORPUS)


def test_a_fit_with_a_random_generator_is_resumed(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"max_iter": 4, "tol": 0}
    whole = TWDA(4, random_state=np.random.RandomState(7), **settings).fit(CORPUS)
    path = tmp_path / "fit"
    TWDA(4, random_state=np.random.RandomState(7), checkpoint=path, **settings).set_params(max_iter=2).fit(CORPUS)
    same(TWDA(4, random_state=np.random.RandomState(7), checkpoint=path, **settings).fit(CORPUS), whole)


def test_a_killed_process_leaves_a_complete_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "fit"
    script = textwrap.dedent(f"""
        import signal
        from tagtopic.datasets import make_tagged_corpus
        from tagtopic.models import TWDA
        corpus = make_tagged_corpus(300, 4, 12, 120, random_state=5).corpus
        def report(iteration, *_):
            print(iteration, flush=True)
            if iteration == 50:  # wait for the signal: the fit that follows must have iterations left
                signal.pause()
        TWDA(4, random_state=0, max_iter=100000, tol=0, checkpoint={str(path)!r}, checkpoint_every=1,
             callbacks=[report]).fit(corpus)
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= 12:
                os.kill(process.pid, signal.SIGKILL)
                break
    resumed = TWDA(4, random_state=0, max_iter=60, tol=0, checkpoint=path, checkpoint_every=1).fit(CORPUS)
    same(resumed, TWDA(4, random_state=0, max_iter=60, tol=0).fit(CORPUS))


def test_a_fit_that_converged_is_not_run_again(tmp_path: Path) -> None:
    model = TWDA(4, random_state=0, tol=1e-3, tag_topic_prior=np.full(4, 0.5), checkpoint=tmp_path / "fit").fit(CORPUS)
    n_iter = model.n_iter_
    assert model.converged_
    assert model.fit(CORPUS).n_iter_ == n_iter
    assert model.converged_
