"""The kinds of decisions, their form in JSON, and the state that a sequence of decisions amounts to.

``FIELDS`` is the one list of kinds, from which the checks of a line of the file and of ``Ledger.record`` derive.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

MAX_CHARACTERS = 10_000
"""Characters of a text in a decision."""

MAX_ITEMS = 10_000
"""Items of a list in a decision."""

TAG_WRONG, TAG_RIGHT, TAG_ADD, TAG_REJECT = VERDICTS = ("tag-wrong", "tag-right", "tag-add", "tag-reject")
TAGS_MERGE, TAGS_KEEP_APART = "tags-merge", "tags-keep-apart"
TOPIC_RENAME, TOPIC_MERGE, TOPIC_HIDE, TOPIC_SEED = "topic-rename", "topic-merge", "topic-hide", "topic-seed"
WORDS_BAN, UNDO = "words-ban", "undo"

COMMON = ("id", "time", "who", "what", "why")
"""The fields of every decision."""

TopicKey = tuple[str, int]
"""A topic: the digest of the model that learnt it, and its number there."""


@dataclass(frozen=True)
class TopicReference:
    """A topic as a decision refers to it: its number in one model, and its words, which identify it in other models.

    Parameters
    ----------
    model : str
        The digest of the model's topics.
    number : int
        The topic's number in that model, from 0.
    words : dict of str to float
        Its most probable words, with their probabilities.

    Examples
    --------
    >>> from tagtopic.curation import TopicReference
    >>> TopicReference("9f0c", 3, {"ship": 0.2, "planet": 0.1}).key
    ('9f0c', 3)
    """

    model: str
    number: int
    words: Mapping[str, float]

    @property
    def key(self) -> TopicKey:
        """The digest and the number."""
        return self.model, self.number

    def to_json(self) -> dict[str, Any]:
        """Return the reference as JSON can hold it."""
        return {"model": self.model, "number": self.number, "words": dict(self.words)}


@dataclass(frozen=True)
class Decision:
    """A decision: one line of a ledger.

    Parameters
    ----------
    id : str
        Its id, by which it can be undone.
    what : str
        Its kind, such as ``"tag-wrong"``.
    fields : dict
        What was decided: the fields of its kind.
    who : str, default=""
        Who decided.
    why : str, default=""
        The reason.
    time : str, default=""
        When, in ISO 8601.

    Examples
    --------
    >>> from tagtopic.curation import Decision
    >>> Decision("a1", "tag-wrong", {"document": "17", "tag": "space"}, who="Ana").to_json()["tag"]
    'space'
    """

    id: str
    what: str
    fields: Mapping[str, Any]
    who: str = ""
    why: str = ""
    time: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the decision as JSON can hold it."""
        return {
            "id": self.id,
            "time": self.time,
            "who": self.who,
            "what": self.what,
            **{name: _plain(value) for name, value in self.fields.items()},
            "why": self.why,
        }

    @classmethod
    def from_json(cls, record: Any) -> Decision:
        """Return the decision that ``to_json`` wrote.

        Parameters
        ----------
        record : dict
            The record; anything else is an error.

        Returns
        -------
        Decision
            The decision, with valid fields.

        Raises
        ------
        ValueError
            If a field is missing, unknown or of the wrong type.
        """
        if not isinstance(record, dict):
            raise ValueError(f"a decision is an object, not {_type_name(record)}")
        for name in ("id", "what"):
            if name not in record:
                raise ValueError(f'it has no "{name}"')
        texts = {name: _optional_text(record.get(name, ""), name) for name in COMMON}
        _text(record["id"], "id")
        given = {name: value for name, value in record.items() if name not in COMMON}
        return cls(texts["id"], texts["what"], check_fields(texts["what"], given), *(texts[n] for n in LAST))

    def describe(self) -> str:
        """Return what was decided, in one line."""
        return ", ".join(f"{name} {_shown(value)}" for name, value in self.fields.items())


LAST = ("who", "why", "time")
"""The optional fields, in the order of the constructor."""


def _plain(value: Any) -> Any:
    if isinstance(value, TopicReference):
        return value.to_json()
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _shown(value: Any) -> str:
    if isinstance(value, TopicReference):
        return f"{value.number} ({' '.join(list(value.words)[:5])})"
    if isinstance(value, tuple):
        return ", ".join(map(_shown, value))
    return str(value)


