"""Questions of a review as files of annotation tools and spreadsheets, answers back from them, decisions as CSV.

A question is a flat record whose ``kind``, ``document``, ``tag`` and ``other`` identify the candidate, so that answers
are read without the model. All of a file is checked before anything is recorded.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagtopic.curation.decisions import COMMON, FIELDS, Decision
from tagtopic.curation.ledger import ID_DIGITS, NEW
from tagtopic.curation.queue import DUPLICATE, KINDS, Candidate

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.curation.ledger import Ledger
    from tagtopic.curation.queue import ReviewQueue

TEXT_CHARACTERS = 10_000
"""Characters of a text in a question."""

IDENTITY = ("kind", "document", "tag", "other")
QUESTION_COLUMNS = ("question", *IDENTITY, "probability", "tags", "text")
ANSWER_COLUMNS = ("answer", "correction", "why", "who")
LISTS = ("variants", "tags", "topics", "words")
OBJECTS = ("topic", "topics")
DECISION_COLUMNS = (*COMMON, *dict.fromkeys(name for fields in FIELDS.values() for name in fields))

YES, NO, UNANSWERED = {"yes", "y", "true", "1", "accept"}, {"no", "n", "false", "0", "reject"}, {"", "skip", "s"}

_GUARDED = re.compile(r"'*[=+\-@\t\r]")

LABEL_STUDIO_CONFIG = """<View>
  <Header value="$question"/>
  <Text name="text" value="$text"/>
  <Choices name="answer" toName="text" choice="single" required="true">
    <Choice value="yes"/><Choice value="no"/><Choice value="skip"/>
  </Choices>
  <TextArea name="correction" toName="text" maxSubmissions="1" placeholder="the right tag, if it is another one"/>
</View>
"""
"""The labelling interface of a Label Studio project for exported questions."""


@dataclass(frozen=True)
class Answer:
    """The answer of a person to a question.

    Attributes
    ----------
    candidate : Candidate
        What was asked.
    accept : bool or None
        Yes or no; None if it was not answered.
    correction : str, default=""
        The right tag, if it is another one.
    why, who : str, default=""
        The reason, and the person.

    Examples
    --------
    >>> from tagtopic.curation import Candidate
    >>> from tagtopic.curation.exchange import Answer
    >>> Answer(Candidate("suspicious", "space", 0.5, "17"), True, who="Ana").accept
    True
    """

    candidate: Candidate
    accept: bool | None
    correction: str = ""
    why: str = ""
    who: str = ""


@dataclass(frozen=True)
class Imported:
    """What an import has recorded.

    Attributes
    ----------
    recorded : int
        Decisions that were recorded.
    known : int
        Decisions that the ledger had, and answers to questions that it had decided.
    unanswered : int
        Questions without an answer.
    disputed : int
        Questions that people answered differently; none of these answers was recorded.

    Examples
    --------
    >>> from tagtopic.curation.exchange import Imported
    >>> Imported(recorded=3).known
    0
    """

    recorded: int = 0
    known: int = 0
    unanswered: int = 0
    disputed: int = 0


# ---- questions


def questions_of(queue: ReviewQueue, corpus: Corpus, n: int, kind: str | None = None) -> list[dict[str, Any]]:
    """Return the first questions of a queue as flat records.

    Parameters
    ----------
    queue : ReviewQueue
        The queue.
    corpus : Corpus
        The documents of its candidates.
    n : int
        How many, at most.
    kind : {"suspicious", "missing", "duplicate"} or None, default=None
        Questions of this kind only.

    Returns
    -------
    list of dict
        The question, what identifies its candidate, its probability, and the tags (as decided so far) and the text of
        the document.
    """
    found = []
    state = queue.ledger.state
    for candidate in queue.upcoming(n, kind):
        row = candidate.document_number
        text = corpus.texts[row] if row >= 0 and corpus.texts is not None else ""
        found.append(
            {
                "question": _question(candidate),
                **{name: getattr(candidate, name) for name in IDENTITY},
                "probability": round(queue.probability(candidate), 4),
                "tags": ", ".join(state.corrected_tags(candidate.document, corpus[row].tags)) if row >= 0 else "",
                "text": text[:TEXT_CHARACTERS] or _question(candidate),  # annotation tools need a text
            }
        )
    return found


def _question(candidate: Candidate) -> str:
    if candidate.kind == DUPLICATE:
        return f"Are {candidate.tag} and {candidate.other} one tag?"
    return f"Is {candidate.tag} {'wrong' if candidate.kind == 'suspicious' else 'missing'} on {candidate.document}?"


def label_studio_tasks(questions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return questions as tasks of Label Studio, whose labelling interface is ``LABEL_STUDIO_CONFIG``.

    Parameters
    ----------
    questions : iterable of dict
        As `questions_of` returns them.

    Returns
    -------
    list of dict
        The content of a JSON file to import there.
    """
    return [{"data": dict(question)} for question in questions]


