"""The training index: tagged training documents as weighted word vectors, in an inverted index.

A word that occurs c times in a document has the weight

    c (1 + S) / (c + S) * idf,    idf = 1 + log((1 + D) / (1 + df)),    S = 0.4,

where D is the number of documents and df the number of those with the word; each vector is scaled to length 1. Strong
saturation matters (a second mention adds a sixth): on 1,500 ACL abstracts the neighbours' recall@10 is 0.224, and 0.212
with the usual 1 + log c.

The index also has the words of the tags' names: a text with the word "vampire" is evidence for the tag
``keyword:vampire``. On TMDB's keywords this raises recall@10 from 0.29 to 0.32 (held-out training documents). Where
names do not occur in the texts, as those of authors, the fitted coefficients give it no weight.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import SMALL, Float64s, Floats, Int32s, Int64s, UInt16s, offsets_of, owners_of, read_only
from tagtopic._core.jit import compiled
from tagtopic._core.parallel import ThreadPool, cut_evenly
from tagtopic.corpus.matrices import column_counts, is_nondecreasing

if TYPE_CHECKING:
    from tagtopic.corpus.interface import CorpusLike

ABSENT = -1
"""In place of a row or number where there is none."""

SATURATION = 0.4
"""S in the weight of a word that occurs c times, c (1 + S) / (c + S) idf."""

MAX_FUNCTION_WORD = 3
"""Unknown words of at most this many letters (of, in, the) are not counted as part of a name."""

MAX_ENTRIES = 1 << 25
"""(document, word) entries of the index, a quarter of a gigabyte; larger corpora are sampled."""

MIN_COMMON_TAG = 256
"""Documents from which a tag is common: the sum of their vectors is stored, because it is slow to compute per query."""

MAX_CENTROID_ENTRIES = 1 << 22
"""(word, tag) entries of these sums, 32 megabytes; if there are more common tags, the most common are taken."""

MIN_FREQUENT_WORD = 1 / 12
"""Share of the documents from which a word is frequent: its weights are stored as a dense row over all documents."""

DENSE_STEPS = 65535
"""Quantisation steps of a dense row's largest weight: half the memory of float32, at most half a step off."""

MAX_DENSE_ENTRIES = 1 << 25
"""Entries of the dense rows, 64 megabytes; if there are more frequent words, the most frequent are taken."""

CHUNK_ENTRIES = 1 << 14
"""(document, tag) entries per task."""


class TrainingIndex(NamedTuple):
    """Training documents x_i, indexed by word and by tag, as the kernels read them.

    Attributes
    ----------
    posting_starts, posting_documents, posting_weights
        For each word, the documents that have it and its weights there.
    document_tag_starts, document_tags
        The tags of each document.
    tag_document_starts, tag_documents
        The documents of each tag, ascending.
    squared_norms
        For each tag j, ``|sum_{i has j} x_i|^2``.
    tag_counts, tag_kinds
        For each tag, the number of its documents and the number of its kind.
    name_starts, name_tags, name_shares
        For each word, the tags whose names contain it and its share of the name.
    word_totals
        ``sum_i x_i``.
    common_numbers
        For each tag its number among the common tags, or ABSENT.
    centroid_starts, centroid_tags, centroid_weights
        For each word, the entries of ``sum_{i has j} x_i`` by the number of the common tag j.
    frequent_numbers
        For each word its number among the frequent words, or ABSENT.
    dense_weights, dense_scales
        (frequent words, documents): the weights in steps of ``dense_scales``.
    """

    posting_starts: Int64s
    posting_documents: Int32s
    posting_weights: Floats
    document_tag_starts: Int64s
    document_tags: Int32s
    tag_document_starts: Int64s
    tag_documents: Int32s
    squared_norms: Floats
    tag_counts: Floats
    tag_kinds: Int32s
    name_starts: Int64s
    name_tags: Int32s
    name_shares: Floats
    word_totals: Floats
    common_numbers: Int32s
    centroid_starts: Int64s
    centroid_tags: Int32s
    centroid_weights: Floats
    frequent_numbers: Int32s
    dense_weights: UInt16s
    dense_scales: Floats

    def to_arrays(self) -> dict[str, Any]:
        """Return the arrays that a model file stores, by their names there."""
        return {stored: getattr(self, name) for name, stored in STORED.items()}


