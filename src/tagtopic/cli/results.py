"""Results about models that several commands output: topics, tags, weights, predictions, topic mixes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tagtopic.cli.output import Column, LazyRows, Result

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel

Ranked = Sequence[tuple[str, float]]


def topics_result(
    model: TagTopicModel, *, topics: Iterable[int] | None = None, n_words: int = 10, n_tags: int = 5
) -> Result:
    """Topics, largest first, with their words, tags and names; without hidden ones unless they are asked for."""
    shares, topic_names, hidden = model.topic_shares_.tolist(), model.topic_names_, model.hidden_topics_
    shown = [topic for topic in range(len(shares)) if topic not in hidden]
    chosen = list(topics) if topics is not None else sorted(shown, key=lambda k: -shares[k])
    described = [(topic, model.top_words(topic, n_words), model.top_tags(topic, n_tags)) for topic in chosen]
    found = [(topic, shares[topic], words, tags) for topic, words, tags in described]
    named = any(topic_names[topic] for topic in chosen)
    return Result(
        title=f"{len(found)} topics of {len(shares)}" if len(found) < len(shares) else f"{len(shares)} topics",
        columns=[
            Column("topic", number=True),
            Column("share", number=True),
            *([Column("name")] if named else []),
            Column("words", ratio=3),
            Column("tags", ratio=2),
        ],
        lines=[
            [str(k), percent(share), *([topic_names[k]] if named else []), names(words), names(tags, ", ")]
            for k, share, words, tags in found
        ],
        value=[
            {
                "topic": k,
                "name": topic_names[k],
                "share": share,
                "words": records(words, "word"),
                "tags": records(tags, "tag"),
            }
            for k, share, words, tags in found
        ],
        rows=[
            {
                "topic": k,
                "name": topic_names[k],
                "share": share,
                "rank": rank,
                "word": word,
                "probability": probability,
            }
            for k, share, words, _ in found
            for rank, (word, probability) in enumerate(words, 1)
        ],
    )


def tags_result(model: TagTopicModel, chosen: Sequence[str], n_words: int = 5) -> Result:
    """Tags with their frequencies and main topics."""
    frequency = dict(zip(model.tag_names_, model.tag_frequencies_.tolist(), strict=True))
    found = [(tag, frequency[tag], model.top_topics(tag, 3)) for tag in chosen]
    return Result(
        title=f"{len(found):,} tags of {len(model.tag_names_):,}",
        columns=[Column("tag"), Column("documents", number=True), Column("topics", ratio=1)],
        lines=[[tag, percent(used), _format_topics(model, _main_topics(mix), n_words)] for tag, used, mix in found],
        value=[{"tag": tag, "frequency": used, "topics": topic_records(model, mix)} for tag, used, mix in found],
        rows=[
            {"tag": tag, "frequency": used, "topic": topic, "share": share}
            for tag, used, mix in found
            for topic, share in mix
        ],
    )


def tag_result(model: TagTopicModel, tag: str, n: int = 10) -> Result:
    """One tag: topics, words and similar tags."""
    mix, words, similar = model.top_topics(tag, n), model.tag_words(tag, n), model.similar_tags(tag, n)
    lines = [
        ["topics", _format_topics(model, _main_topics(mix), 6)],
        ["words", names(words)],
        ["similar", ", ".join(f"{name} {similarity:.2f}" for name, similarity in similar)],
    ]
    return Result(
        title=tag,
        columns=[Column(""), Column("", ratio=1)],
        lines=lines,
        value={
            "tag": tag,
            "topics": topic_records(model, mix),
            "words": records(words, "word"),
            "similar": records(similar, "tag", "similarity"),
        },
        rows=[{"tag": tag, "topic": topic, "share": share} for topic, share in mix],
    )


def weights_result(title: str, documents: Sequence[tuple[str, Ranked]], n: int | None = None) -> Result:
    """The n tags of largest weight of each document, and the weight of its latent tag (``no_tag``).

    A document without tags has one row with an empty tag.
    """
    found = [(name, tags[:n], max(0.0, 1.0 - sum(weight for _, weight in tags))) for name, tags in documents]
    return Result(
        title=title,
        columns=[Column("document"), Column("no tag", number=True), Column("tags", ratio=1)],
        lines=[[name, f"{rest:.2f}", _with_values(tags)] for name, tags, rest in found],
        value=[{"id": name, "tags": records(tags, "tag", "weight"), "no_tag": rest} for name, tags, rest in found],
        rows=[
            {"id": name, "rank": rank, "tag": tag, "weight": weight, "no_tag": rest}
            for name, tags, rest in found
            for rank, tag, weight in _enumerate_ranked(tags) or [(None, None, None)]
        ],
        fields={"id": str, "rank": int, "tag": str, "weight": float, "no_tag": float},
    )


def predictions_result(title: str, documents: Sequence[tuple[str, Ranked]]) -> Result:
    """The most probable tags of each document."""
    return Result(
        title=title,
        columns=[Column("document"), Column("tags", ratio=1)],
        lines=[[name, _with_values(tags)] for name, tags in documents],
        value=[{"id": name, "tags": records(tags, "tag")} for name, tags in documents],
        rows=[
            {"id": name, "rank": rank, "tag": tag, "probability": probability}
            for name, tags in documents
            for rank, tag, probability in _enumerate_ranked(tags)
        ],
        fields={"id": str, "rank": int, "tag": str, "probability": float},
    )


def topic_mixes_result(title: str, ids: Sequence[str], mixes: Any) -> Result:
    """Topic mixes of documents: (documents, topics)."""
    topics = [f"topic_{k}" for k in range(mixes.shape[1])]

    def table() -> Any:
        import pyarrow as pa

        columns = {name: mixes[:, k].astype("float64") for k, name in enumerate(topics)}
        return pa.table({"id": pa.array(ids, pa.string()), **columns})

    def row(d: int) -> dict[str, Any]:
        return {"id": ids[d], **dict(zip(topics, mixes[d].tolist(), strict=True))}

    return Result(
        title=title,
        columns=[Column("document"), Column("topics", ratio=1)],
        lines=LazyRows(len(ids), lambda d: [ids[d], _format_mix(mixes[d].tolist())]),
        value=LazyRows(len(ids), lambda d: {"id": ids[d], "topics": mixes[d].tolist()}),
        rows=LazyRows(len(ids), row),
        table=table,
        fields={"id": str, **dict.fromkeys(topics, float)},
    )


def _format_mix(mix: list[float]) -> str:
    order = sorted(range(len(mix)), key=lambda topic: -mix[topic])[:5]
    return ", ".join(f"{topic} {percent(mix[topic])}" for topic in order)


def summary_result(title: str, values: dict[str, Any]) -> Result:
    """Named values."""
    return Result(
        title=title,
        columns=[Column(""), Column("", ratio=1)],
        lines=[[name.replace("_", " "), _format_value(value)] for name, value in values.items()],
        value=values,
        rows=[values],
    )


def records(ranked: Ranked, name: str, measure: str = "probability") -> list[dict[str, Any]]:
    """Ranked names as JSON records."""
    return [{name: item, measure: value} for item, value in ranked]


def topic_records(model: TagTopicModel, mix: Sequence[tuple[int, float]], n_words: int = 10) -> list[dict[str, Any]]:
    """A topic mix as JSON records, with the words of each topic."""
    return [
        {
            "topic": topic,
            "name": model.topic_names_[topic],
            "share": share,
            "words": [word for word, _ in model.top_words(topic, n_words)],
        }
        for topic, share in mix
    ]


def names(ranked: Ranked, separator: str = " ") -> str:
    """Ranked names without their values."""
    return separator.join(name for name, _ in ranked)


def percent(share: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100 * share:.1f}%"


def _main_topics(mix: Sequence[tuple[int, float]], min_share: float = 0.05) -> Sequence[tuple[int, float]]:
    """The topics with at least ``min_share``; the first in any case."""
    return [*mix[:1], *((topic, weight) for topic, weight in mix[1:] if weight >= min_share)]


def _format_topics(model: TagTopicModel, mix: Sequence[tuple[int, float]], n_words: int) -> str:
    labels = model.topic_names_
    return "; ".join(
        f"{percent(weight)} {labels[topic] or names(model.top_words(topic, n_words))} ({topic})"
        for topic, weight in mix
    )


def _enumerate_ranked(ranked: Ranked) -> list[tuple[int | None, str | None, float | None]]:
    return [(rank, name, value) for rank, (name, value) in enumerate(ranked, 1)]


def _with_values(tags: Ranked) -> str:
    return ", ".join(f"{tag} {weight:.2f}" for tag, weight in tags)


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
