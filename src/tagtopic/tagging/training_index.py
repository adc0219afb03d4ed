"""The training documents as the tag predictor remembers them: weighted words, indexed by word.

A word that occurs c times in a document weighs c (1 + S) / (c + S) times 1 + log((1 + D) / (1 + documents with it)),
and documents are scaled to length 1. That repeats count for little (S = 0.4: a second mention adds a sixth) matters: on
1,500 ACL abstracts the neighbours' recall@10 was 0.212 with the usual 1 + log c and 0.224 so.

Documents that are remembered for their tags, indexed by word, and questions to them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Floats, Int32s, Int64s, UInt16s, offsets_of, read_only
from tagtopic._core.jit import compiled
from tagtopic._core.parallel import cut_evenly
from tagtopic._core.threads import ThreadPool
from tagtopic.corpus.matrices import column_sizes

if TYPE_CHECKING:
    from tagtopic.corpus.collection import Collection


NEW = -1

SATURATION = 0.4
"""A word that occurs c times weighs c (1 + SATURATION) / (c + SATURATION) times its score."""


class Memory(NamedTuple):
    """Remembered documents: postings of each word (documents and weights), tags of each document, sums by tag.

    ``holders`` are the documents that have each tag, in their order: the same as ``tags``, the other way round.
    ``lengths`` is |sum_{i has j} x_i|^2, ``sizes`` the number of documents and ``kinds`` the number of the kind, for
    each tag j. ``name_tags`` and ``name_shares`` are, for each word, the tags whose names have it and its share there.
    ``totals`` is sum_i x_i. ``common`` is a number for each tag on many documents, else NEW; by it, ``sum_weights`` are
    the entries of sum_{i has j} x_i, for each word. ``frequent`` is a number for each word that many documents have,
    else NEW; by it, ``frequent_rows`` (frequent words, documents) are the weights of its postings, in steps of
    ``frequent_scales``.
    """

    word_starts: Int64s
    documents: Int32s
    weights: Floats
    tag_starts: Int64s
    tags: Int32s
    holder_starts: Int64s
    holders: Int32s
    lengths: Floats
    sizes: Floats
    kinds: Int32s
    name_starts: Int64s
    name_tags: Int32s
    name_shares: Floats
    totals: Floats
    common: Int32s
    sum_starts: Int64s
    sum_tags: Int32s
    sum_weights: Floats
    frequent: Int32s
    frequent_rows: UInt16s
    frequent_scales: Floats


class Queries(NamedTuple):
    """New documents as rows of weighted words; ``rows`` is where each stands in the memory itself, or NEW.

    A document that is remembered is asked about as if it were not: it, and its part in its tags' sums, is left out. If
    only some of its words are asked about, ``whole`` is the query that has all of them; else the query itself.
    """

    starts: Int64s
    words: Int32s
    weights: Floats
    rows: Int64s
    whole: Int64s


@compiled
def weigh(starts: Int64s, words: Int32s, counts: Int32s | Floats, scores: Floats, weights: Floats) -> None:
    """Documents' words as entries of unit vectors: repeats count for little (see SATURATION)."""
    for i in range(starts.shape[0] - 1):
        squares = 0.0
        for p in range(starts[i], starts[i + 1]):
            count = np.float32(counts[p])
            weight = count * np.float32(1 + SATURATION) / (count + np.float32(SATURATION)) * scores[words[p]]
            weights[p] = weight
            squares += np.float64(weight) * np.float64(weight)
        length = max(math.sqrt(squares), 1e-12)
        for p in range(starts[i], starts[i + 1]):
            weights[p] = np.float64(weights[p]) / length


@compiled
def squared_lengths(
    by_tag_starts: Int64s, by_tag_documents: Int32s, starts: Int64s, words: Int32s, weights: Floats, n_words: int,
    first: int, last: int, lengths: Floats,
) -> None:  # fmt: skip
    """For tags ``first:last``, the squared length of the sum of their documents' vectors."""
    total = np.zeros(n_words)
    for j in range(first, last):
        length = 0.0
        for p in range(by_tag_starts[j], by_tag_starts[j + 1]):
            i = by_tag_documents[p]
            for entry in range(starts[i], starts[i + 1]):
                # (t + x)^2 - t^2, so that no second pass is needed
                length += weights[entry] * (2 * total[words[entry]] + weights[entry])
                total[words[entry]] += weights[entry]
        lengths[j] = length
        for p in range(by_tag_starts[j], by_tag_starts[j + 1]):
            i = by_tag_documents[p]
            for entry in range(starts[i], starts[i + 1]):
                total[words[entry]] = 0.0


MOST_ENTRIES = 1 << 25
"""(document, word) entries that are remembered, a quarter of a gigabyte; of larger corpora a random part."""

CHUNK_ENTRIES = 1 << 14

COMMON = 256
"""Documents from which a tag is common: the sum of their vectors is kept, as it is slow to make for each query."""

