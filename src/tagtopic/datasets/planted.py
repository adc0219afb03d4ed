"""A corpus whose truth is known: drawn from the generative process of TWTM or TWDA.

What a planted corpus is drawn from: its sizes and priors, checked at the door.

Planted corpora that are larger than memory, drawn block by block into the folder of a saved corpus.
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


@dataclass(frozen=True)
class Recipe:
    """Sizes and priors of a planted corpus; `make_tagged_corpus` tells what each one means.

    Examples
    --------
    >>> from tagtopic.datasets import Recipe
    >>> Recipe(n_documents=100, noise_tags=1).n_topics
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
        low, high = bounds(self.document_length)
        if not 0 <= low <= high:
            raise ValueError(f"document_length must be a length or a pair (least, most), got {self.document_length}")
        low, high = bounds(self.tags_per_document)
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


def bounds(size: Range) -> tuple[int, int]:
    """Least and most of a size that is given as one number or a pair."""
    return (size, size) if isinstance(size, int | np.integer) else (int(size[0]), int(size[1]))


# Documents are drawn in blocks, each from its own random stream: memory is bounded and what a block
# holds does not depend on how many follow it.
DOCUMENTS_PER_BLOCK = 16_384


@dataclass(frozen=True)
class PlantedCorpus:
    """A drawn corpus and the truth behind it.

    Attributes
    ----------
    corpus:
        The documents.
    topic_words:
        True word probabilities of each topic (topics, words); rows sum to 1.
    tag_topics:
        True topic mix of each tag (tags, topics); rows sum to 1.
    tag_weights:
        True weight of each tag in its document, CSR (documents, tags), with the same structure as `corpus.tags`
        (a noise tag is an explicit zero). With `latent_share` a row sums to 1.
    latent_share:
        True weight of each document's latent tag (documents,); all zero for TWTM.
    document_topics:
        True topic mix of each document (documents, topics); rows sum to 1.
    noise:
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
    """What all documents share."""

    topic_words: npt.NDArray[np.float64]
    tag_topics: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """Some documents and the truth about them; the fields are those of `PlantedCorpus`."""

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
    """Draw a corpus from the generative process of TWTM or TWDA and keep the truth.

    Parameters
    ----------
    n_documents:
        Documents to draw.
    n_topics:
        Topics (K).
    n_tags:
        Tags (L).
    n_words:
        Words of the vocabulary (V), the commonest first. A rare one may never be drawn.
    model:
        `"twtm"`, or `"twda"`: each document has a latent tag as well, with a topic mix of its own.
    tags_per_document:
        Tags that have a say in a document: a number, or the least and most (all equally likely).
    document_length:
        Tokens of a document: a number, or the least and most.
    noise_tags:
        Extra tags per document, attached at random with true weight 0. With a fraction (0.5) that share
        of the documents gets one more. Untagged documents get none.
    untagged:
        Share of documents without any tag (`"twda"` only).
    weight_prior:
        pi, the Dirichlet prior of the tag weights in a document; one number or one per tag.
    latent_prior:
        pi of the latent tag.
    latent_concentration:
        mu, the Dirichlet prior of the latent tag's topic mix (per topic).
    tag_concentration:
        alpha, the Dirichlet prior of a tag's topic mix (per topic); small makes tags single-minded.
    word_concentration:
        beta, the Dirichlet prior of a topic's words (on average per word; the prior of a word is
        proportional to its Zipf frequency); small makes topics differ more.
    word_exponent:
        Zipf exponent of the word frequencies; 0 makes all words alike.
    tag_exponent:
        Zipf exponent of how often a tag is used.
    random_state:
        Seed; the same arguments give the same corpus.

    Examples
    --------
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> planted = make_tagged_corpus(100, 3, 8, 50, noise_tags=1)
    >>> planted.corpus.n_documents, planted.topic_words.shape, planted.tag_topics.shape
    (100, (3, 50), (8, 3))
    """
    recipe = Recipe(**locals())
    truth = draw_truth(recipe)
    blocks = list(draw_blocks(recipe, truth))
    return PlantedCorpus(
        corpus=Corpus.from_counts(_stack([b.counts for b in blocks]), _stack([b.tags for b in blocks])),
        topic_words=truth.topic_words,
        tag_topics=truth.tag_topics,
        tag_weights=_stack([b.tag_weights for b in blocks]),
        latent_share=np.concatenate([b.latent_share for b in blocks]),
        document_topics=np.concatenate([b.document_topics for b in blocks]),
        noise=np.concatenate([b.noise for b in blocks]),
    )


def draw_truth(recipe: Recipe) -> Truth:
    """Draw the topics (psi) and the tags' topic mixes (theta)."""
    rng = np.random.default_rng([recipe.random_state, 0])
    word_prior = recipe.word_concentration * recipe.n_words * zipf(recipe.n_words, recipe.word_exponent)
    return Truth(
        topic_words=dirichlet_rows(rng, recipe.n_topics, word_prior, recipe.n_words),
        tag_topics=dirichlet_rows(rng, recipe.n_tags, recipe.tag_concentration, recipe.n_topics),
    )


