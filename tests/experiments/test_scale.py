"""The scale experiment: plots of any subset of its cells, and untimed compilation."""

from typing import Any

import pytest
from matplotlib.figure import Figure

from tagtopic.corpus import Corpus
from tagtopic.experiments import Plan, planted_dataset
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
        (USUAL, ["(a) seconds per iteration by number of topics", "(b) perplexity by number of topics"]),
        (USUAL + TABLE, ["(a) seconds per iteration by number of topics", "(b) perplexity by number of topics",
                         "(c) Table 3: 1000 tags"]),
        ([], [""]),
    ],
)  # fmt: skip
def test_each_measured_part_has_a_panel(rows: list[dict[str, Any]], titles: list[str]) -> None:
    figure = Figure()
    EXPERIMENT.draw(rows, figure)
    assert [axis.get_title() for axis in figure.axes] == titles


def test_the_timed_fit_follows_one_that_compiles_all_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[tuple[int, tuple[int, ...]]] = []
    fit = TWTM.fit

    def recorded(model: TWTM, corpus: Corpus, *arguments: Any, **settings: Any) -> TWTM:
        fit(model, corpus, *arguments, **settings)
        fits.append((len(corpus), model.prior_updates_))
        return model

    monkeypatch.setattr(TWTM, "fit", recorded)
    dataset = planted_dataset(quick=True)
    (cell,) = EXPERIMENT.cells(dataset, Plan(quick=True, topics=(3,), models=("standard",), workers=()))
    EXPERIMENT.measure(dataset, cell, 1)
    warm_up, timed = fits
    assert warm_up[0] < timed[0]
    assert warm_up[1] == timed[1] != ()


def test_a_model_has_the_same_style_in_every_panel() -> None:
    figure = Figure()
    EXPERIMENT.draw([*USUAL, row("Solution II", topics=10), *TABLE], figure)
    styles: dict[object, object] = {}
    for line in [line for axis in figure.axes for line in axis.get_lines()]:
        style = line.get_color(), line.get_marker()
        assert styles.setdefault(line.get_label(), style) == style
    assert len(set(styles.values())) == len(styles) == 4


def test_the_table_has_the_figures_of_the_paper() -> None:
    (table,) = EXPERIMENT.tables(TABLE)
    assert [line[0] for line in table.lines] == [
        "PLDA, here",
        "Solution II, here",
        "PLDA, paper",
        "Solution II, paper",
    ]
    assert table.lines[0][1:] == ["0.500", "1.500", "3.000", "4.000", "5.000"]
    assert table.lines[3][-1] == "120.8"