MOST_SUMMED = 1 << 22
"""(word, tag) entries of these sums, 32 megabytes; of more common tags the commonest are taken."""

FREQUENT = 1 / 12
"""Share of the documents from which a word is frequent: its weights are kept as a row of all documents."""

STEPS = 65535
"""Of such a row's largest weight: half the memory of single precision, at most half a step off."""

MOST_IN_ROWS = 1 << 25
"""Entries of these rows, 64 megabytes; of more frequent words the most frequent are taken."""


def word_scores(counts: Any) -> Floats:
    """What each word is worth: 1 + log((1 + D) / (1 + documents with it))."""
    with_word = column_sizes(counts)
    return np.asarray(1 + np.log((1 + counts.shape[0]) / (1 + with_word)), np.float32)


def weighted_rows(counts: Any, scores: Floats) -> Any:
    """Documents as unit vectors of weighted words (float32 CSR); an empty document stays zero."""
    _, _, weights = weighted_entries(counts, 0, counts.shape[0], scores)
    return sp.csr_array((weights, counts.indices, counts.indptr), shape=counts.shape)


def weighted_entries(counts: Any, first: int, last: int, scores: Floats) -> tuple[Int64s, Int32s, Floats]:
    """Rows ``first:last`` alone, as starts, words and weights."""
    if counts.shape[1] != len(scores):
        raise ValueError(f"the documents are of {counts.shape[1]} words, the tag predictor's of {len(scores)}")
    begin, end = counts.indptr[[first, last]].tolist()
    starts = read_only(counts.indptr[first : last + 1] - begin, np.int64)
    words = read_only(counts.indices[begin:end], np.int32)
    amounts = read_only(counts.data[begin:end], np.int32 if counts.dtype == np.int32 else np.float32)
    weights = np.empty(end - begin, np.float32)
    weigh(starts, words, amounts, read_only(scores, np.float32), weights)
    return starts, words, weights


def few_words(counts: Any, fewer_than: int, random: np.random.Generator) -> Any:
    """The same documents with only a few of their words each, as if somebody had typed a sentence."""
    lengths = np.diff(counts.indptr)
    owner = np.repeat(np.arange(counts.shape[0]), lengths)
    order = np.lexsort((random.random(counts.nnz), owner))
    place = np.empty(counts.nnz, np.int64)
    place[order] = np.arange(counts.nnz) - np.repeat(counts.indptr[:-1], lengths)
    kept = place < random.integers(1, fewer_than, counts.shape[0])[owner]
    starts = offsets_of(kept)[counts.indptr]
    return sp.csr_array((counts.data[kept], counts.indices[kept], starts), shape=counts.shape)


def remembered_rows(corpus: Collection, most_entries: int, random: np.random.Generator) -> Any:
    """Which documents to remember: all that have tags and words, or as many at random as fit."""
    entries, tags = corpus.document_sizes()
    rows = np.flatnonzero((entries > 0) & (tags > 0))
    if entries[rows].sum() <= most_entries:
        return rows
    shuffled = random.permutation(rows)
    return np.sort(shuffled[np.cumsum(entries[shuffled]) <= most_entries])


def build_memory(vectors: Any, tags: Any, kinds: Any, names: Any, n_jobs: int | None) -> Memory:
    """Index the documents' vectors by word and sum them by tag; ``names`` (words x tags) is what tags are called."""
    by_word = sp.csc_array(vectors)
    by_tag = sp.csc_array(tags)
    starts, words = read_only(vectors.indptr, np.int64), read_only(vectors.indices, np.int32)
    tag_starts, documents = read_only(by_tag.indptr, np.int64), read_only(by_tag.indices, np.int32)
    weights = read_only(vectors.data, np.float32)
    lengths = np.zeros(tags.shape[1], np.float32)

    def add(part: tuple[int, int]) -> None:
        squared_lengths(tag_starts, documents, starts, words, weights, vectors.shape[1], *part, lengths)

    with ThreadPool(n_jobs) as workers:
        workers.map(add, cut_evenly(tag_starts, CHUNK_ENTRIES))
    kept = {
        "word_starts": by_word.indptr,
        "documents": by_word.indices,
        "weights": by_word.data,
        "tag_starts": tags.indptr,
        "tags": tags.indices,
        "lengths": lengths,
        "sizes": np.diff(by_tag.indptr),
        "name_starts": names.indptr,
        "name_tags": names.indices,
        "name_shares": names.data,
    }
    return with_derived(kept, kinds)


def as_memory(**arrays: Any) -> Memory:
    """The arrays as the kernels take them: one type each, so that they are compiled once."""
    starts = ("word_starts", "tag_starts", "holder_starts", "name_starts", "sum_starts")
    numbers = ("documents", "tags", "holders", "kinds", "name_tags", "common", "sum_tags", "frequent")
    types: dict[str, type[np.generic]] = {**dict.fromkeys(starts, np.int64), **dict.fromkeys(numbers, np.int32)}
    types["frequent_rows"] = np.uint16
    return Memory(**{name: read_only(arrays[name], types.get(name, np.float32)) for name in Memory._fields})


