"""Random documents, for the kernels and for their twins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from tagtopic._core.arrays import Float64s, Int32s, Int64s, read_only
from tagtopic.inference import reference
from tagtopic.inference.e_step import allocate_buffers, infer_documents
from tagtopic.inference.methods import method_of
from tagtopic.inference.types import Documents, DocumentStatistics, KernelParameters, LeaveOneOut, VariationalPosterior


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
    leave_one_out: reference.LeaveOneOut | None = None

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
        leave_one_out=reference.LeaveOneOut(
            1 / random.choice([2.0, 30.0], n_topics),
            1 / random.choice([1.0, 5.0, 200.0], n_tags),
            random.choice([0.01, 0.5], n_words),
        ),
    )


@dataclass(frozen=True)
class Outcome:
    """The result of the kernel."""

    posterior: VariationalPosterior
    statistics: DocumentStatistics


def initial_posterior(case: Case, dtype: type[np.floating] = np.float64) -> VariationalPosterior:
    lengths = np.add.reduceat(np.append(case.counts, 0), case.word_starts[:-1])
    lengths[np.diff(case.word_starts) == 0] = 0
    xi = case.pi[case.tags] + np.repeat(lengths, np.diff(case.tag_starts)) / 2
    rho = case.mu + lengths[:, None] / (2 * len(case.mu))
    return VariationalPosterior(xi.astype(dtype), (case.pi_latent + lengths / 2).astype(dtype), rho.astype(dtype))


def run_kernel(method: str, case: Case, sweeps: int, dtype: type[np.floating] = np.float64) -> Outcome:
    rows = np.log(np.maximum(case.theta, 1e-10)) if method == "paper" else case.theta
    given = case.leave_one_out if method_of(method).is_leave_one_out else None
    arrays = vars(given).values() if given is not None else [np.empty(0)] * 3
    leave_one_out = LeaveOneOut(*(array.astype(dtype) for array in arrays))
    psi, rows = read_only(case.psi.astype(dtype)), read_only(rows.astype(dtype))
    parameters = KernelParameters(
        psi, rows, read_only(case.pi), case.pi_latent, read_only(case.mu), case.latent, leave_one_out
    )
    posterior = initial_posterior(case, dtype)
    shape = (case.n_documents, case.psi.shape[1])
    out = DocumentStatistics(
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
    buffers, code = allocate_buffers(*which, psi), method_of(method).code
    infer_documents(buffers, code, *which, parameters, posterior, out, slots, sweeps, 0.0)
    return Outcome(posterior, out)


def reference_document(method: str, case: Case, d: int) -> reference.Document:
    """Document d for the twin, at the same initial posterior."""
    words = case.words[case.word_starts[d] : case.word_starts[d + 1]]
    entries = slice(case.tag_starts[d], case.tag_starts[d + 1])
    posterior = initial_posterior(case)
    given = case.leave_one_out
    latent = case.latent or entries.start == entries.stop
    theta = case.theta[case.tags[entries]]
    xi, prior = posterior.xi[entries].astype(np.float64), case.pi[case.tags[entries]]
    return reference.Document(
        psi=case.psi[words],
        counts=case.counts[case.word_starts[d] : case.word_starts[d + 1]].astype(float),
        theta=np.maximum(theta, 1e-10) if method == "paper" else theta,
        prior=np.append(prior, case.pi_latent) if latent else prior,
        xi=np.append(xi, posterior.xi_latent[d]) if latent else xi,
        mu=case.mu if latent else None,
        rho=posterior.rho[d].astype(np.float64) if latent else None,
        leave_one_out=given
        and replace(
            given,
            inverse_tag_totals=given.inverse_tag_totals[case.tags[entries]],
            word_prior=given.word_prior[words],
        ),
    )
