"""Questions to a fitted model that need no documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tagtopic.corpus.kinds import kind_of
from tagtopic.inference.arrays import Float64s, Floats
from tagtopic.models.posterior import largest


class Questions:
    """Words and tags of a topic, topics and relatives of a tag."""

    if TYPE_CHECKING:
        components_: Floats
        tag_topics_: Floats
        tag_frequencies_: Float64s
        words_: tuple[str, ...]
        tag_names_: tuple[str, ...]

    def top_words(self, topic: int, n: int = 10) -> list[tuple[str, float]]:
        """The n most probable words of a topic, with their probabilities.

        Examples
        --------
        >>> topic, _ = model.top_topics("crime", 1)[0]
        >>> sorted(word for word, probability in model.top_words(topic, 2))
        ['killer', 'police']
        """
        topic = self._topic(topic)
        return largest(self.components_[topic], self.words_, n)

    def top_tags(self, topic: int, n: int = 10) -> list[tuple[str, float]]:
        """The n tags that speak most of a topic: p(tag | topic), each tag weighed by how often it is used.

        Examples
        --------
        >>> topic, _ = model.top_topics("crime", 1)[0]
        >>> [tag for tag, share in model.top_tags(topic, 2)]
        ['crime', 'Fincher']
        """
        topic = self._topic(topic)
        joint = self.tag_topics_[:, topic] * self.tag_frequencies_
        return largest(joint / max(float(joint.sum()), 1e-300), self.tag_names_, n)

    def top_topics(self, tag: str, n: int = 5) -> list[tuple[int, float]]:
        """The n topics that a tag speaks most of, with their shares.

        Examples
        --------
        >>> topic, share = model.top_topics("space", 1)[0]
        >>> round(share, 1)
        0.9
        """
        number = self._tag(tag)
        row = self.tag_topics_[number]
        return [(int(topic), float(row[topic])) for topic in np.argsort(-row, kind="stable")[:n]]

    def tag_words(self, tag: str, n: int = 10) -> list[tuple[str, float]]:
        """The n words that a tag makes most probable: its topics' words, mixed as it mixes the topics.

        Examples
        --------
        >>> model.tag_words("space", 1)[0][0]
        'ship'
        """
        number = self._tag(tag)
        return largest(self.tag_topics_[number] @ self.components_, self.words_, n)

    def most_used_tags(self, n: int = 10, *, kind: str | None = None) -> list[str]:
        """The n tags on most documents, of one kind if one is given (what stands before the colon).

        Examples
        --------
        >>> model.most_used_tags(2)
        ['crime', 'space']
        """
        check_is_fitted(self)
        if not self.tag_names_:
            raise ValueError("the model has learnt no tags")
        order = np.argsort(-self.tag_frequencies_, kind="stable")
        names = (self.tag_names_[i] for i in order)
        chosen = [tag for tag in names if kind is None or kind_of(tag) == kind]
        if not chosen:
            kinds = sorted({tag.partition(":")[0] for tag in self.tag_names_ if ":" in tag})
            raise ValueError(f"the model has no tags of kind {kind!r}; it has {', '.join(kinds) or 'none with kinds'}")
        return chosen[:n]

    def similar_tags(self, tag: str, n: int = 10) -> list[tuple[str, float]]:
        """The n tags whose topics are most like this tag's: 1 is the same, 0 is nothing in common (Bhattacharyya).

        Examples
        --------
        >>> model.similar_tags("space", 1)[0][0]
        'monster'
        """
        number = self._tag(tag)
        return most_alike(np.sqrt(self.tag_topics_), number, self.tag_names_, n)

    def _topic(self, topic: int) -> int:
        check_is_fitted(self)
        if not 0 <= topic < len(self.components_):
            raise ValueError(f"there is no topic {topic}: the model has {len(self.components_)}, from 0")
        return topic

    def _tag(self, tag: str) -> int:
        check_is_fitted(self)
        try:
            return self.tag_names_.index(tag)
        except ValueError:
            near = near_names(tag, self.tag_names_)
            hint = f"; near it are {', '.join(map(repr, near))}" if near else ""
            raise ValueError(f"the model has never seen the tag {tag!r}{hint}") from None


def near_names(tag: str, names: Sequence[str]) -> list[str]:
    """Up to three tags that may be meant, those that are the same but for their kind or the case of letters first."""
    import difflib

    wanted = tag.casefold()
    same = [name for name in names if wanted in (name.casefold(), name.casefold().partition(":")[2])]
    values = {name.partition(":")[2] or name: name for name in names}
    alike = [values[value] for value in difflib.get_close_matches(tag, values, 3)]
    return list(dict.fromkeys([*same, *difflib.get_close_matches(tag, names, 3), *alike]))[:3]


def most_alike(roots: Floats, row: int, names: Sequence[str], n: int) -> list[tuple[str, float]]:
    """The n rows most like one row, itself apart, by Bhattacharyya; ``roots`` are the square roots of distributions."""
    likeness = roots @ roots[row]
    likeness[row] = -1.0
    return largest(likeness, names, min(n, len(names) - 1))
