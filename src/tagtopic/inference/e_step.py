"""The E-step: infer each document's tag weights and topic mix.

One sweep, for a document with words w (count c_w), tags j, and the latent tag where it has one:

    a_j, t_jk  from xi and rho                     weights, and the topic distributions of the tags
    e_k = sum_j a_j t_jk                           topic mix
    s_w = sum_k e_k psi_wk                         word probabilities
    M_k = sum_w c_w psi_wk / s_w                   gradient of the log likelihood sum_w c_w log s_w in e_k
    n_jk = a_j t_jk M_k                            expected counts
    xi_j = pi_j + sum_k n_jk,  rho_k = mu_k + n_latent,k

as in "map" and "mixture", which differ in a and t only. The mu of a document may follow its tags
(``latent_topic_prior``). If tags have words of their own, with probabilities omega_jw,

    s_w = sum_k e_k psi_wk + sum_j a_j omega_jw,   n_j = sum_k n_jk + sum_w a_j omega_jw c_w / s_w .

 "cvb0" subtracts each token's own expected counts (see
``cvb0``); in "paper" the mix is geometric and xi has no closed form (see ``paper``). The cost of a sweep is
O(words x topics + tags x topics); responsibilities (words x topics) are not stored. ``reference`` has the readable
twins.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s
from tagtopic._core.intrinsics import AHEAD, borrow, prefetch_row, product_with_row, products_with_four, total_of
from tagtopic._core.jit import compiled, compiled_reordering
from tagtopic.inference.cvb0 import mix_correction_cvb0, update_posterior_cvb0, word_pass_cvb0
from tagtopic.inference.methods import CVB0, MAP, MIXTURE, PAPER
from tagtopic.inference.paper import update_posterior_paper
from tagtopic.inference.special import digamma, dirichlet_divergence
from tagtopic.inference.types import (
    Documents,
    DocumentStatistics,
    KernelParameters,
    LeaveOneOut,
    OwnWordEntries,
    VariationalPosterior,
    Workspace,
)

Buffers = tuple[Floats, Floats, Floats, Float64s, Float64s]
"""Memory for workspaces: rows of psi, then arrays by word, by topic, of the latent tag, and by tag.

Arrays of one kind are rows of one buffer. As separate arrays they gave the same results but for the last bits, and only
with few topics (6, not 20): loops are then compiled differently.
"""


@compiled
def expected_weights(method: int, document: Workspace) -> None:
    """Compute the weights a and the latent tag's row t from xi and rho.

    map, cvb0:  ``weights = xi / xi.sum(); latent_row = rho / rho.sum()``
    mixture:    ``weights = exp(digamma(xi) - digamma(xi.sum()))``, latent_row alike
    paper:      ``weights = xi / xi.sum(); latent_row = digamma(rho) - digamma(rho.sum())``
    """
    total = 0.0
    for j in range(document.xi.shape[0]):
        total += document.xi[j]
    if method != MIXTURE:
        for j in range(document.xi.shape[0]):
            document.weights[j] = document.xi[j] / total
    else:
        centre = digamma(total)
        for j in range(document.xi.shape[0]):
            document.weights[j] = math.exp(digamma(document.xi[j]) - centre)
    if not document.latent:
        return
    total = total_of(document.rho)
    if method in (MAP, CVB0):
        for k in range(document.rho.shape[0]):
            document.latent_row[k] = document.rho[k] / total
        return
    centre = digamma(total)
    for k in range(document.rho.shape[0]):
        expected_log = digamma(document.rho[k]) - centre
        document.latent_row[k] = expected_log if method == PAPER else math.exp(expected_log)


@compiled_reordering
def topic_mix(method: int, tag_rows: Floats, document: Workspace) -> float:
    """Compute ``mix = weights @ vstack([tag_rows[tags], latent_row])``; "paper": the exponential of it.

    Returns the logarithm of a factor that was divided out of e ("paper"), otherwise 0.
    """
    mix, tags = document.mix, document.tags
    n_topics = mix.shape[0]
    for k in range(n_topics):
        mix[k] = 0
    for j in range(tags.shape[0]):
        a = mix.dtype.type(document.weights[j])
        row = tags[j]
        for k in range(n_topics):
            mix[k] += a * tag_rows[row, k]
    if document.latent:
        a_latent = document.weights[tags.shape[0]]
        for k in range(n_topics):
            mix[k] += a_latent * document.latent_row[k]
    if method != PAPER:
        return 0.0
    scale = mix[0]
    for k in range(1, n_topics):
        scale = max(scale, mix[k])
    for k in range(n_topics):
        mix[k] = math.exp(mix[k] - scale)
    return float(scale)


@compiled
def own_word_probabilities(omega: Floats, document: Workspace) -> None:
    """Compute ``own_probabilities[w] = sum_j weights[j] * omega[j, w]``."""
    for i in range(document.own_words.starts.shape[0] - 1):
        total = 0.0
        for c in range(document.own_words.starts[i], document.own_words.starts[i + 1]):
            total += document.weights[document.own_words.positions[c]] * omega[document.own_words.pairs[c]]
        document.own_probabilities[i] = total


@compiled
def add_own_words(omega: Floats, document: Workspace) -> None:
    """Add to xi the expected counts of the tags' own words: ``weights[j] * omega[j, w] * counts[w] / s[w]``."""
    for i in range(document.own_words.starts.shape[0] - 1):
        ratio = document.counts[i] / document.probabilities[i] if document.probabilities[i] > 0 else 0.0
        for c in range(document.own_words.starts[i], document.own_words.starts[i + 1]):
            j = document.own_words.positions[c]
            document.xi[j] += document.weights[j] * omega[document.own_words.pairs[c]] * ratio


