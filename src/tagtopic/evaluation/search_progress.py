"""A bar for a search, when a person is watching."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tagtopic.bars import BAR, GONE, is_watched, new_bar
from tagtopic.evaluation.search_result import TopicCount


@dataclass(frozen=True)
class Teller:
    """Who hears which number of topics is begun, which iteration is done, and what came out."""

    start: Callable[[int], object]
    iteration: Callable[[int, float, float], object]
    done: Callable[[TopicCount], object]


@contextmanager
def watched(numbers: Sequence[int], progress: bool | None) -> Iterator[Teller]:
    """A bar on standard error; None: only if that is a terminal. Its length is in topics: these cost the time."""
    if not is_watched(progress):
        yield Teller(lambda number: None, lambda iteration, bound, seconds: None, lambda cell: None)
        return
    with new_bar("{task.description}", BAR, GONE, "{task.fields[last]}") as bar:
        task = bar.add_task("searching", total=sum(numbers), last="")

        def start(number: int) -> None:
            bar.update(task, description=f"{number} topics")

        def iteration(number: int, bound: float, seconds: float) -> None:
            bar.update(task, last=f"iteration {number}")

        def done(cell: TopicCount) -> None:
            bar.update(task, advance=cell.topics, last=f"{cell.topics} topics: perplexity {cell.perplexity:,.0f}")

        yield Teller(start, iteration, done)
