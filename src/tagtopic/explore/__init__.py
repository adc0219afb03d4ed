"""The explorer: views of a model and its documents as web pages, JSON API, self-contained report and plots.

``views`` computes plain values from a model and documents; the other modules present them.
"""

from tagtopic.explore.explorer import Explorer
from tagtopic.explore.report import ReportLimits, write_report

__all__ = ["Explorer", "ReportLimits", "write_report"]
