"""The model file: learnt arrays, the vocabulary and the tags as arrays of bytes, and all else in a JSON header.

Whatever a file claims to be, a model that has been loaded has the declared types, shapes and ranges: the header is
checked against ``HEADER``, arrays against the schema of learnt arrays, before anything is computed from them.
"""

from __future__ import annotations

import math
from inspect import signature
from numbers import Integral, Real
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from tagtopic._core.strings import StringArray
from tagtopic._core.tensors import Range, StorageError, read_tensors, write_tensors
from tagtopic._version import __version__
from tagtopic.corpus.matrices import is_nondecreasing
from tagtopic.corpus.text.rules import TextRules
from tagtopic.corpus.validation import require_distinct
from tagtopic.inference.methods import method_of
from tagtopic.models._edits import TopicEdits, apply_edits
from tagtopic.models._settings import MAX_PRIOR, MIN_PRIOR, check_settings
from tagtopic.models._snapshot import ARRAYS, MODEL_DTYPE, NUMBERS, Learnt, check_shapes
from tagtopic.tagging.predictor import NOT_NEGATIVE, TagPredictor

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel

    Model = TypeVar("Model", bound=TagTopicModel)


FORMAT = 2
CHECKED_FROM = 2
"""The first format with a checksum."""

KIND = "tagtopic model"

HEADER: dict[str, tuple[type, ...]] = {
    "format": (int,),
    "version": (str,),
    "model": (str,),
    "inference": (str,),
    "settings": (dict,),
    "own_settings": (dict,),
    "numbers": (dict,),
    "prior_updates": (list,),
    "rules": (dict, NoneType),
    "feature_names": (bool,),
    "topics": (dict, NoneType),
}
"""The entries of a header and their types."""

SETTINGS: dict[str, tuple[type, ...]] = {
    "n_jobs": (int, NoneType),
    "random_state": (int, NoneType),
    "progress": (bool, NoneType),
    "tag_predictor": (bool,),
}
"""The types of settings that ``check_settings`` does not check."""

ABOVE_ONE = 1.001
"""No probability is larger, but for rounding."""

MAX_OF_PREDICTOR = 1e10
"""No value of a tag predictor is larger; sums of products of larger ones overflow in single precision."""

NOT_SAVED = ("callbacks", "checkpoint", "checkpoint_every", "initial")
PREDICTOR = "tag_predictor."


class ModelFileError(ValueError):
    """A file is not a model that this version can read."""


def save_model(model: TagTopicModel, path: Path) -> None:
    """Write the model to ``path``."""
    kind = _known(type(model))
    if kind is None:
        raise TypeError(f"{type(model).__name__} cannot be saved: derive it from TWDA, TWTM or LDA")
    settings = {name: _plain(value) for name, value in model.get_params(deep=False).items() if name not in NOT_SAVED}
    known = signature(kind).parameters
    tensors = {learnt.tensor_name: learnt.stored(model._fitted_array(name)) for name, learnt in ARRAYS.items()}
    for name, strings in (("words", model.words_), ("tag_names", model.tag_names_)):
        packed = StringArray.of(strings)
        tensors[f"{name}.offsets"], tensors[f"{name}.bytes"] = packed.offsets, packed.data
    if model.tag_predictor_ is not None:
        tensors |= {PREDICTOR + name: array for name, array in model.tag_predictor_.to_arrays().items()}
    header = {
        "format": FORMAT,
        "version": __version__,
        "model": kind.__name__,
        "inference": model.inference_,
        "settings": {name: value for name, value in settings.items() if name in known},
        "own_settings": {name: value for name, value in settings.items() if name not in known},
        "numbers": {name: _plain(getattr(model, name)) for name in NUMBERS},
        "prior_updates": list(model.prior_updates_),
        "rules": None if model.rules_ is None else model.rules_.to_json(),
        "feature_names": hasattr(model, "feature_names_in_"),
        "topics": None if model._edits is None else model._edits.to_json(),
    }
    write_tensors(path, KIND, header, tensors)


