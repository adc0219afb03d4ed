"""The kind of a tag: what stands before its first colon."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def kind_of(tag: str) -> str:
    """`author` of `author:Ada`; "" of a tag without a colon."""
    kind, colon, _ = tag.partition(":")
    return kind if colon else ""


def kinds_of(tag_names: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The kinds that there are, sorted, and the number of each tag's kind."""
    kinds, numbers = np.unique(np.array([*map(kind_of, tag_names)], dtype=np.object_), return_inverse=True)
    return tuple(kinds.tolist()), numbers.astype(np.int32)
