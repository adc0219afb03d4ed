"""Random documents for kernel and twin alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from tagtopic._core.arrays import Float64s, Int32s, Int64s, read_only
from tagtopic.inference import reference
from tagtopic.inference.e_step import infer_documents, room_for
from tagtopic.inference.methods import method_of
from tagtopic.inference.types import Documents, Evaluation, Model, Shares, State


@dataclass(frozen=True)
class Case:
    """A handful of documents and a model."""

    word_starts: Int64s
    words: Int32s
    counts: Int32s
    tag_starts: Int64s
    tags: Int32s
    psi: Float64s
    theta: Float64s
    pi: Float64s
    pi_latent: float
    mu: Float64s
    latent: bool
    own: reference.OwnShares | None = None

    @property
    def n_documents(self) -> int:
        return len(self.word_starts) - 1


def ragged(random: np.random.Generator, sizes: list[int], n_columns: int) -> tuple[Int64s, Int32s]:
    rows = [np.sort(random.choice(n_columns, size, replace=False)) for size in sizes]
    return np.append(0, np.cumsum(sizes)).astype(np.int64), np.concatenate([[], *rows]).astype(np.int32)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Documents with few and many words and tags, repeated words, zeros in theta, one topic, tags used once."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_topics = draw(st.sampled_from([1, 2, 3, 7, 16]))
    n_words, n_tags = draw(st.integers(3, 30)), draw(st.integers(1, 12))
    latent = draw(st.booleans())
    n_documents = draw(st.integers(1, 5))
    sizes = st.integers(0, n_words)
    tag_sizes = st.integers(0 if latent else 1, n_tags)
    word_starts, words = ragged(random, [draw(sizes) for _ in range(n_documents)], n_words)
    tag_starts, tags = ragged(random, [draw(tag_sizes) for _ in range(n_documents)], n_tags)
    theta = random.dirichlet(np.full(n_topics, draw(st.sampled_from([0.1, 1.0, 10.0]))), n_tags)
    if draw(st.booleans()):
        theta[random.random(theta.shape) < 0.3] = 0.0
        theta[theta.sum(axis=1) == 0] = 1.0
        theta /= theta.sum(axis=1, keepdims=True)
    return Case(
        word_starts=word_starts,
        words=words,
        counts=random.choice([1, 1, 2, 7], len(words)).astype(np.int32),
        tag_starts=tag_starts,
        tags=tags,
        psi=random.dirichlet(np.full(n_words, 0.5), n_topics).T + 1e-6,
        theta=theta,
        pi=random.choice([0.05, 0.7, 3.0], n_tags),
        pi_latent=float(random.choice([0.3, 5.0])),
        mu=random.choice([0.05, 0.4], n_topics),
        latent=latent,
        own=reference.OwnShares(
            1 / random.choice([2.0, 30.0], n_topics),
            1 / random.choice([1.0, 5.0, 200.0], n_tags),
            random.choice([0.01, 0.5], n_words),
        ),
    )


@dataclass(frozen=True)
class Outcome:
    """What the kernel left behind."""

    state: State
    evaluation: Evaluation


def start_state(case: Case, dtype: type[np.floating] = np.float64) -> State:
    lengths = np.add.reduceat(np.append(case.counts, 0), case.word_starts[:-1])
    lengths[np.diff(case.word_starts) == 0] = 0
    xi = case.pi[case.tags] + np.repeat(lengths, np.diff(case.tag_starts)) / 2
    rho = case.mu + lengths[:, None] / (2 * len(case.mu))
    return State(xi.astype(dtype), (case.pi_latent + lengths / 2).astype(dtype), rho.astype(dtype))


def run_kernel(way: str, case: Case, sweeps: int, dtype: type[np.floating] = np.float64) -> Outcome:
    rows = np.log(np.maximum(case.theta, 1e-10)) if way == "paper" else case.theta
    own = case.own if case.own is not None and way == "cvb0" else reference.OwnShares(*[np.empty(0)] * 3)
    shares = Shares(own.topic.astype(dtype), own.tag.astype(dtype), own.word_prior.astype(dtype))
    psi, rows = read_only(case.psi.astype(dtype)), read_only(rows.astype(dtype))
    model = Model(psi, rows, read_only(case.pi), case.pi_latent, read_only(case.mu), case.latent, shares)
    state = start_state(case, dtype)
    shape = (case.n_documents, case.psi.shape[1])
    out = Evaluation(
        np.empty(shape, dtype), np.empty(shape, dtype), np.empty(len(case.words), dtype),
        np.empty(len(case.tags), dtype), np.empty(case.n_documents),
        np.empty(shape, dtype), np.empty(shape, dtype), np.empty(len(case.words), dtype),
    )  # fmt: skip
    documents = Documents(
        read_only(case.word_starts), read_only(case.words), read_only(case.counts),
        read_only(case.tag_starts), read_only(case.tags),
    )  # fmt: skip
    slots = np.arange(len(case.words), dtype=np.int32)
    which = documents, 0, case.n_documents
    infer_documents(room_for(*which, psi), method_of(way).code, *which, model, state, out, slots, sweeps, 0.0)
    return Outcome(state, out)


def reference_document(way: str, case: Case, d: int) -> reference.Document:
    """Document d as the twin takes it, at the same start."""
    words = case.words[case.word_starts[d] : case.word_starts[d + 1]]
    entries = slice(case.tag_starts[d], case.tag_starts[d + 1])
    state = start_state(case)
    latent = case.latent or entries.start == entries.stop
    theta = case.theta[case.tags[entries]]
    xi, prior = state.xi[entries].astype(np.float64), case.pi[case.tags[entries]]
    return reference.Document(
        rows=case.psi[words],
        counts=case.counts[case.word_starts[d] : case.word_starts[d + 1]].astype(float),
        theta=np.maximum(theta, 1e-10) if way == "paper" else theta,
        prior=np.append(prior, case.pi_latent) if latent else prior,
        xi=np.append(xi, state.xi_latent[d]) if latent else xi,
        mu=case.mu if latent else None,
        rho=state.rho[d].astype(np.float64) if latent else None,
        own=case.own
        and reference.OwnShares(case.own.topic, case.own.tag[case.tags[entries]], case.own.word_prior[words]),
    )