OF_WORDS = (
    "posting_starts", "posting_documents", "posting_weights", "word_totals", "frequent_numbers", "dense_weights",
    "dense_scales",
)  # fmt: skip
"""The fields that depend on the documents' words and not on their tags."""

STORED = {
    "posting_starts": "word_starts",
    "posting_documents": "documents",
    "posting_weights": "weights",
    "document_tag_starts": "tag_starts",
    "document_tags": "tags",
    "squared_norms": "lengths",
    "tag_counts": "sizes",
    "name_starts": "name_starts",
    "name_tags": "name_tags",
    "name_shares": "name_shares",
}
"""The fields that model files store, and their names in the files; all others are derived from these."""

_STARTS = tuple(name for name in TrainingIndex._fields if name.endswith("_starts"))
_NUMBERS = (
    "posting_documents", "document_tags", "tag_documents", "tag_kinds", "name_tags", "common_numbers",
    "centroid_tags", "frequent_numbers",
)  # fmt: skip


class Queries(NamedTuple):
    """Documents to compare with the index, as rows of weighted words.

    ``training_rows`` is the row of each in the index, or ABSENT. A document of the index is left out of it exactly: its
    vector, and its part in the sums of its tags. Where a query has only some of the words of such a document,
    ``full_queries`` is the number of the query with all of them; otherwise that of the query itself.
    """

    starts: Int64s
    words: Int32s
    weights: Floats
    training_rows: Int64s
    full_queries: Int64s


@compiled
def _weight_entries(starts: Int64s, words: Int32s, counts: Int32s | Floats, idf: Floats, weights: Floats) -> None:
    """Fill ``weights`` with the entries of unit vectors (see the module's formula)."""
    for i in range(starts.shape[0] - 1):
        squares = 0.0
        for p in range(starts[i], starts[i + 1]):
            count = np.float32(counts[p])
            weight = count * np.float32(1 + SATURATION) / (count + np.float32(SATURATION)) * idf[words[p]]
            weights[p] = weight
            squares += np.float64(weight) * np.float64(weight)
        norm = max(math.sqrt(squares), 1e-12)
        for p in range(starts[i], starts[i + 1]):
            weights[p] = np.float64(weights[p]) / norm


def _few_weights(starts: Int64s, words: Int32s, counts: Int32s | Floats, idf: Floats) -> Floats:
    """Return what ``_weight_entries`` fills, by NumPy."""
    amounts, owners = counts.astype(np.float32), owners_of(starts)
    weights = amounts * np.float32(1 + SATURATION) / (amounts + np.float32(SATURATION)) * idf[words]
    squares = np.bincount(owners, weights.astype(np.float64) ** 2, len(starts) - 1)
    return np.asarray(weights / np.maximum(np.sqrt(squares), 1e-12)[owners], np.float32)


@compiled
def _fill_squared_norms(
    tag_starts: Int64s, tag_documents: Int32s, starts: Int64s, words: Int32s, weights: Floats, total: Float64s,
    first: int, last: int, squared_norms: Floats,
) -> None:  # fmt: skip
    """For tags ``first:last``, compute the squared norm of the sum of their documents' vectors.

    ``total`` (words) is zero before and after.
    """
    for j in range(first, last):
        squared = 0.0
        for p in range(tag_starts[j], tag_starts[j + 1]):
            i = tag_documents[p]
            for entry in range(starts[i], starts[i + 1]):
                # (t + x)^2 - t^2, so that no second pass is needed
                squared += weights[entry] * (2 * total[words[entry]] + weights[entry])
                total[words[entry]] += weights[entry]
        squared_norms[j] = squared
        for p in range(tag_starts[j], tag_starts[j + 1]):
            i = tag_documents[p]
            for entry in range(starts[i], starts[i + 1]):
                total[words[entry]] = 0.0


def inverse_document_frequencies(counts: Any) -> Floats:
    """Return ``1 + log((1 + D) / (1 + df))`` for each word (column of ``counts``)."""
    return np.asarray(1 + np.log((1 + counts.shape[0]) / (1 + column_counts(counts))), np.float32)


def document_vectors(counts: Any, idf: Floats) -> Any:
    """Return documents as unit vectors of weighted words (float32 CSR); an empty document stays zero."""
    _, _, weights = _vector_entries(counts, 0, counts.shape[0], idf)
    return sp.csr_array((weights, counts.indices, counts.indptr), shape=counts.shape)


