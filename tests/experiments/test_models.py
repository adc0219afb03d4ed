"""The compared models: the arguments that a cell stores, and the scores of tags."""

import json

import numpy as np
import pytest

from tagtopic import TWDA
from tagtopic.datasets import make_tagged_corpus
from tagtopic.experiments.models import MODEL_SPECS, build_model, model_arguments, tag_score_batches


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


def test_scores_with_the_latent_tag_are_the_likelihoods_of_prediction() -> None:
    corpus = make_tagged_corpus(200, 4, 8, 90, model="twda", random_state=1).corpus
    model = TWDA(4, inference="gibbs", max_iter=20, random_state=0, progress=False).fit(corpus)
    test = corpus[:20]
    (rows, scores), *_ = tag_score_batches(model, test, with_latent=True)
    assert rows == slice(0, 20)
    for row, predicted in zip(scores, model.predict_tags(test, n=8, method="likelihood"), strict=True):
        assert [name for name, _ in predicted] == [model.tag_names_[tag] for tag in np.argsort(-row)]
        expected = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
        np.testing.assert_allclose(sorted(expected), sorted(p for _, p in predicted), atol=1e-4)
    ((_, alone),) = tag_score_batches(model, test)
    assert (alone.argsort(axis=1) != scores.argsort(axis=1)).any()
