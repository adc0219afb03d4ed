"""A model's questions to ``tagtopic.analysis``: effects, trends, contrasts, labels and the hierarchy of topics."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Int64s
from tagtopic.analysis.contrast import Contrast, contrast_words
from tagtopic.analysis.covariates import Category, Members, Number, columns_of, find_covariate
from tagtopic.analysis.design import make_design
from tagtopic.analysis.effects import Effects, estimate_effects
from tagtopic.analysis.hierarchy import (
    Group,
    cut_tree,
    merge_tree,
    sibling_names,
    topic_distances,
    use_similarity,
    word_similarity,
)
from tagtopic.analysis.labels import (
    PHRASE_WORDS,
    TopicDescription,
    distinctive_words,
    name_topics,
    phrases_of,
)
from tagtopic.analysis.table import Table, TidyResult
from tagtopic.analysis.timeline import make_timeline
from tagtopic.analysis.trends import ALL, Trends, estimate_trends
from tagtopic.corpus import Corpus
from tagtopic.corpus.tags import kind_of
from tagtopic.engines import LocalEngine
from tagtopic.models import _inputs
from tagtopic.models._edits import TopicEdits, apply_edits, group_array, restore_fitted
from tagtopic.models._queries import top_by_share

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel

MAX_GROUPS = 6
"""Levels of a kind by which trends are divided, most frequent first."""

MAX_VALUES = 20
"""Values of a number by which trends are divided, unless they are whole."""

TOP_DOCUMENTS = 30
"""Documents of a topic in which phrases are searched."""

EXCERPT = 300
"""Characters of a document that a namer is given."""


def corpora(model: TagTopicModel, X: Any, tags: Any) -> tuple[Corpus, Corpus]:
    """The documents with all their tags, and in the model's words and tags."""
    given = _inputs.as_corpus(model, X, tags, reset=False)
    known = set(model.tag_names_)  # covariates may be tags that the model does not know
    return given, model.aligned(given.align(given.words, [tag for tag in given.tag_names if tag in known]).corpus)


def chosen_topics(model: TagTopicModel, topics: Sequence[int] | None) -> list[int]:
    """The topics asked for; None is all that are not hidden."""
    if topics is None:
        return [k for k in range(len(model.components_)) if k not in model.hidden_topics_]
    if isinstance(topics, int | str) or not all(isinstance(topic, int | np.integer) for topic in topics):
        raise ValueError(f"topics={topics!r}: expected a list of topics' numbers")
    if not len(topics):
        raise ValueError("topics: none is asked for; None is all")
    return [model._topic(int(topic)) for topic in dict.fromkeys(topics)]


def topic_labels(model: TagTopicModel) -> list[str]:
    """The names of topics, or labels of distinctive words."""
    words = distinctive_words(model.components_, model.words_, model.word_counts_)
    found = [TopicDescription(k, 0.0, (), chosen).label() for k, chosen in enumerate(words)]
    return [name or label for name, label in zip(model.topic_names_, found, strict=True)]


def model_effects(
    model: TagTopicModel, X: Any, formula: str, *, tags: Any, data: Any, topics: Sequence[int] | None, weights: Any,
    clusters: Any, level: float, max_levels: int, random_state: int,
) -> Effects:  # fmt: skip
    """Estimate the effects of covariates."""
    given, aligned = corpora(model, X, tags)
    design = make_design(formula, given, data, words=aligned.lengths(), max_levels=max_levels)
    if isinstance(weights, str):
        weights = _weights(weights, aligned, data)
    if isinstance(clusters, str):
        clusters = _labels(clusters, given, data)
    return estimate_effects(
        design, aligned, model.draws_, groups=group_array(model), topics=chosen_topics(model, topics),
        names=topic_labels(model), weights=weights, clusters=clusters, level=level, parallel=LocalEngine(model.n_jobs),
        seed=random_state,
    )  # fmt: skip


