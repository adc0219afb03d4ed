"""Template filters, and CSV for spreadsheets."""

from tagtopic.explore.charts import line_chart
from tagtopic.explore.rendering import letter, number, percent, short


def test_filters_format_numbers_and_names() -> None:
    assert [percent(x) for x in (0.5, 0.0512, 0.0001, 0.0)] == ["50%", "5.1%", "<0.1%", "0.0%"]
    assert [number(x) for x in (1234567, 0.123456, 12345.6)] == ["1,234,567", "0.123", "12,346"]
    assert short("x" * 100, 10) == "x" * 9 + "…"
    assert [letter(i) for i in (0, 25, 26)] == ["A", "Z", "27"]


def test_line_is_scaled_to_the_chart() -> None:
    drawn = line_chart([(1, 10.0), (2, 20.0), (3, 15.0)], width=131, height=134, marks=[2, 9])
    assert drawn.points == "23.0,112.0 73.0,12.0 123.0,62.0"
    assert drawn.marks == (73.0,)
    assert drawn.left == 23.0  # labels are left of the line
    assert [tick.label for tick in drawn.y_ticks] == ["10", "20"]
    assert line_chart([(1, 5.0)]).points.count(",") == 1
