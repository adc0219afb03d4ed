"""A progress bar when a person is watching."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tagtopic.bars import BAR, COUNT, GONE, LEFT, is_watched, new_bar
from tagtopic.models.em import Callback, Fit


@contextmanager
def watched(fit: Fit, progress: bool | None) -> Iterator[list[Callback]]:
    """Callbacks that draw a bar on standard error; none unless ``progress`` is true, or None with a terminal there."""
    if not is_watched(progress):
        yield []
        return
    with new_bar("fitting", BAR, COUNT, GONE, LEFT, "{task.fields[news]}") as bar:
        task = bar.add_task("fit", total=fit.settings.max_iter, completed=len(fit.history.bound), news="")

        def show(iteration: int, bound: float, seconds: float) -> None:
            bar.update(task, completed=iteration, news=news(fit))

        yield [show]


def news(fit: Fit) -> str:
    """How the fit stands, in a few words."""
    history = fit.history
    words = [f"bound {history.bound[-1]:,.0f}"]
    if history.perplexity:
        words.append(f"held-out perplexity {history.perplexity[-1]:,.1f}")
        if history.waited():
            words.append(f"(best {min(history.perplexity):,.1f}, {history.waited()} ago)")
    last = history.seconds[-1] - (history.seconds[-2] if len(history.seconds) > 1 else 0.0)
    words.append(f"{fit.n_documents / max(last, 1e-9):,.0f} documents/s")
    if (memory := resident_bytes()) is not None:
        words.append(f"{memory / 1e6:,.0f} MB")
    return " ".join(words)


def resident_bytes() -> int | None:
    """Memory of this process that is in use now; None where the system does not tell (it does on Linux)."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * mmap.PAGESIZE
