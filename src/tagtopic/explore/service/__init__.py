"""The explorer as a web service: HTML pages and a JSON API, both from the same views."""

from tagtopic.explore.service.app import create_app
from tagtopic.explore.service.execution import Limits

__all__ = ["Limits", "create_app"]
