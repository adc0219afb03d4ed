"""Guarantees to users: old files open, nothing is pickled, inference is thread-safe, memory does not leak, and a full
disk or a read-only folder gives one clear error and leaves no partial file.

Further guarantees are tested elsewhere: equal bits for any number of threads (tests/engines), after a resume
(tests/models, `make kills`) and for equal seeds (tests/models); Ctrl-C at any time (tests/tools, `make interrupts`).
"""

import ast
import errno
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Command, tagtopic

from tagtopic import TWDA, Corpus
from tagtopic.models._base import TagTopicModel

__all__ = ["tagtopic"]  # a fixture

SOURCE = Path(__file__).parents[1] / "src"
FORMATS = Path(__file__).parent / "formats"
TEXTS = ["The engine calculates, a storm and lightning!", "a ball and a letter to my sister", ""]
NOBODY = 65534


@pytest.fixture(scope="module")
def model() -> TagTopicModel:
    return TagTopicModel.load(FORMATS / "model-1.bin")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus.open(FORMATS / "corpus-1")


# files


def assert_close(found: list[tuple[str, float]], expected: list[tuple[str, float]], *, rel: float) -> None:
    assert [name for name, _ in found] == [name for name, _ in expected]
    assert [value for _, value in found] == pytest.approx([value for _, value in expected], rel=rel)


def test_files_of_the_first_format_still_open(model: TagTopicModel, corpus: Corpus) -> None:
    """The files and expected results are never regenerated: later versions must read them and give the same results."""
    expected = json.loads((FORMATS / "expected-1.json").read_text("utf-8"))
    assert isinstance(model, TWDA)
    assert [[d.id, d.words, list(d.tags)] for d in corpus[:3]] == expected["documents"]
    assert corpus.fingerprint() == expected["fingerprint"]
    assert model.n_iter_ == expected["n_iter"]
    for topic, words in enumerate(expected["top_words"]):
        assert_close(model.top_words(topic, 4), words, rel=1e-5)
    np.testing.assert_allclose(model.tag_weights(corpus[:3]).toarray(), expected["tag_weights"], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.transform(TEXTS[:1]), expected["transform"], rtol=1e-4)
    assert_close(model.predict_tags(TEXTS[1:2], n=3)[0], expected["predicted"][0], rel=1e-4)
    assert model.perplexity(corpus) == pytest.approx(expected["perplexity"], rel=1e-4)


def test_files_survive_a_round_trip(model: TagTopicModel, corpus: Corpus, tmp_path: Path) -> None:
    model.save(tmp_path / "again")
    corpus.save(tmp_path / "corpus")
    again = TagTopicModel.load(tmp_path / "again")
    np.testing.assert_array_equal(again.components_, model.components_)
    assert again.get_params() == model.get_params()
    assert Corpus.open(tmp_path / "corpus").fingerprint() == corpus.fingerprint()


