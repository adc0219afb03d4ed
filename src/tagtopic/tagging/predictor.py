"""Tags for documents, by what a model's training documents say.

Topics alone do not tell one tag from another when tags are many (recall@10 of the paper's score on 11,365 authors is
0.03), and added next to nothing to this: documents like the new one, and the tags they have. Each tag's evidence is
gathered in one pass over an inverted index (``tagging/evidence.py``) and turned into a calibrated probability by
a small learnt mix (``mixing.py``). See docs/decisions/tag-prediction.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats, read_only
from tagtopic._core.parallel import cut_rows
from tagtopic._core.threads import ThreadPool
from tagtopic.corpus import Corpus
from tagtopic.corpus.tags import kinds_of
from tagtopic.tagging.calibration import Examples, joined, learn_from, learn_tempering
from tagtopic.tagging.evidence import N_COLUMNS, N_MEASURES, Evidence, Reach, gather_evidence
from tagtopic.tagging.features import N_INPUTS, Mixes, rank, write_inputs
from tagtopic.tagging.regressions import Regressions
from tagtopic.tagging.tag_names import name_shares
from tagtopic.tagging.training_index import (
    DERIVED,
    MOST_ENTRIES,
    NEW,
    Memory,
    Queries,
    build_memory,
    few_words,
    memory_from,
    remembered_rows,
    weighted_entries,
    weighted_rows,
    word_scores,
)

if TYPE_CHECKING:
    from tagtopic.corpus.collection import Collection

NEAR, ALIKE = 50, 100
"""Documents most alike: those that count as near, and those whose tags are asked about."""

CANDIDATES = 100
"""Tags whose probability is worked out."""

EXAMPLES = 600
"""Documents on which the mix is learnt."""

ENOUGH_BESIDES = 5 * EXAMPLES
"""With fewer documents than these no tag has a regression: those that the mix is learnt on would be missed."""

FEW_WORDS = 12
"""Fewer different words than this has a short text. A mix learnt on whole documents alone finds a quarter less of the
tags for two words (TMDB's keywords, held-out training documents: recall@10 0.094 instead of 0.123)."""

CHUNK = 128
"""Documents that a thread is asked about at a time."""

LEARNING_BATCH = 64
"""Documents that the mix sees at a time: a fit should not take more memory for it than for its EM."""

Ranked = list[tuple[str, float]]


@dataclass(frozen=True, eq=False)
class TagPredictor:
    """What it takes to predict tags: remembered documents, the words' scores, regressions of the common tags, the mix,
    each tag's offset and share, and how sure to be.

    ``mix`` (2, kinds, features + 1), ``offsets`` (2, tags) and ``tempering`` (2, 3) are for longer and for short texts.
    """

    memory: Memory
    scores: Floats
    regressions: Regressions
    mix: Float64s
    offsets: Float64s
    tempering: Float64s
    shares: Float64s
    tag_names: tuple[str, ...]
    kind_names: tuple[str, ...]

    @classmethod
    def fit(
        cls, corpus: Collection, *, n_jobs: int | None = None, random_state: int = 0, most_entries: int = MOST_ENTRIES
    ) -> TagPredictor | None:
        """Remember the tagged documents and learn the mix; None if no document has both words and tags."""
        random = np.random.default_rng(random_state)
        rows = remembered_rows(corpus, most_entries, random)
        if not len(rows):
            return None
        kept = corpus if isinstance(corpus, Corpus) and len(rows) == len(corpus) else corpus[rows]
        scores = word_scores(kept.counts)
        vectors = weighted_rows(kept.counts, scores)
        kind_names, kinds = kinds_of(kept.tag_names)
        names = name_shares(kept.tag_names, kept.words, scores)
        memory = build_memory(vectors, kept.tags, kinds, names, n_jobs)
        sample = np.sort(random.permutation(len(kept))[:EXAMPLES])
        short = weighted_rows(few_words(kept.counts[sample], FEW_WORDS, random), scores)
        regressions = Regressions.none(kept.n_words, kept.n_tags)
        if len(kept) >= ENOUGH_BESIDES:
            besides = np.setdiff1d(np.arange(len(kept)), sample)
            regressions = Regressions.fit(vectors, kept.tags, besides, random, n_jobs)
        learnt = _learn(memory, regressions, vectors[sample], short, sample, len(kind_names), n_jobs)
        shares = memory.sizes / np.float64(len(kept))
        return cls(memory, scores, regressions, *learnt, shares, kept.tag_names, kind_names)

    def predict(
        self, counts: Any, n: int = 10, *, kinds: Iterable[str] | None = None, n_jobs: int | None = None
    ) -> list[Ranked]:
        """For each document (a row of word counts) its n most probable tags.

        A document without known words gets the tags used most, with their shares of the documents.
        """
        allowed = self.allowed(kinds)

        def answer(part: tuple[int, int]) -> list[Ranked]:
            return self._answer(weighted_queries(counts, *part, self.scores), n, allowed)

        with ThreadPool(n_jobs) as workers:
            parts = workers.map(answer, cut_rows(counts.shape[0], CHUNK))
        return [ranked for part in parts for ranked in part]

    def allowed(self, kinds: Iterable[str] | None) -> Any:
        """Which tags are of the given kinds; of any if None."""
        if kinds is None:
            return np.ones(len(self.tag_names), bool)
        wanted = {kinds} if isinstance(kinds, str) else set(kinds)
        unknown = sorted(wanted.difference(self.kind_names))
        if unknown:
            known = ", ".join(repr(kind) for kind in self.kind_names)
            raise ValueError(f"the model has no tags of kind {unknown[0]!r}; it has {known}")
        return np.array([kind in wanted for kind in self.kind_names])[self.memory.kinds]

    def to_arrays(self) -> dict[str, Any]:
        """All that a file must keep."""
        kept = {name: array for name, array in self.memory._asdict().items() if name not in DERIVED}
        learnt = {name: getattr(self, name) for name in ("scores", "mix", "offsets", "tempering", "shares")}
        return {**kept, **learnt, **self.regressions.to_arrays()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], tag_names: Sequence[str]) -> TagPredictor:
        """The same from what ``to_arrays`` gave; an error if the arrays do not fit together."""
        kind_names, kinds = kinds_of(tag_names)
        memory = memory_from(arrays, kinds)
        regressions = Regressions.from_arrays(arrays, len(arrays["scores"]), len(kinds))
        expected = [
            (2, len(kind_names), N_INPUTS + 1),
            (2, len(kinds)),
            (2, 3),
            (len(kinds),),
        ]
        if [arrays[name].shape for name in ("mix", "offsets", "tempering", "shares")] != expected:
            raise ValueError("its tag predictor has other tags than the model")
        mix, offsets, tempering, shares = (arrays[name] for name in ("mix", "offsets", "tempering", "shares"))
        names = tuple(tag_names)
        return cls(memory, arrays["scores"], regressions, mix, offsets, tempering, shares, names, kind_names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TagPredictor):
            return NotImplemented
        mine, theirs = self.to_arrays(), other.to_arrays()
        return self.tag_names == other.tag_names and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    def _answer(self, queries: Queries, n: int, allowed: Any) -> list[Ranked]:
        evidence = gather(self.memory, queries, max(CANDIDATES, n), allowed, n, n_jobs=1)
        short = read_only(np.diff(queries.starts) < FEW_WORDS, np.int64)
        shape = len(short), min(n, evidence.tags.shape[1])
        tags, probabilities = np.zeros(shape, np.int32), np.zeros(shape)
        mixes = Mixes(*(read_only(array, np.float64) for array in (self.mix, self.offsets, self.tempering)))
        rank(queries, evidence, self.regressions.for_kernels(), self.memory.kinds, mixes, short, tags, probabilities)
        name_of = self.tag_names.__getitem__
        ranked = zip(evidence.found.tolist(), tags.tolist(), probabilities.tolist(), strict=True)
        return [
            list(zip(map(name_of, best[:found]), values[:found], strict=True)) if found else self._by_share(allowed, n)
            for found, best, values in ranked
        ]

    @cached_property
    def _commonest_first(self) -> Any:
        return np.argsort(-self.shares, kind="stable")

    def _by_share(self, allowed: Any, n: int) -> Ranked:
        commonest = self._commonest_first[allowed[self._commonest_first]][:n]
        return [(self.tag_names[tag], float(self.shares[tag])) for tag in commonest]


