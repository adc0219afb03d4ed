"""Effects, trends and hierarchies: coverage of planted truth, time and memory, agreement with planted trees.

    python benchmarks/effects.py coverage --corpora 100 --output coverage.jsonl
    python benchmarks/effects.py hierarchy --corpora 6
    python benchmarks/effects.py levels --corpus acl-corpus --model acl.tagtopic --kind author

``coverage`` fits each planted corpus (1,000 documents, 8 topics) once, and counts how many intervals of effects (95%)
and bands of trends (90%) hold the truth. Beside it is the composition of stm, re-implemented: topics at their point
estimate, linear regressions of drawn topic shares, with covariates in the documents' prior (as after a fit with
prevalence covariates) and without.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from tagtopic import LDA, TWDA, Corpus
from tagtopic.analysis.composition import draw_shares
from tagtopic.analysis.hierarchy import cut_tree, merge_tree, topic_distances, use_similarity, word_similarity
from tagtopic.analysis.regression import Regression
from tagtopic.datasets import make_effects_corpus
from tagtopic.engines import LocalEngine

N_TOPICS = 8
SHARES = {"venue": [0.5, 0.3, 0.2], "region": [0.6, 0.4]}
CONTRASTS = (("venue", "B", "A"), ("venue", "C", "A"), ("region", "S", "N"), ("year", 2014.0, 2005.0))


def fit(corpus: Corpus, seed: int) -> Any:
    known = [name for name in corpus.tag_names if not name.startswith("year")]
    tagged = corpus.align(corpus.words, known).corpus
    settings = {"max_iter": 200, "thinning": 5, "n_draws": 20, "n_jobs": 1, "progress": False, "tag_predictor": False}
    return TWDA(N_TOPICS, inference="gibbs", random_state=seed, **settings).fit(tagged)


def composition(planted: Any, model: Any, *, informed: bool) -> dict[tuple[str, Any, Any], Any]:
    """Stm's method: for each contrast, (topics, samples) of a linear regression's coefficients."""
    corpus = planted.corpus
    names, tags = list(corpus.tag_names), corpus.tags.toarray().astype(float)
    columns = [tags[:, names.index(name)] for name in ("venue:B", "venue:C", "region:S")]
    year = (planted.years - 2000) / 19 - 0.5
    design = np.column_stack([np.ones(len(corpus)), *columns, year])
    given = design if informed else design[:, :1]
    regression = Regression(sp.csr_array(given), np.ones(len(corpus)), np.arange(given.shape[1]) > 0)
    known = corpus.align(corpus.words, model.tag_names_).corpus
    shares = draw_shares(model.aligned(known), [model.parameters_], regression, LocalEngine(1)).shares
    inverse = np.linalg.inv(design.T @ design)
    rng = np.random.default_rng(0)
    samples = []
    for drawn in shares.astype(np.float64):
        found = inverse @ (design.T @ drawn)
        residuals = drawn - design @ found
        scale = np.sqrt((residuals**2).sum(axis=0) / (len(design) - design.shape[1]))
        noise = np.linalg.cholesky(inverse) @ rng.standard_normal((50, 5, 1))
        samples.append(found + noise * scale)
    pooled = np.concatenate(samples)  # (samples, columns, topics)
    return {
        CONTRASTS[0]: pooled[:, 1].T, CONTRASTS[1]: pooled[:, 2].T, CONTRASTS[2]: pooled[:, 3].T,
        CONTRASTS[3]: pooled[:, 4].T * 9 / 19,
    }  # fmt: skip


def expected_by_year(planted: Any, year: int) -> Any:
    found = np.zeros(planted.coefficients.shape[1])
    for venue, p in zip("ABC", SHARES["venue"], strict=True):
        for region, q in zip("NS", SHARES["region"], strict=True):
            found += p * q * planted.expected_shares(venue=venue, region=region, year=year)[0]
    return found


def cover_one(seed: int) -> dict[str, Any]:
    planted = make_effects_corpus(n_topics=N_TOPICS, random_state=seed)
    model = fit(planted.corpus, seed)
    similarity = np.sqrt(model.components_) @ np.sqrt(planted.topic_words).T
    truth_of = linear_sum_assignment(-similarity)[1]
    truth = {
        (name, a, b): (planted.expected_shares(**{name: a}) - planted.expected_shares(**{name: b})).mean(axis=0)[
            truth_of
        ]
        for name, a, b in CONTRASTS
    }
    record: dict[str, Any] = {"seed": seed, "match": float(similarity[np.arange(N_TOPICS), truth_of].min())}
    effects = model.effects(planted.corpus, "year + venue + region")
    tables = {key: effects.contrast(*key) for key in CONTRASTS}
    record["effects"] = [
        (t >= low) & (t <= high)
        for key in CONTRASTS
        for t, low, high in zip(truth[key], tables[key]["low"], tables[key]["high"], strict=True)
    ]
    estimates = np.array([tables[key]["estimate"] for key in CONTRASTS])
    true = np.array([truth[key] for key in CONTRASTS])
    record["slope"] = float((estimates * true).sum() / (true**2).sum())
    record["width"] = float(np.mean([np.subtract(tables[key]["high"], tables[key]["low"]).mean() for key in CONTRASTS]))
    for name, informed in (("stm, covariates", True), ("stm, no covariates", False)):
        ends = {
            key: np.quantile(v, [0.025, 0.975], axis=1)
            for key, v in composition(planted, model, informed=informed).items()
        }
        record[name] = [
            bool(x) for key in CONTRASTS for x in (ends[key][0] <= truth[key]) & (truth[key] <= ends[key][1])
        ]
        record[f"{name} width"] = float(np.mean([(e[1] - e[0]).mean() for e in ends.values()]))
    trends = model.trends(planted.corpus, "year").table
    by_year = {year: expected_by_year(planted, year)[truth_of] for year in range(2000, 2020)}
    record["trends"] = [
        row["low"] <= by_year[int(row["bin"])][row["topic"]] <= row["high"] for row in trends if row["documents"]
    ]
    return {name: [bool(v) for v in value] if isinstance(value, list) else value for name, value in record.items()}


def coverage(arguments: argparse.Namespace) -> None:
    path = Path(arguments.output)
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    for seed in range(len(done), arguments.corpora):
        done.append(cover_one(seed))
        with path.open("a") as file:
            file.write(json.dumps(done[-1]) + "\n")
    for name in ("effects", "stm, covariates", "stm, no covariates", "trends"):
        values = [np.mean(record[name]) for record in done]
        error = np.std(values) / np.sqrt(len(values))
        print(f"{name}: {np.mean(values):.3f} (standard error {error:.3f}) on {len(done)} corpora")
    for name in ("width", "stm, covariates width", "stm, no covariates width", "slope", "match"):
        print(f"mean {name}: {np.mean([record[name] for record in done]):.4f}")


def plant_tree(seed: int, shared: float, n_groups: int = 5, per_group: int = 4) -> tuple[Corpus, Any, Any, Any]:
    """A corpus of two levels: documents are mostly of one group of topics; topics share some words of their group."""
    rng = np.random.default_rng(seed)
    n_topics, n_words, n_documents = n_groups * per_group, 1000, 1500
    group = np.repeat(np.arange(n_groups), per_group)
    common = rng.dirichlet(np.full(n_words, 0.05), n_groups)
    topics = shared * common[group] + (1 - shared) * rng.dirichlet(np.full(n_words, 0.05), n_topics)
    mixes = np.repeat(rng.dirichlet(np.full(n_groups, 0.15), n_documents), per_group, axis=1)
    mixes *= rng.dirichlet(np.full(per_group, 0.3), (n_documents, n_groups)).reshape(n_documents, -1)
    counts = np.array([rng.multinomial(80, p / p.sum()) for p in mixes @ topics])
    return Corpus.from_counts(sp.csr_array(counts)), topics, mixes, group


def hierarchy(arguments: argparse.Namespace) -> None:
    """Adjusted Rand indices of 5 groups, on planted topics and mixes with noise, or on learnt ones."""
    for shared in (0.0, 0.1, 0.3, 0.5):
        scores = []
        for seed in range(arguments.corpora):
            corpus, topics, mixes, group = plant_tree(seed, shared)
            if arguments.learnt:
                settings = {"max_iter": 200, "random_state": seed, "n_jobs": 1, "progress": False}
                model = LDA(len(topics), inference="gibbs", **settings).fit(corpus)
                group = group[linear_sum_assignment(-np.sqrt(model.components_) @ np.sqrt(topics).T)[1]]
                topics, mixes = np.asarray(model.components_, float), model.transform(corpus)
            else:
                rng = np.random.default_rng(seed)
                mixes = np.array([rng.dirichlet(200 * row + 0.05) for row in mixes])
                topics = np.array([rng.dirichlet(2000 * row + 0.05) for row in topics])
            words, use = word_similarity(topics), use_similarity(mixes)
            found = [fcluster(linkage(topics, "ward"), 5, "maxclust")]
            found += [cut_tree(merge_tree(topic_distances(given)), 5) for given in ([words], [words, use])]
            scores.append([adjusted_rand_score(group, labels) for labels in found])
        ward, by_words, both = np.mean(scores, axis=0)
        print(
            f"common words {shared}: Ward {ward:.2f}, words {by_words:.2f}, words and documents {both:.2f}", flush=True
        )


def levels(arguments: argparse.Namespace) -> None:
    corpus, model = Corpus.open(arguments.corpus), TWDA.load(arguments.model)
    model.set_params(n_jobs=1)
    model.effects(corpus[:500], arguments.kind, topics=[0])  # compiles
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    effects = model.effects(corpus, arguments.kind, max_levels=1000)
    fitted = time.process_time() - start
    table = effects.table
    print(f"{effects}: {len(effects.coefficients().filter(topic=0))} columns, {len(table)} contrasts")
    print(f"{fitted:.1f} CPU seconds, with all contrasts {time.process_time() - start:.1f}")
    print(f"{(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024:.0f} MB more memory at the peak")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=["coverage", "hierarchy", "levels"])
    parser.add_argument("--corpora", type=int, default=100)
    parser.add_argument("--output", default="coverage.jsonl")
    parser.add_argument("--learnt", action="store_true")
    parser.add_argument("--corpus")
    parser.add_argument("--model")
    parser.add_argument("--kind", default="author")
    arguments = parser.parse_args()
    {"coverage": coverage, "hierarchy": hierarchy, "levels": levels}[arguments.name](arguments)


if __name__ == "__main__":
    main()
