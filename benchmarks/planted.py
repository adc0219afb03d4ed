"""Planted corpora: how well the default fit recovers weights and mixtures, and how often intervals cover the truth.

    python benchmarks/planted.py [--seeds 10] [--documents 2000] [--weight-prior 1.0]
    python benchmarks/planted.py --set '{"tag_weight_prior": 1.0}'

Corpora are drawn from TWDA with 10 topics and 60 tags, and fitted with default settings but for those of ``--set``. The
oracle infers documents under the true topics, tags and priors, by the same method as the model. Weights count in
documents with two tags or more. Intervals are nominal 90% ones, with learnt topics; those of weights are drawn for the
first documents only. "large topic shares" are those above 0.01.
"""

from __future__ import annotations

import argparse
import json
import warnings
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr

from tagtopic import TWDA
from tagtopic.datasets import make_tagged_corpus
from tagtopic.datasets.planted import PlantedCorpus
from tagtopic.engines import LocalEngine
from tagtopic.inference.types import Parameters

TOPICS, TAGS, WORDS, LATENT_CONCENTRATION = 10, 60, 800, 0.1

LARGE = 0.01
"""Topic shares above it are large."""


def measure(
    planted: PlantedCorpus, weight_prior: float, seed: int, settings: dict[str, Any], n_sampled: int
) -> dict[str, float]:
    """Fit the corpus; return what is recovered of the truth."""
    corpus, truth = planted.corpus, planted.tag_weights.data
    given = {"n_draws": 20, "tag_predictor": False, "progress": False, "random_state": seed, **settings}
    model = TWDA(TOPICS, **given).fit(corpus)
    several = np.repeat(np.diff(corpus.tags.indptr), np.diff(corpus.tags.indptr)) > 1

    def correlation(weights: np.ndarray) -> float:
        return float(spearmanr(weights[several], truth[several]).statistic)

    true = Parameters(
        np.ascontiguousarray(planted.topic_words.T, np.float32),
        np.asarray(planted.tag_topics, np.float32),
        np.full(TAGS, weight_prior),
        weight_prior,
        np.full(TOPICS, LATENT_CONCENTRATION),
        True,
    )
    oracle = LocalEngine(1).infer(corpus, true, model._new_document_method)
    sampled = corpus[:n_sampled]
    weights = model.tag_weights(sampled, intervals=0.9)
    true_weights, counted = truth[: sampled.tags.nnz], several[: sampled.tags.nnz]
    found, planted_topics = linear_sum_assignment(-model.components_ @ planted.topic_words.T)
    order = found[np.argsort(planted_topics)]
    theta, shares = model.tag_topics_[:, order], model.tag_topic_intervals(0.9)
    low, high = shares.low[:, order], shares.high[:, order]
    norms = np.linalg.norm(theta, axis=1) * np.linalg.norm(planted.tag_topics, axis=1)
    covered = (low <= planted.tag_topics) & (planted.tag_topics <= high)
    weights_covered = (weights.low.data <= true_weights) & (true_weights <= weights.high.data)
    ours, best = correlation(model.tag_weights(corpus).data), correlation(oracle.weights.data)
    return {
        "correlation": ours,
        "oracle": best,
        "ratio": ours / best,
        "cosine of tags": float(((theta * planted.tag_topics).sum(axis=1) / norms).mean()),
        "weights covered": float(weights_covered[counted].mean()),
        "topic shares covered": float(covered.mean()),
        "large topic shares covered": float(covered[planted.tag_topics > LARGE].mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--weight-prior", type=float, default=1.0, help="of the weights that are drawn")
    parser.add_argument("--set", dest="settings", type=json.loads, default={}, help="settings of TWDA, as JSON")
    parser.add_argument("--interval-documents", type=int, default=100, help="documents whose weights get intervals")
    given = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    found = []
    for seed in range(given.seeds):
        planted = make_tagged_corpus(
            given.documents, TOPICS, TAGS, WORDS, model="twda", weight_prior=given.weight_prior,
            latent_prior=given.weight_prior, latent_concentration=LATENT_CONCENTRATION, random_state=seed,
        )  # fmt: skip
        found.append(measure(planted, given.weight_prior, seed, given.settings, given.interval_documents))
        print(seed, {name: round(value, 3) for name, value in found[-1].items()}, flush=True)
    for name in found[0]:
        values = [each[name] for each in found]
        print(f"{name}: {np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})")


if __name__ == "__main__":
    main()
