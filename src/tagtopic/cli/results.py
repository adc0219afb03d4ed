"""Results about models that several commands output: topics, tags, weights, predictions, topic mixes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size

from tagtopic.cli.output import Column, LazyRows, Result

if TYPE_CHECKING:
    from tagtopic._core.frames import Ranking
    from tagtopic.corpus import Corpus
    from tagtopic.models._base import TagTopicModel
    from tagtopic.tagging.ranking import RankedTag
    from tagtopic.tagging.reasons import TagReasons

Ranked = Sequence[tuple[str, float]]

TITLE_WIDTH = 40
"""Characters of a title in printed tables."""

EMPTY_TAG: dict[str, Any] = {"tag": None, "weight": None, "low": None, "high": None, "place": None}
"""The row of a document without tags."""


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
    own_shares = dict(zip(model.tag_names_, model.own_words_.sum(axis=1).tolist(), strict=True))
    found = [(tag, frequency[tag], model.top_topics(tag, 3)) for tag in chosen]
    itself = {tag: model.top_topics(tag, 3, of="tag") for tag in chosen}
    own_words = {tag: model.top_own_words(tag, n_words) for tag in chosen}
    has_own = any(own_words.values())
    columns = [Column("tag"), Column("documents", number=True), Column("topics of its documents", ratio=3)]

    def own(tag: str) -> list[str]:
        if not has_own:
            return []
        return [f"{percent(own_shares[tag])} {names(own_words[tag])}" if own_words[tag] else "–"]

    return Result(
        title=f"{len(found):,} tags of {len(model.tag_names_):,}",
        columns=[*columns, Column("own words", ratio=2)] if has_own else columns,
        lines=[
            [tag, percent(used), _format_topics(model, _main_topics(mix), n_words), *own(tag)]
            for tag, used, mix in found
        ],
        value=[
            {
                "tag": tag,
                "frequency": used,
                "topics": topic_records(model, mix),
                "tag_topics": topic_records(model, itself[tag]),
                "own_share": own_shares[tag],
                "own_words": records(own_words[tag], "word"),
            }
            for tag, used, mix in found
        ],
        rows=[
            {"tag": tag, "frequency": used, "topic": topic, "share": share}
            for tag, used, mix in found
            for topic, share in mix
        ],
    )


def tag_result(model: TagTopicModel, tag: str, n: int = 10) -> Result:
    """One tag: topics, words and similar tags."""
    mix, words, similar = model.top_topics(tag, n), model.tag_words(tag, n), model.similar_tags(tag, n)
    itself = model.top_topics(tag, n, of="tag")
    own_words = model.top_own_words(tag, n)
    lines = [
        ["its documents", _format_topics(model, _main_topics(mix), 6)],
        ["the tag itself", _format_topics(model, _main_topics(itself), 6)],
        ["words", names(words)],
        *([["own words", names(own_words)]] if own_words else []),
        ["similar", ", ".join(f"{name} {similarity:.2f}" for name, similarity in similar)],
    ]
    return Result(
        title=tag,
        columns=[Column(""), Column("", ratio=1)],
        lines=lines,
        value={
            "tag": tag,
            "topics": topic_records(model, mix),
            "tag_topics": topic_records(model, itself),
            "words": records(words, "word"),
            "own_words": records(own_words, "word"),
            "similar": records(similar, "tag", "similarity"),
        },
        rows=[{"tag": tag, "topic": topic, "share": share} for topic, share in mix],
    )


def weights_result(
    title: str,
    documents: Sequence[tuple[str, Ranked]],
    n: int | None = None,
    intervals: Sequence[Sequence[RankedTag]] | None = None,
) -> Result:
    """The n tags of largest weight of each document, and the weight of its latent tag (``no_tag``).

    A document without tags has one row with an empty tag. ``intervals`` may be of the first documents only; if they
    are of all, they are part of JSON and of files.
    """
    found = [(name, tags[:n], max(0.0, 1.0 - sum(weight for _, weight in tags))) for name, tags in documents]
    if intervals is not None:
        return _interval_result(title, found, [tags[:n] for tags in intervals])
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


def _interval_result(
    title: str, found: Sequence[tuple[str, Ranked, float]], intervals: Sequence[Sequence[RankedTag]]
) -> Result:
    def lines(i: int) -> list[str]:
        name, tags, rest = found[i]
        shown = _with_ties(intervals[i]) if i < len(intervals) else _with_values(tags)
        return [name, f"{rest:.2f}", shown]

    plain = weights_result(title, [(name, tags) for name, tags, _ in found])
    value, rows, fields = plain.value, plain.rows, plain.fields
    if len(intervals) == len(found):
        value = [
            {"id": name, "tags": [asdict(tag) for tag in tags], "no_tag": rest}
            for (name, _, rest), tags in zip(found, intervals, strict=True)
        ]
        rows = [
            {"id": record["id"], "rank": rank, **tag, "no_tag": record["no_tag"]}
            for record in value
            for rank, tag in _numbered(record["tags"])
        ]
        ends = {"low": float, "high": float, "place": int}
        fields = {"id": str, "rank": int, "tag": str, "weight": float, **ends, "no_tag": float}
    return Result(
        title=f"{title} (90% intervals; = between tags whose order is not certain)",
        columns=plain.columns,
        lines=LazyRows(len(found), lines),
        value=value,
        rows=rows,
        fields=fields,
    )


def predictions_result(
    title: str, documents: Sequence[tuple[str, Ranked]], reasons: Sequence[Sequence[TagReasons]] | None = None
) -> Result:
    """The most probable tags of each document, and in JSON the reasons for them."""
    values = [{"id": name, "tags": records(tags, "tag")} for name, tags in documents]
    for value, found in zip(values, reasons or (), strict=bool(reasons)):
        value["reasons"] = [reason.to_record() for reason in found]
    return Result(
        title=title,
        columns=[Column("document"), Column("tags", ratio=1)],
        lines=[[name, _with_values(tags)] for name, tags in documents],
        value=values,
        rows=[
            {"id": name, "rank": rank, "tag": tag, "probability": probability}
            for name, tags in documents
            for rank, tag, probability in _enumerate_ranked(tags)
        ],
        fields={"id": str, "rank": int, "tag": str, "probability": float},
    )


def similar_result(title: str, ranked: Ranking[str]) -> Result:
    """The documents most similar to another, with their titles if they have any."""
    titles = ranked.titles or [""] * len(ranked)
    entries = [
        {"id": name, **({} if ranked.titles is None else {"title": text}), "similarity": value}
        for (name, value), text in zip(ranked, titles, strict=True)
    ]
    named = {} if ranked.titles is None else {"title": str}
    return Result(
        title=title,
        columns=[Column("document", ratio=1), Column("similarity", number=True)],
        lines=[[titled(name, titles, i, 100), f"{value:.3f}"] for i, (name, value) in enumerate(ranked)],
        value=entries,
        rows=[{"rank": rank, **entry} for rank, entry in enumerate(entries, 1)],
        fields={"rank": int, "id": str, **named, "similarity": float},
    )


def with_titles(result: Result, corpus: Corpus) -> Result:
    """Put the titles of documents beside their ids, in a result with one line and one record per document."""
    titles = corpus.titles
    if titles is None or len(titles) != len(result.lines):
        return result

    def line(i: int) -> list[str]:
        name, *rest = result.lines[i]
        return [titled(name, titles, i), *rest]

    def record(i: int) -> dict[str, Any]:
        name, *rest = result.value[i].items()
        return dict([name, ("title", titles[i]), *rest])

    n = len(result.lines)
    return replace(result, lines=LazyRows(n, line), value=LazyRows(n, record))


def titled(name: str, titles: Sequence[str] | None, number: int, width: int = TITLE_WIDTH) -> str:
    """The id of a document with its title, if it has one, cut to a width in a terminal."""
    title = "" if titles is None else titles[number]
    if not title:
        return name
    return f"{name}: {title if cell_len(title) <= width else set_cell_size(title, width - 1).rstrip() + '…'}"


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


def _numbered(tags: Sequence[dict[str, Any]]) -> list[tuple[int | None, dict[str, Any]]]:
    """Tags with their ranks; an empty one if there are none."""
    return [*enumerate(tags, 1)] or [(None, EMPTY_TAG)]


def _with_ties(tags: Sequence[RankedTag]) -> str:
    """Tags by weight, with their intervals; = before a tag whose interval overlaps that of the one before."""
    parts: list[str] = []
    for i, tag in enumerate(tags):
        if i:
            parts.append("=" if tag.high >= tags[i - 1].low else ">")
        parts.append(f"{tag.tag} {tag.weight:.2f} ({tag.low:.2f}–{tag.high:.2f})")
    return " ".join(parts)


def _with_values(tags: Ranked) -> str:
    return ", ".join(f"{tag} {weight:.2f}" for tag, weight in tags)


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
