"""The models that the paper compares with, behind one interface.

All have ``fit(corpus)``, ``words_`` and ``tag_scores(corpus)``; topic models also have ``components_`` and
``transform(corpus)``, and ``evaluation.perplexity`` accepts them like tagtopic's own models. tomotopy and gensim are
installed by ``pip install 'tagtopic[baselines]'``.

Modules are imported on first use: the child processes that run external libraries need none of them.
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
    from tagtopic.baselines.labeled_lda import PLDA, LabeledLDA
    from tagtopic.baselines.lda import LDA
    from tagtopic.baselines.tfidf import TfidfCentroid, TfidfSVM

_MODULES = {
    "AuthorTopic": "author_topic",
    "Baseline": "base",
    "BaselineError": "base",
    "CTM": "ctm",
    "CorrLDA": "corr_lda",
    "DMR": "dmr",
    "LDA": "lda",
    "LabeledLDA": "labeled_lda",
    "PLDA": "labeled_lda",
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
    if name not in _MODULES:
        raise AttributeError(f"module 'tagtopic.baselines' has no attribute {name!r}")
    return getattr(import_module(f"tagtopic.baselines.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
