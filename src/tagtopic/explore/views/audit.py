"""The audit of the documents' tags, with what a page can show of it, and the rows of a CSV to act on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagtopic.explore.views.parts import TagValue
from tagtopic.tagging.audit import KindSummary, TagAudit, TagOnDocument
from tagtopic.tagging.duplicates import NearDuplicate

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer

SHOWN = 100
PARTS = ("entries", "tags", "duplicates")
"""What there is a CSV of."""


@dataclass(frozen=True)
class AuditEntry:
    """A tag on a document, with the tag's number."""

    entry: TagOnDocument
    tag_number: int


@dataclass(frozen=True)
class AuditedTag:
    """A tag on all its documents, with its number."""

    audit: TagAudit
    tag_number: int


@dataclass(frozen=True)
class DuplicatePair:
    """Two tags that may be one, with their numbers; the value of each is its number of documents."""

    first: TagValue
    second: TagValue
    topic_similarity: float
    together: int


@dataclass(frozen=True)
class AuditView:
    """The worst of each, and how many there are in all."""

    n_entries: int
    n_tags: int
    n_duplicates: int
    latent_share: float
    entries: tuple[AuditEntry, ...]
    tags: tuple[AuditedTag, ...]
    duplicates: tuple[DuplicatePair, ...]
    kinds: tuple[KindSummary, ...]


def audit(explorer: Explorer, shown: int = SHOWN) -> AuditView:
    """The audit; it may take long the first time."""
    found, numbers = explorer.audit, explorer.tag_numbers
    return AuditView(
        n_entries=len(found.entries),
        n_tags=len(found.tags),
        n_duplicates=len(found.duplicates),
        latent_share=found.latent_share,
        entries=tuple(AuditEntry(entry, numbers[entry.tag]) for entry in found.entries[:shown]),
        tags=tuple(AuditedTag(tag, numbers[tag.tag]) for tag in found.tags[:shown]),
        duplicates=tuple(_pair(pair, numbers) for pair in found.duplicates[:shown]),
        kinds=found.kinds,
    )


def audit_rows(explorer: Explorer, part: str) -> Iterator[dict[str, str | int | float]]:
    """All of one part as flat rows, worst first."""
    found = explorer.audit
    if part == "entries":
        for entry in found.entries:
            yield {
                "id": entry.document,
                "document_number": entry.document_number,
                "tag": entry.tag,
                **_judgement(entry),
                "disagreeing": " ".join(entry.disagreeing),
            }
    elif part == "tags":
        for tag in found.tags:
            yield {
                "tag": tag.tag,
                "documents": tag.documents,
                **_judgement(tag),
            }
    elif part == "duplicates":
        for pair in found.duplicates:
            yield {
                "first": pair.first,
                "second": pair.second,
                "topic_similarity": round(pair.topic_similarity, 4),
                "first_documents": pair.documents[0],
                "second_documents": pair.documents[1],
                "together": pair.together,
            }
    else:
        raise ValueError(f"there is no part {part!r} of the audit: expected one of {', '.join(PARTS)}")


def _judgement(judged: TagOnDocument | TagAudit) -> dict[str, float]:
    return {
        "plausibility": round(judged.plausibility, 4),
        "p_value": round(judged.p_value, 6),
        "weight": round(judged.weight, 4),
        "expected_weight": round(judged.expected_weight, 4),
    }


def _pair(pair: NearDuplicate, numbers: dict[str, int]) -> DuplicatePair:
    first, second = (
        TagValue(tag, numbers[tag], float(n)) for tag, n in zip((pair.first, pair.second), pair.documents, strict=True)
    )
    return DuplicatePair(first, second, pair.topic_similarity, pair.together)
