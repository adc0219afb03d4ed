"""Print digests of what tagtopic computes, to compare two versions bit for bit.

Fits every model with every inference method, in batch and online, on this machine and on a Spark cluster, on planted
corpora and on the documentation of the standard library, with fixed seeds. Prints one line per result: its name and
a SHA-256 of the bytes of its arrays. Only the public interface is used, so that the same script runs on both versions::

    PYTHONPATH=old/src python tools/digests.py > old.txt
    PYTHONPATH=new/src python tools/digests.py > new.txt
    diff old.txt new.txt

``--write FOLDER`` saves a model and a corpus, ``--open FOLDER`` digests what another version saved there.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import json
import re
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic import LDA, TWDA, TWTM, Corpus
from tagtopic.datasets import load_python_docs, make_tagged_corpus

METHODS = ("paper", "mixture", "map", "collapsed", "gibbs")
"""Names that the versions to compare have: ``--methods`` leaves out the sampler for those from before it."""

LEARNT = (
    "components_",
    "tag_topics_",
    "tag_weight_prior_",
    "latent_weight_prior_",
    "latent_topic_prior_",
    "tag_topic_prior_",
    "topic_word_prior_",
    "tag_sizes_",
    "topic_shares_",
    "bound_",
    "validation_perplexity_",
)
ADDED = ("tag_document_topics_", "topic_word_draws_", "own_word_words_", "own_word_shares_")
"""Arrays that early versions lack: each has a line of its own."""

FIXED: dict[str, Any] = {"inference": "collapsed", "random_state": 3, "progress": False}
"""The method is given, because its default has changed."""

PLAUSIBILITY = ("plausibility", "belongs")
"""The audit's column: its present name and its former one."""


def digest(*values: Any) -> str:
    """Return the SHA-256 of arrays, numbers and strings."""
    found = hashlib.sha256()
    for value in values:
        array = np.asarray(value)
        found.update(array.dtype.str.encode() if array.dtype.kind in "fiub" else b"text")
        found.update(np.ascontiguousarray(array).tobytes() if array.dtype.kind in "fiub" else repr(value).encode())
    return found.hexdigest()[:20]


def print_digest(name: str, *values: Any) -> None:
    """Print the name of a result and its digest."""
    print(f"{name:<60} {digest(*values)}", flush=True)


def learnt(model: Any) -> list[Any]:
    """Return the learnt arrays of a model."""
    return [value for name in LEARNT if (value := getattr(model, name, None)) is not None]


def print_learnt(name: str, model: Any) -> None:
    """Print the digests of the learnt arrays of a model."""
    print_digest(name, *learnt(model))
    for array in ADDED:
        if len(getattr(model, array, ())):
            print_digest(f"{name} {array}", getattr(model, array))


def csr(matrix: Any) -> list[Any]:
    """Return a sparse matrix as three arrays."""
    matrix = sp.csr_array(matrix)
    return [matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data]


def queries(name: str, model: Any, corpus: Corpus) -> None:
    """Digest what a model computes for documents."""
    some = corpus[:300]
    print_digest(f"{name} transform", model.transform(some))
    if not len(model.tag_names_):
        return
    weights, latent = model.tag_weights(some, return_latent=True)
    print_digest(f"{name} tag_weights", *csr(weights), latent)
    drawn = model.tag_weights(some[:50], intervals=0.9)
    print_digest(f"{name} intervals", *csr(drawn.mean), *csr(drawn.low), *csr(drawn.high))
    print_digest(f"{name} predict_tags", repr(model.predict_tags(some, n=10)))
    print_digest(f"{name} predict_tags by likelihood", repr(model.predict_tags(some, n=10, method="likelihood")))
    audit = model.audit_tags(corpus)
    for table, columns in ((audit.entries, ("p_value", "weight")), (audit.tags, ("p_value", "weight"))):
        which = next(name for name in PLAUSIBILITY if name in table.table().column_names)
        print_digest(f"{name} audit_tags", *(table.column(column) for column in (which, *columns)))
    print_digest(f"{name} duplicates", repr([(pair.first, pair.second) for pair in audit.duplicates]))
    print_digest(f"{name} similar_tags", repr(model.similar_tags(model.tag_names_[0], n=10)))
    print_digest(f"{name} perplexity", model.perplexity(some), model.perplexity(some, method="fitted"))


