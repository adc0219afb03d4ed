"""The model file, and the file format that it shares with checkpoints.

Both are safetensors files: arrays and a JSON header, written atomically, with nothing to execute. A model file has the
vocabulary and the tags as arrays of bytes, and everything that is not an array in its header.
"""

from __future__ import annotations

import json
from inspect import signature
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

import numpy as np

from tagtopic._core.files import atomic_file
from tagtopic._core.memmap import release
from tagtopic._core.parallel import cut_rows
from tagtopic._core.strings import StringArray
from tagtopic._version import __version__
from tagtopic.corpus.text.rules import TextRules
from tagtopic.models._snapshot import ARRAYS, NUMBERS, check_shapes
from tagtopic.tagging.predictor import TagPredictor

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel

    Model = TypeVar("Model", bound=TagTopicModel)


TYPES = {"<f8": "F64", "<f4": "F32", "<i8": "I64", "<i4": "I32", "|u1": "U8", "|i1": "I8", "|b1": "BOOL"}
"""The names of dtypes in safetensors."""

WRITE_BYTES = 1 << 24
"""Bytes per write."""


class StorageError(ValueError):
    """A file is of another kind, damaged, or in a format of another version."""


def write_tensors(path: Path, kind: str, header: dict[str, Any], tensors: dict[str, Any]) -> None:
    """Write a safetensors file atomically.

    The format is 8 bytes of length, JSON, then the arrays; the library's own writer first copies everything in memory.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        _write(file, {kind: json.dumps(header)}, {name: np.atleast_1d(array) for name, array in tensors.items()})


def _write(file: BinaryIO, metadata: dict[str, str], arrays: dict[str, Any]) -> None:
    # largest items first, as by safetensors' own writer, so that every array is aligned
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    table: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in names:
        start, end = end, end + arrays[name].nbytes
        kind = TYPES[arrays[name].dtype.str]
        table[name] = {"dtype": kind, "shape": list(arrays[name].shape), "data_offsets": [start, end]}
    text = json.dumps(table).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in names:
        for rows in cut_rows(len(arrays[name]), max(1, WRITE_BYTES // max(1, arrays[name][:1].nbytes))):
            part = arrays[name][slice(*rows)]
            file.write(np.ascontiguousarray(part).data)
            release(part)


def read_tensors(path: Path, kind: str, newest: int, oldest: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read header and arrays of a file that ``write_tensors`` wrote as this ``kind``, in a format of this range."""
    from safetensors import SafetensorError, safe_open

    if path.is_dir():
        raise StorageError(f"{path} is a folder, not a file")
    try:
        with safe_open(str(path), framework="numpy") as file:
            header = json.loads((file.metadata() or {})[kind])
            if not oldest <= header["format"] <= newest:
                raise StorageError(_another_format(path, header, newest, oldest))
            return header, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except StorageError:
        raise
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{path} is not a {kind}, or it is damaged ({error})") from error


def _another_format(path: Path, header: dict[str, Any], newest: int, oldest: int) -> str:
    found = header["format"]
    reads = f"up to format {newest}: a newer" if found > newest else f"from format {oldest} on: an older"
    return (
        f"{path} was written by tagtopic {header['version']} in format {found}; this is tagtopic {__version__}, "
        f"which reads {reads} tagtopic is needed"
    )


FORMAT = 1
KIND = "tagtopic model"

NOT_SAVED = ("callbacks", "checkpoint", "checkpoint_every")
PREDICTOR = "tag_predictor."


class ModelFileError(ValueError):
    """A file is not a model that this version can read."""


