"""Evidence for a tag: the contributions of words, similar documents, other tags and its name, in log odds.

What a word contributes is measured by taking it out: the log odds of the tag with all words, less those without the
word. The same is done for each of the other tags of the document. What the tag's name contributes is what the features
of the name add to the log odds. The similar documents share what the features of the nearest neighbours add, by their
votes. Contributions overlap (a word is part of what makes documents similar), so that they do not add up to the log
odds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, offsets_of, read_only
from tagtopic._core.frames import Tabular
from tagtopic.tagging.features import EVIDENCE_FEATURES, FEATURES, N_FEATURES
from tagtopic.tagging.training_index import Queries, queries_from_counts

if TYPE_CHECKING:
    from tagtopic.tagging.predictor import TagPredictor

NAME_FEATURES = [EVIDENCE_FEATURES.index(name) for name in EVIDENCE_FEATURES if "name" in name]
NEIGHBOUR_FEATURES = [
    FEATURES.index(name)
    for name in (
        "log_knn_vote",
        "log_fourth_powers",
        "log_nearest",
        "relative_knn_vote",
        "logit_vote_share",
        "vote_share",
    )
]
NO_NEIGHBOUR = np.array([np.log(0.001), np.log(1e-5), np.log(0.02), 0.0, np.log(0.01 / 1.01), 0.0])
"""The neighbour features of a tag that no neighbour has."""


@dataclass(frozen=True)
class TagReasons:
    """Why a tag is, or is not, one of a document's.

    Attributes
    ----------
    tag : str
        The tag.
    log_odds : float
        Its log odds, before calibration.
    words : tuple of (str, float)
        The document's words with what each adds to the log odds, the largest first; negative ones speak against it.
    documents : tuple of (int, float)
        The most similar training documents with the tag, by their row in the training index, with what each adds.
    tags : tuple of (str, float)
        The document's other tags with what each adds; empty if they are not used.
    name : float
        What the words of the tag's name add where they occur in the document.

    Examples
    --------
    >>> from tagtopic.tagging import TagReasons
    >>> TagReasons("sea", 1.2, (("ship", 0.8),), ((3, 0.5),), (), 0.0).words[0][0]
    'ship'
    """

    tag: str
    log_odds: float
    words: tuple[tuple[str, float], ...]
    documents: tuple[tuple[int, float], ...]
    tags: tuple[tuple[str, float], ...]
    name: float

    def to_record(self) -> dict[str, Any]:
        """Return the reasons as values of JSON.

        Examples
        --------
        >>> TagReasons("sea", 1.2, (("ship", 0.8),), (), (), 0.0).to_record()["words"]
        [{'word': 'ship', 'log_odds': 0.8}]
        """

        def pairs(key: str, values: tuple[tuple[Any, float], ...]) -> list[dict[str, Any]]:
            return [{key: name, "log_odds": value} for name, value in values]

        return {
            "tag": self.tag,
            "log_odds": self.log_odds,
            "words": pairs("word", self.words),
            "documents": pairs("training_document", self.documents),
            "tags": pairs("tag", self.tags),
            "name": self.name,
        }

    def __str__(self) -> str:
        def listed(pairs: Any) -> str:
            return ", ".join(f"{name} {value:+.2f}" for name, value in pairs) or "none"

        lines = [f"{self.tag}: log odds {self.log_odds:+.2f}", f"  words: {listed(self.words)}"]
        lines += [f"  similar documents: {listed(self.documents)}"]
        lines += [f"  other tags: {listed(self.tags)}"] if self.tags else []
        lines += [f"  its name: {self.name:+.2f}"] if self.name else []
        return "\n".join(lines)


class Reasons(Tabular, list[TagReasons]):
    """The reasons for some tags of a document, what ``model.reasons`` returns.

    As a data frame, a row per piece of evidence with the columns tag, log_odds (of the tag), kind (word, document, tag
    or name), evidence (the word, the row of the similar document in the training index, the other tag, or the tag's
    name) and contribution (in log odds). A tag without any evidence has a row without kind.

    Parameters
    ----------
    iterable : iterable of TagReasons, default=()
        The reasons for each tag.

    Examples
    --------
    >>> from tagtopic.tagging import Reasons, TagReasons
    >>> reasons = Reasons([TagReasons("sea", 1.2, (("ship", 0.8),), ((3, 0.5),), (), 0.0)])
    >>> reasons.to_frame("arrow")["evidence"].to_pylist()
    ['ship', '3']
    """

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        for reason in self:
            name = ((reason.tag, reason.name),) if reason.name else ()
            groups = {"word": reason.words, "document": reason.documents, "tag": reason.tags, "name": name}
            found: list[tuple[Any, ...]] = [
                (kind, str(item), value) for kind, pairs in groups.items() for item, value in pairs
            ]
            for row in found or [(None, None, None)]:
                yield reason.tag, reason.log_odds, *row

    def _arrow_table(self, most: int | None = None) -> Any:
        import pyarrow as pa

        text, number = pa.string(), pa.float64()
        types = {"tag": text, "log_odds": number, "kind": text, "evidence": text, "contribution": number}
        columns = list(zip(*islice(self._rows(), most), strict=True)) or [()] * len(types)
        return pa.table({name: pa.array(c, kind) for (name, kind), c in zip(types.items(), columns, strict=True)})

    def __str__(self) -> str:
        return "\n".join(map(str, self))


def reasons_for(
    predictor: TagPredictor, counts: Any, tags: list[int], given: Any = None, training_row: int = -1, n: int = 5
) -> Reasons:
    """Return the reasons for some tags of one document.

    Parameters
    ----------
    predictor : TagPredictor
        The predictor.
    counts : CSR of shape (1, n_words)
        The document.
    tags : list of int
        The numbers of the tags.
    given : CSR of shape (1, n_tags) or None, default=None
        The tags that the document has; None predicts from the words alone.
    training_row : int, default=-1
        The row of the document in the training index, which is left out of it; -1 if it has none.
    n : int, default=5
        The number of words, documents and tags of each.

    Returns
    -------
    Reasons
    """
    whole = queries_from_counts(counts, 0, 1, predictor.idf_)
    whole = whole._replace(training_rows=read_only(np.array([training_row]), np.int64))
    variants = _without_each_word(whole, counts, predictor)
    log_odds = _log_odds(predictor, variants, tags, given)
    found = Reasons()
    for column, tag in enumerate(tags):
        changes = log_odds[0, column] - log_odds[1:, column]
        order = np.argsort(-changes, kind="stable")[:n]
        words = tuple((_word(predictor, int(whole.words[i])), float(changes[i])) for i in order if changes[i] != 0)
        asked = _asked([tag], 1, len(predictor.tag_names_))
        features = predictor._words.features(whole, asked, 1)[0]
        which = int(predictor._is_short(whole)[0])
        coefficients = predictor.coefficients_[which, predictor.index_.tag_kinds[tag]][:N_FEATURES]
        name = float(features[NAME_FEATURES] @ coefficients[NAME_FEATURES])
        near = float((features[NEIGHBOUR_FEATURES] - NO_NEIGHBOUR) @ coefficients[NEIGHBOUR_FEATURES])
        found.append(
            TagReasons(
                tag=predictor.tag_names_[tag],
                log_odds=float(log_odds[0, column]),
                words=words,
                documents=_documents(predictor, whole, tag, near, training_row, n),
                tags=_other_tags(predictor, whole, tag, given, n),
                name=name,
            )
        )
    return found


def _log_odds(predictor: TagPredictor, queries: Queries, tags: list[int], given: Any) -> Float64s:
    """Return the log odds of the tags for each query: (queries, tags)."""
    n_queries = len(queries.training_rows)
    order = np.argsort(tags, kind="stable")
    asked = _asked(sorted(tags), n_queries, len(predictor.tag_names_))
    if given is None:
        values = predictor._words.log_odds(queries, asked, predictor._is_short(queries), 1)
    else:
        own = sp.csr_array(sp.vstack([_without(given, tags)] * n_queries))
        _, values = predictor._completion_log_odds(queries, own, None, 1, asked)
    found = np.empty((n_queries, len(tags)))
    found[:, order] = values.reshape(n_queries, len(tags))
    return found


def _asked(tags: list[int], n_queries: int, n_tags: int) -> Any:
    starts = np.arange(n_queries + 1, dtype=np.int64) * len(tags)
    entries = np.tile(np.array(tags, np.int32), n_queries)
    return sp.csr_array((np.ones(len(entries), np.float32), entries, starts), shape=(n_queries, n_tags))


def _without(given: Any, tags: list[int]) -> Any:
    """Return the given tags without the ones that are asked about."""
    kept = ~np.isin(given.indices, tags)
    indices = given.indices[kept]
    starts = np.array([0, len(indices)])
    return sp.csr_array((np.ones(len(indices), np.float32), indices, starts), shape=given.shape)


def _without_each_word(whole: Queries, counts: Any, predictor: TagPredictor) -> Queries:
    """Return the query, followed by one without each of its words; all leave the whole document out of the index."""
    n_words = len(whole.words)
    entries = np.arange(n_words)
    rows = [entries, *(np.delete(entries, word) for word in range(n_words))]
    sizes = np.array([len(row) for row in rows], np.int64)
    chosen = np.concatenate(rows)
    data = counts.data[chosen]
    fewer = sp.csr_array((data, counts.indices[chosen], offsets_of(sizes)), shape=(len(rows), counts.shape[1]))
    queries = queries_from_counts(fewer, 0, len(rows), predictor.idf_)
    itself = np.full(len(rows), whole.training_rows[0])
    return queries._replace(
        training_rows=read_only(itself, np.int64), full_queries=read_only(np.zeros(len(rows)), np.int64)
    )


def _documents(
    predictor: TagPredictor, whole: Queries, tag: int, total: float, training_row: int, n: int
) -> tuple[tuple[int, float], ...]:
    """Return the most similar documents with the tag, sharing ``total`` by their votes."""
    index = predictor.index_
    rows = index.tag_documents[index.tag_document_starts[tag] : index.tag_document_starts[tag + 1]]
    rows = rows[rows != training_row]
    vector = np.zeros(predictor.n_features_in_, np.float32)
    vector[whole.words] = whole.weights
    votes = (predictor._indexed.documents[rows] @ vector) ** 2
    order = np.argsort(-votes, kind="stable")[:n]
    share = votes / max(float(votes[order].sum()), 1e-12)
    return tuple((int(rows[i]), float(total * share[i])) for i in order if votes[i] > 0)


def _other_tags(predictor: TagPredictor, whole: Queries, tag: int, given: Any, n: int) -> tuple[tuple[str, float], ...]:
    """Return what each of the other tags adds, by taking it out."""
    if given is None:
        return ()
    own = _without(given, [tag]).indices
    rows = [own, *(np.delete(own, i) for i in range(len(own)))]
    sizes = np.array([len(row) for row in rows], np.int64)
    entries = np.concatenate(rows).astype(np.int32)
    ones = np.ones(len(entries), np.float32)
    fewer = sp.csr_array((ones, entries, offsets_of(sizes)), shape=(len(rows), given.shape[1]))
    queries = Queries(
        read_only(np.arange(len(rows) + 1) * len(whole.words), np.int64),
        read_only(np.tile(whole.words, len(rows)), np.int32),
        read_only(np.tile(whole.weights, len(rows)), np.float32),
        read_only(np.full(len(rows), whole.training_rows[0]), np.int64),
        read_only(np.arange(len(rows)), np.int64),
    )
    asked = _asked([tag], len(rows), given.shape[1])
    _, log_odds = predictor._completion_log_odds(queries, fewer, None, 1, asked)
    changes = log_odds[0] - log_odds[1:]
    order = np.argsort(-np.abs(changes), kind="stable")[:n]
    return tuple((predictor.tag_names_[own[i]], float(changes[i])) for i in order)


def _word(predictor: TagPredictor, word: int) -> str:
    return str(word) if predictor.words_ is None else predictor.words_[word]