DERIVED = (
    "kinds", "holder_starts", "holders", "totals", "common", "sum_starts", "sum_tags", "sum_weights", "frequent",
    "frequent_rows", "frequent_scales",
)  # fmt: skip
"""What files do not keep: it comes again from the documents, their tags and the tags' names."""


def memory_from(arrays: dict[str, Any], kinds: Any) -> Memory:
    """The memory from what a file kept of it; an error if that does not fit together."""
    memory = as_memory(**{**dict.fromkeys(DERIVED, np.zeros(0)), **arrays, "kinds": kinds})
    check_memory(memory, len(arrays["scores"]))
    return with_derived(memory._asdict(), kinds)


def with_derived(kept: dict[str, Any], kinds: Any) -> Memory:
    """The memory from the arrays that a file keeps, and what comes from them."""
    n_documents, n_words, n_tags = len(kept["tag_starts"]) - 1, len(kept["word_starts"]) - 1, len(kept["sizes"])
    by_word = sp.csr_array((kept["weights"], kept["documents"], kept["word_starts"]), shape=(n_words, n_documents))
    ones = np.ones(len(kept["tags"]), np.float32)
    by_tag = sp.csr_array((ones, kept["tags"], kept["tag_starts"]), shape=(n_documents, n_tags)).tocsc()
    chosen = common_tags(np.diff(by_tag.indptr), n_words)
    common = np.full(n_tags, NEW)
    common[chosen] = np.arange(len(chosen))
    sums = sp.csr_array(by_word @ sp.csr_array(by_tag[:, chosen]))
    words = frequent_words(np.diff(by_word.indptr), n_documents)
    frequent = np.full(n_words, NEW)
    frequent[words] = np.arange(len(words))
    rows, scales = in_steps(by_word[words])
    derived = {
        "kinds": kinds,
        "holder_starts": by_tag.indptr,
        "holders": by_tag.indices,
        "totals": by_word.sum(axis=1),
        "common": common,
        "sum_starts": sums.indptr,
        "sum_tags": sums.indices,
        "sum_weights": sums.data,
        "frequent": frequent,
        "frequent_rows": rows,
        "frequent_scales": scales,
    }
    return as_memory(**{**kept, **derived})


def common_tags(sizes: Any, n_words: int) -> Any:
    """The tags whose sums are kept: on enough documents, and as many as there is room for."""
    commonest = np.argsort(-sizes, kind="stable")[: MOST_SUMMED // max(n_words, 1)]
    return np.sort(commonest[sizes[commonest] >= COMMON])


def frequent_words(with_word: Any, n_documents: int) -> Any:
    """The words whose weights are kept as rows: in enough documents, and as many as there is room for."""
    most = np.argsort(-with_word, kind="stable")[: MOST_IN_ROWS // max(n_documents, 1)]
    return np.sort(most[with_word[most] > FREQUENT * n_documents])


def in_steps(weights: Any) -> tuple[Any, Floats]:
    """Rows (CSR) as whole numbers up to 65,535, and what one step is worth in each row."""
    scales = np.maximum(weights.max(axis=1).toarray().ravel(), 1e-30) / np.float32(STEPS)
    rows = np.zeros(weights.shape, np.uint16)
    for row in range(len(scales)):
        entries = slice(weights.indptr[row], weights.indptr[row + 1])
        rows[row, weights.indices[entries]] = np.rint(weights.data[entries] / scales[row])
    return rows, scales


def check_memory(memory: Memory, n_words: int) -> None:
    """Raise if the arrays do not fit together: kernels do not look where they step."""
    n_documents, n_tags = len(memory.tag_starts) - 1, len(memory.sizes)
    sound = (
        len(memory.word_starts) == n_words + 1
        and _are_starts(memory.word_starts, len(memory.documents))
        and _are_starts(memory.tag_starts, len(memory.tags))
        and len(memory.weights) == len(memory.documents)
        and len(memory.lengths) == len(memory.kinds) == n_tags
        and _within(memory.documents, n_documents)
        and _within(memory.tags, n_tags)
        and len(memory.name_starts) == n_words + 1
        and _are_starts(memory.name_starts, len(memory.name_tags))
        and len(memory.name_shares) == len(memory.name_tags)
        and _within(memory.name_tags, n_tags)
    )
    if not sound:
        raise ValueError("the documents that its tag predictor remembers do not fit together")


def _are_starts(starts: Any, end: int) -> bool:
    return bool(len(starts) > 0 and starts[0] == 0 and starts[-1] == end and np.all(np.diff(starts) >= 0))


def _within(indices: Any, size: int) -> bool:
    return len(indices) == 0 or bool(indices.min() >= 0 and indices.max() < size)
