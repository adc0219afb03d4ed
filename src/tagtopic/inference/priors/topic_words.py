"""beta, the prior of topics' words, learnt from held-out words: its mean, and how it grows with a word's occurrences.

A topic's counts cannot tell beta: its words were assigned in concert, so that even a word that is left out is predicted
far better than a new document's would be. Words that training never saw can. With N_wk and T_k the occurrences in topic
k of word w and of all words, and e_d the topic mix of a document, another beta' gives a held-out word the probability

    sum_k e_dk (N_wk + beta'_w) / (T_k + B') = sum_k m_dk psi_wk + q_d (beta'_w - beta_w)
    m_dk = e_dk (T_k + B) / (T_k + B')    q_d = sum_k e_dk / (T_k + B')                   B, B': sums of beta, beta'

a mix of psi's rows with one more column. beta' is beta times (n + FEW)^x, scaled, for a word that occurs n times:
rare words stay in proportion, as they are many. A move pays for its length, so what held-out words do not tell stays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from tagtopic._core.arrays import Float64s, Floats, Int32s
from tagtopic._core.parallel import CHUNK_ROWS, Parallel, cut_rows
from tagtopic.inference.types import Parameters, State

FEW = 10.0
"""Occurrences below which beta stays in proportion to them."""

LONGEST = np.array([np.log(2.0), 0.1])
"""What may change at a time, either way: the logarithm of the mean, and the power of the words' occurrences."""

PACE = np.array([0.5, 0.1])
"""A move of this length must better the held-out words' log probability by 1/2."""


class HeldOutWords(Protocol):
    """Words that training never sees, of documents that are otherwise learnt from."""

    @property
    def columns(self) -> Int32s:
        """Which words of the vocabulary they are."""
        ...

    def mixes(self, state: State, parameters: Parameters) -> Floats:
        """The topic mixes of their documents, as they stand."""
        ...

    def log_probability(self, mixes: Floats, rows: Floats, workers: Parallel) -> float:
        """Of all of them, under these mixes of these ``rows`` (one for each of ``columns``)."""
        ...


def occurrence_logs(occurrences: Float64s) -> Float64s:
    """By word, the logarithm of its occurrences (with ``FEW`` more), zero on average."""
    logs = np.log(occurrences + FEW)
    return np.asarray(logs - logs.mean())


def better_word_prior(
    beta: Float64s,
    logs: Float64s,
    topic_sizes: Float64s,
    held_out: HeldOutWords,
    state: State,
    parameters: Parameters,
    workers: Parallel,
) -> Float64s:
    """The beta near this one under which held-out words are likeliest, all else as it stands."""
    mixes = np.asarray(held_out.mixes(state, parameters), np.float64)
    columns = held_out.columns
    rows = np.column_stack([parameters.psi[columns], np.zeros(len(columns))]).astype(np.float64)
    mixed = np.empty((len(mixes), rows.shape[1]))
    totals = topic_sizes + beta.sum()

    def loss(move: Float64s) -> float:
        trial = _moved(beta, logs, move)
        weights = mixes / (topic_sizes + trial.sum())
        mixed[:, :-1] = weights * totals
        mixed[:, -1] = weights.sum(axis=1)
        rows[:, -1] = (trial - beta)[columns]
        return float(0.5 * ((move / PACE) ** 2).sum() - held_out.log_probability(mixed, rows, workers))

    options = {"maxiter": 15, "eps": 1e-4}
    bounds = list(zip(-LONGEST, LONGEST, strict=True))
    return _moved(beta, logs, minimize(loss, np.zeros(2), method="L-BFGS-B", bounds=bounds, options=options).x)


def _moved(beta: Float64s, logs: Float64s, move: Float64s) -> Float64s:
    """The mean times e^move_0, and each word's times (n + FEW)^move_1."""
    tilted = beta * np.exp(move[1] * logs)
    return np.asarray(tilted * (np.exp(move[0]) * beta.sum() / tilted.sum()))


def with_word_prior(
    parameters: Parameters, topic_sizes: Float64s, before: Float64s, beta: Float64s, workers: Parallel
) -> Parameters:
    """The parameters as if the last M-step had been made under ``beta``, not ``before``; psi is overwritten."""
    psi, totals = parameters.psi, topic_sizes + beta.sum()
    kept = ((topic_sizes + before.sum()) / totals).astype(psi.dtype)

    def make_anew(rows: tuple[int, int]) -> None:
        part = psi[slice(*rows)]
        part *= kept
        part += ((beta - before)[slice(*rows), None] / totals).astype(psi.dtype)

    workers.map(make_anew, cut_rows(len(psi), CHUNK_ROWS))
    behind = parameters.behind and replace(parameters.behind, topics=totals, word_prior=beta)
    return replace(parameters, behind=behind)
