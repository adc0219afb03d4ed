"""The compared models: the arguments that a cell stores."""

import json

import pytest

from tagtopic.experiments.models import MODEL_SPECS, build_model, model_arguments


@pytest.mark.parametrize("name", MODEL_SPECS)
@pytest.mark.parametrize("quick", [True, False])
def test_stored_arguments_include_everything_the_result_depends_on(name: str, quick: bool) -> None:
    arguments = model_arguments(name, 7, quick=quick)
    assert json.loads(json.dumps(arguments)) == arguments
    assert arguments["random_state"] == 0
    assert ("n_topics" in arguments) == MODEL_SPECS[name].has_topics
    model = build_model(name, arguments, 1)
    settings = model.get_params()
    assert {key: settings[key] for key in arguments} == arguments
    not_stored = settings.keys() - arguments.keys()
    assert not_stored <= {"n_jobs", "timeout", "progress", "callbacks", "checkpoint", "checkpoint_every"}
