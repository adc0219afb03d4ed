"""The model file: round trips, and clear errors for damaged and foreign files."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from tagtopic._core.tensors import read_tensors, write_tensors
from tagtopic.datasets import make_tagged_corpus
from tagtopic.models import LDA, TWDA, TWTM
from tagtopic.models._base import TagTopicModel
from tagtopic.models._io import FORMAT, KIND, ModelFileError
from tagtopic.models._snapshot import ARRAYS, DRAWS, ITERATIONS, PAIRS

CORPUS = make_tagged_corpus(200, 4, 12, 100, random_state=5).corpus
ALWAYS = [name for name, learnt in ARRAYS.items() if not {ITERATIONS, DRAWS, PAIRS} & set(learnt.axes)]
DRAWN = [name for name, learnt in ARRAYS.items() if DRAWS in learnt.axes]


def rewrite(path: Path, arrays: dict[str, Any] | None = None, **header: object) -> None:
    """Change the header and the arrays of a model file, with a checksum that fits."""
    ours, tensors = read_tensors(path, KIND, FORMAT)
    write_tensors(path, KIND, ours | header, tensors | (arrays or {}))


@pytest.mark.parametrize("model", [TWTM(4), TWDA(4, tag_topic_prior=np.full(4, 0.3)), LDA(4, dtype="float64")])
def test_a_round_trip_keeps_every_attribute_and_setting(model: TagTopicModel, tmp_path: Path) -> None:
    model.set_params(random_state=3, max_iter=5).fit(CORPUS)
    model.save(tmp_path / "deep" / "model.tagtopic")
    again = type(model).load(tmp_path / "deep" / "model.tagtopic")
    learnt = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert {name for name in vars(again) if name.endswith("_")} == set(learnt)
    for name, value in learnt.items():
        other = getattr(again, name)
        if isinstance(value, np.ndarray):
            assert value.dtype == other.dtype, name
        np.testing.assert_array_equal(other, value, err_msg=name)
    for name, value in model.get_params().items():
        np.testing.assert_array_equal(getattr(again, name), value, err_msg=name)
    assert again.perplexity(CORPUS) == model.perplexity(CORPUS)
    np.testing.assert_array_equal(again.transform(CORPUS), model.transform(CORPUS))
    assert list((tmp_path / "deep").iterdir()) == [tmp_path / "deep" / "model.tagtopic"]


@pytest.fixture(scope="module")
def small() -> TWDA:
    return TWDA(3, random_state=0, max_iter=2).fit(CORPUS)


@pytest.fixture
def saved(small: TWDA, tmp_path: Path) -> Path:
    path = tmp_path / "model.tagtopic"
    small.save(path)
    return path


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, lambda values: np.array(values, object)])
def test_settings_of_every_number_type_are_saved(kind: Callable[[list[Any]], Any], tmp_path: Path) -> None:
    prior = kind([np.float32(0.5)] * CORPUS.n_tags)
    settings: dict[str, Any] = {"tag_weight_prior": prior, "dtype": np.dtype("float32"), "max_iter": np.int64(2)}
    model = TWDA(3, random_state=0, **settings).fit(CORPUS)
    model.save(tmp_path / "model")
    again = TWDA.load(tmp_path / "model")
    assert again.tag_weight_prior == [0.5] * CORPUS.n_tags
    assert {type(number) for number in again.tag_weight_prior} == {float}
    assert again.dtype == "float32"
    np.testing.assert_array_equal(again.fit(CORPUS).components_, model.components_)


class Subclass(TWDA):
    pass


class WithOwnSetting(TWDA):
    """A subclass with a setting of its own, and without some of the others."""

    def __init__(self, n_topics: int = 3, *, flavour: str = "plain", random_state: Any = None) -> None:
        super().__init__(n_topics, max_iter=2, random_state=random_state)
        self.flavour = flavour


@pytest.mark.parametrize(
    "model", [Subclass(3, max_iter=2, random_state=0), WithOwnSetting(flavour="sweet", random_state=0)]
)
def test_a_subclass_is_saved_as_its_base(model: TWDA, tmp_path: Path) -> None:
    path = tmp_path / "model"
    model.fit(CORPUS).save(path)
    again = type(model).load(path)
    assert type(again) is type(model)
    assert getattr(again, "flavour", None) == getattr(model, "flavour", None)
    np.testing.assert_array_equal(again.components_, model.components_)
    for kind in (TWDA, TagTopicModel):
        assert type(kind.load(path)) is TWDA
    with pytest.raises(ModelFileError, match="holds a model of type TWDA, not TWTM"):
        TWTM.load(path)


def test_a_subclass_does_not_load_another_model(saved: Path) -> None:
    class OwnLDA(LDA):
        pass

    with pytest.raises(ModelFileError, match="holds a model of type TWDA, not OwnLDA"):
        OwnLDA.load(saved)


def test_a_model_of_an_unknown_class_is_not_saved(saved: Path) -> None:
    class Apart(TagTopicModel):
        pass

    model = Apart()
    model.__dict__.update(vars(TWDA.load(saved)))
    with pytest.raises(TypeError, match="Apart cannot be saved: derive it from TWDA, TWTM or LDA"):
        model.save(saved)


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_model_file_has_the_usual_permissions(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    assert saved.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_any_model_loads_through_the_base_class(saved: Path) -> None:
    assert isinstance(TagTopicModel.load(saved), TWDA)
    with pytest.raises(ModelFileError, match="holds a model of type TWDA, not TWTM"):
        TWTM.load(saved)


@pytest.mark.parametrize("kept", [0, 4, 100, 0.5, 0.999])
def test_a_truncated_file_is_one_clear_error(saved: Path, kept: float) -> None:
    data = saved.read_bytes()
    saved.write_bytes(data[: int(kept * len(data)) if kept < 1 else int(kept)])
    with pytest.raises(ModelFileError, match="is not a tagtopic model, or it is damaged"):
        TWDA.load(saved)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x04pickle", b"PK\x03\x04" * 50, b"{}" * 1000])
def test_a_foreign_file_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="is not a tagtopic model"):
        TWDA.load(path)


def test_another_safetensors_file_is_not_a_model(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"x": np.zeros(3)}, str(tmp_path / "other.safetensors"))
    with pytest.raises(ModelFileError, match="is not a tagtopic model"):
        TWDA.load(tmp_path / "other.safetensors")


def test_a_newer_format_is_refused_by_version(saved: Path) -> None:
    rewrite(saved, format=99, version="9.9")
    with pytest.raises(ModelFileError, match=r"written by tagtopic 9\.9 in format 99.*a newer tagtopic is needed"):
        TWDA.load(saved)


def test_an_unknown_setting_in_the_header_is_damage(saved: Path) -> None:
    rewrite(saved, settings={"n_topics": 3, "no_such_setting": 1})
    with pytest.raises(ModelFileError, match="is damaged"):
        TWDA.load(saved)


@pytest.mark.parametrize("name", ALWAYS)
def test_an_array_of_another_shape_is_damage(saved: Path, name: str) -> None:
    tensor = ARRAYS[name].tensor_name
    rewrite(saved, {tensor: read_tensors(saved, KIND, FORMAT)[1][tensor][:1]})
    with pytest.raises(ModelFileError, match=f"is damaged: its {name} has the shape"):
        TWDA.load(saved)


@pytest.mark.parametrize("name", DRAWN)
def test_draws_are_checked_like_other_arrays(tmp_path: Path, name: str) -> None:
    path, tensor = tmp_path / "model", ARRAYS[name].tensor_name
    settings: dict[str, Any] = {"inference": "gibbs", "max_iter": 12, "thinning": 1, "n_draws": 5}
    TWDA(3, random_state=0, tag_predictor=False, **settings).fit(CORPUS).save(path)
    array = np.array(read_tensors(path, KIND, FORMAT)[1][tensor])
    for wrong, message in (
        (array[:2], "has the shape"),
        (array[:, :2], "has the shape"),
        (array.astype(np.float64), "of another type"),
        (changed(array, np.nan), "not finite"),
        (changed(array, -0.5), "negative"),
        (changed(array, 1.5), "above 1"),
    ):
        rewrite(path, {tensor: wrong})
        with pytest.raises(ModelFileError, match=message):
            TWDA.load(path)


def test_a_missing_file_and_a_folder_are_different_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no model file"):
        TWDA.load(tmp_path / "nothing")
    with pytest.raises(ModelFileError, match="is a folder"):
        TWDA.load(tmp_path)


def test_a_failed_save_keeps_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()
    model = TWDA.load(saved)

    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tagtopic._core.tensors._write", full_disk)
    with pytest.raises(OSError, match="No space left"):
        model.save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_header_without_a_model_class_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.tagtopic"
    write_tensors(path, KIND, {"format": FORMAT}, {"numbers": np.zeros(1)})
    with pytest.raises(ModelFileError, match="its header has no version"):
        TWDA.load(path)


@pytest.fixture(scope="module")
def with_own_words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("own") / "model"
    TWDA(3, random_state=0, tag_predictor=False, inference="gibbs", max_iter=12).fit(CORPUS).save(path)
    return path


@pytest.mark.parametrize(
    ("tensor", "wrong", "message"),
    [
        ("own_word_tags_", lambda values: values[:-1], "has the shape"),
        ("own_word_tags_", lambda values: values + 1, "that it does not have"),
        ("own_word_words_", lambda values: values - 50, "that it does not have"),
        ("own_word_words_", lambda values: values[::-1].copy(), "not in order"),
        ("own_word_words_", lambda values: values.astype(np.int64), "of type int64"),
        ("own_word_shares_", lambda values: values * 0 + 0.5, "more than all"),
        ("own_word_shares_", lambda values: values * np.nan, "not finite"),
        ("own_word_shares_", lambda values: values.astype(np.float64), "of another type"),
    ],
)
def test_own_words_are_checked(with_own_words: Path, tmp_path: Path, tensor: str, wrong: Any, message: str) -> None:
    path = tmp_path / "model"
    path.write_bytes(with_own_words.read_bytes())
    rewrite(path, {tensor: wrong(np.array(read_tensors(path, KIND, FORMAT)[1][tensor]))})
    with pytest.raises(ModelFileError, match=message):
        TWDA.load(path)


def test_every_flipped_byte_is_noticed(saved: Path) -> None:
    data, random = saved.read_bytes(), np.random.default_rng(0)
    for at in random.integers(0, len(data), 200):
        saved.write_bytes(data[:at] + bytes([data[at] ^ random.integers(1, 256)]) + data[at + 1 :])
        with pytest.raises(ModelFileError, match=r"is damaged|newer tagtopic"):
            TWDA.load(saved)


def changed(array: Any, value: float) -> Any:
    """The array with another first value."""
    array = array.copy()
    array.flat[0] = value
    return array


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.5])
@pytest.mark.parametrize("name", ALWAYS)
def test_impossible_values_are_damage(saved: Path, name: str, value: float) -> None:
    tensor = ARRAYS[name].tensor_name
    rewrite(saved, {tensor: changed(read_tensors(saved, KIND, FORMAT)[1][tensor], value)})
    with pytest.raises(ModelFileError, match=f"its array {tensor} has"):
        TWDA.load(saved)


@pytest.mark.parametrize(
    ("tensor", "value", "message"),
    [
        ("topic_words", 1.5, "above 1"),
        ("tag_weight_prior_", 1e300, "a prior is outside"),
        ("latent_topic_prior_", 0.0, "a prior is outside"),
        ("words.offsets", 7, "its words do not fit together"),
        ("tag_predictor.mix", np.nan, "not finite"),
        ("tag_predictor.weights", 1e38, "has values above 1.001"),
        ("tag_predictor.scores", 1e38, r"has values above 1e\+10"),
    ],
)
def test_values_outside_their_range_are_damage(saved: Path, tensor: str, value: float, message: str) -> None:
    rewrite(saved, {tensor: changed(read_tensors(saved, KIND, FORMAT)[1][tensor], value)})
    with pytest.raises(ModelFileError, match=message):
        TWDA.load(saved)


def test_a_word_that_occurs_twice_is_damage(saved: Path) -> None:
    tensors = read_tensors(saved, KIND, FORMAT)[1]
    offsets, text = tensors["words.offsets"], tensors["words.bytes"].copy()
    text[: offsets[1]] = text[offsets[1] : offsets[2]]
    rewrite(saved, {"words.bytes": text})
    with pytest.raises(ModelFileError, match="its words has 'word_1' more than once"):
        TWDA.load(saved)


def test_a_word_that_occurs_twice_among_very_many_is_damage(tmp_path: Path) -> None:
    path, n_words = tmp_path / "large", 300_000
    counts = sp.csr_array(np.ones((2, n_words), np.int32))
    LDA(2, max_iter=1, random_state=0, n_jobs=1, init="random", inference="cvb0").fit(counts).save(path)
    assert len(LDA.load(path).words_) == n_words
    tensors = read_tensors(path, KIND, FORMAT)[1]
    text = tensors["words.bytes"].copy()
    text[-1] = ord("8")  # word_299999
    rewrite(path, {"words.bytes": text})
    with pytest.raises(ModelFileError, match="its words has 'word_299998' more than once"):
        LDA.load(path)


def test_the_sign_of_zero_does_not_matter(saved: Path) -> None:
    rewrite(saved, {"topic_words": changed(read_tensors(saved, KIND, FORMAT)[1]["topic_words"], -0.0)})
    assert TWDA.load(saved).components_[0, 0] == 0


DEEP: Any = []
for _ in range(900):  # json.dumps itself goes no deeper
    DEEP = [DEEP]

HEADERS: list[tuple[dict[str, Any], str]] = [
    ({"own_settings": []}, "own_settings of its header is of type list, not dict"),
    ({"model": []}, "model of its header is of type list, not str"),
    ({"settings": {"n_topics": 3, "inference": "x"}}, "inference"),
    ({"settings": {"n_topics": 0}}, "n_topics=0"),
    ({"settings": {"n_jobs": "x"}}, "setting n_jobs is of type str"),
    ({"settings": {"tag_weight_prior": {}}}, "damaged"),
    ({"numbers": {}}, "number latent_weight_prior_ is of type NoneType"),
    ({"prior_updates": ["x"]}, "prior_updates of its header"),
    ({"rules": {"min_df": "x"}}, "these are not text rules"),
    ({"rules": 3}, "rules of its header"),
    ({"feature_names": 1}, "feature_names of its header"),
    ({"format": "2"}, "its header has no format"),
    ({"format": True}, "its header has no format"),
    ({"rules": DEEP}, "damaged"),
]


@pytest.mark.parametrize("number", range(len(HEADERS)))
def test_a_crafted_header_is_one_clear_error(saved: Path, number: int) -> None:
    header, message = HEADERS[number]
    rewrite(saved, **header)
    with pytest.raises(ModelFileError, match=message):
        TWDA.load(saved)


def crafted_file(table: dict[str, Any] | str, content: bytes = b"") -> bytes:
    text = (table if isinstance(table, str) else json.dumps(table)).encode()
    return len(text).to_bytes(8, "little") + text + content


ABOUT = {"__metadata__": {KIND: json.dumps({"format": 1, "version": "0"})}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (crafted_file("[" * 100_000), "nested too deeply"),
        (crafted_file({"__metadata__": {KIND: "[" * 100_000}}), "nested too deeply"),
        (crafted_file({"__metadata__": []}), "has no tagtopic model"),
        (crafted_file({"__metadata__": {KIND: "[]"}}), "not an object"),
        (crafted_file("[]"), "not an object"),
        (crafted_file({"__metadata__": {KIND: json.dumps({"format": FORMAT})}}), "it has no checksum"),
        (crafted_file({**ABOUT, "x": {"dtype": "F16", "shape": [1], "data_offsets": [0, 2]}}, b"12"), "type F16"),
        (crafted_file({**ABOUT, "x": 3}), "unknown type 3"),
        (crafted_file({**ABOUT, "x": {"dtype": "U8", "shape": [-1], "data_offsets": [0, 0]}}), "no shape"),
        (crafted_file({**ABOUT, "x": {"dtype": "U8", "shape": [2], "data_offsets": [0, 1]}}, b"1"), "its place"),
        (crafted_file({**ABOUT, "x": {"dtype": "F64", "shape": [10**15], "data_offsets": [0, 8 * 10**15]}}), "place"),
        (crafted_file({**ABOUT}, b"more"), "4 bytes of arrays instead of 0"),
        ((2**63).to_bytes(8, "little") + b"{}", "longer than the file"),
    ],
)
def test_a_crafted_file_is_one_clear_error(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        TWDA.load(tmp_path / "model")


@pytest.mark.parametrize("name", ["topic_words", "tag_topics_", "word_counts_", "words.offsets"])
def test_kernels_get_the_declared_types_only(saved: Path, name: str) -> None:
    rewrite(saved, {name: read_tensors(saved, KIND, FORMAT)[1][name].astype(np.int32)})
    with pytest.raises(ModelFileError, match=r"of type int32|do not fit together"):
        TWDA.load(saved)


def test_arrays_of_every_type_and_size_keep_their_bits(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    arrays: dict[str, Any] = {
        "bytes": random.integers(0, 256, 5, np.uint8),
        "none": np.empty((3, 0)),
        "large": random.random((3_000, 401)),  # more than one part, which do not end with rows
        "transposed": random.random((401, 3_000)).astype(np.float32).T,
        "truth": np.array([True, False, True]),
    }
    write_tensors(tmp_path / "file", KIND, {"format": FORMAT}, arrays)
    found = read_tensors(tmp_path / "file", KIND, FORMAT)[1]
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)


def test_files_are_readable_as_safetensors(saved: Path) -> None:
    from safetensors.numpy import load_file

    for name, array in load_file(saved).items():
        np.testing.assert_array_equal(read_tensors(saved, KIND, FORMAT)[1][name], array)
