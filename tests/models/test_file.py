"""The model file: everything survives, and nothing else is taken for one."""

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tagtopic.datasets import make_tagged_corpus
from tagtopic.models import LDA, TWDA, TWTM
from tagtopic.models._base import TagTopicModel
from tagtopic.models._io import FORMAT, KIND, ModelFileError, read_tensors, write_tensors

CORPUS = make_tagged_corpus(200, 4, 12, 100, random_state=5).corpus


def rewrite_header(path: Path, **changes: object) -> None:
    """Change the JSON header of a model file, leaving its tensors alone."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    ours = json.loads(header["__metadata__"]["tagtopic model"])
    header["__metadata__"]["tagtopic model"] = json.dumps({**ours, **changes})
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size :])


@pytest.mark.parametrize("model", [TWTM(4), TWDA(4, tag_topic_prior=np.full(4, 0.3)), LDA(4, dtype="float64")])
def test_every_attribute_and_the_perplexity_survive_a_round_trip(model: TagTopicModel, tmp_path: Path) -> None:
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
def test_numbers_of_every_kind_are_saved(kind: Callable[[list[Any]], Any], tmp_path: Path) -> None:
    prior = kind([np.float32(0.5)] * CORPUS.n_tags)
    settings: dict[str, Any] = {"tag_weight_prior": prior, "dtype": np.dtype("float32"), "max_iter": np.int64(2)}
    model = TWDA(3, random_state=0, **settings).fit(CORPUS)
    model.save(tmp_path / "model")
    again = TWDA.load(tmp_path / "model")
    assert again.tag_weight_prior == [0.5] * CORPUS.n_tags
    assert {type(number) for number in again.tag_weight_prior} == {float}
    assert again.dtype == "float32"
    np.testing.assert_array_equal(again.fit(CORPUS).components_, model.components_)


class Own(TWDA):
    pass


class Settled(TWDA):
    """Has a setting of its own, and not all of the others."""

    def __init__(self, n_topics: int = 3, *, flavour: str = "plain", random_state: Any = None) -> None:
        super().__init__(n_topics, max_iter=2, random_state=random_state)
        self.flavour = flavour


@pytest.mark.parametrize("model", [Own(3, max_iter=2, random_state=0), Settled(flavour="sweet", random_state=0)])
def test_a_class_of_ones_own_is_saved_as_the_one_it_derives_from(model: TWDA, tmp_path: Path) -> None:
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


def test_a_class_of_ones_own_does_not_load_another_kind(saved: Path) -> None:
    class OwnLDA(LDA):
        pass

    with pytest.raises(ModelFileError, match="holds a model of type TWDA, not OwnLDA"):
        OwnLDA.load(saved)


def test_a_class_that_no_file_could_name_is_not_saved(saved: Path) -> None:
    class Apart(TagTopicModel):
        pass

    model = Apart()
    model.__dict__.update(vars(TWDA.load(saved)))
    with pytest.raises(TypeError, match="Apart cannot be saved: derive it from TWDA, TWTM or LDA"):
        model.save(saved)


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_model_can_be_read_by_whom_other_files_can_be_read(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    assert saved.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_any_member_of_the_family_loads_through_the_base_class(saved: Path) -> None:
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


def test_a_newer_format_says_so(saved: Path) -> None:
    rewrite_header(saved, format=99, version="9.9")
    with pytest.raises(ModelFileError, match=r"written by tagtopic 9\.9 in format 99.*a newer tagtopic is needed"):
        TWDA.load(saved)


def test_parts_that_do_not_fit_together_are_damage(saved: Path) -> None:
    rewrite_header(saved, settings={"n_topics": 3, "no_such_setting": 1})
    with pytest.raises(ModelFileError, match="is damaged"):
        TWDA.load(saved)


@pytest.mark.parametrize(
    "name",
    [
        "tag_topics_", "word_counts_", "topic_shares_", "tag_frequencies_", "tag_weight_prior_", "latent_topic_prior_",
        "tag_topic_prior_", "topic_word_prior_", "tag_sizes_",
    ],
)  # fmt: skip
def test_an_array_of_another_size_is_damage(saved: Path, name: str) -> None:
    header, tensors = read_tensors(saved, KIND, FORMAT)
    write_tensors(saved, KIND, header, tensors | {name: tensors[name][:1]})
    with pytest.raises(ModelFileError, match=f"is damaged: its {name} has the shape"):
        TWDA.load(saved)


def test_missing_files_and_folders_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no model file"):
        TWDA.load(tmp_path / "nothing")
    with pytest.raises(ModelFileError, match="is a folder"):
        TWDA.load(tmp_path)


def test_a_failed_save_leaves_the_old_model(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()
    model = TWDA.load(saved)

    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tagtopic.models._io._write", full_disk)
    with pytest.raises(OSError, match="No space left"):
        model.save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_header_that_names_no_model_is_told(tmp_path: Path) -> None:
    path = tmp_path / "none.tagtopic"
    write_tensors(path, KIND, {"format": FORMAT}, {"numbers": np.zeros(1)})
    with pytest.raises(ModelFileError, match="holds a model of type None"):
        TWDA.load(path)
