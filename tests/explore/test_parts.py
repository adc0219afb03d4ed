"""The small pieces that views and pages are made of."""

import threading
import time
import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagtopic._core.arrays import largest
from tagtopic.corpus import TextRules
from tagtopic.explore.charts import line
from tagtopic.explore.explorer import Once
from tagtopic.explore.highlighting import pieces_of
from tagtopic.explore.rendering import letter, number, percent, short


@given(st.lists(st.text(max_size=6) | st.sampled_from(["engine", "a_b", "été", "ﬁ", "-", " "])).map("".join))
def test_pieces_make_the_text_again_and_name_its_words(text: str) -> None:
    rules = TextRules(stop_words=None, min_length=1)
    vocabulary = {"engine", "a_b", "été", "fi", "a"}
    pieces = pieces_of(text, rules, vocabulary)
    assert "".join(piece.text for piece in pieces) == text
    found = [piece.word for piece in pieces if piece.word is not None]
    expected = Counter(word for word in rules.tokens(text) if word in vocabulary)
    # characters that stand for several ("℀" is "a/c") are coloured as a whole or not at all
    assert Counter(found) <= expected
    if unicodedata.is_normalized("NFKC", text):
        assert Counter(found) == expected


def test_pairs_of_words_are_one_piece() -> None:
    rules = TextRules(stop_words=None, bigrams=0.5)
    vocabulary = {"machine translation", "machine", "of"}
    found = [p for p in pieces_of("Machine translation of a machine. Translation", rules, vocabulary) if p.word]
    assert [(p.text, p.word) for p in found] == [
        ("Machine translation", "machine translation"),
        ("of", "of"),
        ("machine", "machine"),
    ]


def test_a_slow_value_is_made_once() -> None:
    made = []

    def make() -> int:
        made.append(1)
        time.sleep(0.05)
        return 7

    once = Once(make)
    before = once.ready
    threads = [threading.Thread(target=once.get) for _ in range(5)]
    for thread in threads:
        thread.start()
    assert once.get() == 7
    for thread in threads:
        thread.join()
    assert (before, once.ready) == (False, True)
    assert made == [1]


def test_an_error_is_not_kept() -> None:
    asked = []

    def make() -> int:
        asked.append(1)
        if len(asked) == 1:
            raise ValueError("first")
        return 7

    once = Once(make)
    with pytest.raises(ValueError, match="first"):
        once.get()
    assert once.get() == 7


def test_a_line_fills_its_box() -> None:
    drawn = line([(1, 10.0), (2, 20.0), (3, 15.0)], width=131, height=134, marks=[2, 9])
    assert drawn.points == "23.0,112.0 73.0,12.0 123.0,62.0"
    assert drawn.marks == (73.0,)
    assert drawn.left == 23.0  # the labels stand beside the line
    assert [tick.label for tick in drawn.y_ticks] == ["10", "20"]
    assert line([(1, 5.0)]).points.count(",") == 1


def test_figures_are_written_for_people() -> None:
    assert [percent(x) for x in (0.5, 0.0512, 0.0001, 0.0)] == ["50%", "5.1%", "<0.1%", "0.0%"]
    assert [number(x) for x in (1234567, 0.123456, 12345.6)] == ["1,234,567", "0.123", "12,346"]
    assert short("x" * 100, 10) == "x" * 9 + "…"
    assert [letter(i) for i in (0, 25, 26)] == ["A", "Z", "27"]


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(0, 35))
def test_the_largest_are_those_that_sorting_finds(values: list[int], n: int) -> None:
    array = np.array(values, np.float64)
    order = np.argsort(-array, kind="stable")[:n]
    assert largest(array, range(len(array)), n) == [(int(i), float(array[i])) for i in order]
