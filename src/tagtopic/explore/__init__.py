"""The explorer: views of a model and its documents, as pages, as an API, as one file, and as figures in a notebook.

``views`` turns a model (and documents) into plain values; everything else here only shows them.
"""

from tagtopic.explore.explorer import Explorer
from tagtopic.explore.report import ReportLimits, write_report

__all__ = ["Explorer", "ReportLimits", "write_report"]
