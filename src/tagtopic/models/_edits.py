"""Topics as decided: names, hidden and merged topics, banned words, without another fit.

An edited model keeps the arrays as fitted. Documents are inferred under all fitted topics, and the proportions of
merged topics are added up afterwards, so that those of tags and documents are exactly the sums; a model with fewer
topics would infer other proportions. The public arrays (``components_``, ``tag_topics_``, …) are those of the merged
topics.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Floats, Int64s
from tagtopic._core.display import warn
from tagtopic.curation.decisions import Decisions, TopicKey, TopicReference
from tagtopic.curation.matching import TopicMatch, match_topics, similarity_of_references
from tagtopic.models._snapshot import ARRAYS, TOPICS

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel

    Model = TypeVar("Model", bound=TagTopicModel)

REFERENCE_WORDS = 50
"""Words by which a ledger identifies a topic in other models."""

DIGEST_BYTES = 8

GIVEN_TOPIC = ("components_", "topic_word_draws_")
"""Probabilities given a topic: of merged topics their average, weighted by the topics' shares; others are added."""


@dataclass(frozen=True)
class TopicEdits:
    """The edits of a model's topics.

    Parameters
    ----------
    groups : tuple of int
        For each fitted topic, the number of the topic that it is part of.
    names : tuple of str
        The name of each topic, "" without one.
    hidden : tuple of int
        The topics that are not listed.
    banned : tuple of str
        The words that no topic has.
    sources : tuple of tuples
        For each fitted topic, the keys by which ledgers refer to it, if it is the counterpart of an earlier model's.
    """

    groups: tuple[int, ...]
    names: tuple[str, ...]
    hidden: tuple[int, ...] = ()
    banned: tuple[str, ...] = ()
    sources: tuple[tuple[TopicKey, ...], ...] = ()

    @classmethod
    def none(cls, n_topics: int) -> TopicEdits:
        """Return the edits of a model that has none."""
        return cls(tuple(range(n_topics)), ("",) * n_topics, sources=((),) * n_topics)

    def to_json(self) -> dict[str, Any]:
        """Return the edits as JSON can hold them."""
        return {
            "groups": list(self.groups),
            "names": list(self.names),
            "hidden": list(self.hidden),
            "banned": list(self.banned),
            "sources": [[list(key) for key in keys] for keys in self.sources],
        }

    @classmethod
    def from_json(cls, record: Any, n_topics: int) -> TopicEdits:
        """Return the edits that ``to_json`` wrote; raise ValueError if they do not fit a model of ``n_topics``."""
        if not isinstance(record, dict) or set(record) != {"groups", "names", "hidden", "banned", "sources"}:
            raise ValueError("its topic edits are incomplete")
        if not all(isinstance(value, list) for value in record.values()):
            raise ValueError("its topic edits are not lists")
        groups, names, hidden = record["groups"], record["names"], record["hidden"]
        if not all(isinstance(text, str) for text in (*names, *record["banned"])):
            raise ValueError("the names of its topics are not texts")
        if not all(type(number) is int for number in (*groups, *hidden)):
            raise ValueError("the numbers of its merged or hidden topics are not whole numbers")
        if len(groups) != n_topics or set(groups) != set(range(len(names))) or not set(hidden) <= set(groups):
            raise ValueError("its merged, named or hidden topics do not fit its topics")
        sources = tuple(tuple(_topic_key(key) for key in keys) for keys in record["sources"])
        if len(sources) != n_topics:
            raise ValueError("the sources of its topics do not fit its topics")
        return cls(tuple(groups), tuple(names), tuple(sorted(set(hidden))), tuple(record["banned"]), sources)

    @property
    def members(self) -> list[list[int]]:
        """The fitted topics of each topic."""
        found: list[list[int]] = [[] for _ in self.names]
        for topic, group in enumerate(self.groups):
            found[group].append(topic)
        return found


def _topic_key(value: Any) -> TopicKey:
    if not isinstance(value, list) or len(value) != 2 or type(value[0]) is not str or type(value[1]) is not int:
        raise ValueError("the sources of its topics are not pairs of a text and a number")
    return value[0], value[1]


def topics_digest(topics: Floats, words: Sequence[str]) -> str:
    """Return a digest of fitted topics (topics, words), which identifies them in a ledger."""
    digest = hashlib.blake2b("\0".join(words).encode(), digest_size=DIGEST_BYTES)
    digest.update(np.ascontiguousarray(topics.T).data)
    return digest.hexdigest()


