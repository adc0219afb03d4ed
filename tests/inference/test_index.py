"""A block by column: what a stable sort says."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic.inference.m_step import index_columns


@pytest.mark.parametrize("n_columns", [1, 2, 50, 2048, 2049, 5_000_000])
def test_entries_stand_by_column_in_the_order_of_their_rows(n_columns: int) -> None:
    random = np.random.default_rng(0)
    matrix = sp.random_array(
        (90, n_columns), density=min(1.0, 3000 / (90 * n_columns)), random_state=random, format="csr"
    )
    starts, indices = matrix.indptr.astype(np.int64)[3:80], matrix.indices.astype(np.int32)
    found = index_columns(starts, indices, n_columns)
    own = indices[starts[0] : starts[-1]]
    order = np.argsort(own, kind="stable")
    np.testing.assert_array_equal(found.rows, np.repeat(np.arange(76), np.diff(starts))[order])
    np.testing.assert_array_equal(found.slots[order], np.arange(len(order)))
    columns, sizes = np.unique(own, return_counts=True)
    np.testing.assert_array_equal(found.columns, columns)
    np.testing.assert_array_equal(np.diff(found.starts), sizes)


def test_a_block_without_entries_has_no_columns() -> None:
    found = index_columns(np.zeros(4, np.int64), np.empty(0, np.int32), 10)
    assert len(found.columns) == 0
    assert found.starts.tolist() == [0]