def draw_blocks(recipe: Recipe, truth: Truth) -> Iterator[Block]:
    """Draw the documents, a bounded number at a time."""
    tables = alias_tables(truth.topic_words)
    popularity = np.random.default_rng([recipe.random_state, 1]).permutation(zipf(recipe.n_tags, recipe.tag_exponent))
    for number, start in enumerate(range(0, recipe.n_documents, DOCUMENTS_PER_BLOCK)):
        rng = np.random.default_rng([recipe.random_state, 2, number])
        size = min(DOCUMENTS_PER_BLOCK, recipe.n_documents - start)
        yield _draw_block(recipe, truth, rng, size, popularity, tables)


def _draw_block(
    recipe: Recipe,
    truth: Truth,
    rng: np.random.Generator,
    size: int,
    popularity: npt.NDArray[np.float64],
    tables: tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]],
) -> Block:
    tag_weights, latent_share = _draw_weights(recipe, rng, size, popularity)
    document_topics = tag_weights @ truth.tag_topics
    if recipe.model == "twda":
        latent_topics = dirichlet_rows(rng, size, recipe.latent_concentration, recipe.n_topics)
        document_topics += latent_share[:, None] * latent_topics
    lengths = _draw_sizes(rng, recipe.document_length, size)
    words = draw_tokens(rng, document_topics, lengths, *tables)
    counts = csr_array((np.ones(words.size, dtype=np.int32), words, _offsets(lengths)), shape=(size, recipe.n_words))
    counts.sum_duplicates()
    tags = csr_array(
        (np.ones(tag_weights.nnz, dtype=np.int8), tag_weights.indices, tag_weights.indptr), shape=tag_weights.shape
    )
    return Block(counts, tags, tag_weights, latent_share, document_topics, noise=tag_weights.data == 0.0)


def _draw_weights(
    recipe: Recipe, rng: np.random.Generator, size: int, popularity: npt.NDArray[np.float64]
) -> tuple[Any, npt.NDArray[np.float64]]:
    """Draw which tags a document has and what each weighs; the first of a document are real, the rest noise."""
    n_real = _draw_sizes(rng, recipe.tags_per_document, size)
    n_noise = np.floor(recipe.noise_tags + rng.random(size)).astype(np.int64)
    tagged = rng.random(size) >= recipe.untagged
    n_real, n_noise = n_real * tagged, n_noise * tagged
    n_all = n_real + n_noise
    tags = draw_distinct(rng, n_all, popularity)

    document = np.repeat(np.arange(size), n_all)
    real = np.arange(document.size) - _offsets(n_all)[document] < n_real[document]
    prior = np.broadcast_to(np.asarray(recipe.weight_prior, dtype=np.float64), (recipe.n_tags,))[tags[real]]
    owner = document[real]
    if recipe.model == "twda":
        owner = np.concatenate([owner, np.arange(size)])
        prior = np.concatenate([prior, np.full(size, recipe.latent_prior)])
    drawn = ragged_dirichlet(rng, prior, owner, size)

    weights = np.zeros(document.size)
    n_drawn = int(real.sum())
    weights[real] = np.maximum(drawn[:n_drawn], np.finfo(np.float64).tiny)  # exactly 0 is kept for noise
    latent_share = drawn[n_drawn:] if recipe.model == "twda" else np.zeros(size)
    matrix = csr_array((weights, tags, _offsets(n_all)), shape=(size, recipe.n_tags))
    matrix.sort_indices()
    return matrix, latent_share