@compiled
def latent_topic_prior(parameters: KernelParameters, tags: Int32s, prior: Float64s, mu: Float64s) -> None:
    """Compute the document's mu: ``prior @ latent_topics_by_tag[tags] / prior.sum()`` times the sum of mu.

    ``prior`` begins with pi of the tags. Without tags, or rows, the document has the model's mu.
    """
    rows = parameters.latent_topics_by_tag
    total = mu_total = 0.0
    for k in range(mu.shape[0]):
        mu[k] = parameters.mu[k]
        mu_total += mu[k]
    for j in range(tags.shape[0]):
        total += prior[j]
    if rows.shape[0] == 0 or total <= 0:
        return
    for k in range(mu.shape[0]):
        mu[k] = 0.0
    for j in range(tags.shape[0]):
        share = mu_total * prior[j] / total
        for k in range(mu.shape[0]):
            mu[k] += share * rows[tags[j], k]


@compiled_reordering
def word_pass(psi: Floats, counts: Floats, mix: Floats, own: Floats, probabilities: Floats, gradient: Floats) -> None:
    """Compute ``probabilities = psi @ mix + own; gradient = psi.T @ (counts / probabilities)``, four words a time."""
    n_words, n_topics = psi.shape
    for k in range(n_topics):
        gradient[k] = 0
    zero = gradient.dtype.type(0)
    quads = n_words - n_words % 4
    for i in range(0, quads, 4):
        s0, s1, s2, s3 = products_with_four(psi, i, mix)
        s0, s1, s2, s3 = s0 + own[i], s1 + own[i + 1], s2 + own[i + 2], s3 + own[i + 3]
        probabilities[i], probabilities[i + 1], probabilities[i + 2], probabilities[i + 3] = s0, s1, s2, s3
        r0 = counts[i] / s0 if s0 > 0 else zero
        r1 = counts[i + 1] / s1 if s1 > 0 else zero
        r2 = counts[i + 2] / s2 if s2 > 0 else zero
        r3 = counts[i + 3] / s3 if s3 > 0 else zero
        for k in range(n_topics):
            gradient[k] += r0 * psi[i, k] + r1 * psi[i + 1, k] + r2 * psi[i + 2, k] + r3 * psi[i + 3, k]
    for i in range(quads, n_words):
        s0 = zero
        for k in range(n_topics):
            s0 += mix[k] * psi[i, k]
        s0 += own[i]
        probabilities[i] = s0
        r0 = counts[i] / s0 if s0 > 0 else zero
        for k in range(n_topics):
            gradient[k] += r0 * psi[i, k]