def topic_reference(model: TagTopicModel, topic: int) -> TopicReference:
    """Return what a decision about a topic refers to: the first of its fitted topics."""
    edits = model._edits
    fitted = edits.members[topic][0] if edits else topic
    keys = edits.sources[fitted] if edits else ()
    digest, number = keys[0] if keys else (model._digest, fitted)
    shares = np.asarray(model._fitted_array("components_")[fitted], np.float64)
    best = np.argsort(-shares, kind="stable")[:REFERENCE_WORDS]
    return TopicReference(digest, number, {model.words_[word]: float(f"{shares[word]:.4g}") for word in best})


def merge_topics(
    values: NDArray[Any], groups: Sequence[int], axis: int = -1, weights: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Add up the slices of merged topics, in the order of the fitted topics; of all others there are copies.

    With ``weights`` the slices of merged topics are multiplied by them first.
    """
    n_groups = max(groups) + 1
    if n_groups == len(groups):
        return values
    by_topic = np.moveaxis(values, axis, -1)  # in the layout of the model's arrays: topics last
    sizes, first = np.bincount(groups), np.unique(groups, return_index=True)[1]
    merged = by_topic[..., first]
    for group in np.flatnonzero(sizes > 1):
        members = np.flatnonzero(np.asarray(groups) == group)
        parts = (by_topic[..., topic] * (1 if weights is None else weights[topic]) for topic in members)
        merged[..., group] = reduce(np.add, parts)
    return np.moveaxis(merged, -1, axis)


def apply_edits(model: TagTopicModel, edits: TopicEdits) -> None:
    """Set the public arrays of a model, which has none applied, to those of its edited topics."""
    model._edits = edits
    banned = _banned_columns(model, edits)
    topic_arrays = [name for name, learnt in ARRAYS.items() if TOPICS in learnt.axes]
    own_arrays = ["own_word_shares_", "own_word_draws_"]
    fitted = {name: getattr(model, name) for name in [*topic_arrays, *own_arrays, "word_counts_"]}
    model._fitted = fitted
    model._inferred_with = dict(fitted)
    if banned.any():
        for name in GIVEN_TOPIC:
            model._inferred_with[name] = _without_words(fitted[name], banned, fitted["word_counts_"])
        model.word_counts_ = np.where(banned, 0.0, fitted["word_counts_"])
        for name in own_arrays:
            values = fitted[name]
            kept = np.where(banned[model.own_word_words_], 0, values) if values.size else values
            model._inferred_with[name] = kept.astype(values.dtype)
            setattr(model, name, model._inferred_with[name])
    shares = fitted["topic_shares_"]
    totals = merge_topics(shares, edits.groups)
    for name in topic_arrays:
        values = model._inferred_with[name]
        if not values.size or len(totals) == len(shares):
            setattr(model, name, values)
            continue
        weights = _weights_in_group(shares, totals, edits).astype(values.dtype) if name in GIVEN_TOPIC else None
        setattr(model, name, merge_topics(values, edits.groups, ARRAYS[name].axes.index(TOPICS), weights))


def _weights_in_group(shares: Any, totals: Any, edits: TopicEdits) -> Any:
    """The share of each fitted topic in the topic that it is part of; equal ones if none has any words."""
    groups = np.array(edits.groups)
    sizes = np.bincount(groups)[groups]
    return np.where(totals[groups] > 0, shares / np.maximum(totals[groups], 1e-300), 1.0 / sizes)


def _banned_columns(model: TagTopicModel, edits: TopicEdits) -> NDArray[np.bool_]:
    words = set(edits.banned)
    banned = np.array([word in words for word in model.words_] if words else np.zeros(len(model.words_)), np.bool_)
    if banned.any() and not (model.word_counts_[~banned] > 0).any():
        raise ValueError(f"all {len(model.words_):,} words of the model are banned: no topic would have any")
    return banned


def _without_words(topics: Floats, banned: NDArray[np.bool_], counts: Any) -> Floats:
    """Topics (…, words) given that a word is none of the banned ones, in the memory layout of the model's."""
    if not topics.size:
        return topics
    stored = np.array(topics.swapaxes(-1, -2), order="C")  # words before topics
    stored[..., banned, :] = 0
    totals = stored.sum(axis=-2, keepdims=True)
    stored /= np.where(totals > 0, totals, 1)
    if not totals.all():  # a topic of banned words only has the frequencies of the others
        rest = np.where(banned, 0.0, counts)
        stored = np.where(totals > 0, stored, (rest / rest.sum())[:, None]).astype(topics.dtype)
    return stored.swapaxes(-1, -2)


def restore_fitted(model: TagTopicModel) -> None:
    """Undo ``apply_edits``: set the public arrays to those of the fitted topics."""
    for name, values in (model._fitted or {}).items():
        setattr(model, name, values)
    model._edits = model._fitted = model._inferred_with = None


def edited_model(model: Model, decisions: Decisions) -> Model:
    """Return a copy of a model with its topics as decided; warn of topics whose counterpart is doubtful."""
    made = copy.copy(model)
    before = model._edits or TopicEdits.none(len(model.components_))
    restore_fitted(made)
    matches, doubtful = find_topics(model, decisions)
    if doubtful:
        labels = {decisions.label_of(key): match for key, match in doubtful.items()}
        warn(describe_doubtful(labels, len(decisions.topics)))
    found = {key: match.topic for key, match in matches.items()}
    merges = [[found[key] for key in group if key in found] for group in decisions.topic_groups]
    groups = _join(merges, len(before.groups))
    apply_edits(made, _edits_of(before, groups, found, decisions))
    return made


def find_topics(
    model: TagTopicModel, decisions: Decisions, unclear: Set[TopicKey] = frozenset()
) -> tuple[dict[TopicKey, TopicMatch], dict[TopicKey, TopicMatch]]:
    """Return the fitted topics that decided topics are, and the matches of those whose counterpart is doubtful.

    Topics in ``unclear`` are known to be doubtful.
    """
    edits, n_topics = model._edits, len(model._fitted_array("components_"))
    known = {key: topic for topic, keys in enumerate(edits.sources if edits else ()) for key in keys}
    found: dict[TopicKey, TopicMatch] = {}
    others: dict[str, list[TopicReference]] = {}
    for key, reference in decisions.topics.items():
        if key in known:
            found[key] = TopicMatch(known[key], 1.0, 0.0)
        elif reference.model == model._digest and reference.number < n_topics:
            found[key] = TopicMatch(reference.number, 1.0, 0.0)
        else:
            others.setdefault(reference.model, []).append(reference)
    doubtful: dict[TopicKey, TopicMatch] = {}
    for references in others.values():  # topics of one model are different ones, those of two may be the same
        topics, counts = model._fitted_array("components_"), model._fitted_array("word_counts_")
        similarity = similarity_of_references(references, topics, model.words_, counts / counts.sum())
        for reference, match in zip(references, match_topics(similarity), strict=True):
            is_clear = match.is_clear and reference.key not in unclear
            (found if is_clear else doubtful)[reference.key] = match
    return found, doubtful


def describe_doubtful(doubtful: Mapping[str, TopicMatch], n_topics: int) -> str:
    """Return the text of a warning about topics, by label, whose counterparts are doubtful."""
    shown = []
    for label, match in list(doubtful.items())[:5]:
        best = f"topic {match.topic} has similarity {match.similarity:.2f}" if match.topic >= 0 else "no topic is left"
        shown.append(f"{label}: {best}, another pair {match.runner_up:.2f}")
    more = f"; and {len(doubtful) - 5} more" if len(doubtful) > 5 else ""
    return (
        f"decisions about {len(doubtful)} of {n_topics} topics are left out, because their counterparts in this model "
        f"are doubtful: {'; '.join(shown)}{more}"
    )


def _join(merges: Sequence[Sequence[int]], n_topics: int) -> tuple[int, ...]:
    """The number of each fitted topic's group; groups are numbered by their first topic."""
    first = list(range(n_topics))
    for merge in merges:
        joined = {first[topic] for topic in merge}
        first = [min(joined) if group in joined else group for group in first]
    numbers = {group: number for number, group in enumerate(sorted(set(first)))}
    return tuple(numbers[group] for group in first)


def _edits_of(
    before: TopicEdits, groups: tuple[int, ...], found: dict[TopicKey, int], decisions: Decisions
) -> TopicEdits:
    """Earlier names and hidden topics stay unless decided otherwise; merges and banned words are those decided."""
    members = before.members
    names = {members[topic][0]: name for topic, name in enumerate(before.names) if name}
    hidden = {fitted: True for topic in before.hidden for fitted in members[topic]}
    for key, name in decisions.topic_names.items():
        if key in found:
            names.pop(found[key], None)
            names[found[key]] = name  # last, so that of merged topics the last name holds
    hidden.update({found[key]: value for key, value in decisions.hidden_topics.items() if key in found})
    n_groups = max(groups) + 1
    group_names = [""] * n_groups
    for fitted, name in names.items():
        group_names[groups[fitted]] = name or group_names[groups[fitted]]
    shown = {group for fitted, group in enumerate(groups) if not hidden.get(fitted)}
    return replace(
        before,
        groups=groups,
        names=tuple(group_names),
        hidden=tuple(group for group in range(n_groups) if group not in shown),
        banned=decisions.banned_words,
    )


def group_array(model: TagTopicModel) -> Int64s:
    """For each fitted topic, the number of the topic that it is part of."""
    edits = model._edits
    return np.array(edits.groups if edits else range(len(model.components_)), np.int64)
