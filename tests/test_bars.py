"""Bars are drawn on standard error, for those who want them."""

import pytest

from tagtopic._core.progress import BAR, COUNT, GONE, LEFT, is_watched, new_bar


def test_a_bar_is_drawn_if_asked_for_or_if_somebody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_watched(True)
    assert not is_watched(False)
    for terminal in (True, False):
        monkeypatch.setattr("sys.stderr.isatty", lambda terminal=terminal: terminal)
        assert is_watched(None) is terminal


def test_texts_and_columns_stand_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    with new_bar("cells,", BAR, COUNT, GONE, LEFT, "{task.fields[news]}", auto_refresh=False) as bar:
        bar.add_task("", total=8, completed=2, news="all is well")
        bar.refresh()
        names = [type(column).__name__ for column in bar.columns]
    assert names == ["TextColumn", BAR, COUNT, GONE, LEFT, "TextColumn", "Compiling"]
    assert capsys.readouterr().out == ""
