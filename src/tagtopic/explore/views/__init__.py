"""Views of a model as plain values, one module per view.

Each function takes an `Explorer` and returns frozen dataclasses of numbers and strings. The API returns them as JSON;
pages, report and plots draw them.
"""

from tagtopic.explore.views.analysis import (
    ContrastView,
    EffectsView,
    HierarchyView,
    TrendsView,
    contrast,
    effects,
    hierarchy,
    trends,
)
from tagtopic.explore.views.audit import AuditView, audit
from tagtopic.explore.views.compare import CompareView, compare
from tagtopic.explore.views.document import DocumentView, document, new_document, similar_documents
from tagtopic.explore.views.map import DocumentMap, HeatMap, document_map, documents_with_tag, heat_map
from tagtopic.explore.views.overview import Overview, overview
from tagtopic.explore.views.review import ReviewView, review
from tagtopic.explore.views.search import DocumentList, Found, TagList, find, find_documents, find_tags
from tagtopic.explore.views.tag import TagView, tag
from tagtopic.explore.views.topic import TopicView, topic

__all__ = [
    "AuditView",
    "CompareView",
    "ContrastView",
    "DocumentList",
    "DocumentMap",
    "DocumentView",
    "EffectsView",
    "Found",
    "HeatMap",
    "HierarchyView",
    "Overview",
    "ReviewView",
    "TagList",
    "TagView",
    "TopicView",
    "TrendsView",
    "audit",
    "compare",
    "contrast",
    "document",
    "document_map",
    "documents_with_tag",
    "effects",
    "find",
    "find_documents",
    "find_tags",
    "heat_map",
    "hierarchy",
    "new_document",
    "overview",
    "review",
    "similar_documents",
    "tag",
    "topic",
    "trends",
]
