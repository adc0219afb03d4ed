"""Near-duplicate tags, by name, topics and co-occurrence."""

import numpy as np
import scipy.sparse as sp

from tagtopic.tagging import near_duplicates


def test_names_that_differ_by_punctuation_order_or_accents_are_near_duplicates() -> None:
    names = ["in:U.S.A.", "in:USA", "by:Neubig, Graham", "by:Graham Neubig", "by:José Ruiz", "by:Jose Ruiz",
             "year:1998", "year:1999", "by:Usa", "by:Catherine", "by:Katherine Other"]  # fmt: skip
    topics = np.full((len(names), 4), 0.25)
    tags = sp.csr_array(np.eye(len(names), dtype=np.int8))
    found = {(pair.first, pair.second) for pair in near_duplicates(names, topics, tags)}
    assert found == {tuple(names[0:2]), tuple(names[2:4]), tuple(names[4:6])}
    together = sp.csr_array(np.ones((3, len(names)), dtype=np.int8))
    assert near_duplicates(names, topics, together) == []  # on the same documents: two people
    topics[1] = [0, 0, 0, 1]
    assert ("in:U.S.A.", "in:USA") not in {(p.first, p.second) for p in near_duplicates(names, topics, tags)}


def test_the_order_is_by_names_and_topics() -> None:
    names = ["film making", "filmmaking", "lovers", "lover", "Yang Liu", "Liu Yang", "terrorism", "terrorist",
             "Paweł Ørsted", "Pawel Orsted", "danger", "ranger"]  # fmt: skip
    topics = np.full((len(names), 4), 0.25)
    pairs = near_duplicates(names, topics, sp.csr_array(np.eye(len(names), dtype=np.int8)))
    assert {pair.first: pair.name_similarity for pair in pairs} == {
        "film making": 0.9, "Paweł Ørsted": 0.9, "lovers": 0.7, "Yang Liu": 0.6, "terrorism": 0.3, "danger": 0.1,
    }  # fmt: skip
    assert [pair.similarity for pair in pairs] == sorted((pair.similarity for pair in pairs), reverse=True)
    topics[0], topics[1] = [0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1]
    again = near_duplicates(names, topics, sp.csr_array(np.eye(len(names), dtype=np.int8)))
    assert again[0].first == "Paweł Ørsted"
    assert next(p for p in again if p.first == "film making").similarity < 0.9
