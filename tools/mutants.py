"""Mutation testing of the inference code: change it in one place, run its tests, and list the changes that pass.

    python tools/mutants.py [--sample 300] [--seed 0] [--module e_step] [--survivors FILE] [--minutes 25]

The usual tools do not work with Numba: a kernel comes from the cache unchanged, or is compiled again for each mutant.
Here kernels run as plain Python (NUMBA_DISABLE_JIT), in a process forked for each mutant from one that has imported
everything but tagtopic, with 12 hypothesis examples instead of 60. A random sample of all mutants is tried. A mutant is
killed if a test fails or exceeds its processor time; the survivors are listed with their change.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import os
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "tagtopic"
TESTS = ROOT / "tests"
SECONDS = 40
"""Processor time of one mutant's tests. A mutant that exceeds it, for example by an endless loop, counts as killed."""

EXAMPLES = 12

TESTS_OF = {
    "_core.intrinsics": ("core/test_intrinsics", "inference/test_e_step", "inference/test_cvb0"),
    "inference.cvb0": ("inference/test_cvb0", "inference/test_e_step"),
    "inference.e_step": ("inference/test_e_step", "inference/test_cvb0"),
    "inference.gibbs": ("inference/test_gibbs",),
    "inference.full_conditionals": ("inference/test_gibbs",),
    "inference.word_topics": ("inference/test_gibbs",),
    "inference.topic_draws": ("inference/test_topic_draws",),
    "inference.m_step": ("inference/test_m_step",),
    "inference.own_words": ("inference/test_own_words", "inference/test_e_step"),
    "inference.paper": ("inference/test_paper", "inference/test_e_step"),
    "inference.priors.latent_topics": ("inference/test_priors",),
    "inference.priors.tag_weights": ("inference/test_priors", "engines/test_posterior"),
    "inference.priors.weight_scale": ("inference/test_weight_scale",),
    "inference.reference": ("inference/test_e_step", "inference/test_paper"),
    "inference.special": ("inference/test_special",),
    "inference.types": ("inference/test_types",),
    "inference.weight_draws": ("inference/test_weight_draws",),
    "tagging.evidence": ("tagging/test_evidence",),
    "tagging.features": ("tagging/test_features",),
    "tagging.likelihood": ("tagging/test_likelihood",),
    "tagging.similarity": ("tagging/test_similarity",),
    "tagging.training_index": ("tagging/test_training_index", "tagging/test_evidence", "tagging/test_similarity"),
}
"""The tests of each module."""

BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult, ast.MatMult: ast.Add, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
}  # fmt: skip
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "True": "False", "maximum": "minimum", "minimum": "maximum"}


@dataclass(frozen=True)
class Mutant:
    """A module with one change."""

    module: str
    line: int
    change: str
    source: str


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the replacements of a node, each with a description."""
    new: Any = copy.copy(node)
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in BINARY:
        new.op = BINARY[type(node.op)]()
        yield f"{type(node.op).__name__} -> {type(new.op).__name__}", new
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        new.ops = [COMPARED[type(node.ops[0])](), *node.ops[1:]]
        yield f"{type(node.ops[0]).__name__} -> {type(new.ops[0]).__name__}", new
    elif isinstance(node, ast.BoolOp):
        new.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield f"{type(node.op).__name__} -> {type(new.op).__name__}", new
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield f"{type(node.op).__name__} left out", node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield f"{node.value} -> {not node.value}", ast.copy_location(ast.Constant(not node.value), node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield f"{node.value} -> {node.value + 1}", ast.copy_location(ast.Constant(node.value + 1), node)
    elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
        name = node.id if isinstance(node, ast.Name) else node.attr
        if name in NAMES:
            setattr(new, "id" if isinstance(node, ast.Name) else "attr", NAMES[name])
            yield f"{name} -> {NAMES[name]}", new
    elif isinstance(node, ast.Break):
        yield "break -> continue", ast.copy_location(ast.Continue(), node)
    elif isinstance(node, ast.Continue):
        yield "continue -> break", ast.copy_location(ast.Break(), node)
    elif isinstance(node, ast.If | ast.IfExp):
        for value in (True, False):
            other = copy.copy(node)
            other.test = ast.copy_location(ast.Constant(value), node.test)
            yield f"if {value}", other


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Yield every node that is executed (no annotations, decorators or defaults) with its parent and position."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "bases") or isinstance(value, ast.arguments):
            continue
        for place, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.Import | ast.ImportFrom):
                continue
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # a docstring
            yield tree, name, place, node
            yield from places(node)


def mutants_of(module: str) -> list[Mutant]:
    """Return all mutants of a module."""
    path = PACKAGE.joinpath(*module.split(".")).with_suffix(".py")
    tree = ast.parse(path.read_text("utf-8"))
    found = []
    for parent, name, place, node in places(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        for change, new in changes(node):
            _put(parent, name, place, new)
            found.append(Mutant(module, getattr(node, "lineno", 0), change, ast.unparse(tree)))
            _put(parent, name, place, node)
    return found


def _put(parent: ast.AST, name: str, place: int | None, node: ast.AST) -> None:
    if place is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[place] = node


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import one module from the source of a mutant."""

    def __init__(self, mutant: Mutant) -> None:
        self.name, self.source = f"tagtopic.{mutant.module}", mutant.source

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> Any:
        """Claim the mutated module only."""
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def exec_module(self, module: ModuleType) -> None:
        """Execute the mutant's source."""
        exec(compile(self.source, self.name, "exec"), module.__dict__)


