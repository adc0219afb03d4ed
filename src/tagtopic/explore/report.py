"""The report: the same views in one file that needs nothing from elsewhere.

Pages are made by the templates of the service, packed some at a time (gzip, base64), and unpacked when they are opened:
a page of a tag weighs about half a kilobyte so. What is on the first page is there without JavaScript. A content
security policy in the file itself allows no script and no style but its own two.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic._core.files import write_text
from tagtopic._core.threads import ThreadPool
from tagtopic.explore import views
from tagtopic.explore.csv import csv_pieces
from tagtopic.explore.rendering import Renderer, static_file
from tagtopic.explore.views.audit import PARTS, audit_rows
from tagtopic.explore.views.search import DocumentList, FoundDocument, TagList

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer

CHUNK = 40
"""Pages packed together: more pack better, fewer open sooner."""

FILE_ROWS = 20_000
"""Rows of each table of the audit, the worst first: about a megabyte of a report with the longest of them."""

LISTED = 300
"""Names in the list of tags; the search finds the others."""


@dataclass(frozen=True)
class ReportLimits:
    """How many tags (the most used) and documents get a page of their own.

    Examples
    --------
    >>> from tagtopic.explore import ReportLimits
    >>> ReportLimits(documents=20)
    ReportLimits(tags=2000, documents=20)
    """

    tags: int = 2000
    documents: int = 200


def write_report(explorer: Explorer, path: str | PathLike[str], limits: ReportLimits | None = None) -> None:
    """Write the report to a file, whole or not at all.

    Examples
    --------
    >>> from tagtopic import TWDA, Corpus
    >>> corpus = Corpus.from_texts(["a ship in space", "police hunt a killer"] * 5, [["space"], ["crime"]] * 5)
    >>> model = TWDA(2, random_state=0).fit(corpus)
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tagtopic.explore import Explorer, write_report
    >>> with TemporaryDirectory() as folder:
    ...     write_report(Explorer(model, corpus, name="films"), f"{folder}/films.html")
    ...     Path(f"{folder}/films.html").read_text("utf-8").startswith("<!doctype html>")
    True
    """
    path = Path(path)
    html = render_report(explorer, limits or ReportLimits())
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, html)


def render_report(explorer: Explorer, limits: ReportLimits) -> str:
    """The report as HTML."""
    chosen = {"tags": _tags(explorer, limits.tags), "documents": _documents(explorer, limits.documents)}
    renderer = Renderer(root="#", has=lambda kind, number: number in chosen.get(kind, ()), live=False)
    if explorer.can_audit:
        _ = explorer.audit
    overview = renderer.fragment("overview", view=views.overview(explorer))
    pages: dict[str, int] = {}
    chunks: list[str] = []
    made = chain([("/", overview)], _pages(explorer, renderer, chosen))
    while part := list(islice(made, CHUNK)):
        pages |= dict.fromkeys((path for path, _ in part), len(chunks))
        chunks.append(_packed(dict(part)))
    files: dict[str, int] = {}  # apart from the pages: what is in them is text, and never shown as HTML
    for file, text in _files(explorer):
        files[file] = len(chunks)
        chunks.append(_packed({file: text}))
    style, script = static_file("explorer.css").decode(), _script()
    return renderer.render(
        "report.html",
        name=explorer.name,
        section="overview",
        has_documents=explorer.corpus is not None,
        can_audit=explorer.can_audit,
        has_other=explorer.other is not None,
        overview=overview,
        pages=_json(pages),
        files=_json(files),
        chunks=chunks,
        index=_json(_index(explorer, chosen["tags"])),
        style=style,
        script=script,
        policy=_policy(style, script),
        n_tags=len(explorer.model.tag_names_),
        shown_tags=len(chosen["tags"]),
        n_documents=0 if explorer.corpus is None else len(explorer.corpus),
        shown_documents=len(chosen["documents"]),
    )


def _pages(explorer: Explorer, renderer: Renderer, chosen: dict[str, dict[int, None]]) -> Iterator[tuple[str, str]]:
    """Each page with its path."""
    for topic in range(len(explorer.model.components_)):
        yield f"/topics/{topic}", renderer.fragment("topic", view=views.topic(explorer, topic))
    yield "/tags", renderer.fragment("tags", view=_tag_list(explorer, chosen["tags"]))
    for number in chosen["tags"]:
        view = views.tag(explorer, number)
        yield f"/tags/{number}", renderer.fragment("tag", view=view, can_audit=explorer.can_audit)
    if explorer.corpus is not None:
        listed, note = _document_list(explorer, chosen["documents"])
        yield "/documents", renderer.fragment("documents", view=listed, note=note)
        with ThreadPool(explorer.model.n_jobs) as workers:  # drawing intervals is most of the work, and uses all cores
            documents = workers.map(lambda number: views.document(explorer, number), chosen["documents"])
        for document in documents:
            yield f"/documents/{document.number}", renderer.fragment("document", view=document)
        if explorer.can_audit:
            yield "/audit", renderer.fragment("audit", view=views.audit(explorer), most_rows=FILE_ROWS)
    yield "/try", renderer.fragment("try_elsewhere")
    if explorer.other is not None:
        yield "/compare", renderer.fragment("compare", view=views.compare(explorer))


def _files(explorer: Explorer) -> Iterator[tuple[str, str]]:
    """What can be taken away: the tables of the audit."""
    if explorer.can_audit:
        for part in PARTS:
            rows = islice(audit_rows(explorer, part), FILE_ROWS)
            yield f"/audit/{part}.csv", "".join(csv_pieces(rows))


def _tags(explorer: Explorer, most: int) -> dict[int, None]:
    """The tags that get a page, the most used first."""
    order = np.argsort(-np.asarray(explorer.model.tag_frequencies_), kind="stable")[:most]
    return dict.fromkeys(int(number) for number in order)


def _documents(explorer: Explorer, most: int) -> dict[int, None]:
    """The documents that get a page: those which other pages point to first, then as many of the rest as fit."""
    if explorer.corpus is None:
        return {}
    n = len(explorer.corpus)
    if n <= most:
        return dict.fromkeys(range(n))
    pointed: dict[int, None] = {}
    if explorer.can_audit:
        pointed |= dict.fromkeys(row.entry.document_number for row in views.audit(explorer, most // 4).entries)
    per_topic = max(1, (most - len(pointed)) // (2 * len(explorer.model.components_)))
    for topic in range(len(explorer.model.components_)):
        found = views.topic(explorer, topic, min(20, per_topic)).documents or ()
        pointed |= dict.fromkeys(document.number for document in found)
    spread = dict.fromkeys(np.linspace(0, n - 1, most).astype(int).tolist())
    return dict.fromkeys(sorted(list(pointed | spread)[:most]))


def _tag_list(explorer: Explorer, chosen: dict[int, None]) -> TagList:
    found = views.find_tags(explorer, limit=LISTED)
    kept = tuple(tag for tag in found.tags if tag.number in chosen)
    return TagList("", None, len(chosen), 0, kept)


def _document_list(explorer: Explorer, chosen: dict[int, None]) -> tuple[DocumentList, str]:
    corpus = explorer.documents
    found = tuple(
        FoundDocument(corpus.ids[i], i, int(corpus[i : i + 1].lengths()[0]), corpus[i].tags[:6]) for i in chosen
    )
    note = ""
    if len(found) < len(corpus):
        note = f"This report holds {len(found):,} of the {len(corpus):,} documents; tagtopic serve shows all."
    return DocumentList("", len(found), 0, found), note


def _index(explorer: Explorer, chosen: dict[int, None]) -> list[tuple[str, int, float]]:
    """What the search field searches."""
    model = explorer.model
    return [(model.tag_names_[i], i, round(float(model.tag_frequencies_[i]), 5)) for i in chosen]


def _packed(pages: dict[str, str]) -> str:
    data = json.dumps(pages, ensure_ascii=False).encode()
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def _script() -> str:
    return static_file("explorer.js").decode() + static_file("report.js").decode()


def _policy(style: str, script: str) -> str:
    """Only this script and this style may be used, and nothing may be fetched."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    return f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; base-uri 'none'"


def _json(value: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
