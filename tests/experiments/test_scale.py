"""The plot of the time experiment, whichever of its cells are there."""

from typing import Any

import pytest
from matplotlib.figure import Figure

from tagtopic.corpus import Corpus
from tagtopic.experiments import Plan, planted
from tagtopic.experiments.scale import EXPERIMENT
from tagtopic.models import TWTM


def row(model: str, topics: int = 5, ratio: float = 1.0, workers: int = 0, tags: int | None = None) -> dict[str, Any]:
    own = {"model": model, "topics": topics, "ratio": ratio, "workers": workers, "tags": tags}
    return own | {"seconds": ratio * topics, "perplexity": 900.0}


TABLE = [row(name, ratio=r, tags=1000) for name in ("PLDA", "Solution II") for r in (0.1, 0.3, 0.6, 0.8, 1.0)]
USUAL = [row(name, topics=k) for name in ("standard", "Solution I") for k in (10, 20)]


@pytest.mark.parametrize(
    ("rows", "titles"),
    [
        (TABLE, ["Table 3: 1000 tags"]),
        (USUAL, ["(a) seconds an iteration by number of topics", "(b) perplexity by number of topics"]),
        (USUAL + TABLE, ["(a) seconds an iteration by number of topics", "(b) perplexity by number of topics",
                         "(c) Table 3: 1000 tags"]),
        ([], [""]),
    ],
)  # fmt: skip
def test_what_is_measured_is_drawn(rows: list[dict[str, Any]], titles: list[str]) -> None:
    figure = Figure()
    EXPERIMENT.draw(rows, figure)
    assert [axis.get_title() for axis in figure.axes] == titles


def test_what_is_timed_comes_after_a_fit_that_compiles_all(monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[tuple[int, tuple[int, ...]]] = []
    fit = TWTM.fit

    def recorded(model: TWTM, corpus: Corpus, *arguments: Any, **settings: Any) -> TWTM:
        fit(model, corpus, *arguments, **settings)
        fits.append((len(corpus), model.prior_updates_))
        return model

    monkeypatch.setattr(TWTM, "fit", recorded)
    subject = planted(quick=True)
    (cell,) = EXPERIMENT.cells(subject, Plan(quick=True, topics=(3,), models=("standard",), workers=()))
    EXPERIMENT.measure(subject, cell, 1)
    warm_up, timed = fits
    assert warm_up[0] < timed[0]
    assert warm_up[1] == timed[1] != ()


def test_a_model_looks_the_same_in_every_panel() -> None:
    figure = Figure()
    EXPERIMENT.draw([*USUAL, row("Solution II", topics=10), *TABLE], figure)
    looks: dict[object, object] = {}
    for line in [line for axis in figure.axes for line in axis.get_lines()]:
        look = line.get_color(), line.get_marker()
        assert looks.setdefault(line.get_label(), look) == look
    assert len(set(looks.values())) == len(looks) == 4


def test_the_table_stands_beside_the_papers() -> None:
    (table,) = EXPERIMENT.tables(TABLE)
    assert [line[0] for line in table.lines] == [
        "PLDA, here",
        "Solution II, here",
        "PLDA, the paper",
        "Solution II, the paper",
    ]
    assert table.lines[0][1:] == ["0.500", "1.500", "3.000", "4.000", "5.000"]
    assert table.lines[3][-1] == "120.8"
