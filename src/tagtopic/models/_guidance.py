"""What a fit takes over from an earlier model and from a ledger: initial topics, seeded topics, and names.

A fit that starts from an earlier model, or from the named topics of a ledger, keeps their numbers. Seeded topics start
from the documents with the seed's words, and each of these words has as many prior counts in its topic as the most
frequent of them has occurrences, so that the topic stays about them. After the fit, names go to the counterparts of
their topics, if those are clear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats, Int64s
from tagtopic._core.display import warn
from tagtopic.corpus.interface import CorpusLike
from tagtopic.curation.decisions import Decisions, TopicKey, TopicReference
from tagtopic.curation.matching import TopicMatch, match_topics, similarity_of_topics
from tagtopic.models._edits import TopicEdits, apply_edits, describe_doubtful, find_topics, topics_digest
from tagtopic.models._init import MAX_DOCUMENTS, UNIGRAM_SHARE

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel

SEED_SHARE = 0.5
"""The share of the seed's own words in its initial topic; the rest are the words of documents that have them."""

SEED_STRENGTH = 1.0
"""Prior counts of each word of a seeded topic, relative to the occurrences of the most frequent of them."""


@dataclass(frozen=True)
class SeedCounts:
    """Prior counts of the words of seeded topics.

    Parameters
    ----------
    words, topics : ndarray of int
        Pairs of a word's column and a topic.
    counts : ndarray of float
        The counts of each pair.
    """

    words: Int64s
    topics: Int64s
    counts: Float64s

    def add_to(self, values: Any) -> None:
        """Add the counts to those of words in topics (words, topics)."""
        values[self.words, self.topics] += self.counts.astype(values.dtype)

    def sizes(self, n_topics: int) -> Float64s:
        """Return the counts of each topic."""
        return np.bincount(self.topics, self.counts, n_topics).astype(np.float64)


def check_start(model: TagTopicModel) -> None:
    """Raise if a fit cannot start from the given initial model, or cannot have seeded topics."""
    initial: Any = model.initial
    if initial is not None and not (hasattr(initial, "components_") and hasattr(initial, "topic_names_")):
        raise ValueError(f"initial={initial!r:.60}: expected a fitted TWDA, TWTM or LDA")
    if model._seeds and model.learning != "batch":
        raise ValueError('topics can be seeded with learning="batch" only: online updates would forget the seeds')
    if model._seeds:
        seed_columns(model)


def seed_counts(model: TagTopicModel, corpus: CorpusLike) -> SeedCounts | None:
    """Return the prior counts of seeded topics; None without any."""
    seeds = model._seeds
    if not seeds:
        return None
    columns, occurrences = seed_columns(model), corpus.word_counts()
    numbers = _known_words(seeds, corpus.words)
    rows = [
        (word, columns[name], max(1.0, round(SEED_STRENGTH * float(occurrences[words].max()))))
        for name, words in numbers.items()
        for word in words
    ]
    words, topics, counts = (np.array(values) for values in zip(*rows, strict=True))
    return SeedCounts(words, topics, counts)


def _known_words(seeds: Mapping[str, Sequence[str]], words: Sequence[str]) -> dict[str, list[int]]:
    """The columns of each seed's words that are in the vocabulary."""
    column = {word: number for number, word in enumerate(words)}
    found = {name: [column[word] for word in given if word in column] for name, given in seeds.items()}
    for name, known in found.items():
        if not known:
            raise ValueError(
                f"the topic {name!r} cannot be seeded: none of its words ({', '.join(seeds[name][:5])}) is in the "
                "vocabulary of the documents"
            )
    return found


def kept_topics(model: TagTopicModel) -> list[int]:
    """Return the topics of ``initial`` with which a fit starts: all, or named ones and the largest if it has fewer."""
    initial = model.initial
    if initial is None:
        return []
    n_old = len(initial.components_)
    if n_old <= model.n_topics:
        return list(range(n_old))
    order = sorted(range(n_old), key=lambda k: (not initial.topic_names_[k], -initial.topic_shares_[k]))
    return sorted(order[: model.n_topics])


def named_columns(model: TagTopicModel) -> dict[int, TopicReference]:
    """Return the topics that a ledger names, by the numbers with which a fit starts: their own ones where possible."""
    columns: dict[int, TopicReference] = {}
    free = set(range(model.n_topics))
    for reference in model._named.values() if model.initial is None else ():
        if free:
            number = reference.number if reference.number in free else min(free)
            columns[number] = reference
            free.remove(number)
    return columns