def queries_of(vectors: Any, rows: Any = None, whole: Any = None) -> Queries:
    """The vectors as the kernels take them; ``rows`` says which remembered documents they are, if any."""
    n_queries = vectors.shape[0]
    return Queries(
        read_only(vectors.indptr, np.int64),
        read_only(vectors.indices, np.int32),
        read_only(vectors.data, np.float32),
        read_only(np.full(n_queries, NEW) if rows is None else rows, np.int64),
        read_only(np.arange(n_queries) if whole is None else whole, np.int64),
    )


def weighted_queries(counts: Any, first: int, last: int, scores: Floats) -> Queries:
    """Rows ``first:last`` of word counts as new documents."""
    starts, words, weights = weighted_entries(counts, first, last, scores)
    rows = read_only(np.full(last - first, NEW), np.int64), read_only(np.arange(last - first), np.int64)
    return Queries(starts, words, read_only(weights), *rows)


def gather(memory: Memory, queries: Queries, most: int, allowed: Any, fewest: int, n_jobs: int | None) -> Evidence:
    """The evidence for each query, all cores at once."""
    n_queries, most = len(queries.rows), min(most, len(memory.sizes))
    evidence = Evidence(
        np.zeros(n_queries, np.int64),
        np.zeros((n_queries, most), np.int32),
        np.zeros((n_queries, most, N_COLUMNS), np.float32),
        np.ones((n_queries, most, N_MEASURES), np.float32),
    )

    def ask(part: tuple[int, int]) -> None:
        gather_evidence(memory, queries, *part, allowed, Reach(NEAR, max(ALIKE, fewest), fewest), evidence)

    with ThreadPool(n_jobs) as workers:
        workers.map(ask, cut_rows(n_queries, CHUNK))
    return evidence