# ---- checks of fields


def _type_name(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)


def _optional_text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f'"{name}" is {_type_name(value)}, not a text')
    if len(value) > MAX_CHARACTERS:
        raise ValueError(f'"{name}" has {len(value):,} characters: at most {MAX_CHARACTERS:,} are allowed')
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f'"{name}" is not valid Unicode: it has half of a surrogate pair') from None
    return value


def _text(value: Any, name: str) -> str:
    if not _optional_text(value, name).strip():
        raise ValueError(f'"{name}" is empty')
    return str(value)


def _items(value: Any, name: str, least: int) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError(f'"{name}" is {_type_name(value)}, not a list')
    if not least <= len(value) <= MAX_ITEMS:
        raise ValueError(f'"{name}" has {len(value):,} items: expected from {least} to {MAX_ITEMS:,}')
    return list(value)


def _texts(least: int) -> Callable[[Any, str], tuple[str, ...]]:
    def check(value: Any, name: str) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(_text(each, name) for each in _items(value, name, least)))
        if len(found) < least:
            raise ValueError(f'"{name}" has {len(found)} distinct items: expected at least {least}')
        return found

    return check


def _topic(value: Any, name: str) -> TopicReference:
    record = value.to_json() if isinstance(value, TopicReference) else value
    if not isinstance(record, dict) or record.keys() != {"model", "number", "words"}:
        raise ValueError(f'"{name}" is not a topic: expected an object with "model", "number" and "words"')
    number, words = record["number"], record["words"]
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**31:
        raise ValueError(f'"number" of "{name}" is {number!r:.40}, not a whole number from 0')
    if not isinstance(words, Mapping) or len(words) > MAX_ITEMS:
        raise ValueError(f'"words" of "{name}" is not an object of words and probabilities')
    for word, share in words.items():
        _text(word, name)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ValueError(f'"words" of "{name}" gives {word!r:.40} the probability {share!r:.40}')
    return TopicReference(_text(record["model"], name), number, {word: float(share) for word, share in words.items()})


def _topics(value: Any, name: str) -> tuple[TopicReference, ...]:
    found = {topic.key: topic for topic in (_topic(each, name) for each in _items(value, name, 2))}
    if len(found) < 2:
        raise ValueError(f'"{name}" has one topic: it takes two to merge')
    return tuple(found.values())


_ON_DOCUMENT: dict[str, Callable[[Any, str], Any]] = {"document": _text, "tag": _text}

FIELDS: dict[str, dict[str, Callable[[Any, str], Any]]] = {
    **dict.fromkeys(VERDICTS, _ON_DOCUMENT),
    TAGS_MERGE: {"canonical": _text, "variants": _texts(1)},
    TAGS_KEEP_APART: {"tags": _texts(2)},
    TOPIC_RENAME: {"topic": _topic, "name": _text},
    TOPIC_MERGE: {"topics": _topics},
    TOPIC_HIDE: {"topic": _topic},
    TOPIC_SEED: {"name": _text, "words": _texts(1)},
    WORDS_BAN: {"words": _texts(1)},
    UNDO: {"entry": _text},
}
"""The fields of each kind of decision, with the function that checks one."""