def contents(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_the_package_never_pickles() -> None:
    """Loading a pickle can run arbitrary code."""
    forbidden = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not forbidden & {name.partition(".")[0] for name in names}, f"{path}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("np.load", "np.save", "np.savez"):
                refused = [ast.unparse(k.value) for k in node.keywords if k.arg == "allow_pickle"] == ["False"]
                assert refused, f"{path}:{node.lineno} may pickle"


def test_a_file_with_a_pickle_is_rejected(corpus: Corpus, tmp_path: Path) -> None:
    corpus.save(tmp_path / "corpus")
    np.save(tmp_path / "corpus" / "counts.data.npy", np.array([{"an": "object"}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"counts\.data\.npy is truncated or not an array"):
        Corpus.open(tmp_path / "corpus")


# threads and memory


def queries(model: TagTopicModel, corpus: Corpus) -> list[Callable[[], Any]]:
    return [
        lambda: model.transform(TEXTS).tobytes(),
        lambda: model.transform(corpus).tobytes(),
        lambda: model.tag_weights(corpus).data.tobytes(),
        lambda: model.predict_tags(TEXTS, n=5),
        lambda: model.rank_tags(corpus),
        lambda: str(model.explain(corpus[3])),
        lambda: model.similar_tags("author:Ada"),
        lambda: model.perplexity(corpus),
    ]


def test_concurrent_calls_give_the_same_bits(model: TagTopicModel, corpus: Corpus) -> None:
    calls = queries(model, corpus)
    sequential = [call() for call in calls]
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(len(calls)), 12)).tolist()
    with ThreadPoolExecutor(8) as threads:
        concurrent = list(threads.map(lambda i: (i, calls[i]()), order))
    assert all(result == sequential[i] for i, result in concurrent)


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_ten_thousand_calls_do_not_leak_memory(model: TagTopicModel, corpus: Corpus) -> None:
    one = corpus[:1]
    for _ in range(500):
        model.transform(one)
    model.predict_tags(TEXTS)
    before = resident()
    for _ in range(10_000):
        model.transform(one)
    for _ in range(50):
        model.predict_tags(TEXTS)
    assert resident() - before < 2**22


# disks


@contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """Limit the size of files, so that writing more fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("limit", [0, 100, 5000])
def test_a_full_disk_leaves_the_old_model_intact(
    model: TagTopicModel, corpus: Corpus, tmp_path: Path, limit: int
) -> None:
    path = tmp_path / "model"
    TWDA(2, max_iter=1, random_state=0).fit(corpus).save(path)
    before = path.read_bytes()
    with full_disk(limit), pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        model.save(path)
    assert path.read_bytes() == before
    assert contents(tmp_path) == ["model"]


@pytest.mark.parametrize("limit", [0, 200, 700])
def test_a_full_disk_leaves_the_old_corpus_intact(corpus: Corpus, tmp_path: Path, limit: int) -> None:
    corpus[:2].save(tmp_path / "corpus")
    with full_disk(limit), pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        corpus.save(tmp_path / "corpus")
    assert Corpus.open(tmp_path / "corpus").fingerprint() == corpus[:2].fingerprint()
    assert contents(tmp_path) == ["corpus"]


def test_a_fit_on_a_full_disk_goes_on_and_keeps_the_last_checkpoint(corpus: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    settings: dict[str, Any] = {"n_topics": 2, "random_state": 0, "checkpoint": path, "checkpoint_every": 2, "tol": 0}
    TWDA(max_iter=4, **settings).fit(corpus)
    before = path.read_bytes()
    message = f"{path} cannot be written after iteration 6 .*: the fit goes on .*; the last one is kept"
    with full_disk(300), pytest.warns(UserWarning, match=message) as seen:
        model = TWDA(max_iter=8, **settings).fit(corpus)
    assert len(seen) == 1
    whole = TWDA(max_iter=8, **{**settings, "checkpoint": None}).fit(corpus)
    np.testing.assert_array_equal(model.components_, whole.components_)
    assert path.read_bytes() == before
    assert contents(tmp_path) == ["checkpoint"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_on_standard_output_is_a_one_line_error() -> None:
    line = [sys.executable, "-m", "tagtopic", "topics", str(FORMATS / "model-1.bin")]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [f"error: {os.strerror(errno.ENOSPC)}"]


@contextmanager
def unprivileged_user() -> Iterator[None]:
    """Drop the privileges of root, which can write anywhere."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_a_read_only_folder_is_a_clear_error_and_unchanged(
    model: TagTopicModel, corpus: Corpus, tmp_path: Path, tagtopic: Command
) -> None:
    model.save(tmp_path / "model")
    fit = ("fit", FORMATS / "corpus-1", "-k", 2, "--quiet", "-o")
    # the user may not be able to read the code: it is loaded before
    assert tagtopic(*fit, tmp_path / "loaded").code == 0
    (tmp_path / "loaded").unlink()
    tmp_path.chmod(0o555)
    for save in (model.save, corpus.save):
        with unprivileged_user(), pytest.raises(PermissionError):
            save(tmp_path / "new")
    with unprivileged_user():
        done = tagtopic(*fit, tmp_path / "new.tagtopic")
    assert done.code == 1
    assert re.fullmatch(rf"error: \S+: {os.strerror(errno.EACCES)}\n", done.err)
    tmp_path.chmod(0o755)
    assert contents(tmp_path) == ["model"]
