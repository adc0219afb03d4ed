"""Compare tag prediction with omikuji, napkinXC, one-vs-rest, fastText, neighbours and centroids on a tagged corpus.

    pip install 'tagtopic[rivals]'
    python benchmarks/rivals.py debian.jsonl.gz --kind debtag --groups source --seeds 5
    python benchmarks/rivals.py tmdb10k.jsonl.gz --kind keyword --methods tagtopic,omikuji,centroid
    python benchmarks/rivals.py planted:single
    python benchmarks/rivals.py bibtex-train.arff --test bibtex-test.arff
    python benchmarks/rivals.py train.txt --test test.txt --format extreme

Documents, tags and split are those of predict_tags.py; with --test the split is the given one, of all documents and all
kinds of tags. Each method runs in a process of its own and gets the same word
counts; rivals get tf-idf vectors of unit length. omikuji is Parabel with its default settings (three trees), napkinXC
its probabilistic label tree with its default settings, one-vs-rest scikit-learn's LinearSVC for each tag, fastText one
logistic loss for each tag on 100 dimensions (25 epochs, step size 0.5), which must be installed separately.

``planted:single`` and ``planted:rare`` are drawn instead of read: one of 50 tags for each document, and one to five of
3,000 tags with Zipf frequencies. With --keep the rankings are stored in a folder and used again for the same split and
method, so that one method can be measured again beside the others.

Methods with the suffix ``-longer`` (omikuji, napkinxc, one-vs-rest and fasttext have it) train for twice
as many iterations, to half the tolerance.

Reported for each method: precision at 1, 3 and 5, recall@10, nDCG@10, propensity-scored precision at 5 (Jain et al.
2016, A = 0.55, B = 1.5), recall@10 of the tail (tags on ten training documents or fewer), calibration error of the
first ten tags (of methods that give probabilities), CPU seconds to fit, milliseconds of CPU time to predict one
document, and megabytes at the peak; then the difference of tagtopic to each rival with 95% intervals of a paired
bootstrap over the test documents of all seeds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from predict_tags import groups_of, plain_scores, select, split, vectors_of
from tagtopic import Corpus
from tagtopic._core.optional import require
from tagtopic.corpus.reading.sources import EXTREME

METHODS = ("tagtopic", "omikuji", "napkinxc", "one-vs-rest", "fasttext", "centroid", "neighbours")
N_RANKED = 50
TAIL = 10
BOOTSTRAPS = 1000

Ranking = list[list[tuple[int, float]]]


def run_tagtopic(train: Corpus, test: Corpus) -> tuple[Ranking, float, float]:
    """Return the ranked tags of the test documents, and the CPU times to fit and to predict."""
    from tagtopic.tagging import TagPredictor

    TagPredictor(n_jobs=1).fit(train[:200]).predict_counts(test.counts[:10], n_jobs=1)  # compiles
    started = time.process_time()
    predictor = TagPredictor(n_jobs=1).fit(train)
    fitted = time.process_time()
    ranked = predictor.predict_counts(test.counts, N_RANKED, n_jobs=1)
    done = time.process_time()
    number = {name: j for j, name in enumerate(train.tag_names)}
    return [[(number[tag], p) for tag, p in row] for row in ranked], fitted - started, done - fitted


def write_extreme_classification(path: Path, vectors: Any, tags: Any) -> Any:
    """Write vectors and tags in the extreme-classification text format, without documents that lack words."""
    kept = np.flatnonzero((np.diff(vectors.indptr) > 0) & (np.diff(tags.indptr) > 0))
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{len(kept)} {vectors.shape[1]} {tags.shape[1]}\n")
        for i in kept:
            own = ",".join(map(str, tags.indices[tags.indptr[i] : tags.indptr[i + 1]]))
            row = slice(vectors.indptr[i], vectors.indptr[i + 1])
            pairs = zip(vectors.indices[row], vectors.data[row], strict=True)
            file.write(f"{own} {' '.join(f'{word}:{value:.5f}' for word, value in pairs)}\n")
    return kept


def run_omikuji(train: Corpus, test: Corpus, effort: int = 1) -> tuple[Ranking, float, float]:
    """Train and apply omikuji's Parabel."""
    require("omikuji", extra="rivals", purpose="omikuji as a rival")
    import omikuji  # type: ignore[import-not-found]

    known, asked = vectors_of(train, test)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.txt")
        write_extreme_classification(path, known, sp.csr_array(train.tags))
        started = time.process_time()
        settings = omikuji.Model.default_hyper_param()
        settings.linear_max_iter, settings.linear_eps = effort * settings.linear_max_iter, settings.linear_eps / effort
        model = omikuji.Model.train_on_data(str(path), settings, n_threads=1)
        fitted = time.process_time()
    rows = [
        list(zip(*(array[asked.indptr[i] : asked.indptr[i + 1]].tolist() for array in (asked.indices, asked.data)),
                 strict=True))
        for i in range(asked.shape[0])
    ]  # fmt: skip
    begun = time.process_time()
    ranked = [[(int(tag), float(p)) for tag, p in model.predict(row, top_k=N_RANKED)] for row in rows]
    return ranked, fitted - started, time.process_time() - begun


