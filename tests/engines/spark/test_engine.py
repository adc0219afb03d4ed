"""What is missing is said in one sentence, with what to do."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tagtopic import TWDA
from tagtopic.engines import SparkEngine
from tagtopic.engines.spark import context as context
from tagtopic.engines.spark.context import SparkMissingError, require_java


def test_without_pyspark_the_extra_is_named(monkeypatch: Any) -> None:
    monkeypatch.setattr(context, "find_spec", lambda name: None)
    with pytest.raises(SparkMissingError, match=r"pip install 'tagtopic\[spark\]'"):
        SparkEngine(master="local[1]")


def test_without_java_it_is_asked_for(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkMissingError, match="Java 17"):
        require_java()


@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="needs pyspark")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either a session or a master"),
        ({"master": "local", "weight_update": "newton"}, "weight_update='newton'"),
        ({"master": "local", "average": "harmonic"}, "average='harmonic'"),
        ({"master": "local", "partitions": 0}, "partitions=0"),
        ({"master": "local", "block_entries": 0}, "block_entries=0"),
        ({"master": "nonsense"}, "master='nonsense': expected spark://host:7077"),
        ({"session": object(), "config": {"a": "b"}}, "config is for"),
    ],
)
def test_settings_that_cannot_be_are_refused_at_the_door(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SparkEngine(**options)


def test_a_spark_frame_is_read_before_it_is_fitted() -> None:
    frame = SimpleNamespace(mapInArrow=None)  # by which a DataFrame of Spark is known
    with pytest.raises(TypeError, match=r"model\.fit\(engine\.read\(frame"):
        TWDA(2).fit(frame)
