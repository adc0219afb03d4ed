"""The arguments of `Corpus.read` have one definition."""

import inspect
import pickle
import re
from dataclasses import fields, replace

import pytest

from tagtopic import Corpus
from tagtopic.corpus import TagRules, TextRules
from tagtopic.corpus.reading.options import ReadOptions


def test_the_signature_of_read_has_every_option_and_rule_with_its_default() -> None:
    parameters = inspect.signature(Corpus.read).parameters
    defined = {field.name: field.default for kind in (ReadOptions, TextRules, TagRules) for field in fields(kind)}
    assert list(parameters) == ["source", *defined]
    assert {name: parameters[name].default for name in defined} == defined
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in defined)


def test_the_docstring_of_read_describes_every_option() -> None:
    documented = inspect.cleandoc(Corpus.read.__doc__ or "").partition("Returns\n")[0]
    names = {name.strip() for line in documented.splitlines() for name in line.partition(" : ")[0].split(",")}
    assert {field.name for kind in (ReadOptions, TextRules, TagRules) for field in fields(kind)} <= names


def test_every_reader_takes_the_rules_and_describes_them() -> None:
    pytest.importorskip("pyspark")
    from tagtopic.engines import SparkEngine

    for reader in (Corpus.read, Corpus.from_texts, SparkEngine.read):
        taken = inspect.signature(reader).parameters
        for field in (*fields(TextRules), *fields(TagRules)):
            assert taken[field.name].default == field.default
            assert re.search(rf"^(\w+, )*{field.name}(, \w+)* : ", reader.__doc__ or "", re.MULTILINE)


def test_columns_are_normalised_to_tuples() -> None:
    options = ReadOptions(text="body", tags=iter(["author", "year"]))
    assert (options.text_columns, options.tag_columns) == (("body",), ("author", "year"))
    assert options.required_columns == ("body", "author", "year")
    assert options.select_columns(["id", "year", "note", "body", "tags"]) == ["id", "year", "body"]
    assert ReadOptions().select_columns(["id", "tags", "text", "note"]) == ["id", "tags", "text"]


def test_options_can_be_copied_and_sent_to_executors() -> None:
    options = ReadOptions(text=["title", "body"], tags=(), on_error="skip")
    assert pickle.loads(pickle.dumps(options)) == options
    changed = replace(options, on_error="raise")
    assert (changed.text_columns, changed.tag_columns, changed.skips_errors) == (("title", "body"), (), False)


def test_an_unknown_option_is_an_error_that_lists_the_rules() -> None:
    with pytest.raises(TypeError, match=r"no option 'mindf'; the rules are .*min_df"):
        Corpus.read([{"text": "a"}], mindf=3)  # type: ignore[call-arg]
