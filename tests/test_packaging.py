"""What would be published holds what it should, and nothing else. (`make install-check` installs it.)"""

import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from tests.pages import ROOT
from tools.lowest import lowest

from tagtopic import __version__

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    from hatchling.builders.wheel import WheelBuilder

    built = next(WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"]))
    return zipfile.ZipFile(built)


def test_the_wheel_holds_the_package_and_its_licence(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    about = f"tagtopic-{__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"tagtopic", about}
    licences = {f"{about}/licenses/LICENSE", f"{about}/licenses/NOTICE"}
    assert {"tagtopic/py.typed", f"{about}/entry_points.txt", *licences} <= set(names)
    kinds = {Path(name).suffix for name in names if name.startswith("tagtopic/")}
    assert kinds == {".py", ".typed", ".txt", ".html", ".css", ".js", ".svg", ".md"}
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert sources == {name for name in names if name.endswith(".py")}


def test_the_wheel_says_what_it_is(wheel: zipfile.ZipFile) -> None:
    told = wheel.read(f"tagtopic-{__version__}.dist-info/METADATA").decode()
    for line in (f"Version: {__version__}", "License-Expression: Apache-2.0", "Requires-Python: >=3.11"):
        assert f"{line}\n" in told
    assert set(re.findall(r"^Provides-Extra: (.+)$", told, flags=re.MULTILINE)) == set(PROJECT["optional-dependencies"])
    assert "# tagtopic" in told  # the README is its description


def test_the_sdist_can_be_tested_and_documented_and_has_no_junk(tmp_path: Path) -> None:
    from hatchling.builders.sdist import SdistBuilder

    with tarfile.open(next(SdistBuilder(str(ROOT)).build(directory=str(tmp_path)))) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    tops = {name.split("/")[0] for name in names}
    wanted = {"src", "tests", "benchmarks", "docs", "tools", "Makefile", "constraints.txt", "LICENSE", "README.md"}
    wanted |= {"CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff", "NOTICE"}
    wanted |= {"pyproject.toml", "PKG-INFO", ".gitignore"}
    assert tops == wanted
    assert not [name for name in names if re.search(r"__pycache__|\.py[co]$|\.nb[ic]$|\.tagtopic$|(^|/)\.venv", name)]


def test_the_citation_has_the_version_of_the_package() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_every_dependency_has_a_lower_bound() -> None:
    found = lowest(list(PROJECT["optional-dependencies"]))
    assert "numpy==2.0" in found
    assert "tomotopy==0.14" in lowest(["experiments"])  # which takes in the baselines
    assert not any(line.startswith("pytest") for line in lowest(["test:pandas,polars"]))
    assert any(line.startswith("pandas==") for line in lowest(["test:pandas,polars"]))


def test_what_continuous_integration_installs_is_pinned() -> None:
    pinned = {line.partition("==")[0].lower() for line in (ROOT / "constraints.txt").read_text("utf-8").split()}
    named = {line.partition("==")[0].lower() for line in lowest(list(PROJECT["optional-dependencies"]))}
    assert named <= pinned, named - pinned
