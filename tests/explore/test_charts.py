"""Line charts."""

from tagtopic.explore.charts import line


def test_line_is_scaled_to_the_chart() -> None:
    drawn = line([(1, 10.0), (2, 20.0), (3, 15.0)], width=131, height=134, marks=[2, 9])
    assert drawn.points == "23.0,112.0 73.0,12.0 123.0,62.0"
    assert drawn.marks == (73.0,)
    assert drawn.left == 23.0  # labels are left of the line
    assert [tick.label for tick in drawn.y_ticks] == ["10", "20"]
    assert line([(1, 5.0)]).points.count(",") == 1
