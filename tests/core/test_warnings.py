"""Warnings point at the line of the person who is warned."""

from collections.abc import Callable

import pytest

from tagtopic import TWDA, Corpus

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
def test_whoever_calls_is_warned_there(model: TWDA, ask: Callable[[TWDA], object]) -> None:
    with pytest.warns(UserWarning, match="does not know 1 tags") as told:
        ask(model)
    assert [warning.filename for warning in told] == [__file__]
