"""What remembered documents say of a tag, against the same in plain NumPy."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic._core.arrays import read_only
from tagtopic.inference.likelihood import log_likelihoods_reference, tag_log_likelihoods
from tagtopic.tagging import evidence as te
from tagtopic.tagging import training_index as memory_module
from tagtopic.tagging.predictor import gather, queries_of
from tagtopic.tagging.training_index import Memory, Queries, build_memory, few_words, weighted_rows, word_scores

RNG = np.random.default_rng(0)
COUNTS = sp.csr_array(RNG.poisson(0.4, (40, 30)).astype(np.int32))
TAGS = sp.csr_array((RNG.random((40, 12)) < 0.25).astype(np.int8))
KINDS = np.repeat(np.arange(3), 4).astype(np.int32)
NAMES = sp.csr_array((RNG.random((30, 12)) * (RNG.random((30, 12)) < 0.1)).astype(np.float32))


def evidence_of_one(x: Any, vectors: Any, tags: Any) -> Any:
    """The readable twin: (tags, columns) for a document x, from the documents that are remembered."""
    likeness = vectors @ x
    sums = tags.T @ vectors
    lengths = np.linalg.norm(sums, axis=1)
    table = np.zeros((tags.shape[1], te.N_COLUMNS))
    table[:, te.CENTROID] = np.divide(sums @ x, lengths, out=np.zeros(len(lengths)), where=lengths > 1e-3)
    table[:, te.NEAR] = tags.T @ likeness**2
    table[:, te.CLOSE] = tags.T @ likeness**4
    table[:, te.NEAREST] = (tags * likeness[:, None]).max(axis=0)
    table[:, te.DOCUMENTS] = tags.sum(axis=0)
    table[:, te.MEAN] = tags.T @ likeness / np.maximum(tags.sum(axis=0), 1)
    table[:, te.NAMED] = (x > 0) @ NAMES.toarray()
    return table


@pytest.fixture(params=[(5, 0.3), (256, 1.0)], ids=["common tags, frequent words", "neither"])
def _common(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "COMMON", request.param[0])
    monkeypatch.setattr(memory_module, "FREQUENT", request.param[1])


@pytest.mark.usefixtures("_common")
def test_a_remembered_document_is_asked_about_as_if_it_were_not_there() -> None:
    vectors = weighted_rows(COUNTS, word_scores(COUNTS))
    memory = build_memory(vectors, TAGS, KINDS, NAMES, n_jobs=1)
    asked = np.array([0, 7, 23])
    short = weighted_rows(few_words(COUNTS[asked], 6, np.random.default_rng(0)), word_scores(COUNTS))
    both = sp.csr_array(sp.vstack([vectors[asked], short]))
    queries = queries_of(both, np.tile(asked, 2), np.tile(np.arange(3), 2))
    found = gather(memory, queries, 12, np.ones(12, bool), 0, n_jobs=1)
    dense, tags = vectors.toarray().astype(np.float64), TAGS.toarray().astype(np.float64)
    for i, row in enumerate(np.tile(asked, 2)):
        others = np.delete(np.arange(40), row)
        expected = evidence_of_one(both[[i]].toarray()[0].astype(np.float64), dense[others], tags[others])
        chosen = found.tags[i, : found.found[i]]
        speaks = (expected[:, te.CENTROID] > 0) | (expected[:, te.NAMED] > 0)
        assert set(chosen) == set(np.flatnonzero(speaks & (expected[:, te.DOCUMENTS] > 0)))
        np.testing.assert_allclose(found.values[i, : len(chosen)], expected[chosen], rtol=2e-4, atol=1e-6)


@pytest.mark.usefixtures("_common")
def test_new_documents_and_few_neighbours() -> None:
    vectors = weighted_rows(COUNTS, word_scores(COUNTS))
    memory = build_memory(vectors[:30], TAGS[:30], KINDS, NAMES, n_jobs=1)
    found = gather(memory, queries_of(vectors[30:]), 5, np.ones(12, bool), 0, n_jobs=2)
    dense, tags = vectors.toarray().astype(np.float64), TAGS.toarray().astype(np.float64)
    for i in range(10):
        expected = evidence_of_one(dense[30 + i], dense[:30], tags[:30])
        best = np.array([expected[kind == KINDS].max(axis=0) for kind in range(3)])[KINDS]
        score = expected[:, te.CENTROID] / best[:, te.CENTROID] + expected[:, te.NEAR] / best[:, te.NEAR]
        score += expected[:, te.NAMED]
        assert set(found.tags[i]) == set(np.argsort(-score)[:5])
        np.testing.assert_allclose(found.best[i][:, :2], best[found.tags[i]][:, [te.CENTROID, te.NEAR]], rtol=2e-4)
        likeness = dense[:30] @ dense[30 + i]
        np.testing.assert_allclose(found.best[i][:, te.ALL_NEAR], (likeness**2).sum(), rtol=2e-4)
        np.testing.assert_allclose(found.best[i][:, te.ALL_MEAN], likeness.mean(), rtol=2e-4)


@pytest.mark.usefixtures("_common")
def test_only_the_tags_of_the_most_alike_documents_and_those_named_are_asked_about() -> None:
    vectors = weighted_rows(COUNTS, word_scores(COUNTS))
    memory = build_memory(vectors[:30], TAGS[:30], KINDS, NAMES, n_jobs=1)
    found = evidence_within(memory, queries_of(vectors[30:]), te.Reach(near=2, alike=3, fewest=0))
    dense, tags = vectors.toarray().astype(np.float64), TAGS.toarray()[:30].astype(np.float64)
    asked_about = []
    for i in range(10):
        likeness = dense[:30] @ dense[30 + i]
        order = np.argsort(-likeness)
        expected = evidence_of_one(dense[30 + i], dense[:30], tags)
        expected[:, te.NEAR] = tags[order[:2]].T @ likeness[order[:2]] ** 2
        many = memory.common >= 0
        expected[many, te.CLOSE] = (tags[order[:3]].T @ likeness[order[:3]] ** 4)[many]
        expected[many, te.NEAREST] = (tags * likeness[:, None])[order[:3]].max(axis=0)[many]
        candidates = (tags[order[:3]].any(axis=0) | (expected[:, te.NAMED] > 0)) & (expected[:, te.CENTROID] > 0)
        chosen = found.tags[i, : found.found[i]]
        assert set(chosen) == set(np.flatnonzero(candidates))
        np.testing.assert_allclose(found.values[i, : len(chosen)], expected[chosen], rtol=2e-4, atol=1e-6)
        asked_about.append(len(chosen))
    assert min(asked_about) < 12


@pytest.mark.usefixtures("_common")
def test_where_candidates_are_too_few_all_tags_are_asked_about() -> None:
    vectors = weighted_rows(COUNTS, word_scores(COUNTS))
    memory = build_memory(vectors[:30], TAGS[:30], KINDS, NAMES, n_jobs=1)
    few, all_tags = (
        evidence_within(memory, queries_of(vectors[30:]), te.Reach(near=2, alike=3, fewest=n)) for n in (0, 12)
    )
    for i in range(10):
        chosen, found = few.found[i], all_tags.found[i]
        assert set(all_tags.tags[i, :found]) == set(range(12))
        place = {tag: row for row, tag in enumerate(all_tags.tags[i].tolist())}
        same = [place[tag] for tag in few.tags[i, :chosen].tolist()]
        np.testing.assert_array_equal(all_tags.values[i, same], few.values[i, :chosen])
        for column, measure in ((te.CENTROID, te.BEST_CENTROID), (te.NEAR, te.BEST_NEAR)):
            values = all_tags.values[i, [place[tag] for tag in range(12)], column].reshape(3, 4)
            best = np.maximum(values.max(axis=1), te.LEAST_BEST)[KINDS]
            np.testing.assert_array_equal(all_tags.best[i, [place[tag] for tag in range(12)], measure], best)


def evidence_within(memory: Memory, queries: Queries, reach: te.Reach) -> te.Evidence:
    n = len(queries.rows)
    found = te.Evidence(
        np.zeros(n, np.int64),
        np.zeros((n, 12), np.int32),
        np.zeros((n, 12, te.N_COLUMNS), np.float32),
        np.zeros((n, 12, te.N_MEASURES), np.float32),
    )
    te.gather_evidence(memory, queries, 0, n, np.ones(12, bool), reach, found)
    return found


def test_a_tag_of_one_document_is_as_near_as_the_document_and_of_equals_the_first_is_chosen() -> None:
    vectors = weighted_rows(COUNTS, word_scores(COUNTS))[[0, 3, 3, 4]]
    memory = build_memory(vectors, sp.csr_array(np.eye(4, 12, dtype=np.int8)), KINDS, NAMES * 0, n_jobs=1)
    asked = queries_of(vectors[[1]])
    (found,) = evidence_within(memory, asked, te.Reach(4, 4, 0)).values[:, :4, te.CENTROID]
    np.testing.assert_allclose(found, (vectors @ vectors[[1]].T).toarray().ravel(), rtol=1e-5)
    assert evidence_within(memory, asked, te.Reach(4, 4, 12)).found.tolist() == [4]  # no document has the other eight
    best = gather(memory, asked, 1, np.ones(12, bool), 0, n_jobs=1)
    assert best.found.tolist() == [1]
    assert best.tags.tolist() == [[1]]


@pytest.mark.parametrize("common", [2, 256])
def test_a_document_is_left_out_of_a_tag_that_it_shares_with_an_unlike_one(
    common: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_module, "COMMON", common)
    vectors = weighted_rows(COUNTS, word_scores(COUNTS))[[0, 3, 4]]
    tags = np.zeros((3, 12), np.int8)
    tags[[0, 1], 0] = tags[2, 5] = 1
    memory = build_memory(vectors, sp.csr_array(tags), KINDS, NAMES * 0, n_jobs=1)
    found = evidence_within(memory, queries_of(vectors[[0]], np.array([0])), te.Reach(3, 3, 0))
    likeness = float((vectors[[0]] @ vectors[[1]].T).toarray()[0, 0])
    assert 0 < likeness < 0.9
    values = found.values[0, found.tags[0, : found.found[0]].tolist().index(0)]
    assert values[[te.CENTROID, te.MEAN, te.NEAREST]] == pytest.approx([likeness] * 3, rel=1e-4)
    assert values[te.DOCUMENTS] == 1


def test_of_many_common_tags_the_commonest_are_summed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = np.array([3, 9, 7, 8, 9])
    monkeypatch.setattr(memory_module, "COMMON", 7)
    assert memory_module.common_tags(sizes, 10).tolist() == [1, 2, 3, 4]
    monkeypatch.setattr(memory_module, "MOST_SUMMED", 39)
    assert memory_module.common_tags(sizes, 10).tolist() == [1, 3, 4]


@pytest.mark.usefixtures("_common")
def test_tags_that_are_given_have_the_evidence_that_found_ones_have() -> None:
    vectors = weighted_rows(COUNTS, word_scores(COUNTS))
    memory = build_memory(vectors[:30], TAGS[:30], KINDS, NAMES, n_jobs=1)
    starts, tags = read_only(np.arange(0, 121, 12)), read_only(np.tile(np.arange(12, dtype=np.int32), 10))
    values, best = np.zeros((120, te.N_COLUMNS), np.float32), np.zeros((120, te.N_MEASURES), np.float32)
    te.gather_given(memory, queries_of(vectors[30:]), 2, 9, starts, tags, te.Reach(50, 100, 0), values, best)
    found = gather(memory, queries_of(vectors[30:]), 12, np.ones(12, bool), 0, n_jobs=1)
    for i in range(2, 9):
        chosen = found.tags[i, : found.found[i]]
        np.testing.assert_array_equal(values[12 * i + chosen], found.values[i, : len(chosen)])
        np.testing.assert_array_equal(best[12 * i + chosen], found.best[i, : len(chosen)])
    assert not values[:24].any()
    assert not values[108:].any()


def test_a_given_tag_of_a_kind_without_candidates_is_held_against_all_of_its_kind() -> None:
    vectors, no_names = weighted_rows(COUNTS, word_scores(COUNTS)), sp.csr_array(NAMES.shape, dtype=np.float32)
    likeness = vectors.toarray()[:30] @ vectors.toarray()[31]
    tags = TAGS.toarray()[:30]
    tags[np.argmax(likeness), 8:] = 0  # the document most alike has no tag of the last kind
    memory = build_memory(vectors[:30], sp.csr_array(tags), KINDS, no_names, n_jobs=1)
    given = read_only(np.array([10, 8, 1], np.int32))
    values, best = np.zeros((3, te.N_COLUMNS), np.float32), np.zeros((3, te.N_MEASURES), np.float32)
    reach = te.Reach(near=1, alike=1, fewest=0)
    te.gather_given(memory, queries_of(vectors[[31]]), 0, 1, read_only(np.array([0, 3])), given, reach, values, best)
    expected = evidence_of_one(vectors.toarray()[31], vectors.toarray()[:30], tags)
    np.testing.assert_allclose(values[:, te.CENTROID], expected[given, te.CENTROID], rtol=2e-4)
    np.testing.assert_allclose(best[:2, te.BEST_CENTROID], expected[8:, te.CENTROID].max(), rtol=2e-4)
    assert 8 + expected[8:, te.CENTROID].argmax() not in given


def test_the_paper_s_score_is_the_log_likelihood() -> None:
    psi = RNG.dirichlet(np.ones(30), 4).T.astype(np.float32)
    theta = RNG.dirichlet(np.ones(4), 12).astype(np.float32)
    counts = COUNTS.astype(np.float32)
    out = np.empty((6, 12))
    tag_log_likelihoods(counts.indptr, counts.indices, counts.data, psi, theta, 2, 8, out)
    assert out == pytest.approx(log_likelihoods_reference(counts.toarray()[2:8], psi, theta), rel=1e-5)


def test_the_score_of_a_long_document_does_not_underflow() -> None:
    psi = RNG.dirichlet(np.ones(400), 3).T.astype(np.float32)
    theta = RNG.dirichlet(np.ones(3), 5).astype(np.float32)
    counts, out = sp.csr_array(np.ones((1, 400), np.float32)), np.empty((1, 5))  # each probability is about 1/400
    tag_log_likelihoods(counts.indptr, counts.indices, counts.data, psi, theta, 0, 1, out)
    assert out == pytest.approx(log_likelihoods_reference(counts.toarray(), psi, theta), rel=1e-5)
