"""Random documents, for the kernels and for their twins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tagtopic._core.arrays import Float64s, Int32s, Int64s, read_only
from tagtopic.inference import reference
from tagtopic.inference.e_step import allocate_buffers, infer_documents
from tagtopic.inference.methods import method_of
from tagtopic.inference.own_words import own_word_entries
from tagtopic.inference.types import (
    Documents,
    DocumentStatistics,
    KernelParameters,
    LeaveOneOut,
    OwnWords,
    Parameters,
    VariationalPosterior,
)


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
    omega: Float64s | None = None
    latent_topics_by_tag: Float64s | None = None

    @property
    def parameters(self) -> Parameters:
        """Those of the model, as engines take them."""
        return Parameters(
            self.psi, self.theta, self.pi, self.pi_latent, self.mu, self.latent, own_words=self.own_words,
            latent_topics_by_tag=self.latent_topics_by_tag,
        )  # fmt: skip

    @property
    def document_mus(self) -> Float64s:
        """Each document's mu."""
        rows = [self.tags[start:end] for start, end in pairwise(self.tag_starts)]
        if self.latent_topics_by_tag is None:
            return np.array([self.mu for _ in rows])
        expected = self.latent_topics_by_tag * self.mu.sum()
        return np.array(
            [np.average(expected[row], axis=0, weights=self.pi[row]) if len(row) else self.mu for row in rows]
        )

    @property
    def n_documents(self) -> int:
        return len(self.word_starts) - 1

    @property
    def own_words(self) -> OwnWords | None:
        """The positive elements of omega."""
        if self.omega is None or not self.omega.any():
            return None
        starts = np.append(0, np.cumsum((self.omega > 0).sum(axis=1)))
        return OwnWords(starts, np.nonzero(self.omega)[1].astype(np.int32), self.omega[self.omega > 0])

    @property
    def tag_rows(self) -> Float64s:
        """p(topic | tag)."""
        return self.theta if self.omega is None else self.theta * (1 - self.omega.sum(axis=1, keepdims=True))


WITH_OWN_WORDS = ("map", "mixture")
"""The methods that take words of tags' own."""


class InTurn:
    """Runs tasks in turn."""

    def map(self, function: Any, items: Any) -> list[Any]:
        return [function(item) for item in items]


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
    omega = np.zeros((n_tags, n_words))
    if draw(st.booleans()):
        omega = random.dirichlet(np.ones(n_words + 1), n_tags)[:, :-1] * (random.random((n_tags, n_words)) < 0.4)
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
        omega=omega,
        latent_topics_by_tag=random.dirichlet(np.ones(n_topics), n_tags) if draw(st.booleans()) else None,
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
    rho = case.document_mus + lengths[:, None] / (2 * len(case.mu))
    return VariationalPosterior(xi.astype(dtype), (case.pi_latent + lengths / 2).astype(dtype), rho.astype(dtype))


def run_kernel(method: str, case: Case, sweeps: int, dtype: type[np.floating] = np.float64) -> Outcome:
    rows = np.log(np.maximum(case.theta, 1e-10)) if method == "paper" else case.theta
    own_words = case.own_words if method in WITH_OWN_WORDS else None
    omega = np.empty(0) if own_words is None else own_words.omega
    rows = case.tag_rows if method in WITH_OWN_WORDS else rows
    given = case.leave_one_out if method_of(method).is_leave_one_out else None
    arrays = vars(given).values() if given is not None else [np.empty(0)] * 3
    leave_one_out = LeaveOneOut(*(array.astype(dtype) for array in arrays))
    latent_topics = np.empty((0, 0)) if case.latent_topics_by_tag is None else case.latent_topics_by_tag
    psi, rows = read_only(case.psi.astype(dtype)), read_only(rows.astype(dtype))
    parameters = KernelParameters(
        psi, rows, read_only(case.pi), case.pi_latent, read_only(case.mu), case.latent, leave_one_out,
        read_only(omega.astype(dtype)), read_only(latent_topics.astype(dtype)),
    )  # fmt: skip
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
    entries = own_word_entries(documents, own_words, InTurn())
    infer_documents(buffers, code, *which, entries, parameters, posterior, out, slots, sweeps, 0.0)
    return Outcome(posterior, out)


def reference_document(method: str, case: Case, d: int) -> reference.Document:
    """Document d for the twin, at the same initial posterior."""
    words = case.words[case.word_starts[d] : case.word_starts[d + 1]]
    entries = slice(case.tag_starts[d], case.tag_starts[d + 1])
    posterior = initial_posterior(case)
    given = case.leave_one_out
    latent = case.latent or entries.start == entries.stop
    own_words = method in WITH_OWN_WORDS and case.omega is not None
    theta = (case.tag_rows if own_words else case.theta)[case.tags[entries]]
    xi, prior = posterior.xi[entries].astype(np.float64), case.pi[case.tags[entries]]
    return reference.Document(
        psi=case.psi[words],
        counts=case.counts[case.word_starts[d] : case.word_starts[d + 1]].astype(float),
        theta=np.maximum(theta, 1e-10) if method == "paper" else theta,
        prior=np.append(prior, case.pi_latent) if latent else prior,
        xi=np.append(xi, posterior.xi_latent[d]) if latent else xi,
        mu=case.document_mus[d] if latent else None,
        rho=posterior.rho[d].astype(np.float64) if latent else None,
        leave_one_out=given
        and replace(
            given,
            inverse_tag_totals=given.inverse_tag_totals[case.tags[entries]],
            word_prior=given.word_prior[words],
        ),
        own_words=case.omega[case.tags[entries]][:, words] if own_words and case.omega is not None else None,
    )
