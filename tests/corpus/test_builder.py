from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from tagtopic.corpus import Corpus, TagRules, TextRules
from tagtopic.corpus.builder import CorpusBuilder, DocumentBatch, batches_of_texts
from tagtopic.corpus.text.phrases import PairCounts

ALL: dict[str, Any] = {"stop_words": None, "min_df": 1, "max_df": 1.0, "max_words": None, "numbers": True}
WORDS = st.sampled_from(["alpha", "beta", "gamma", "delta", "Epsilon", "zeta", "eta", "42", "ünïcode"])
TEXTS = st.lists(st.lists(WORDS, max_size=12).map(" ".join), max_size=12)


@given(TEXTS, st.integers(1, 3), st.sampled_from([0.5, 0.9, 1.0]), st.none() | st.integers(1, 4))
def test_counts_equal_those_of_scikit_learn(
    texts: list[str], min_df: int, max_df: float, max_words: int | None
) -> None:
    limits: dict[str, Any] = {"min_df": min_df, "max_df": max_df}
    corpus = Corpus.from_texts(texts, **ALL | limits | {"max_words": max_words}, n_jobs=1)
    documents = Counter(word for text in texts for word in set(text.lower().split()))
    kept = [word for word, n in documents.items() if min_df <= n <= int(max_df * len(texts))]
    kept = sorted(sorted(kept, key=lambda word: (-documents[word], word))[:max_words])
    assert list(corpus.words) == kept
    if kept:
        expected = CountVectorizer(vocabulary=kept).transform(texts)
        np.testing.assert_array_equal(corpus.counts.toarray(), expected.toarray())
    assert len(corpus) == len(texts)


def test_a_large_corpus_equals_scikit_learn_at_any_number_of_threads() -> None:
    random = np.random.default_rng(0)
    texts = [" ".join(f"w{i}" for i in random.zipf(1.3, size=50) if i < 10**6) for _ in range(3000)]
    one, two = (Corpus.from_texts(texts, **ALL, n_jobs=n) for n in (1, 2))
    assert one.fingerprint() == two.fingerprint()
    expected = CountVectorizer()
    matrix = expected.fit_transform(texts)
    assert list(one.words) == expected.get_feature_names_out().tolist()
    assert (one.counts != matrix).nnz == 0


def test_sizes_of_batches_and_blocks_and_files_do_not_change_the_corpus(tmp_path: Path) -> None:
    texts = [f"common word{i % 7} pair of{i % 3} things" for i in range(200)]
    whole = Corpus.from_texts(texts, bigrams=0.1, bigram_min_count=2)
    builder = CorpusBuilder(TextRules(bigrams=0.1, bigram_min_count=2), block_tokens=11, spill_at=1)
    spilled = builder.build(batches_of_texts(texts, batch_rows=7))
    on_disk = builder.build(batches_of_texts(texts, batch_rows=7), tmp_path / "c")
    assert whole.fingerprint() == spilled.fingerprint() == on_disk.fingerprint()
    assert on_disk.rules == whole.rules
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
    assert not (tmp_path / "c" / "scratch").exists()


def test_tags_ids_and_rules_are_kept() -> None:
    corpus = Corpus.from_texts(
        ["engine notes", None, "notes"], [["a:x", "a:x"], ["NULL"], None], ids=["1", "2", "3"], min_df=1
    )
    assert corpus[0].tags == ("a:x",)
    assert corpus.tag_names == ("a:x",)
    assert corpus.ids == ["1", "2", "3"]
    assert corpus[1].words == {}
    assert corpus[1:].rules == corpus.rules
    assert corpus.rules is not None
    assert corpus.rules.min_df == 1


def test_tags_are_selected_by_their_rules() -> None:
    tags = [["a:x", "b:y"], ["a:x", "c:z"], ["b:y", "b:w"]]
    corpus = Corpus.from_texts(["", "", ""], tags, min_tag_documents=2, drop_kinds=["b"])
    assert corpus.tag_names == ("a:x",)
    builder = CorpusBuilder(tag_rules=TagRules(min_tag_documents=2, drop_kinds=("b",)))
    built = builder.build([DocumentBatch([""] * 3, tags, ["1", "2", "3"])])
    assert built.tag_names == ("a:x",)
    np.testing.assert_array_equal(built.tags.toarray(), corpus.tags.toarray())


