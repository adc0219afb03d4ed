"""What models say, as answers: the same topics table after a fit, on request, and in the demo."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tagtopic.cli.output import Answer, Column, Made

if TYPE_CHECKING:
    from tagtopic.models._base import TagTopicModel

Ranked = Sequence[tuple[str, float]]


def topics_answer(
    model: TagTopicModel, *, topics: Iterable[int] | None = None, n_words: int = 10, n_tags: int = 5
) -> Answer:
    """The topics, largest first, each with its words and tags."""
    shares = model.topic_shares_.tolist()
    chosen = list(topics) if topics is not None else sorted(range(len(shares)), key=lambda k: -shares[k])
    described = [(topic, model.top_words(topic, n_words), model.top_tags(topic, n_tags)) for topic in chosen]
    found = [(topic, shares[topic], words, tags) for topic, words, tags in described]
    return Answer(
        title=f"{len(found)} topics of {len(shares)}" if len(found) < len(shares) else f"{len(shares)} topics",
        columns=[
            Column("topic", number=True),
            Column("share", number=True),
            Column("words", ratio=3),
            Column("tags", ratio=2),
        ],
        lines=[[str(k), percent(share), names(words), names(tags, ", ")] for k, share, words, tags in found],
        value=[
            {"topic": k, "share": share, "words": records(words, "word"), "tags": records(tags, "tag")}
            for k, share, words, tags in found
        ],
        rows=[
            {"topic": k, "share": share, "rank": rank, "word": word, "probability": probability}
            for k, share, words, _ in found
            for rank, (word, probability) in enumerate(words, 1)
        ],
    )


def tags_answer(model: TagTopicModel, chosen: Sequence[str], n_words: int = 5) -> Answer:
    """Several tags, each with how often it is used and its main topics."""
    frequency = dict(zip(model.tag_names_, model.tag_frequencies_.tolist(), strict=True))
    found = [(tag, frequency[tag], model.top_topics(tag, 3)) for tag in chosen]
    return Answer(
        title=f"{len(found):,} tags of {len(model.tag_names_):,}",
        columns=[Column("tag"), Column("documents", number=True), Column("topics", ratio=1)],
        lines=[[tag, percent(used), _topics_in_words(model, _main(mix), n_words)] for tag, used, mix in found],
        value=[{"tag": tag, "frequency": used, "topics": topic_records(model, mix)} for tag, used, mix in found],
        rows=[
            {"tag": tag, "frequency": used, "topic": topic, "share": share}
            for tag, used, mix in found
            for topic, share in mix
        ],
    )


def tag_answer(model: TagTopicModel, tag: str, n: int = 10) -> Answer:
    """One tag: its topics, its words, and the tags most like it."""
    mix, words, similar = model.top_topics(tag, n), model.tag_words(tag, n), model.similar_tags(tag, n)
    lines = [
        ["topics", _topics_in_words(model, _main(mix), 6)],
        ["words", names(words)],
        ["like it", ", ".join(f"{name} {likeness:.2f}" for name, likeness in similar)],
    ]
    return Answer(
        title=tag,
        columns=[Column(""), Column("", ratio=1)],
        lines=lines,
        value={
            "tag": tag,
            "topics": topic_records(model, mix),
            "words": records(words, "word"),
            "similar": records(similar, "tag", "likeness"),
        },
        rows=[{"tag": tag, "topic": topic, "share": share} for topic, share in mix],
    )


def weights_answer(title: str, documents: Sequence[tuple[str, Ranked]], n: int | None = None) -> Answer:
    """The (first n) tags of each document by weight, and what no tag explains: the share of its latent tag.

    A document without tags has one row, whose tag is empty.
    """
    found = [(name, tags[:n], max(0.0, 1.0 - sum(weight for _, weight in tags))) for name, tags in documents]
    return Answer(
        title=title,
        columns=[Column("document"), Column("no tag", number=True), Column("tags", ratio=1)],
        lines=[[name, f"{rest:.2f}", _weighed(tags)] for name, tags, rest in found],
        value=[{"id": name, "tags": records(tags, "tag", "weight"), "no_tag": rest} for name, tags, rest in found],
        rows=[
            {"id": name, "rank": rank, "tag": tag, "weight": weight, "no_tag": rest}
            for name, tags, rest in found
            for rank, tag, weight in _ranks(tags) or [(None, None, None)]
        ],
        fields={"id": str, "rank": int, "tag": str, "weight": float, "no_tag": float},
    )


def predictions_answer(title: str, documents: Sequence[tuple[str, Ranked]]) -> Answer:
    """The most probable tags of each document."""
    return Answer(
        title=title,
        columns=[Column("document"), Column("tags", ratio=1)],
        lines=[[name, _weighed(tags)] for name, tags in documents],
        value=[{"id": name, "tags": records(tags, "tag")} for name, tags in documents],
        rows=[
            {"id": name, "rank": rank, "tag": tag, "probability": probability}
            for name, tags in documents
            for rank, tag, probability in _ranks(tags)
        ],
        fields={"id": str, "rank": int, "tag": str, "probability": float},
    )


def mixes_answer(title: str, ids: Sequence[str], mixes: Any) -> Answer:
    """The topic mix of each document: (documents, topics)."""
    topics = [f"topic_{k}" for k in range(mixes.shape[1])]

    def table() -> Any:
        import pyarrow as pa

        columns = {name: mixes[:, k].astype("float64") for k, name in enumerate(topics)}
        return pa.table({"id": pa.array(ids, pa.string()), **columns})

    def row(d: int) -> dict[str, Any]:
        return {"id": ids[d], **dict(zip(topics, mixes[d].tolist(), strict=True))}

    return Answer(
        title=title,
        columns=[Column("document"), Column("topics", ratio=1)],
        lines=Made(len(ids), lambda d: [ids[d], _largest(mixes[d].tolist())]),
        value=Made(len(ids), lambda d: {"id": ids[d], "topics": mixes[d].tolist()}),
        rows=Made(len(ids), row),
        table=table,
        fields={"id": str, **dict.fromkeys(topics, float)},
    )


def _largest(mix: list[float]) -> str:
    order = sorted(range(len(mix)), key=lambda topic: -mix[topic])[:5]
    return ", ".join(f"{topic} {percent(mix[topic])}" for topic in order)


def figures_answer(title: str, figures: dict[str, Any]) -> Answer:
    """Names and figures."""
    return Answer(
        title=title,
        columns=[Column(""), Column("", ratio=1)],
        lines=[[name.replace("_", " "), _figure(value)] for name, value in figures.items()],
        value=figures,
        rows=[figures],
    )


def records(ranked: Ranked, name: str, measure: str = "probability") -> list[dict[str, Any]]:
    """Ranked names as JSON records."""
    return [{name: item, measure: value} for item, value in ranked]


def topic_records(model: TagTopicModel, mix: Sequence[tuple[int, float]], n_words: int = 10) -> list[dict[str, Any]]:
    """A topic mix as JSON records, each topic with its words."""
    return [
        {"topic": topic, "share": share, "words": [word for word, _ in model.top_words(topic, n_words)]}
        for topic, share in mix
    ]


def names(ranked: Ranked, separator: str = " ") -> str:
    """Only the names of what is ranked."""
    return separator.join(name for name, _ in ranked)


def percent(share: float) -> str:
    """A share as a person reads it."""
    return f"{100 * share:.1f}%"


def _main(mix: Sequence[tuple[int, float]], least: float = 0.05) -> Sequence[tuple[int, float]]:
    """The first topic, and the others that have a real share."""
    return [*mix[:1], *((topic, weight) for topic, weight in mix[1:] if weight >= least)]


def _topics_in_words(model: TagTopicModel, mix: Sequence[tuple[int, float]], n_words: int) -> str:
    return "; ".join(f"{percent(weight)} {names(model.top_words(topic, n_words))} ({topic})" for topic, weight in mix)


def _ranks(ranked: Ranked) -> list[tuple[int | None, str | None, float | None]]:
    return [(rank, name, value) for rank, (name, value) in enumerate(ranked, 1)]


def _weighed(tags: Ranked) -> str:
    return ", ".join(f"{tag} {weight:.2f}" for tag, weight in tags)


def _figure(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
