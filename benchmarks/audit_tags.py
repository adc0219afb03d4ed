"""Measure how well the audit finds wrong tags that are added to documents, beside cleanlab.

    python benchmarks/audit_tags.py acl.jsonl.gz --kind author --least 5 --documents 27435 --seeds 5
    python benchmarks/audit_tags.py tmdb10k.jsonl.gz --kind keyword --noise confusable --rivals
    python benchmarks/audit_tags.py debian.jsonl.gz --kind section --least 20 --documents 8000 --replace
    python benchmarks/audit_tags.py debian.jsonl.gz --kind debtag,section,maintainer --having debtag --documents 5000
    python benchmarks/audit_tags.py planted:single --kind tag --replace

Documents and tags are selected as in predict_tags.py. To a share of the (document, tag) entries a wrong tag is added, a
model is fitted on the noisy corpus, and all its tags are audited: training documents are judged without themselves.

uniform
    a tag drawn uniformly from all tags;
frequency
    a tag drawn with probability proportional to its number of documents;
confusable
    one of the five tags of the same kind that are most similar to the entry's tag, by the cosine of the sums of the
    tags' tf-idf vectors over the original documents.

With --replace a wrong tag is put in place of the right one: for documents with one label each.

Reported are the AUROC of the wrong tags and the precision among as many entries as are wrong, least plausible first;
and the expected calibration error of the suspicion, the probability that an entry is wrong, in ten bins.
With --told two regressions that are told the wrong entries of two thirds of the documents, a logistic one for each kind
of tag and gradient boosting, rank the rest by the audit's features (without those of siblings): what could be reached.
With --rivals cleanlab ranks the same entries (its three multi-label scores, from probabilities of one-vs-rest logistic
regressions in five-fold cross-validation), and so does the weight of a tag relative to its expected weight.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from predict_tags import select, tf_idf
from rivals import planted_corpus
from tagtopic import TWDA, Corpus
from tagtopic.corpus.tags import kinds_of

NOISE = ("uniform", "frequency", "confusable")
N_CONFUSABLE = 5


def having(corpus: Corpus, kind: str) -> Corpus:
    """Return the documents that have a tag of a kind, with all their tags."""
    names, numbers = kinds_of(corpus.tag_names)
    of_kind = sp.csr_array(sp.csr_array(corpus.tags)[:, np.flatnonzero(numbers == names.index(kind))])
    rows = np.flatnonzero(np.diff(of_kind.indptr))
    names_and_ids = {"words": corpus.words, "tag_names": corpus.tag_names, "ids": [corpus.ids[i] for i in rows]}
    return Corpus.from_counts(corpus.counts[rows], sp.csr_array(corpus.tags)[rows], **names_and_ids)


def similar_tags(corpus: Corpus, n: int = N_CONFUSABLE) -> Any:
    """Return the most similar tags of each tag that are of its kind: (tags, n), -1 where there are fewer."""
    document_frequency = np.bincount(corpus.counts.indices, minlength=corpus.n_words)
    idf = (np.log((1 + len(corpus)) / (1 + document_frequency)) + 1).astype(np.float32)
    sums = sp.csr_array(sp.csr_array(corpus.tags, dtype=np.float32).T @ tf_idf(corpus.counts, idf))
    lengths = np.maximum(np.sqrt(np.asarray(sums.multiply(sums).sum(axis=1)).ravel()), 1e-12)
    _, kinds = kinds_of(corpus.tag_names)
    found = np.full((corpus.n_tags, n), -1)
    for first in range(0, corpus.n_tags, 256):
        cosine = np.asarray((sums[first : first + 256] @ sums.T).todense()) / lengths
        for row, values in enumerate(cosine):
            values[(kinds != kinds[first + row]) | (np.arange(corpus.n_tags) == first + row)] = 0
            best = np.argsort(-values, kind="stable")[:n]
            best = best[values[best] > 0]
            found[first + row, : len(best)] = best
    return found


def with_noise(
    corpus: Corpus, noise: str, share: float, random: np.random.Generator, *, replace: bool = False
) -> tuple[Corpus, Any]:
    """Add wrong tags, or replace right ones; return the corpus, and the 0/1 matrix of the tags that were added."""
    own = sp.csr_array(corpus.tags)
    rows = np.repeat(np.arange(len(corpus)), np.diff(own.indptr))
    chosen = random.permutation(own.nnz)[: round(share * own.nnz)]
    counts = np.bincount(own.indices, minlength=corpus.n_tags)
    if noise == "confusable":
        drawn = similar_tags(corpus)[own.indices[chosen], random.integers(N_CONFUSABLE, size=len(chosen))]
    else:
        weights = (counts > 0) if noise == "uniform" else counts
        drawn = random.choice(corpus.n_tags, len(chosen), p=weights / weights.sum())
    chosen, drawn = chosen[drawn >= 0], drawn[drawn >= 0]
    added = sp.csr_array((np.ones(len(drawn), np.int8), (rows[chosen], drawn)), shape=own.shape)
    added = sp.csr_array((added > 0).astype(np.int8) > own).astype(np.int8)
    if replace:
        has_wrong = np.asarray(added[rows[chosen], drawn]).ravel() > 0
        gone = (rows[chosen][has_wrong], own.indices[chosen][has_wrong])
        own = sp.csr_array(own - sp.csr_array((np.ones(len(gone[0]), np.int8), gone), shape=own.shape))
        own.eliminate_zeros()
    names = {"words": corpus.words, "tag_names": corpus.tag_names, "ids": corpus.ids}
    return Corpus.from_counts(corpus.counts, sp.csr_array(own + added), **names), added


def measures(wrong: Any, suspicion: Any) -> tuple[float, float, float, float]:
    """Return AUROC, precision at the number of wrong entries, at 20 and at 100."""
    order = np.argsort(-suspicion, kind="stable")
    at = [float(wrong[order[:n]].mean()) for n in (int(wrong.sum()), 20, 100)]
    return float(roc_auc_score(wrong, suspicion)), at[0], at[1], at[2]


def calibration_error(wrong: Any, probability: Any) -> float:
    """Return the expected calibration error in ten bins."""
    bins = np.minimum((probability * 10).astype(int), 9)
    return float(sum(abs((probability - wrong)[bins == b].sum()) for b in range(10)) / len(wrong))


def cleanlab_scores(corpus: Corpus, seed: int) -> dict[str, Any]:
    """Return for each entry of the corpus its suspicion by each of cleanlab's label quality scores."""
    from cleanlab.rank import get_label_quality_scores
    from sklearn.linear_model import SGDClassifier
    from sklearn.model_selection import KFold

    document_frequency = np.bincount(corpus.counts.indices, minlength=corpus.n_words)
    idf = (np.log((1 + len(corpus)) / (1 + document_frequency)) + 1).astype(np.float32)
    vectors, tags = tf_idf(corpus.counts, idf), sp.csc_array(corpus.tags)
    probabilities = np.zeros(corpus.tags.shape, np.float32)
    for train, test in KFold(5, shuffle=True, random_state=seed).split(np.arange(len(corpus))):
        for tag in range(corpus.n_tags):
            label = np.zeros(len(corpus), bool)
            label[tags.indices[tags.indptr[tag] : tags.indptr[tag + 1]]] = True
            if label[train].any():
                fit = SGDClassifier(loss="log_loss", alpha=1e-5, max_iter=20, random_state=seed)
                probabilities[test, tag] = fit.fit(vectors[train], label[train]).predict_proba(vectors[test])[:, 1]
    given = probabilities[np.repeat(np.arange(len(corpus)), np.diff(corpus.tags.indptr)), corpus.tags.indices]
    both = np.clip(np.stack([1 - given, given], axis=1), 1e-6, 1 - 1e-6)
    labels = np.ones(len(given), int)
    methods = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
    return {f"cleanlab, {name}": -get_label_quality_scores(labels, both, method=name) for name in methods}