def load_model(path: Path, wanted: type[Model]) -> Model:
    """Read a model of the wanted class, of a subclass, or of the class that the wanted one derives from."""
    header, tensors = _read(path)
    try:
        _check_header(header)
    except ValueError as error:
        raise ModelFileError(f"{path} is damaged: {error}") from None
    kind = {known.__name__: known for known in _kinds()}.get(header["model"])
    derived = kind is not None and _known(wanted) is kind
    if kind is None or not (derived or issubclass(kind, wanted)):
        raise ModelFileError(f"{path} holds a model of type {header['model'][:40]}, not {wanted.__name__}")
    try:
        return cast("Model", _assemble(wanted if derived else kind, header, tensors))
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise ModelFileError(f"{path} is damaged: {error}") from error


def _check_header(header: dict[str, Any]) -> None:
    """Raise unless the entries of a header are of the types that ``save_model`` writes."""
    header.setdefault("own_settings", {})  # files of earlier versions have none
    header.setdefault("topics", None)
    if isinstance(settings := header.get("settings"), dict):
        header.setdefault("inference", settings.get("inference"))
    for name, types in HEADER.items():
        if name not in header:
            raise ValueError(f"its header has no {name}")
        _require_type(header[name], types, f"{name} of its header")
    for name, types in SETTINGS.items():
        if name in header["settings"]:
            _require_type(header["settings"][name], types, f"setting {name}")
    for name, learnt in NUMBERS.items():
        if name in header["numbers"] or not learnt.optional:
            _check_number(name, header["numbers"].get(name), learnt)
    for iteration in header["prior_updates"]:
        _require_type(iteration, (int,), "prior_updates of its header")


def _require_type(value: Any, types: tuple[type, ...], what: str) -> None:
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise ValueError(f"the {what} is of type {type(value).__name__}, not {types[0].__name__}")


def _check_number(name: str, value: Any, learnt: Learnt) -> None:
    _require_type(value, {"float": (float, int), "int": (int,), "bool": (bool,)}[learnt.dtype], f"number {name}")
    if learnt.dtype != "bool" and not 0 <= value < 2**62:  # NaN compares false
        raise ValueError(f"its {name} is not a possible number")


def _check_range(name: str, found: Range) -> None:
    """Raise if the values of an array of floats are impossible."""
    learnt = BY_TENSOR.get(name)
    if learnt is not None and learnt.attribute == "validation_perplexity_":
        return  # infinite where a held-out word has no probability
    if not math.isfinite(found.largest):
        raise ValueError(f"its array {name} has values that are not finite")
    if found.negative and (name in OF_PREDICTOR or (learnt is not None and learnt.attribute != "bound_")):
        raise ValueError(f"its array {name} has negative values")
    if learnt is not None and learnt.attribute in PROBABILITIES and found.largest > ABOVE_ONE:
        raise ValueError(f"its array {name} has values above 1, which are not probabilities")
    largest = ABOVE_ONE if name in UP_TO_ONE else MAX_OF_PREDICTOR
    if name.startswith(PREDICTOR) and found.largest > largest:
        raise ValueError(f"its array {name} has values above {largest:g}")


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
        return read_tensors(path, KIND, FORMAT, checked_from=CHECKED_FROM, check=_check_range)
    except StorageError as error:
        raise ModelFileError(str(error)) from error


def _assemble(kind: Any, header: dict[str, Any], tensors: dict[str, Any]) -> Any:
    known = signature(kind).parameters
    own = {name: value for name, value in header["own_settings"].items() if name in known}
    model = kind(**header["settings"], **own)
    model.inference_ = method_of(header["inference"]).name
    check_settings(model, None)
    for name, learnt in ARRAYS.items():
        missing = learnt.optional and learnt.tensor_name not in tensors
        dtype = learnt.dtype if learnt.dtype != MODEL_DTYPE else None
        setattr(model, name, np.empty(0, dtype) if missing else _learnt_array(tensors, learnt))
    for name, learnt in NUMBERS.items():
        missing = learnt.optional and name not in header["numbers"]
        setattr(model, name, 0 if missing else header["numbers"][name])
    model.words_ = _names(tensors, "words")
    model.tag_names_ = _names(tensors, "tag_names")
    model.rules_ = None if header["rules"] is None else TextRules.from_json(header["rules"])
    model.prior_updates_ = tuple(header["prior_updates"])
    model.tag_predictor_ = _predictor(tensors, model)
    if header["feature_names"]:
        model.feature_names_in_ = np.array(model.words_, dtype=object)
    check_shapes(model)
    _check_values(model)
    if header["topics"] is not None:
        apply_edits(model, TopicEdits.from_json(header["topics"], len(model.components_)))
    return model


