"""The evidence on pi: sums over documents, for any division into parts, blocks and threads."""

from typing import Any

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from tagtopic.corpus import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines.local import LocalEngine, LocalSession
from tagtopic.engines.posterior import CorpusEvidence, block_evidence
from tagtopic.inference.priors.tag_weights import Evidence
from tagtopic.inference.types import Parameters

CORPUS = make_tagged_corpus(150, 4, 9, 60, model="twda", untagged=0.2, random_state=3).corpus


def parameters(latent: bool) -> Parameters:
    random = np.random.default_rng(0)
    return Parameters(
        psi=np.ascontiguousarray(random.dirichlet(np.ones(CORPUS.n_words), 4).T),
        theta=random.dirichlet(np.ones(4), CORPUS.n_tags),
        pi=random.gamma(2.0, size=CORPUS.n_tags),
        pi_latent=2.0,
        mu=np.full(4, 0.3),
        latent=latent,
    )


def started(given: Parameters, n_jobs: int = 1, corpus: Corpus = CORPUS) -> LocalSession:
    session = LocalEngine(n_jobs, block_entries=500).session(corpus, given, "map")
    random = np.random.default_rng(1)
    session.restore(
        session.posterior._replace(
            xi=random.gamma(2.0, size=len(session.posterior.xi)).astype(session.posterior.xi.dtype)
        )
    )
    return session


def slow_sums(session: LocalSession, given: Parameters) -> tuple[Any, ...]:
    """log_weights, documents, prior_digammas and prior_log_gammas, one document at a time."""
    pi = given.all_pi
    log_weights, documents, digammas, log_gammas = np.zeros(len(pi)), np.zeros(len(pi)), np.zeros(len(pi)), 0.0
    starts = CORPUS.tags.indptr
    for d in range(len(CORPUS)):
        entries = slice(starts[d], starts[d + 1])
        tags, xi = CORPUS.tags.indices[entries], session.posterior.xi[entries]
        if given.latent:
            tags, xi = np.append(tags, len(given.pi)), np.append(xi, session.posterior.xi_latent[d])
        if len(tags) < 2:
            continue
        log_weights[tags] += digamma(xi) - digamma(xi.sum())
        documents[tags] += 1
        digammas[tags] += digamma(pi[tags].sum())
        log_gammas += gammaln(pi[tags].sum())
    return log_weights, documents, digammas, log_gammas


def evidence_in_parts(session: LocalSession, given: Parameters) -> CorpusEvidence:
    return CorpusEvidence(CORPUS.tags.indptr, CORPUS.tags.indices, session.posterior, given, session, part_entries=50)


def sums_of(evidence: Evidence, given: Parameters) -> tuple[Any, ...]:
    pi = given.all_pi
    return evidence.log_weights, evidence.documents, evidence.prior_digammas(pi), evidence.prior_log_gammas(pi)


@pytest.mark.parametrize("latent", [True, False])
def test_the_evidence_of_a_corpus_is_the_sum_over_its_documents(latent: bool) -> None:
    given = parameters(latent)
    with started(given) as session:
        for found, expected in zip(
            sums_of(evidence_in_parts(session, given), given), slow_sums(session, given), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("latent", [True, False])
def test_the_evidence_of_blocks_adds_up_to_that_of_the_corpus(latent: bool) -> None:
    given = parameters(latent)
    with started(given) as session:
        total: list[Any] = [0.0, 0.0, 0.0, 0.0]
        for block in session.blocks:
            posterior = session.posterior._replace(
                xi=session.posterior.xi[slice(*block.tag_range)],
                xi_latent=session.posterior.xi_latent[block.first : block.last],
            )
            part = block_evidence(block, posterior, latent=latent)
            total = [a + b for a, b in zip(total, sums_of(part, given), strict=True)]
        assert len(session.blocks) > 3
        for found, expected in zip(total, slow_sums(session, given), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_bits_of_evidence_do_not_depend_on_the_number_of_threads() -> None:
    given = parameters(True)
    found = []
    for n_jobs in (1, 2, 4):
        with started(given, n_jobs) as session:
            found.append(sums_of(evidence_in_parts(session, given), given))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert np.array_equal(a, b)


def test_the_bits_of_evidence_do_not_depend_on_the_size_of_blocks() -> None:
    given = parameters(True)
    found = []
    for entries in (500, 10**9):
        with LocalEngine(1, block_entries=entries).session(CORPUS, given, "map") as session:
            found.append(sums_of(session.weight_evidence(given), given))
    for a, b in zip(*found, strict=True):
        assert np.array_equal(a, b)


def test_untagged_documents_are_no_evidence_without_a_latent_tag() -> None:
    given = parameters(False)
    bare = CORPUS[np.flatnonzero(np.diff(CORPUS.tags.indptr) == 0)]
    with LocalEngine(1).session(bare, given, "map") as session:
        evidence = session.weight_evidence(given)
        assert not evidence.documents.any()
        assert not evidence.prior_digammas(given.all_pi).any()
        assert evidence.prior_log_gammas(given.all_pi) == 0
