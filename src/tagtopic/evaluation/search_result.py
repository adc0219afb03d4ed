"""What a search for the number of topics found: a table, a recommendation, a picture."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from tagtopic.optional import require


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
    >>> from tagtopic.evaluation.search_result import TopicCount, TopicSearch
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
