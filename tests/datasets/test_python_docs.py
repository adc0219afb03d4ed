"""The embedded corpus is there on every installation, always the same, and reads like documentation."""

import gc

import pytest

from tagtopic.corpus import Corpus
from tagtopic.datasets import load_python_docs


@pytest.fixture(scope="module")
def joblib() -> Corpus:
    return load_python_docs(["joblib"], min_tag_documents=1)


def test_documents_are_named_and_tagged(joblib: Corpus) -> None:
    tags = joblib[list(joblib.ids).index("joblib.hashing.hash")].tags
    assert {"package:joblib", "module:joblib.hashing", "kind:function", "parameter:obj", "raises:ValueError"} <= set(
        tags
    )
    assert set(joblib.tag_kinds) == {"package", "module", "kind", "parameter", "raises"}
    assert len(set(joblib.ids)) == len(joblib)


def test_the_same_installation_gives_the_same_corpus(joblib: Corpus) -> None:
    assert load_python_docs(["joblib"], min_tag_documents=1).fingerprint() == joblib.fingerprint()


def test_rare_tags_and_short_documents_are_left_out(joblib: Corpus) -> None:
    pruned = load_python_docs(["joblib"], min_words=40, min_tag_documents=10)
    assert len(pruned) < len(joblib)
    assert pruned.tags.sum(axis=0).min() >= 1
    assert 0 < pruned.n_tags < joblib.n_tags


def test_garbage_collection_goes_on_as_before() -> None:
    assert gc.isenabled()
    with pytest.raises(ValueError, match="no_such_package: are they installed"):
        load_python_docs(["no_such_package"])
    assert gc.isenabled()


def test_documents_and_words_are_many() -> None:
    corpus = load_python_docs(["numpy", "joblib"])
    assert len(corpus) > 1000
    assert {"package:joblib", "package:numpy", "raises:ValueError", "parameter:axis"} <= set(corpus.tag_names)
    assert {"matrix", "file", "random", "polynomial"} <= set(corpus.words)
    assert corpus.counts.sum(axis=1).min() >= 0
