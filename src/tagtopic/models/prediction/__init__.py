"""Tags for documents that have few or none: what remembered documents say, mixed and calibrated."""

from tagtopic.models.prediction.predictor import TagPredictor

__all__ = ["TagPredictor"]
