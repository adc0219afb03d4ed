"""The small pieces that views and pages are made of."""

import threading
import time
import unicodedata
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagtopic.corpus import TextRules
from tagtopic.engines.posterior import largest
from tagtopic.explore import charts
from tagtopic.explore.charts import line
from tagtopic.explore.explorer import Once
from tagtopic.explore.highlighting import pieces_of
from tagtopic.explore.rendering import letter, number, percent, short
from tagtopic.explore.topic_map import GAP, HEIGHT, WIDTH, likeness, topic_map

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB
SIGHTS = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def oklab(rgb: np.ndarray) -> np.ndarray:
    cones = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.63]]
    lab = [[0.2105, 0.7936, -0.0041], [1.978, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
    return np.asarray(np.array(lab) @ np.cbrt(np.array(cones) @ np.clip(rgb, 0, 1)))


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("colours", [charts.LIGHT, charts.DARK])
def test_no_two_colours_look_alike_to_any_sight(sight: str, colours: tuple[str, ...]) -> None:
    seen = [oklab(np.array(SIGHTS[sight]) @ linear(colour)) for colour in colours]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 0.07


@pytest.mark.parametrize(("colours", "ground"), [(charts.LIGHT, "#ffffff"), (charts.DARK, "#1a1d23")])
def test_colours_stand_out_from_their_ground(colours: tuple[str, ...], ground: str) -> None:
    def luminance(colour: str) -> float:
        return float(linear(colour) @ [0.2126, 0.7152, 0.0722])

    for colour in colours:
        high, low = sorted((luminance(colour), luminance(ground)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 2.9


def test_a_topic_keeps_its_colour() -> None:
    assert charts.colour(3) == charts.colour(15) == charts.LIGHT[3]
    assert charts.colour(3, dark=True) == charts.DARK[3]


@pytest.mark.parametrize("n_topics", [1, 2, 3, 40, 100])
def test_topics_on_the_map_do_not_overlap(n_topics: int) -> None:
    random = np.random.default_rng(0)
    bubbles = topic_map(
        likeness(random.dirichlet(np.full(60, 0.1), n_topics)), random.dirichlet(np.full(n_topics, 2.0))
    )
    for a, b in combinations(bubbles, 2):
        assert np.hypot(a.x - b.x, a.y - b.y) > a.radius + b.radius - 0.5 * GAP
    assert all(b.radius <= b.x <= WIDTH - b.radius and b.radius <= b.y <= HEIGHT - b.radius for b in bubbles)


def test_topics_with_the_same_words_are_neighbours() -> None:
    components = np.full((12, 40), 0.2)
    for topic in range(12):
        components[topic, 10 * (topic % 4) : 10 * (topic % 4) + 10] += 5
    components /= components.sum(axis=1, keepdims=True)
    bubbles = topic_map(likeness(components), np.ones(12))
    places = np.array([(b.x, b.y) for b in bubbles])
    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    alike = np.arange(12)[:, None] % 4 == np.arange(12)[None] % 4
    assert distance[alike].mean() < 0.8 * distance[~alike].mean()


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
