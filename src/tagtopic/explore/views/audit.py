"""The audit of the documents' tags: the most suspicious entries for pages, all entries as rows of CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagtopic.explore.views.items import TagValue
from tagtopic.tagging.audit import KindSummary, TagAudit, TagOnDocument
from tagtopic.tagging.duplicates import NearDuplicate

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer

N_SHOWN = 100
AUDIT_TABLES = ("entries", "tags", "duplicates")
"""The tables that can be downloaded as CSV."""


@dataclass(frozen=True)
class AuditEntry:
    """A tag on a document, with the number of the tag."""

    entry: TagOnDocument
    tag_number: int


@dataclass(frozen=True)
class AuditedTag:
    """A tag on all its documents, with the number of the tag."""

    audit: TagAudit
    tag_number: int


@dataclass(frozen=True)
class DuplicatePair:
    """Two near-duplicate tags; the value of each is its number of documents."""

    first: TagValue
    second: TagValue
    topic_similarity: float
    together: int


@dataclass(frozen=True)
class AuditFilter:
    """Which tags to show and in what order: of some kinds, on enough documents, with at most some plausibility."""

    order: str = "both"
    kinds: Sequence[str] | None = None
    min_documents: int = 0
    below: float = 1.0


@dataclass(frozen=True)
class AuditView:
    """The first rows of each table, and the total numbers of rows.

    The most suspicious entries and the least plausible tags are first. The entries begin with number ``first``, from 0.
    """

    n_entries: int
    n_tags: int
    n_duplicates: int
    latent_share: float
    entries: tuple[AuditEntry, ...]
    tags: tuple[AuditedTag, ...]
    duplicates: tuple[DuplicatePair, ...]
    kinds: tuple[KindSummary, ...]
    shown: AuditFilter
    first: int = 0


ALL_ENTRIES = AuditFilter()


def audit(explorer: Explorer, n: int = N_SHOWN, shown: AuditFilter = ALL_ENTRIES, offset: int = 0) -> AuditView:
    """The audit of all documents, n rows of each table, entries from ``offset`` on; computed at the first call."""
    report, numbers = explorer.audit, explorer.tag_numbers
    report = report.select(
        order=shown.order, kinds=shown.kinds or None, min_documents=shown.min_documents, below=shown.below
    )
    return AuditView(
        n_entries=len(report.entries),
        n_tags=len(report.tags),
        n_duplicates=len(report.duplicates),
        latent_share=report.latent_share,
        entries=tuple(AuditEntry(entry, numbers[entry.tag]) for entry in report.entries[offset : offset + n]),
        tags=tuple(AuditedTag(tag, numbers[tag.tag]) for tag in report.tags[:n]),
        duplicates=tuple(_pair(pair, numbers) for pair in report.duplicates[:n]),
        kinds=report.kinds,
        shown=shown,
        first=offset,
    )


def audit_rows(explorer: Explorer, table: str) -> Iterator[dict[str, str | int | float]]:
    """All rows of one table of the audit, the most suspicious entries and the least plausible tags first."""
    report = explorer.audit
    if table == "entries":
        for entry in report.entries:
            yield {
                "id": entry.document,
                "document_number": entry.document_number,
                "tag": entry.tag,
                **_scores(entry),
                "disagreeing": " ".join(entry.disagreeing),
                "wrong_sibling": round(entry.wrong_sibling, 4),
                "suspicion": round(entry.suspicion, 4),
                "sibling": entry.sibling or "",
                "documents": entry.documents,
            }
    elif table == "tags":
        for tag in report.tags:
            yield {
                "tag": tag.tag,
                "documents": tag.documents,
                **_scores(tag),
            }
    elif table == "duplicates":
        for pair in report.duplicates:
            yield {
                "first": pair.first,
                "second": pair.second,
                "topic_similarity": round(pair.topic_similarity, 4),
                "first_documents": pair.documents[0],
                "second_documents": pair.documents[1],
                "together": pair.together,
            }
    else:
        raise ValueError(f"there is no part {table!r} of the audit: expected one of {', '.join(AUDIT_TABLES)}")


def _scores(entry: TagOnDocument | TagAudit) -> dict[str, float]:
    return {
        "plausibility": round(entry.plausibility, 4),
        "p_value": round(entry.p_value, 6),
        "weight": round(entry.weight, 4),
        "expected_weight": round(entry.expected_weight, 4),
    }


def _pair(pair: NearDuplicate, numbers: dict[str, int]) -> DuplicatePair:
    first, second = (
        TagValue(tag, numbers[tag], float(n)) for tag, n in zip((pair.first, pair.second), pair.documents, strict=True)
    )
    return DuplicatePair(first, second, pair.topic_similarity, pair.together)
