"""Mutated inputs in memory and crafted model files: an answer in finite numbers, or an error of ours.

A few hundred of each in the tests, seeded; `make fuzz` runs many more (TAGTOPIC_FUZZ).
"""

import copy
import json
import math
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from tagtopic import LDA, TWDA, Corpus
from tagtopic._core.tensors import DTYPES, read_tensors, write_tensors
from tagtopic.models._base import TagTopicModel
from tagtopic.models._io import FORMAT, KIND, ModelFileError

TOTAL = int(os.environ.get("TAGTOPIC_FUZZ", "200"))
PART = 50
SEED = int(os.environ.get("TAGTOPIC_FUZZ_SEED", "0"))

OURS = (ValueError, TypeError)
"""What the command line prints as one line; anything else has a traceback."""

NUMBERS = (
    0,
    1,
    -1,
    6,
    7,
    255,
    2**31 - 1,
    -(2**31),
    2**40,
    0.5,
    -0.0,
    1e-40,
    1e38,
    1e300,
    math.nan,
    math.inf,
    -math.inf,
)
COUNTS = np.random.default_rng(0).poisson(1, (12, 6)) + np.eye(12, 6, dtype=int)
TAGS = (np.random.default_rng(1).random((12, 4)) < 0.4).astype(int)
TAG_NAMES = ("a", "kind:b", "kind:c", "d")


@pytest.fixture(scope="module")
def model() -> TWDA:
    tags = [[TAG_NAMES[j] for j in np.flatnonzero(row)] for row in TAGS]
    return TWDA(2, max_iter=3, random_state=0, n_jobs=1, progress=False).fit(COUNTS, tags=tags)


def seeds() -> list[int]:
    return list(range(SEED, SEED + TOTAL, PART))


# ---- inputs in memory


def mutated_array(array: Any, random: np.random.Generator) -> Any:
    """The array with some values, its type or its length changed."""
    array = array.copy()
    for _ in range(random.integers(1, 4)):
        change = random.integers(5)
        if change <= 2 and array.size:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = np.array([NUMBERS[random.integers(len(NUMBERS))]]).astype(array.dtype)[0]
            array[tuple(random.integers(n) for n in array.shape)] = value
        elif change == 3:
            array = array.astype(["int8", "int32", "int64", "uint8", "float32", "float64", "bool"][random.integers(7)])
        elif array.ndim == 1:
            array = array[: random.integers(len(array) + 1)] if random.random() < 0.5 else np.append(array, array[:1])
    return array