def argilla_records(questions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return questions as records of Argilla 2, with the fields "question" and "text" and the question "answer".

    Parameters
    ----------
    questions : iterable of dict
        As `questions_of` returns them.

    Returns
    -------
    list of dict
        The records, as ``dataset.records.to_json`` writes them.
    """
    return [
        {
            "id": _candidate(question, "").key,
            "fields": {"question": question["question"], "text": question["text"]},
            "metadata": {**{name: question[name] for name in IDENTITY}, "probability": question["probability"]},
            "suggestions": {},
            "responses": {},
            "vectors": {},
        }
        for question in questions
    ]


def question_csv(questions: Iterable[Mapping[str, Any]]) -> str:
    """Return questions as CSV for a spreadsheet, with empty columns for the answers.

    Parameters
    ----------
    questions : iterable of dict
        As `questions_of` returns them.

    Returns
    -------
    str
        The content of the file, with a byte order mark.
    """
    blank = dict.fromkeys(ANSWER_COLUMNS, "")
    return _to_csv(({**question, **blank} for question in questions), (*QUESTION_COLUMNS, *ANSWER_COLUMNS))


# ---- answers


def record_answers(ledger: Ledger, answers: Iterable[Answer]) -> Imported:
    """Record the answers to questions that are undecided, all in one write.

    A question that people answered differently is left undecided.

    Parameters
    ----------
    ledger : Ledger
        The ledger.
    answers : iterable of Answer
        The answers.

    Returns
    -------
    Imported
        What was recorded, and what was not.
    """
    ledger.refresh()
    state = ledger.state
    unanswered = known = disputed = 0
    given: dict[str, list[Answer]] = {}
    for answer in answers:
        given.setdefault(answer.candidate.key, []).append(answer)
    decisions: list[Decision] = []
    for same in given.values():
        answered = [answer for answer in same if answer.accept is not None or answer.correction]
        first = answered[0] if answered else same[0]
        if not answered:
            unanswered += 1
        elif first.candidate.outcome(state) is not None:
            known += 1
        elif len({(answer.accept, answer.correction) for answer in answered}) > 1:
            disputed += 1
        else:
            decisions += _decisions_of(first, ledger.who)
    ledger.extend(decisions)
    return Imported(len(decisions), known, unanswered, disputed)


def _decisions_of(answer: Answer, who: str) -> list[Decision]:
    if answer.correction:
        made = answer.candidate.correction(answer.correction)
    else:
        made = [answer.candidate.decision(accept=bool(answer.accept))]
    common = {"id": NEW, "who": answer.who or who, "why": answer.why}
    return [Decision.from_json({**fields, **common, "what": what}) for what, fields in made]


def parse_answers(records: Sequence[Any], where: str) -> list[Answer]:
    """Return the answers in an export of Label Studio (JSON, JSON-MIN) or Argilla.

    Parameters
    ----------
    records : list of dict
        The content of the file.
    where : str
        Its name, for error messages.

    Returns
    -------
    list of Answer
        One per question and person; ``accept`` is None where nobody has answered.

    Raises
    ------
    ValueError
        If a record is not a question of an export, or an answer is neither yes nor no.
    """
    found: list[Answer] = []
    for number, record in enumerate(records, 1):
        place = f"{where}, record {number}"
        if not isinstance(record, dict):
            raise ValueError(f"{place}: expected an object")
        if isinstance(record.get("data"), dict):
            candidate, given = _candidate(record["data"], place), _label_studio_answers(record, place)
        elif isinstance(record.get("fields"), dict):
            candidate, given = _candidate(record.get("metadata"), place), _argilla_answers(record, place)
        else:  # JSON-MIN: the data and the answer in one object
            candidate = _candidate(record, place)
            who = record.get("annotator", "")
            given = [{"answer": record.get("answer", ""), "correction": record.get("correction", ""), "who": who}]
        found += [_answer(candidate, values, place) for values in given or [{}]]
    return found


def _label_studio_answers(record: Mapping[str, Any], place: str) -> list[dict[str, Any]]:
    found = []
    for annotation in _objects(record.get("annotations"), "annotations", place):
        if annotation.get("was_cancelled"):
            continue
        values: dict[str, Any] = {"who": _person(annotation.get("completed_by"))}
        for result in _objects(annotation.get("result"), "result", place):
            value = result.get("value")
            if isinstance(value, dict) and result.get("from_name") in ("answer", "correction", "why"):
                values[result["from_name"]] = value.get("choices", value.get("text", ""))
        found.append(values)
    return found


def _argilla_answers(record: Mapping[str, Any], place: str) -> list[dict[str, Any]]:
    responses = record.get("responses") or {}
    by_person: dict[str, dict[str, Any]] = {}
    if isinstance(responses, dict):  # Argilla 2: by question
        for name, given in responses.items():
            for response in _objects(given, "responses", place):
                if response.get("status") not in ("discarded", "draft"):
                    who = str(response.get("user_id") or "")
                    by_person.setdefault(who, {"who": who})[name] = response.get("value", "")
        return list(by_person.values())
    found = []
    for response in _objects(responses, "responses", place):  # Argilla 1: by person
        values = response.get("values")
        if response.get("status") in ("discarded", "draft") or not isinstance(values, dict):
            continue
        given = {name: value.get("value", "") if isinstance(value, dict) else value for name, value in values.items()}
        found.append({**given, "who": str(response.get("user_id") or "")})
    return found


def _objects(value: Any, name: str, place: str) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise ValueError(f'{place}: "{name}" is not a list of objects')
    return value


def _person(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("email") or value.get("id") or ""
    return "" if value is None else str(value)


def _candidate(values: Any, place: str) -> Candidate:
    if not isinstance(values, Mapping):
        raise ValueError(f"{place}: it does not name the question")
    given = {name: values.get(name) or "" for name in IDENTITY}
    needed = ("tag", "other") if given["kind"] == DUPLICATE else ("tag", "document")
    if given["kind"] not in KINDS or any(not isinstance(value, str) for value in given.values()):
        raise ValueError(f'{place}: "kind" is {given["kind"]!r:.40}, expected one of {", ".join(KINDS)}')
    for name in needed:
        if not given[name].strip():
            raise ValueError(f'{place}: "{name}" is empty: keep the columns of the question as they were exported')
    return Candidate(given["kind"], given["tag"], 0.5, given["document"], other=given["other"])


def _answer(candidate: Candidate, values: Mapping[str, Any], place: str) -> Answer:
    texts = {name: _one_text(values.get(name), name, place) for name in ANSWER_COLUMNS}
    word = texts["answer"].casefold()
    if word not in YES | NO | UNANSWERED:
        raise ValueError(f"{place}: the answer is {texts['answer']!r:.40}, expected yes, no or skip")
    accept = None if word in UNANSWERED else word in YES
    answer = Answer(candidate, accept, texts["correction"], texts["why"], texts["who"])
    try:
        if accept is not None or answer.correction:
            _decisions_of(answer, "")
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    return answer


def _one_text(value: Any, name: str, place: str) -> str:
    if isinstance(value, dict):
        value = value.get("choices", value.get("text", ""))
    if isinstance(value, list):
        if len(value) > 1:
            raise ValueError(f'{place}: "{name}" has {len(value)} values, expected one')
        value = value[0] if value else ""
    if value is None:
        return ""
    if isinstance(value, bool | int):
        value = str(value)
    if not isinstance(value, str):
        raise ValueError(f'{place}: "{name}" is not a text')
    return value.strip()


# ---- CSV


def decision_csv(decisions: Iterable[Decision]) -> str:
    """Return decisions as CSV for a spreadsheet; lists and topics are JSON in a cell.

    Cells that a spreadsheet would evaluate as a formula begin with an apostrophe, which `read_csv` removes.

    Parameters
    ----------
    decisions : iterable of Decision
        The decisions.

    Returns
    -------
    str
        The content of the file, with a byte order mark.
    """
    return _to_csv((_flat(decision) for decision in decisions), DECISION_COLUMNS)


def _flat(decision: Decision) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in decision.to_json().items()
    }


def _to_csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, quoting=csv.QUOTE_ALL, restval="")
    writer.writeheader()
    writer.writerows({name: guarded(value) for name, value in row.items()} for row in rows)
    return "\ufeff" + text.getvalue()


def guarded(value: Any) -> Any:
    """Return a cell with an apostrophe before it if a spreadsheet would evaluate it as a formula."""
    return f"'{value}" if isinstance(value, str) and _GUARDED.match(value) else value


def unguarded(value: str) -> str:
    """Return what `guarded` was given."""
    return value[1:] if value.startswith("'") and _GUARDED.match(value) else value


def read_csv(path: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Read a table that a spreadsheet has saved: UTF-8, separated by commas, semicolons or tabs.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    tuple of list and list
        The columns, and the rows with the numbers of their lines.

    Raises
    ------
    ValueError
        If it is not UTF-8, has no header, or a row has more cells than the header.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: it is not UTF-8: save it as CSV UTF-8") from None
    first = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), restkey="")
    rows = []
    try:
        columns = [name.strip() for name in reader.fieldnames or []]
        reader.fieldnames = columns
        for row in reader:
            if "" in row and any(row[""]):
                raise ValueError(f"{path}, line {reader.line_num}: it has more cells than the header")
            cells = {name: unguarded(value or "") for name, value in row.items() if name}
            if any(value.strip() for value in cells.values()):
                rows.append((reader.line_num, cells))
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}") from None
    if not columns:
        raise ValueError(f"{path}: it is empty")
    return columns, rows


def parse_rows(columns: Sequence[str], rows: Iterable[tuple[int, dict[str, str]]], where: str) -> Iterator[Decision]:
    """Yield the decisions of a table; the id of a row without one is a digest of its content.

    Parameters
    ----------
    columns : list of str
        The columns; "what" and those of its fields are needed.
    rows : iterable of (int, dict)
        The rows with the numbers of their lines.
    where : str
        The name of the file, for error messages.

    Yields
    ------
    Decision
        The decisions, in the order of the rows.

    Raises
    ------
    ValueError
        If a row is not a decision; the message has its line.
    """
    unknown = [name for name in columns if name and name not in DECISION_COLUMNS]
    if unknown:
        raise ValueError(f"{where}: there is no column {unknown[0]!r:.60}; there are {', '.join(DECISION_COLUMNS)}")
    for line, row in rows:
        try:
            record: dict[str, Any] = {name: _value(name, text) for name, text in row.items() if text}
            decision = Decision.from_json({"id": NEW, **record})
            yield decision if "id" in record else replace(decision, id=_digest(row))
        except ValueError as error:
            raise ValueError(f"{where}, line {line}: {error}") from None


def _digest(row: Mapping[str, str]) -> str:
    """An id by which a row is known again when its file is imported a second time."""
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode(errors="surrogatepass")).hexdigest()[:ID_DIGITS]


def _value(name: str, text: str) -> Any:
    if name in OBJECTS or (name in LISTS and text.lstrip().startswith("[")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError(f'"{name}" is not JSON: {text!r:.60}') from None
    return [text] if name in LISTS else text


def parse_table(path: Path) -> list[Answer] | list[Decision]:
    """Return the answers or the decisions of a table, by its columns.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    list of Answer or list of Decision
        Answers if there is a column "answer".
    """
    columns, rows = read_csv(path)
    if "answer" in columns:
        return [_answer(_candidate(row, f"{path}, line {n}"), row, f"{path}, line {n}") for n, row in rows]
    if "what" not in columns:
        raise ValueError(f'{path}: it has neither a column "what" (decisions) nor "answer" (answers to questions)')
    return list(parse_rows(columns, rows, str(path)))
