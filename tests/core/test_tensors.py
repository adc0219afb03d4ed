"""The checksum of files of arrays: the kernel and NumPy add up the same lanes."""

import numpy as np
import pytest

from tagtopic._core.tensors import LANES, add_lanes, add_lanes_by_numpy


@pytest.mark.parametrize("size", [0, 1, LANES - 1, LANES, LANES + 1, 5 * LANES + 17])
def test_the_lanes_are_those_of_the_kernel(size: int) -> None:
    words = np.random.default_rng(size).integers(0, 1 << 32, size, np.uint32)
    by_kernel, by_numpy = np.ones((2, 3, LANES), np.uint32)
    add_lanes(words, *by_kernel)
    add_lanes_by_numpy(words, *by_numpy)
    np.testing.assert_array_equal(by_numpy, by_kernel)
