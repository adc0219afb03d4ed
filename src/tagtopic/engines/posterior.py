"""What a fitted model says of documents: topic mixes and tag weights, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats, owners_of
from tagtopic._core.parallel import cut_evenly
from tagtopic.corpus import Corpus
from tagtopic.engines.base import as_model
from tagtopic.engines.local import LocalEngine
from tagtopic.inference.types import Parameters

Name = TypeVar("Name")

SWEEPS = 200
TOLERANCE = 1e-5
BLOCK_ENTRIES = 1 << 20


@dataclass(frozen=True)
class DocumentPosteriors:
    """topics (documents, topics), weights (CSR documents x tags), latent (share of the latent tag), objective."""

    topics: Floats
    weights: Any
    latent: Floats
    objective: float


def infer(
    parameters: Parameters,
    inference: str,
    corpus: Corpus,
    n_jobs: int | None = None,
    *,
    sweeps: int = SWEEPS,
    tolerance: float = TOLERANCE,
) -> DocumentPosteriors:
    """Sweep each document to convergence. Documents do not touch each other, so batches do not change the result."""
    dtype = parameters.psi.dtype
    topics = np.empty((corpus.n_documents, parameters.psi.shape[1]), dtype)
    latent = np.empty(corpus.n_documents, dtype)
    weights = np.empty(corpus.tags.nnz, dtype)
    objective = 0.0
    engine = LocalEngine(n_jobs, block_entries=BLOCK_ENTRIES)
    for first, last in cut_evenly(corpus.counts.indptr, BLOCK_ENTRIES):
        part = corpus[first:last]
        with engine.start(part, parameters, inference) as run:
            model = as_model(parameters, run.method)
            for block in run.blocks:
                objective += float(run.infer_block(block, model, sweeps, tolerance).objective.sum())
            shares, latent_shares = weight_shares(part, run.state.xi, run.state.xi_latent)
            rho = run.state.rho
        lambdas = rho / rho.sum(axis=1, keepdims=True)
        entries = slice(corpus.tags.indptr[first], corpus.tags.indptr[last])
        weights[entries] = shares
        latent[first:last] = latent_shares
        mixed = sp.csr_array((shares, part.tags.indices, part.tags.indptr), shape=part.tags.shape) @ parameters.theta
        topics[first:last] = mixed + latent_shares[:, None] * lambdas
    table = sp.csr_array((weights, corpus.tags.indices, corpus.tags.indptr), shape=corpus.tags.shape)
    return DocumentPosteriors(topics, table, latent, objective)


def weight_shares(corpus: Corpus, xi: Floats, xi_latent: Floats) -> tuple[Floats, Floats]:
    """The mean weight of each tag entry, and of each document's latent tag."""
    starts = corpus.tags.indptr
    owner = owners_of(starts)
    totals = np.bincount(owner, weights=xi, minlength=len(starts) - 1) + xi_latent
    totals[totals == 0] = 1.0
    return (xi / totals[owner]).astype(xi.dtype), (xi_latent / totals).astype(xi.dtype)


def largest(values: Floats | Float64s, names: Sequence[Name], n: int) -> list[tuple[Name, float]]:
    """The n largest values with their names, largest first; ties by position."""
    if n < len(values):
        # sorting only what can be among the first n: a vocabulary or a list of tags may have 100,000 names
        least = np.partition(values, len(values) - n)[len(values) - n] if n > 0 else np.inf
        kept = np.flatnonzero(values > least)
        kept = np.sort(np.concatenate([kept, np.flatnonzero(values == least)[: n - len(kept)]]))
    else:
        kept = np.arange(len(values))
    order = kept[np.argsort(-values[kept], kind="stable")]
    return [(names[int(i)], float(values[i])) for i in order]
