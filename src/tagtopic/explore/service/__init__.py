"""The explorer as a web service: pages for people, an API for programs, both from the same views."""

from tagtopic.explore.service.app import create_app
from tagtopic.explore.service.limits import Limits

__all__ = ["Limits", "create_app"]
