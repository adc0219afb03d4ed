"""The estimators TWTM, TWDA and LDA.

``_base`` has the estimator class that they share, ``_batch`` and ``_online`` the fits, ``_snapshot`` the schema of
learnt arrays, ``_io`` the model file, ``plotting`` the figures, ``topic_search`` the search for the number of topics.
"""

from tagtopic.models.lda import LDA
from tagtopic.models.twda import TWDA
from tagtopic.models.twtm import TWTM

__all__ = ["LDA", "TWDA", "TWTM"]
