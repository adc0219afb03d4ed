"""Decisions from files of any supported format, by name and content, recorded in a ledger."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagtopic.curation.decisions import Decision
from tagtopic.curation.exchange import Answer, Imported, parse_answers, parse_table, record_answers
from tagtopic.curation.thesaurus import merges_of, read_thesaurus

if TYPE_CHECKING:
    from tagtopic.curation.ledger import Ledger

SKOS_SUFFIXES = (".ttl", ".nt", ".rdf", ".xml")


@dataclass(frozen=True)
class ImportedFile(Imported):
    """What the import of a file has recorded.

    Attributes
    ----------
    ambiguous : tuple of str
        Names of a thesaurus that belong to several concepts, and are not merged.

    Examples
    --------
    >>> from tagtopic.curation.imports import ImportedFile
    >>> ImportedFile(recorded=2, ambiguous=("jaguar",)).recorded
    2
    """

    ambiguous: tuple[str, ...] = ()


def read_decisions(
    path: Path,
    ledger: Ledger,
    *,
    kind: str = "",
    language: str | None = None,
    tags: Sequence[str] | None = None,
) -> ImportedFile:
    """Record the decisions of a file in a ledger: all of them, or none if the file has an error.

    Parameters
    ----------
    path : Path
        A table (.csv, .tsv) of decisions or answers, an export of Label Studio or Argilla (.json, .jsonl), another
        ledger (.jsonl), or a thesaurus (SKOS, or .tsv).
    ledger : Ledger
        The ledger.
    kind, language, tags
        For a thesaurus: the kind of its tags, the language of preferred names, and the tags to match.

    Returns
    -------
    ImportedFile
        What was recorded, and what was not.

    Raises
    ------
    ValueError
        If the file has an error; the message has its place, and nothing is recorded.
    """
    suffix = path.suffix.lower()
    if suffix in SKOS_SUFFIXES or (suffix == ".tsv" and not _is_table(path)):
        concepts = read_thesaurus(path, language=language)
        ledger.refresh()
        found, ambiguous = merges_of(concepts, ledger.state, tags, kind)
        merges = [replace(merge, who=ledger.who, why=f"thesaurus {path.name}") for merge in found]
        return replace(_record(ledger, merges), ambiguous=tuple(ambiguous))
    if suffix in (".csv", ".tsv"):
        return _record_any(ledger, parse_table(path))
    if suffix in (".json", ".jsonl"):
        records = _read_json(path)
        if records and isinstance(records[0], dict) and "what" in records[0]:
            return _record(ledger, [_decision(record, path, number) for number, record in enumerate(records, 1)])
        return _record_any(ledger, parse_answers(records, str(path)))
    raise ValueError(f"{path}: expected a file that ends in .csv, .tsv, .json, .jsonl, {', '.join(SKOS_SUFFIXES)}")


def _is_table(path: Path) -> bool:
    """Whether a TSV file has a header of decisions or answers."""
    with path.open("rb") as file:
        first = file.readline(100_000).decode("utf-8-sig", errors="replace")
    return bool({"what", "answer"} & {cell.strip().strip('"') for cell in first.split("\t")})


def _read_json(path: Path) -> list[Any]:
    """The records of a JSON array, or of JSON Lines."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: it is not UTF-8") from None
    try:
        if not text.lstrip().startswith("["):
            return [_line(line, number) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        value = json.loads(text)
    except RecursionError:
        raise ValueError(f"{path}: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{path}: it is not JSON: {error}") from None
    return list(value)


def _line(line: str, number: int) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from None


def _decision(record: Any, path: Path, number: int) -> Decision:
    try:
        return Decision.from_json(record)
    except ValueError as error:
        raise ValueError(f"{path}, record {number}: {error}") from None


def _record_any(ledger: Ledger, found: Sequence[Answer] | Sequence[Decision]) -> ImportedFile:
    answers = [each for each in found if isinstance(each, Answer)]
    if answers:
        return ImportedFile(**vars(record_answers(ledger, answers)))
    return _record(ledger, [each for each in found if isinstance(each, Decision)])


def _record(ledger: Ledger, decisions: Sequence[Decision]) -> ImportedFile:
    recorded = len(ledger.extend(decisions)) if decisions else 0
    return ImportedFile(recorded=recorded, known=len(decisions) - recorded)
