"""tagtopic: topic models for documents that carry text and tags."""

from tagtopic._version import __version__

__all__ = ["__version__"]
