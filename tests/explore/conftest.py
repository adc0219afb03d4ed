"""Fixtures: a small model of letters by three authors with documents and texts, and a model with hostile names."""

import random
from dataclasses import replace

import pytest

from tagtopic import LDA, TWDA, Corpus
from tagtopic.datasets import make_effects_corpus
from tagtopic.explore import Explorer

SUBJECTS = {
    "author:Ada": "engine number machine calculate wheel gear punch card",
    "author:Mary": "monster storm lightning laboratory creature night fear ice",
    "author:Jane": "marriage ball letter sister estate fortune pride dance",
}

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "kind:' onmouseover='alert(4)",
    "{{7*7}}{%print(7)%}",
    "\u202eright-to-left\u202c עברית",
    "=HYPERLINK(1)",
    "🤖👩\u200d🚀",
    "x" * 10_000,
    "../../etc/passwd",
    "&lt;b&gt;&amp;",
    "\u2028line\u2029",
)


def letters(n: int = 60) -> tuple[list[str], list[list[str]]]:
    """Documents of three authors with disjoint vocabularies, over four years."""
    rng = random.Random(0)
    texts, tags = [], []
    for i in range(n):
        tag, words = list(SUBJECTS.items())[i % 3]
        texts.append("Of " + ", ".join(rng.choices(words.title().split(), k=24)) + "!")
        tags.append([tag, f"year:{1800 + i % 4}"])
    tags[0] = ["author:Mary", "year:1800"]  # its words are Ada's
    return texts, tags


@pytest.fixture(scope="session")
def explorer() -> Explorer:
    texts, tags = letters()
    corpus = Corpus.from_texts(texts, tags, ids=[f"letter {i}" for i in range(len(texts))], min_df=1)
    model = TWDA(3, random_state=0, progress=False, n_jobs=1, max_iter=30).fit(corpus)
    other = TWDA(4, random_state=1, progress=False, n_jobs=1, max_iter=10).fit(corpus)
    return Explorer(model, corpus, texts=texts, name="letters", other=other, other_name="four topics")


@pytest.fixture(scope="session")
def bare(explorer: Explorer) -> Explorer:
    """The same model without documents."""
    return Explorer(explorer.model, name="bare")


@pytest.fixture(scope="session")
def analysed() -> Explorer:
    """A model with draws of documents with a year, a venue and a region; a name of a topic would be markup."""
    corpus = make_effects_corpus(150, n_topics=4, n_words=100, years=(2000, 2004), random_state=1).corpus
    model = LDA(4, inference="gibbs", max_iter=40, thinning=5, n_draws=3, random_state=0).fit(corpus)
    model = model.hierarchy([4]).model(4)
    model._edits = replace(model._edits, names=("<b>one</b>", "two", "three", "four"))
    return Explorer(model, corpus, name="analysed")


@pytest.fixture(scope="session")
def hostile() -> Explorer:
    """A model whose tags, words, ids, texts and name are injection attempts."""
    rng = random.Random(0)
    words = [name.replace(" ", "_") for name in HOSTILE]
    texts = [" ".join(rng.choices(words, k=12)) for _ in range(48)]
    tags = [[HOSTILE[i % len(HOSTILE)], HOSTILE[(i + 1 + i // 12) % len(HOSTILE)]] for i in range(48)]
    ids = [f"{HOSTILE[i % len(HOSTILE)][:9000]}{i}" for i in range(48)]  # ledgers accept 10,000 characters
    corpus = Corpus.from_texts(
        texts, tags, ids=ids, tokenizer=str.split, min_df=1, stop_words=None, max_df=1.0, stop_tags=()
    )
    model = TWDA(3, random_state=0, progress=False, n_jobs=1, max_iter=5).fit(corpus)
    return Explorer(model, corpus, texts=texts, name=HOSTILE[0], other=model, other_name=HOSTILE[2])
