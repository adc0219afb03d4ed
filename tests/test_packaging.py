"""Contents and metadata of wheel and sdist. (`make install-check` installs them.)"""

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


def test_the_wheel_contains_the_package_and_its_licence(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    about = f"tagtopic-{__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"tagtopic", about}
    licences = {f"{about}/licenses/LICENSE", f"{about}/licenses/NOTICE"}
    assert {"tagtopic/py.typed", f"{about}/entry_points.txt", *licences} <= set(names)
    kinds = {Path(name).suffix for name in names if name.startswith("tagtopic/")}
    assert kinds == {".py", ".typed", ".txt", ".html", ".css", ".js", ".svg", ".md"}
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert sources == {name for name in names if name.endswith(".py")}


def test_the_wheel_has_metadata(wheel: zipfile.ZipFile) -> None:
    metadata = wheel.read(f"tagtopic-{__version__}.dist-info/METADATA").decode()
    for line in (f"Version: {__version__}", "License-Expression: Apache-2.0", "Requires-Python: >=3.11"):
        assert f"{line}\n" in metadata
    assert set(re.findall(r"^Provides-Extra: (.+)$", metadata, flags=re.MULTILINE)) == set(
        PROJECT["optional-dependencies"]
    )
    assert "# tagtopic" in metadata  # the README


def test_the_sdist_contains_sources_tests_and_documentation_only(tmp_path: Path) -> None:
    from hatchling.builders.sdist import SdistBuilder

    with tarfile.open(next(SdistBuilder(str(ROOT)).build(directory=str(tmp_path)))) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    tops = {name.split("/")[0] for name in names}
    expected = {
        "src",
        "tests",
        "benchmarks",
        "docs",
        "packaging",
        "tools",
        "Makefile",
        "constraints.txt",
        "LICENSE",
        "README.md",
    }
    expected |= {"CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff", "NOTICE"}
    expected |= {"pyproject.toml", "PKG-INFO", ".gitignore"}
    assert tops == expected
    assert not [name for name in names if re.search(r"__pycache__|\.py[co]$|\.nb[ic]$|\.tagtopic$|(^|/)\.venv", name)]


def test_the_conda_recipe_has_the_dependencies_of_the_package() -> None:
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text("utf-8")
    listed = recipe.partition("  run:\n")[2].partition("  run_constrained:\n")[0]
    dependencies = [f"python {PROJECT['requires-python']}", *PROJECT["dependencies"]]
    assert [line.strip("- ").replace(" ", "") for line in listed.splitlines()] == [
        dependency.replace(" ", "") for dependency in dependencies
    ]
    constrained = recipe.partition("  run_constrained:\n")[2].partition("\n\n")[0]
    extras = [*PROJECT["optional-dependencies"]["explore"], *PROJECT["optional-dependencies"]["spark"]]
    assert [line.strip("- ").replace(" ", "") for line in constrained.splitlines()] == extras


def test_the_image_is_built_from_files_that_exist() -> None:
    lines = (ROOT / "packaging" / "Dockerfile").read_text("utf-8").splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY") and "--from" not in line]
    names = [name for files in copied for name in files if not name.startswith("--")]
    sent = (ROOT / "packaging" / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    assert names
    for name in names:
        assert (ROOT / name).exists()
        assert f"!{name}" in sent


def test_the_citation_has_the_package_version() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_workflow_tests_every_supported_python_on_linux_and_macos() -> None:
    text = (ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8")
    classifiers = (name.removeprefix("Programming Language :: Python :: ") for name in PROJECT["classifiers"])
    supported = [name for name in classifiers if re.fullmatch(r"3\.\d+", name)]
    (versions,), (systems,) = re.findall(r"^ +python: \[(.*)\]", text, re.M), re.findall(r"^ +os: \[(.*)\]", text, re.M)
    assert re.findall(r"[\d.]+", versions) == supported
    assert re.findall(r"[a-z]+(?=-latest)", systems) == ["ubuntu", "macos"]
    targets = re.findall(r"run: make ([\w-]+)", text)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert "test" in targets
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)


def test_every_dependency_has_a_lower_bound() -> None:
    found = lowest(list(PROJECT["optional-dependencies"]))
    assert "numpy==2.0" in found
    assert "tomotopy==0.14" in lowest(["experiments"])  # which includes the baselines
    assert not any(line.startswith("pytest") for line in lowest(["test:pandas,polars"]))
    assert any(line.startswith("pandas==") for line in lowest(["test:pandas,polars"]))


def test_all_dependencies_are_pinned_in_the_constraints() -> None:
    pinned = {line.partition("==")[0].lower() for line in (ROOT / "constraints.txt").read_text("utf-8").split()}
    named = {line.partition("==")[0].lower() for line in lowest(list(PROJECT["optional-dependencies"]))}
    assert named <= pinned, named - pinned