def _weights(name: str, corpus: Corpus, data: Any) -> Any:
    columns = columns_of(data, len(corpus))
    if name in columns:
        return columns[name]
    if name == "words":
        return corpus.lengths()
    raise ValueError(f'weights={name!r}: expected "words", a column of data, or a weight per document')


def _labels(name: str, corpus: Corpus, data: Any) -> Any:
    """The label of each document: a column of the data, or its tag of a kind."""
    found = find_covariate(name, corpus, columns_of(data, len(corpus)), max_levels=len(corpus))
    if isinstance(found, Members):
        raise ValueError(f"documents have several tags of kind {name!r}: clusters need one label per document")
    return found.values


def model_trends(
    model: TagTopicModel, X: Any, time: Any, *, by: str | Sequence[str] | None, every: str | float | None, tags: Any,
    data: Any, topics: Sequence[int] | None, level: float, max_groups: int | None, random_state: int,
) -> Trends:  # fmt: skip
    """Estimate topic shares over time."""
    given, aligned = corpora(model, X, tags)
    timeline = make_timeline(_times(time, given, data), every)
    if len(timeline.bins) != len(given):
        raise ValueError(f"time has {len(timeline.bins)} values, and the corpus {len(given)} documents")
    return estimate_trends(
        aligned, model.draws_, timeline, _members(by, given, data, max_groups or MAX_GROUPS),
        groups=group_array(model), topics=chosen_topics(model, topics), names=topic_labels(model), level=level,
        parallel=LocalEngine(model.n_jobs), seed=random_state,
    )  # fmt: skip


def _times(time: Any, corpus: Corpus, data: Any) -> Any:
    if not isinstance(time, str):
        return time
    columns = columns_of(data, len(corpus))
    if time in columns:
        return columns[time]
    numbers = [i for i, name in enumerate(corpus.tag_names) if kind_of(name) == time]
    if not numbers:
        kinds = ", ".join(sorted({kind for kind in corpus.tag_kinds if kind})) or "none"
        raise ValueError(f"time={time!r}: there is no such column or kind of tag (kinds: {kinds})")
    matrix = sp.csr_array(corpus.tags[:, numbers])
    if np.diff(matrix.indptr).max(initial=0) > 1:
        first = int(np.argmax(np.diff(matrix.indptr) > 1))
        raise ValueError(f"time={time!r}: document {corpus.ids[first]!r} has several tags of this kind")
    found = np.full(len(corpus), None, object)
    found[np.diff(matrix.indptr) > 0] = [corpus.tag_names[numbers[i]].partition(":")[2] for i in matrix.indices]
    return found


def _members(by: str | Sequence[str] | None, corpus: Corpus, data: Any, max_groups: int) -> dict[str, Any]:
    """The groups of documents: a kind's most frequent levels, or tags."""
    if by is None:
        return {ALL: np.ones(len(corpus), bool)}
    columns = columns_of(data, len(corpus))
    if not isinstance(by, str):
        found = {}
        if not len(by):
            raise ValueError("by: there is no tag; None is all documents together")
        for name in by:
            given = find_covariate(name, corpus, columns)
            if name not in corpus.tag_names or not isinstance(given, Number):
                raise ValueError(f"by={name!r} is no tag: give one kind or column, or a list of tags")
            found[name] = given.values > 0
        return found
    covariate = find_covariate(by, corpus, columns, max_levels=max_groups)
    if isinstance(covariate, Members):
        dense = covariate.matrix.toarray() > 0
        return {level: dense[:, i] for i, level in enumerate(covariate.levels)}
    if isinstance(covariate, Category):
        return {level: covariate.codes == i for i, level in enumerate(covariate.levels)}
    values = np.unique(covariate.values[np.isfinite(covariate.values)])
    if by in corpus.tag_names:
        return {by: covariate.values > 0, f"not {by}": covariate.values == 0}
    if len(values) > MAX_VALUES and not np.equal(values, np.round(values)).all():
        raise ValueError(f"by={by!r} is a number with {len(values):,} values: cut it into levels first")
    sizes = [(covariate.values == value).sum() for value in values]
    chosen = sorted(values[np.argsort(sizes)[::-1][:max_groups]])
    return {f"{value:g}": covariate.values == value for value in chosen}