def check_fields(what: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a decision in their canonical form; raise ValueError if they are not those of its kind."""
    if what not in FIELDS:
        raise ValueError(f"there is no decision {what!r:.80}; there are {', '.join(FIELDS)}")
    expected = FIELDS[what]
    missing, unknown = expected.keys() - fields.keys(), fields.keys() - expected.keys()
    if missing:
        raise ValueError(f'a decision {what} needs "{min(missing)}"')
    if unknown:
        raise ValueError(f'a decision {what} has no field "{min(unknown)!s:.80}": it has {", ".join(expected)}')
    return {name: check(fields[name], name) for name, check in expected.items()}


# ---- the state


@dataclass(frozen=True)
class Decisions:
    """The state that a sequence of decisions amounts to, without those that were undone.

    Attributes
    ----------
    canonical : dict of str to str
        The canonical name of each variant of a tag.
    kept_apart : tuple of (str, str)
        Pairs of tags that are different things, each pair and all pairs sorted.
    verdicts : dict of str to dict
        By document and tag, the last of ``"tag-wrong"``, ``"tag-right"``, ``"tag-add"`` and ``"tag-reject"``. Tags are
        under their canonical names.
    topics : dict
        The topics that decisions refer to, undone ones included, by ``TopicReference.key``.
    topic_names : dict
        The names of topics by key, in the order in which they were decided; "" if all names of a topic were undone.
    hidden_topics : dict
        Whether a topic is hidden, by key; False if it was undone.
    topic_groups : tuple of tuples
        Keys of topics that are merged, the first topic of each group first.
    banned_words : tuple of str
        Words that no topic should have, sorted.
    seeds : dict of str to tuple of str
        The words that define a topic, by the topic's name.
    undone : frozenset of str
        The ids of undone decisions.

    Examples
    --------
    >>> from tagtopic.curation import Decision, Decisions
    >>> merge = Decision("a", "tags-merge", {"canonical": "science fiction", "variants": ("sci-fi", "SF")})
    >>> wrong = Decision("b", "tag-wrong", {"document": "17", "tag": "SF"})
    >>> state = Decisions.replay([merge, wrong])
    >>> state.corrected_tags("16", ["sci-fi", "robot"]), state.corrected_tags("17", ["sci-fi", "robot"])
    (['science fiction', 'robot'], ['robot'])
    """

    canonical: dict[str, str] = field(default_factory=dict)
    kept_apart: tuple[tuple[str, str], ...] = ()
    verdicts: dict[str, dict[str, str]] = field(default_factory=dict)
    topics: dict[TopicKey, TopicReference] = field(default_factory=dict)
    topic_names: dict[TopicKey, str] = field(default_factory=dict)
    hidden_topics: dict[TopicKey, bool] = field(default_factory=dict)
    topic_groups: tuple[tuple[TopicKey, ...], ...] = ()
    banned_words: tuple[str, ...] = ()
    seeds: dict[str, tuple[str, ...]] = field(default_factory=dict)
    undone: frozenset[str] = frozenset()

    @classmethod
    def replay(cls, decisions: Iterable[Decision]) -> Decisions:
        """Return the state after decisions, which are applied in their order.

        Of contradictory decisions the last one holds. An undo revokes the decision that it names; an undo can itself
        be undone.

        Parameters
        ----------
        decisions : iterable of Decision
            The decisions.

        Returns
        -------
        Decisions
            The state.
        """
        given = list(decisions)
        undone = undone_by(given)
        active = [decision for decision in given if decision.id not in undone and decision.what != UNDO]
        canonical = _canonical_names(active)
        verdicts: dict[str, dict[str, str]] = defaultdict(dict)
        banned: set[str] = set()
        seeds: dict[str, tuple[str, ...]] = {}
        for decision in active:
            fields = decision.fields
            if decision.what in VERDICTS:
                tag: str = fields["tag"]
                verdicts[fields["document"]][canonical.get(tag, tag)] = decision.what
            elif decision.what == WORDS_BAN:
                banned.update(fields["words"])
            elif decision.what == TOPIC_SEED:
                seeds[fields["name"]] = fields["words"]
        topics = {topic.key: topic for decision in given for topic in topics_of(decision)}
        # topics whose names were all undone are listed: their earlier name must go from a model that has it
        names = {d.fields["topic"].key: "" for d in given if d.what == TOPIC_RENAME}
        for decision in active:
            if decision.what == TOPIC_RENAME:
                key = decision.fields["topic"].key
                names.pop(key)
                names[key] = decision.fields["name"]  # last, so that names are in the order of their decisions
        hidden = {d.fields["topic"].key: False for d in given if d.what == TOPIC_HIDE}
        hidden |= {d.fields["topic"].key: True for d in active if d.what == TOPIC_HIDE}
        groups = _groups([[t.key for t in d.fields["topics"]] for d in active if d.what == TOPIC_MERGE])
        return cls(
            canonical=canonical,
            kept_apart=_kept_apart(active, canonical),
            verdicts=dict(verdicts),
            topics=topics,
            topic_names=names,
            hidden_topics=hidden,
            topic_groups=tuple(tuple(group) for group in groups),
            banned_words=tuple(sorted(banned)),
            seeds=seeds,
            undone=frozenset(undone),
        )

    @cached_property
    def changes_tags(self) -> bool:
        """Whether any tag of any document may change."""
        return bool(self.canonical) or any(
            verdict in (TAG_WRONG, TAG_ADD) for tags in self.verdicts.values() for verdict in tags.values()
        )

    @property
    def named_topics(self) -> dict[str, TopicReference]:
        """The topics that have a name, by name; the last one if several have it."""
        return {name: self.topics[key] for key, name in self.topic_names.items() if name}

    def corrected_tags(self, document: str, tags: Iterable[str]) -> list[str]:
        """Return the tags of a document as decided: merged, without wrong ones, with added ones last.

        Parameters
        ----------
        document : str
            The document's id.
        tags : iterable of str
            Its tags.

        Returns
        -------
        list of str
            The corrected tags, each once, in the given order.
        """
        verdicts = self.verdicts.get(document, {})
        names = dict.fromkeys(self.canonical.get(tag, tag) for tag in tags)
        kept = [tag for tag in names if verdicts.get(tag) != TAG_WRONG]
        return kept + [tag for tag, verdict in verdicts.items() if verdict == TAG_ADD and tag not in names]

    def label_of(self, topic: TopicKey) -> str:
        """Return the name of a topic, or its number, with its first words.

        Parameters
        ----------
        topic : tuple of str and int
            The topic's key.

        Returns
        -------
        str
            The label.
        """
        name = self.topic_names.get(topic)
        return f"{repr(name) if name else f'topic {topic[1]}'} ({' '.join(list(self.topics[topic].words)[:3])})"

    def to_json(self) -> str:
        """Return the state as canonical JSON: equal states give equal texts.

        Returns
        -------
        str
            The JSON.
        """
        values = {
            "canonical": self.canonical,
            "kept_apart": self.kept_apart,
            "verdicts": self.verdicts,
            "topics": [topic.to_json() for _, topic in sorted(self.topics.items())],
            "topic_names": sorted(self.topic_names.items()),
            "hidden_topics": sorted(self.hidden_topics.items()),
            "topic_groups": sorted(self.topic_groups),
            "banned_words": self.banned_words,
            "seeds": self.seeds,
            "undone": sorted(self.undone),
        }
        return json.dumps(values, sort_keys=True, ensure_ascii=False, allow_nan=False)


def topics_of(decision: Decision) -> tuple[TopicReference, ...]:
    """Return the topics that a decision refers to."""
    if decision.what == TOPIC_MERGE:
        return tuple(decision.fields["topics"])
    return (decision.fields["topic"],) if decision.what in (TOPIC_RENAME, TOPIC_HIDE) else ()


def undone_by(decisions: Sequence[Decision]) -> set[str]:
    """Return the ids of decisions that are undone; an undo that is itself undone has no effect."""
    undone: set[str] = set()
    for decision in reversed(decisions):
        if decision.what == UNDO and decision.id not in undone:
            undone.add(decision.fields["entry"])
    return undone


def _canonical_names(active: Sequence[Decision]) -> dict[str, str]:
    """The canonical name of each variant; a merge of merged tags renames all of them."""
    groups: dict[str, set[str]] = {}
    names: dict[str, str] = {}
    for decision in active:
        if decision.what != TAGS_MERGE:
            continue
        canonical: str = decision.fields["canonical"]
        variants: tuple[str, ...] = decision.fields["variants"]
        members: set[str] = set()
        for tag in (canonical, *variants):
            members |= groups.pop(names.get(tag, tag), {tag})
        groups[canonical] = members
        names.update((tag, canonical) for tag in members)
    return {tag: name for tag, name in sorted(names.items()) if tag != name}


def _kept_apart(active: Sequence[Decision], canonical: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    pairs = set()
    for decision in active:
        if decision.what == TAGS_KEEP_APART:
            tags = sorted({canonical.get(tag, tag) for tag in decision.fields["tags"]})
            pairs |= {(first, second) for i, first in enumerate(tags) for second in tags[i + 1 :]}
    return tuple(sorted(pairs))


def _groups(merges: Sequence[Sequence[TopicKey]]) -> list[list[TopicKey]]:
    """Join merges that have a topic in common; each group in the order in which its topics were first named."""
    groups: list[list[TopicKey]] = []
    for merge in merges:
        joined = [group for group in groups if set(group) & set(merge)]
        groups = [group for group in groups if group not in joined]
        groups.append(list(dict.fromkeys(key for part in (*joined, merge) for key in part)))
    return groups
