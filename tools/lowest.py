"""Print the lowest versions that pyproject.toml allows, as pip constraints.

python tools/lowest.py [EXTRA | EXTRA:PACKAGE,PACKAGE ...] > lowest.txt

Only direct dependencies are pinned; indirect ones are as new as these allow. For an extra that also contains tools,
such as `test`, the relevant packages can be named.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,]+\])?>=(?P<lowest>[\w.]+)(,<[\w.]+)?$")


def name_of(requirement: str) -> str:
    """Return the package of a requirement."""
    return re.split(r"[^\w.-]", requirement)[0]


def lowest(extras: list[str], pyproject: Path = PYPROJECT) -> list[str]:
    """Return the constraints of the package and of some extras, which may include other extras."""
    project = tomllib.loads(pyproject.read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]
    found: set[str] = set()
    pending = [*project["dependencies"], *(f"tagtopic[{extra}]" for extra in extras if ":" not in extra)]
    for extra, _, names in (extra.partition(":") for extra in extras if ":" in extra):
        pending += [requirement for requirement in optional[extra] if name_of(requirement) in names.split(",")]
    while pending:
        requirement = pending.pop()
        if nested := re.fullmatch(r"tagtopic\[(.+)\]", requirement):
            pending += [inner for extra in nested[1].split(",") for inner in optional[extra.strip()]]
        elif match := REQUIREMENT.fullmatch(requirement):
            found.add(f"{match['name']}=={match['lowest']}")
        else:
            raise ValueError(f"pyproject.toml says {requirement!r}: expected a lower bound, as in 'numpy>=2.0'")
    return sorted(found, key=str.lower)


if __name__ == "__main__":
    print(*lowest(sys.argv[1:]), sep="\n")