@compiled_reordering
def update_posterior(parameters: KernelParameters, document: Workspace) -> None:
    """Update xi and rho by the expected counts ("map", "mixture").

    ``n = weights[:, None] * rows * gradient; xi = prior + n.sum(axis=1); rho = mu + n[-1]``
    """
    n_tags = document.tags.shape[0]
    for j in range(n_tags):
        n_j = document.weights[j] * product_with_row(parameters.tag_rows, document.tags[j], document.gradient)
        document.xi[j] = document.prior[j] + n_j
    if document.latent:
        total = 0.0
        for k in range(document.rho.shape[0]):
            n_k = document.weights[n_tags] * document.latent_row[k] * document.gradient[k]
            document.rho[k] = document.mu[k] + n_k
            total += n_k
        document.xi[n_tags] = document.prior[n_tags] + total


@compiled
def weighted_logs(weights: Float64s, values: Float64s) -> float:
    """Return ``weights @ log(values)``, where 0 log 0 is 0."""
    total = 0.0
    for i in range(weights.shape[0]):
        if weights[i] > 0:
            total += weights[i] * math.log(max(values[i], 1e-300))
    return total


@compiled
def log_likelihood(counts: Floats, probabilities: Floats) -> float:
    """Return ``counts @ log(maximum(probabilities, 1e-300))``, with one logarithm for several words."""
    value, product = 0.0, 1.0
    for i in range(probabilities.shape[0]):
        count, probability = float(counts[i]), float(probabilities[i])
        if count != 1 or probability < 1e-100:
            value += count * math.log(max(probability, 1e-300))
            continue
        product *= probability
        if product < 1e-150 or product > 1e150:
            value += math.log(product)
            product = 1.0
    return value + math.log(product)


@compiled
def document_objective(method: int, document: Workspace, log_scale: float) -> float:
    """Return the document's term of the objective at its xi and rho.

    paper, mixture:  ``counts @ log(s) - KL(Dir(xi) || Dir(prior)) - KL(Dir(rho) || Dir(mu))``, a lower bound
    map:             ``counts @ log(s) + prior @ log(weights) + mu @ log(latent_row)``
    cvb0:            ``counts @ log(s')``, the leave-one-out log likelihood
    """
    value = log_likelihood(document.counts, document.probabilities) + log_scale * float(total_of(document.counts))
    if method == CVB0:
        return value
    if method == MAP:
        value += weighted_logs(document.prior, document.weights)
        return value + weighted_logs(document.mu, document.latent_row) if document.latent else value
    value -= dirichlet_divergence(document.xi, document.prior)
    return value - dirichlet_divergence(document.rho, document.mu) if document.latent else value


def _sweep_kernel(method: int) -> Callable[[KernelParameters, Workspace, int, float], float]:
    """Return the kernel of a method's sweeps.

    ``method`` is a constant of the kernel: steps of other methods are not compiled.
    """

    def sweep_document(parameters: KernelParameters, document: Workspace, sweeps: int, tolerance: float) -> float:
        """Sweep one document; return its objective at the weights and mix that are left in the workspace.

        The last sweep still updates xi and rho, as part of the same EM iteration; but not under "paper", where the
        statistics for theta must belong to the xi that is kept.
        """
        value = 0.0
        previous = document.previous_mix
        for sweep in range(sweeps):
            for k in range(previous.shape[0]):
                previous[k] = document.mix[k]
            expected_weights(method, document)
            log_scale = topic_mix(method, parameters.tag_rows, document)
            if method == CVB0:
                mix_correction_cvb0(parameters, document)
                word_pass_cvb0(
                    document.psi, document.counts, document.word_prior, parameters.leave_one_out.inverse_topic_totals,
                    document.mix, document.mix_correction, document.probabilities, document.inverse_probabilities,
                    document.gradient, document.gradient_correction, document.scratch,
                )  # fmt: skip
            else:
                own_word_probabilities(parameters.omega, document)
                word_pass(
                    document.psi, document.counts, document.mix, document.own_probabilities, document.probabilities,
                    document.gradient,
                )  # fmt: skip
            if method == PAPER:
                for k in range(previous.shape[0]):
                    document.gradient[k] *= document.mix[k]
            final = sweep == sweeps - 1
            if tolerance > 0 and sweep > 0 and not final:
                change = 0.0
                for k in range(previous.shape[0]):
                    change += abs(document.mix[k] - previous[k])
                final = change <= tolerance * total_of(document.mix)
            if final:
                value = document_objective(method, document, log_scale)
            if method == CVB0:
                update_posterior_cvb0(parameters, document)
            elif method == PAPER:
                if not final:
                    update_posterior_paper(parameters, document)
            else:
                update_posterior(parameters, document)
                add_own_words(parameters.omega, document)
            if final:
                break
        return value

    # a symbol of its own: code of two methods, cached by different processes, may otherwise have the same name, and a
    # process that loads both would run one for the other
    sweep_document.__qualname__ = f"sweep_document_{method}"
    return compiled(sweep_document)


