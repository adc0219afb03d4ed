"""What a planted corpus is drawn from: its sizes and priors, checked at the door."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
import numpy.typing as npt

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
