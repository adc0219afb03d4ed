"""What is compared, and what a cell writes down of it."""

import json

import pytest

from tagtopic.experiments.models import CONTESTANTS, arguments_of, make


@pytest.mark.parametrize("name", CONTESTANTS)
@pytest.mark.parametrize("quick", [True, False])
def test_a_cell_has_all_that_its_result_depends_on(name: str, quick: bool) -> None:
    arguments = arguments_of(name, 7, quick=quick)
    assert json.loads(json.dumps(arguments)) == arguments
    assert arguments["random_state"] == 0
    assert ("n_topics" in arguments) == CONTESTANTS[name].has_topics
    model = make(name, arguments, 1)
    settings = model.get_params()
    assert {key: settings[key] for key in arguments} == arguments
    left_out = settings.keys() - arguments.keys()
    assert left_out <= {"n_jobs", "timeout", "progress", "callbacks", "checkpoint", "checkpoint_every"}
