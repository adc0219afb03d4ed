"""The Makefile names tests and tools that exist."""

import re

import pytest
from tests.pages import ROOT

PATHS = sorted(set(re.findall(r"\b(?:tests|tools)/[\w/.-]+", (ROOT / "Makefile").read_text("utf-8"))))


@pytest.mark.parametrize("path", PATHS)
def test_paths_exist(path: str) -> None:
    assert (ROOT / path).exists()
