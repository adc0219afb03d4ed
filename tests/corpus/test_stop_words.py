"""The stop-word lists and the record of where they come from."""

import re
from pathlib import Path

import pytest

import tagtopic

RECORD = next(Path(tagtopic.__file__).parent.rglob("languages/README.md"))
LISTS = sorted(RECORD.parent.glob("*.txt"))


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_words_are_sorted_and_as_the_tokenizer_delivers_them(path: Path) -> None:
    words = path.read_text("utf-8").split()
    assert words == sorted(set(words))
    assert all(word.isalpha() and word == word.lower() for word in words)


def test_the_record_of_provenance_has_every_list_and_its_length() -> None:
    recorded = re.findall(r"^\| `(\w+)\.txt` \| \w+ \| (\d+) \|", RECORD.read_text("utf-8"), flags=re.MULTILINE)
    assert dict(recorded) == {path.stem: str(len(path.read_text("utf-8").split())) for path in LISTS}
