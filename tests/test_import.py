"""Import time: no heavy imports, and compiled kernels are reused."""

import subprocess
import sys
from pathlib import Path

import pytest

from tagtopic import LDA

FIT = """
from tagtopic import TWDA
from tagtopic.datasets import make_tagged_corpus
from tagtopic.inference.m_step import add_scaled_rows, normalise_columns
TWDA(2, max_iter=2, random_state=0).fit(make_tagged_corpus(50, 2, 5, 40).corpus)
for kernel in (normalise_columns, add_scaled_rows):
    print(sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values()))
"""
VERSION = """
import runpy
sys.argv = ["tagtopic", "--version"]
try:
    runpy.run_module("tagtopic", run_name="__main__")
except SystemExit:
    pass
"""


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "code", ["import tagtopic", "import tagtopic.cli.main", VERSION, VERSION.replace("--version", "--help")]
)
def test_heavy_packages_are_imported_on_first_use(code: str) -> None:
    heavy = {
        "numpy", "numba", "sklearn", "scipy", "pyarrow", "narwhals", "safetensors", "pandas", "polars", "plotly",
        "matplotlib", "fastapi", "pydantic", "uvicorn", "jinja2", "pyspark", "gensim", "tomotopy",
    }  # fmt: skip
    loaded = python(f"import sys\n{code}\nprint(*{{name.split('.')[0] for name in sys.modules}})").split()
    assert "tagtopic" in loaded
    assert not heavy & set(loaded)


def test_importing_the_models_imports_no_optional_package() -> None:
    loaded = python("import sys; from tagtopic import TWDA, Corpus; print(*sys.modules)").split()
    assert not {"pyspark", "gensim", "tomotopy", "polars", "matplotlib", "rich"} & set(loaded)


def test_topics_are_printed_without_a_kernel(tmp_path: Path) -> None:
    counts = [[2, 0, 1], [0, 3, 1]]
    model = tmp_path / "model.tagtopic"
    LDA(2, max_iter=2, random_state=0).fit(counts).save(model)
    program = """
import sys
from tagtopic._core import jit
jit._KernelCache.load_overload = None  # fails if it is called
from tagtopic.cli.main import app
app(["topics", sys.argv[1]], standalone_mode=False)
"""
    subprocess.run([sys.executable, "-c", program, model], check=True, capture_output=True)


def test_a_second_process_reuses_the_compiled_kernels() -> None:
    python(FIT)
    for line in python(FIT).splitlines():
        hits, misses = map(int, line.split())
        assert hits > 0
        assert misses == 0