def save_model(model: TagTopicModel, path: Path) -> None:
    """Write the model to ``path``."""
    kind = _known(type(model))
    if kind is None:
        raise TypeError(f"{type(model).__name__} cannot be saved: derive it from TWDA, TWTM or LDA")
    settings = {name: _plain(value) for name, value in model.get_params().items() if name not in NOT_SAVED}
    known = signature(kind).parameters
    tensors = {learnt.tensor_name: learnt.stored(getattr(model, name)) for name, learnt in ARRAYS.items()}
    for name, strings in (("words", model.words_), ("tag_names", model.tag_names_)):
        packed = StringArray.of(strings)
        tensors[f"{name}.offsets"], tensors[f"{name}.bytes"] = packed.offsets, packed.data
    if model.tag_predictor_ is not None:
        tensors |= {PREDICTOR + name: array for name, array in model.tag_predictor_.to_arrays().items()}
    header = {
        "format": FORMAT,
        "version": __version__,
        "model": kind.__name__,
        "settings": {name: value for name, value in settings.items() if name in known},
        "own_settings": {name: value for name, value in settings.items() if name not in known},
        "numbers": {name: _plain(getattr(model, name)) for name in NUMBERS},
        "prior_updates": list(model.prior_updates_),
        "rules": None if model.rules_ is None else model.rules_.to_json(),
        "feature_names": hasattr(model, "feature_names_in_"),
    }
    write_tensors(path, KIND, header, tensors)


def load_model(path: Path, wanted: type[Model]) -> Model:
    """Read a model of the wanted class, of a subclass, or of the class that the wanted one derives from."""
    header, tensors = _read(path)
    kind = {known.__name__: known for known in _kinds()}.get(header.get("model", ""))
    derived = kind is not None and _known(wanted) is kind
    if kind is None or not (derived or issubclass(kind, wanted)):
        raise ModelFileError(f"{path} holds a model of type {header.get('model')}, not {wanted.__name__}")
    try:
        return cast("Model", _assemble(wanted if derived else kind, header, tensors))
    except (KeyError, TypeError, ValueError, UnicodeDecodeError) as error:
        raise ModelFileError(f"{path} is damaged: {error}") from error


def _kinds() -> tuple[type[TagTopicModel], ...]:
    """The classes that a file may name."""
    from tagtopic.models import LDA, TWDA, TWTM

    return TWTM, TWDA, LDA


def _known(kind: type[TagTopicModel]) -> type[TagTopicModel] | None:
    """The class itself, or the nearest of its bases that a file may name."""
    return next((base for base in kind.__mro__ if base in _kinds()), None)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    if not path.exists():
        raise FileNotFoundError(f"there is no model file {path}")
    try:
        return read_tensors(path, KIND, FORMAT)
    except StorageError as error:
        raise ModelFileError(str(error)) from error


def _assemble(kind: Any, header: dict[str, Any], tensors: dict[str, Any]) -> Any:
    known = signature(kind).parameters
    own = {name: value for name, value in header.get("own_settings", {}).items() if name in known}
    model = kind(**header["settings"], **own)
    for name, learnt in ARRAYS.items():
        missing = learnt.optional and learnt.tensor_name not in tensors
        setattr(model, name, np.empty(0) if missing else learnt.stored(tensors[learnt.tensor_name]))
    for name, learnt in NUMBERS.items():
        missing = learnt.optional and name not in header["numbers"]
        setattr(model, name, 0 if missing else header["numbers"][name])
    model.words_ = tuple(StringArray(tensors["words.offsets"], tensors["words.bytes"]))
    model.tag_names_ = tuple(StringArray(tensors["tag_names.offsets"], tensors["tag_names.bytes"]))
    model.rules_ = None if header["rules"] is None else TextRules.from_json(header["rules"])
    model.prior_updates_ = tuple(header["prior_updates"])
    model.tag_predictor_ = _predictor(tensors, model)
    if header["feature_names"]:
        model.feature_names_in_ = np.array(model.words_, dtype=object)
    check_shapes(model)
    return model


def _predictor(tensors: dict[str, Any], model: TagTopicModel) -> TagPredictor | None:
    """What predicts tags; None in a file from before there was one, or of a model without tags."""
    arrays = {name.removeprefix(PREDICTOR): array for name, array in tensors.items() if name.startswith(PREDICTOR)}
    if not arrays:
        return None
    return TagPredictor.from_arrays(arrays, model.tag_names_, model.words_, model.rules_, n_jobs=model.n_jobs)


def _plain(value: Any) -> Any:
    """A setting as JSON can hold it; a random generator cannot be kept and becomes None."""
    if isinstance(value, bool | np.bool):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "__array__") and not isinstance(value, type):
        return _plain(np.asarray(value).tolist())
    return value if isinstance(value, str) else None
