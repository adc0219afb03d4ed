"""The estimators: parameters, the EM loop, transform, weights, the model file."""

from tagtopic.models.lda import LDA
from tagtopic.models.twda import TWDA
from tagtopic.models.twtm import TWTM

__all__ = ["LDA", "TWDA", "TWTM"]