def run_napkinxc(train: Corpus, test: Corpus, effort: int = 1) -> tuple[Ranking, float, float]:
    """Train and apply napkinXC's probabilistic label tree."""
    require("napkinxc", extra="rivals", purpose="napkinXC as a rival")
    from napkinxc.models import PLT  # type: ignore[import-not-found]

    known, asked = vectors_of(train, test)
    tags = sp.csr_array(train.tags)
    labels = [tags.indices[tags.indptr[i] : tags.indptr[i + 1]].tolist() for i in range(tags.shape[0])]
    with tempfile.TemporaryDirectory() as folder:
        model = PLT(folder, threads=1, liblinear_max_iter=100 * effort, liblinear_eps=0.1 / effort)
        started = time.process_time()
        model.fit(sp.csr_matrix(known), labels)
        fitted = time.process_time()
        ranked = model.predict_proba(sp.csr_matrix(asked), top_k=min(N_RANKED, tags.shape[1]))
        done = time.process_time()
    return [[(int(tag), float(p)) for tag, p in row] for row in ranked], fitted - started, done - fitted


def run_one_vs_rest(train: Corpus, test: Corpus, effort: int = 1) -> tuple[Ranking, float, float]:
    """Train and apply scikit-learn's LinearSVC for each tag."""
    from sklearn.svm import LinearSVC

    known, asked = vectors_of(train, test)
    tags = sp.csc_array(train.tags)
    scores = np.full((asked.shape[0], tags.shape[1]), -9.0, np.float32)
    fit_time = predict_time = 0.0
    for tag in range(tags.shape[1]):
        label = np.zeros(known.shape[0], bool)
        label[tags.indices[tags.indptr[tag] : tags.indptr[tag + 1]]] = True
        if label.any() and not label.all():
            started = time.process_time()
            fitted = LinearSVC(max_iter=1000 * effort, tol=1e-4 / effort).fit(known, label)
            trained = time.process_time()
            scores[:, tag] = fitted.decision_function(asked)
            fit_time, predict_time = fit_time + trained - started, predict_time + time.process_time() - trained
    order = np.argsort(-scores, axis=1)[:, :N_RANKED]
    ranked = [[(int(tag), float(scores[i, tag])) for tag in row] for i, row in enumerate(order)]
    return ranked, fit_time, predict_time


