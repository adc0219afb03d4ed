"""Measure how many names of topics sit on the right planted topic after a refit with 10% more documents.

    python benchmarks/refits.py
    python benchmarks/refits.py --inference cvb0 --max-iter 60

A model of the first documents is fitted, and its topics that are similar to a planted topic are named after it. Then a
model of all documents is fitted with another seed: from a random start, with names by ``edit``; from the named topics
of the ledger; and from the earlier model. A name is right if the planted topic of this name is the one most similar to
the topic that bears it. Names that are not right should be reported as doubtful. Wrong ones are printed, with the
similarities of the topic before and after the refit to the two most similar planted topics.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from tagtopic import TWDA, Ledger
from tagtopic.curation.matching import match_topics, similarity_of_topics
from tagtopic.datasets import make_tagged_corpus

# topics, documents, document lengths, concentration of the words of topics
CORPORA = (
    (20, 2200, (50, 150), 0.1),
    (30, 4400, (50, 150), 0.05),
    (10, 1100, (30, 80), 0.05),
    (40, 3300, (50, 150), 0.05),
)
FOUND = 0.5
"""The similarity from which on a topic counts as a planted one."""


def similarity(model: Any, truth: Any, words: Any) -> Any:
    """Return the similarities of a model's topics and planted ones."""
    frequencies = model.word_counts_ / model.word_counts_.sum()
    return similarity_of_topics(model.components_, model.words_, truth, words, frequencies)


def name_topics(model: Any, truth: Any, words: Any, folder: Path) -> Ledger:
    """Name the topics that a model has found."""
    ledger = Ledger.open(folder / "decisions.jsonl")
    for topic, match in enumerate(match_topics(similarity(model, truth, words))):
        if match.similarity >= FOUND:
            ledger.record("topic-rename", topic=model.topic_reference(topic), name=str(match.topic))
    return ledger


def count(start: str, model: Any, old: Any, ledger: Ledger, truth: Any, words: Any) -> Counter[str]:
    """Count the names of a ledger that are right, doubtful or wrong in a model."""
    after, before = similarity(model, truth, words), similarity(old, truth, words)
    planted = after.argmax(axis=1)
    numbers = {name: topic for topic, name in enumerate(model.topic_names_) if name}
    found: Counter[str] = Counter()
    for name, reference in ledger.state.named_topics.items():
        if name not in numbers:
            found["doubtful"] += 1
        elif planted[numbers[name]] == int(name):
            found["right"] += 1
        else:
            found["wrong"] += 1
            were, are = (np.sort(row)[:-3:-1].round(2) for row in (before[reference.number], after[numbers[name]]))
            print(f"{start}: topic {numbers[name]} is wrong; before {were}, after {are}", flush=True)
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inference", default="auto")
    parser.add_argument("--max-iter", type=int, help="iterations or sweeps; the default is the model's")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3])
    given = parser.parse_args()
    settings: dict[str, Any] = {"inference": given.inference, "tag_predictor": False, "progress": False}
    if given.max_iter is not None:
        settings["max_iter"] = given.max_iter
    warnings.simplefilter("ignore")  # of doubtful names, which are counted
    totals: dict[str, Counter[str]] = {}
    for n_topics, n_documents, length, concentration in CORPORA:
        for seed in given.seeds:
            planted = make_tagged_corpus(
                n_documents, n_topics, 100, 1500, model="twda", document_length=length,
                word_concentration=concentration, random_state=seed,
            )  # fmt: skip
            corpus, truth = planted.corpus, np.asarray(planted.topic_words)
            old = TWDA(n_topics, random_state=seed, **settings).fit(corpus[: int(n_documents / 1.1)])
            with tempfile.TemporaryDirectory() as folder:
                ledger = name_topics(old, truth, corpus.words, Path(folder))
            new = TWDA(n_topics, random_state=seed + 100, **settings)
            fits = {
                "random start": new.fit(corpus).edit(ledger),
                "named topics": TWDA(**new.get_params()).fit(corpus, ledger=ledger),
                "earlier model": TWDA(**{**new.get_params(), "initial": old.edit(ledger)}).fit(corpus),
            }
            for start, model in fits.items():
                totals.setdefault(start, Counter()).update(count(start, model, old, ledger, truth, corpus.words))
            print(f"{n_topics} topics, seed {seed}; so far:")
            for start, found in totals.items():
                n, rest = found.total(), found["doubtful"] + found["wrong"]
                share = f"right {found['right'] / n:.3f}"
                print(f"  {start:14} names {n}  {share}  rest {rest}  doubtful {found['doubtful']}", flush=True)


if __name__ == "__main__":
    main()