def fits(corpora: dict[str, Corpus], methods: Sequence[str]) -> None:
    """Fit every model by every method, batch and online; the sampler in batch only."""
    for place, corpus in corpora.items():
        for method in methods:
            for learning in ("batch",) if method == "gibbs" else ("batch", "online"):
                for kind in (TWDA, TWTM, LDA):
                    if kind is TWTM and not corpus.document_sizes()[1].all():
                        continue
                    model = kind(
                        6,
                        inference=method,
                        learning=learning,
                        max_iter=25,
                        batch_size=256,
                        random_state=3,
                        progress=False,
                    ).fit(corpus)
                    name = f"{place} {kind.__name__} {method} {learning}"
                    print_learnt(name, model)
                    if method in ("collapsed", "paper", "gibbs"):
                        queries(name, model, corpus)


def settings(corpus: Corpus) -> None:
    """Fit with other settings than the defaults: priors, initialisation, precision, validation, partial fits."""
    cases: dict[str, dict[str, Any]] = {
        "float64": {"dtype": "float64"},
        "estimate": dict.fromkeys(
            ("tag_weight_prior", "latent_weight_prior", "latent_topic_prior", "topic_word_prior"), "estimate"
        ),
        "maximum likelihood": dict.fromkeys(
            ("tag_weight_prior", "tag_topic_prior", "topic_word_prior"), "maximum-likelihood"
        )
        | {"inference": "map"},
        "validation": {"validation_fraction": 0.1, "patience": 3},
        "random start": {"init": "random"},
    }
    for case, given in cases.items():
        model = TWDA(6, **(FIXED | {"max_iter": 25} | given)).fit(corpus)
        print_learnt(f"settings {case}", model)
    model = TWDA(6, max_iter=10, **FIXED).fit(corpus[:500])
    model.partial_fit(corpus[500:])
    print_learnt("settings partial_fit", model)
    queries("settings partial_fit", model, corpus)
    model.fit_weight_prior(corpus[:200])
    print_learnt("settings fit_weight_prior", model)


def texts() -> None:
    """Digest corpora made from texts: tokenizer, stop words, bigrams, rare words and tags."""
    texts = _texts(load_python_docs(["json", "email", "asyncio"], min_df=1, min_tag_documents=1))
    cases: dict[str, dict[str, Any]] = {
        "plain": {},
        "bigrams": {"bigrams": 0.3},
        "stop words": {"stop_words": "english"},
        "rare": {"min_df": 3, "max_df": 0.2, "max_words": 800, "min_tag_documents": 4},
    }
    for name, given in cases.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = Corpus.from_texts(texts, [[f"length:{len(text) // 200}"] for text in texts], **given)
        print_digest(
            f"texts {name}", *csr(made.counts), *csr(made.tags), repr(list(made.words)), repr(list(made.tag_names))
        )
    print_digest("texts", repr(texts))


def _texts(corpus: Corpus) -> list[str]:
    """Return texts made of the words of a corpus in a fixed order, equal for all versions."""
    counts = sp.csr_array(corpus.counts)
    words = np.array(list(corpus.words))
    rows = (counts[[i]] for i in range(len(corpus)))
    return [" ".join(np.repeat(words[row.indices], row.data)) for row in rows]


