"""Validation words: tokens of some documents that are held out of training and scored after each iteration.

The tokens of sampled documents are split by the hash that evaluation uses. One half is removed from the corpus; after
each iteration it is scored under the posterior that the other half has given the document, so that validation costs one
pass over the held-out words and no inference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s, offsets_of, owners_of
from tagtopic._core.files import TemporaryFolder
from tagtopic._core.memmap import GrowingArray, release
from tagtopic._core.parallel import Parallel, cut_evenly
from tagtopic.corpus import Corpus
from tagtopic.corpus.interface import CorpusLike, RemoteCorpus
from tagtopic.corpus.matrices import csr, replace_data
from tagtopic.corpus.splits import held_out_counts
from tagtopic.engines.blocks import documents_of
from tagtopic.engines.posterior import mean_topics, tag_shares
from tagtopic.evaluation.perplexity import NONE, log_probabilities
from tagtopic.inference.own_words import OwnWordCandidates, own_word_entries, own_word_probabilities
from tagtopic.inference.types import OwnWordEntries, VariationalPosterior

if TYPE_CHECKING:
    from tagtopic.inference.types import Parameters

BLOCK_ENTRIES = 1 << 22
"""Entries of the corpus per copied block."""

SPILL_AT = 64 << 20
"""Bytes from which on an array of the training corpus is in a file."""

CHUNK_ENTRIES = 1 << 14
"""Held-out entries per task."""

MAX_REMOTE_DOCUMENTS = 100_000
"""Validation documents of a corpus on a cluster: they are collected on the driver."""


@dataclass(frozen=True)
class ValidationWords:
    """Held-out words of training documents.

    Parameters
    ----------
    rows : array of int
        The documents.
    entries : array of int
        The positions of their tags among the tag entries of the training corpus.
    words : Corpus
        Their held-out words, with their tags.
    """

    rows: Int64s
    entries: Int64s
    words: Corpus

    def perplexity(self, posterior: VariationalPosterior, parameters: Parameters, parallel: Parallel) -> float:
        """The perplexity of the held-out words under the documents' posteriors."""
        return self.perplexity_of(self.mixes(posterior, parameters), parameters.psi, parallel)

    def perplexity_of(self, mixes: Floats, psi: Floats, parallel: Parallel, own: Float64s = NONE) -> float:
        """The perplexity of the held-out words, given the documents' topics and what tags' own words add."""
        value = self._score(self.words.counts.indices, mixes, psi, parallel, own)
        return math.exp(-value / float(self.words.lengths().sum()))

    @property
    def columns(self) -> Int32s:
        """The columns of the held-out words, without repetition."""
        return self._columns_and_places[0]

    @cached_property
    def _columns_and_places(self) -> tuple[Int32s, Int32s]:
        """The columns of the held-out words, and for each entry the position of its column among them."""
        columns, places = np.unique(self.words.counts.indices, return_inverse=True)
        return columns.astype(np.int32), places.astype(np.int32)

    def log_probability(self, mixes: Floats, rows: Floats, parallel: Parallel) -> float:
        """The log probability of the held-out words, given the documents' topics and the rows of psi in ``columns``."""
        return self._score(self._columns_and_places[1], mixes, rows, parallel)

    def _score(self, words: Any, mixes: Floats, rows: Floats, parallel: Parallel, own: Float64s = NONE) -> float:
        """The log probability of the held-out words; ``words`` has for each entry its row in ``rows``."""
        starts, tokens, places = map(np.asarray, (self.words.counts.indptr, self.words.counts.data, words))

        def score(part: tuple[int, int]) -> Any:
            first, last = part
            of_part = own[starts[first] - starts[0] : starts[last] - starts[0]]
            return log_probabilities(starts[first : last + 1], places, tokens, mixes[first:last], rows, of_part)

        parts = parallel.map(score, cut_evenly(starts, CHUNK_ENTRIES))
        # fsum is exact, so the value does not depend on the tasks
        return math.fsum(np.concatenate(parts).tolist())

    def mixes(self, posterior: VariationalPosterior, parameters: Parameters) -> Floats:
        """The documents' topic proportions: arithmetic means over tags, whatever the inference method."""
        rho = posterior.rho[self.rows] if len(posterior.rho) > 1 else posterior.rho
        of_rows = VariationalPosterior(posterior.xi[self.entries], posterior.xi_latent[self.rows], rho)
        return self.mixes_of(of_rows, parameters.theta)

    def own_word_entries(self, own_words: OwnWordCandidates | None, parallel: Parallel) -> OwnWordEntries:
        """Where the held-out words are own words of the documents' tags."""
        return own_word_entries(documents_of(self.words, 0, len(self.words)), own_words, parallel)

    def own_probabilities(self, posterior: VariationalPosterior, entries: OwnWordEntries, omega: Float64s) -> Float64s:
        """What own words add to the probabilities of the held-out words, given the posteriors of these documents."""
        shares, _ = tag_shares(self.words, posterior.xi, posterior.xi_latent)
        return own_word_probabilities(entries, documents_of(self.words, 0, len(self.words)), shares, omega)

    def mixes_of(self, posterior: VariationalPosterior, theta: Floats) -> Floats:
        """The documents' topic proportions, given the posteriors of these documents only."""
        shares, latent = tag_shares(self.words, posterior.xi, posterior.xi_latent)
        return np.ascontiguousarray(mean_topics(self.words, shares, latent, posterior.rho, theta))