def seed_columns(model: TagTopicModel) -> dict[str, int]:
    """Return the number of each seeded topic: that of the named topic of the same name, or a free one."""
    kept, initial, named = kept_topics(model), model.initial, named_columns(model)
    keys = {reference.key: number for number, reference in named.items()}
    names = {name: keys[reference.key] for name, reference in model._named.items() if reference.key in keys}
    free = [number for number in range(len(kept), model.n_topics) if number not in named]
    if initial is not None:
        names = {initial.topic_names_[old]: number for number, old in enumerate(kept)}
        unnamed = [number for number, old in enumerate(kept) if not initial.topic_names_[old]]
        free += sorted(unnamed, key=lambda number: initial.topic_shares_[kept[number]])
    columns = {}
    for name in model._seeds:
        if name in names:
            columns[name] = names[name]
        elif free:
            columns[name] = free.pop(0)
        else:
            raise ValueError(
                f"n_topics={model.n_topics}: there is no topic left for the seed {name!r}; choose more topics"
            )
    return columns


def guided_topics(model: TagTopicModel, corpus: CorpusLike, frequencies: Float64s, find: Any) -> Floats:
    """Return initial topics (words, topics): those of ``initial``, seeded ones, and others that ``find`` gives."""
    fixed: dict[int, Floats] = {}
    if model.initial is not None:
        old = _aligned_topics(model.initial, corpus.words, frequencies)
        fixed = {number: old[:, topic] for number, topic in enumerate(kept_topics(model))}
    for number, reference in named_columns(model).items():
        fixed[number] = _topic_of_words(reference.words, corpus.words, frequencies)
    columns = seed_columns(model)
    own = {*model._named, *(model.initial.topic_names_ if model.initial is not None else ())}
    for name, words in _known_words(model._seeds, corpus.words).items():
        seeded, number = _seeded_topic(corpus, words, frequencies), columns[name]
        fixed[number] = (fixed[number] + seeded) / 2 if name in own else seeded
    free = [number for number in range(model.n_topics) if number not in fixed]
    topics = np.empty((corpus.n_words, model.n_topics), np.float32)
    for number, values in fixed.items():
        topics[:, number] = values
    if free:
        others = find()
        taken = {match.topic for match in match_topics(_similarity(topics[:, [*fixed]], others))}
        topics[:, free] = others[:, [topic for topic in range(model.n_topics) if topic not in taken]]
    return topics


def _similarity(one: Floats, other: Floats) -> Float64s:
    return np.asarray(np.sqrt(one).T @ np.sqrt(other), np.float64)


def _aligned_topics(initial: TagTopicModel, words: Sequence[str], frequencies: Float64s) -> Floats:
    """The topics of an earlier model in other words (words, topics); new words have their frequencies."""
    column = {word: number for number, word in enumerate(initial.words_)}
    known = np.array([column.get(word, -1) for word in words])
    topics = np.zeros((len(words), len(initial.components_)))
    topics[known >= 0] = initial.components_.T[known[known >= 0]]
    totals = topics.sum(axis=0)
    totals[totals <= 0] = 1.0
    share = (1 - UNIGRAM_SHARE) * frequencies[known >= 0].sum()
    rest = np.where(known >= 0, UNIGRAM_SHARE * frequencies, frequencies)
    aligned = share * topics / totals + rest[:, None]
    return np.asarray(aligned / aligned.sum(axis=0), np.float32)


def _topic_of_words(shares: Mapping[str, float], words: Sequence[str], frequencies: Float64s) -> Floats:
    """A topic of which only the most probable words are known: others have their frequencies."""
    known = np.array([shares.get(word, 0.0) for word in words])
    rest = np.where(known > 0, 0.0, frequencies)
    left = max(1.0 - known.sum(), UNIGRAM_SHARE)
    topic = known + left * (rest / rest.sum() if rest.any() else frequencies)
    return np.asarray(topic / topic.sum(), np.float32)


