"""The sampler against its twin, and its stationary distribution against the posterior."""

from contextlib import ExitStack
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagtopic import Corpus
from tagtopic._core.memmap import TemporaryArrays
from tagtopic._core.parallel import ThreadPool
from tagtopic.engines.sampler import BLOCKS, LocalSampler, rows_pay
from tagtopic.inference import reference
from tagtopic.inference.gibbs import Assignments, SamplerPriors, document_key, uniform
from tagtopic.inference.own_words import OwnWordCandidates, own_word_candidates
from tagtopic.inference.types import Parameters, VariationalPosterior


def priors_of(rng: Any, shape: tuple[int, int, int], *, latent: bool) -> SamplerPriors:
    n_words, n_tags, n_topics = shape
    pi, mu, alpha, beta = (
        rng.uniform(0.1, 1.5, size).astype(np.float32) for size in (n_tags, n_topics, n_topics, n_words)
    )
    return SamplerPriors(pi, 0.75, mu, alpha, beta, latent, float(beta.sum(dtype=float)), *no_own_words(n_tags))


def no_own_words(n_tags: int) -> tuple[Any, ...]:
    return np.zeros(n_tags, np.float32), np.empty(0, np.float32), np.ones(n_tags, np.float32)


def candidates_of(rng: Any, corpus: Corpus) -> OwnWordCandidates:
    """Words that occur in a document of the tag, with priors drawn at random."""
    found = own_word_candidates(corpus.counts, corpus.tags, min_documents=1)
    tokens = np.where(found.tokens > 0, rng.uniform(0.1, 1.5, corpus.n_tags).astype(np.float32), 0)
    return replace(found, tokens=tokens, prior=rng.uniform(0.1, 1.5, len(found.words)).astype(np.float32))


def with_own_words(priors: SamplerPriors, candidates: OwnWordCandidates) -> SamplerPriors:
    own = candidates.tokens, candidates.prior, candidates.totals
    return SamplerPriors(*priors[:7], *(np.asarray(values, np.float32) for values in own))


def sampler_of(
    corpus: Corpus,
    n_topics: int,
    seed: int,
    *,
    n_blocks: int = BLOCKS,
    n_rounds: int | None = None,
    latent: bool,
    candidates: OwnWordCandidates | None = None,
    sparse: bool = False,
    rows: bool | None = None,
) -> LocalSampler:
    resources = ThreadPool(1), TemporaryArrays(), ExitStack()
    options: dict[str, Any] = {"n_blocks": n_blocks, "n_rounds": n_rounds, "candidates": candidates}
    sampler = LocalSampler(corpus, n_topics, *resources, **options, sparse=sparse, rows=rows)
    rng = np.random.default_rng(seed)
    starts, tag_counts = sampler.token_starts, np.diff(corpus.tags.indptr)
    choices = tag_counts + np.maximum(latent, tag_counts == 0)
    tags = np.concatenate(
        [rng.integers(0, n, end - start) for n, start, end in zip(choices, starts, starts[1:], strict=False)]
    )
    topics = rng.integers(0, n_topics, starts[-1])
    if candidates is not None:
        topics = np.where(can_be_own(sampler, tags) & rng.integers(0, 2, starts[-1]), n_topics, topics)
    sampler.restore(Assignments(topics, tags))
    return sampler


def can_be_own(sampler: LocalSampler, tags: Any) -> Any:
    """Which tokens are candidates of their tags' own words."""
    found: list[bool] = []
    positions: Any
    for d in range(len(sampler.token_starts) - 1):
        for e in range(sampler.documents.word_starts[d], sampler.documents.word_starts[d + 1]):
            positions = sampler.own.positions[slice(*sampler.own.starts[e : e + 2])] if len(sampler.own.starts) else []
            for _ in range(sampler.documents.counts[e]):
                found.append(tags[len(found)] in positions)
    return np.array(found, bool)


def documents_of_rounds(sampler: LocalSampler) -> list[list[int]]:
    return [[d for part in round_.ranges for d in range(*part)] for round_ in sampler.rounds]