def test_rules_are_saved(tmp_path: Path) -> None:
    corpus = Corpus.from_texts(["ein haus und ein hof"] * 3, stop_words="de")
    corpus.save(tmp_path / "c")
    assert Corpus.open(tmp_path / "c").rules == corpus.rules
    assert Corpus.from_counts([[1]]).rules is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("the cat is on the mat and it was there with all of us", "en"),
        ("die katze ist auf der matte und sie war mit uns allen da", "de"),
        ("le chat est sur la table et il est avec nous dans la maison", "fr"),
        ("el gato está en la casa y no es de los que se van con nosotros", "es"),
        ("кошка и собака не были в доме, но они были с нами на улице", "ru"),
        ("tensor gradient descent optimiser convergence", None),
    ],
)
def test_the_language_is_detected_by_its_stop_words(text: str, language: str | None) -> None:
    corpus = Corpus.from_texts([text] * 3)
    assert corpus.rules is not None
    assert corpus.rules.stop_words == language


def test_stop_words_are_dropped_in_any_case() -> None:
    corpus = Corpus.from_texts(["The THE the cat"], stop_words="en", lowercase=False, min_df=1)
    assert corpus.words == ("cat",)


def test_associated_pairs_become_one_word() -> None:
    texts = ["machine translation works", "machine translation helps", "the machine. Translation"] * 10
    corpus = Corpus.from_texts(texts, bigrams=0.3, stop_words="en")
    assert "machine translation" in corpus.words
    assert corpus[0].words["machine translation"] == 1
    assert "machine" not in corpus[0].words
    assert corpus[2].words == {"machine": 1, "translation": 1}


def test_pair_counts_are_exact_while_the_table_grows_and_bounded_when_it_is_full() -> None:
    random = np.random.default_rng(0)
    ids = random.integers(0, 200, size=60_000).astype(np.int32)
    offsets = np.array([0, 30_000, 60_000])
    pairs = PairCounts(np.ones(200, dtype=bool))
    pairs.add(offsets, ids)
    keys, counts = pairs.items()
    expected = Counter((int(a) << 32) | int(b) for part in np.split(ids, 2) for a, b in pairwise(part))
    assert dict(zip(keys.tolist(), counts.tolist(), strict=True)) == expected
    small = PairCounts(np.ones(200, dtype=bool), max_pairs=4096)
    small.add(offsets, ids)
    assert len(small.items()[0]) < 10_000


@given(TEXTS, TEXTS)
def test_new_texts_with_the_same_vocabulary_and_rules_give_the_same_counts(texts: list[str], others: list[str]) -> None:
    corpus = Corpus.from_texts(texts, min_df=1, bigrams=0.0, bigram_min_count=1, n_jobs=1)
    again = Corpus.from_texts(texts + others, rules=corpus.rules, words=corpus.words, n_jobs=1)
    assert again.words == corpus.words
    np.testing.assert_array_equal(again.counts.toarray()[: len(texts)], corpus.counts.toarray())


def test_a_custom_tokenizer() -> None:
    corpus = Corpus.from_texts(["猫|犬", "犬"], tokenizer=lambda text: text.split("|"), min_df=1)
    assert corpus.words == ("犬", "猫")


def test_no_texts_and_empty_texts_are_accepted() -> None:
    assert len(Corpus.from_texts([])) == 0
    corpus = Corpus.from_texts(["", "..."], [["x"], []])
    assert (len(corpus), corpus.n_words, corpus.n_tags) == (2, 0, 1)


def test_documents_that_are_not_texts_are_errors() -> None:
    with pytest.raises(TypeError, match="texts is one string"):
        Corpus.from_texts("abc")
    with pytest.raises(TypeError, match="document 1 is 3, a int"):
        Corpus.from_texts(["a", 3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="2 documents but tags for 1"):
        Corpus.from_texts(["a", "b"], [["x"]])
    assert len(Corpus.from_texts(["a", float("nan")])) == 2  # type: ignore[list-item]


def test_documents_may_be_lists_of_words() -> None:
    documents = [["Rare", "birds", "Rare"], None, ("birds", "of the north")]
    corpus = Corpus.from_texts(documents, [["a"], [], ["b"]], stop_words=None)
    assert corpus.words == ("Rare", "birds", "of the north")
    assert corpus[0].words == {"Rare": 2, "birds": 1}
    assert [int(n) for n in corpus.lengths()] == [3, 0, 2]
    assert corpus.tag_names == ("a", "b")
    with pytest.raises(TypeError, match=r"document 1 is \[1, 2\], a list"):
        Corpus.from_texts([["a"], [1, 2]])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="words cannot have spaces"):
        Corpus.from_texts([["of the north"]], bigrams=0.5)
