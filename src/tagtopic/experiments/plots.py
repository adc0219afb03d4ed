"""How all plots look, and how they are written: SVG and PNG, without a screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tagtopic._core.files import atomic_file
from tagtopic._core.optional import require

COLOURS = {
    "TWDA": "#c1272d", "TWDA (prior learnt)": "#c1272d", "TWTM": "#e07a1f", "LDA": "#1f77b4", "LDA (ours)": "#17becf",
    "LDA with tags": "#1f77b4", "CTM": "#2ca02c", "CTM with tags": "#2ca02c", "DMR": "#6a3d9a", "ATM": "#8c564b",
    "CorrLDA": "#7f7f7f", "PLDA": "#111111", "PLDA, 2 topics a tag": "#111111", "Labeled LDA": "#bcbd22",
    "tf-idf centroid": "#b0b0b0",
}  # fmt: skip
MARKERS = {
    "TWDA": "o", "TWDA (prior learnt)": "o", "TWTM": "s", "LDA": "v", "LDA (ours)": "<", "LDA with tags": "v",
    "CTM": "^", "CTM with tags": "^", "DMR": "D", "ATM": "X", "CorrLDA": "P", "PLDA": "*", "PLDA, 2 topics a tag": "p",
    "Labeled LDA": "h",
}  # fmt: skip
RESOLUTION = 130


def require_matplotlib() -> None:
    """Raise now, and not after hours of measuring, if there would be no plot."""
    require("matplotlib", extra="experiments", purpose="The plot of an experiment")


def write_plot(draw: Callable[[Any], None], path: Path) -> None:
    """``draw`` on an empty figure; it is written to ``path`` with .svg and with .png at its end."""
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.hashsalt": "tagtopic", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False,
        "axes.grid": True, "grid.color": "#e5e5e5", "axes.axisbelow": True, "legend.frameon": False,
        "lines.linewidth": 1.5, "lines.markersize": 5,
    }  # fmt: skip
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(6, 4), layout="constrained")
        draw(figure)
        for kind in ("svg", "png"):
            # no date in the file: the same numbers give the same bytes
            dated = {"Date": None} if kind == "svg" else None
            with atomic_file(path.with_name(f"{path.name}.{kind}")) as temporary:
                figure.savefig(temporary, format=kind, dpi=RESOLUTION, metadata=dated)


def style(name: str) -> dict[str, Any]:
    """Colour and marker of a model, the same in all plots; variants of a model are drawn dashed."""
    return {
        "color": COLOURS.get(name),
        "marker": MARKERS.get(name, "."),
        "linestyle": "--" if name.endswith(("with tags", "(prior learnt)")) else "-",
        "label": name,
    }


def panels(figure: Any, titles: Sequence[str], *, width: float = 4.0, height: float = 3.4) -> list[Any]:
    """Axes side by side, lettered as in the paper if there are several."""
    figure.set_size_inches(width * max(len(titles), 1), height)
    axes = figure.subplots(1, max(len(titles), 1), squeeze=False)[0]
    for letter, axis, title in zip("abcdefgh", axes, titles, strict=False):
        axis.set_title(f"({letter}) {title}" if len(titles) > 1 else title, fontsize=9)
    return list(axes)


def legend_below(axis: Any, columns: int = 3) -> None:
    """The legend under the axis, where it hides nothing."""
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncol=columns, fontsize=7)
