"""The report: all views in one self-contained HTML file.

Pages are rendered with the templates of the service, compressed in chunks (gzip, base64), and decompressed when they
are opened; a tag page takes about half a kilobyte. The overview needs no JavaScript. The content security policy of
the file allows its own script and style only, and no network access.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic._core.display import BAR, COUNT, ELAPSED, progress_display
from tagtopic._core.files import write_text
from tagtopic._core.parallel import ThreadPool
from tagtopic._core.records import csv_chunks
from tagtopic.explore import views
from tagtopic.explore.rendering import Renderer, static_file
from tagtopic.explore.tables import available_tables, table_rows
from tagtopic.explore.views.audit import AUDIT_TABLES, audit_rows
from tagtopic.explore.views.search import DocumentList, FoundDocument, TagList

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer

PAGES_PER_CHUNK = 40
"""Pages compressed together: more compress better, fewer open faster."""

MAX_CSV_ROWS = 20_000
"""Rows per CSV table of the audit, most suspicious entries first: at most about a megabyte of the report."""

MAX_POINTS = 3000
"""Documents on the map of a report."""

MAX_LISTED_TAGS = 300
"""Tags on the page of tags; the search finds the others."""


@dataclass(frozen=True)
class ReportLimits:
    """Limits on the pages of a report.

    Parameters
    ----------
    tags : int, default=2000
        Tags that get a page, most frequent first.
    documents : int, default=200
        Documents that get a page: first those that other pages link to.

    Examples
    --------
    >>> from tagtopic.explore import ReportLimits
    >>> ReportLimits(documents=20)
    ReportLimits(tags=2000, documents=20)
    """

    tags: int = 2000
    documents: int = 200


def write_report(
    explorer: Explorer,
    path: str | PathLike[str],
    limits: ReportLimits | None = None,
    *,
    progress: bool | None = False,
) -> None:
    """Write a report to a self-contained HTML file, atomically.

    Parameters
    ----------
    explorer : Explorer
        The model and documents to report.
    path : str or path-like
        The file to write; missing folders are created.
    limits : ReportLimits, optional
        Limits on the number of pages.
    progress : bool or None, default=False
        Whether to show a progress bar; None: on a terminal, and elsewhere a line every so often.

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
    html = render_report(explorer, limits or ReportLimits(), progress=progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, html)


def render_report(explorer: Explorer, limits: ReportLimits, *, progress: bool | None = False) -> str:
    """Render the report as HTML."""
    with progress_display(progress, "{task.description}", BAR, COUNT, ELAPSED) as bar:
        return _render(explorer, limits, _ReportProgress(bar))


