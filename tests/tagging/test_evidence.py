"""Evidence for tags, against a NumPy twin."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic._core.arrays import read_only
from tagtopic.tagging import evidence as te
from tagtopic.tagging.evidence import gather_evidence
from tagtopic.tagging.training_index import (
    Queries,
    TrainingIndex,
    build_index,
    document_vectors,
    inverse_document_frequencies,
    queries_from_vectors,
    subsample_words,
)

RNG = np.random.default_rng(0)
COUNTS = sp.csr_array(RNG.poisson(0.4, (40, 30)).astype(np.int32))
TAGS = sp.csr_array((RNG.random((40, 12)) < 0.25).astype(np.int8))
IDF = inverse_document_frequencies(COUNTS)
VECTORS = document_vectors(COUNTS, IDF)
KINDS = np.repeat(np.arange(3), 4).astype(np.int32)
NAMES = sp.csr_array((RNG.random((30, 12)) * (RNG.random((30, 12)) < 0.1)).astype(np.float32))


def evidence_of_one(x: Any, vectors: Any, tags: Any) -> Any:
    """Return the evidence (tags, columns) for a document x, from training vectors and tags."""
    similarity = vectors @ x
    sums = tags.T @ vectors
    lengths = np.linalg.norm(sums, axis=1)
    table = np.zeros((tags.shape[1], te.N_EVIDENCE))
    table[:, te.CENTROID] = np.divide(sums @ x, lengths, out=np.zeros(len(lengths)), where=lengths > 1e-3)
    table[:, te.KNN_VOTE] = tags.T @ similarity**2
    table[:, te.FOURTH_POWERS] = tags.T @ similarity**4
    table[:, te.NEAREST] = (tags * similarity[:, None]).max(axis=0)
    table[:, te.FREQUENCY] = tags.sum(axis=0)
    table[:, te.MEAN] = tags.T @ similarity / np.maximum(tags.sum(axis=0), 1)
    table[:, te.NAME_OVERLAP] = (x > 0) @ NAMES.toarray()
    return table


Limits = dict[str, Any]

with_and_without_stored_sums = pytest.mark.parametrize(
    "limits",
    [{"min_common_tag": 5, "min_frequent_word": 0.3}, {"min_common_tag": 256, "min_frequent_word": 1.0}],
    ids=["common tags, frequent words", "neither"],
)


@with_and_without_stored_sums
def test_a_training_document_is_left_out_of_its_own_evidence(limits: Limits) -> None:
    vectors = VECTORS
    index = build_index(vectors, TAGS, KINDS, NAMES, n_jobs=1, **limits)
    asked = np.array([0, 7, 23])
    short = document_vectors(
        subsample_words(COUNTS[asked], 6, np.random.default_rng(0)), inverse_document_frequencies(COUNTS)
    )
    both = sp.csr_array(sp.vstack([vectors[asked], short]))
    queries = queries_from_vectors(both, np.tile(asked, 2), np.tile(np.arange(3), 2))
    found = gather_evidence(index, queries, 12, np.ones(12, bool), 0, n_jobs=1)
    dense, tags = vectors.toarray().astype(np.float64), TAGS.toarray().astype(np.float64)
    for i, row in enumerate(np.tile(asked, 2)):
        others = np.delete(np.arange(40), row)
        expected = evidence_of_one(both[[i]].toarray()[0].astype(np.float64), dense[others], tags[others])
        chosen = found.tags[i, : found.n_found[i]]
        supported = (expected[:, te.CENTROID] > 0) | (expected[:, te.NAME_OVERLAP] > 0)
        assert set(chosen) == set(np.flatnonzero(supported & (expected[:, te.FREQUENCY] > 0)))
        np.testing.assert_allclose(found.values[i, : len(chosen)], expected[chosen], rtol=2e-4, atol=1e-6)


@with_and_without_stored_sums
def test_new_documents_have_the_evidence_of_the_twin_and_the_best_candidates(limits: Limits) -> None:
    vectors = VECTORS
    index = build_index(vectors[:30], TAGS[:30], KINDS, NAMES, n_jobs=1, **limits)
    found = gather_evidence(index, queries_from_vectors(vectors[30:]), 5, np.ones(12, bool), 0, n_jobs=2)
    dense, tags = vectors.toarray().astype(np.float64), TAGS.toarray().astype(np.float64)
    for i in range(10):
        expected = evidence_of_one(dense[30 + i], dense[:30], tags[:30])
        best = np.array([expected[kind == KINDS].max(axis=0) for kind in range(3)])[KINDS]
        score = expected[:, te.CENTROID] / best[:, te.CENTROID] + expected[:, te.KNN_VOTE] / best[:, te.KNN_VOTE]
        score += expected[:, te.NAME_OVERLAP]
        assert set(found.tags[i]) == set(np.argsort(-score)[:5])
        np.testing.assert_allclose(
            found.references[i][:, :2], best[found.tags[i]][:, [te.CENTROID, te.KNN_VOTE]], rtol=2e-4
        )
        similarity = dense[:30] @ dense[30 + i]
        np.testing.assert_allclose(found.references[i][:, te.TOTAL_KNN_VOTE], (similarity**2).sum(), rtol=2e-4)
        np.testing.assert_allclose(found.references[i][:, te.OVERALL_MEAN], similarity.mean(), rtol=2e-4)


@with_and_without_stored_sums
def test_candidates_are_the_tags_of_neighbours_and_the_tags_named_in_the_text(limits: Limits) -> None:
    vectors = VECTORS
    index = build_index(vectors[:30], TAGS[:30], KINDS, NAMES, n_jobs=1, **limits)
    found = evidence_within(
        index, queries_from_vectors(vectors[30:]), te.SearchLimits(n_voters=2, n_neighbours=3, min_candidates=0)
    )
    dense, tags = vectors.toarray().astype(np.float64), TAGS.toarray()[:30].astype(np.float64)
    n_candidates = []
    for i in range(10):
        similarity = dense[:30] @ dense[30 + i]
        order = np.argsort(-similarity)
        expected = evidence_of_one(dense[30 + i], dense[:30], tags)
        expected[:, te.KNN_VOTE] = tags[order[:2]].T @ similarity[order[:2]] ** 2
        many = index.common_numbers >= 0
        expected[many, te.FOURTH_POWERS] = (tags[order[:3]].T @ similarity[order[:3]] ** 4)[many]
        expected[many, te.NEAREST] = (tags * similarity[:, None])[order[:3]].max(axis=0)[many]
        candidates = (tags[order[:3]].any(axis=0) | (expected[:, te.NAME_OVERLAP] > 0)) & (expected[:, te.CENTROID] > 0)
        chosen = found.tags[i, : found.n_found[i]]
        assert set(chosen) == set(np.flatnonzero(candidates))
        np.testing.assert_allclose(found.values[i, : len(chosen)], expected[chosen], rtol=2e-4, atol=1e-6)
        n_candidates.append(len(chosen))
    assert min(n_candidates) < 12


@with_and_without_stored_sums
def test_all_tags_are_candidates_where_these_are_too_few(limits: Limits) -> None:
    vectors = VECTORS
    index = build_index(vectors[:30], TAGS[:30], KINDS, NAMES, n_jobs=1, **limits)
    few, all_tags = (
        evidence_within(
            index, queries_from_vectors(vectors[30:]), te.SearchLimits(n_voters=2, n_neighbours=3, min_candidates=n)
        )
        for n in (0, 12)
    )
    for i in range(10):
        chosen, found = few.n_found[i], all_tags.n_found[i]
        assert set(all_tags.tags[i, :found]) == set(range(12))
        place = {tag: row for row, tag in enumerate(all_tags.tags[i].tolist())}
        same = [place[tag] for tag in few.tags[i, :chosen].tolist()]
        np.testing.assert_array_equal(all_tags.values[i, same], few.values[i, :chosen])
        for column, measure in ((te.CENTROID, te.BEST_CENTROID), (te.KNN_VOTE, te.BEST_KNN_VOTE)):
            values = all_tags.values[i, [place[tag] for tag in range(12)], column].reshape(3, 4)
            best = np.maximum(values.max(axis=1), te.MIN_BEST)[KINDS]
            np.testing.assert_array_equal(all_tags.references[i, [place[tag] for tag in range(12)], measure], best)


def evidence_within(index: TrainingIndex, queries: Queries, limits: te.SearchLimits) -> te.Evidence:
    n = len(queries.training_rows)
    found = te.Evidence(
        np.zeros(n, np.int64),
        np.zeros((n, 12), np.int32),
        np.zeros((n, 12, te.N_EVIDENCE), np.float32),
        np.zeros((n, 12, te.N_REFERENCES), np.float32),
    )
    te.gather_candidates(index, queries, 0, n, np.ones(12, bool), limits, te.new_workspace(index), found)
    return found


def test_a_tag_of_one_document_has_its_similarity_and_ties_go_to_the_first() -> None:
    vectors = VECTORS[[0, 3, 3, 4]]
    index = build_index(vectors, sp.csr_array(np.eye(4, 12, dtype=np.int8)), KINDS, NAMES * 0, n_jobs=1)
    asked = queries_from_vectors(vectors[[1]])
    (found,) = evidence_within(index, asked, te.SearchLimits(4, 4, 0)).values[:, :4, te.CENTROID]
    np.testing.assert_allclose(found, (vectors @ vectors[[1]].T).toarray().ravel(), rtol=1e-5)
    assert evidence_within(index, asked, te.SearchLimits(4, 4, 12)).n_found.tolist() == [
        4
    ]  # no document has the other eight
    best = gather_evidence(index, asked, 1, np.ones(12, bool), 0, n_jobs=1)
    assert best.n_found.tolist() == [1]
    assert best.tags.tolist() == [[1]]


@pytest.mark.parametrize("common", [2, 256])
def test_a_training_document_is_left_out_of_a_tag_that_it_shares_with_a_dissimilar_one(common: int) -> None:
    vectors = VECTORS[[0, 3, 4]]
    tags = np.zeros((3, 12), np.int8)
    tags[[0, 1], 0] = tags[2, 5] = 1
    index = build_index(vectors, sp.csr_array(tags), KINDS, NAMES * 0, n_jobs=1, min_common_tag=common)
    found = evidence_within(index, queries_from_vectors(vectors[[0]], np.array([0])), te.SearchLimits(3, 3, 0))
    similarity = float((vectors[[0]] @ vectors[[1]].T).toarray()[0, 0])
    assert 0 < similarity < 0.9
    values = found.values[0, found.tags[0, : found.n_found[0]].tolist().index(0)]
    assert values[[te.CENTROID, te.MEAN, te.NEAREST]] == pytest.approx([similarity] * 3, rel=1e-4)
    assert values[te.FREQUENCY] == 1


@with_and_without_stored_sums
def test_given_tags_have_the_same_evidence_as_candidates(limits: Limits) -> None:
    vectors = VECTORS
    index = build_index(vectors[:30], TAGS[:30], KINDS, NAMES, n_jobs=1, **limits)
    starts, tags = read_only(np.arange(0, 121, 12)), read_only(np.tile(np.arange(12, dtype=np.int32), 10))
    values, best = np.zeros((120, te.N_EVIDENCE), np.float32), np.zeros((120, te.N_REFERENCES), np.float32)
    limit, work = te.SearchLimits(50, 100, 0), te.new_workspace(index)
    te.gather_given_tags(index, queries_from_vectors(vectors[30:]), 2, 9, starts, tags, limit, work, values, best)
    found = gather_evidence(index, queries_from_vectors(vectors[30:]), 12, np.ones(12, bool), 0, n_jobs=1)
    for i in range(2, 9):
        chosen = found.tags[i, : found.n_found[i]]
        np.testing.assert_array_equal(values[12 * i + chosen], found.values[i, : len(chosen)])
        np.testing.assert_array_equal(best[12 * i + chosen], found.references[i, : len(chosen)])
    assert not values[:24].any()
    assert not values[108:].any()


def test_a_given_tag_of_a_kind_without_candidates_is_compared_with_all_tags_of_its_kind() -> None:
    vectors, no_names = VECTORS, sp.csr_array(NAMES.shape, dtype=np.float32)
    similarity = vectors.toarray()[:30] @ vectors.toarray()[31]
    tags = TAGS.toarray()[:30]
    tags[np.argmax(similarity), 8:] = 0  # the nearest document has no tag of the last kind
    index = build_index(vectors[:30], sp.csr_array(tags), KINDS, no_names, n_jobs=1)
    given = read_only(np.array([10, 8, 1], np.int32))
    values, best = np.zeros((3, te.N_EVIDENCE), np.float32), np.zeros((3, te.N_REFERENCES), np.float32)
    limits = te.SearchLimits(n_voters=1, n_neighbours=1, min_candidates=0)
    work = te.new_workspace(index)
    te.gather_given_tags(
        index, queries_from_vectors(vectors[[31]]), 0, 1, read_only(np.array([0, 3])), given, limits, work, values, best
    )
    expected = evidence_of_one(vectors.toarray()[31], vectors.toarray()[:30], tags)
    np.testing.assert_allclose(values[:, te.CENTROID], expected[given, te.CENTROID], rtol=2e-4)
    np.testing.assert_allclose(best[:2, te.BEST_CENTROID], expected[8:, te.CENTROID].max(), rtol=2e-4)
    assert 8 + expected[8:, te.CENTROID].argmax() not in given
