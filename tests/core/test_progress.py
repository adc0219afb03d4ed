"""Bars are drawn on standard error, for those who want them."""

import pytest

from tagtopic._core.display import BAR, COUNT, ELAPSED, REMAINING, progress_bar, shows_progress


def test_a_bar_is_drawn_if_asked_for_or_if_somebody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shows_progress(True)
    assert not shows_progress(False)
    for terminal in (True, False):
        monkeypatch.setattr("sys.stderr.isatty", lambda terminal=terminal: terminal)
        assert shows_progress(None) is terminal


def test_texts_and_columns_stand_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("cells,", BAR, COUNT, ELAPSED, REMAINING, "{task.fields[news]}", auto_refresh=False) as bar:
        bar.add_task("", total=8, completed=2, news="all is well")
        bar.refresh()
        names = [type(column).__name__ for column in bar.columns]
    assert names == ["TextColumn", BAR, COUNT, ELAPSED, REMAINING, "TextColumn", "Compiling"]
    assert capsys.readouterr().out == ""
