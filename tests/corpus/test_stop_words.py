"""The stop-word lists and the record of where they come from."""

import re
from pathlib import Path

import pytest

import tagtopic

RECORD = next(Path(tagtopic.__file__).parent.rglob("languages/README.md"))
LISTS = sorted(RECORD.parent.glob("*.txt"))


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_stop_words_are_sorted_and_in_the_form_of_the_tokenizer(path: Path) -> None:
    words = path.read_text("utf-8").split()
    assert words == sorted(set(words))
    assert all(word.isalpha() and word == word.lower() for word in words)


def test_the_provenance_of_every_list_is_recorded() -> None:
    recorded = re.findall(r"^\| `(\w+)\.txt` \| \w+ \| (\d+) \|", RECORD.read_text("utf-8"), flags=re.MULTILINE)
    assert dict(recorded) == {path.stem: str(len(path.read_text("utf-8").split())) for path in LISTS}