def model_contrast(
    model: TagTopicModel, X: Any, first: Any, second: Any, *, tags: Any, names: tuple[str, str] | None, level: float,
    random_state: int,
) -> Contrast:  # fmt: skip
    """Compare two sets of documents."""
    given, aligned = corpora(model, X, tags)
    a, label_a = _document_set(first, given)
    b, label_b = (~a, f"not {label_a}") if second is None else _document_set(second, given)
    label_a, label_b = names or (label_a, label_b)
    filled = np.asarray(aligned.lengths()) > 0
    a, b = a & filled & ~(a & b), b & filled & ~(a & b)
    for mask, label in ((a, label_a), (b, label_b)):
        if mask.sum() < 2:
            raise ValueError(
                f"{label!r}: {int(mask.sum())} of its documents have words and are not in the other set; two are needed"
            )
    rows = np.flatnonzero(a | b)
    column = {"first": a[rows].astype(np.float64)}
    found = model_effects(
        model, given[rows], "first", tags=None, data=column, topics=None, weights=None, clusters=None, level=level,
        max_levels=2, random_state=random_state,
    )  # fmt: skip
    shares = found.predict("first", [1.0, 0.0])
    difference = found.contrast("first", 1.0, 0.0)
    columns: dict[str, list[Any]] = {
        "topic": difference["topic"], "name": difference["name"], "first": shares["estimate"][::2],
        "second": shares["estimate"][1::2],
    }  # fmt: skip
    columns |= {name: difference[name] for name in ("estimate", "low", "high", "positive")}
    order = np.argsort(-np.array(columns["estimate"]), kind="stable")
    topics = Table(
        {name: [values[i] for i in order] for name, values in columns.items()}, f"{label_a} against {label_b}"
    )
    counts = aligned.counts
    words = contrast_words(
        sp.csr_array(counts[np.flatnonzero(a)]), sp.csr_array(counts[np.flatnonzero(b)]), aligned.words, level
    )
    return Contrast(label_a, label_b, (int(a.sum()), int(b.sum())), topics, words, level)


def _document_set(chosen: Any, corpus: Corpus) -> tuple[Any, str]:
    """A mask of documents, and the name of the set: of a tag, a mask or positions."""
    if isinstance(chosen, str):
        values = find_covariate(chosen, corpus, {})
        if chosen not in corpus.tag_names or not isinstance(values, Number):
            raise ValueError(f"{chosen!r} is a kind, not a tag: give a tag such as {chosen}:…, or a mask of documents")
        return values.values > 0, chosen
    from tagtopic.corpus.corpus import positions_of

    mask = np.zeros(len(corpus), bool)
    mask[positions_of(chosen, len(corpus))] = True
    size = int(mask.sum())
    return mask, "1 document" if size == 1 else f"{size:,} documents"


def describe_topics(model: TagTopicModel, X: Any, tags: Any) -> list[TopicDescription]:
    """Describe all topics; with documents, by their phrases too."""
    words = distinctive_words(model.components_, model.words_, model.word_counts_)
    found = [
        TopicDescription(
            k,
            float(model.topic_shares_[k]),
            tuple(word for word, _ in model.top_words(k, 20)),
            chosen,
            tags=tuple(tag for tag, _ in model.top_tags(k, 5)) if model.tag_names_ else (),
        )
        for k, chosen in enumerate(words)
    ]
    if X is None:
        return found
    given, aligned = corpora(model, X, tags)
    if given.texts is None:
        return found
    mixes, lengths = model._infer(aligned).topics, aligned.lengths()
    described = []
    for topic in found:
        top = [given.texts[d] for d, _ in top_by_share(mixes[:, topic.topic], lengths, min(TOP_DOCUMENTS, len(given)))]
        frequent = [word for word, _ in model.top_words(topic.topic, PHRASE_WORDS)]
        excerpts = tuple(text[:EXCERPT] for text in top[:5])
        described.append(replace(topic, phrases=phrases_of(top, frequent), documents=excerpts))
    return described


