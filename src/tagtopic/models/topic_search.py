"""Search for the number of topics: fit each on the same training part and compare them on the same held-out part.

A search can keep its results in a folder, one small file per number of topics, so that an interrupted search resumes;
the fit under way has a checkpoint there. Files are written atomically.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tagtopic._core.display import BAR, ELAPSED, progress_display
from tagtopic._core.estimator import clone
from tagtopic._core.files import write_text
from tagtopic._core.frames import Tabular
from tagtopic._core.optional import is_installed, require
from tagtopic.corpus import Corpus
from tagtopic.evaluation import coherence as coherence_of
from tagtopic.evaluation import diversity, exclusivity, perplexity
from tagtopic.models._checkpoint import CHANGEABLE_SETTINGS, canonical_text

DEFAULT_NUMBERS = (20, 50, 100, 200)

MARKER = "search.json"
FORMAT = "tagtopic search"

COHERENCE_REQUESTED = "coherence asked for"
"""Key of a result file: whether coherence was requested, as it may not be finite."""

STOPPING_SETTINGS = ("max_iter", "patience")
"""A fit may be resumed with other values of these, but they are part of a search, which compares finished fits."""


@dataclass(frozen=True)
class TopicCount:
    """The measures of one number of topics.

    Attributes
    ----------
    topics : int
        The number of topics.
    perplexity : float
        Perplexity of held-out documents by document completion; lower is better.
    coherence : float or None
        Coherence c_npmi of the topics, higher is better; None if it was not computed or is not finite.
    diversity, exclusivity : float
        Diversity and exclusivity of the topics; higher is better.
    iterations : int
        Iterations of the fit.
    seconds : float
        Seconds of the fit.
    """

    topics: int
    perplexity: float
    coherence: float | None
    diversity: float
    exclusivity: float
    iterations: int
    seconds: float


@dataclass(frozen=True)
class TopicSearch(Tabular):
    """The result of ``search_topics``; ``print`` it for a table. As a data frame, a row per number of topics.

    Attributes
    ----------
    results : tuple of TopicCount
        The measures of each number of topics, fewest first.
    within : float
        How far above the lowest perplexity the recommended number may be, as a share of it.

    Examples
    --------
    >>> from tagtopic.models.topic_search import TopicCount, TopicSearch
    >>> measures = {"coherence": None, "diversity": 0.9, "exclusivity": 0.8, "iterations": 50, "seconds": 2.0}
    >>> results = [TopicCount(n, value, **measures) for n, value in ((20, 640.0), (50, 602.0), (100, 600.0))]
    >>> TopicSearch(tuple(results), within=0.01).recommended
    50
    """

    results: tuple[TopicCount, ...]
    within: float

    @property
    def recommended(self) -> int:
        """The smallest number of topics whose held-out perplexity is at most ``within`` above the lowest.

        More topics take longer to compute and to read, and improve perplexity hardly at all.
        """
        lowest = min(result.perplexity for result in self.results)
        return next(result.topics for result in self.results if result.perplexity <= lowest * (1 + self.within))

    @property
    def advice(self) -> str:
        """What the results leave open: whether more or fewer topics than were tried may be better; "" if nothing."""
        numbers = [result.topics for result in self.results]
        best = min(self.results, key=lambda result: result.perplexity).topics
        if len(numbers) > 1 and best == numbers[-1]:
            return f"the perplexity is lowest with the largest number tried, {best} topics: try more"
        if len(numbers) > 1 and best == numbers[0]:
            return f"the perplexity is lowest with the smallest number tried, {best} topics: try fewer"
        return ""

    @property
    def table(self) -> Any:
        """The results as an Arrow table, one row per number of topics; ``.to_pandas()`` converts it."""
        import pyarrow as pa

        columns = {field.name: [getattr(result, field.name) for result in self.results] for field in fields(TopicCount)}
        return pa.table({**columns, "coherence": pa.array(columns["coherence"], pa.float64())})

    def _arrow_table(self, most: int | None = None) -> Any:
        return self.table

    def records(self) -> list[dict[str, Any]]:
        """Return the results as dictionaries, each with a key ``recommended``."""
        return [{**asdict(result), "recommended": result.topics == self.recommended} for result in self.results]

    def __str__(self) -> str:
        lines = ["topics  perplexity  coherence  diversity  exclusivity  seconds"]
        for result in self.results:
            value = "-" if result.coherence is None else f"{result.coherence:.3f}"
            mark = "  <- recommended" if result.topics == self.recommended else ""
            lines.append(
                f"{result.topics:6d}  {result.perplexity:10.1f}  {value:>9}  {result.diversity:9.3f}  "
                f"{result.exclusivity:11.3f}  {result.seconds:7.1f}{mark}"
            )
        return "\n".join([*lines, *([self.advice] if self.advice else [])])

    def plot(self) -> Any:
        """Plot the measures against the number of topics, with the recommended number marked.

        ``search.plot().savefig("topics.png")`` writes it to a file.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed (``pip install 'tagtopic[experiments]'``).
        """
        require("matplotlib", extra="experiments", purpose="plot")
        from matplotlib.figure import Figure

        panels = ["perplexity", "coherence", "diversity", "exclusivity"]
        panels = [name for name in panels if any(getattr(result, name) is not None for result in self.results)]
        figure = Figure(figsize=(3.2 * len(panels), 3), layout="constrained")
        topics = [result.topics for result in self.results]
        for axes, name in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            values = [float("nan") if (v := getattr(result, name)) is None else v for result in self.results]
            axes.plot(topics, values, marker="o", color="#1f5fa8")
            axes.axvline(self.recommended, color="#c0392b", linestyle=":", linewidth=1)
            axes.set(title=f"held-out {name}" if name == "perplexity" else name, xlabel="topics")
            axes.spines[["top", "right"]].set_visible(False)
        return figure


def search_topics(
    corpus: Corpus,
    n_topics: Sequence[int] = DEFAULT_NUMBERS,
    *,
    model: Any = None,
    test_size: float | int = 0.2,
    groups: Any = None,
    random_state: int = 0,
    coherence: bool | None = None,
    within: float = 0.01,
    output: str | PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> TopicSearch:
    """Fit a model with each number of topics and compare them on held-out documents.

    Parameters
    ----------
    corpus : Corpus
        The documents, a part of which is held out.
    n_topics : sequence of int, default=(20, 50, 100, 200)
        The numbers of topics to try.
    model : estimator, optional
        An estimator whose other settings are used; by default ``TWDA(random_state=random_state, n_jobs=n_jobs)``.
    test_size : float or int, default=0.2
        The share or number of documents that are held out.
    groups : sequence, optional
        One label per document; documents of a group are not separated by the split.
    random_state : int, default=0
        Seed of the split and of the tokens that are scored.
    coherence : bool, optional
        Whether to compute coherence, which needs gensim; by default if that is installed.
    within : float, default=0.01
        How far above the lowest perplexity the recommended number of topics may be, as a share of it.
    output : path, optional
        A folder for the results. A search of the same corpus with the same settings resumes from it.
    n_jobs : int, optional
        Threads; by default those of the model. The result does not depend on it.
    progress : bool, optional
        Whether to show a progress bar; by default if standard error is a terminal.

    Returns
    -------
    TopicSearch
        ``table`` (topics, held-out perplexity, coherence, diversity, exclusivity, iterations, seconds), ``recommended``
        (the smallest number whose perplexity is at most ``within`` above the lowest), ``plot()``.

    Raises
    ------
    ValueError
        If a number is not a positive integer, or ``output`` has another search.
    FileExistsError
        If ``output`` is a file, or a folder with other content.

    Examples
    --------
    >>> from tagtopic import search_topics
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> corpus = make_tagged_corpus(n_documents=300, n_topics=4, n_tags=12, random_state=0).corpus
    >>> search_topics(corpus, [1, 4], coherence=False).recommended
    4
    """
    numbers = _checked_numbers(n_topics)
    if coherence:
        require("gensim", extra="baselines", purpose="coherence")
    if not within >= 0:
        raise ValueError(f"within={within!r}: expected a number from 0, such as 0.01")
    with_coherence = is_installed("gensim") if coherence is None else coherence
    train, test = corpus.split(test_size, random_state, groups=groups)
    split = _Split(train, test, with_coherence, random_state)
    estimator = _estimator(model, random_state, n_jobs)
    folder = None if output is None else _SearchFolder.open(Path(output), estimator, split)
    results = []
    with _progress(numbers, progress) as report:
        for number in numbers:
            report.start(number)
            results.append(_fit_and_measure(number, estimator, split, folder, report.iteration))
            report.done(results[-1])
    return TopicSearch(tuple(results), within)


@dataclass(frozen=True)
class _Split:
    """Training and held-out documents, whether coherence is computed, and the seed."""

    train: Corpus
    test: Corpus
    coherence: bool
    seed: int


def _fit_and_measure(
    number: int, estimator: Any, split: _Split, folder: _SearchFolder | None, callback: Any
) -> TopicCount:
    """Return the measures of one number of topics, from the folder if they are there."""
    found = folder.load(number, coherence=split.coherence) if folder else None
    if found is not None:
        return found
    reported = [0.0]
    callbacks = [*estimator.callbacks, callback, lambda iteration, bound, seconds: reported.append(seconds)]
    settings = {"n_topics": number, "progress": False, "callbacks": callbacks}
    if folder:
        settings["checkpoint"] = folder.checkpoint(number)
    started = time.perf_counter()
    fitted = clone(estimator).set_params(**settings).fit(split.train)
    if fitted.interrupted_:
        raise KeyboardInterrupt  # Ctrl-C ends a fit early, and its measures must not be compared with those of others
    seconds = max(time.perf_counter() - started, reported[-1])  # the latter include those before a resume
    result = TopicCount(
        topics=number,
        perplexity=perplexity(fitted, split.test, random_state=split.seed).value,
        coherence=_finite(coherence_of(fitted, split.train).mean) if split.coherence else None,
        diversity=diversity(fitted.components_),
        exclusivity=exclusivity(fitted.components_),
        iterations=int(fitted.n_iter_),
        seconds=seconds,
    )
    if folder:
        folder.save(result, coherence=split.coherence)
    return result


def _checked_numbers(n_topics: Sequence[Any]) -> list[int]:
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


@dataclass(frozen=True)
class _SearchFolder:
    """The results of a search on disk, and the checkpoint of the fit under way."""

    path: Path

    @classmethod
    def open(cls, path: Path, estimator: Any, split: _Split) -> _SearchFolder:
        """Open the folder of this search, or create it; raise if it belongs to something else."""
        settings = {
            name: canonical_text(value)
            for name, value in sorted(estimator.get_params().items())
            if (name not in CHANGEABLE_SETTINGS or name in STOPPING_SETTINGS) and name != "n_topics"
        }
        parts = [split.train.fingerprint(), split.test.fingerprint(), canonical_text(split.seed)]
        content = json.dumps([type(estimator).__name__, settings, *parts])
        key = hashlib.blake2b(content.encode(), digest_size=16).hexdigest()
        if path.exists() and not path.is_dir():
            raise FileExistsError(f"{path} is a file; a search needs a folder to keep what is finished")
        path.mkdir(parents=True, exist_ok=True)
        _claim(path, key)
        return cls(path)

    def load(self, number: int, *, coherence: bool) -> TopicCount | None:
        """Return the result of a number of topics, or None if there is none or it lacks the coherence requested."""
        file = self._file(number)
        if not file.exists():
            return None
        try:
            content = json.loads(file.read_bytes())
            has_coherence = content.pop(COHERENCE_REQUESTED, content["coherence"] is not None)
            result = TopicCount(**content)
        except (ValueError, TypeError, LookupError, AttributeError):
            raise ValueError(f"{file} is damaged; remove it, and the search makes it again") from None
        return result if has_coherence or not coherence else None

    def save(self, result: TopicCount, *, coherence: bool) -> None:
        """Write a result, and remove the checkpoint of its fit."""
        _write(self._file(result.topics), asdict(result) | {COHERENCE_REQUESTED: coherence})
        self.checkpoint(result.topics).unlink(missing_ok=True)

    def checkpoint(self, number: int) -> Path:
        """Return the path of the checkpoint of a fit."""
        return self.path / f"topics-{number}.checkpoint"

    def _file(self, number: int) -> Path:
        return self.path / f"topics-{number}.json"


def _claim(path: Path, key: str) -> None:
    """Mark a new folder with the key of the search, or check that of an existing one."""
    marker = path / MARKER
    if not marker.exists():
        if any(path.iterdir()):
            raise FileExistsError(f"{path} is a folder with other things in it; choose another name or remove it")
        _write(marker, {"format": FORMAT, "search": key})
        return
    try:
        about = json.loads(marker.read_bytes())
    except ValueError:
        about = None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError(f"{marker} is damaged or not a search's; choose another folder")
    if about.get("search") != key:
        raise ValueError(
            f"{path} holds another search (another corpus, split or other settings): choose another folder"
        )


def _write(path: Path, content: dict[str, Any]) -> None:
    write_text(path, json.dumps(content, indent=2))


@dataclass(frozen=True)
class _SearchProgress:
    """Callbacks: a number of topics is started, an iteration is finished, a number of topics is finished."""

    start: Callable[[int], object]
    iteration: Callable[[int, float, float], object]
    done: Callable[[TopicCount], object]


@contextmanager
def _progress(numbers: Sequence[int], progress: bool | None) -> Iterator[_SearchProgress]:
    """Show a progress bar on standard error; its length is in topics, to which the time is proportional."""
    with progress_display(progress, "{task.description}", BAR, ELAPSED, "{task.fields[last]}") as bar:
        if bar is None:
            yield _SearchProgress(lambda number: None, lambda iteration, bound, seconds: None, lambda result: None)
            return
        task = bar.add_task("searching", total=sum(numbers), last="")

        def start(number: int) -> None:
            bar.update(task, description=f"{number} topics")

        def iteration(number: int, bound: float, seconds: float) -> None:
            bar.update(task, last=f"iteration {number}")

        def done(result: TopicCount) -> None:
            bar.update(task, advance=result.topics, last=f"{result.topics} topics: perplexity {result.perplexity:,.0f}")

        yield _SearchProgress(start, iteration, done)
