"""scikit-learn's own checks of an estimator."""

from typing import Any

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

from tagtopic.models import LDA, TWDA, TWTM


class TaggedTWTM(TWTM):
    """TWTM as scikit-learn's checks can call it: they pass no tags, without which it cannot be fitted."""

    def fit(self, X: Any, y: Any = None, *, tags: Any = None, engine: Any = None, ledger: Any = None) -> "TaggedTWTM":
        n_documents = X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
        return super().fit(X, y, tags=np.ones((n_documents, 1), int), engine=engine)

    def partial_fit(self, X: Any, y: Any = None, *, tags: Any = None) -> "TaggedTWTM":
        n_documents = X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
        return super().partial_fit(X, y, tags=np.ones((n_documents, 1), int))


# no check is expected to fail
@parametrize_with_checks([LDA(2, max_iter=3), TWDA(2, max_iter=3), TaggedTWTM(2, max_iter=3)])
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)