def _vector_entries(counts: Any, first: int, last: int, idf: Floats) -> tuple[Int64s, Int32s, Floats]:
    """Return rows ``first:last`` of the vectors as starts, words and weights."""
    if counts.shape[1] != len(idf):
        raise ValueError(f"the documents are of {counts.shape[1]} words, the tag predictor's of {len(idf)}")
    begin, end = counts.indptr[[first, last]].tolist()
    starts = read_only(counts.indptr[first : last + 1] - begin, np.int64)
    words = read_only(counts.indices[begin:end], np.int32)
    amounts = read_only(counts.data[begin:end], np.int32 if counts.dtype == np.int32 else np.float32)
    if len(words) <= SMALL:
        return starts, words, _few_weights(starts, words, amounts, idf)
    weights = np.empty(end - begin, np.float32)
    _weight_entries(starts, words, amounts, read_only(idf, np.float32), weights)
    return starts, words, weights


def queries_from_vectors(vectors: Any, training_rows: Any = None, full_queries: Any = None) -> Queries:
    """Return vectors (CSR) as queries; by default they are new documents, each with all of its words."""
    n_queries = vectors.shape[0]
    return Queries(
        read_only(vectors.indptr, np.int64),
        read_only(vectors.indices, np.int32),
        read_only(vectors.data, np.float32),
        read_only(np.full(n_queries, ABSENT) if training_rows is None else training_rows, np.int64),
        read_only(np.arange(n_queries) if full_queries is None else full_queries, np.int64),
    )


def queries_from_counts(counts: Any, first: int, last: int, idf: Floats) -> Queries:
    """Return rows ``first:last`` of word counts as new documents."""
    starts, words, weights = _vector_entries(counts, first, last, idf)
    rows = read_only(np.full(last - first, ABSENT), np.int64), read_only(np.arange(last - first), np.int64)
    return Queries(starts, words, read_only(weights), *rows)


def take_queries(queries: Queries, chosen: Any) -> Queries:
    """Return some queries, each with all of its words."""
    sizes = np.diff(queries.starts)[chosen]
    starts = offsets_of(sizes)
    entries = np.arange(starts[-1]) + np.repeat(queries.starts[chosen] - starts[:-1], sizes)
    return Queries(
        read_only(starts, np.int64),
        read_only(queries.words[entries], np.int32),
        read_only(queries.weights[entries], np.float32),
        read_only(queries.training_rows[chosen], np.int64),
        read_only(np.arange(len(chosen)), np.int64),
    )


def subsample_words(counts: Any, fewer_than: int, random: np.random.Generator) -> Any:
    """Return the documents with fewer than ``fewer_than`` random words each, like short queries typed by a person."""
    lengths = np.diff(counts.indptr)
    owner = np.repeat(np.arange(counts.shape[0]), lengths)
    order = np.lexsort((random.random(counts.nnz), owner))
    rank = np.empty(counts.nnz, np.int64)
    rank[order] = np.arange(counts.nnz) - np.repeat(counts.indptr[:-1], lengths)
    kept = rank < random.integers(1, fewer_than, counts.shape[0])[owner]
    starts = offsets_of(kept)[counts.indptr]
    return sp.csr_array((counts.data[kept], counts.indices[kept], starts), shape=counts.shape)


def select_documents(corpus: CorpusLike, max_entries: int, random: np.random.Generator) -> Any:
    """Return the rows to index: all documents with tags and words, or a random sample of at most ``max_entries``."""
    entries, tags = corpus.document_sizes()
    rows = np.flatnonzero((entries > 0) & (tags > 0))
    if entries[rows].sum() <= max_entries:
        return rows
    shuffled = random.permutation(rows)
    return np.sort(shuffled[np.cumsum(entries[shuffled]) <= max_entries])


