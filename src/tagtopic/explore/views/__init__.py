"""Views of a model as plain values, one module per view.

Each function takes an `Explorer` and returns frozen dataclasses of numbers and strings. The API returns them as JSON;
pages, report and plots draw them.
"""

from tagtopic.explore.views.audit import AuditView, audit
from tagtopic.explore.views.compare import CompareView, compare
from tagtopic.explore.views.document import DocumentView, document, new_document
from tagtopic.explore.views.overview import Overview, overview
from tagtopic.explore.views.search import DocumentList, TagList, find_documents, find_tags
from tagtopic.explore.views.tag import TagView, tag
from tagtopic.explore.views.topic import TopicView, topic

__all__ = [
    "AuditView",
    "CompareView",
    "DocumentList",
    "DocumentView",
    "Overview",
    "TagList",
    "TagView",
    "TopicView",
    "audit",
    "compare",
    "document",
    "find_documents",
    "find_tags",
    "new_document",
    "overview",
    "tag",
    "topic",
]
