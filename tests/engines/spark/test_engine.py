"""Requirements and settings of the Spark engine: errors name the cause and the remedy."""

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


def test_without_pyspark_the_error_names_the_extra(monkeypatch: Any) -> None:
    monkeypatch.setattr(context, "find_spec", lambda name: None)
    with pytest.raises(SparkMissingError, match=r"pip install 'tagtopic\[spark\]'"):
        SparkEngine(master="local[1]")


def test_without_java_the_error_names_it(monkeypatch: Any, tmp_path: Path) -> None:
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
def test_invalid_settings_raise(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SparkEngine(**options)


def test_fitting_a_spark_frame_raises() -> None:
    frame = SimpleNamespace(mapInArrow=None)  # by which a DataFrame of Spark is known
    with pytest.raises(TypeError, match=r"model\.fit\(engine\.read\(frame"):
        TWDA(2).fit(frame)