def told_scores(model: TWDA, corpus: Corpus, is_wrong: Any) -> dict[str, Any]:
    """Return for each entry of the corpus its suspicion by regressions that are told the errors of other documents."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from tagtopic.tagging.audit_features import AuditEntries, TrainingDocuments, audit_features
    from tagtopic.tagging.training_index import document_vectors

    predictor, word_topics = model.tag_predictor_, model.components_.T * model.topic_shares_
    word_topics = (word_topics / np.maximum(word_topics.sum(axis=1, keepdims=True), 1e-30)).astype(np.float32)
    training = TrainingDocuments.from_training_index(predictor.index_, word_topics)
    vectors, tags = document_vectors(corpus.counts, predictor.idf_), sp.csr_array(corpus.tags)
    entries = AuditEntries(vectors, training.rows_of(vectors, tags, np.asarray(model.word_counts_) > 0), tags, tags)
    features, kinds = audit_features(training, entries, None), training.tag_kinds[tags.indices]
    is_kind = (kinds[:, None] == np.unique(kinds)).astype(float)
    by_kind = np.hstack([is_kind, *(features * column[:, None] for column in is_kind.T)])
    found = {"told, logistic": np.zeros(len(is_wrong)), "told, boosting": np.zeros(len(is_wrong))}
    for train, test in GroupKFold(3).split(features, groups=entries.owner):
        logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
        boosting = HistGradientBoostingClassifier(
            max_iter=200, learning_rate=0.07, max_leaf_nodes=15, l2_regularization=1.0, random_state=0
        )
        for name, fit, values in (
            ("told, logistic", logistic, by_kind),
            ("told, boosting", boosting, np.hstack([features, is_kind])),
        ):
            found[name][test] = fit.fit(values[train], is_wrong[train]).predict_proba(values[test])[:, 1]
    return found


def measure(corpus: Corpus, noise: str, arguments: argparse.Namespace, seed: int) -> dict[str, tuple[float, ...]]:
    """Return the measures of each score."""
    random = np.random.default_rng(seed)
    noisy, added = with_noise(corpus, noise, arguments.share, random, replace=arguments.replace)
    started = time.process_time()
    model = TWDA(arguments.topics, max_iter=arguments.iterations, random_state=seed, progress=False).fit(noisy)
    fitted = time.process_time()
    report = model.audit_tags(noisy)
    done = time.process_time()
    entries = report.entries
    number = {name: j for j, name in enumerate(noisy.tag_names)}
    tags = np.array([number[name] for name in entries.column("tag")])
    wrong = np.asarray(added[entries.column("document_number"), tags]).ravel() > 0
    ratio = entries.column("weight") / entries.column("expected_weight")
    found = {
        "looks random": measures(wrong, -entries.column("plausibility")),
        "wrong sibling": measures(wrong, entries.column("wrong_sibling")),
        "both": measures(wrong, entries.column("suspicion")),
        "weight / expected": measures(wrong, -ratio),
    }
    print(f"  fit {fitted - started:.0f} s, audit {done - fitted:.0f} s of CPU time; {wrong.mean():.3f} are wrong")
    suspicion, plausibility = entries.column("suspicion"), entries.column("plausibility")
    print(f"  {noise}: calibration error of the suspicion {calibration_error(wrong, suspicion):.3f}")
    for name, values in (("suspicion", suspicion), ("plausibility", plausibility)):
        print(f"    median {name}: wrong {np.median(values[wrong]):.3f}, right {np.median(values[~wrong]):.3f}")
    own = sp.csr_array(noisy.tags)
    is_wrong = np.asarray(added[np.repeat(np.arange(len(noisy)), np.diff(own.indptr)), own.indices]).ravel() > 0
    if arguments.told:
        found |= {name: measures(is_wrong, scores) for name, scores in told_scores(model, noisy, is_wrong).items()}
    if arguments.rivals:
        found |= {name: measures(is_wrong, scores) for name, scores in cleanlab_scores(noisy, seed).items()}
    for name, values in found.items():
        print(f"  {noise}, {name}: AUROC %.3f, precision at the number planted %.3f, at 20 %.2f, at 100 %.2f" % values)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="a file, planted:single or planted:rare")
    parser.add_argument("--kind", required=True, help="one kind of tag, or several separated by commas")
    parser.add_argument("--least", type=int, default=5)
    parser.add_argument("--having", metavar="KIND", help="only documents that have a tag of this kind")
    parser.add_argument("--documents", type=int, default=10**9)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--noise", default=",".join(NOISE), help="uniform, frequency, confusable")
    parser.add_argument("--share", type=float, default=0.1, help="wrong tags for each tag")
    parser.add_argument("--replace", action="store_true", help="replace right tags instead of adding to them")
    parser.add_argument("--told", action="store_true", help="also measure regressions that are told the errors")
    parser.add_argument("--rivals", action="store_true", help="also measure cleanlab, which must be installed")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    planted = arguments.corpus.partition(":")[2] if arguments.corpus.startswith("planted:") else None
    read = None if planted else Corpus.read(arguments.corpus, stop_words="en", min_df=2, progress=False)
    if read is not None and arguments.having:
        read = having(read, arguments.having)
    runs: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for seed in range(arguments.seed, arguments.seed + arguments.seeds):
        if read is None:
            corpus = planted_corpus(str(planted), arguments.documents, seed)
        else:
            corpus = select(read, arguments.kind, arguments.least, arguments.documents, seed)
        print(f"seed {seed}: {len(corpus)} documents, {corpus.n_tags} tags", flush=True)
        for noise in arguments.noise.split(","):
            for name, values in measure(corpus, noise, arguments, seed).items():
                runs.setdefault((noise, name), []).append(values)
    for (noise, name), values in runs.items():
        means, spreads = np.mean(values, axis=0), np.std(values, axis=0)
        pairs = ", ".join(f"{mean:.3f} ({spread:.3f})" for mean, spread in zip(means, spreads, strict=True))
        print(f"mean of {len(values)}, {noise}, {name}: {pairs}")


if __name__ == "__main__":
    main()