def state_of(sampler: LocalSampler) -> reference.GibbsState:
    documents, starts = sampler.documents, sampler.token_starts
    words, tags, topics, positions = [], [], [], []
    for d in range(len(starts) - 1):
        entries = slice(documents.word_starts[d], documents.word_starts[d + 1])
        words.append(np.repeat(documents.words[entries], documents.counts[entries]))
        tags.append(np.array(documents.tags[documents.tag_starts[d] : documents.tag_starts[d + 1]], int))
        tokens = slice(starts[d], starts[d + 1])
        topics.append(np.array(sampler.tokens.topics[tokens], int))
        positions.append(np.array(sampler.tokens.tags[tokens], int))
    n_words, n_topics = sampler.word_topics(slice(None)).shape
    shape = n_words, len(sampler.counts.tags), n_topics
    return reference.GibbsState.counted(words, tags, topics, positions, shape)


def arguments_of(
    state: reference.GibbsState, priors: SamplerPriors, candidates: OwnWordCandidates | None = None
) -> tuple[Any, ...]:
    own = reference.OwnWordPrior(np.zeros(len(priors.pi)), np.zeros((len(priors.pi), len(priors.beta))))
    if candidates is not None:
        own.tokens[:] = candidates.tokens
        own.words[candidates.tags, candidates.words] = candidates.prior
    pi = []
    for tags in state.tags:
        latent = [priors.pi_latent] if priors.latent or not len(tags) else []
        pi.append(np.array([*priors.pi[tags], *latent], float))
    return pi, *(np.asarray(values, float) for values in (priors.mu, priors.alpha, priors.beta)), own


@st.composite
def corpora(draw: Any) -> Corpus:
    n_words, n_tags = draw(st.integers(1, 6)), draw(st.integers(0, 4))
    rows = draw(st.lists(st.lists(st.integers(0, 4), min_size=n_words, max_size=n_words), min_size=1, max_size=6))
    tags = [draw(st.sets(st.integers(0, n_tags - 1))) if n_tags else set() for _ in rows]
    counts = np.array(rows, np.int32)
    counts[0, 0] += 1
    return Corpus.from_counts(counts, [[f"t{j}" for j in sorted(each)] for each in tags])