class FewExamples:
    """pytest plugin: fewer hypothesis examples, no database, no shrinking."""

    def pytest_collection_modifyitems(self, items: Sequence[Any]) -> None:
        """Change the settings of every property-based test."""
        from hypothesis import Phase, settings

        for item in items:
            test: Any = getattr(item, "obj", None)
            given = getattr(test, "_hypothesis_internal_use_settings", None)
            if given is not None:
                test._hypothesis_internal_use_settings = settings(
                    given, max_examples=min(EXAMPLES, given.max_examples), database=None, derandomize=True,
                    phases=(Phase.explicit, Phase.generate),
                )  # fmt: skip


def run_tests(mutant: Mutant | None, names: Sequence[str]) -> bool:
    """Run the tests in a forked process; return whether all passed within the time limit."""
    child = os.fork()
    if child == 0:
        spent = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
        resource.setrlimit(resource.RLIMIT_CPU, (spent + SECONDS, spent + SECONDS))
        if mutant is not None:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            sys.meta_path.insert(0, Changed(mutant))
        import pytest

        os.chdir(ROOT)
        files = [str(TESTS / f"{name}.py") for name in names]
        options = ["-x", "-q", "-p", "no:cacheprovider", "-k", "not acceleration"]
        os._exit(int(pytest.main([*options, *files], plugins=[FewExamples()])))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def preload() -> None:
    """Import what every child process needs, except tagtopic."""
    os.environ |= {"NUMBA_DISABLE_JIT": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    sys.path.insert(0, str(ROOT / "src"))
    for name in ("numba", "scipy.special", "scipy.sparse", "hypothesis.strategies", "pytest", "numpy.random"):
        importlib.import_module(name)
    assert not any(name.startswith("tagtopic") for name in sys.modules)


def main() -> None:
    """Try a sample of the mutants and report the survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--module", action="append", choices=list(TESTS_OF))
    parser.add_argument("--survivors", type=Path, help="write those that survive here, one a line")
    parser.add_argument("--minutes", type=float, default=25.0)
    given = parser.parse_args()
    everything = [mutant for module in given.module or TESTS_OF for mutant in mutants_of(module)]
    chosen = random.Random(given.seed).sample(everything, min(given.sample, len(everything)))
    preload()
    for module in dict.fromkeys(mutant.module for mutant in chosen):
        assert run_tests(None, TESTS_OF[module]), f"{TESTS_OF[module]} fail without any change"
    started, killed, tried, survivors = time.monotonic(), Counter[str](), Counter[str](), []
    for mutant in chosen:
        if time.monotonic() - started > 60 * given.minutes:
            break
        tried[mutant.module] += 1
        if run_tests(mutant, TESTS_OF[mutant.module]):
            survivors.append(mutant)
        else:
            killed[mutant.module] += 1
    for module in sorted(tried):
        print(f"{module}: {killed[module]} of {tried[module]} killed")
    share = killed.total() / tried.total()
    print(f"{killed.total()} of {tried.total()} killed ({share:.0%}), tried of {len(everything)} mutants")
    lines = [f"{mutant.module}:{mutant.line}: {mutant.change}" for mutant in survivors]
    print(*lines, sep="\n")
    if given.survivors:
        given.survivors.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
