"""Errors that are common in a corpus come first in its audit, and probabilities of errors are about right."""

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from tagtopic import TWDA, Corpus
from tagtopic.corpus.tags import kinds_of
from tagtopic.datasets import make_tagged_corpus
from tagtopic.tagging import TagReport
from tagtopic.tagging.plausibility import exclusiveness, largest_other
from tagtopic.tagging.siblings import Siblings


def drawn() -> Corpus:
    """Draw documents with one to three tags of very different frequencies."""
    return make_tagged_corpus(
        1500, 12, 60, 600, tags_per_document=(1, 3), tag_concentration=0.05, tag_exponent=1.0, random_state=1
    ).corpus


def audited(corpus: Corpus, wrong: np.ndarray) -> tuple[TagReport, np.ndarray]:
    """Audit a corpus after an error in one document of eight, the tag ``wrong`` (documents); return which it is."""
    rows = np.random.default_rng(0).permutation(len(corpus))[: len(corpus) // 8]
    rows = rows[wrong[rows] >= 0]
    tags = sp.lil_array(corpus.tags)
    is_new = np.asarray(corpus.tags[rows, wrong[rows]]).ravel() == 0
    for row in rows[is_new]:
        tags[row, wrong[row]] = 1
    noisy = Corpus.from_counts(
        corpus.counts, sp.csr_array(tags), words=corpus.words, tag_names=corpus.tag_names, ids=corpus.ids
    )
    report = TWDA(12, random_state=0, max_iter=20, progress=False).fit(noisy).audit_tags(noisy)
    planted = {(corpus.ids[row], corpus.tag_names[wrong[row]]) for row in rows[is_new]}
    return report, np.array([(entry.document, entry.tag) in planted for entry in report.entries])


def siblings_of_first_tags(corpus: Corpus) -> np.ndarray:
    """Return for each document a tag that is easily confused with its first one."""
    siblings = Siblings.find(sp.csr_array(corpus.counts, dtype=np.float32), corpus.tags, kinds_of(corpus.tag_names)[1])
    first = corpus.tags.indices[corpus.tags.indptr[:-1]]
    return np.asarray(siblings.numbers[first, np.random.default_rng(1).integers(3, size=len(first))])


def calibration_error(probability: np.ndarray, is_wrong: np.ndarray) -> float:
    bins = np.minimum((probability * 10).astype(int), 9)
    return float(sum(abs((probability - is_wrong)[bins == number].sum()) for number in range(10)) / len(bins))


def test_siblings_beside_the_right_tag_are_found_and_the_suspicion_is_calibrated() -> None:
    corpus = drawn()
    report, is_wrong = audited(corpus, siblings_of_first_tags(corpus))
    assert roc_auc_score(is_wrong, report.entries.column("wrong_sibling")) > 0.88  # 0.83 with siblings in its place
    assert roc_auc_score(is_wrong, report.entries.column("suspicion")) > 0.86
    assert calibration_error(report.entries.column("suspicion"), is_wrong) < 0.025


def test_the_random_tags_of_a_corpus_are_those_that_its_errors_look_like() -> None:
    corpus = drawn()
    report, is_wrong = audited(corpus, np.random.default_rng(2).integers(corpus.n_tags, size=len(corpus)))
    assert roc_auc_score(is_wrong, -report.entries.column("plausibility")) > 0.89
    assert roc_auc_score(is_wrong, report.entries.column("suspicion")) > 0.9
    assert calibration_error(report.entries.column("suspicion"), is_wrong) < 0.03
    by_chance = report.entries.column("p_value")[is_wrong]
    for level in (0.1, 0.25, 0.5):
        assert np.mean(by_chance <= level) < level + 0.12


def test_a_kind_is_exclusive_where_documents_have_one_tag_of_it() -> None:
    tags = sp.csr_array(np.array([[1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]))
    np.testing.assert_allclose(exclusiveness(tags, np.array([0, 0, 1, 1])), [0.5, 1.0])
    np.testing.assert_allclose(exclusiveness(tags, np.array([0, 0, 2, 2])), [0.5, 0.0, 1.0])


def test_the_largest_other_value_is_of_the_same_document_and_kind() -> None:
    values = np.array([3.0, 5.0, 5.0, 7.0, 2.0, 9.0])
    owner, kinds = np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 0, 1])
    np.testing.assert_allclose(largest_other(values, owner, kinds), [5, 5, 5, 0, 0, 0])
    assert len(largest_other(np.zeros(0), np.zeros(0, int), np.zeros(0, int))) == 0