def mutated_matrix(dense: Any, random: np.random.Generator) -> Any:
    """The matrix in some form, with its arrays changed behind its back."""
    form = ["csr", "csr", "csr", "csc", "bsr", "coo", "lil", "dense", "frame", "masked", "lists"][random.integers(11)]
    if form in ("dense", "frame", "masked", "lists"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = mutated_array(dense.astype([int, float][random.integers(2)]), random)
        if form == "masked":
            return np.ma.array(array, mask=random.random(array.shape) < 0.1)
        return {"dense": array, "frame": pd.DataFrame(array), "lists": array.tolist()}[form]
    matrix: Any = sp.csr_array(dense).asformat(form)
    if form == "lil":
        matrix.rows[random.integers(len(dense))] = [0, int(random.integers(-2, 9))]
    elif form == "coo":
        matrix.coords = tuple(mutated_array(each, random) for each in matrix.coords)
    else:
        for name in random.choice(["data", "indices", "indptr"], random.integers(1, 4), replace=False):
            setattr(matrix, name, mutated_array(getattr(matrix, name), random))
    return matrix


def numbers_of(answer: Any) -> Any:
    """Every number of an answer."""
    if isinstance(answer, bool | int | float | np.number):
        return [float(answer)]
    if sp.issparse(answer):
        return np.asarray(answer.data, float)
    if isinstance(answer, np.ndarray):
        return np.asarray(answer, float).ravel()
    if isinstance(answer, Sequence) and not isinstance(answer, str):
        return [number for each in answer for number in numbers_of(each)]
    if isinstance(answer, Corpus):
        return answer.counts.data
    return []


def audited(model: TWDA, X: Any, tags: Any) -> list[float]:
    return list(model.audit_tags(X, tags=tags).entries.column("plausibility"))


QUESTIONS: list[Callable[[TWDA, Any, Any], Any]] = [
    lambda model, X, tags: Corpus.from_counts(X, tags, fractional=True),
    lambda model, X, tags: Corpus.from_counts(X).word_counts(),
    lambda model, X, tags: model.transform(X),
    lambda model, X, tags: model.transform(X, tags=tags),
    lambda model, X, tags: model.predict_tags(X, n=3),
    lambda model, X, tags: [list(row) for row in model.rank_tags(X, tags=tags)],
    lambda model, X, tags: model.tag_weights(X, tags=tags),
    lambda model, X, tags: model.perplexity(X, tags=tags),
    audited,
    lambda model, X, tags: copy.deepcopy(model).partial_fit(X, tags=tags).components_,
    lambda model, X, tags: LDA(2, max_iter=1, n_jobs=1, random_state=0).fit(X).components_,
    lambda model, X, tags: TWDA(2, max_iter=1, n_jobs=1, random_state=0, tag_predictor=False).fit(X, tags=tags).bound_,
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", seeds())
def test_mutated_inputs_give_finite_answers_or_errors_of_ours(model: TWDA, seed: int) -> None:
    for case in range(seed, seed + PART):
        random = np.random.default_rng(case)
        X, tags = COUNTS, TAGS
        if random.random() < 0.7:
            X = mutated_matrix(COUNTS, random)
        if random.random() < 0.5:
            tags = mutated_matrix(TAGS, random)
        question = QUESTIONS[random.integers(len(QUESTIONS))]
        try:
            answer = question(model, X, tags)
        except OURS:
            continue
        except Exception as error:
            pytest.fail(f"case {case}: {type(error).__name__}: {error}")
        assert np.isfinite(numbers_of(answer)).all(), case


# ---- model files

VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 10**400, 1.5, math.nan, math.inf, "", "x", "TWDA", [], {}, [[]], [None], {"a": 1}, "\ud800",
)  # fmt: skip


def mutated_json(value: Any, random: np.random.Generator) -> Any:
    """The value with one entry replaced, removed or added, at any depth."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        name = list(value)[random.integers(len(value))]
        if random.random() < 0.2:
            return {key: each for key, each in value.items() if key != name}
        return value | {name: mutated_json(value[name], random)}
    if isinstance(value, list) and value and random.random() < 0.5:
        return [mutated_json(value[0], random), *value[1:]]
    return VALUES[random.integers(len(VALUES))]


def mutated_tensors(tensors: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    name = list(tensors)[random.integers(len(tensors))]
    change = random.random()
    if change < 0.1:
        return {key: array for key, array in tensors.items() if key != name}
    if change < 0.2:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tensors | {name: tensors[name].astype(list(DTYPES.values())[random.integers(len(DTYPES))])}
    if change < 0.3:
        return tensors | {name: tensors[name].reshape(-1)}
    array = mutated_array(tensors[name], random)
    return tensors | {name: array if array.dtype in DTYPES.values() else tensors[name]}


def craft(path: Path, original: bytes, header: Any, tensors: dict[str, Any], random: np.random.Generator) -> None:
    """Write a mutated file: mostly with a checksum that fits, sometimes with other bytes."""
    change = random.random()
    if change < 0.15:
        content, at = bytearray(original), random.integers(len(original), size=random.integers(1, 4))
        for place in at:
            content[place] = random.integers(256)
        path.write_bytes(bytes(content[: random.integers(len(content))] if change < 0.05 else content))
    elif change < 0.25:
        table = json.loads(original[8 : 8 + int.from_bytes(original[:8], "little")])
        text = json.dumps(mutated_json(table, random)).encode()
        path.write_bytes(
            len(text).to_bytes(8, "little") + text + original[8 + int.from_bytes(original[:8], "little") :]
        )
    else:
        if change < 0.65:
            header = mutated_json(header, random)
        if change > 0.55:
            tensors = mutated_tensors(tensors, random)
        write_tensors(path, KIND, header, tensors)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", seeds())
def test_crafted_files_give_finite_answers_or_one_error(model: TWDA, tmp_path: Path, seed: int) -> None:
    model.save(tmp_path / "original")
    original = (tmp_path / "original").read_bytes()
    header, tensors = read_tensors(tmp_path / "original", KIND, FORMAT)
    path = tmp_path / "crafted"
    for case in range(seed, seed + PART):
        craft(path, original, header, tensors, np.random.default_rng(case))
        try:
            loaded = TagTopicModel.load(path)
        except ModelFileError:
            continue
        except Exception as error:
            pytest.fail(f"case {case}: {type(error).__name__}: {error}")
        try:
            answers = [
                loaded.transform(COUNTS),
                loaded.predict_tags(COUNTS, n=2),
                [loaded.top_words(topic) for topic in range(len(loaded.components_))],
                loaded.topic_shares_,
                audited(loaded, COUNTS, TAGS),
            ]
        except OURS:
            continue
        except Exception as error:
            pytest.fail(f"case {case}: {type(error).__name__}: {error}")
        assert all(np.isfinite(numbers_of(answer)).all() for answer in answers), case
