"""How many topics? Fit each number on the same training part, measure all on the same held-out part, and recommend.

Everything that is finished is in a folder, one small file a number of topics, so that a search which was stopped goes
on where it was; the fit under way has a checkpoint there too.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from tagtopic.corpus import Corpus
from tagtopic.evaluation.coherence import coherence
from tagtopic.evaluation.perplexity import perplexity
from tagtopic.evaluation.search_folder import SearchFolder
from tagtopic.evaluation.search_progress import watched
from tagtopic.evaluation.search_result import TopicCount, TopicSearch
from tagtopic.evaluation.topics import diversity, exclusivity
from tagtopic.optional import is_installed, require

NUMBERS = (20, 50, 100, 200)
WITHIN = 0.01


@dataclass(frozen=True)
class Measures:
    """What is measured of each fit, and on what."""

    train: Corpus
    test: Corpus
    coherence: bool
    seed: int


def search_topics(
    corpus: Corpus,
    n_topics: Sequence[int] = NUMBERS,
    *,
    model: Any = None,
    test_size: float | int = 0.2,
    groups: Any = None,
    random_state: int = 0,
    coherence: bool | None = None,
    within: float = WITHIN,
    output: str | PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> TopicSearch:
    """Fit a model with each number of topics and compare them on held-out documents.

    Parameters
    ----------
    corpus, groups:
        The documents. A part of them is held out; with ``groups``, one label a document, groups stay together.
    n_topics:
        The numbers of topics to try.
    model:
        An estimator (TWDA, TWTM or LDA) whose other settings are used as they are; by default
        ``TWDA(random_state=random_state, n_jobs=n_jobs)``.
    n_jobs:
        Threads; None: as the model says. The result is the same for any number.
    test_size, random_state:
        The share or number of documents held out, and the seed of the split and of the words that are scored.
    coherence:
        Whether c_npmi is measured, which needs gensim; None: if that is installed.
    within:
        How far above the lowest perplexity the recommended number of topics may be, as a share of it.
    output:
        A folder for what is finished. A search of the same corpus and settings goes on from what is there.
    progress:
        Whether a bar is shown; None: if standard error is a terminal.

    Returns
    -------
    TopicSearch
        ``table`` (topics, held-out perplexity, coherence, diversity, exclusivity, iterations, seconds), ``recommended``
        (the smallest number whose perplexity is at most ``within`` above the lowest), ``plot()``.

    Examples
    --------
    >>> from tagtopic import search_topics
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> corpus = make_tagged_corpus(n_documents=300, n_topics=4, n_tags=12, random_state=0).corpus
    >>> search_topics(corpus, [1, 4], coherence=False).recommended
    4
    """
    numbers = _checked(n_topics)
    if coherence:
        require("gensim", extra="baselines", purpose="coherence")
    if not within >= 0:
        raise ValueError(f"within={within!r}: expected a number from 0, such as 0.01")
    asks_coherence = is_installed("gensim") if coherence is None else coherence
    train, test = corpus.split(test_size, random_state, groups=groups)
    measures = Measures(train, test, asks_coherence, random_state)
    estimator = _estimator(model, random_state, n_jobs)
    folder = None if output is None else SearchFolder.of(Path(output), estimator, train, test, random_state)
    cells = []
    with watched(numbers, progress) as tell:
        for number in numbers:
            tell.start(number)
            cells.append(_cell(number, estimator, measures, folder, tell.iteration))
            tell.done(cells[-1])
    return TopicSearch(tuple(cells), within)


def _cell(number: int, estimator: Any, measures: Measures, folder: SearchFolder | None, callback: Any) -> TopicCount:
    found = folder.finished(number, coherence=measures.coherence) if folder else None
    if found is not None:
        return found
    heard = [0.0]
    callbacks = [*estimator.callbacks, callback, lambda iteration, bound, seconds: heard.append(seconds)]
    settings = {"n_topics": number, "progress": False, "callbacks": callbacks}
    if folder:
        settings["checkpoint"] = folder.checkpoint(number)
    started = time.perf_counter()
    fitted = clone(estimator).set_params(**settings).fit(measures.train)
    if fitted.interrupted_:
        raise KeyboardInterrupt  # Ctrl-C ends a fit, but the figures of a fit cut short would be compared with others
    seconds = max(time.perf_counter() - started, heard[-1])  # the second counts from before a resume
    cell = TopicCount(
        topics=number,
        perplexity=perplexity(fitted, measures.test, random_state=measures.seed).value,
        coherence=_finite(coherence(fitted, measures.train).mean) if measures.coherence else None,
        diversity=diversity(fitted.components_),
        exclusivity=exclusivity(fitted.components_),
        iterations=int(fitted.n_iter_),
        seconds=seconds,
    )
    if folder:
        folder.keep(cell, coherence=measures.coherence)
    return cell


def _checked(n_topics: Sequence[Any]) -> list[int]:
    numbers = sorted(set(n_topics))
    if not numbers:
        raise ValueError("n_topics is empty: give the numbers of topics to try, such as [20, 50, 100]")
    for number in numbers:
        if not isinstance(number, int | np.integer) or number < 1:
            raise ValueError(f"n_topics has {number!r}: expected whole numbers from 1")
    return [int(number) for number in numbers]


def _estimator(model: Any, random_state: int, n_jobs: int | None) -> Any:
    from tagtopic.models import TWDA

    if model is None:
        return TWDA(random_state=random_state, n_jobs=n_jobs)
    if isinstance(model, type) or not hasattr(model, "n_topics"):
        raise TypeError(f"model is {model!r}: expected an estimator such as TWDA(random_state=0)")
    return model if n_jobs is None else clone(model).set_params(n_jobs=n_jobs)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
