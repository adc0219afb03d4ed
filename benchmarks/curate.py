"""Measure how many planted errors a simulated curator repairs with a number of decisions, by the order of questions.

    python benchmarks/curate.py tmdb10k.jsonl.gz --kind keyword --least 10
    python benchmarks/curate.py debian.jsonl.gz --kind debtag --least 20 --documents 8000

Of the tags of documents, a share is replaced by a confusable tag (a wrong tag), and as many are removed (a missing
tag). A confusable tag is drawn from the five whose documents have the most similar words (cosine of mean tf-idf
vectors). The curator knows the tags before that: a candidate is accepted if it restores them. Near-duplicates are not
asked, because none are planted. Orders:

- random: the candidates of the queue in random order (the mean of 20);
- cleanlab: all cells of the document-tag matrix by cleanlab's label quality score (self-confidence) of out-of-fold
  probabilities of one logistic regression per tag on tf-idf vectors (scikit-learn, five folds);
- queue: ``ReviewQueue``, which learns from each decision; and with its initial order kept.

The order of cleanlab needs cleanlab 2.9 to be importable; it is left out otherwise.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize

from tagtopic import TWDA, Corpus, Ledger
from tagtopic.curation import Candidate, ReviewQueue
from tagtopic.curation.queue import MISSING, SUSPICIOUS, candidates_of

CONFUSABLE = 5
FOLDS = 5
RANDOM_ORDERS = 20

Cell = tuple[int, int]


class Truth:
    """The corpus with planted errors, and the answers of the curator."""

    def __init__(self, corpus: Corpus, share: float, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.original = sp.csr_array(corpus.tags)
        vectors = TfidfTransformer(sublinear_tf=True).fit_transform(corpus.counts)
        near = _confusable(vectors, self.original)
        rows, tags = self.original.nonzero()
        n = round(share * len(rows) / 2)
        chosen = random.permutation(len(rows))[: 2 * n]
        cells: set[Cell] = {(int(row), int(tag)) for row, tag in zip(rows, tags, strict=True)}
        self.wrong: set[Cell] = set()
        self.missing: set[Cell] = set()
        for entry in chosen[:n]:
            row, tag = int(rows[entry]), int(tags[entry])
            other = int(random.choice(near[tag]))
            if (row, other) not in cells and self.original[row, other] == 0:
                cells.remove((row, tag))
                cells.add((row, other))
                self.wrong.add((row, other))
        for entry in chosen[n : n + len(self.wrong)]:
            cell = (int(rows[entry]), int(tags[entry]))
            cells.remove(cell)
            self.missing.add(cell)
        left = np.array(sorted(cells))
        noisy = sp.csr_array((np.ones(len(left), np.int8), (left[:, 0], left[:, 1])), shape=self.original.shape)
        names = {"words": corpus.words, "tag_names": corpus.tag_names, "ids": corpus.ids}
        self.corpus = Corpus.from_counts(corpus.counts, noisy, **names)
        self.vectors = sp.csr_array(vectors)
        self.columns = {name: number for number, name in enumerate(corpus.tag_names)}

    def accepts(self, kind: str, cell: Cell) -> bool:
        """Whether the curator's answer is yes."""
        has = self.original[cell] > 0
        return bool(has if kind == MISSING else not has)

    def repairs(self, cell: Cell) -> bool:
        """Whether an accepted candidate repairs a planted error."""
        return cell in self.wrong or cell in self.missing

    def cell(self, candidate: Candidate) -> Cell:
        """The document and the tag of a candidate."""
        return candidate.document_number, self.columns[candidate.tag]


def _confusable(vectors: Any, tags: Any) -> Any:
    """The tags whose documents have the most similar words, per tag."""
    means = normalize(sp.csr_array(tags.T.astype(np.float64)) @ vectors)
    similarity = np.asarray((means @ means.T).todense())
    np.fill_diagonal(similarity, -1)
    return np.argsort(-similarity, axis=1, kind="stable")[:, :CONFUSABLE]


