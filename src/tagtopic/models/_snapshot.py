"""The learnt arrays and numbers of a model, listed once, and snapshots of a model between iterations.

From ``SCHEMA`` derive the snapshot, the arrays of a checkpoint and of a model file, the checks of their shapes, the
learnt attributes of an estimator, and how ``partial_fit`` extends them by new words and tags.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Floats
from tagtopic.inference.types import CountTotals, Parameters, Priors

TOPICS, WORDS, TAGS, ITERATIONS, DRAWS, PAIRS = "topics", "words", "tags", "iterations", "draws", "pairs"

MODEL_DTYPE = "float32 or float64"
"""The dtype that the setting ``dtype`` asks for."""

Sizes = dict[str, int]
"""The length of each axis."""

Shapes = dict[str, tuple[int, ...]]
"""The shape of each array, by name."""


@dataclass(frozen=True)
class Learnt:
    """A learnt array, or a number if it has no axes.

    Parameters
    ----------
    attribute : str or None
        The estimator's attribute; None for an array that only a fit under way needs.
    axes : tuple of str
        The attribute's axes, or the snapshot's if there is no attribute.
    dtype : str
        The dtype of the attribute.
    symbol : str or None
        The name in snapshots and checkpoints; None if it is not part of them.
    path : str
        Where a ``Snapshot`` has it.
    tensor : str or None
        The name in the model file; None for the attribute's own.
    transposed : bool
        Whether snapshots, checkpoints and the model file hold the transpose: psi is (words, topics), so that a word's
        row is contiguous.
    optional : bool
        Whether model files of earlier versions are without it.
    batch_only : bool
        Whether only batch fits have it in their snapshots.
    """

    attribute: str | None
    axes: tuple[str, ...]
    dtype: str = "float64"
    symbol: str | None = None
    path: str = ""
    tensor: str | None = None
    transposed: bool = False
    optional: bool = False
    batch_only: bool = False

    @property
    def tensor_name(self) -> str:
        """The name in the model file."""
        return self.tensor or self.attribute or ""

    def stored(self, array: NDArray[Any]) -> NDArray[Any]:
        """The attribute as it is stored, and the other way round."""
        return array.swapaxes(-1, -2) if self.transposed and array.ndim > 1 else array

    @property
    def stored_axes(self) -> tuple[str, ...]:
        """The axes in snapshots, checkpoints and the model file."""
        return (*self.axes[:-2], self.axes[-1], self.axes[-2]) if self.transposed else self.axes


SCHEMA = (
    Learnt("components_", (TOPICS, WORDS), MODEL_DTYPE, "psi", "parameters.psi", "topic_words", transposed=True),
    Learnt("tag_topics_", (TAGS, TOPICS), MODEL_DTYPE, "theta", "parameters.theta"),
    Learnt("tag_weight_prior_", (TAGS,), symbol="pi", path="parameters.pi"),
    Learnt("latent_weight_prior_", (), "float", path="parameters.pi_latent"),
    Learnt("latent_topic_prior_", (TOPICS,), symbol="mu", path="parameters.mu"),
    Learnt("tag_topic_prior_", (TOPICS,), symbol="alpha", path="priors.alpha"),
    Learnt("topic_word_prior_", (WORDS,), symbol="beta", path="priors.beta"),
    Learnt("tag_sizes_", (TAGS,), symbol="tag_sizes", path="tag_sizes", optional=True),
    # what only a fit under way needs
    Learnt(None, (TOPICS,), symbol="topic_sizes", path="topic_sizes"),
    Learnt(None, (TOPICS,), symbol="topic_totals", path="parameters.totals.topics", batch_only=True),
    Learnt(None, (TAGS,), symbol="tag_totals", path="parameters.totals.tags", batch_only=True),
    # kept draws of a sampler
    Learnt("topic_word_draws_", (DRAWS, TOPICS, WORDS), MODEL_DTYPE, path="draws.psi", transposed=True, optional=True),
    Learnt("tag_topic_draws_", (DRAWS, TAGS, TOPICS), MODEL_DTYPE, path="draws.theta", optional=True),
    # words of tags' own: pairs of a tag and a word
    Learnt("own_word_tags_", (PAIRS,), "int32", path="own_words.tags", optional=True),
    Learnt("own_word_words_", (PAIRS,), "int32", path="own_words.words", optional=True),
    Learnt("own_word_shares_", (PAIRS,), MODEL_DTYPE, path="own_words.omega", optional=True),
    Learnt("own_word_draws_", (DRAWS, PAIRS), MODEL_DTYPE, path="draws.omega", optional=True),
    # a sampler has them from its assignments; other fits infer them afterwards
    Learnt("tag_document_topics_", (TAGS, TOPICS), MODEL_DTYPE, path="tag_document_topics", optional=True),
    # from the corpus, the topics' sizes and the history of the fit
    Learnt("word_counts_", (WORDS,)),
    Learnt("tag_frequencies_", (TAGS,)),
    Learnt("topic_shares_", (TOPICS,)),
    Learnt("bound_", (ITERATIONS,)),
    Learnt("validation_perplexity_", (ITERATIONS,), optional=True),
    Learnt("n_iter_", (), "int"),
    Learnt("converged_", (), "bool"),
    Learnt("interrupted_", (), "bool"),
    Learnt("n_features_in_", (), "int"),
    Learnt("n_documents_", (), "int", optional=True),
)

IN_SNAPSHOTS = {learnt.symbol: learnt for learnt in SCHEMA if learnt.symbol}
"""What snapshots and checkpoints hold, by symbol."""

ARRAYS = {learnt.attribute: learnt for learnt in SCHEMA if learnt.attribute and learnt.axes}
"""The arrays of a fitted model and of its file, by attribute."""

NUMBERS = {learnt.attribute: learnt for learnt in SCHEMA if learnt.attribute and not learnt.axes}
"""The numbers of a fitted model and of its file, by attribute."""

LATENT = "latent"
"""An array of two numbers in a checkpoint: the latent tag's weight prior, and whether there is a latent tag."""


