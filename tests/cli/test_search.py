"""How many topics, from the command line."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command

ASKED = ("--text", "body", "--tags", "author,year", "--no-coherence", "--max-iter", 20)


def test_a_table_for_a_person_and_json_for_programs(tagtopic: Command, documents: Path, tmp_path: Path) -> None:
    outcome = tagtopic("search-topics", documents, *ASKED, "-k", "1,3", "--output", tmp_path / "search")
    assert outcome.code == 0
    assert outcome.out.startswith("recommended: 3 topics")
    assert (tmp_path / "search" / "table.csv").read_text().startswith("topics,perplexity,coherence")
    again: Any = tagtopic("search-topics", documents, *ASKED, "-k", "1,3", "-o", tmp_path / "search", "--json").json
    assert again["recommended"] == 3
    assert [row["topics"] for row in again["table"]] == [1, 3]


@pytest.mark.parametrize(("given", "told"), [("few", "-k few:"), ("0", "-k 0:"), ("5,-1", "-k 5,-1:"), ("", "-k '':")])
def test_what_is_not_a_number_of_topics_is_told(tagtopic: Command, documents: Path, given: str, told: str) -> None:
    outcome = tagtopic("search-topics", documents, *ASKED, "-k", given)
    assert outcome.code == 1
    assert outcome.err == f"error: {told} expected whole numbers from 1, such as -k 20,50,100\n"


def test_a_seed_that_is_too_large_is_told(tagtopic: Command, documents: Path) -> None:
    outcome = tagtopic("search-topics", documents, *ASKED, "--seed", 5000000000)
    assert (outcome.code, "4294967295" in outcome.err) == (2, True)


@pytest.mark.filterwarnings("default")
def test_ctrl_c_says_where_to_go_on(
    tagtopic: Command, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tagtopic.models._batch import ExpectationMaximisation

    def interrupt(self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ExpectationMaximisation, "iterate", interrupt)
    outcome = tagtopic("search-topics", documents, *ASKED, "-k", "2", "-o", tmp_path / "search")
    assert outcome.code == 130
    assert f"what is finished is in {tmp_path / 'search'}" in outcome.err.replace("\n", "")