class _ReportProgress:
    """Counts the pages of a report; shows nothing without a bar."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._task = None if bar is None else bar.add_task("auditing the tags", total=None)

    def start(self, n_pages: int) -> None:
        """Begin the pages."""
        if self._bar is not None:
            self._bar.remove_task(self._task)
            self._task = self._bar.add_task("writing pages", total=n_pages)

    def advance(self) -> None:
        """Count a page."""
        if self._bar is not None:
            self._bar.update(self._task, advance=1)


def _render(explorer: Explorer, limits: ReportLimits, progress: _ReportProgress) -> str:
    selected = {"tags": _select_tags(explorer, limits.tags), "documents": _select_documents(explorer, limits.documents)}
    renderer = Renderer(
        root="#",
        has_page=lambda kind, number: number in selected.get(kind, ()),
        live=False,
        titles=explorer.titles,
    )
    if explorer.can_audit:
        _ = explorer.audit
    groups = None if explorer.analyses.hierarchy is None else views.hierarchy(explorer)
    overview = renderer.fragment("overview", view=views.overview(explorer), groups=groups)
    pages: dict[str, int] = {}
    chunks: list[str] = []
    progress.start(len(explorer.model.components_) + sum(map(len, selected.values())))
    rendered = chain([("/", overview)], _pages(explorer, renderer, selected, progress))
    while chunk := list(islice(rendered, PAGES_PER_CHUNK)):
        pages |= dict.fromkeys((path for path, _ in chunk), len(chunks))
        chunks.append(_compress(dict(chunk)))
    files: dict[str, int] = {}  # separate from the pages: their text is never inserted as HTML
    for file, text in _files(explorer):
        files[file] = len(chunks)
        chunks.append(_compress({file: text}))
    style, script = static_file("explorer.css").decode(), _script()
    return renderer.render(
        "report.html",
        name=explorer.name,
        section="overview",
        has_documents=explorer.corpus is not None,
        can_audit=explorer.can_audit,
        has_other=explorer.other is not None,
        has_groups=explorer.analyses.hierarchy is not None,
        has_trends=bool(explorer.analyses.times),
        has_effects=bool(explorer.analyses.kinds),
        has_review=False,
        overview=overview,
        pages=_json(pages),
        files=_json(files),
        chunks=chunks,
        index=_json(_search_index(explorer, selected)),
        style=style,
        script=script,
        policy=_content_security_policy(style, script),
        n_tags=len(explorer.model.tag_names_),
        shown_tags=len(selected["tags"]),
        n_documents=0 if explorer.corpus is None else len(explorer.corpus),
        shown_documents=len(selected["documents"]),
    )


def _pages(
    explorer: Explorer, renderer: Renderer, selected: dict[str, dict[int, None]], progress: _ReportProgress
) -> Iterator[tuple[str, str]]:
    """The pages with their paths."""

    def describe(number: int) -> views.DocumentView:
        progress.advance()
        return views.document(explorer, number)

    for topic in range(len(explorer.model.components_)):
        progress.advance()
        yield f"/topics/{topic}", renderer.fragment("topic", view=views.topic(explorer, topic))
    yield "/tags", renderer.fragment("tags", view=_tag_list(explorer, selected["tags"]))
    for number in selected["tags"]:
        progress.advance()
        view = views.tag(explorer, number)
        yield f"/tags/{number}", renderer.fragment("tag", view=view, can_audit=explorer.can_audit)
    if explorer.corpus is not None:
        listed, note = _document_list(explorer, selected["documents"])
        yield "/documents", renderer.fragment("documents", view=listed, note=note)
        with ThreadPool(explorer.model.n_jobs) as workers:  # sampling intervals is most of the work, and uses all cores
            documents = workers.map(describe, selected["documents"])
        for document in documents:
            yield f"/documents/{document.number}", renderer.fragment("document", view=document)
        if explorer.can_audit:
            yield "/audit", renderer.fragment("audit", view=views.audit(explorer), max_rows=MAX_CSV_ROWS)
    has_points = explorer.corpus is not None and len(explorer.corpus) > 0
    points = _json(asdict(views.document_map(explorer, MAX_POINTS))) if has_points else ""
    yield "/map", renderer.fragment("map", view=views.heat_map(explorer), has_points=has_points, points=points)
    if explorer.analyses.hierarchy is not None:
        yield "/hierarchy", renderer.fragment("hierarchy", view=views.hierarchy(explorer))
    if explorer.analyses.times:
        yield "/trends", renderer.fragment("trends", view=views.trends(explorer))
    if explorer.analyses.kinds:
        yield "/effects", renderer.fragment("effects", view=views.effects(explorer))
    yield "/try", renderer.fragment("try_offline")
    if explorer.other is not None:
        yield "/compare", renderer.fragment("compare", view=views.compare(explorer))


def _files(explorer: Explorer) -> Iterator[tuple[str, str]]:
    """The files to download, with their paths: all tables."""
    for table in available_tables(explorer):
        yield f"/{table}.csv", "".join(csv_chunks(table_rows(explorer, table), byte_order_mark=True))
    if explorer.can_audit:
        for table in AUDIT_TABLES:
            rows = islice(audit_rows(explorer, table), MAX_CSV_ROWS)
            yield f"/audit/{table}.csv", "".join(csv_chunks(rows, byte_order_mark=True))


def _select_tags(explorer: Explorer, n: int) -> dict[int, None]:
    """The n most frequent tags, by number."""
    order = np.argsort(-np.asarray(explorer.model.tag_frequencies_), kind="stable")[:n]
    return dict.fromkeys(int(number) for number in order)


def _select_documents(explorer: Explorer, limit: int) -> dict[int, None]:
    """The documents that get a page: first those that other pages link to, then others evenly spaced in the corpus."""
    if explorer.corpus is None:
        return {}
    n = len(explorer.corpus)
    if n <= limit:
        return dict.fromkeys(range(n))
    linked: dict[int, None] = {}
    if explorer.can_audit:
        linked |= dict.fromkeys(row.entry.document_number for row in views.audit(explorer, limit // 4).entries)
    per_topic = max(1, (limit - len(linked)) // (2 * len(explorer.model.components_)))
    for topic in range(len(explorer.model.components_)):
        found = views.topic(explorer, topic, min(20, per_topic)).documents or ()
        linked |= dict.fromkeys(document.number for document in found)
    spread = dict.fromkeys(np.linspace(0, n - 1, limit).astype(int).tolist())
    return dict.fromkeys(sorted(list(linked | spread)[:limit]))


def _tag_list(explorer: Explorer, selected: dict[int, None]) -> TagList:
    found = views.find_tags(explorer, limit=MAX_LISTED_TAGS)
    kept = tuple(tag for tag in found.tags if tag.number in selected)
    return TagList("", None, len(selected), 0, kept)


def _document_list(explorer: Explorer, selected: dict[int, None]) -> tuple[DocumentList, str]:
    corpus = explorer.documents
    found = tuple(
        FoundDocument(corpus.ids[i], i, int(corpus[i : i + 1].lengths()[0]), corpus[i].tags[:6], corpus[i].title)
        for i in selected
    )
    note = ""
    if len(found) < len(corpus):
        note = f"This report contains {len(found):,} of the {len(corpus):,} documents; tagtopic serve shows all."
    return DocumentList("", len(found), 0, found), note


def _search_index(explorer: Explorer, selected: dict[str, dict[int, None]]) -> dict[str, list[tuple[str, int, float]]]:
    """Names, numbers and shares of what the search field finds: topics by their words, tags, and documents."""
    model = explorer.model
    shown = [k for k in range(len(model.components_)) if k not in model.hidden_topics_]
    topics = [(_label(explorer, k), k, round(float(model.topic_shares_[k]), 5)) for k in shown]
    tags = [(model.tag_names_[i], i, round(float(model.tag_frequencies_[i]), 5)) for i in selected["tags"]]
    ids, titles = (() if explorer.corpus is None else explorer.corpus.ids), explorer.titles
    documents = [(f"{ids[i]} {titles[i] if titles else ''}".strip(), i, 0.0) for i in selected["documents"]]
    return {"topics": topics, "tags": tags, "documents": documents}


def _label(explorer: Explorer, topic: int) -> str:
    return " ".join([explorer.model.topic_names_[topic], *explorer.topic_words[topic]]).strip()


def _compress(pages: dict[str, str]) -> str:
    data = json.dumps(pages, ensure_ascii=False).encode()
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def _script() -> str:
    return "".join(static_file(name).decode() for name in ("figures.js", "explorer.js", "report.js"))


def _content_security_policy(style: str, script: str) -> str:
    """Allow this script, this style and images that the script makes, and no requests."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    own = f"script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; img-src blob:"
    return f"default-src 'none'; {own}; base-uri 'none'"


def _json(value: Any) -> str:
    """JSON that cannot close the script element that contains it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
