"""Each package imports only the packages before it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tagtopic

SOURCE = Path(tagtopic.__file__).parent
LAYERS = (
    "_core", "corpus", "inference", "engines", "tagging", "evaluation", "analysis", "curation", "models", "datasets",
    "baselines", "experiments", "explore", "cli",
)  # fmt: skip


def imported_packages(path: Path) -> Iterator[str]:
    """Yield the packages of tagtopic that a file imports, at its top or within functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for parts in (name.split(".") for name in names):
            if parts[0] == "tagtopic" and len(parts) > 1:
                yield parts[1]


@pytest.mark.parametrize("layer", LAYERS)
def test_no_package_imports_one_after_it(layer: str) -> None:
    later = set(LAYERS[LAYERS.index(layer) + 1 :])
    files = sorted((SOURCE / layer).rglob("*.py"))
    assert files
    for path in files:
        assert not set(imported_packages(path)) & later, path.relative_to(SOURCE).as_posix()


def imported_names(path: Path) -> set[str]:
    """Return the full names of what a file imports from tagtopic."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            found |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.startswith("tagtopic.")}


OF_ENGINES = (
    "tagtopic._core.parallel.ThreadPool", "tagtopic._core.parallel.imap", "tagtopic.engines.local",
    "tagtopic.engines.distributed", "tagtopic.engines.spark",
)  # fmt: skip


@pytest.mark.parametrize("layer", ["models", "cli"])
def test_models_and_commands_depend_on_no_particular_engine(layer: str) -> None:
    """They use the contract of ``engines.base`` and the table of ``engines``, so a new engine needs no change here."""
    for path in sorted((SOURCE / layer).rglob("*.py")):
        used = {name for name in imported_names(path) if name.startswith(OF_ENGINES)}
        assert not used, path.relative_to(SOURCE)


def test_distributed_inference_does_not_depend_on_spark() -> None:
    for path in sorted((SOURCE / "engines" / "distributed").rglob("*.py")):
        text = path.read_text()
        assert "import pyspark" not in text, path.name
        assert "from pyspark" not in text, path.name
        assert not any(name.startswith("tagtopic.engines.spark") for name in imported_names(path)), path.name