def check_validation(fraction: Any, patience: Any) -> None:
    """Raise unless these are a share of the documents (or None) and a number of iterations."""
    if fraction is not None and not (isinstance(fraction, float | int | np.number) and 0 <= fraction <= 1):
        raise ValueError(f"validation_fraction={fraction!r}: expected a share of the documents from 0 to 1, or None")
    if isinstance(patience, bool) or not isinstance(patience, int | np.integer) or patience < 1:
        raise ValueError(f"patience={patience!r}: expected a whole number of iterations from 1")


@contextmanager
def hold_out_words(
    corpus: CorpusLike,
    fraction: float | None,
    seed: int,
    *,
    block_entries: int = BLOCK_ENTRIES,
    spill_at: int = SPILL_AT,
) -> Iterator[tuple[CorpusLike, ValidationWords | None]]:
    """Split a corpus into a training corpus and validation words (None without a ``fraction``).

    The training corpus is valid within the ``with`` block: arrays of more than ``spill_at`` bytes are in temporary
    files. ``block_entries`` of the corpus are copied at a time.
    """
    if not fraction:
        yield corpus, None
        return
    rows = _sample(corpus, float(fraction), seed)
    sampled = corpus[rows]
    scored = held_out_counts(sampled, seed)
    scored *= _repeated(_have_both(sampled, scored), sampled.counts.indptr)
    with _without_scored(corpus, rows, sampled, scored, block_entries, spill_at) as training:
        held_out = _held_out(corpus, training, rows, sampled, scored)
        if not len(held_out.rows):
            raise ValueError(
                f"a share of {fraction:g} holds out no word of {len(corpus)} documents (validation_fraction asks for "
                'it, and topic_word_prior="estimate"): it takes documents with two words or more, and words that '
                "other documents have too"
            )
        yield training, held_out


@contextmanager
def _without_scored(
    corpus: CorpusLike, rows: Int64s, sampled: Corpus, scored: Any, block_entries: int, spill_at: int
) -> Iterator[CorpusLike]:
    """The corpus without the scored tokens of the documents ``rows``, which are ``sampled``."""
    if isinstance(corpus, RemoteCorpus):
        training = corpus.without_tokens(rows, sampled.counts.indices, scored)
        try:
            yield training
        finally:
            training.close()
        return
    assert isinstance(corpus, Corpus)
    with TemporaryFolder() as folder:
        counts = _remaining_counts(corpus.counts, rows, scored, folder, block_entries, spill_at)
        yield corpus.with_matrices(counts=counts)


def _sample(corpus: CorpusLike, fraction: float, seed: int) -> Int64s:
    n_sampled = min(len(corpus), max(1, round(fraction * len(corpus))))
    if isinstance(corpus, RemoteCorpus):
        n_sampled = min(n_sampled, MAX_REMOTE_DOCUMENTS)
    return np.sort(np.random.default_rng([seed, 0x5EED]).permutation(len(corpus))[:n_sampled])


def _have_both(sampled: Corpus, scored: Any) -> Any:
    """Which documents have both scored and other tokens; nothing is held out of the rest."""
    starts = sampled.counts.indptr
    held = np.bincount(owners_of(starts), weights=scored, minlength=len(sampled))
    return (held > 0) & (held < sampled.lengths())


def _repeated(values: Any, starts: Any) -> Any:
    return np.repeat(values, np.diff(starts))


def _remaining_counts(counts: Any, rows: Int64s, scored: Any, folder: Path, block_entries: int, spill_at: int) -> Any:
    """The counts without the scored tokens of ``rows``, copied in blocks; large arrays are files in ``folder``."""
    in_sample = np.zeros(counts.shape[0], bool)
    in_sample[rows] = True
    offsets, taken = [np.zeros(1, np.int64)], 0
    with (
        GrowingArray(folder / "words", np.int32, spill_at=spill_at) as words,
        GrowingArray(folder / "counts", counts.data.dtype, spill_at=spill_at) as kept,
    ):
        for first, last in cut_evenly(counts.indptr, block_entries):
            entries = slice(int(counts.indptr[first]), int(counts.indptr[last]))
            starts, data = counts.indptr[first : last + 1] - entries.start, np.array(counts.data[entries])
            is_sampled = _repeated(in_sample[first:last], starts)
            n_sampled = int(is_sampled.sum())
            data[is_sampled] -= scored[taken : taken + n_sampled]
            taken += n_sampled
            offsets.append(offsets_of(data > 0)[starts[1:]] + len(words))
            words.append(counts.indices[entries][data > 0])
            kept.append(data[data > 0])
            release(counts.indices[entries], counts.data[entries])
        return csr(np.concatenate(offsets), words.finish(), kept.finish(), counts.shape[1])


def _held_out(corpus: CorpusLike, training: CorpusLike, rows: Int64s, sampled: Corpus, scored: Any) -> ValidationWords:
    """The scored words of the sample, without those that do not occur in the training corpus."""
    known = training.word_counts() > 0
    words = sampled.with_matrices(counts=replace_data(sampled.counts, scored * known[sampled.counts.indices]))
    used = np.flatnonzero(np.diff(words.counts.indptr))
    tag_starts = offsets_of(corpus.document_sizes()[1])
    starts = tag_starts[rows[used]]
    lengths = tag_starts[rows[used] + 1] - starts
    entries = np.repeat(starts - offsets_of(lengths)[:-1], lengths) + np.arange(lengths.sum())
    return ValidationWords(rows[used], entries.astype(np.int64), words[used])