def build_index(
    vectors: Any,
    tags: Any,
    kinds: Any,
    names: Any,
    n_jobs: int | None,
    *,
    min_common_tag: int = MIN_COMMON_TAG,
    min_frequent_word: float = MIN_FREQUENT_WORD,
) -> TrainingIndex:
    """Index document vectors.

    Parameters
    ----------
    vectors, tags : CSR
        (documents, words) and (documents, tags).
    kinds : array
        The number of each tag's kind.
    names : CSR
        (words, tags): the share of each word in each tag's name.
    n_jobs : int or None
        Threads.
    min_common_tag : int
        Documents from which the sum of a tag's vectors is stored.
    min_frequent_word : float
        Share of the documents from which a word's weights are stored as a dense row.

    Returns
    -------
    TrainingIndex
    """
    by_word = sp.csc_array(vectors)
    by_tag = sp.csc_array(tags)
    starts, words = read_only(vectors.indptr, np.int64), read_only(vectors.indices, np.int32)
    tag_starts, documents = read_only(by_tag.indptr, np.int64), read_only(by_tag.indices, np.int32)
    weights = read_only(vectors.data, np.float32)
    squared_norms = np.zeros(tags.shape[1], np.float32)

    def fill(part: tuple[int, int]) -> None:
        total = np.zeros(vectors.shape[1])
        _fill_squared_norms(tag_starts, documents, starts, words, weights, total, *part, squared_norms)

    if max(len(words), len(documents)) <= SMALL:
        sums = sp.csr_array(by_tag.T, dtype=np.float64) @ vectors
        squared_norms[:] = sums.multiply(sums).sum(axis=1)
    else:
        with ThreadPool(n_jobs) as pool:
            pool.map(fill, cut_evenly(tag_starts, CHUNK_ENTRIES))
    stored = {
        "posting_starts": by_word.indptr,
        "posting_documents": by_word.indices,
        "posting_weights": by_word.data,
        "document_tag_starts": tags.indptr,
        "document_tags": tags.indices,
        "squared_norms": squared_norms,
        "tag_counts": np.diff(by_tag.indptr),
        "name_starts": names.indptr,
        "name_tags": names.indices,
        "name_shares": names.data,
    }
    return _with_derived(stored, kinds, min_common_tag, min_frequent_word)


def index_from_arrays(arrays: dict[str, Any], kinds: Any) -> TrainingIndex:
    """Return the index from the arrays of ``TrainingIndex.to_arrays``, after a check that they are consistent."""
    stored = {name: arrays[file_name] for name, file_name in STORED.items()}
    empty = dict.fromkeys(TrainingIndex._fields, np.zeros(0))
    index = _typed_index({**empty, **stored, "tag_kinds": kinds})
    _check_index(index, len(arrays["scores"]))
    return _with_derived(index._asdict(), kinds, MIN_COMMON_TAG, MIN_FREQUENT_WORD)


def _with_derived(stored: dict[str, Any], kinds: Any, min_common_tag: int, min_frequent_word: float) -> TrainingIndex:
    """Add the fields that are derived from the stored ones."""
    n_documents, n_words = len(stored["document_tag_starts"]) - 1, len(stored["posting_starts"]) - 1
    n_tags = len(stored["tag_counts"])
    postings = stored["posting_weights"], stored["posting_documents"], stored["posting_starts"]
    by_word = sp.csr_array(postings, shape=(n_words, n_documents))
    ones = np.ones(len(stored["document_tags"]), np.float32)
    tags = ones, stored["document_tags"], stored["document_tag_starts"]
    by_tag = sp.csr_array(tags, shape=(n_documents, n_tags)).tocsc()
    common = common_tags(np.diff(by_tag.indptr), n_words, min_common_tag)
    common_numbers = np.full(n_tags, ABSENT)
    common_numbers[common] = np.arange(len(common))
    centroids = sp.csr_array(by_word @ sp.csr_array(by_tag[:, common]))
    frequent = frequent_words(np.diff(by_word.indptr), n_documents, min_frequent_word)
    frequent_numbers = np.full(n_words, ABSENT)
    frequent_numbers[frequent] = np.arange(len(frequent))
    dense_weights, dense_scales = quantise_rows(by_word[frequent])
    derived = {
        "tag_kinds": kinds,
        "tag_document_starts": by_tag.indptr,
        "tag_documents": by_tag.indices,
        "word_totals": by_word.sum(axis=1),
        "common_numbers": common_numbers,
        "centroid_starts": centroids.indptr,
        "centroid_tags": centroids.indices,
        "centroid_weights": centroids.data,
        "frequent_numbers": frequent_numbers,
        "dense_weights": dense_weights,
        "dense_scales": dense_scales,
    }
    return _typed_index({**stored, **derived})


def _typed_index(arrays: dict[str, Any]) -> TrainingIndex:
    """Return the arrays as the kernels read them: one type each, so that kernels are compiled once."""
    types: dict[str, type[np.generic]] = {**dict.fromkeys(_STARTS, np.int64), **dict.fromkeys(_NUMBERS, np.int32)}
    types["dense_weights"] = np.uint16
    fields = TrainingIndex._fields
    return TrainingIndex(**{name: read_only(arrays[name], types.get(name, np.float32)) for name in fields})


