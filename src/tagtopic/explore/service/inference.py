"""Inference for the API: many texts at once, on one model, from any thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic.corpus import Corpus
from tagtopic.models.posterior import largest

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer

Record = dict[str, Any]


@dataclass(frozen=True)
class TextAndTags:
    """A document as the API takes it."""

    text: str
    tags: Sequence[str]


def require_texts(explorer: Explorer) -> None:
    """Raise unless it does."""
    if not explorer.reads_texts:
        raise ValueError("the model cannot read texts: it was trained on counts, or with a tokenizer of its own")


def infer_documents(explorer: Explorer, documents: Sequence[TextAndTags]) -> list[Record]:
    """Topics and tag weights of each document, as JSON records (``schemas.Inferred``)."""
    known = [[tag for tag in document.tags if tag in explorer.tag_numbers] for document in documents]
    corpus = _corpus(explorer, documents, known)
    found = explorer.infer(corpus)
    starts, names = corpus.tags.indptr.tolist(), corpus.tag_names
    lengths = np.asarray(corpus.lengths()).astype(int).tolist()
    records = []
    for i, (topics, latent) in enumerate(zip(found.topics.tolist(), found.latent.tolist(), strict=True)):
        part = slice(starts[i], starts[i + 1])
        own = [names[j] for j in corpus.tags.indices[part]]
        ranked = largest(found.weights.data[part], own, len(own))
        records.append(
            {
                "topics": topics,
                "tags": [{"tag": tag, "weight": weight} for tag, weight in ranked],
                "no_tag": latent,
                "known_words": lengths[i],
                "unknown_tags": [tag for tag in documents[i].tags if tag not in explorer.tag_numbers],
            }
        )
    return records


def predict_tags(
    explorer: Explorer, documents: Sequence[TextAndTags], n: int, method: str, kinds: Sequence[str] | None
) -> list[Record]:
    """The most probable tags of each document (``schemas.Predicted``); tags that they carry are not looked at."""
    corpus = _corpus(explorer, documents, [[] for _ in documents])
    answers = explorer.model.predict_tags(corpus, n, method=method, kinds=kinds)
    return [{"tags": [{"tag": tag, "probability": value} for tag, value in answer]} for answer in answers]


def _corpus(explorer: Explorer, documents: Sequence[TextAndTags], tags: list[list[str]]) -> Corpus:
    model = explorer.model
    texts = [document.text for document in documents]
    return model.aligned(Corpus.from_texts(texts, tags, words=model.words_, rules=model.rules_, n_jobs=1))
