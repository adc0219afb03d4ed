"""The hash table of open addressing, against a dictionary."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tagtopic._core.hashing import (
    EMPTY,
    GOLDEN_GAMMA,
    fill_slots,
    find_slot,
    n_slots_for,
    splitmix64,
    splitmix64_array,
)
from tagtopic._core.strings import StringArray, StringTable


def test_splitmix64_is_the_published_generator() -> None:
    # the first outputs of Vigna's splitmix64.c for the seed 1234567
    seed = 1234567
    stream = [np.uint64((seed + i * int(GOLDEN_GAMMA)) % 2**64) for i in (1, 2, 3)]
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [int(splitmix64(h)) for h in stream] == expected
    assert splitmix64_array(np.array(stream)).tolist() == expected


@given(st.lists(st.integers(0, 2**64 - 1), max_size=200, unique=True), st.integers(1, 4))
def test_every_key_is_found_and_others_are_not(values: list[int], n_hashes: int) -> None:
    keys = np.array(values, dtype=np.uint64)
    hashes: Any = keys % np.uint64(n_hashes)  # nearly all collide
    slots = fill_slots(hashes, len(keys), n_slots_for(max(1, len(keys))))
    assert sorted(slots[slots != EMPTY]) == list(range(len(keys)))
    for i, key in enumerate(keys):
        assert slots[find_slot(slots, keys, key, hashes[i])] == i
    other = np.uint64(next(key for key in range(len(values) + 1) if key not in set(values)))
    assert slots[find_slot(slots, keys, other, other % np.uint64(n_hashes))] == EMPTY


def test_slots_are_a_power_of_two_and_at_most_half_full() -> None:
    for n in (1, 2, 3, 1000, 1024, 1025):
        n_slots = n_slots_for(n)
        assert n_slots & (n_slots - 1) == 0
        assert 2 * n <= n_slots <= 8 * n


@given(st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=30), max_size=8))
def test_strings_are_numbered_in_the_order_in_which_they_are_added(batches: list[list[str]]) -> None:
    table, expected = StringTable(), dict[str, int]()
    for batch in batches:
        strings = StringArray.of(dict.fromkeys(batch))
        numbers = table.add(strings, strings.hashes())
        assert numbers.tolist() == [expected.setdefault(string, len(expected)) for string in strings]
    assert list(table.strings) == list(expected)
    assert table.find([*expected, "not there"]).tolist() == [*expected.values(), -1]


def test_strings_of_one_hash_are_told_apart() -> None:
    table = StringTable()
    strings = StringArray.of(["first", "other", "longer one", ""])
    hashes = np.full(4, 7, dtype=np.uint64)
    assert table.add(strings, hashes).tolist() == [0, 1, 2, 3]
    assert table.add(strings[1:3], hashes[1:3]).tolist() == [1, 2]