def label_topics(
    model: TagTopicModel, X: Any, *, tags: Any, n_words: int, namer: Callable[[TopicDescription], str] | None
) -> list[str]:
    """Name all topics."""
    return name_topics(describe_topics(model, X, tags), namer, n_words)


@dataclass(frozen=True)
class TopicHierarchy(TidyResult):
    """The topics of a model in nested groups; as a data frame, its ``table``.

    Attributes
    ----------
    levels : tuple of int
        The number of groups of each level, fewest first.
    groups : tuple of ndarray
        By level, the group of each topic.
    names : tuple of tuple of str
        By level, the names of the groups: words that distinguish them from their siblings.
    tree : ndarray
        The whole tree, in the form of ``scipy.cluster.hierarchy``.
    fitted : TWTM, TWDA or LDA
        The model.

    Examples
    --------
    >>> from tagtopic import LDA
    >>> from tagtopic.datasets import make_effects_corpus
    >>> planted = make_effects_corpus(200, n_topics=6, random_state=1)
    >>> model = LDA(6, max_iter=100, random_state=0).fit(planted.corpus)
    >>> hierarchy = model.hierarchy([2, 4])
    >>> hierarchy
    TopicHierarchy(2 > 4 > 6 topics)
    >>> hierarchy.model(2).transform(planted.corpus).shape
    (200, 2)
    """

    levels: tuple[int, ...]
    groups: tuple[Int64s, ...]
    names: tuple[tuple[str, ...], ...]
    tree: Float64s
    fitted: Any

    def model(self, level: int) -> Any:
        """Return the model with the topics of each group merged into one, named after the group.

        Proportions of a group are the sums of its topics' in documents, tags and the corpus. All methods of the model
        work at this level: ``transform``, ``effects``, ``trends``, ``save``, and the pages.

        Parameters
        ----------
        level : int
            The number of groups, one of ``levels``.

        Returns
        -------
        TWTM, TWDA or LDA
            A copy of the model.

        Raises
        ------
        ValueError
            If there is no such level.

        Examples
        --------
        >>> hierarchy.model(4).topic_names_ == hierarchy.names[1]
        True
        """
        index = self._index(level)
        return merged_model(self.fitted, self.groups[index], self.names[index])

    def roots(self) -> tuple[Group, ...]:
        """Return the groups of the first level, with their children.

        Returns
        -------
        tuple of Group
            The groups, largest first.

        Examples
        --------
        >>> sum(len(group.children) for group in hierarchy.roots())
        4
        """
        return self._children(0, np.ones(len(self.fitted.topic_shares_), bool))

    @property
    def table(self) -> Table:
        """The groups of all levels, with their parents, shares and topics.

        Examples
        --------
        >>> hierarchy.table.columns
        ('level', 'group', 'parent', 'name', 'share', 'topics')
        """
        rows: list[tuple[Any, ...]] = []

        def add(group: Group, parent: int | None) -> None:
            topics = ", ".join(map(str, group.topics))
            rows.append((group.level, group.number, parent, group.name, group.share, topics))
            for child in group.children:
                add(child, group.number)

        for group in self.roots():
            add(group, None)
        names = ("level", "group", "parent", "name", "share", "topics")
        return Table({name: [row[i] for row in rows] for i, name in enumerate(names)}, "hierarchy of topics")

    def plot_treemap(self) -> Any:
        """Draw the groups and topics as nested rectangles with areas by share.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure.

        Examples
        --------
        >>> len(hierarchy.plot_treemap().data)
        1
        """
        from tagtopic.models.analysis_plots import plot_treemap

        return plot_treemap(self)

    def plot_dendrogram(self) -> Any:
        """Draw the whole tree of topics.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure.

        Examples
        --------
        >>> len(hierarchy.plot_dendrogram().data) > 0
        True
        """
        from tagtopic.models.analysis_plots import plot_dendrogram

        return plot_dendrogram(self)

    def __repr__(self) -> str:
        sizes = " > ".join(map(str, [*self.levels, len(self.groups[0])]))
        return f"TopicHierarchy({sizes} topics)"

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    def _index(self, level: int) -> int:
        if level not in self.levels:
            raise ValueError(
                f"there is no level of {level} groups: the hierarchy has {', '.join(map(str, self.levels))}"
            )
        return self.levels.index(level)

    def _children(self, index: int, within: Any) -> tuple[Group, ...]:
        if index == len(self.levels):
            return ()
        groups, shares = self.groups[index], self.fitted.topic_shares_
        found = []
        for number in np.unique(groups[within]):
            own = within & (groups == number)
            found.append(
                Group(
                    self.levels[index], int(number), self.names[index][number],
                    tuple(np.flatnonzero(own).tolist()), float(shares[own].sum()), self._children(index + 1, own),
                )
            )  # fmt: skip
        return tuple(sorted(found, key=lambda group: -group.share))