sweep_paper, sweep_mixture, sweep_map, sweep_cvb0 = (_sweep_kernel(method) for method in (PAPER, MIXTURE, MAP, CVB0))


def allocate_buffers(documents: Documents, first: int, last: int, psi: Floats) -> Buffers:
    """Allocate memory for the workspace of the longest of the documents ``first:last``; all use it in turn."""
    n_topics, dtype = psi.shape[1], psi.dtype
    n_words, n_tags = (
        int(np.diff(starts[first : last + 1]).max(initial=0))
        for starts in (documents.word_starts, documents.tag_starts)
    )
    return (
        np.empty((n_words, n_topics), dtype), np.zeros((5, n_words), dtype), np.zeros((9, n_topics), dtype),
        np.empty((3, n_topics)), np.empty((3, n_tags + 1)),
    )  # fmt: skip


@compiled
def borrow_parameters(parameters: KernelParameters) -> KernelParameters:
    """The parameters, with all arrays borrowed."""
    given = parameters.leave_one_out
    leave_one_out = LeaveOneOut(
        borrow(given.inverse_topic_totals), borrow(given.inverse_tag_totals), borrow(given.word_prior)
    )
    return KernelParameters(
        borrow(parameters.psi), borrow(parameters.tag_rows), borrow(parameters.pi), parameters.pi_latent,
        borrow(parameters.mu), parameters.latent, leave_one_out, borrow(parameters.omega),
        borrow(parameters.latent_topics_by_tag),
    )  # fmt: skip


def infer_documents(
    buffers: Buffers,
    method: int,
    documents: Documents,
    first: int,
    last: int,
    own_words: OwnWordEntries,
    parameters: KernelParameters,
    posterior: VariationalPosterior,
    out: DocumentStatistics,
    slots: Int32s,
    sweeps: int,
    tolerance: float,
) -> None:
    """Sweep documents ``first:last``: update their ``posterior`` in place and fill ``out``.

    A document is swept ``sweeps`` times, or until the change of its mix is at most ``tolerance`` (relative, summed over
    topics). ``slots`` maps word entries to their places in ``out``. A document without tags has a latent tag in any
    model.
    """
    infer = _infer_kernel(method)
    infer(buffers, documents, first, last, own_words, parameters, posterior, out, slots, sweeps, tolerance)