def run_fasttext(train: Corpus, test: Corpus, effort: int = 1) -> tuple[Ranking, float, float]:
    """Train and apply fastText on the words in the order of the vocabulary."""
    require("fasttext", extra="rivals", purpose="fastText as a rival")
    import fasttext  # type: ignore[import-not-found]

    def lines(corpus: Corpus) -> list[str]:
        counts, rows = corpus.counts, range(len(corpus))
        parts = [slice(counts.indptr[i], counts.indptr[i + 1]) for i in rows]
        return [
            " ".join(f"w{word}" for word in np.repeat(counts.indices[part], counts.data[part].astype(int)))
            for part in parts
        ]

    tags = sp.csr_array(train.tags)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.txt")
        with path.open("w", encoding="utf-8") as file:
            for i, line in enumerate(lines(train)):
                own = tags.indices[tags.indptr[i] : tags.indptr[i + 1]]
                file.write(" ".join(f"__label__{tag}" for tag in own) + f" {line}\n")
        started = time.process_time()
        model = fasttext.train_supervised(str(path), loss="ova", epoch=25 * effort, lr=0.5, thread=1, verbose=0)
        fitted = time.process_time()
    texts = lines(test)
    begun = time.process_time()
    # its Python wrapper fails with NumPy 2
    ranked = [
        [(int(tag.removeprefix("__label__")), float(p)) for p, tag in model.f.predict(line, N_RANKED, 0.0, "strict")]
        for line in texts
    ]
    return ranked, fitted - started, time.process_time() - begun


def run_plain(name: str) -> Any:
    """Return the method that ranks by tf-idf centroids or by the 50 nearest neighbours."""

    def run(train: Corpus, test: Corpus) -> tuple[Ranking, float, float]:
        started = time.process_time()
        best = plain_scores(train, test)[name]
        return [[(int(tag), 0.0) for tag in row[:N_RANKED]] for row in best], 0.0, time.process_time() - started

    return run


RUNS: dict[str, Any] = {
    "tagtopic": run_tagtopic,
    "omikuji": run_omikuji,
    "napkinxc": run_napkinxc,
    "one-vs-rest": run_one_vs_rest,
    "fasttext": run_fasttext,
    "centroid": run_plain("centroid"),
    "neighbours": run_plain("neighbours"),
}
RUNS |= {f"{name}-longer": partial(RUNS[name], effort=2) for name in ("omikuji", "napkinxc", "one-vs-rest", "fasttext")}
PROBABILITIES = ("tagtopic", "omikuji", "napkinxc", "fasttext")


def planted_corpus(name: str, documents: int, seed: int) -> Corpus:
    """Draw one of the planted corpora; tags are on 5 documents or more."""
    from tagtopic.datasets import make_tagged_corpus

    n = min(documents, 8000)
    settings: dict[str, Any] = {
        "single": {"n_tags": 50, "n_topics": 40, "tags_per_document": 1},
        "rare": {"n_tags": 3000, "n_topics": 100, "tags_per_document": (1, 5), "tag_exponent": 0.8},
    }[name]
    drawn = make_tagged_corpus(n, n_words=8000, model="twda", random_state=seed, **settings).corpus
    enough = np.flatnonzero(np.bincount(drawn.tags.indices, minlength=drawn.n_tags) >= 5)
    tags = sp.csr_array(drawn.tags)[:, enough]
    rows = np.flatnonzero(np.diff(tags.indptr))
    names = [drawn.tag_names[j] for j in enough]
    return Corpus.from_counts(drawn.counts[rows], tags[rows], words=drawn.words, tag_names=names)


def read_corpus(path: str, format: str | None) -> Corpus:
    """Read texts with the words of predict_tags.py, or counts as they are."""
    is_counted = format == EXTREME or ".arff" in path
    rules: dict[str, Any] = {} if is_counted else {"stop_words": "en", "min_df": 2}
    return Corpus.read(path, format=format, progress=False, **rules)


def official_split(read: Corpus, test: Corpus) -> tuple[Corpus, Corpus]:
    """Return the training documents with tags, and the test documents with tags of these."""
    train = read[np.flatnonzero(np.diff(read.tags.indptr))]
    aligned = test.align(train.words, train.tag_names).corpus
    return train, aligned[np.flatnonzero(np.diff(aligned.tags.indptr))]


