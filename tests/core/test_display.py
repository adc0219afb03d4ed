"""Progress bars on standard error, and warnings that point at the line of the caller."""

import io
from collections.abc import Callable

import pytest

from tagtopic import TWDA, Corpus
from tagtopic._core import display
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


def test_compiling_is_reported_once_and_only_if_it_takes_long(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0

    def compile_for(seconds: float) -> str:
        nonlocal now
        with notice.measure():
            now += seconds
        return capsys.readouterr().err

    notice = display.CompilingNotice(after=3.0, clock=lambda: now)
    assert compile_for(5.0) == ""  # nobody wants it
    notice = display.CompilingNotice(after=3.0, clock=lambda: now)
    notice.wanted = True
    assert compile_for(2.0) == ""
    assert compile_for(1.0) == f"tagtopic: {display.COMPILING}\n"
    assert compile_for(9.0) == ""
    with notice.measure():
        now += 0.5
        assert notice.seconds == 12.5  # with those of the kernel being compiled


@pytest.mark.parametrize(("progress", "wanted"), [(None, True), (True, False), (False, False)])
def test_compiling_is_reported_where_there_is_no_bar(
    progress: bool | None, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    notice = display.CompilingNotice()
    monkeypatch.setattr(display, "COMPILING_NOTICE", notice)
    monkeypatch.setattr("sys.stderr", io.StringIO())  # no terminal
    display.shows_progress(progress)
    assert notice.wanted is wanted


def test_lines_of_progress_are_printed_every_so_often(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    lines = display.LineProgress(10.0, clock=lambda: now[0])
    task = lines.add_task("fitting", total=400, count="", status="")
    for second in range(1, 26):
        now[0] = second
        lines.update(task, completed=4 * second, status=f"bound -{second}")
    lines.close()
    assert capsys.readouterr().err.splitlines() == [
        "tagtopic: fitting, 10%, 10 s, bound -10",
        "tagtopic: fitting, 20%, 20 s, bound -20",
    ]


def test_a_notebook_has_one_line_that_is_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    lines = display.LineProgress(1.0, in_place=True, clock=lambda: now[0])
    for second in (1, 2):
        now[0] = second
        lines.add_task(f"phase {second}")
    lines.close()
    shown = capsys.readouterr().err
    assert shown.count("\r") == 2
    assert shown.count("\n") == 1


@pytest.mark.parametrize(("progress", "kind"), [(None, "LineProgress"), (True, "Progress"), (False, "NoneType")])
def test_there_are_lines_where_there_is_no_terminal(
    progress: bool | None, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with display.progress_display(progress, BAR) as shown:
        assert type(shown).__name__ == kind