def common_tags(
    counts: Any, n_words: int, min_documents: int = MIN_COMMON_TAG, max_entries: int = MAX_CENTROID_ENTRIES
) -> Any:
    """Return the tags whose vector sums are stored: on enough documents, and no more than ``max_entries`` allow."""
    most_common = np.argsort(-counts, kind="stable")[: max_entries // max(n_words, 1)]
    return np.sort(most_common[counts[most_common] >= min_documents])


def frequent_words(
    counts: Any, n_documents: int, min_share: float = MIN_FREQUENT_WORD, max_entries: int = MAX_DENSE_ENTRIES
) -> Any:
    """Return the words with dense rows: in enough documents, and no more than ``max_entries`` allow."""
    most_frequent = np.argsort(-counts, kind="stable")[: max_entries // max(n_documents, 1)]
    return np.sort(most_frequent[counts[most_frequent] > min_share * n_documents])


def quantise_rows(weights: Any) -> tuple[Any, Floats]:
    """Return rows (CSR) as dense whole numbers up to DENSE_STEPS, and the size of a step in each row."""
    scales = np.maximum(weights.max(axis=1).toarray().ravel(), 1e-30) / np.float32(DENSE_STEPS)
    rows = np.zeros(weights.shape, np.uint16)
    for row in range(len(scales)):
        entries = slice(weights.indptr[row], weights.indptr[row + 1])
        rows[row, weights.indices[entries]] = np.rint(weights.data[entries] / scales[row])
    return rows, scales


def _check_index(index: TrainingIndex, n_words: int) -> None:
    """Raise if the arrays are inconsistent: kernels do not check bounds."""
    n_documents, n_tags = len(index.document_tag_starts) - 1, len(index.tag_counts)
    consistent = (
        len(index.posting_starts) == n_words + 1
        and _are_starts(index.posting_starts, len(index.posting_documents))
        and _are_starts(index.document_tag_starts, len(index.document_tags))
        and len(index.posting_weights) == len(index.posting_documents)
        and len(index.squared_norms) == len(index.tag_kinds) == n_tags
        and _within(index.posting_documents, n_documents)
        and _within(index.document_tags, n_tags)
        and len(index.name_starts) == n_words + 1
        and _are_starts(index.name_starts, len(index.name_tags))
        and len(index.name_shares) == len(index.name_tags)
        and _within(index.name_tags, n_tags)
    )
    if not consistent:
        raise ValueError("the documents that its tag predictor remembers do not fit together")


def _are_starts(starts: Any, end: int) -> bool:
    return bool(len(starts) > 0 and starts[0] == 0 and starts[-1] == end and is_nondecreasing(starts))


def _within(indices: Any, size: int) -> bool:
    return len(indices) == 0 or bool(indices.min() >= 0 and indices.max() < size)


def name_words(tag: str) -> set[str]:
    """Return the different words of a tag's name (the part after its kind): letters and digits, lower case."""
    kind, colon, name = tag.partition(":")
    plain = unicodedata.normalize("NFKC", name if colon else kind).lower()
    return set(re.findall(r"[^\W_]+", plain))


def name_shares(tag_names: Sequence[str], words: Sequence[str], idf: Floats) -> Any:
    """Return the share of each word in each tag's name by idf: CSR (words, tags).

    A word of a name that no document has counts like the rarest word, so that such a name never matches in full.
    """
    column = {word: number for number, word in enumerate(words)}
    rarest = float(idf.max()) if len(idf) else 1.0
    rows: list[int] = []
    tags: list[int] = []
    shares: list[float] = []
    for tag, name in enumerate(tag_names):
        parts = sorted(name_words(name))  # sums must not depend on the order of a set
        known = [column[part] for part in parts if part in column]
        if not known:
            continue
        unknown = sum(rarest for part in parts if part not in column and len(part) > MAX_FUNCTION_WORD)
        total = float(idf[known].sum()) + unknown
        rows += known
        tags += [tag] * len(known)
        shares += (idf[known] / total).tolist()
    shape = (len(words), len(tag_names))
    table = sp.csr_array(
        (np.array(shares, np.float32), (np.array(rows, np.int64), np.array(tags, np.int64))), shape=shape
    )
    table.sort_indices()
    return table
