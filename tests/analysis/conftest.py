"""A planted corpus with covariates, and a model of it with kept draws."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tagtopic import LDA
from tagtopic.datasets import PlantedEffects, make_effects_corpus


@pytest.fixture(scope="session")
def planted() -> PlantedEffects:
    return make_effects_corpus(600, n_topics=4, n_words=200, effect_scale=1.0, random_state=3)


@pytest.fixture(scope="session")
def model(planted: PlantedEffects) -> Any:
    return LDA(4, inference="gibbs", max_iter=100, thinning=5, n_draws=8, random_state=0).fit(planted.corpus)


@pytest.fixture(scope="session")
def truth_of(planted: PlantedEffects, model: Any) -> Any:
    """The planted topic of each learnt one."""
    similarity = np.sqrt(model.components_) @ np.sqrt(planted.topic_words).T
    found = linear_sum_assignment(-similarity)[1]
    assert similarity[np.arange(4), found].min() > 0.9
    return found
