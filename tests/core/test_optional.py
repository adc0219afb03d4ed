"""Errors for optional dependencies that are not installed."""

import pytest

from tagtopic._core import optional
from tagtopic.baselines import LDA
from tagtopic.corpus import Corpus


def test_the_error_of_a_missing_extra_names_the_install_command() -> None:
    optional.require("numpy", extra="baselines", purpose="LDA")
    with pytest.raises(optional.MissingExtraError, match=r"LDA needs no_such.*pip install 'tagtopic\[baselines\]'"):
        optional.require("numpy", "no_such", extra="baselines", purpose="LDA")


def test_a_baseline_without_its_library_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optional, "find_spec", lambda package: None)
    with pytest.raises(optional.MissingExtraError, match="LDA needs tomotopy"):
        LDA(2).fit(Corpus.from_counts([[1, 2], [2, 1]]))
