"""Template filters, and CSV for spreadsheets."""

from tagtopic.explore.rendering import letter, number, percent, short


def test_filters_format_numbers_and_names() -> None:
    assert [percent(x) for x in (0.5, 0.0512, 0.0001, 0.0)] == ["50%", "5.1%", "<0.1%", "0.0%"]
    assert [number(x) for x in (1234567, 0.123456, 12345.6)] == ["1,234,567", "0.123", "12,346"]
    assert short("x" * 100, 10) == "x" * 9 + "…"
    assert [letter(i) for i in (0, 25, 26)] == ["A", "Z", "27"]
