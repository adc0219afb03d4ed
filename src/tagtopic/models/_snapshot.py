"""A model as it stood after some iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s
from tagtopic.inference.types import Behind, Parameters, Priors

PARAMETERS = ("psi", "theta", "pi", "mu")
PRIORS = ("alpha", "beta")
SIZES = ("topic_sizes", "tag_sizes")
BEHIND = ("topics_behind", "tags_behind")

Shapes = dict[str, tuple[int, ...]]
"""Of arrays, by their names."""


@dataclass(frozen=True)
class Standing:
    """Parameters, priors, and the words of each topic and each tag that they were made from."""

    parameters: Parameters
    priors: Priors
    topic_sizes: Float64s
    tag_sizes: Float64s

    def to_arrays(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        """Everything as arrays, by names that begin with ``prefix``."""
        parameters = self.parameters
        arrays = {name: getattr(parameters, name) for name in PARAMETERS}
        arrays |= {name: getattr(self.priors, name) for name in PRIORS}
        arrays |= {name: getattr(self, name) for name in SIZES}
        if parameters.behind is not None:
            arrays |= {"topics_behind": parameters.behind.topics, "tags_behind": parameters.behind.tags}
        arrays["latent"] = np.array([parameters.pi_latent, float(parameters.latent)])
        return {prefix + name: array for name, array in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], prefix: str = "") -> Standing:
        """The same from what ``to_arrays`` gave."""
        psi, theta, pi, mu = (arrays[prefix + name] for name in PARAMETERS)
        pi_latent, latent = arrays[f"{prefix}latent"]
        priors = Priors(*(arrays[prefix + name] for name in PRIORS))
        behind = None
        if f"{prefix}topics_behind" in arrays:
            behind = Behind(arrays[f"{prefix}topics_behind"], arrays[f"{prefix}tags_behind"], priors.beta)
        return cls(
            Parameters(psi, theta, pi, float(pi_latent), mu, bool(latent), behind),
            priors,
            *(arrays[prefix + name] for name in SIZES),
        )


def standing_shapes(words: int, tags: int, topics: int) -> Shapes:
    """The shapes of what ``to_arrays`` gives, of a model with so many words, tags and topics."""
    by_topic = dict.fromkeys(("mu", "alpha", "topic_sizes", "topics_behind"), (topics,))
    by_tag = dict.fromkeys(("pi", "tag_sizes", "tags_behind"), (tags,))
    return {"psi": (words, topics), "theta": (tags, topics), "beta": (words,), "latent": (2,), **by_topic, **by_tag}
