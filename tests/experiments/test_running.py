"""Every experiment runs small on planted data, and says what was planted."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tagtopic.experiments import NAMES, Outcome, Plan, Subject, planted, run
from tagtopic.experiments.tables import where
from tagtopic.models._batch import ExpectationMaximisation

FEW = {
    "perplexity": ("TWTM", "TWDA", "LDA", "CTM", "DMR", "ATM", "CorrLDA", "CTM with tags", "PLDA", "Labeled LDA"),
    "tags": ("TWDA", "ATM", "tf-idf centroid", "predict_tags"),
    "classify": ("tf-idf", "TWDA + tf-idf", "tf-idf with tags"),
    "noise": ("TWDA", "ATM", "DMR"),
    "scale": None,
}
TOPICS = {"perplexity": (8,), "tags": (8,), "classify": (8,), "noise": (8,), "scale": (4,)}


@pytest.fixture(scope="module")
def subject() -> Subject:
    return planted(quick=True)


@pytest.fixture(scope="module")
def outcomes(subject: Subject, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    folder = tmp_path_factory.mktemp("experiments")
    return {
        name: run(name, subject, folder, Plan(quick=True, topics=TOPICS[name], models=FEW[name], workers=(), jobs=1))
        for name in NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_table_its_markdown_and_a_plot_are_written(name: str, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[name]
    assert outcome.missing == 0
    assert not [row for row in outcome.rows if "error" in row]
    table, page, drawing, picture = outcome.files
    assert pq.read_table(table).num_rows == len(outcome.rows)
    for part in outcome.tables:
        assert part.markdown() in page.read_text("utf-8")
        assert all(len(line) == len(part.header) for line in part.lines)
    text = drawing.read_text("utf-8")
    assert ET.fromstring(text).tag.endswith("svg")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_on_words_from_twda_twda_is_ahead_of_those_without_tags_or_latent_tag(outcomes: dict[str, Outcome]) -> None:
    rows = [row for row in outcomes["perplexity"].rows if row["part"] == "ab"]
    values = {row["model"]: row["completion"] for row in rows}
    assert len(values) == len(FEW["perplexity"] or ())
    for other in ("TWTM", "LDA", "ATM", "CorrLDA", "PLDA", "Labeled LDA"):
        assert values["TWDA"] < values[other]


def test_plda_has_as_many_topics_as_its_rivals(outcomes: dict[str, Outcome], subject: Subject) -> None:
    rows = where(outcomes["perplexity"].rows, part="c")
    n_tags = subject.corpus.n_tags
    totals = n_tags + 1, 2 * n_tags + 1
    rivals = {(name, total) for name in ("TWTM", "TWDA") for total in totals}
    assert {(row["model"], row["topics"]) for row in rows} == {("PLDA", totals[0]), *rivals}


def test_recall_grows_with_the_rank_and_is_above_chance(outcomes: dict[str, Outcome], subject: Subject) -> None:
    rows = outcomes["tags"].rows
    for name in FEW["tags"] or ():
        curve = [row["recall"] for row in where(rows, model=name)]
        assert curve == sorted(curve)
        assert where(rows, model=name, rank=10)[0]["recall"] > 10 / subject.corpus.n_tags


def test_labels_are_told_better_than_by_chance(outcomes: dict[str, Outcome], subject: Subject) -> None:
    assert subject.labels is not None
    commonest = subject.labels.tags.sum(axis=0).max() / len(subject.corpus)
    for row in where(outcomes["classify"].rows, at=1):
        assert row["precision"] > commonest


def test_labels_are_told_by_each_number_of_topics(subject: Subject, tmp_path: Path) -> None:
    outcome = run("classify", subject, tmp_path, Plan(quick=True, topics=(2, 8), models=FEW["classify"], jobs=1))
    assert outcome.missing == 0
    assert {(row["model"], row["topics"]) for row in outcome.rows} == {
        ("tf-idf", None), ("TWDA + tf-idf", 2), ("TWDA + tf-idf", 8), ("tf-idf with tags", None)
    }  # fmt: skip
    titles = [f"SVM (linear), K = {k}: share of right labels among the first n" for k in (2, 8)]
    for title in titles:
        (table,) = (table for table in outcome.tables if table.title == title)
        assert [line[0] for line in table.lines] == ["tf-idf", "TWDA + tf-idf", "tf-idf with tags"]
        assert all("±" not in value for line in table.lines for value in line)


def test_noise_hurts_dmr_more_than_twda_and_weighs_less_than_own_tags(outcomes: dict[str, Outcome]) -> None:
    rows = where(outcomes["noise"].rows, noise=1.0)
    rise = {row["model"]: row["rise"] for row in rows}
    assert abs(rise["TWDA"]) < rise["DMR"]
    weights = where(rows, model="TWDA")[0]
    assert weights["noise_share"] < weights["even"] == pytest.approx(0.5, abs=0.01)
    assert weights["noise_weight"] < weights["own_weight"]
    assert [row for row in outcomes["noise"].rows if row.get("example")]


def test_scale_falls_back_to_this_machine(outcomes: dict[str, Outcome]) -> None:
    rows = outcomes["scale"].rows
    assert {row["model"] for row in rows} == {"standard", "all threads"}
    assert len({row["perplexity"] for row in rows}) == 1
    assert all(row["seconds"] > 0 for row in rows)


def test_a_run_goes_on_with_what_is_there(outcomes: dict[str, Outcome], subject: Subject) -> None:
    outcome = outcomes["tags"]
    plan = Plan(quick=True, topics=TOPICS["tags"], models=FEW["tags"], jobs=1)
    told: list[str] = []
    before = outcome.files[1].read_text()
    again = run("tags", subject, outcome.files[0].parent, plan, redo=("tf-idf centroid",), tell=told.append)
    assert told == ["tags: 1 cells are measured again"]
    assert again.rows == outcome.rows
    assert again.files[1].read_text() == before


@pytest.mark.filterwarnings("ignore:interrupted")
@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("perplexity", "TWTM"),
        ("tags", "TWDA"),
        ("classify", "TWDA + tf-idf"),
        ("noise", "TWDA"),
        ("noise", "TWDA (prior learnt)"),
        ("scale", "standard"),
    ],
)
def test_ctrl_c_in_a_fit_ends_the_run_and_keeps_no_cell(
    name: str, model: str, subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    iterate = ExpectationMaximisation.iterate

    def interrupted(em: ExpectationMaximisation) -> None:
        if len(em.history.bound) == 2:
            raise KeyboardInterrupt
        iterate(em)

    monkeypatch.setattr(ExpectationMaximisation, "iterate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(name, subject, tmp_path, Plan(quick=True, topics=(3,), models=(model,), workers=(), jobs=1))
    assert not (tmp_path / "cells").exists()


def test_an_error_is_a_row_and_stands_on_the_page(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tagtopic.experiments import models

    broken = models.CONTESTANTS["TWDA"].__class__("tagtopic.models", "TWDA", {"max_iter": 0}, {}, {})
    monkeypatch.setitem(models.CONTESTANTS, "TWDA", broken)
    plan = Plan(quick=True, topics=(2,), models=("TWDA", "TWTM"), jobs=1)
    outcome = run("noise", subject, tmp_path, plan)
    errors = [row for row in outcome.rows if row.get("error")]
    assert [(row["model"], row["error"]) for row in errors] == [
        ("TWDA", "ValueError: max_iter=0: expected a whole number from 1")
    ]
    assert "max_iter=0: expected" in (tmp_path / "noise.md").read_text()
    assert pq.read_table(tmp_path / "noise.parquet")["error"].null_count == len(outcome.rows) - 1


def test_what_cannot_be_asked_for_is_said(subject: Subject, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no experiment 'taste'"):
        run("taste", subject, tmp_path)
    with pytest.raises(ValueError, match="classify needs documents with labels"):
        run("classify", Subject(subject.corpus, None), tmp_path)
    with pytest.raises(
        ValueError, match=r"noise does not compare 'nobody'; it compares TWDA, TWDA \(prior learnt\), TWTM"
    ):
        run("noise", subject, tmp_path, Plan(models=("nobody",)))


def test_without_matplotlib_it_is_said_before_anything_is_measured(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib.util import find_spec

    from tagtopic._core import optional

    monkeypatch.setattr(optional, "find_spec", lambda name: None if name == "matplotlib" else find_spec(name))
    with pytest.raises(optional.MissingExtraError, match=r"pip install 'tagtopic\[experiments\]'"):
        run("noise", subject, tmp_path)
    assert not list(tmp_path.iterdir())
