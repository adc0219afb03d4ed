import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagtopic._core.strings import FEW, MANY, StringArray, StringTable

strings = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=30)


@given(strings)
def test_packing_and_unpacking_keep_every_string(values: list[str]) -> None:
    names = StringArray.of(values)
    assert list(names) == values
    assert [names[i] for i in range(len(names))] == values
    assert names == values
    assert pickle.loads(pickle.dumps(names)) == names


@given(strings, st.data())
def test_slices_and_selections_match_a_list(values: list[str], data: st.DataObject) -> None:
    names = StringArray.of(values)
    part = data.draw(st.slices(len(values)))
    assert list(names[part]) == values[part]
    if values:
        rows = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=10))
        assert list(names.take(np.array(rows, dtype=int))) == [values[i] for i in rows]
        assert list(names[part].hashes()) == list(names.hashes()[part])


def test_a_contiguous_slice_is_a_view() -> None:
    names = StringArray.of(["a", "bc", "def", "g"])
    assert np.shares_memory(names[1:3].data, names.data)
    assert list(names[1:3]) == ["bc", "def"]


def test_iterates_over_more_than_one_block() -> None:
    values = [f"id-{i}é" for i in range(10_000)]
    assert list(StringArray.of(values)) == values


def test_the_hash_is_fnv1a_finished_by_splitmix64() -> None:
    def twin(string: str) -> int:
        h = 0xCBF29CE484222325
        for byte in string.encode():
            h = (h ^ byte) * 0x100000001B3 % 2**64
        h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        h = (h ^ h >> 27) * 0x94D049BB133111EB % 2**64
        return h ^ h >> 31

    values = ["", "a", "word", "żółć", "日本語", "x" * 1000]
    assert StringArray.of(values).hashes().tolist() == [twin(value) for value in values]


def test_many_strings_are_unpacked_and_compared_as_few_are() -> None:
    values = [f"{i} ä" for i in range(MANY)]
    strings = StringArray.of(values)
    assert strings.to_tuple() == tuple(values)
    assert not strings.may_repeat()
    assert strings.concatenated(StringArray.of(["77 ä"])).may_repeat()
    data = strings.data.copy()
    data[-1] = 0xFF
    with pytest.raises(ValueError, match=f"name {MANY - 1} is not valid UTF-8"):
        StringArray(strings.offsets, data).to_tuple()


def test_the_arrays_are_read_only() -> None:
    names = StringArray.of(["a"])
    with pytest.raises(ValueError, match="read-only"):
        names.data[0] = 0


def test_values_that_are_not_strings_or_not_utf8_are_errors() -> None:
    with pytest.raises(TypeError, match="name 1 is 3, a int"):
        StringArray.of(["a", 3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="lone surrogate"):
        StringArray.of(["\ud800"])
    with pytest.raises(IndexError, match="there is no name 2"):
        StringArray.of(["a"])[2]


@pytest.mark.parametrize("n", [100, 20_000])
def test_strings_are_found_by_a_dictionary_and_by_the_kernel(n: int) -> None:
    table, packed = StringTable(), StringArray.of(f"ö{i}" for i in range(n))
    assert (n > FEW) == (n == 20_000)
    numbers = table.add(packed, packed.hashes())
    assert numbers.tolist() == list(range(n))
    assert table.find(["ö7", "none", "", "ö99"]).tolist() == [7, -1, -1, 99]
    more = StringArray.of(["ö7", "new"])
    assert table.add(more, more.hashes()).tolist() == [7, n]
    assert table.find(["new", "ö8"]).tolist() == [n, 8]