def _learnt_array(tensors: dict[str, Any], learnt: Learnt) -> Any:
    """A learnt array; kernels are compiled for the types of the schema only."""
    array = tensors[learnt.tensor_name]
    allowed = MODEL_DTYPE.split(" or ") if learnt.dtype == MODEL_DTYPE else [learnt.dtype]
    if array.dtype.name not in allowed:
        raise ValueError(f"its array {learnt.tensor_name} is of type {array.dtype}, not {' or '.join(allowed)}")
    return learnt.stored(array)


def _names(tensors: dict[str, Any], what: str) -> tuple[str, ...]:
    offsets, data = tensors[f"{what}.offsets"], tensors[f"{what}.bytes"]
    if (
        (offsets.dtype, data.dtype, offsets.ndim, data.ndim) != (np.int64, np.uint8, 1, 1)
        or not len(offsets)
        or offsets[0] != 0
        or offsets[-1] != len(data)
        or not is_nondecreasing(offsets)
    ):
        raise ValueError(f"its {what} do not fit together")
    packed = StringArray(offsets, data)
    names = packed.to_tuple()
    if packed.may_repeat():
        require_distinct(names, f"its {what}")
    return names


def _check_values(model: TagTopicModel) -> None:
    """Raise for values that no fit gives, beyond those that ``_check_range`` found."""
    if model.components_.dtype != model.tag_topics_.dtype:
        raise ValueError(f"its topics are of type {model.components_.dtype}, its tags of {model.tag_topics_.dtype}")
    if {model.topic_word_draws_.dtype, model.tag_topic_draws_.dtype} - {model.components_.dtype} and len(
        model.tag_topic_draws_
    ):
        raise ValueError("its draws are of another type than its topics")
    if not len(model.components_):
        raise ValueError("it has no topics")
    _check_own_words(model)
    if model.n_features_in_ != len(model.words_):
        raise ValueError(f"it has {model.n_features_in_} input features and {len(model.words_)} words")
    priors = (model.tag_weight_prior_, model.latent_topic_prior_, np.array([model.latent_weight_prior_]))
    if any(((prior < MIN_PRIOR) | (prior > MAX_PRIOR)).any() for prior in priors):
        raise ValueError(f"a prior is outside {MIN_PRIOR:g} to {MAX_PRIOR:g}")


def _check_own_words(model: TagTopicModel) -> None:
    """Raise unless the pairs of tags and own words are sorted, of the model's, and at most all of a tag's words."""
    tags, words = model.own_word_tags_, model.own_word_words_
    if not len(tags):
        return
    keys = tags.astype(np.int64) * len(model.words_) + words
    if min(tags.min(), words.min()) < 0 or tags.max() >= len(model.tag_names_) or words.max() >= len(model.words_):
        raise ValueError("its own words are of tags or words that it does not have")
    if not (np.diff(keys) > 0).all():
        raise ValueError("its own words are not in order")
    values = [model.own_word_shares_, *([model.own_word_draws_] if len(model.own_word_draws_) else [])]
    if any(array.dtype != model.components_.dtype for array in values):
        raise ValueError("its own words are of another type than its topics")
    if np.bincount(tags, weights=model.own_word_shares_).max() > ABOVE_ONE:
        raise ValueError("its own words have more than all of a tag's words")


def _predictor(tensors: dict[str, Any], model: TagTopicModel) -> TagPredictor | None:
    """What predicts tags; None in a file from before there was one, or of a model without tags."""
    arrays = {name.removeprefix(PREDICTOR): array for name, array in tensors.items() if name.startswith(PREDICTOR)}
    if not arrays:
        return None
    return TagPredictor.from_arrays(arrays, model.tag_names_, model.words_, model.rules_, n_jobs=model.n_jobs)


BY_TENSOR = {learnt.tensor_name: learnt for learnt in ARRAYS.values()}
OF_PREDICTOR = tuple(PREDICTOR + name for name in NOT_NEGATIVE)
UP_TO_ONE = tuple(PREDICTOR + name for name in ("weights", "name_shares", "shares"))  # unit vectors, and shares
PROBABILITIES = (
    "components_", "tag_topics_", "topic_shares_", "tag_frequencies_", "topic_word_draws_", "tag_topic_draws_",
    "own_word_shares_", "own_word_draws_", "tag_document_topics_",
)  # fmt: skip


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
