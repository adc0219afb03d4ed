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
