"""Progress bars on standard error, and warnings that point at the line of the caller."""

from collections.abc import Callable

import pytest

from tagtopic import TWDA, Corpus
from tagtopic._core.display import BAR, COUNT, ELAPSED, REMAINING, progress_bar, shows_progress


def test_a_bar_is_drawn_on_request_or_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shows_progress(True)
    assert not shows_progress(False)
    for terminal in (True, False):
        monkeypatch.setattr("sys.stderr.isatty", lambda terminal=terminal: terminal)
        assert shows_progress(None) is terminal


def test_a_bar_has_texts_and_columns_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("cells,", BAR, COUNT, ELAPSED, REMAINING, "{task.fields[news]}", auto_refresh=False) as bar:
        bar.add_task("", total=8, completed=2, news="all is well")
        bar.refresh()
        names = [type(column).__name__ for column in bar.columns]
    assert names == ["TextColumn", BAR, COUNT, ELAPSED, REMAINING, "TextColumn", "Compiling"]
    assert capsys.readouterr().out == ""


CORPUS = Corpus.from_texts(["a ship in space", "police and a killer"] * 3, [["space"], ["crime"]] * 3)
OTHER = Corpus.from_texts(["a ship"], [["sea"]])


@pytest.fixture(scope="module")
def model() -> TWDA:
    return TWDA(2, max_iter=2, progress=False, random_state=0).fit(CORPUS)


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.transform(OTHER),
        lambda model: model.rank_tags(OTHER),
        lambda model: model.tag_weights(OTHER),
        lambda model: model.aligned(OTHER),
        lambda model: model.set_output(transform="pandas").transform(OTHER),
    ],
)
def test_warnings_point_at_the_line_of_the_caller(model: TWDA, ask: Callable[[TWDA], object]) -> None:
    with pytest.warns(UserWarning, match="does not know 1 tags") as told:
        ask(model)
    assert [warning.filename for warning in told] == [__file__]
