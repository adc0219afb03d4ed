"""`tagtopic evaluate` and `search-topics`."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command

from tagtopic import TWDA, Corpus

READ = ("--text", "body", "--tags", "author,year")
SEARCH = ("--text", "body", "--tags", "author,year", "--no-coherence", "--max-iter", 20)


def test_search_recommends_a_number_of_topics(tagtopic: Command, documents: Path, tmp_path: Path) -> None:
    outcome = tagtopic("search-topics", documents, *SEARCH, "-k", "1,3", "--output", tmp_path / "search")
    assert outcome.code == 0
    assert outcome.out.startswith("recommended: 3 topics")
    assert (tmp_path / "search" / "table.csv").read_text().startswith("topics,perplexity,coherence")
    again: Any = tagtopic("search-topics", documents, *SEARCH, "-k", "1,3", "-o", tmp_path / "search", "--json").json
    assert again["recommended"] == 3
    assert [row["topics"] for row in again["table"]] == [1, 3]


@pytest.mark.parametrize(
    ("given", "message"), [("few", "-k few:"), ("0", "-k 0:"), ("5,-1", "-k 5,-1:"), ("", "-k '':")]
)
def test_invalid_numbers_of_topics_are_refused(tagtopic: Command, documents: Path, given: str, message: str) -> None:
    outcome = tagtopic("search-topics", documents, *SEARCH, "-k", given)
    assert outcome.code == 1
    assert outcome.err == f"error: {message} expected whole numbers from 1, such as -k 20,50,100\n"


def test_too_large_seeds_are_refused(tagtopic: Command, documents: Path) -> None:
    outcome = tagtopic("search-topics", documents, *SEARCH, "--seed", 5000000000)
    assert (outcome.code, "4294967295" in outcome.err) == (2, True)


@pytest.mark.filterwarnings("default")
def test_ctrl_c_reports_where_to_continue(
    tagtopic: Command, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tagtopic.models._batch import ExpectationMaximisation

    def interrupt(self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ExpectationMaximisation, "iterate", interrupt)
    outcome = tagtopic("search-topics", documents, *SEARCH, "-k", "2", "-o", tmp_path / "search")
    assert outcome.code == 130
    assert f"finished fits are in {tmp_path / 'search'}" in outcome.err.replace("\n", "")


def test_evaluate_measures_perplexity(tagtopic: Command, model: Path, documents: Path) -> None:
    found: Any = tagtopic("evaluate", model, documents, *READ, "--json").json
    corpus = Corpus.read(documents, text="body", tags=["author", "year"])
    assert found["perplexity"] == pytest.approx(TWDA.load(model).perplexity(corpus))
    assert found["scored_words"] > 0
    assert "perplexity" in tagtopic("evaluate", model, documents, *READ).out
    refused = tagtopic("evaluate", model, documents, *READ, "--method", "bound")
    assert refused.code == 1
    assert "does not bound" in refused.err
