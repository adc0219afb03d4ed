"""beta, the prior counts of the words of topics, estimated from validation words.

The counts of topics are not suited to estimate beta: words are assigned jointly, so that even a left-out word is
predicted far better than the words of a new document. Words that were held out of training are suited. With N_wk and
T_k the counts in topic k of word w and of all words, and e_d the topic mix of a document, another beta' gives a
held-out word the probability

    sum_k e_dk (N_wk + beta'_w) / (T_k + B') = sum_k m_dk psi_wk + q_d (beta'_w - beta_w)
    m_dk = e_dk (T_k + B) / (T_k + B')    q_d = sum_k e_dk / (T_k + B')                   B, B': sums of beta, beta'

which is a mix of the rows of psi extended by a column. beta' is beta times (n + RARE)^x, scaled, for a word with n
occurrences: the prior counts of rare words, which are many, stay in proportion. A quadratic penalty on the step keeps
what validation words do not determine.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s
from tagtopic._core.parallel import CHUNK_ROWS, Parallel, cut_rows
from tagtopic.inference.types import Parameters, VariationalPosterior

RARE = 10.0
"""Occurrences below which beta stays in proportion to them."""

MAX_STEP = np.array([np.log(2.0), 0.1])
"""The largest change at a time: of the logarithm of the mean, and of the power of the occurrences."""

STEP_SCALE = np.array([0.5, 0.1])
"""The penalty of a step of this size is 1/2, in log probability of the validation words."""


class ValidationWords(Protocol):
    """Words held out of training, of documents whose other words are trained on."""

    @property
    def columns(self) -> Int32s:
        """Their numbers in the vocabulary."""
        ...

    def mixes(self, posterior: VariationalPosterior, parameters: Parameters) -> Floats:
        """Return the topic mixes of their documents."""
        ...

    def log_probability(self, mixes: Floats, rows: Floats, parallel: Parallel) -> float:
        """Return their log probability under these topic mixes and ``rows`` of psi (one for each of ``columns``)."""
        ...


def log_occurrences(occurrences: Float64s) -> Float64s:
    """Return log(n + RARE) of each word's occurrences n, centred."""
    logs = np.log(occurrences + RARE)
    return np.asarray(logs - logs.mean())


def update_word_prior(
    beta: Float64s,
    logs: Float64s,
    topic_sizes: Float64s,
    validation: ValidationWords,
    posterior: VariationalPosterior,
    parameters: Parameters,
    parallel: Parallel,
) -> Float64s:
    """Maximise the penalised log probability of the validation words over beta, near the present one.

    Parameters
    ----------
    beta : array of shape (words,)
        The present prior counts.
    logs : array of shape (words,)
        ``log_occurrences`` of the words.
    topic_sizes : array of shape (topics,)
        T_k, prior counts not included.
    validation : ValidationWords
        The words whose probability is maximised.
    posterior : VariationalPosterior
        Of the documents.
    parameters : Parameters
        Estimated under the present beta.
    parallel : Parallel
        Scores parts of the validation words.

    Returns
    -------
    array of shape (words,)
    """
    from scipy.optimize import minimize

    mixes = np.asarray(validation.mixes(posterior, parameters), np.float64)
    columns = validation.columns
    rows = np.column_stack([parameters.psi[columns], np.zeros(len(columns))]).astype(np.float64)
    mixed = np.empty((len(mixes), rows.shape[1]))
    totals = topic_sizes + beta.sum()

    def loss(step: Float64s) -> float:
        trial = _stepped(beta, logs, step)
        weights = mixes / (topic_sizes + trial.sum())
        mixed[:, :-1] = weights * totals
        mixed[:, -1] = weights.sum(axis=1)
        rows[:, -1] = (trial - beta)[columns]
        return float(0.5 * ((step / STEP_SCALE) ** 2).sum() - validation.log_probability(mixed, rows, parallel))

    options = {"maxiter": 15, "eps": 1e-4}
    bounds = list(zip(-MAX_STEP, MAX_STEP, strict=True))
    return _stepped(beta, logs, minimize(loss, np.zeros(2), method="L-BFGS-B", bounds=bounds, options=options).x)


def _stepped(beta: Float64s, logs: Float64s, step: Float64s) -> Float64s:
    """Multiply beta by (n + RARE)^step_1, and its mean by e^step_0."""
    tilted = beta * np.exp(step[1] * logs)
    return np.asarray(tilted * (np.exp(step[0]) * beta.sum() / tilted.sum()))


def replace_word_prior(
    parameters: Parameters, topic_sizes: Float64s, before: Float64s, beta: Float64s, parallel: Parallel
) -> Parameters:
    """Return the parameters of the last M-step under ``beta`` in place of ``before``; psi is overwritten."""
    psi, totals = parameters.psi, topic_sizes + beta.sum()
    scale = ((topic_sizes + before.sum()) / totals).astype(psi.dtype)

    def rescale(rows: tuple[int, int]) -> None:
        part = psi[slice(*rows)]
        part *= scale
        part += ((beta - before)[slice(*rows), None] / totals).astype(psi.dtype)

    parallel.map(rescale, cut_rows(len(psi), CHUNK_ROWS))
    counts = parameters.totals and replace(parameters.totals, topics=totals, word_prior=beta)
    return replace(parameters, totals=counts)
