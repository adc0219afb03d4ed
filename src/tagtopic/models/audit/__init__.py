"""Tags that are wrong or noise, and tags that may be one."""

from tagtopic.models.audit.report import TagReport, audit

__all__ = ["TagReport", "audit"]