class Draws(NamedTuple):
    """Draws of psi (draws, words, topics), theta (draws, tags, topics) and omega (draws, pairs) from the posterior.

    Without draws they are empty arrays.
    """

    psi: Floats
    theta: Floats
    omega: Floats


NO_DRAWS = Draws(np.empty(0), np.empty(0), np.empty(0))


class OwnWordPairs(NamedTuple):
    """Words of tags' own: the tag, the word and omega of each pair; without any they are empty arrays."""

    tags: NDArray[Any]
    words: NDArray[Any]
    omega: Floats


NO_OWN_WORDS = OwnWordPairs(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))


@dataclass(frozen=True)
class Snapshot:
    """A model after some iteration: parameters, priors, and the expected tokens of each topic and tag behind them.

    ``tag_document_topics`` are the mean topic proportions of each tag's documents, or empty.
    """

    parameters: Parameters
    priors: Priors
    topic_sizes: Float64s
    tag_sizes: Float64s
    draws: Draws = NO_DRAWS
    own_words: OwnWordPairs = NO_OWN_WORDS
    tag_document_topics: Floats = field(default_factory=lambda: np.empty(0))

    def to_arrays(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        """All as arrays, with ``prefix`` before their names."""
        has_totals = self.parameters.totals is not None
        arrays = {
            name: attrgetter(learnt.path)(self)
            for name, learnt in IN_SNAPSHOTS.items()
            if has_totals or not learnt.batch_only
        }
        arrays[LATENT] = np.array([self.parameters.pi_latent, float(self.parameters.latent)])
        return {prefix + name: array for name, array in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], prefix: str = "") -> Snapshot:
        """The inverse of ``to_arrays``."""
        parts: dict[str, dict[str, Any]] = defaultdict(dict)
        for name, learnt in IN_SNAPSHOTS.items():
            if prefix + name in arrays:
                part, _, field = learnt.path.rpartition(".")
                parts[part][field] = arrays[prefix + name]
        priors = Priors(**parts["priors"])
        totals = (
            CountTotals(**parts["parameters.totals"], word_prior=priors.beta) if parts["parameters.totals"] else None
        )
        pi_latent, latent = arrays[prefix + LATENT]
        parameters = Parameters(**parts["parameters"], pi_latent=float(pi_latent), latent=bool(latent), totals=totals)
        return cls(parameters, priors, **parts[""])

    def attributes(self) -> dict[str, Any]:
        """The estimator's attributes that it holds."""
        held = {learnt.attribute: learnt for learnt in SCHEMA if learnt.attribute and learnt.path}
        values = {name: attrgetter(learnt.path)(self) for name, learnt in held.items()}
        return {name: held[name].stored(value) for name, value in values.items()}


def snapshot_shapes(sizes: Sizes) -> Shapes:
    """The shapes of what ``Snapshot.to_arrays`` gives, for a model of these sizes."""
    shapes = {name: tuple(sizes[axis] for axis in learnt.stored_axes) for name, learnt in IN_SNAPSHOTS.items()}
    return {**shapes, LATENT: (2,)}


def check_shapes(model: Any) -> None:
    """Raise unless the shapes of a model's learnt arrays fit together."""
    sizes = {TOPICS: len(model.components_), WORDS: len(model.words_), TAGS: len(model.tag_names_)}
    sizes[DRAWS], sizes[PAIRS] = len(model.tag_topic_draws_), len(model.own_word_tags_)
    for name, learnt in ARRAYS.items():
        found = getattr(model, name).shape
        if ITERATIONS in learnt.axes or (learnt.optional and found == (0,)):  # empty: a file of an earlier version
            continue
        expected = tuple(sizes[axis] for axis in learnt.axes)
        if found != expected:
            raise ValueError(f"its {name} has the shape {found} instead of {expected}")


def extended(attribute: str, values: Float64s, sizes: Sizes, *, fill: float = 0.0) -> Float64s:
    """The values of a learnt array with ``fill`` for the words and tags that are new, which come last."""
    axes = ARRAYS[attribute].axes
    widths = [(0, sizes.get(axis, length) - length) for axis, length in zip(axes, values.shape, strict=True)]
    return np.pad(values, widths, constant_values=fill)