def _draw_sizes(rng: np.random.Generator, size: Range, n: int) -> npt.NDArray[np.int64]:
    low, high = bounds(size)
    return rng.integers(low, high, size=n, endpoint=True)


def _offsets(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)])


def _stack(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else vstack(parts, format="csr")


def write_tagged_corpus(path: str | PathLike[str], recipe: Recipe) -> Truth:
    """Write the corpus that `make_tagged_corpus` would draw to a folder for `Corpus.open`, in bounded memory.

    Returns the topics and the tags' topic mixes; what is true of single documents is not kept.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tagtopic import Corpus
    >>> from tagtopic.datasets import Recipe, write_tagged_corpus
    >>> with TemporaryDirectory() as folder:
    ...     truth = write_tagged_corpus(f"{folder}/drawn", Recipe(n_documents=100, n_topics=3))
    ...     len(Corpus.open(f"{folder}/drawn")), truth.topic_words.shape
    (100, (3, 1000))
    """
    truth = draw_truth(recipe)
    with atomic_folder(Path(path), marker=storage.MARKER) as folder:
        with ExitStack() as files:
            growing = {
                name: files.enter_context(GrowingArray(folder / f"{name}.npy", kind, spill_at=0))
                for name, kind in storage.ARRAYS.items()
            }
            for name in ("counts.indptr", "tags.indptr", "ids.offsets"):
                growing[name].append(np.zeros(1, dtype=np.int64))
            n_documents = 0
            for block in draw_blocks(recipe, truth):
                _append(growing, block, first=n_documents)
                n_documents += len(block.latent_share)
            arrays = {name: array.finish() for name, array in growing.items()}
        corpus = _corpus(arrays, recipe)
        storage.write_names(folder, corpus.words, corpus.tag_names)
        storage.write_marker(folder, corpus)
    return truth


def _corpus(arrays: dict[str, Any], recipe: Recipe) -> Corpus:
    """The corpus over these arrays; its names are those that `Corpus.from_counts` gives."""
    words = tuple(f"word_{j}" for j in range(recipe.n_words))
    tag_names = tuple(f"tag_{j}" for j in range(recipe.n_tags))
    counts, tags = (
        matrices.csr(arrays[f"{name}.indptr"], arrays[f"{name}.indices"], arrays[f"{name}.data"], n)
        for name, n in (("counts", len(words)), ("tags", len(tag_names)))
    )
    ids = StringArray(arrays["ids.offsets"], arrays["ids.bytes"])
    return Corpus(counts=counts, tags=tags, words=words, tag_names=tag_names, ids=ids)


def _append(arrays: dict[str, GrowingArray], block: Block, *, first: int) -> None:
    """Add a block of documents, the first of which has the number `first`."""
    matrix: Any
    for name, matrix in (("counts", block.counts), ("tags", block.tags)):
        arrays[f"{name}.indptr"].append(matrix.indptr[1:].astype(np.int64) + len(arrays[f"{name}.indices"]))
        arrays[f"{name}.indices"].append(matrix.indices)
        arrays[f"{name}.data"].append(matrix.data)
    ids = StringArray.of(str(first + i) for i in range(len(block.latent_share)))
    arrays["ids.offsets"].append(ids.offsets[1:] + len(arrays["ids.bytes"]))
    arrays["ids.bytes"].append(ids.data)
