"""What documents say of pi: the sums of a plain loop, however the corpus is cut and whoever goes through it."""

from typing import Any

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from tagtopic.corpus import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines import blocks
from tagtopic.engines.local import LocalEngine, LocalRun
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


def started(given: Parameters, n_jobs: int = 1, corpus: Corpus = CORPUS) -> LocalRun:
    run = LocalEngine(n_jobs, block_entries=500).start(corpus, given, "map")
    random = np.random.default_rng(1)
    run.restore(run.state._replace(xi=random.gamma(2.0, size=len(run.state.xi)).astype(run.state.xi.dtype)))
    return run


def slow_sums(run: LocalRun, given: Parameters) -> tuple[Any, ...]:
    """log_weights, documents, prior_digammas and prior_log_gammas, one document at a time."""
    pi = given.all_pi
    log_weights, documents, digammas, log_gammas = np.zeros(len(pi)), np.zeros(len(pi)), np.zeros(len(pi)), 0.0
    starts = CORPUS.tags.indptr
    for d in range(len(CORPUS)):
        entries = slice(starts[d], starts[d + 1])
        tags, xi = CORPUS.tags.indices[entries], run.state.xi[entries]
        if given.latent:
            tags, xi = np.append(tags, len(given.pi)), np.append(xi, run.state.xi_latent[d])
        if len(tags) < 2:
            continue
        log_weights[tags] += digamma(xi) - digamma(xi.sum())
        documents[tags] += 1
        digammas[tags] += digamma(pi[tags].sum())
        log_gammas += gammaln(pi[tags].sum())
    return log_weights, documents, digammas, log_gammas


def sums_of(evidence: Evidence, given: Parameters) -> tuple[Any, ...]:
    pi = given.all_pi
    return evidence.log_weights, evidence.documents, evidence.prior_digammas(pi), evidence.prior_log_gammas(pi)


@pytest.mark.parametrize("latent", [True, False])
def test_a_corpus_gives_the_sums_of_a_plain_loop(latent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "PART_ENTRIES", 50)
    given = parameters(latent)
    with started(given) as run:
        for found, expected in zip(sums_of(run.weight_evidence(given), given), slow_sums(run, given), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("latent", [True, False])
def test_blocks_add_up_to_the_corpus(latent: bool) -> None:
    given = parameters(latent)
    with started(given) as run:
        total: list[Any] = [0.0, 0.0, 0.0, 0.0]
        for block in run.blocks:
            state = run.state._replace(
                xi=run.state.xi[slice(*block.tag_range)], xi_latent=run.state.xi_latent[block.first : block.last]
            )
            part = blocks.evidence_of_block(block, state, latent=latent)
            total = [a + b for a, b in zip(total, sums_of(part, given), strict=True)]
        assert len(run.blocks) > 3
        for found, expected in zip(total, slow_sums(run, given), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_bits_do_not_depend_on_threads_or_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "PART_ENTRIES", 50)
    given = parameters(True)
    found = []
    for n_jobs, entries in ((1, 500), (2, 500), (4, 10**9)):
        with started(given, n_jobs) as run:
            run.blocks = list(LocalEngine(block_entries=entries).start(CORPUS, given, "map").blocks)
            found.append(sums_of(run.weight_evidence(given), given))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert np.array_equal(a, b)


def test_documents_without_tags_say_nothing_of_a_model_without_latent_tag() -> None:
    given = parameters(False)
    bare = CORPUS[np.flatnonzero(np.diff(CORPUS.tags.indptr) == 0)]
    with LocalEngine(1).start(bare, given, "map") as run:
        evidence = run.weight_evidence(given)
        assert not evidence.documents.any()
        assert not evidence.prior_digammas(given.all_pi).any()
        assert evidence.prior_log_gammas(given.all_pi) == 0
