"""Ranks of true tags, by hand and against scikit-learn."""

from itertools import pairwise, permutations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import label_ranking_average_precision_score

from tagtopic.evaluation import TagRanks, rank_lists, rank_scores

SCORES = np.array([[0.9, 0.1, 0.5, 0.3], [0.2, 0.2, 0.2, 0.8], [1.0, 2.0, 3.0, 4.0]])
TRUTH = sp.csr_array(np.array([[0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]]))


def test_ranks_are_those_counted_by_hand() -> None:
    found = rank_scores([(slice(0, 3), SCORES)], TRUTH)
    np.testing.assert_array_equal(found.documents, [0, 0, 1])
    np.testing.assert_array_equal(found.ranks, [2, 3, 3])  # three tied tags share ranks 2, 3 and 4
    assert found.recall(1) == 0.0
    assert found.recall(2) == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert found.recall(3) == pytest.approx((1 + 2 / 3) / 2)
    assert found.precision(3) == pytest.approx((2 / 3 + 2 / 9) / 2)
    assert found.f1(3) == pytest.approx((2 * 2 / 5 + 2 * (2 / 3) / 4) / 2)
    assert found.reciprocal() == pytest.approx((1 / 2 + (1 / 2 + 1 / 3 + 1 / 4) / 3) / 2)


@pytest.mark.parametrize(
    ("scores", "right"),
    [
        ([1, 1, 1, 1, 1], [0, 1, 2]),
        ([3, 2, 2, 2, 1], [1, 3]),
        ([3, 3, 1, 1, 1], [0, 2, 3]),
        ([5, 4, 4, 3, 3], [0, 2]),
        ([2, 2, -np.inf, 1, 1], [2, 3, 4]),
        ([2, 2, -np.inf, -np.inf, 1], [2, 3]),
    ],
)
def test_ties_give_the_mean_over_all_orders(scores: list[float], right: list[int]) -> None:
    truth = sp.csr_array(np.isin(np.arange(5), right).astype(np.int8)[None])
    found = rank_scores([(slice(0, 1), np.array([scores], np.float64))], truth)
    ranked = [tag for tag in range(5) if np.isfinite(scores[tag])]
    orders = [o for o in permutations(ranked) if all(scores[a] >= scores[b] for a, b in pairwise(o))]
    by_hand = [rank_lists([order], [right]) for order in orders]
    for measure in (TagRanks.recall, TagRanks.precision, TagRanks.f1):
        for n in range(1, 6):
            assert measure(found, n) == pytest.approx(np.mean([measure(one, n) for one in by_hand]))
    assert found.reciprocal() == pytest.approx(np.mean([one.reciprocal() for one in by_hand]))


def test_ranks_do_not_depend_on_batches() -> None:
    rng = np.random.default_rng(0)
    scores, truth = rng.normal(size=(20, 8)), sp.csr_array((rng.random((20, 8)) < 0.3).astype(np.int8))
    whole = rank_scores([(slice(0, 20), scores)], truth)
    parts = rank_scores([(slice(i, i + 7), scores[i : i + 7]) for i in (0, 7, 14)], truth)
    np.testing.assert_array_equal(whole.ranks, parts.ranks)
    np.testing.assert_array_equal(whole.documents, parts.documents)


def test_one_true_tag_each_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    scores, right = rng.normal(size=(50, 10)), np.eye(10, dtype=np.int8)[rng.integers(10, size=50)]
    expected = label_ranking_average_precision_score(right, scores)  # with one right tag, its reciprocal rank
    assert rank_scores([(slice(0, 50), scores)], sp.csr_array(right)).reciprocal() == pytest.approx(expected)


def test_tags_that_are_not_ranked_are_missed() -> None:
    scores = SCORES.copy()
    scores[0, 2] = -np.inf
    found = rank_scores([(slice(0, 3), scores)], TRUTH)
    assert found.ranks[0] == np.inf
    assert found.recall(4) == pytest.approx((0.5 + 1) / 2)
    lists = rank_lists([["a", "b"], ["c"]], [["b", "z"], ["d"]])
    np.testing.assert_array_equal(lists.ranks, [2, np.inf, np.inf])
    assert lists.recall(10) == pytest.approx(0.25)
    assert lists.reciprocal() == pytest.approx(0.25)


def test_lists_and_scores_agree() -> None:
    order = np.argsort(-SCORES, axis=1)
    truth = [TRUTH[[i]].indices.tolist() for i in (0, 1)]
    lists = rank_lists([order[0].tolist(), [3, 1, 0, 2]], truth)
    np.testing.assert_array_equal(lists.ranks, rank_scores([(slice(0, 3), SCORES)], TRUTH).ranks)


def test_documents_without_tags_are_an_error() -> None:
    with pytest.raises(ValueError, match="no document has a tag"):
        rank_lists([["a"]], [[]])
