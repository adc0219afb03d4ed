"""Every experiment runs on a small planted corpus and recovers what was planted."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tagtopic.experiments import EXPERIMENT_NAMES, Dataset, ExperimentResult, Plan, planted_dataset, run
from tagtopic.experiments.hybrid import hide_tags
from tagtopic.experiments.replay import variants
from tagtopic.experiments.results import where
from tagtopic.models._batch import ExpectationMaximisation
from tagtopic.models._gibbs import GibbsSampling

MODELS: dict[str, tuple[str, ...] | None] = {
    "perplexity": (
        "TWTM",
        "TWDA",
        "TWDA (paper)",
        "LDA",
        "CTM",
        "DMR",
        "ATM",
        "CorrLDA",
        "CTM with tags",
        "PLDA",
        "Labeled LDA",
    ),
    "tags": ("TWDA", "TWDA with latent tag", "TWDA (paper)", "ATM", "tf-idf centroid", "predict_tags"),
    "classify": ("tf-idf", "TWDA + tf-idf", "tf-idf with tags"),
    "noise": ("TWDA", "ATM", "DMR"),
    "scale": None,
    "replay": ("TWTM",),
    "hybrid": ("TWDA", "TWDA, tagged part", "TWTM", "LDA (ours)"),
}  # fmt: skip
TOPICS = {"scale": (4,), "replay": (4,)}


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return planted_dataset(quick=True)


@pytest.fixture(scope="module")
def results(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, ExperimentResult]:
    folder = tmp_path_factory.mktemp("experiments")
    return {
        name: run(
            name,
            dataset,
            folder,
            Plan(quick=True, topics=TOPICS.get(name, (8,)), models=MODELS[name], workers=(), jobs=1),
        )
        for name in EXPERIMENT_NAMES
    }


@pytest.mark.parametrize("name", EXPERIMENT_NAMES)
def test_tables_and_plots_are_written(name: str, results: dict[str, ExperimentResult]) -> None:
    result = results[name]
    assert result.missing == 0
    assert not [row for row in result.rows if "error" in row]
    table, page, drawing, picture = result.files
    assert pq.read_table(table).num_rows == len(result.rows)
    for part in result.tables:
        assert part.markdown() in page.read_text("utf-8")
        assert all(len(line) == len(part.header) for line in part.lines)
    text = drawing.read_text("utf-8")
    assert ET.fromstring(text).tag.endswith("svg")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_twda_has_the_lowest_perplexity_on_a_corpus_drawn_from_twda(results: dict[str, ExperimentResult]) -> None:
    rows = [row for row in results["perplexity"].rows if row["part"] == "ab"]
    values = {row["model"]: row["completion"] for row in rows}
    assert len(values) == len(MODELS["perplexity"] or ())
    for other in ("TWTM", "LDA", "ATM", "CorrLDA", "PLDA", "Labeled LDA"):
        assert values["TWDA"] < values[other]


def test_plda_and_tagtopic_models_have_equal_numbers_of_topics(
    results: dict[str, ExperimentResult], dataset: Dataset
) -> None:
    rows = where(results["perplexity"].rows, part="c")
    n_tags = dataset.corpus.n_tags
    totals = n_tags + 1, 2 * n_tags + 1
    expected = {(name, total) for name in ("TWTM", "TWDA", "TWDA (paper)") for total in totals}
    assert {(row["model"], row["topics"]) for row in rows} == {("PLDA", totals[0]), *expected}


def test_recall_increases_with_the_rank_and_is_above_chance(
    results: dict[str, ExperimentResult], dataset: Dataset
) -> None:
    rows = results["tags"].rows
    for name in MODELS["tags"] or ():
        curve = [row["recall"] for row in where(rows, model=name)]
        assert curve == sorted(curve)
        assert where(rows, model=name, rank=10)[0]["recall"] > 10 / dataset.corpus.n_tags


def test_labels_are_predicted_better_than_by_chance(results: dict[str, ExperimentResult], dataset: Dataset) -> None:
    assert dataset.labels is not None
    commonest = dataset.labels.tags.sum(axis=0).max() / len(dataset.corpus)
    for row in where(results["classify"].rows, at=1):
        assert row["precision"] > commonest


def test_classify_has_a_table_for_each_number_of_topics(dataset: Dataset, tmp_path: Path) -> None:
    result = run("classify", dataset, tmp_path, Plan(quick=True, topics=(2, 8), models=MODELS["classify"], jobs=1))
    assert result.missing == 0
    assert {(row["model"], row["topics"]) for row in result.rows} == {
        ("tf-idf", None), ("TWDA + tf-idf", 2), ("TWDA + tf-idf", 8), ("tf-idf with tags", None)
    }  # fmt: skip
    titles = [f"SVM (linear), K = {k}: precision at n" for k in (2, 8)]
    for title in titles:
        (table,) = (table for table in result.tables if table.title == title)
        assert [line[0] for line in table.lines] == ["tf-idf", "TWDA + tf-idf", "tf-idf with tags"]
        assert all("±" not in value for line in table.lines for value in line)


def test_noise_increases_the_perplexity_of_dmr_more_and_has_low_weights_in_twda(
    results: dict[str, ExperimentResult],
) -> None:
    rows = where(results["noise"].rows, noise=1.0)
    rise = {row["model"]: row["rise"] for row in rows}
    assert abs(rise["TWDA"]) < rise["DMR"]
    weights = where(rows, model="TWDA")[0]
    assert weights["noise_share"] < weights["even"] == pytest.approx(0.5, abs=0.01)
    assert weights["noise_weight"] < weights["own_weight"]
    assert [row for row in results["noise"].rows if row.get("example")]


def test_untagged_documents_help_twda_when_most_tags_are_hidden(results: dict[str, ExperimentResult]) -> None:
    rows = results["hybrid"].rows
    values = {(row["model"], row["hidden"]): row for row in rows}
    assert ("TWDA, tagged part", 0.0) not in values
    assert values["TWDA", 0.8]["completion"] < values["TWDA, tagged part", 0.8]["completion"]
    assert values["TWDA", 0.8]["completion"] < values["TWTM", 0.8]["completion"]
    assert values["TWDA", 0.0]["tags"] < values["LDA (ours)", 0.0]["tags"]
    assert values["TWDA", 0.0]["weights"] > 0.55
    assert "weights" not in values["LDA (ours)", 0.0]


def test_hidden_tags_are_nested_and_words_stay(dataset: Dataset) -> None:
    few, some = (hide_tags(dataset.corpus, share) for share in (0.2, 0.8))
    n = len(dataset.corpus)
    assert (few[1].sum(), some[1].sum()) == (round(0.2 * n), round(0.8 * n))
    assert not (few[1] & ~some[1]).any()
    for corpus, hidden in (few, some):
        sizes = np.diff(dataset.corpus.tags.indptr)
        np.testing.assert_array_equal(np.diff(corpus.tags.indptr), np.where(hidden, 0, sizes))
        assert (corpus.tags[~hidden] != dataset.corpus.tags[~hidden]).nnz == 0
        assert corpus.n_tokens == dataset.corpus.n_tokens


def test_every_part_of_the_article_has_a_row_in_replay(results: dict[str, ExperimentResult]) -> None:
    rows = results["replay"].rows
    assert [row["variant"] for row in rows] == list(variants("TWTM"))
    assert len({row["completion"] for row in rows}) == len(rows)
    (table,) = results["replay"].tables
    assert [line[0] for line in table.lines if "+0.0%" in line] == ["equations only"]


def test_scale_without_workers_runs_locally(results: dict[str, ExperimentResult]) -> None:
    rows = results["scale"].rows
    assert {row["model"] for row in rows} == {"standard", "all threads"}
    assert len({row["perplexity"] for row in rows}) == 1
    assert all(row["seconds"] > 0 for row in rows)


def test_a_repeated_run_reuses_stored_cells(results: dict[str, ExperimentResult], dataset: Dataset) -> None:
    result = results["tags"]
    plan = Plan(quick=True, topics=(8,), models=MODELS["tags"], jobs=1)
    messages: list[str] = []
    before = result.files[1].read_text()
    again = run("tags", dataset, result.files[0].parent, plan, redo=("tf-idf centroid",), log=messages.append)
    assert messages == ["tags: 1 cells are measured again"]
    assert again.rows == result.rows
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
def test_ctrl_c_in_a_fit_ends_the_run_without_a_stored_cell(
    name: str, model: str, dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in (ExpectationMaximisation, GibbsSampling):
        iterate: Any = kind.iterate

        def interrupted(fit: Any, iterate: Any = iterate) -> None:
            if len(fit.history.bound) == 2:
                raise KeyboardInterrupt
            iterate(fit)

        monkeypatch.setattr(kind, "iterate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(name, dataset, tmp_path, Plan(quick=True, topics=(3,), models=(model,), workers=(), jobs=1))
    assert not (tmp_path / "cells").exists()


def test_an_error_is_a_row_of_the_table_and_listed_on_the_page(dataset: Dataset, tmp_path: Path) -> None:
    result = run("noise", dataset, tmp_path, Plan(quick=True, topics=(2, 0), models=("TWDA",), jobs=1))
    errors = [row for row in result.rows if row.get("error")]
    assert [(row["model"], row["topics"], row["error"]) for row in errors] == [
        ("TWDA", 0, "ValueError: n_topics=0: expected a whole number from 1")
    ]
    assert "n_topics=0: expected" in (tmp_path / "noise.md").read_text()
    assert pq.read_table(tmp_path / "noise.parquet")["error"].null_count == len(result.rows) - 1


def test_invalid_requests_are_reported(dataset: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no experiment 'taste'"):
        run("taste", dataset, tmp_path)
    with pytest.raises(ValueError, match="classify needs documents with labels"):
        run("classify", Dataset(dataset.corpus, None), tmp_path)
    with pytest.raises(
        ValueError,
        match=r"noise does not compare 'nobody'; it compares TWDA, TWDA \(paper\), TWDA \(prior",
    ):
        run("noise", dataset, tmp_path, Plan(models=("nobody",)))


def test_missing_matplotlib_is_reported_before_anything_is_measured(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib.util import find_spec

    from tagtopic._core import optional

    monkeypatch.setattr(optional, "find_spec", lambda name: None if name == "matplotlib" else find_spec(name))
    with pytest.raises(optional.MissingExtraError, match=r"pip install 'tagtopic\[experiments\]'"):
        run("noise", dataset, tmp_path)
    assert not list(tmp_path.iterdir())