def fingerprint(train: Corpus, test: Corpus, method: str) -> str:
    """Return a name for the results of a method on a split."""
    digest = hashlib.sha256()
    for part in (train.counts, train.tags, test.counts, test.tags):
        for array in (part.indptr, part.indices, part.data):
            digest.update(np.ascontiguousarray(array, np.int64).tobytes())
    return f"{method}-{digest.hexdigest()[:16]}.json"


def child(method: str, source: str, target: str) -> None:
    """Run one method on a pickled split and write its ranking and costs."""
    train, test = pickle.loads(Path(source).read_bytes())
    ranked, fit_time, predict_time = RUNS[method](train, test)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    costs = {"fit s": fit_time, "predict ms": 1000 * predict_time / len(test), "MB": peak}
    Path(target).write_text(json.dumps({"ranked": ranked, "costs": costs}), encoding="utf-8")


def per_document(ranked: Ranking, train: Corpus, test: Corpus) -> dict[str, Any]:
    """Return sums for each test document, from which the measures are ratios of totals."""
    counts = np.bincount(train.tags.indices, minlength=train.n_tags)
    a, b = 0.55, 1.5
    inverse = 1 + (np.log(len(train)) - 1) * (b + 1) ** a * (counts + b) ** -a
    discounts = 1 / np.log2(np.arange(2, 12))
    names = ("P@1", "P@3", "P@5", "recall@10", "nDCG@10", "PSP@5", "PSP@5 best", "tail", "tail tags")
    table = {name: np.zeros(len(test)) for name in names}
    for i, row in enumerate(ranked):
        own = set(test.tags.indices[test.tags.indptr[i] : test.tags.indptr[i + 1]].tolist())
        tags = [tag for tag, _ in row]
        hits = np.array([tag in own for tag in tags[:10]], float)
        for k in (1, 3, 5):
            table[f"P@{k}"][i] = hits[:k].sum() / k
        table["recall@10"][i] = hits.sum() / len(own)
        table["nDCG@10"][i] = (hits * discounts[: len(hits)]).sum() / discounts[: min(10, len(own))].sum()
        table["PSP@5"][i] = sum(inverse[tag] for tag in tags[:5] if tag in own)
        table["PSP@5 best"][i] = sum(sorted((inverse[tag] for tag in own), reverse=True)[:5])
        rare = {tag for tag in own if counts[tag] <= TAIL}
        table["tail"][i], table["tail tags"][i] = len(rare & set(tags[:10])), len(rare)
    return table


def measures_of(table: dict[str, Any], rows: Any = slice(None)) -> dict[str, float]:
    """Return the measures over some documents."""
    found = {name: float(table[name][rows].mean()) for name in ("P@1", "P@3", "P@5", "recall@10", "nDCG@10")}
    found["PSP@5"] = float(table["PSP@5"][rows].sum() / table["PSP@5 best"][rows].sum())
    found["tail recall@10"] = float(table["tail"][rows].sum() / max(table["tail tags"][rows].sum(), 1))
    return found


