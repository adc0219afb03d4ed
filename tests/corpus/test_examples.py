import doctest

from tagtopic.corpus import corpus


def test_the_examples_in_docstrings_run() -> None:
    result = doctest.testmod(corpus)
    assert result.attempted >= 4
    assert result.failed == 0
