"""The models that the paper compares with, behind one interface.

``fit(corpus)``, ``components_``, ``words_``, ``transform(corpus)``, ``tag_scores(corpus)``; ``evaluation.perplexity``
takes them as it takes our own. tomotopy and gensim come with ``pip install 'tagtopic[baselines]'``.

The names below are imported when first used: the processes in which foreign libraries run need none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagtopic.baselines.author_topic import AuthorTopic
    from tagtopic.baselines.base import Baseline, BaselineError, TopicBaseline
    from tagtopic.baselines.corr_lda import CorrLDA
    from tagtopic.baselines.ctm import CTM
    from tagtopic.baselines.dmr import DMR
    from tagtopic.baselines.labeled import PLDA, LabeledLDA
    from tagtopic.baselines.lda import LDA
    from tagtopic.baselines.tfidf import TfidfCentroid, TfidfSVM

_HOMES = {
    "AuthorTopic": "author_topic",
    "Baseline": "base",
    "BaselineError": "base",
    "CTM": "ctm",
    "CorrLDA": "corr_lda",
    "DMR": "dmr",
    "LDA": "lda",
    "LabeledLDA": "labeled",
    "PLDA": "labeled",
    "TfidfCentroid": "tfidf",
    "TfidfSVM": "tfidf",
    "TopicBaseline": "base",
}

__all__ = [
    "CTM",
    "DMR",
    "LDA",
    "PLDA",
    "AuthorTopic",
    "Baseline",
    "BaselineError",
    "CorrLDA",
    "LabeledLDA",
    "TfidfCentroid",
    "TfidfSVM",
    "TopicBaseline",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tagtopic.baselines' has no attribute {name!r}")
    return getattr(import_module(f"tagtopic.baselines.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