def calibration_error(ranked: Ranking, test: Corpus) -> float:
    """Return the expected calibration error of the first ten tags, in ten bins."""
    own = [set(test.tags.indices[test.tags.indptr[i] : test.tags.indptr[i + 1]].tolist()) for i in range(len(test))]
    pairs = [(p, tag in tags) for row, tags in zip(ranked, own, strict=True) for tag, p in row[:10]]
    given, right = np.array(pairs, float).T
    bins = np.minimum((given * 10).astype(int), 9)
    return float(sum(abs(given[bins == b].sum() - right[bins == b].sum()) for b in range(10)) / len(given))


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="a file, planted:single or planted:rare")
    parser.add_argument("--kind", help="one kind of tag, or several separated by commas")
    parser.add_argument("--least", type=int, default=5)
    parser.add_argument("--documents", type=int, default=10**9)
    parser.add_argument("--groups", help="a column; documents with the same value stay together")
    parser.add_argument("--test", help="a file of test documents: an official split, of all kinds of tags")
    parser.add_argument("--format", help="of the files, if not given by their names")
    parser.add_argument("--methods", default=",".join(METHODS), help=", ".join(METHODS))
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--python", default=sys.executable, help="the interpreter with the rivals")
    parser.add_argument("--validate", action="store_true", help="hold out a part of the training documents instead")
    parser.add_argument("--keep", type=Path, help="a folder for rankings, which are used again")
    arguments = parser.parse_args()
    planted = arguments.corpus.partition(":")[2] if arguments.corpus.startswith("planted:") else None
    if planted is None and (arguments.kind is None) == (arguments.test is None):
        parser.error("a corpus that is read needs either --kind or --test")
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    groups = official = None
    if planted is None:
        read = read_corpus(arguments.corpus, arguments.format)
        official = read_corpus(arguments.test, arguments.format) if arguments.test else None
        groups = groups_of(arguments.corpus, arguments.groups, read)
    tables: dict[str, list[dict[str, Any]]] = {}
    costs: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(arguments.seed, arguments.seed + arguments.seeds):
            if official:
                corpus = read
            elif planted is None:
                corpus = select(read, arguments.kind, arguments.least, arguments.documents, seed)
            else:
                corpus = planted_corpus(planted, arguments.documents, seed)
            train, test = official_split(read, official) if official else split(corpus, seed, groups)
            if arguments.validate:
                train, test = split(train, seed, groups)
            source = Path(folder, "split.pkl")
            source.write_bytes(pickle.dumps((train, test)))
            sizes = f"{len(train)} training documents, {len(test)} held out, {corpus.n_tags} tags"
            print(f"seed {seed}: {sizes}", flush=True)
            for method in arguments.methods.split(","):
                target = Path(arguments.keep or folder, fingerprint(train, test, method))
                if not (arguments.keep and target.exists()):
                    command = [arguments.python, __file__, "--child", method, str(source), str(target)]
                    done = subprocess.run(command, capture_output=True, text=True, check=False)
                    if done.returncode:
                        print(f"  {method} failed: {done.stderr.strip().splitlines()[-1:]}", flush=True)
                        continue
                answer = json.loads(target.read_text(encoding="utf-8"))
                tables.setdefault(method, []).append(per_document(answer["ranked"], train, test))
                found = measures_of(tables[method][-1])
                if method.removesuffix("-longer") in PROBABILITIES:
                    answer["costs"]["calibration error"] = calibration_error(answer["ranked"], test)
                costs.setdefault(method, []).append(answer["costs"])
                values = {**found, **answer["costs"]}
                print(f"  {method}: " + ", ".join(f"{name} {value:.4g}" for name, value in values.items()), flush=True)
    joined = {
        method: {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        for method, parts in tables.items()
    }
    for method, table in joined.items():
        spent = {name: np.mean([cost[name] for cost in costs[method]]) for name in costs[method][0]}
        found = {**measures_of(table), **spent}
        print(f"all seeds, {method}: " + ", ".join(f"{name} {value:.4g}" for name, value in found.items()))
    random = np.random.default_rng(0)
    ours = joined.get("tagtopic")
    for method, table in joined.items():
        if ours is None or method == "tagtopic" or len(table["P@1"]) != len(ours["P@1"]):
            continue
        draws = []
        for _ in range(BOOTSTRAPS):
            rows = random.integers(len(ours["P@1"]), size=len(ours["P@1"]))
            mine, theirs = measures_of(ours, rows), measures_of(table, rows)
            draws.append([mine[name] - theirs[name] for name in mine])
        low, high = np.percentile(draws, [2.5, 97.5], axis=0)
        names = list(measures_of(ours))
        print(
            f"tagtopic - {method}, 95%: "
            + ", ".join(f"{name} {a:+.4f} to {b:+.4f}" for name, a, b in zip(names, low, high, strict=True))
        )


if __name__ == "__main__":
    main()