@settings(max_examples=60, deadline=None)
@given(corpora(), st.integers(1, 70), *5 * [st.booleans()], st.integers(1, 6), st.integers(0, 2**31 - 1))
def test_a_sweep_draws_what_its_twin_draws(
    corpus: Corpus,
    n_topics: int,
    latent: bool,
    own_words: bool,
    sparse: bool,
    rows: bool,
    interleaved: bool,
    n_parts: int,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    candidates = candidates_of(rng, corpus) if own_words else None
    parts: dict[str, Any] = {"n_rounds" if interleaved else "n_blocks": n_parts}
    draw: dict[str, Any] = {"sparse": sparse, "rows": rows}
    sampler = sampler_of(corpus, n_topics, seed, **parts, latent=latent, candidates=candidates, **draw)
    priors = priors_of(rng, (corpus.n_words, corpus.n_tags, n_topics), latent=latent)
    if candidates is not None:
        priors = with_own_words(priors, candidates)
    state = state_of(sampler)
    keys = [np.uint64(document_key(seed, 3, d)) for d in range(len(corpus))]
    uniforms = [
        np.array([uniform(key, i) for i in range(2 * len(words))]) for key, words in zip(keys, state.words, strict=True)
    ]
    arguments = (*arguments_of(state, priors, candidates), uniforms)
    expected, log_probability = reference.gibbs_sweep(state, documents_of_rounds(sampler), *arguments, sparse=sparse)
    assert sampler.sweep(priors, seed, 3) == pytest.approx(log_probability, rel=1e-4, abs=1e-4)
    found = state_of(sampler)
    for one, other in zip(found.topics + found.positions, expected.topics + expected.positions, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(sampler.word_topics(slice(None)), found.word_topics)
    np.testing.assert_array_equal(sampler.counts.tag_topics, found.tag_topics)
    np.testing.assert_array_equal(sampler.counts.topics, found.word_topics.sum(axis=0))
    np.testing.assert_array_equal(sampler.counts.tags, found.tag_topics.sum(axis=1) + found.own_words.sum(axis=1))
    np.testing.assert_array_equal(sampler.counts.tags_own, found.own_words.sum(axis=1))
    if candidates is not None:
        pairs = found.own_words[candidates.tags, candidates.words]
        np.testing.assert_array_equal(sampler.counts.own_words, pairs)


def test_the_sparse_rows_follow_the_assignments_for_any_number_of_threads_and_after_a_restart() -> None:
    rng = np.random.default_rng(2)
    corpus = Corpus.from_counts(rng.poisson(0.8, (30, 12)).astype(np.int32), [["a"], ["a", "b"], []] * 10)
    priors = priors_of(rng, (corpus.n_words, corpus.n_tags, 70), latent=True)
    states = []
    for n_threads in (1, 3):
        resources = ThreadPool(n_threads), TemporaryArrays(), ExitStack()
        sampler = LocalSampler(corpus, 70, *resources, n_blocks=7, sparse=True)
        sampler.restore(sampler_of(corpus, 70, 4, n_blocks=7, latent=True).tokens)
        for sweep in range(1, 4):
            sampler.sweep(priors, 6, sweep)
            if n_threads > 1 and sweep < 3:
                sampler.restore(Assignments(*map(np.copy, sampler.tokens)))
        rows = sampler._word_topics
        for w, n in enumerate(rows.sizes):
            topics = rows.topics[rows.starts[w] : rows.starts[w] + n]
            assert (np.diff(topics.astype(int)) > 0).all()
        assert len(sampler.counts.word_topics) == 0
        np.testing.assert_array_equal(sampler.word_topics(slice(None)), state_of(sampler).word_topics)
        np.testing.assert_array_equal(sampler.word_topics(np.array([5, 2])), state_of(sampler).word_topics[[5, 2]])
        states.append(key_of(sampler))
    assert states[0] == states[1]


@pytest.mark.parametrize("n_topics", [3, 50, 130])
def test_the_dense_draw_is_the_same_from_sparse_rows_as_from_a_table(n_topics: int) -> None:
    rng = np.random.default_rng(3)
    corpus = Corpus.from_counts(rng.poisson(0.3, (60, 90)).astype(np.int32), [["a"], ["a", "b"], [], ["c"]] * 15)
    candidates = candidates_of(rng, corpus)
    priors = with_own_words(priors_of(rng, (corpus.n_words, corpus.n_tags, n_topics), latent=True), candidates)
    seeds = np.array([0, 0, 7]), np.array([2, 0, 1]), np.array([30, 4, 500])
    found = []
    for rows in (False, True):
        sampler = sampler_of(corpus, n_topics, 5, n_blocks=4, latent=True, candidates=candidates, rows=rows)
        sampler.add_word_topics(*seeds)
        sampler.counts.topics[:3] += [4, 500, 30]
        log_probabilities = [sampler.sweep(priors, 2, sweep) for sweep in range(1, 5)]
        found.append((sampler, log_probabilities))
    (by_table, expected), (by_rows, log_probabilities) = found
    assert log_probabilities == expected
    assert key_of(by_table) == key_of(by_rows)
    np.testing.assert_array_equal(by_table.word_topics(slice(None)), by_rows.word_topics(slice(None)))
    assert len(by_table.counts.word_topics) == corpus.n_words
    assert len(by_rows.counts.word_topics) == 0
    moved = by_table.word_topics(slice(None)) - state_of(by_table).word_topics  # what is left are the seeds
    np.testing.assert_array_equal(moved[seeds[0], seeds[1]], seeds[2])
    assert moved.sum() == seeds[2].sum()


def test_sparse_rows_are_kept_where_a_table_would_be_large_and_mostly_zeros() -> None:
    assert not rows_pay(np.full(20_000, 40), 50)
    assert rows_pay(np.full(100_000, 100), 1_000)
    assert not rows_pay(np.full(100_000, 500), 1_000)  # the rows would take more than half of its memory


TINY = Corpus.from_counts(np.array([[2, 0, 0], [0, 1, 1]], np.int32), [["a"], ["a", "b"]])


def posterior_of(
    corpus: Corpus, n_topics: int, priors: SamplerPriors, candidates: OwnWordCandidates | None = None
) -> dict[bytes, float]:
    """The posterior of all assignments, by enumeration."""
    sampler = sampler_of(corpus, n_topics, 0, n_blocks=99, latent=priors.latent, candidates=candidates)
    state = state_of(sampler)
    tag_counts = np.diff(corpus.tags.indptr) + np.maximum(priors.latent, np.diff(corpus.tags.indptr) == 0)
    per_token = np.repeat(tag_counts, corpus.lengths().astype(int))
    found = {}
    for tags in product(*(range(n) for n in per_token)):
        own = can_be_own(sampler, tags) if candidates is not None else np.zeros(len(per_token), bool)
        for topics in product(*(range(n_topics + each) for each in own)):
            sampler.restore(Assignments(np.array(topics), np.array(tags)))
            state = state_of(sampler)
            found[key_of(sampler)] = reference.gibbs_log_joint(state, *arguments_of(state, priors, candidates))
    logs = np.array(list(found.values()))
    probabilities = np.exp(logs - np.logaddexp.reduce(logs))
    return dict(zip(found, probabilities, strict=True))


def key_of(sampler: LocalSampler) -> bytes:
    return bytes(sampler.tokens.topics.tobytes() + sampler.tokens.tags.tobytes())


def frequencies_of(sampler: LocalSampler, priors: SamplerPriors, n_sweeps: int) -> dict[bytes, float]:
    counted: dict[bytes, float] = {}
    for sweep in range(1, n_sweeps + 1):
        sampler.sweep(priors, 5, sweep)
        key = key_of(sampler)
        counted[key] = counted.get(key, 0.0) + 1.0 / n_sweeps
    return counted


def total_variation(one: dict[bytes, float], other: dict[bytes, float]) -> float:
    return 0.5 * sum(abs(one.get(key, 0.0) - other.get(key, 0.0)) for key in one.keys() | other.keys())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("latent", "own_words", "sparse"),
    [(True, False, False), (False, False, False), (False, True, False), (True, False, True), (False, True, True)],
)
def test_with_blocks_of_one_document_the_stationary_distribution_is_the_posterior(
    latent: bool, own_words: bool, sparse: bool
) -> None:
    n_topics, n_sweeps, rng = 2, 30_000, np.random.default_rng(4)
    priors = priors_of(rng, (3, 2, n_topics), latent=latent)
    candidates = candidates_of(rng, TINY) if own_words else None
    if candidates is not None:
        priors = with_own_words(priors, candidates)
    expected = posterior_of(TINY, n_topics, priors, candidates)
    sampler = sampler_of(TINY, n_topics, 1, n_blocks=99, latent=latent, candidates=candidates, sparse=sparse)
    assert documents_of_rounds(sampler) == [[0], [1]]
    noise = 0.4 * np.sqrt(len(expected) / n_sweeps)  # of as many independent draws from a flat distribution
    assert total_variation(frequencies_of(sampler, priors, n_sweeps), expected) < noise
    # the same test tells other priors apart
    for name in ("alpha", "beta", "pi"):
        others = posterior_of(TINY, n_topics, priors._replace(**{name: 3 * getattr(priors, name)}), candidates)
        assert total_variation(others, expected) > 1.5 * noise


@pytest.mark.slow
def test_words_and_assignments_have_their_joint_distribution() -> None:
    """Geweke (2004): sampling assignments given words and words given assignments in turn gives the prior of both."""
    n_words, n_topics, n_sweeps = 4, 3, 6_000
    corpus = Corpus.from_counts(np.array([[5, 0, 0, 0], [0, 4, 0, 0], [0, 0, 6, 0]], np.int32), [["a"], ["a", "b"], []])
    priors = priors_of(np.random.default_rng(8), (n_words, 2, n_topics), latent=True)
    rng = np.random.default_rng(9)
    forward = np.array([statistics_of(*simulate(corpus, priors, rng), n_words) for _ in range(n_sweeps)])
    words, topics, tags = simulate(corpus, priors, rng)
    chain = []
    for sweep in range(1, n_sweeps + 1):
        order = np.lexsort([words, np.repeat([0, 1, 2], [5, 4, 6])])  # tokens of one word follow each other
        words, topics, tags = words[order], topics[order], tags[order]
        counts = np.zeros((3, n_words), np.int32)
        np.add.at(counts, (np.repeat([0, 1, 2], [5, 4, 6]), words), 1)
        drawn = Corpus.from_counts(counts, [["a"], ["a", "b"], []])
        sampler = LocalSampler(drawn, n_topics, ThreadPool(1), TemporaryArrays(), ExitStack(), n_blocks=99)
        sampler.restore(Assignments(topics, tags))
        sampler.sweep(priors, 3, sweep)
        topics, tags = np.array(sampler.tokens.topics, int), np.array(sampler.tokens.tags, int)
        words = draw_words(topics, priors, rng)
        chain.append(statistics_of(words, topics, tags, n_words))
    batches = np.array(chain).reshape(60, -1, len(forward[0])).mean(axis=1)  # means of batches are nearly independent
    error = np.sqrt(batches.var(axis=0, ddof=1) / len(batches) + forward.var(axis=0) / n_sweeps)
    assert np.abs((batches.mean(axis=0) - forward.mean(axis=0)) / error).max() < 4


def simulate(corpus: Corpus, priors: SamplerPriors, rng: Any) -> tuple[Any, Any, Any]:
    """Words, topics and tags of the tokens from the prior."""
    theta = rng.dirichlet(priors.alpha, corpus.n_tags)
    topics, tags = [], []
    for d, length in enumerate(corpus.lengths().astype(int)):
        own = corpus.tags.indices[corpus.tags.indptr[d] : corpus.tags.indptr[d + 1]]
        weights = rng.dirichlet([*priors.pi[own], priors.pi_latent])
        rows = [*theta[own], rng.dirichlet(priors.mu)]
        for _ in range(length):
            tags.append(rng.choice(len(weights), p=weights))
            topics.append(rng.choice(len(priors.mu), p=rows[tags[-1]]))
    return draw_words(np.array(topics), priors, rng), np.array(topics), np.array(tags)


def draw_words(topics: Any, priors: SamplerPriors, rng: Any) -> Any:
    psi = rng.dirichlet(priors.beta, len(priors.mu))
    # given the assignments, the words of a topic are exchangeable draws from its distribution
    return np.array([rng.choice(len(priors.beta), p=psi[k]) for k in topics])


def statistics_of(words: Any, topics: Any, tags: Any, n_words: int) -> list[float]:
    same = words[:, None] == words
    together = topics[:, None] == topics
    return [
        *np.bincount(topics, minlength=3), *np.bincount(words, minlength=n_words), (tags == 0).sum(), (tags == 1).sum(),
        (same & together).sum(), together.sum(), (together[:5, 5:9]).sum(), (topics[:5] == 0).sum() ** 2,
    ]  # fmt: skip


def test_initial_assignments_follow_the_parameters() -> None:
    rng = np.random.default_rng(0)
    corpus = Corpus.from_counts(np.array([[40_000, 10_000]], np.int32), [["a", "b"]])
    psi, theta = rng.dirichlet([1, 1], 3).T.astype(np.float32), rng.dirichlet([1, 1, 1], 2).astype(np.float32)
    parameters = Parameters(psi, theta, np.array([1.0, 2.0]), 0.5, np.ones(3), True)
    sampler = LocalSampler(corpus, 3, ThreadPool(1), TemporaryArrays(), ExitStack())
    xi, rho = np.array([1.0, 2.0], np.float32), np.array([[3.0, 1.0, 1.0]], np.float32)
    posterior = VariationalPosterior(xi, np.array([1.5], np.float32), rho)
    sampler.initialise(parameters, 11, posterior=posterior)
    joint = np.array([1.0, 2.0, 1.5])[:, None] * np.vstack([theta, rho / rho.sum()])
    for word, tokens in enumerate([slice(0, 40_000), slice(40_000, 50_000)]):
        expected = joint * psi[word]
        found = np.zeros((3, 3))
        np.add.at(found, (sampler.tokens.tags[tokens], sampler.tokens.topics[tokens]), 1)
        np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), atol=0.02)
