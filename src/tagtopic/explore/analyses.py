"""Trends, effects and contrasts of an explorer's documents, each computed once, and groups of its topics."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.optional import is_installed
from tagtopic.analysis.timeline import parse_date
from tagtopic.corpus.tags import kind_of
from tagtopic.explore.explorer import LazyValue, NotFoundError

if TYPE_CHECKING:
    from tagtopic.analysis import Contrast, Effects, Trends
    from tagtopic.corpus import Corpus
    from tagtopic.models._analysis import TopicHierarchy
    from tagtopic.models._base import TagTopicModel

MAX_LEVELS = 20
"""Levels of a kind on the page of effects."""

MIN_TOPICS = 4
"""Topics from which they are grouped."""

LEVELS = (5, 20)

PATIENCE = 5.0
"""Seconds that a page waits before it says that a result is being computed."""

MAX_CONTRASTS = 64
"""Contrasts of tags that are kept, the last ones."""


class PendingError(Exception):
    """An analysis that is still being computed."""


class Analyses:
    """Trends by kinds of tags that are dates, effects of kinds, and groups of topics.

    Parameters
    ----------
    model : fitted model
        The model.
    corpus : Corpus or None
        The documents, with all their tags.
    """

    def __init__(self, model: TagTopicModel, corpus: Corpus | None) -> None:
        self.model, self.corpus = model, corpus
        self._lock = threading.Lock()
        self._values: dict[tuple[str, str], LazyValue[Any]] = {}
        self._contrast = lru_cache(MAX_CONTRASTS)(self._compute_contrast)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of tags that can be covariates: those with two levels or more, if formulas can be read.

        Kinds all of whose levels fit on a page come first.
        """
        if self.corpus is None or not is_installed("formulaic"):
            return ()
        sizes: dict[str, int] = {}
        for kind in self.corpus.tag_kinds:
            sizes[kind] = sizes.get(kind, 0) + 1
        # a kind is quoted in a formula: one with a quote or a line break cannot be
        return tuple(
            sorted(
                (kind for kind, n in sizes.items() if n > 1 and kind.isprintable() and "`" not in kind and kind),
                key=lambda kind: (sizes[kind] > MAX_LEVELS, kind),
            )
        )

    @cached_property
    def times(self) -> tuple[str, ...]:
        """The kinds of tags that are dates, at most one per document."""
        if self.corpus is None:
            return ()
        by_kind: dict[str, list[int]] = {}
        for number, name in enumerate(self.corpus.tag_names):
            by_kind.setdefault(kind_of(name), []).append(number)
        return tuple(sorted(kind for kind, numbers in by_kind.items() if kind and self._is_time(numbers)))

    def _is_time(self, numbers: list[int]) -> bool:
        assert self.corpus is not None
        dates = (self.corpus.tag_names[number].partition(":")[2] for number in numbers)
        if len(numbers) < 2 or not all(parse_date(date) for date in dates):
            return False
        return int(np.diff(sp.csr_array(self.corpus.tags[:, numbers]).indptr).max(initial=0)) <= 1

    def trends(self, kind: str | None = None) -> Trends:
        """The trends by a kind, the first one if none is named."""
        return self._get("trends", self._chosen(kind, self.times, "dates"))  # type: ignore[no-any-return]

    def effects(self, kind: str | None = None) -> Effects:
        """The effects of a kind, the first one if none is named."""
        return self._get("effects", self._chosen(kind, self.kinds, "kinds of tags"))  # type: ignore[no-any-return]

    def contrast(self, first: str, second: str | None = None) -> Contrast:
        """The contrast of the documents of a tag with those of another, or with all others if none is named."""
        if self.corpus is None:
            raise NotFoundError("there are no documents to compare: start with --corpus to see them")
        if not is_installed("formulaic"):
            raise NotFoundError("contrasts need the extra analysis: pip install 'tagtopic[analysis]'")
        for tag in (first,) if second is None else (first, second):
            if tag not in self._tag_names:
                raise NotFoundError(f"the documents have no tag {tag!r:.80}")
        return self._contrast(first, second)

    def _compute_contrast(self, first: str, second: str | None) -> Contrast:
        return self.model.contrast(self.corpus, first, second)

    @cached_property
    def _tag_names(self) -> frozenset[str]:
        return frozenset(() if self.corpus is None else self.corpus.tag_names)

    @cached_property
    def hierarchy(self) -> TopicHierarchy | None:
        """The topics in groups; None if they are too few."""
        n_topics = len(self.model.components_)
        if n_topics < MIN_TOPICS:
            return None
        levels = [level for level in LEVELS if level < n_topics] or [2]
        return self.model.hierarchy(levels)

    def _chosen(self, kind: str | None, known: tuple[str, ...], what: str) -> str:
        if not known:
            raise NotFoundError(f"there are no documents with {what}: start with --corpus to see them")
        if kind and kind not in known:
            raise NotFoundError(f"there is no such kind: there are {', '.join(known[:10])}")
        return kind or known[0]

    def start(self, what: str, kind: str | None, patience: float = PATIENCE) -> bool:
        """Compute "trends" or "effects" in the background; return whether they are ready within some seconds."""
        known, missing = (self.times, "dates") if what == "trends" else (self.kinds, "kinds of tags")
        value = self._value(what, self._chosen(kind, known, missing))
        if not value.ready and not value.computing:
            thread = threading.Thread(target=_compute, args=(value,), name=f"tagtopic-{what}", daemon=True)
            thread.start()
            thread.join(patience)
        return value.ready or not value.computing  # if it failed, the page reports why

    def require_ready(self, what: str, kind: str | None) -> None:
        """Raise `PendingError` unless "trends" or "effects" are ready within some seconds."""
        if not self.start(what, kind):
            raise PendingError(f"the {what} are being computed: ask again in a moment")

    def _get(self, what: str, kind: str) -> Any:
        return self._value(what, kind).get()

    def _value(self, what: str, kind: str) -> LazyValue[Any]:
        def compute() -> Any:
            if what == "trends":
                return self.model.trends(self.corpus, kind)
            found = self.model.effects(self.corpus, f"`{kind}`", max_levels=MAX_LEVELS)
            found.table  # noqa: B018 - computed here, in the background, and kept
            return found

        with self._lock:
            return self._values.setdefault((what, kind), LazyValue(compute))


def _compute(value: LazyValue[Any]) -> None:
    with suppress(Exception):  # raised again to whoever asks for the value
        value.get()
