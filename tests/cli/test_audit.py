"""`tagtopic audit`."""

import csv
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
from tests.cli.conftest import Command

from tagtopic import TWDA, Corpus

READ = ("--text", "body", "--tags", "author,year")


def n_documents(printed: str) -> int:
    """The number of lines that begin with a document's id."""
    return len(re.findall(r"^d\d+: ", printed, re.MULTILINE))


def test_audit_prints_the_most_suspicious_tags(tagtopic: Command, model: Path, documents: Path) -> None:
    outcome = tagtopic("audit", model, documents, *READ)
    assert outcome.code == 0
    assert outcome.out.startswith("120 tags on documents, most suspicious first")
    assert n_documents(outcome.out) == 20
    report = TWDA.load(model).audit_tags(Corpus.read(documents, text="body", tags=["author", "year"]))
    assert f"{report.entries[0].document}: " in outcome.out  # followed by the first words
    assert n_documents(tagtopic("audit", model, documents, *READ, "--top", 3).out) == 3


def test_entries_are_selected_by_kind_documents_and_plausibility(
    tagtopic: Command, model: Path, documents: Path
) -> None:
    found: Any = tagtopic("audit", model, documents, *READ, "--json").json
    authors: Any = tagtopic("audit", model, documents, *READ, "--kind", "author", "--json").json
    assert [entry["tag"] for entry in authors] == [e["tag"] for e in found if e["tag"].startswith("author:")]
    limit = found[len(found) // 2]["plausibility"]
    below: Any = tagtopic("audit", model, documents, *READ, "--below", limit, "--json").json
    assert {entry["plausibility"] <= limit for entry in below} == {True}
    many: Any = tagtopic("audit", model, documents, *READ, "--min-documents", 10**6, "--json").json
    assert many == []
    both: Any = tagtopic("audit", model, documents, *READ, "--order", "both", "--json").json
    scores = [entry["suspicion"] for entry in both]
    assert scores == sorted(scores, reverse=True)


def test_entries_equal_the_audit_of_the_model(tagtopic: Command, model: Path, documents: Path, tmp_path: Path) -> None:
    report = TWDA.load(model).audit_tags(Corpus.read(documents, text="body", tags=["author", "year"]))
    found: Any = tagtopic("audit", model, documents, *READ, "--json").json
    assert [entry["id"] for entry in found] == report.entries.column("document")
    first = report.entries[0]
    assert list(found[0])[:4] == ["id", "title", "document_number", "tag"]
    titles = Corpus.read(documents, text="body", tags=["author", "year"]).titles
    assert titles is not None
    assert found[0]["title"] == titles[first.document_number]
    assert found[0]["document_number"] == first.document_number
    assert (found[0]["plausibility"], found[0]["disagreeing"]) == (first.plausibility, list(first.disagreeing))
    for name in ("audit.csv", "audit.parquet", "audit.json"):
        assert tagtopic("audit", model, documents, *READ, "-o", tmp_path / name).code == 0
    with (tmp_path / "audit.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["tag"] for row in rows] == report.entries.column("tag")
    assert [row["id"] for row in rows] == report.entries.column("document")
    assert rows[0]["disagreeing"] == " ".join(report.entries[0].disagreeing)
    table = parquet.read_table(tmp_path / "audit.parquet")
    assert table.column("plausibility").to_pylist() == [entry.plausibility for entry in report.entries]
    assert table.column_names[:4] == ["id", "title", "document_number", "tag"]
    assert table.column("title").to_pylist() == [row["title"] for row in rows] == [entry["title"] for entry in found]


def test_tags_kinds_and_near_duplicates(tagtopic: Command, model: Path, documents: Path, tmp_path: Path) -> None:
    tags: Any = tagtopic("audit", model, documents, *READ, "--about", "tags", "--json").json
    assert {tag["tag"] for tag in tags} == {"author:Ada", "author:Mary", "author:Jane", "year:1800", "year:1801"}
    assert "author:Ada" in tagtopic("audit", model, documents, *READ, "--about", "tags").out
    kinds: Any = tagtopic("audit", model, documents, *READ, "--about", "kinds", "--json").json
    assert [kind["kind"] for kind in kinds][-1] is None
    assert abs(sum(kind["share"] for kind in kinds) - 1) < 1e-4
    assert "(no tag)" in tagtopic("audit", model, documents, *READ, "--about", "kinds").out
    assert tagtopic("audit", model, documents, *READ, "--about", "duplicates", "--json").json == []
    assert tagtopic("audit", model, documents, *READ, "--about", "duplicates").code == 0
    for name in ("d.csv", "d.parquet"):
        assert tagtopic("audit", model, documents, *READ, "--about", "duplicates", "-o", tmp_path / name).code == 0
    header = ["first", "second", "topic_similarity", "first_documents", "second_documents", "together"]
    assert (tmp_path / "d.csv").read_text() == ",".join(header) + "\n"
    assert parquet.read_schema(tmp_path / "d.parquet").names == header
    assert tagtopic("audit", model, documents, *READ, "--about", "tags", "-o", tmp_path / "t.tsv").code == 0


def test_a_saved_corpus_gives_the_same_audit_as_its_files(
    tagtopic: Command, model: Path, documents: Path, tmp_path: Path
) -> None:
    Corpus.read(documents, text="body", tags=["author", "year"], to=tmp_path / "corpus")
    from_files, from_folder = (
        tagtopic("audit", model, source, *READ, "--json").out for source in (documents, tmp_path / "corpus")
    )
    assert from_folder == from_files