@cache
def _infer_kernel(method: int) -> Callable[..., None]:
    """Return the kernel of ``infer_documents``.

    ``method`` is a constant of the kernel: steps of other methods are not compiled. Arrays that are passed on or sliced
    for each document are borrowed from the caller.
    """

    def infer(
        owned_buffers: Buffers,
        documents: Documents,
        first: int,
        last: int,
        own_words: OwnWordEntries,
        owned_parameters: KernelParameters,
        posterior: VariationalPosterior,
        out: DocumentStatistics,
        slots: Int32s,
        sweeps: int,
        tolerance: float,
    ) -> None:
        parameters = borrow_parameters(owned_parameters)
        owned_rows, owned_by_word, owned_by_topic, owned_of_latent, owned_by_tag = owned_buffers
        rows, by_word, by_tag = borrow(owned_rows), borrow(owned_by_word), borrow(owned_by_tag)
        by_topic, of_latent = borrow(owned_by_topic), borrow(owned_of_latent)
        mix, previous_mix, gradient = by_topic[0], by_topic[1], by_topic[2]
        mix_correction, gradient_correction, scratch = by_topic[3], by_topic[4], by_topic[5:]
        rho, latent_row, mu = of_latent[0], of_latent[1], of_latent[2]
        n_topics = parameters.psi.shape[1]
        words, tags = borrow(documents.words), borrow(documents.tags)
        word_base, tag_base = documents.word_starts[0], documents.tag_starts[0]

        for d in range(first, last):
            word_start, n_words = documents.word_starts[d], documents.word_starts[d + 1] - documents.word_starts[d]
            tag_start, n_tags = documents.tag_starts[d], documents.tag_starts[d + 1] - documents.tag_starts[d]
            latent = parameters.latent or n_tags == 0
            size = n_tags + 1 if latent else n_tags
            counts, probabilities = by_word[0, :n_words], by_word[1, :n_words]
            word_prior, inverse_probabilities = by_word[2, :n_words], by_word[3, :n_words]
            first_entry = word_start - word_base
            prior, xi, weights = by_tag[0, :size], by_tag[1, :size], by_tag[2, :size]
            for i in range(n_words):
                counts[i] = documents.counts[word_start + i]
                word = words[word_start + i]
                if word_start + i + AHEAD < words.shape[0]:
                    prefetch_row(parameters.psi, words[word_start + i + AHEAD])
                for k in range(n_topics):
                    rows[i, k] = parameters.psi[word, k]
                if method == CVB0:
                    word_prior[i] = parameters.leave_one_out.word_prior[word]
            for j in range(n_tags):
                xi[j] = posterior.xi[tag_start - tag_base + j]
                prior[j] = parameters.pi[tags[tag_start + j]]
            if latent:
                xi[n_tags] = posterior.xi_latent[d]
                prior[n_tags] = parameters.pi_latent
                for k in range(n_topics):
                    rho[k] = posterior.rho[d, k]
                latent_topic_prior(parameters, tags[tag_start : tag_start + n_tags], prior, mu)

            document = Workspace(
                tags[tag_start : tag_start + n_tags], latent, prior, xi, weights, rho, latent_row, mu,
                rows[:n_words], counts, probabilities, mix, previous_mix, gradient, word_prior, inverse_probabilities,
                mix_correction, gradient_correction, scratch, by_word[4, :n_words],
                OwnWordEntries(
                    borrow(own_words.starts)[first_entry : first_entry + n_words + 1], borrow(own_words.positions),
                    borrow(own_words.pairs),
                ),
            )  # fmt: skip
            if method == PAPER:
                out.objective[d] = sweep_paper(parameters, document, sweeps, tolerance)
            elif method == MIXTURE:
                out.objective[d] = sweep_mixture(parameters, document, sweeps, tolerance)
            elif method == MAP:
                out.objective[d] = sweep_map(parameters, document, sweeps, tolerance)
            else:
                out.objective[d] = sweep_cvb0(parameters, document, sweeps, tolerance)

            for j in range(n_tags):
                posterior.xi[tag_start - tag_base + j] = xi[j]
                out.weights[tag_start - tag_base + j] = weights[j]
            if latent:
                posterior.xi_latent[d] = xi[n_tags]
                for k in range(n_topics):
                    posterior.rho[d, k] = rho[k]
            for k in range(n_topics):
                out.mix[d, k] = mix[k]
                out.gradient[d, k] = gradient[k]
            for i in range(n_words):
                slot = slots[word_start - word_base + i]
                out.count_ratios[slot] = counts[i] / probabilities[i] if probabilities[i] > 0 else 0.0
                if method == CVB0:
                    out.inverse_probabilities[slot] = inverse_probabilities[i]
            if method == CVB0:
                for k in range(n_topics):
                    out.mix_correction[d, k] = mix_correction[k]
                    out.gradient_correction[d, k] = gradient_correction[k]

    infer.__qualname__ = f"infer_documents_{method}"  # names the file in Numba's cache
    return compiled(infer)
