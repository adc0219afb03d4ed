"""Imports of scikit-learn without the packages that it rarely uses."""

import subprocess
import sys
import types

import pytest

from tagtopic._core.estimator import deferred

DEFERRED = """
import sys
from tagtopic import TWDA
assert not {"scipy.stats", "pandas", "scipy.optimize"} & set(sys.modules)
from sklearn.utils import fixes
assert fixes._mode([1, 1, 2]).mode[0] == 1
assert fixes.pd is None or fixes.pd.DataFrame is __import__("pandas").DataFrame
import scipy.stats
assert type(scipy.stats) is type(sys)
"""


def test_scikit_learn_is_imported_without_what_it_rarely_uses() -> None:
    subprocess.run([sys.executable, "-c", DEFERRED], check=True, capture_output=True)


def test_a_placeholder_imports_the_module_when_an_attribute_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with deferred("colorsys", "no_such_module"):
        import colorsys

        assert type(colorsys) is not types.ModuleType
        assert "no_such_module" not in sys.modules
    assert "colorsys" not in sys.modules
    assert colorsys.rgb_to_hsv(0, 0, 0) == (0, 0, 0)
    assert type(sys.modules["colorsys"]) is types.ModuleType


def test_a_module_that_is_imported_already_stays() -> None:
    with deferred("types"):
        assert sys.modules["types"] is types
    assert sys.modules["types"] is types
