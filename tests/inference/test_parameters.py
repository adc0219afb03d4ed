"""The weights' prior in one vector, with and without the latent tag's."""

import numpy as np
import pytest

from tagtopic.inference.types import Parameters


@pytest.mark.parametrize("latent", [True, False])
def test_the_prior_of_the_weights_goes_into_one_vector_and_back(latent: bool) -> None:
    parameters = Parameters(np.ones((3, 2)), np.ones((2, 2)), np.array([1.0, 2.0]), 5.0, np.ones(2), latent)
    assert parameters.all_pi.tolist() == ([1, 2, 5] if latent else [1, 2])
    moved = parameters.with_all_pi(parameters.all_pi * 2)
    assert moved.pi.tolist() == [2, 4]
    assert moved.pi_latent == (10.0 if latent else 5.0)
    assert moved.behind is None
