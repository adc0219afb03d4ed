"""Every public name has a numpydoc docstring with examples that run."""

import dataclasses
import doctest
import importlib
import inspect
import re
import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest

from tagtopic import TWDA, Corpus, Ledger, TagPredictor

# packages whose __all__ is public
PACKAGES = (
    "",
    "analysis",
    "baselines",
    "corpus",
    "curation",
    "datasets",
    "engines",
    "evaluation",
    "experiments",
    "explore",
    "models",
    "tagging",
)
# public names of modules that are imported by their path
MODULES = {
    "engines.spark.frames": ["apply_model"],
    "corpus.tags": ["with_derived_tags", "with_noise_tags"],
    "models._analysis": ["TopicHierarchy"],
    "models.stability": ["Stability"],
    "models.topic_search": ["TopicSearch"],
    "testing": ["SparkCluster"],
}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
INHERITED = {"get_params", "set_params", "get_metadata_routing", "set_output", "get_feature_names_out"}
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", flags=re.MULTILINE)
ENTRY = re.compile(r"^(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*)(?P<type> : .+)?$", flags=re.MULTILINE)


def public_names(package: str) -> Iterator[tuple[str, Any]]:
    module = importlib.import_module(f"tagtopic.{package}".rstrip("."))
    for name in MODULES.get(package) or module.__all__:
        value = getattr(module, name)
        if callable(value):
            yield f"{module.__name__}.{name}", value


def members_of(cls: type) -> Iterator[tuple[str, Any]]:
    for name in dir(cls):
        if not name.startswith(("_", "set_")) and name not in INHERITED:
            value = inspect.getattr_static(cls, name)
            if not isinstance(value, str | int | float | tuple | None):
                yield name, value


def run_examples(text: str, name: str, namespace: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    test.globs = namespace  # not a copy: later examples use what earlier ones define
    output: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(test, out=output.append, clear_globs=False)
    assert done.attempted, f"{name} has no example"
    assert not done.failed, "".join(output)


@pytest.mark.parametrize("package", [*PACKAGES, *MODULES])
def test_public_names_have_examples_that_run(package: str) -> None:
    for name, value in public_names(package):
        run_examples(inspect.cleandoc(value.__doc__ or ""), name, {})


@pytest.mark.parametrize("cls", [TWDA, Corpus, Ledger, TagPredictor], ids=lambda cls: cls.__name__)
def test_methods_have_examples_that_continue_those_of_their_class(cls: type) -> None:
    namespace: dict[str, Any] = {}
    run_examples(inspect.cleandoc(cls.__doc__ or ""), cls.__name__, namespace)
    for name, member in members_of(cls):
        text = inspect.cleandoc(member.__doc__ or "")
        assert text, f"{name} has no docstring"
        if isinstance(member, property | cached_property) and ">>>" not in text:  # then its class has the example
            assert f".{name}" in (cls.__doc__ or ""), f"{name} has no example"
        else:
            run_examples(text, f"{cls.__name__}.{name}", dict(namespace))


def sections_of(text: str) -> dict[str, str]:
    """Return the text of each numpydoc section, the part before the first one under an empty title."""
    parts = SECTION.split(inspect.cleandoc(text))
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def entries_of(section: str) -> tuple[set[str], list[str]]:
    """Return the names that a section describes, and those of them without a type."""
    names: set[str] = set()
    untyped: list[str] = []
    for entry in ENTRY.finditer(section):
        found = entry["names"].split(", ")
        names.update(name.lstrip("*") for name in found)
        if entry["type"] is None:
            untyped += [name for name in found if not name.startswith("*")]  # *args and **options need none
    return names, untyped


def parameters_of(value: Any) -> list[str]:
    return [name for name in inspect.signature(value).parameters if name not in ("self", "cls", "_")]


def problems_of_class(name: str, cls: type) -> Iterator[str]:
    sections = sections_of(cls.__doc__ or "")
    described, untyped = entries_of(sections.get("Parameters", "") + sections.get("Attributes", ""))
    if untyped:
        yield f"{name}: no type of {', '.join(untyped)}"
    if issubclass(cls, BaseException) or inspect.isabstract(cls) or getattr(cls, "_is_protocol", False):
        return
    if missing := [parameter for parameter in parameters_of(cls) if parameter not in described]:
        yield f"{name}: {', '.join(missing)} not described"
    if hasattr(cls, "fit") and "Attributes" not in sections:
        yield f"{name}: no Attributes"
    if dataclasses.is_dataclass(cls) and not {"Attributes", "Parameters"} & sections.keys():
        yield f"{name}: neither Parameters nor Attributes"


def returns_something(function: Any) -> bool:
    """Whether a Returns section is needed: not if a function without parameters says it in its summary."""
    if inspect.signature(function).return_annotation in (None, "None", inspect.Signature.empty):
        return False
    return bool(parameters_of(function)) or not (function.__doc__ or "").startswith("Return ")


def is_documented_by_a_base(cls: type, name: str) -> bool:
    """Whether the method overrides one whose docstring has sections."""
    inherited = [vars(base)[name] for base in cls.__mro__ if name in vars(base)][1:]
    return any(len(sections_of(getattr(member, "__doc__", None) or "")) > 1 for member in inherited)


def problems_of_function(name: str, function: Any) -> Iterator[str]:
    sections = sections_of(function.__doc__ or "")
    if not sections[""].strip().partition("\n\n")[0].endswith("."):
        yield f"{name}: no summary that ends in a full stop"
    described, untyped = entries_of(sections.get("Parameters", ""))
    if untyped:
        yield f"{name}: no type of {', '.join(untyped)}"
    if missing := [parameter for parameter in parameters_of(function) if parameter not in described]:
        yield f"{name}: {', '.join(missing)} not described"
    if returns_something(function) and not {"Returns", "Yields"} & sections.keys():
        yield f"{name}: no Returns"


def problems_of(name: str, value: Any) -> Iterator[str]:
    if not inspect.isclass(value):
        yield from problems_of_function(name, value)
        return
    yield from problems_of_class(name, value)
    for method, member in members_of(value):
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if not inspect.isfunction(function) or not function.__module__.startswith("tagtopic"):
            continue
        if function.__name__ == method and not is_documented_by_a_base(value, method):
            yield from problems_of_function(f"{function.__module__}.{function.__qualname__}", function)


@pytest.mark.parametrize("package", [*PACKAGES, *MODULES])
def test_public_names_describe_parameters_and_results(package: str) -> None:
    # methods that several classes inherit are listed once
    problems = dict.fromkeys(problem for name, value in public_names(package) for problem in problems_of(name, value))
    assert not problems, "\n".join(problems)
