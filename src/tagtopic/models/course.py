"""How a fit went: its curves, the iteration that was kept, and why it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted


class Course:
    """What a fitted model tells of its fit."""

    if TYPE_CHECKING:
        patience: int
        n_iter_: int
        bound_: NDArray[np.float64]
        validation_perplexity_: NDArray[np.float64]

    @property
    def history_(self) -> dict[str, NDArray[np.float64]]:
        """The curves by iteration: ``"bound"`` and, if words were held out, their ``"perplexity"``.

        Examples
        --------
        >>> len(model.history_["bound"]) == model.n_iter_
        True
        """
        check_is_fitted(self)
        watched = {"perplexity": self.validation_perplexity_} if len(self.validation_perplexity_) else {}
        return {"bound": self.bound_, **watched}

    @property
    def best_iteration_(self) -> int:
        """The iteration (from 1) whose parameters were kept: the last, or the best on held-out words.

        Examples
        --------
        >>> model.best_iteration_ == model.n_iter_  # no words were held out
        True
        """
        check_is_fitted(self)
        watched = self.validation_perplexity_
        return int(np.argmin(watched)) + 1 if len(watched) else self.n_iter_

    @property
    def stopped_early_(self) -> bool:
        """Whether the fit ended because held-out words were not predicted any better.

        Examples
        --------
        >>> model.stopped_early_
        False
        """
        return self.n_iter_ - self.best_iteration_ >= self.patience
