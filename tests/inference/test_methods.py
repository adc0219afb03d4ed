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
from tagtopic.datasets import make_tagged_corpus
from tagtopic.inference.methods import AUTO, METHODS, InferenceMethod, method_of

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
    assert re.findall(r'^\| `"(\w+)"`', table[1], re.MULTILINE) == list(METHODS)
    assert all(f'`"{alias}"`' in page for method in METHODS.values() for alias in method.aliases)


@pytest.mark.parametrize("kind", [TWDA, TWTM, LDA])
def test_the_default_is_to_choose(kind: type[TWDA]) -> None:
    assert kind().inference == AUTO


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
            ValueError, match=r"inference=.*: expected one of 'auto', 'gibbs', 'cvb0', 'map', 'mixture', 'paper'"
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
    whole = TWDA(2, inference="cvb0", max_iter=4, random_state=0, progress=False, tol=0).fit(CORPUS)
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
    assert f"[{'|'.join((AUTO, *METHODS))}]" in text
    for method in METHODS.values():
        assert f"{method.name} ({method.summary})" in text


def test_the_command_line_refuses_an_unknown_method() -> None:
    told = CliRunner().invoke(app, ["fit", "none.csv", "--inference", "variational"], env={"COLUMNS": "200"})
    assert told.exit_code == 2
    assert "'variational' is not one of 'auto', 'gibbs', 'cvb0', 'map', 'mixture', 'paper'" in told.output


LARGE = make_tagged_corpus(300, 3, 8, 60, random_state=0).corpus


class TestAuto:
    """``inference="auto"`` samples where that is possible."""

    @staticmethod
    def fitted(corpus: Any = LARGE, **settings: Any) -> TWDA:
        return TWDA(2, **{"max_iter": 3, "random_state": 0, "progress": False, **settings}).fit(corpus)

    def test_whole_counts_are_sampled(self) -> None:
        assert LARGE.n_tokens > 10_000
        model = self.fitted()
        assert model.inference_ == "gibbs"
        np.testing.assert_array_equal(model.components_, self.fitted(inference="gibbs").components_)

    def test_small_corpora_are_not_sampled(self) -> None:
        model = self.fitted(CORPUS)
        assert model.inference_ == "map"
        np.testing.assert_array_equal(model.components_, self.fitted(CORPUS, inference="map").components_)

    @pytest.mark.parametrize(
        "settings",
        [
            {"learning": "online"},
            {"tag_weight_prior": "estimate"},
            {"topic_word_prior": 0},
            {"tag_topic_prior": np.array([0.0, 1.0])},
        ],
        ids=lambda settings: next(iter(settings)),
    )
    def test_what_a_sampler_cannot_do_is_left_to_cvb0(self, settings: dict[str, Any]) -> None:
        assert self.fitted(**settings).inference_ == "cvb0"

    def test_fractions_are_left_to_cvb0(self) -> None:
        halves = Corpus.from_counts(LARGE.counts * 0.9, LARGE.tags, words=LARGE.words, fractional=True)
        assert self.fitted(halves).inference_ == "cvb0"

    @pytest.mark.parametrize("settings", [{"own_words": True}, {"n_draws": 1}], ids=lambda given: next(iter(given)))
    def test_settings_of_the_sampler_ask_for_it(self, settings: dict[str, Any]) -> None:
        assert self.fitted(CORPUS, **settings).inference_ == "gibbs"
        with pytest.raises(ValueError, match='inference="gibbs" takes fixed priors'):
            self.fitted(topic_word_prior="estimate", **settings)

    def test_the_number_of_iterations_follows(self) -> None:
        assert self.fitted(max_iter=None, tol=0).n_iter_ == 400
        assert self.fitted(max_iter=None, tol=0, learning="online", batch_size=300).n_iter_ <= 200

    def test_the_choice_is_kept_in_the_file(self, tmp_path: Path) -> None:
        self.fitted().save(tmp_path / "model")
        loaded = TWDA.load(tmp_path / "model")
        assert (loaded.inference, loaded.inference_) == ("auto", "gibbs")

    def test_a_fit_that_fails_keeps_the_choice_of_the_last(self) -> None:
        model = self.fitted()
        with pytest.raises(ValueError, match="no words"):
            model.set_params(inference="map").fit([[0, 0], [0, 0]], tags=[["x"], ["y"]])
        assert model.inference_ == "gibbs"
        assert model._method.name == "gibbs"
