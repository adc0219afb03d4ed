"""How many topics? Fit each number on the same training part, measure all on the same held-out part, and recommend.

Everything that is finished is in a folder, one small file a number of topics, so that a search which was stopped goes
on where it was; the fit under way has a checkpoint there too.

A bar for a search, when a person is watching.

The folder of a search: which search it is, and what of it is finished. Files appear whole or not at all.

What a search for the number of topics found: a table, a recommendation, a picture.
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
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from tagtopic._core.display import BAR, ELAPSED, progress_bar, shows_progress
from tagtopic._core.files import write_text
from tagtopic._core.optional import is_installed, require
from tagtopic.corpus import Corpus
from tagtopic.evaluation import coherence, diversity, exclusivity, perplexity
from tagtopic.models._checkpoint import NOT_PART_OF_A_RUN, described

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus


@dataclass(frozen=True)
class Teller:
    """Who hears which number of topics is begun, which iteration is done, and what came out."""

    start: Callable[[int], object]
    iteration: Callable[[int, float, float], object]
    done: Callable[[TopicCount], object]


@contextmanager
def watched(numbers: Sequence[int], progress: bool | None) -> Iterator[Teller]:
    """A bar on standard error; None: only if that is a terminal. Its length is in topics: these cost the time."""
    if not shows_progress(progress):
        yield Teller(lambda number: None, lambda iteration, bound, seconds: None, lambda cell: None)
        return
    with progress_bar("{task.description}", BAR, ELAPSED, "{task.fields[last]}") as bar:
        task = bar.add_task("searching", total=sum(numbers), last="")

        def start(number: int) -> None:
            bar.update(task, description=f"{number} topics")

        def iteration(number: int, bound: float, seconds: float) -> None:
            bar.update(task, last=f"iteration {number}")

        def done(cell: TopicCount) -> None:
            bar.update(task, advance=cell.topics, last=f"{cell.topics} topics: perplexity {cell.perplexity:,.0f}")

        yield Teller(start, iteration, done)


MARKER = "search.json"
FORMAT = "tagtopic search"

ASKED = "coherence asked for"

WHERE_A_FIT_ENDS = ("max_iter", "patience")
"""No part of a run, which may be resumed with others, but part of a search: its figures are those of ends."""


@dataclass(frozen=True)
class SearchFolder:
    """Where a search keeps what is finished."""

    path: Path

    @classmethod
    def of(cls, path: Path, estimator: Any, train: Corpus, test: Corpus, seed: int) -> SearchFolder:
        """The folder of this search, made if it is not there; an error if it is another search's, or not one's."""
        settings = {
            name: described(value)
            for name, value in sorted(estimator.get_params().items())
            if (name not in NOT_PART_OF_A_RUN or name in WHERE_A_FIT_ENDS) and name != "n_topics"
        }
        content = [type(estimator).__name__, settings, train.fingerprint(), test.fingerprint(), described(seed)]
        key = hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()
        if path.exists() and not path.is_dir():
            raise FileExistsError(f"{path} is a file; a search needs a folder to keep what is finished")
        path.mkdir(parents=True, exist_ok=True)
        _claim(path, key)
        return cls(path)

    def finished(self, number: int, *, coherence: bool) -> TopicCount | None:
        """The figures of a number of topics, if they are there, with coherence if that is asked for."""
        file = self._file(number)
        if not file.exists():
            return None
        try:
            kept = json.loads(file.read_bytes())
            measured = kept.pop(ASKED, kept["coherence"] is not None)
            cell = TopicCount(**kept)
        except (ValueError, TypeError, LookupError, AttributeError):
            raise ValueError(f"{file} is damaged; remove it, and the search makes it again") from None
        return cell if measured or not coherence else None

    def keep(self, cell: TopicCount, *, coherence: bool) -> None:
        """Write down the figures of one number of topics, and whether coherence was asked for: it may not be finite."""
        _write(self._file(cell.topics), asdict(cell) | {ASKED: coherence})
        self.checkpoint(cell.topics).unlink(missing_ok=True)

    def checkpoint(self, number: int) -> Path:
        """The checkpoint of the fit under way."""
        return self.path / f"topics-{number}.checkpoint"

    def _file(self, number: int) -> Path:
        return self.path / f"topics-{number}.json"


def _claim(path: Path, key: str) -> None:
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
class TopicCount:
    """One number of topics: its figures on held-out documents, and of its topics.

    ``perplexity`` by document completion, lower is better; ``coherence`` c_npmi (None if it was not measured),
    ``diversity`` and ``exclusivity``, higher is better; how many ``iterations`` and ``seconds`` the fit took.
    """

    topics: int
    perplexity: float
    coherence: float | None
    diversity: float
    exclusivity: float
    iterations: int
    seconds: float


@dataclass(frozen=True)
class TopicSearch:
    """The numbers of topics that were tried, fewest first; ``within`` is part of the rule of ``recommended``.

    Examples
    --------
    >>> from tagtopic.models.search import TopicCount, TopicSearch
    >>> figures = {"coherence": None, "diversity": 0.9, "exclusivity": 0.8, "iterations": 50, "seconds": 2.0}
    >>> cells = [TopicCount(n, perplexity, **figures) for n, perplexity in ((20, 640.0), (50, 602.0), (100, 600.0))]
    >>> TopicSearch(tuple(cells), within=0.01).recommended
    50
    """

    cells: tuple[TopicCount, ...]
    within: float

    @property
    def recommended(self) -> int:
        """The smallest number of topics whose held-out perplexity is at most ``within`` (1%) above the lowest.

        More topics than that cost time and a reader's patience, and gain next to nothing.
        """
        lowest = min(cell.perplexity for cell in self.cells)
        return next(cell.topics for cell in self.cells if cell.perplexity <= lowest * (1 + self.within))

    @property
    def table(self) -> Any:
        """The figures as an Arrow table, one row a number of topics; ``.to_pandas()`` makes it a data frame."""
        import pyarrow as pa

        columns = {field.name: [getattr(cell, field.name) for cell in self.cells] for field in fields(TopicCount)}
        return pa.table({**columns, "coherence": pa.array(columns["coherence"], pa.float64())})

    def records(self) -> list[dict[str, Any]]:
        """The figures as plain records, each saying whether it is the recommended one."""
        return [{**asdict(cell), "recommended": cell.topics == self.recommended} for cell in self.cells]

    def __str__(self) -> str:
        lines = ["topics  perplexity  coherence  diversity  exclusivity  seconds"]
        for cell in self.cells:
            value = "-" if cell.coherence is None else f"{cell.coherence:.3f}"
            mark = "  <- recommended" if cell.topics == self.recommended else ""
            lines.append(
                f"{cell.topics:6d}  {cell.perplexity:10.1f}  {value:>9}  {cell.diversity:9.3f}  "
                f"{cell.exclusivity:11.3f}  {cell.seconds:7.1f}{mark}"
            )
        return "\n".join(lines)

    def plot(self) -> Any:
        """The figures against the number of topics, the recommended one marked: a matplotlib Figure.

        ``search.plot().savefig("topics.png")`` writes it. Needs matplotlib (``pip install 'tagtopic[experiments]'``).
        """
        require("matplotlib", extra="experiments", purpose="plot")
        from matplotlib.figure import Figure

        panels = ["perplexity", "coherence", "diversity", "exclusivity"]
        panels = [name for name in panels if any(getattr(cell, name) is not None for cell in self.cells)]
        figure = Figure(figsize=(3.2 * len(panels), 3), layout="constrained")
        topics = [cell.topics for cell in self.cells]
        for axes, name in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            values = [float("nan") if (v := getattr(cell, name)) is None else v for cell in self.cells]
            axes.plot(topics, values, marker="o", color="#1f5fa8")
            axes.axvline(self.recommended, color="#c0392b", linestyle=":", linewidth=1)
            axes.set(title=f"held-out {name}" if name == "perplexity" else name, xlabel="topics")
            axes.spines[["top", "right"]].set_visible(False)
        return figure


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
