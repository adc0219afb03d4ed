"""Print the lowest versions that pyproject.toml allows, as pip constraints.

python tools/lowest.py [EXTRA | EXTRA:PACKAGE,PACKAGE ...] > lowest.txt

Only what is named there is pinned; what those packages need in turn is as new as they allow. Of an extra that holds
tools too, such as `test`, the packages that matter can be named.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,]+\])?>=(?P<lowest>[\w.]+)(,<[\w.]+)?$")


def name_of(requirement: str) -> str:
    """The package that a requirement is about."""
    return re.split(r"[^\w.-]", requirement)[0]


def lowest(extras: list[str], pyproject: Path = PYPROJECT) -> list[str]:
    """The constraints of the package itself and of some extras; an extra may take in others."""
    project = tomllib.loads(pyproject.read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]
    found: set[str] = set()
    waiting = [*project["dependencies"], *(f"tagtopic[{extra}]" for extra in extras if ":" not in extra)]
    for extra, _, names in (extra.partition(":") for extra in extras if ":" in extra):
        waiting += [requirement for requirement in optional[extra] if name_of(requirement) in names.split(",")]
    while waiting:
        requirement = waiting.pop()
        if taken := re.fullmatch(r"tagtopic\[(.+)\]", requirement):
            waiting += [inner for extra in taken[1].split(",") for inner in optional[extra.strip()]]
        elif told := REQUIREMENT.fullmatch(requirement):
            found.add(f"{told['name']}=={told['lowest']}")
        else:
            raise ValueError(f"pyproject.toml says {requirement!r}: expected a lower bound, as in 'numpy>=2.0'")
    return sorted(found, key=str.lower)


if __name__ == "__main__":
    print(*lowest(sys.argv[1:]), sep="\n")
