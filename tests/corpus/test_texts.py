"""A corpus keeps its texts if it is asked to, in the order of its documents."""

import pickle
from pathlib import Path

import pytest

from tagtopic import Corpus
from tagtopic.corpus import TagRules
from tagtopic.corpus.builder import CorpusBuilder, batches_of_texts

TEXTS = ["The steam engine", "", "Notes on the engine", "Sketch of an engine", "naïve 機械"]
ROWS = [{"text": text, "tags": [f"t{i % 2}"]} for i, text in enumerate(TEXTS)]


@pytest.fixture
def corpus() -> Corpus:
    return Corpus.read(ROWS, keep_texts=True)


def test_texts_are_kept_only_on_request() -> None:
    assert Corpus.read(ROWS).texts is None
    assert Corpus.from_texts(TEXTS).texts is None
    assert Corpus.read(ROWS, keep_texts=True).texts == TEXTS
    assert Corpus.from_texts(TEXTS, keep_texts=True).texts == TEXTS


def test_texts_stay_aligned_with_documents(corpus: Corpus) -> None:
    assert corpus[1:4].texts == TEXTS[1:4]
    assert corpus[::-2].texts == TEXTS[::-2]
    assert corpus[[3, 0, 3]].texts == [TEXTS[3], TEXTS[0], TEXTS[3]]
    train, test = corpus.split(2)
    assert sorted([*(train.texts or ()), *(test.texts or ())]) == sorted(TEXTS)
    for part in (train, test):
        assert part.texts is not None
        assert [TEXTS[int(i)] for i in part.ids] == list(part.texts)


def test_texts_survive_other_columns_and_pickling(corpus: Corpus) -> None:
    assert corpus.align(["engine"], ["t0"]).corpus.texts == TEXTS
    assert corpus.select_tags(TagRules(stop_tags=("t1",))).texts == TEXTS
    assert corpus.with_matrices(counts=corpus.counts).texts == TEXTS
    assert pickle.loads(pickle.dumps(corpus)).texts == TEXTS


def test_texts_are_neither_saved_nor_part_of_the_fingerprint(corpus: Corpus, tmp_path: Path) -> None:
    corpus.save(tmp_path / "corpus")
    assert Corpus.open(tmp_path / "corpus").texts is None
    assert corpus.fingerprint() == Corpus.read(ROWS).fingerprint()


def test_a_corpus_made_in_a_folder_keeps_texts_in_memory(tmp_path: Path) -> None:
    made = Corpus.read(ROWS, to=tmp_path / "corpus", keep_texts=True)
    assert made.texts == TEXTS
    assert not list((tmp_path / "corpus").glob("*text*"))


def test_many_texts_go_through_a_file() -> None:
    corpus = CorpusBuilder(keep_texts=True, spill_at=1).build(batches_of_texts(TEXTS))
    assert corpus.texts == TEXTS


def test_lone_surrogates_are_replaced() -> None:
    assert Corpus.from_texts(["half \ud800 character"], keep_texts=True).texts == ["half ? character"]


def test_documents_given_as_words_have_no_text() -> None:
    assert Corpus.from_texts([["steam", "engine"]], keep_texts=True).texts is None
    assert Corpus.from_texts([["steam", "engine"], "an engine"], keep_texts=True).texts == ["", "an engine"]


def test_texts_can_be_given_and_removed(corpus: Corpus) -> None:
    assert corpus.with_texts(None).texts is None
    assert corpus.with_texts("abcde").texts == list("abcde")
    with pytest.raises(ValueError, match="there are 5 documents but 1 texts"):
        corpus.with_texts(["one"])