def report(corpus: Corpus) -> None:
    """Digest the numbers in the tables of a report."""
    from tagtopic.explore import Explorer, ReportLimits, write_report

    model = TWDA(6, max_iter=25, **FIXED).fit(corpus)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        write_report(Explorer(model, corpus, name="films"), path, ReportLimits(tags=40, documents=20))
        pages = list(_pages(path.read_text("utf-8")))
    cells = [re.sub(r"<[^>]*>", " ", cell) for page in pages for cell in re.findall(r"<td[^>]*>(.*?)</td>", page, re.S)]
    numbers = [number for cell in cells for number in re.findall(r"\d[\d.,]*", cell)]
    print_digest("report numbers", repr(sorted(numbers)))
    print(f"{'report numbers found':<60} {len(numbers)}")


def _pages(html: str) -> Iterator[str]:
    yield html
    for packed in re.findall(r"[\"'>]([A-Za-z0-9+/=]{200,})[\"'<]", html):
        try:
            yield from json.loads(gzip.decompress(base64.b64decode(packed))).values()
        except (ValueError, OSError, AttributeError):
            continue


def on_spark(corpus: Corpus, methods: Sequence[str]) -> None:
    """Fit on a cluster, with each update of pi."""
    from tagtopic.engines import SparkEngine
    from tagtopic.testing import SparkCluster

    with SparkCluster(workers=2) as cluster:
        for update in ("driver", "average", "components", "gradient"):
            engine = SparkEngine(master=cluster.master, weight_update=update, config={"spark.log.level": "ERROR"})
            for kind, method in ((TWDA, "collapsed"), (TWTM, "map")):
                estimated: dict[str, Any] = {"latent_weight_prior": "estimate"} if kind is TWDA else {}
                model = kind(
                    4,
                    inference=method,
                    max_iter=8,
                    random_state=3,
                    tag_weight_prior="estimate",
                    progress=False,
                    **estimated,
                )
                model.fit(corpus, engine=engine)
                print_learnt(f"spark {kind.__name__} {method} {update}", model)
            if update == "driver" and "gibbs" in methods:
                model = TWDA(4, inference="gibbs", max_iter=8, random_state=3, progress=False).fit(
                    corpus, engine=engine
                )
                print_learnt("spark TWDA gibbs", model)
            if hasattr(engine, "close"):
                engine.close()


def saved_files(folder: Path, *, write: bool) -> None:
    """Save a model and a corpus, or digest those that another version saved."""
    corpus = make_tagged_corpus(400, 4, 12, 300, model="twda", random_state=5).corpus
    if write:
        model = TWDA(4, max_iter=10, **FIXED).fit(corpus)
        model.save(folder / "model.tagtopic")
        corpus.save(folder / "corpus")
        return
    model, found = TWDA.load(folder / "model.tagtopic"), Corpus.open(folder / "corpus")
    print_learnt("opened model", model)
    print_digest("opened corpus", *csr(found.counts), *csr(found.tags), repr(list(found.words)))
    queries("opened model", model, found)


def main() -> None:
    """Read the command line and print the digests asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["fits", "settings", "texts", "report", "spark"], nargs="*")
    parser.add_argument("--methods", choices=METHODS, nargs="*", default=METHODS)
    parser.add_argument("--write", type=Path, help="save a model and a corpus in this folder, and stop")
    parser.add_argument("--open", type=Path, help="digest what another version saved in this folder, and stop")
    asked = parser.parse_args()
    if asked.write or asked.open:
        saved_files(asked.write or asked.open, write=bool(asked.write))
        return
    planted = make_tagged_corpus(900, 6, 30, 500, model="twtm", noise_tags=0.3, random_state=1).corpus
    hybrid = make_tagged_corpus(900, 6, 30, 500, model="twda", untagged=0.2, random_state=2).corpus
    parts = set(asked.only or ("fits", "settings", "texts", "report", "spark"))
    if "fits" in parts:
        fits({"planted": planted, "hybrid": hybrid, "python": load_python_docs(["python"])[:1500]}, asked.methods)
    if "settings" in parts:
        settings(hybrid)
    if "texts" in parts:
        texts()
    if "report" in parts:
        report(hybrid)
    if "spark" in parts:
        on_spark(planted, asked.methods)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
