"""Every public name says what it is for, with an example, and every example is run."""

import doctest
import importlib
import inspect
import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest

from tagtopic import TWDA, Corpus, TagPredictor

# where a person imports from; what these name in __all__ is public
DOORS = ("", "baselines", "corpus", "datasets", "engines", "evaluation", "experiments", "explore", "tagging")
# public functions and classes that stand in modules of their own
ALSO = {
    "engines.spark.frames": ["apply_model"],
    "corpus.tags": ["with_noise_tags"],
    "models.topic_search": ["TopicSearch"],
    "testing": ["SparkCluster"],
}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
INHERITED = {"get_params", "set_params", "get_metadata_routing", "set_output", "get_feature_names_out"}


def public_names(door: str) -> Iterator[tuple[str, Any]]:
    module = importlib.import_module(f"tagtopic.{door}".rstrip("."))
    for name in ALSO.get(door) or module.__all__:
        value = getattr(module, name)
        if callable(value):
            yield f"{module.__name__}.{name}", value


def members_of(kind: type) -> Iterator[tuple[str, Any]]:
    for name in dir(kind):
        if not name.startswith(("_", "set_")) and name not in INHERITED:
            value = inspect.getattr_static(kind, name)
            if not isinstance(value, str | int | float | tuple | None):
                yield name, value


def run_examples(text: str, name: str, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    test.globs = names  # itself, so that what an example makes can be gone on from
    told: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        failed = doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(test, out=told.append, clear_globs=False)
    assert failed.attempted, f"{name} has no example"
    assert not failed.failed, "".join(told)


@pytest.mark.parametrize("door", [*DOORS, *ALSO])
def test_public_names_have_examples_that_run(door: str) -> None:
    for name, value in public_names(door):
        run_examples(inspect.cleandoc(value.__doc__ or ""), name, {})


@pytest.mark.parametrize("kind", [TWDA, Corpus, TagPredictor], ids=lambda kind: kind.__name__)
def test_methods_have_examples_that_go_on_from_their_class(kind: type) -> None:
    names: dict[str, Any] = {}
    run_examples(inspect.cleandoc(kind.__doc__ or ""), kind.__name__, names)
    for name, member in members_of(kind):
        told = inspect.cleandoc(member.__doc__ or "")
        assert told, f"{name} says nothing"
        if isinstance(member, property | cached_property) and ">>>" not in told:  # then its class shows it
            assert f".{name}" in (kind.__doc__ or ""), f"{name} has no example"
        else:
            run_examples(told, f"{kind.__name__}.{name}", dict(names))
