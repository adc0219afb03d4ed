"""Planted corpora: drawn from the generative process of TWTM or TWDA, with known parameters.

Documents are drawn in blocks, each from a random stream of its own: memory is bounded, and the documents of a block do
not depend on how many follow it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from tagtopic._core.files import atomic_folder
from tagtopic._core.memmap import GrowingArray
from tagtopic.corpus import Corpus, StringArray, matrices, storage
from tagtopic.datasets.sampling import alias_tables, dirichlet_rows, draw_distinct, draw_tokens, ragged_dirichlet, zipf

Range = int | tuple[int, int]

BLOCK_DOCUMENTS = 16_384
"""Documents drawn from one random stream."""


@dataclass(frozen=True)
class PlantedSettings:
    """Sizes and priors of a planted corpus; `make_tagged_corpus` describes each one.

    Parameters
    ----------
    n_documents, n_topics, n_tags, n_words : int, default=2000, 10, 50, 1000
        Sizes of the corpus.
    model : {"twtm", "twda"}, default="twtm"
        The generative process.
    tags_per_document, document_length : int or (int, int), default=(1, 5), (50, 150)
        Tags and tokens of a document: a number, or a range.
    noise_tags : float, default=0
        Tags per document that have no weight.
    untagged : float, default=0.0
        The share of documents without tags.
    weight_prior : float or array of shape (n_tags,), default=1.0
        pi, the prior of the tag weights.
    latent_prior : float, default=1.0
        pi of the latent tag.
    latent_concentration, tag_concentration, word_concentration : float, default=0.1
        Concentrations of the topics of latent tags, the topics of tags, and the words of topics.
    word_exponent, tag_exponent : float, default=1.0, 0.5
        Zipf exponents of the frequencies of words and tags.
    random_state : int, default=0
        Seed.

    Raises
    ------
    ValueError
        If sizes or priors are impossible, or do not fit together.

    Examples
    --------
    >>> from tagtopic.datasets import PlantedSettings
    >>> PlantedSettings(n_documents=100, noise_tags=1).n_topics
    10
    """

    n_documents: int = 2000
    n_topics: int = 10
    n_tags: int = 50
    n_words: int = 1000
    model: Literal["twtm", "twda"] = "twtm"
    tags_per_document: Range = (1, 5)
    document_length: Range = (50, 150)
    noise_tags: float = 0
    untagged: float = 0.0
    weight_prior: float | npt.ArrayLike = 1.0
    latent_prior: float = 1.0
    latent_concentration: float = 0.1
    tag_concentration: float = 0.1
    word_concentration: float = 0.1
    word_exponent: float = 1.0
    tag_exponent: float = 0.5
    random_state: int = 0

    def __post_init__(self) -> None:
        for name in ("n_documents", "n_topics", "n_tags", "n_words"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.model not in ("twtm", "twda"):
            raise ValueError(f'model must be "twtm" or "twda", got {self.model!r}')
        for field in fields(self):
            if field.name.endswith(("prior", "concentration")) and not np.all(
                np.asarray(getattr(self, field.name)) > 0
            ):
                raise ValueError(f"{field.name} must be positive, got {getattr(self, field.name)}")
        if np.shape(self.weight_prior) not in ((), (self.n_tags,)):
            raise ValueError(f"weight_prior must be one number or one per tag ({self.n_tags})")
        self._check_documents()

    def _check_documents(self) -> None:
        low, high = _bounds(self.document_length)
        if not 0 <= low <= high:
            raise ValueError(f"document_length must be a length or a pair (least, most), got {self.document_length}")
        low, high = _bounds(self.tags_per_document)
        if not 1 <= low <= high:
            raise ValueError(
                f"tags_per_document must be a count from 1 on or a pair (least, most), got {self.tags_per_document};"
                " for documents without tags use untagged="
            )
        if self.noise_tags < 0:
            raise ValueError(f"noise_tags must not be negative, got {self.noise_tags}")
        if high + int(np.ceil(self.noise_tags)) > self.n_tags:
            raise ValueError(
                f"a document would need {high} tags and {self.noise_tags} noise tags of {self.n_tags} tags"
            )
        if not 0 <= self.untagged <= 1:
            raise ValueError(f"untagged is a share from 0 to 1, got {self.untagged}")
        if self.untagged and self.model == "twtm":
            raise ValueError('TWTM says nothing about documents without tags: use model="twda" with untagged=')


def _bounds(size: Range) -> tuple[int, int]:
    """Return the smallest and largest value of a size given as one number or a pair."""
    return (size, size) if isinstance(size, int | np.integer) else (int(size[0]), int(size[1]))


@dataclass(frozen=True)
class PlantedCorpus:
    """A drawn corpus and the parameters that it was drawn from.

    Attributes
    ----------
    corpus : Corpus
        The documents.
    topic_words : ndarray, shape (n_topics, n_words)
        Word distribution of each topic (psi).
    tag_topics : ndarray, shape (n_tags, n_topics)
        Topic distribution of each tag (theta).
    tag_weights : csr_array, shape (n_documents, n_tags)
        Weight of each tag in its document (epsilon), with the same structure as `corpus.tags`; a noise tag is an
        explicit zero. With `latent_share` a row sums to 1.
    latent_share : ndarray, shape (n_documents,)
        Weight of the latent tag of each document; all zero for TWTM.
    document_topics : ndarray, shape (n_documents, n_topics)
        Topic distribution of each document.
    noise : ndarray of bool
        For each entry of `corpus.tags.data`, whether it is a noise tag.

    Examples
    --------
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> planted = make_tagged_corpus(100, 3, 8, 50, noise_tags=1)
    >>> planted.tag_weights.shape, planted.noise.sum()
    ((100, 8), np.int64(100))
    """

    corpus: Corpus
    topic_words: npt.NDArray[np.float64]
    tag_topics: npt.NDArray[np.float64]
    tag_weights: Any
    latent_share: npt.NDArray[np.float64]
    document_topics: npt.NDArray[np.float64]
    noise: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Truth:
    """The parameters that all documents share: word distributions of topics, topic distributions of tags."""

    topic_words: npt.NDArray[np.float64]
    tag_topics: npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Block:
    """Some documents and their parameters; the fields are those of `PlantedCorpus`."""

    counts: Any
    tags: Any
    tag_weights: Any
    latent_share: npt.NDArray[np.float64]
    document_topics: npt.NDArray[np.float64]
    noise: npt.NDArray[np.bool_]


def make_tagged_corpus(
    n_documents: int = 2000,
    n_topics: int = 10,
    n_tags: int = 50,
    n_words: int = 1000,
    *,
    model: Literal["twtm", "twda"] = "twtm",
    tags_per_document: Range = (1, 5),
    document_length: Range = (50, 150),
    noise_tags: float = 0,
    untagged: float = 0.0,
    weight_prior: float | npt.ArrayLike = 1.0,
    latent_prior: float = 1.0,
    latent_concentration: float = 0.1,
    tag_concentration: float = 0.1,
    word_concentration: float = 0.1,
    word_exponent: float = 1.0,
    tag_exponent: float = 0.5,
    random_state: int = 0,
) -> PlantedCorpus:
    """Draw a corpus from the generative process of TWTM or TWDA.

    Parameters
    ----------
    n_documents : int, default=2000
        Number of documents.
    n_topics : int, default=10
        Number of topics (K).
    n_tags : int, default=50
        Number of tags (L).
    n_words : int, default=1000
        Size of the vocabulary (V), the most frequent words first. A rare word may not be drawn at all.
    model : {"twtm", "twda"}, default="twtm"
        With `"twda"` each document also has a latent tag, with a topic distribution of its own.
    tags_per_document : int or (int, int), default=(1, 5)
        Tags with a weight in a document: a number, or the smallest and largest (uniform).
    document_length : int or (int, int), default=(50, 150)
        Tokens of a document: a number, or the smallest and largest (uniform).
    noise_tags : float, default=0
        Extra tags per document, drawn at random, with weight 0. With a fraction (0.5) that share
        of the documents gets one more. Untagged documents get none.
    untagged : float, default=0
        Share of documents without any tag (`"twda"` only).
    weight_prior : float or array-like, shape (n_tags,), default=1
        pi, the Dirichlet prior of the tag weights in a document.
    latent_prior : float, default=1
        pi of the latent tag.
    latent_concentration : float, default=0.1
        mu, the Dirichlet prior of the latent tag's topic distribution (per topic).
    tag_concentration : float, default=0.1
        alpha, the Dirichlet prior of a tag's topic distribution (per topic); with small values a tag has few topics.
    word_concentration : float, default=0.1
        beta, the Dirichlet prior of a topic's word distribution (on average per word; the prior of a word is
        proportional to its Zipf frequency); with small values topics differ more.
    word_exponent : float, default=1
        Zipf exponent of the word frequencies; 0: uniform.
    tag_exponent : float, default=0.5
        Zipf exponent of the tag frequencies.
    random_state : int, default=0
        Seed; the same arguments give the same corpus.

    Returns
    -------
    PlantedCorpus
        The corpus and the parameters that it was drawn from.

    Raises
    ------
    ValueError
        If sizes or priors are impossible, or do not fit together.

    Examples
    --------
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> planted = make_tagged_corpus(100, 3, 8, 50, noise_tags=1)
    >>> planted.corpus.n_documents, planted.topic_words.shape, planted.tag_topics.shape
    (100, (3, 50), (8, 3))
    """
    return draw_corpus(PlantedSettings(**locals()))


def draw_corpus(settings: PlantedSettings, *, block_documents: int = BLOCK_DOCUMENTS) -> PlantedCorpus:
    """Draw a corpus with these settings; other sizes of blocks have other random streams."""
    truth = _draw_truth(settings)
    blocks = list(_draw_blocks(settings, truth, block_documents))
    return PlantedCorpus(
        corpus=Corpus.from_counts(_stack([b.counts for b in blocks]), _stack([b.tags for b in blocks])),
        topic_words=truth.topic_words,
        tag_topics=truth.tag_topics,
        tag_weights=_stack([b.tag_weights for b in blocks]),
        latent_share=np.concatenate([b.latent_share for b in blocks]),
        document_topics=np.concatenate([b.document_topics for b in blocks]),
        noise=np.concatenate([b.noise for b in blocks]),
    )


def _draw_truth(settings: PlantedSettings) -> Truth:
    """Draw the word distributions of topics (psi) and the topic distributions of tags (theta)."""
    rng = np.random.default_rng([settings.random_state, 0])
    word_prior = settings.word_concentration * settings.n_words * zipf(settings.n_words, settings.word_exponent)
    return Truth(
        topic_words=dirichlet_rows(rng, settings.n_topics, word_prior, settings.n_words),
        tag_topics=dirichlet_rows(rng, settings.n_tags, settings.tag_concentration, settings.n_topics),
    )


def _draw_blocks(settings: PlantedSettings, truth: Truth, block_documents: int) -> Iterator[_Block]:
    """Draw the documents, block by block."""
    tables = alias_tables(truth.topic_words)
    popularity = np.random.default_rng([settings.random_state, 1]).permutation(
        zipf(settings.n_tags, settings.tag_exponent)
    )
    for number, start in enumerate(range(0, settings.n_documents, block_documents)):
        rng = np.random.default_rng([settings.random_state, 2, number])
        size = min(block_documents, settings.n_documents - start)
        yield _draw_block(settings, truth, rng, size, popularity, tables)


def _draw_block(
    settings: PlantedSettings,
    truth: Truth,
    rng: np.random.Generator,
    size: int,
    popularity: npt.NDArray[np.float64],
    tables: tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]],
) -> _Block:
    tag_weights, latent_share = _draw_weights(settings, rng, size, popularity)
    document_topics = tag_weights @ truth.tag_topics
    if settings.model == "twda":
        latent_topics = dirichlet_rows(rng, size, settings.latent_concentration, settings.n_topics)
        document_topics += latent_share[:, None] * latent_topics
    lengths = _draw_sizes(rng, settings.document_length, size)
    words = draw_tokens(rng, document_topics, lengths, *tables)
    counts = csr_array((np.ones(words.size, dtype=np.int32), words, _offsets(lengths)), shape=(size, settings.n_words))
    counts.sum_duplicates()
    tags = csr_array(
        (np.ones(tag_weights.nnz, dtype=np.int8), tag_weights.indices, tag_weights.indptr), shape=tag_weights.shape
    )
    return _Block(counts, tags, tag_weights, latent_share, document_topics, noise=tag_weights.data == 0.0)


def _draw_weights(
    settings: PlantedSettings, rng: np.random.Generator, size: int, popularity: npt.NDArray[np.float64]
) -> tuple[Any, npt.NDArray[np.float64]]:
    """Draw the tags of each document and their weights; the first tags of a document are real, the rest are noise."""
    n_real = _draw_sizes(rng, settings.tags_per_document, size)
    n_noise = np.floor(settings.noise_tags + rng.random(size)).astype(np.int64)
    tagged = rng.random(size) >= settings.untagged
    n_real, n_noise = n_real * tagged, n_noise * tagged
    n_all = n_real + n_noise
    tags = draw_distinct(rng, n_all, popularity)

    document = np.repeat(np.arange(size), n_all)
    real = np.arange(document.size) - _offsets(n_all)[document] < n_real[document]
    prior = np.broadcast_to(np.asarray(settings.weight_prior, dtype=np.float64), (settings.n_tags,))[tags[real]]
    owner = document[real]
    if settings.model == "twda":
        owner = np.concatenate([owner, np.arange(size)])
        prior = np.concatenate([prior, np.full(size, settings.latent_prior)])
    drawn = ragged_dirichlet(rng, prior, owner, size)

    weights = np.zeros(document.size)
    n_drawn = int(real.sum())
    weights[real] = np.maximum(drawn[:n_drawn], np.finfo(np.float64).tiny)  # exactly 0 is kept for noise
    latent_share = drawn[n_drawn:] if settings.model == "twda" else np.zeros(size)
    matrix = csr_array((weights, tags, _offsets(n_all)), shape=(size, settings.n_tags))
    matrix.sort_indices()
    return matrix, latent_share


def _draw_sizes(rng: np.random.Generator, size: Range, n: int) -> npt.NDArray[np.int64]:
    low, high = _bounds(size)
    return rng.integers(low, high, size=n, endpoint=True)


def _offsets(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)])


def _stack(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else vstack(parts, format="csr")


def write_tagged_corpus(
    path: str | PathLike[str], settings: PlantedSettings, *, block_documents: int = BLOCK_DOCUMENTS
) -> Truth:
    """Draw the corpus of `make_tagged_corpus` into the folder of a saved corpus, in bounded memory.

    Parameters
    ----------
    path : path
        The folder, for `Corpus.open`.
    settings : PlantedSettings
        Sizes and priors.
    block_documents : int, default=16,384
        Documents drawn at a time; other values have other random streams.

    Returns
    -------
    Truth
        `topic_words` and `tag_topics`; the parameters of single documents are not kept.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tagtopic import Corpus
    >>> from tagtopic.datasets import PlantedSettings, write_tagged_corpus
    >>> with TemporaryDirectory() as folder:
    ...     truth = write_tagged_corpus(f"{folder}/drawn", PlantedSettings(n_documents=100, n_topics=3))
    ...     len(Corpus.open(f"{folder}/drawn")), truth.topic_words.shape
    (100, (3, 1000))
    """
    truth = _draw_truth(settings)
    with atomic_folder(Path(path), marker=storage.MARKER) as folder:
        with ExitStack() as files:
            growing = {
                name: files.enter_context(GrowingArray(folder / f"{name}.npy", kind, spill_at=0))
                for name, kind in storage.ARRAYS.items()
            }
            for name in ("counts.indptr", "tags.indptr", "ids.offsets"):
                growing[name].append(np.zeros(1, dtype=np.int64))
            n_documents = 0
            for block in _draw_blocks(settings, truth, block_documents):
                _append(growing, block, first=n_documents)
                n_documents += len(block.latent_share)
            arrays = {name: array.finish() for name, array in growing.items()}
        corpus = _corpus(arrays, settings)
        storage.write_names(folder, corpus.words, corpus.tag_names)
        storage.write_marker(folder, corpus)
    return truth


def _corpus(arrays: dict[str, Any], settings: PlantedSettings) -> Corpus:
    """Return the corpus over these arrays, with the default names of `Corpus.from_counts`."""
    words = tuple(f"word_{j}" for j in range(settings.n_words))
    tag_names = tuple(f"tag_{j}" for j in range(settings.n_tags))
    counts, tags = (
        matrices.csr(arrays[f"{name}.indptr"], arrays[f"{name}.indices"], arrays[f"{name}.data"], n)
        for name, n in (("counts", len(words)), ("tags", len(tag_names)))
    )
    ids = StringArray(arrays["ids.offsets"], arrays["ids.bytes"])
    return Corpus(counts=counts, tags=tags, words=words, tag_names=tag_names, ids=ids)


def _append(arrays: dict[str, GrowingArray], block: _Block, *, first: int) -> None:
    """Append a block of documents, the first of which has the number `first`."""
    matrix: Any
    for name, matrix in (("counts", block.counts), ("tags", block.tags)):
        arrays[f"{name}.indptr"].append(matrix.indptr[1:].astype(np.int64) + len(arrays[f"{name}.indices"]))
        arrays[f"{name}.indices"].append(matrix.indices)
        arrays[f"{name}.data"].append(matrix.data)
    ids = StringArray.of(str(first + i) for i in range(len(block.latent_share)))
    arrays["ids.offsets"].append(ids.offsets[1:] + len(arrays["ids.bytes"]))
    arrays["ids.bytes"].append(ids.data)
