"""Tags of a controlled vocabulary that no training document has, by their labels."""

import numpy as np
import pytest
from sklearn.base import clone

from tagtopic.corpus import Corpus
from tagtopic.curation.thesaurus import Concept, labels_of
from tagtopic.tagging import VocabularyPredictor

N_TAGS, N_WORDS = 400, 60
CONCEPTS = [Concept(f"animal{j}", (f"beast{j} of prey",)) for j in range(N_TAGS)]


def named_tags(n: int, seed: int) -> tuple[list[str], list[list[str]]]:
    """Draw texts with the label of a rare tag, half of which have the tag; every text also has one of two others."""
    random = np.random.default_rng(seed)
    texts, tags = [], []
    for _ in range(n):
        tag, topic = int(random.integers(N_TAGS)), int(random.integers(2))
        words = [f"topic{topic}word{word}" for word in random.integers(N_WORDS, size=12)]
        words.append(f"animal{tag}" if random.random() < 0.5 else f"beast{tag} of prey")
        texts.append(" ".join(words))
        tags.append([f"topic:{topic}"] + [f"animal:animal{tag}"] * bool(random.random() < 0.5))
    return texts, tags


@pytest.fixture(scope="module")
def predictor() -> VocabularyPredictor:
    texts, tags = named_tags(250, 0)
    return VocabularyPredictor(labels_of(CONCEPTS, "animal"), n_jobs=1).fit(texts, tags=tags)


def test_tags_without_training_documents_are_predicted_with_calibrated_probabilities(
    predictor: VocabularyPredictor,
) -> None:
    texts, tags = named_tags(600, 1)
    ranked = predictor.predict_unseen(texts)
    seen = set(predictor.predictor_.tag_names_)
    pairs = [(p, tag in own) for row, own in zip(ranked, tags, strict=True) for tag, p in row if p > 0.2]
    assert not seen & {tag for row in ranked for tag, _ in row}
    assert len(pairs) > 200
    assert np.mean([p for p, _ in pairs]) == pytest.approx(np.mean([right for _, right in pairs]), abs=0.1)


def test_known_and_unknown_tags_are_ranked_together(predictor: VocabularyPredictor) -> None:
    seen = set(predictor.predictor_.tag_names_)
    unseen = next(j for j in range(N_TAGS) if f"animal:animal{j}" not in seen)
    text = f"topic1word1 topic1word2 topic1word3 beast{unseen} prey"
    (row,) = predictor.predict([text], n=3)
    assert [tag for tag, _ in row[:2]] == ["topic:1", f"animal:animal{unseen}"]
    assert [p for _, p in row] == sorted((p for _, p in row), reverse=True)
    (only,) = predictor.predict([text], n=3, kinds=["animal"])
    assert only[0][0] == f"animal:animal{unseen}"
    assert not predictor.predict_unseen([text], kinds="topic")[0]


def test_corpora_and_texts_match_alike(predictor: VocabularyPredictor) -> None:
    texts, tags = named_tags(40, 2)
    corpus = Corpus.from_texts(texts, tags)
    assert predictor.predict_unseen(corpus) == predictor.predict_unseen(texts)


def test_counts_match_labels_of_known_words() -> None:
    corpus = Corpus.from_counts(np.eye(6, dtype=int)[[0, 1, 2, 3, 4, 5] * 4], [["a"], ["b"]] * 12, words=list("uvwxyz"))
    predictor = VocabularyPredictor({"a": ["u"], "new": ["z", "unknown"]}, n_jobs=1).fit(corpus)
    rows = predictor.predict_unseen(corpus.counts[:6])
    assert [[tag for tag, _ in row] for row in rows] == [[], [], [], [], [], ["new"]]


def test_the_predictor_follows_scikit_learn_and_needs_labels() -> None:
    assert clone(VocabularyPredictor({"a": ["b"]}, random_state=3)).random_state == 3
    with pytest.raises(ValueError, match="no tag of the vocabulary has a label"):
        VocabularyPredictor({"a": []}).fit(["x y"] * 3, tags=[["a"]] * 3)
