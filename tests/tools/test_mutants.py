"""The table of mutation testing names modules and tests that exist."""

from pathlib import Path

import pytest
from tools.mutants import PACKAGE, TESTS, TESTS_OF


@pytest.mark.parametrize("module", TESTS_OF)
def test_modules_and_their_tests_exist(module: str) -> None:
    assert PACKAGE.joinpath(*module.split(".")).with_suffix(".py").exists()
    for name in TESTS_OF[module]:
        assert (TESTS / f"{name}.py").exists(), name


def test_all_inference_modules_are_in_the_table() -> None:
    modules = {
        ".".join(Path(path).relative_to(PACKAGE).with_suffix("").parts)
        for path in (PACKAGE / "inference").rglob("*.py")
        if path.name != "__init__.py"
    }
    # methods is a table without computation; topic_words is tested through fits, too slow without compiled kernels
    assert modules - set(TESTS_OF) <= {"inference.methods", "inference.priors.topic_words"}