def read(path: str, kind: str, least: int, documents: int | None, seed: int) -> Corpus:
    """Documents that have tags of a kind, without near-duplicates."""
    corpus = Corpus.read(path, keep_kinds=[kind], min_tag_documents=least, progress=False)
    corpus = corpus.without_near_duplicates()
    corpus = corpus[np.flatnonzero(np.diff(corpus.tags.indptr) > 0)]
    if documents is not None and documents < len(corpus):
        corpus = corpus[np.sort(np.random.default_rng(seed).permutation(len(corpus))[:documents])]
    used = np.bincount(corpus.tags.indices, minlength=corpus.n_tags) >= max(least, FOLDS)
    names = [name for name, is_used in zip(corpus.tag_names, used, strict=True) if is_used]
    return corpus.align(corpus.words, names).corpus


def by_queue(truth: Truth, candidates: list[Candidate], decisions: int, *, learn: bool) -> int:
    """The repaired errors in the order of the review queue."""
    with tempfile.TemporaryDirectory() as folder:
        queue = ReviewQueue(candidates, Ledger.open(Path(folder) / "decisions.jsonl"))
        fixed = queue.upcoming(decisions)
        repaired = 0
        for step in range(decisions):
            candidate = queue.next() if learn else fixed[step]
            if candidate is None:
                break
            cell = truth.cell(candidate)
            accept = truth.accepts(candidate.kind, cell)
            repaired += accept and truth.repairs(cell)
            if learn:
                queue.decide(candidate, accept=accept)
        return repaired


def by_chance(truth: Truth, candidates: list[Candidate], decisions: int, seed: int) -> float:
    """The repaired errors in random order, on average."""
    random = np.random.default_rng(seed)
    repairs = np.array([truth.repairs(truth.cell(candidate)) for candidate in candidates])
    return float(np.mean([repairs[random.permutation(len(repairs))[:decisions]].sum() for _ in range(RANDOM_ORDERS)]))


def by_cleanlab(truth: Truth, decisions: int, seed: int) -> int | None:
    """The repaired errors in the order of cleanlab's scores; None without cleanlab."""
    try:
        from cleanlab.internal.multilabel_scorer import ClassLabelScorer, MultilabelScorer
    except ImportError:
        return None
    labels = np.asarray(truth.corpus.tags.todense()).astype(np.int64)
    probabilities = np.zeros(labels.shape)
    for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(labels):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of tags that no training document has
            model = OneVsRestClassifier(LogisticRegression(C=10, solver="liblinear"))
            model.fit(truth.vectors[train], labels[train])
            probabilities[test] = model.predict_proba(truth.vectors[test])
    scorer = MultilabelScorer(base_scorer=ClassLabelScorer.SELF_CONFIDENCE)
    scores = scorer.get_class_label_quality_scores(labels, probabilities)
    first = np.argsort(scores, axis=None, kind="stable")[:decisions]
    cells = [divmod(int(place), labels.shape[1]) for place in first]
    return sum(truth.repairs(cell) for cell in cells)


def main() -> None:
    """Print a line per seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--kind", required=True, help="kind of tags")
    parser.add_argument("--least", type=int, default=10, help="documents of a tag, at least")
    parser.add_argument("--documents", type=int, help="a sample of this size")
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--inference", default="auto", help="inference method of the model")
    parser.add_argument("--share", type=float, default=0.1, help="share of tags with an error")
    parser.add_argument("--decisions", type=int, default=200)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    given = parser.parse_args()
    for seed in given.seeds:
        truth = Truth(read(given.path, given.kind, given.least, given.documents, seed), given.share, seed)
        corpus = truth.corpus
        model = TWDA(given.topics, inference=given.inference, random_state=seed, progress=False).fit(corpus)
        found = candidates_of(model.audit_tags(corpus), model.predict_tags(corpus, 5), corpus)
        candidates = [candidate for candidate in found if candidate.kind in (SUSPICIOUS, MISSING)]
        chance = by_chance(truth, candidates, given.decisions, seed)
        learnt, fixed = (by_queue(truth, candidates, given.decisions, learn=learn) for learn in (True, False))
        print(
            f"seed {seed}: {len(corpus):,} documents, {corpus.n_tags:,} tags, {len(truth.wrong):,} wrong and "
            f"{len(truth.missing):,} missing planted, {len(candidates):,} candidates; repaired by {given.decisions} "
            f"decisions: random {chance:.1f}, queue {learnt} (order kept: {fixed})",
            flush=True,
        )
        print(f"seed {seed}: cleanlab {by_cleanlab(truth, given.decisions, seed)}", flush=True)


if __name__ == "__main__":
    main()
