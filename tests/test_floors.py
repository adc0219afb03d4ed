"""Each floor of the house uses the floors below it, never above."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tagtopic

SOURCE = Path(tagtopic.__file__).parent
FLOORS = (
    "corpus", "inference", "engines", "models", "evaluation", "baselines", "datasets", "experiments", "explore", "cli",
)  # fmt: skip
# questions that a person asks of a model, answered upstairs when they are asked
ASKED_UPSTAIRS = {"models/base.py": {"evaluation"}, "models/pictures.py": {"explore"}}


def used_by(path: Path) -> Iterator[str]:
    """The parts of the package that a file imports, wherever in the file."""
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


@pytest.mark.parametrize("floor", FLOORS)
def test_no_floor_uses_one_above(floor: str) -> None:
    above = set(FLOORS[FLOORS.index(floor) + 1 :])
    files = sorted((SOURCE / floor).rglob("*.py"))
    assert files
    for path in files:
        name = path.relative_to(SOURCE).as_posix()
        assert set(used_by(path)) & above == ASKED_UPSTAIRS.get(name, set()), name