def model_hierarchy(model: TagTopicModel, levels: Sequence[int], X: Any, tags: Any) -> TopicHierarchy:
    """Group the topics of a model."""
    n_topics = len(model.components_)
    given = [levels] if isinstance(levels, int) else list(levels)
    if not all(isinstance(level, int | np.integer) for level in given) or not 0 < len(set(given)) == len(given):
        raise ValueError(f"levels={levels!r}: expected different numbers of groups, such as [5, 20]")
    wanted = sorted(given)
    for level in wanted:
        if not 1 <= level <= n_topics:
            raise ValueError(f"levels: {level!r} groups cannot be made of {n_topics} topics")
    tree = np.empty((0, 4)) if n_topics == 1 else merge_tree(topic_distances(_similarities(model, X, tags)))
    groups = tuple(cut_tree(tree, int(level)) for level in wanted)
    names = []
    for i, own in enumerate(groups):
        found = sibling_names(model.components_, model.topic_shares_, own, groups[i - 1] if i else None, model.words_)
        # a group of one named topic keeps its name
        for number in range(len(found)):
            members = np.flatnonzero(own == number)
            if len(members) == 1 and model.topic_names_[members[0]]:
                found[number] = model.topic_names_[members[0]]
        names.append(tuple(found))
    return TopicHierarchy(tuple(map(int, wanted)), groups, tuple(names), tree, model)


def _similarities(model: TagTopicModel, X: Any, tags: Any) -> list[Float64s]:
    """By words, and by use: in documents if they are given, else by tags, if there are enough of them."""
    found = [word_similarity(model.components_)]
    if X is not None:
        found.append(use_similarity(model._posteriors(X, tags).topics, None))
    elif len(model.tag_names_) >= len(model.components_):
        found.append(use_similarity(model.tag_topics_, model.tag_frequencies_))
    return found


def merged_model(model: TagTopicModel, groups: Int64s, names: Sequence[str]) -> TagTopicModel:
    """Return a copy of a model in which groups of its topics are one topic each."""
    made = copy.copy(model)
    before = model._edits or TopicEdits.none(len(model.components_))
    restore_fitted(made)
    fitted = tuple(int(groups[topic]) for topic in before.groups)
    shown = {groups[topic] for topic in range(len(groups)) if topic not in before.hidden}
    hidden = tuple(group for group in range(len(names)) if group not in shown)
    sources = before.sources or ((),) * len(fitted)
    apply_edits(made, replace(before, groups=fitted, names=tuple(names), hidden=hidden, sources=sources))
    return made
