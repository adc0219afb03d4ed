"""The registry of inference methods, and what derives from it."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.pages import ROOT
from typer.testing import CliRunner

from tagtopic import LDA, TWDA, TWTM, Corpus
from tagtopic.cli.main import app
from tagtopic.inference.methods import DEFAULT, METHODS, InferenceMethod, method_of

CORPUS = Corpus.from_texts(["a ship in space", "police hunt a killer"] * 5, [["space"], ["crime"]] * 5)
SPELLINGS = [name for method in METHODS.values() for name in (method.name, *method.aliases)]


def fitted(inference: str) -> TWDA:
    return TWDA(2, inference=inference, max_iter=3, random_state=0, progress=False).fit(CORPUS)


def test_codes_and_spellings_are_unique() -> None:
    assert len({method.code for method in METHODS.values()}) == len(METHODS)
    assert len(set(SPELLINGS)) == len(SPELLINGS)


def test_docs_list_the_registered_methods_in_their_order() -> None:
    page = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
    table = re.search(r"^\| `inference=`.*\n\|[-|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    assert table is not None
    rows = re.findall(r'^\| `"(\w+)"`( \(default\))?', table[1], re.MULTILINE)
    assert rows == [(name, " (default)" if name == DEFAULT else "") for name in METHODS]
    assert all(f'`"{alias}"`' in page for method in METHODS.values() for alias in method.aliases)


@pytest.mark.parametrize("kind", [TWDA, TWTM, LDA])
def test_estimators_have_the_registered_default(kind: type[TWDA]) -> None:
    assert kind().inference == DEFAULT


@pytest.mark.parametrize("name", SPELLINGS)
def test_an_estimator_accepts_every_spelling_and_stores_it_as_given(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    np.testing.assert_array_equal(model.components_, fitted(method_of(name).name).components_)
    model.save(tmp_path / "model")
    assert model.inference == TWDA.load(tmp_path / "model").inference == name
    assert model.transform(CORPUS).shape == (10, 2)


def test_an_unknown_method_is_refused_with_the_names_of_all() -> None:
    for name in ("variational", None, 3, ["map"]):
        with pytest.raises(
            ValueError, match=r"inference=.*: expected one of 'cvb0', 'gibbs', 'map', 'mixture', 'paper'"
        ):
            TWDA(2, inference=name).fit(CORPUS)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_new_documents_need_no_leave_one_out_counts(method: InferenceMethod) -> None:
    assert not method.for_new_documents.is_leave_one_out
    assert method.for_new_documents.for_new_documents is method.for_new_documents


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_only_a_bound_gives_a_perplexity_bound(method: InferenceMethod) -> None:
    model = fitted(method.name)
    if method.is_bound:
        assert model.perplexity(CORPUS, method="bound") > 1
    else:
        with pytest.raises(ValueError, match="does not bound the likelihood"):
            model.perplexity(CORPUS, method="bound")


def test_a_checkpoint_is_resumed_under_either_spelling(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"random_state": 0, "progress": False, "checkpoint": tmp_path / "checkpoint", "tol": 0}
    TWDA(2, inference="collapsed", max_iter=2, **settings).fit(CORPUS)
    resumed = TWDA(2, inference="cvb0", max_iter=4, **settings).fit(CORPUS)
    whole = TWDA(2, max_iter=4, random_state=0, progress=False, tol=0).fit(CORPUS)
    np.testing.assert_array_equal(resumed.components_, whole.components_)


@pytest.mark.parametrize("name", SPELLINGS)
def test_the_command_line_accepts_every_spelling(name: str, tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text("text,tags\na ship in space,x\npolice hunt a killer,y\n" * 5)
    model = tmp_path / "model"
    given = ["fit", str(tmp_path / "texts.csv"), "--text", "text", "--tags", "tags", "-k", "2", "--min-df", "1"]
    told = CliRunner().invoke(app, [*given, "--inference", name, "-o", str(model), "--quiet", "--max-iter", "2"])
    assert told.exit_code == 0, told.output
    assert TWDA.load(model).inference == method_of(name).name


def test_help_describes_every_method() -> None:
    told = CliRunner().invoke(app, ["fit", "--help"], env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"})
    text = re.sub(r"[│\s]+", " ", told.output)
    assert f"[{'|'.join(METHODS)}]" in text
    for method in METHODS.values():
        assert f"{method.name} ({method.summary})" in text


def test_the_command_line_refuses_an_unknown_method() -> None:
    told = CliRunner().invoke(app, ["fit", "none.csv", "--inference", "variational"], env={"COLUMNS": "200"})
    assert told.exit_code == 2
    assert "'variational' is not one of 'cvb0', 'gibbs', 'map', 'mixture', 'paper'" in told.output