def _seeded_topic(corpus: CorpusLike, words: list[int], frequencies: Float64s) -> Floats:
    """The seed's words, and the words of documents that have them (of the first ``MAX_DOCUMENTS``)."""
    sample = corpus[np.arange(min(len(corpus), MAX_DOCUMENTS))]
    counts = sp.csr_array(sample.counts, dtype=np.float64)
    with_seed = counts[:, words].sum(axis=1) > 0
    context = np.asarray(counts[with_seed].sum(axis=0)).ravel()
    own = np.zeros(len(frequencies))
    own[words] = 1.0
    parts = [(1 - UNIGRAM_SHARE) * SEED_SHARE * own / own.sum(), UNIGRAM_SHARE * frequencies]
    rest = context if context.any() else own
    parts.append((1 - UNIGRAM_SHARE) * (1 - SEED_SHARE) * rest / rest.sum())
    return np.asarray(np.sum(parts, axis=0), np.float32)


def carry_names(model: TagTopicModel, decisions: Decisions | None) -> dict[str, TopicMatch]:
    """Name the topics of a new fit after their counterparts, and return the match of each name; warn if doubtful."""
    n_topics = len(model.components_)
    names, hidden = [""] * n_topics, set()
    sources: list[tuple[TopicKey, ...]] = [()] * n_topics
    matches: dict[str, TopicMatch] = {}
    unclear: set[TopicKey] = set()
    seeded = seed_columns(model)
    for name, topic in seeded.items():
        names[topic] = name
    initial = model.initial
    if initial is not None:
        frequencies = model.word_counts_ / model.word_counts_.sum()
        similarity = similarity_of_topics(
            initial.components_, initial.words_, model.components_, model.words_, frequencies
        )
        for old, match in enumerate(match_topics(similarity)):
            name, keys = initial.topic_names_[old], topic_keys(initial, old)
            if name and name not in seeded:
                matches[name] = match
            if not match.is_clear:
                unclear.update(keys)
                continue
            sources[match.topic] = keys
            if match.topic not in seeded.values() and name not in seeded:
                names[match.topic] = name
            hidden |= {match.topic} if old in initial.hidden_topics_ else set()
    edits = TopicEdits(tuple(range(n_topics)), tuple(names), tuple(sorted(hidden)), (), tuple(sources))
    if decisions is not None:
        apply_edits(model, edits)
        edits = _with_decided_names(model, edits, decisions, unclear, matches, seeded)
    doubtful = {name: match for name, match in matches.items() if not match.is_clear}
    if doubtful:
        warn(describe_doubtful(doubtful, len(matches)))
    apply_edits(model, edits)
    return matches


def _with_decided_names(
    model: TagTopicModel,
    edits: TopicEdits,
    decisions: Decisions,
    unclear: set[TopicKey],
    matches: dict[str, TopicMatch],
    seeded: Mapping[str, int],
) -> TopicEdits:
    """The names and hidden topics of a ledger, on the counterparts of its topics; seeded topics keep their names."""
    names, hidden = list(edits.names), set(edits.hidden)
    found, doubtful = find_topics(model, decisions, unclear)
    for key, name in decisions.topic_names.items():
        if name in seeded:
            continue
        if key in found and found[key].topic not in seeded.values():
            names[found[key].topic] = name
        if name:
            matches[name] = found.get(key) or doubtful[key]  # a clear one of a later decision replaces it
    for key, is_hidden in decisions.hidden_topics.items():
        if key in found:
            hidden = hidden | {found[key].topic} if is_hidden else hidden - {found[key].topic}
    sources = list(edits.sources)
    for key, match in found.items():
        sources[match.topic] = tuple(dict.fromkeys((*sources[match.topic], key)))
    return replace(edits, names=tuple(names), hidden=tuple(sorted(hidden)), sources=tuple(sources))


def topic_keys(model: TagTopicModel, topic: int) -> tuple[TopicKey, ...]:
    """Return all keys by which a ledger may refer to a topic."""
    edits = model._edits
    fitted = edits.members[topic] if edits else [topic]
    own = [(model._digest, number) for number in fitted]
    earlier = [key for number in fitted for key in edits.sources[number]] if edits else []
    return tuple(dict.fromkeys((*earlier, *own)))


def start_settings(model: TagTopicModel) -> dict[str, Any]:
    """Return what the start of a fit depends on, beside its settings, for the fingerprint of its checkpoints."""
    found: dict[str, Any] = {}
    if model.initial is not None:
        initial = model.initial
        found["initial"] = f"{topics_digest(initial.components_, initial.words_)} {initial.topic_names_}"
    if model._seeds:
        found["seeds"] = repr(sorted(model._seeds.items()))
    if model._named and model.initial is None:
        found["named"] = repr([(name, *topic.key, *topic.words.items()) for name, topic in model._named.items()])
    return found