def _learn(
    memory: Memory, regressions: Regressions, vectors: Any, short: Any, rows: Any, n_kinds: int, n_jobs: int | None
) -> tuple[Float64s, Float64s, Float64s]:
    """Mixes, offsets and temperings, from remembered documents asked about as if they were new, whole and ``short``."""
    found: list[list[Examples]] = [[], []]
    everything = np.ones(len(memory.sizes), bool)
    for first, last in cut_rows(len(rows), LEARNING_BATCH):
        part = np.tile(rows[first:last], 2)
        asked = sp.csr_array(sp.vstack([vectors[first:last], short[first:last]]))
        queries = queries_of(asked, part, np.tile(np.arange(last - first), 2))
        evidence = gather(memory, queries, CANDIDATES, everything, CANDIDATES, n_jobs)
        inputs = np.zeros((*evidence.tags.shape, N_INPUTS), np.float32)
        write_inputs(queries, evidence, regressions.for_kernels(), inputs)
        right = _is_right(memory, part, evidence)
        documents = np.broadcast_to(np.tile(np.arange(first, last), 2)[:, None], right.shape)
        kinds = memory.kinds[evidence.tags]
        for is_short, queried in enumerate((slice(0, last - first), slice(last - first, None))):
            there = _present(evidence)[queried]
            parts: Any = (array[queried][there] for array in (inputs, right, evidence.tags, kinds, documents))
            found[is_short].append(Examples(*parts))
    learnt = []
    for parts_of in found:
        examples = joined(parts_of)
        sizes = n_kinds, len(memory.sizes)
        learnt.append((*learn_from(examples, *sizes), learn_tempering(examples, *sizes)))
    mixes, offsets, temperings = (np.stack(arrays) for arrays in zip(*learnt, strict=True))
    return mixes, offsets, temperings


def _present(evidence: Evidence) -> Any:
    return np.arange(evidence.tags.shape[1]) < evidence.found[:, None]


def _is_right(memory: Memory, rows: Any, evidence: Evidence) -> Any:
    own = np.zeros(len(memory.sizes), bool)
    right = np.zeros(evidence.tags.shape, bool)
    for i, row in enumerate(rows):
        tags = memory.tags[memory.tag_starts[row] : memory.tag_starts[row + 1]]
        own[tags] = True
        right[i] = own[evidence.tags[i]]
        own[tags] = False
    return cast(Any, right)
