"""A thesaurus as the canonical list of tags: preferred names and their alternatives, from SKOS or TSV files.

SKOS is read from Turtle, N-Triples and RDF/XML: the labels of concepts (``skos:prefLabel``, ``altLabel``,
``hiddenLabel``) and which concepts are broader (``skos:broader``, ``narrower``), nothing else. A TSV line has the
preferred name and its alternatives.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tagtopic.curation.decisions import TAGS_MERGE, Decision, Decisions
from tagtopic.curation.exchange import guarded, unguarded
from tagtopic.curation.ledger import NEW
from tagtopic.tagging.duplicates import normalised_name

SKOS = "http://www.w3.org/2004/02/skos/core#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
LABELS = ("prefLabel", "altLabel", "hiddenLabel")
BROADER = ("broader", "broaderTransitive")
NARROWER = ("narrower", "narrowerTransitive")
HEADERS = ("preferred", "canonical", "preflabel")
"""First cells of a header of a TSV file."""

MAX_NESTING = 100


@dataclass(frozen=True)
class Concept:
    """A preferred name and its alternatives.

    Attributes
    ----------
    preferred : str
        The preferred name.
    alternatives : tuple of str, default=()
        Other names, without the preferred one.
    broader : tuple of str, default=()
        The preferred names of broader concepts.

    Examples
    --------
    >>> from tagtopic.curation.thesaurus import Concept
    >>> Concept("science fiction", ("sci-fi", "SF")).alternatives
    ('sci-fi', 'SF')
    """

    preferred: str
    alternatives: tuple[str, ...] = ()
    broader: tuple[str, ...] = ()


@dataclass
class _Labels:
    """The labels of a concept, with their languages."""

    preferred: list[tuple[str, str]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def concept(self, language: str | None) -> Concept | None:
        if not self.preferred:
            return None
        wanted = (language or "").lower()

        def rank(label: tuple[str, str]) -> int:
            own = label[1].lower().partition("-")[0]
            order = [wanted, "", "en"] if wanted else ["", "en"]
            return order.index(own) if own in order else len(order)

        chosen = min(self.preferred, key=rank)[0]
        names = dict.fromkeys([label for label, _ in self.preferred] + self.others)
        return Concept(chosen, tuple(name for name in names if name != chosen))


def read_thesaurus(path: Path, *, language: str | None = None) -> list[Concept]:
    """Read a thesaurus: SKOS as Turtle (.ttl), N-Triples (.nt) or RDF/XML (.rdf, .xml), or TSV (.tsv).

    Parameters
    ----------
    path : Path
        The file.
    language : str or None, default=None
        The language of preferred names, such as "de"; None: without a language, else English, else the first one.
        Labels of other languages are alternatives.

    Returns
    -------
    list of Concept
        The concepts, in the order of the file.

    Raises
    ------
    ValueError
        If the file is damaged or of another format, or has no concept with a preferred name.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: it is not UTF-8") from None
    suffix = path.suffix.lower()
    if suffix == ".tsv":
        found = list(_tsv_concepts(text, path))
    else:
        triples = list(_xml_labels(text, path) if suffix in (".rdf", ".xml") else _turtle_labels(text, path))
        labels: dict[str, _Labels] = defaultdict(_Labels)
        relations: list[tuple[str, str]] = []
        for subject, name, label, own in triples:
            if name in BROADER + NARROWER:
                relations.append((subject, label) if name in BROADER else (label, subject))
                continue
            if label.strip() and name == LABELS[0]:
                labels[subject].preferred.append((label, own))
            elif label.strip():
                labels[subject].others.append(label)
        of_subject = {subject: each.concept(language) for subject, each in labels.items()}
        above: dict[str, dict[str, None]] = defaultdict(dict)
        for narrow, broad in relations:
            if (upper := of_subject.get(broad)) is not None and narrow != broad:
                above[narrow][upper.preferred] = None
        found = [replace(concept, broader=tuple(above[subject])) for subject, concept in of_subject.items() if concept]
    if not found:
        raise ValueError(f"{path}: it has no concept with a preferred name (skos:prefLabel)")
    return found


def _tsv_concepts(text: str, path: Path) -> Iterator[Concept]:
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        cells = [unguarded(cell.strip()) for cell in line.split("\t")]
        if not any(cells) or (number == 1 and cells[0].lower() in HEADERS):
            continue
        if not cells[0]:
            raise ValueError(f"{path}, line {number}: the first cell, the preferred name, is empty")
        yield Concept(cells[0], tuple(dict.fromkeys(cell for cell in cells[1:] if cell and cell != cells[0])))


def _xml_labels(text: str, path: Path) -> Iterator[tuple[str, str, str, str]]:
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f"{path}: it is not XML: {error}") from None
    for number, node in enumerate(root.iter()):
        names = (f"{{{RDF}}}about", f"{{{RDF}}}ID", f"{{{RDF}}}nodeID")
        subject = next((node.attrib[name] for name in names if name in node.attrib), f"_:{number}")
        for child in node:
            name = str(child.tag).removeprefix(f"{{{SKOS}}}")  # the tag of a comment is a function
            if name in LABELS and child.tag != name:
                yield subject, name, child.text or "", child.get(XML_LANGUAGE, node.get(XML_LANGUAGE, ""))
            if name in BROADER + NARROWER and child.tag != name:
                # the address of the other concept, or the concept itself as a nested element
                others = [child, *child]
                keys = (f"{{{RDF}}}resource", *names)
                yield from (
                    (subject, name, other.attrib[key], "") for other in others for key in keys if key in other.attrib
                )


# ---- Turtle

_TOKEN = re.compile(
    r"""
    (?P<skip>[ \t\r\n]+|\#[^\n]*)
    | (?P<iri><(?:[^\x00-\x20<>"{}|^`\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*>)
    | (?P<string>\"\"\"(?:\"{0,2}(?:[^"\\]|\\.))*\"\"\"|'''(?:'{0,2}(?:[^'\\]|\\.))*'''
                 |"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*')
    | (?P<at>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    | (?P<type>\^\^)
    | (?P<name>(?:\w[\w\-.]*)?:(?:[\w:\-%]|\\.|\.(?=[\w:\-%\\]))*)
    | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?<!\.))
    | (?P<word>[A-Za-z]+)
    | (?P<mark>[.;,\[\]()])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def _unescaped(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        if code is None:
            return _CHARACTERS.get(match[3], match[3])
        number = int(code, 16)
        return "\ufffd" if number > 0x10FFFF or 0xD800 <= number < 0xE000 else chr(number)

    return _ESCAPE.sub(replace, text)


class _Turtle:
    """A parser of Turtle that keeps the labels of concepts and the relations between them."""

    def __init__(self, text: str, path: Path) -> None:
        self.text, self.path = text, path
        self.tokens = self._tokens()
        self.prefixes: dict[str, str] = {}
        self.found: list[tuple[str, str, str, str]] = []
        self.n_blank = 0
        self.nesting = 0
        self.start = 0
        self.kind, self.token = "", ""
        self._next()

    def parse(self) -> list[tuple[str, str, str, str]]:
        while self.kind:
            directive = self.token.lower().removeprefix("@")
            if (self.kind == "at" or self.kind == "word") and directive in ("prefix", "base"):
                self._directive(directive, is_sparql=self.kind == "word")
            else:
                subject = self._subject()
                if self.token != ".":
                    self._properties(subject)
                self._expect(".")
        return self.found

    def _tokens(self) -> Iterator[tuple[str, str, int]]:
        place = 0
        while place < len(self.text):
            match = _TOKEN.match(self.text, place)
            if match is None:
                raise self._error(place, f"unexpected {self.text[place : place + 20]!r}")
            if match.lastgroup != "skip":
                yield str(match.lastgroup), match[0], place
            place = match.end()

    def _error(self, place: int, message: str) -> ValueError:
        return ValueError(f"{self.path}, line {self.text.count(chr(10), 0, place) + 1}: it is not Turtle: {message}")

    def _next(self) -> str:
        before = self.token
        self.kind, self.token, self.start = next(self.tokens, ("", "", len(self.text)))
        return before

    def _expect(self, mark: str) -> None:
        if self.kind != "mark" or self.token != mark:
            raise self._error(self.start, f"expected {mark!r}, found {self.token[:20]!r}")
        self._next()

    def _directive(self, directive: str, *, is_sparql: bool) -> None:
        self._next()
        if directive == "prefix":
            if self.kind != "name":
                raise self._error(self.start, "a prefix is missing")
            prefix = self._next().partition(":")[0]
            if self.kind == "iri":
                self.prefixes[prefix] = self.token[1:-1]
        if self.kind != "iri":
            raise self._error(self.start, "an address in <> is missing")
        self._next()
        if not is_sparql:
            self._expect(".")

    def _subject(self) -> str:
        if self.kind in ("iri", "name"):
            return self._resource()
        if self.token in ("[", "("):
            return str(self._object()[0])
        raise self._error(self.start, f"unexpected {self.token[:20]!r}")

    def _resource(self) -> str:
        kind, token = self.kind, self._next()
        if kind == "iri":
            return _unescaped(token[1:-1])
        prefix, _, local = token.partition(":")
        if prefix == "_":
            return token
        if prefix not in self.prefixes:
            raise self._error(self.start, f"the prefix {prefix!r:.40} is not declared")
        return self.prefixes[prefix] + _unescaped(local)

    def _properties(self, subject: str) -> None:
        while True:
            if self.kind == "word" and self.token == "a":
                predicate = self._next()
            elif self.kind in ("iri", "name"):
                predicate = self._resource()
            else:
                raise self._error(self.start, f"expected a property, found {self.token[:20]!r}")
            while True:
                value, language, is_literal = self._object()
                name = predicate.removeprefix(SKOS)
                if name != predicate and name in (LABELS if is_literal else BROADER + NARROWER):
                    self.found.append((subject, name, value, language))
                if self.token != ",":
                    break
                self._next()
            while self.token == ";" and self.kind == "mark":
                self._next()
                if self.token in (".", "]") and self.kind == "mark":
                    return
            if self.token in (".", "]", ")") or not self.kind:
                return

    def _object(self) -> tuple[str, str, bool]:
        if self.kind == "string":
            return self._literal()
        if self.kind in ("iri", "name"):
            return self._resource(), "", False
        if self.kind in ("number", "word"):
            return self._next(), "", False
        if self.kind != "mark" or self.token not in ("[", "("):
            raise self._error(self.start, f"expected a value, found {self.token[:20]!r}")
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise self._error(self.start, "it is nested too deeply")
        opening = self._next()
        self.n_blank += 1
        node = f"[]{self.n_blank}"
        if opening == "[":
            if self.token != "]":
                self._properties(node)
            self._expect("]")
        else:
            while self.token != ")" and self.kind:
                self._object()
            self._expect(")")
        self.nesting -= 1
        return node, "", False

    def _literal(self) -> tuple[str, str, bool]:
        token = self._next()
        quotes = 3 if token.startswith(('"""', "'''")) and len(token) >= 6 else 1
        value, language = _unescaped(token[quotes:-quotes]), ""
        if self.kind == "at":
            language = self._next()[1:]
        elif self.kind == "type":
            self._next()
            self._resource()
        return value, language, True


def _turtle_labels(text: str, path: Path) -> list[tuple[str, str, str, str]]:
    return _Turtle(text, path).parse()


# ---- hierarchy


def narrower_tags(concepts: Iterable[Concept], tags: Iterable[str], kind: str = "") -> list[str]:
    """Return tags, and all that are narrower by a thesaurus, such as for ``predict_tags(exclude=...)``.

    Parameters
    ----------
    concepts : iterable of Concept
        The thesaurus.
    tags : iterable of str
        Tags, which may be called by alternative names.
    kind : str, default=""
        The kind of the tags, such as "keyword"; names of the thesaurus have none.

    Returns
    -------
    list of str
        The tags and all names of their concepts and of all concepts below, sorted.

    Examples
    --------
    >>> from tagtopic.curation.thesaurus import Concept, narrower_tags
    >>> concepts = [Concept("animal"), Concept("dog", ("hound",), ("animal",)), Concept("car")]
    >>> narrower_tags(concepts, ["topic:animal"], "topic")
    ['topic:animal', 'topic:dog', 'topic:hound']
    """
    given = list(concepts)
    below: dict[str, list[str]] = defaultdict(list)
    of_name: dict[str, list[str]] = defaultdict(list)
    names: dict[str, set[str]] = defaultdict(set)
    for concept in given:
        for upper in concept.broader:
            below[upper].append(concept.preferred)
        for name in (concept.preferred, *concept.alternatives):
            of_name[name].append(concept.preferred)
            names[concept.preferred].add(name)
    prefix = f"{kind}:" if kind else ""
    found = {tag.removeprefix(prefix) for tag in tags}
    waiting = [concept for name in found for concept in of_name[name]]
    seen: set[str] = set()
    while waiting:
        concept_name = waiting.pop()
        if concept_name not in seen:
            seen.add(concept_name)
            found |= names[concept_name]
            waiting += below[concept_name]
    return sorted(prefix + name for name in found)


def labels_of(concepts: Iterable[Concept], kind: str = "") -> dict[str, list[str]]:
    """Return the labels of each tag of a thesaurus, such as for ``tagtopic.tagging.VocabularyPredictor``.

    Parameters
    ----------
    concepts : iterable of Concept
        The thesaurus.
    kind : str, default=""
        The kind of the tags, such as "keyword"; names of the thesaurus have none.

    Returns
    -------
    dict of str to list of str
        The preferred name and the alternatives of each tag; concepts with the same preferred name are one tag.

    Examples
    --------
    >>> from tagtopic.curation.thesaurus import Concept, labels_of
    >>> labels_of([Concept("science fiction", ("sci-fi",)), Concept("dog")], "genre")
    {'genre:science fiction': ['science fiction', 'sci-fi'], 'genre:dog': ['dog']}
    """
    prefix = f"{kind}:" if kind else ""
    found: dict[str, list[str]] = {}
    for concept in concepts:
        found.setdefault(prefix + concept.preferred, []).extend((concept.preferred, *concept.alternatives))
    return found


# ---- merges


def merges_of(
    concepts: Iterable[Concept], decisions: Decisions, tags: Sequence[str] | None = None, kind: str = ""
) -> tuple[list[Decision], list[str]]:
    """Return the merges of tags that a thesaurus amounts to, without those that were decided before.

    Parameters
    ----------
    concepts : iterable of Concept
        The thesaurus.
    decisions : Decisions
        The decisions so far.
    tags : sequence of str or None, default=None
        Tags to match with the names of the thesaurus, ignoring case, accents, punctuation and the order of words;
        only these are merged. None: all alternatives are merged with their preferred names.
    kind : str, default=""
        The kind of the tags, such as "keyword"; names of the thesaurus have none.

    Returns
    -------
    tuple of list and list
        The merges, and the names that belong to several concepts and are not merged.
    """
    given = list(concepts)

    def key(name: str) -> str:
        return name if tags is None else normalised_name(name) or name

    owners: dict[str, set[str]] = defaultdict(set)
    for concept in given:
        for name in (concept.preferred, *concept.alternatives):
            owners[key(name)].add(concept.preferred)
    prefix = f"{kind}:" if kind else ""
    preferred = {concept.preferred for concept in given}
    variants: dict[str, list[str]] = defaultdict(list)
    ambiguous: list[str] = []

    def assign(tag: str, found: set[str], name: str) -> None:
        """Merge a tag with its concept; a preferred name stays."""
        if name in preferred or not found:
            return
        if len(found) > 1:
            ambiguous.append(name)
        elif decisions.canonical.get(tag) != prefix + min(found):
            variants[prefix + min(found)].append(tag)

    if tags is None:
        for name in dict.fromkeys(name for concept in given for name in concept.alternatives):
            assign(prefix + name, owners[name], name)
    else:
        for tag in tags:
            if tag.startswith(prefix):
                name = tag.removeprefix(prefix)
                assign(tag, owners.get(key(name), set()), name)
    merges = [
        Decision.from_json({"id": NEW, "what": TAGS_MERGE, "canonical": name, "variants": same})
        for name, same in variants.items()
    ]
    return merges, ambiguous


def concepts_of(decisions: Decisions) -> list[Concept]:
    """Return the merged tags of decisions as a thesaurus.

    Parameters
    ----------
    decisions : Decisions
        The decisions.

    Returns
    -------
    list of Concept
        The canonical names and their variants, sorted.
    """
    variants: dict[str, list[str]] = defaultdict(list)
    for variant, name in decisions.canonical.items():
        variants[name].append(variant)
    return [Concept(name, tuple(sorted(same))) for name, same in sorted(variants.items())]


def to_turtle(concepts: Iterable[Concept]) -> str:
    """Return a thesaurus as SKOS in Turtle.

    Parameters
    ----------
    concepts : iterable of Concept
        The concepts.

    Returns
    -------
    str
        The content of the file.
    """
    lines = [f"@prefix skos: <{SKOS}> .", "", "<#tags> a skos:ConceptScheme .", ""]
    for number, concept in enumerate(concepts, 1):
        labels = [f"  skos:altLabel {', '.join(map(_quoted, concept.alternatives))} ;"] if concept.alternatives else []
        lines += [f"<#{number}> a skos:Concept ;", f"  skos:prefLabel {_quoted(concept.preferred)} ;", *labels]
        lines += ["  skos:inScheme <#tags> .", ""]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    escapes: dict[int, Any] = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\r"): "\\r"}
    return f'"{text.translate(escapes)}"'


def to_tsv(concepts: Iterable[Concept]) -> str:
    """Return a thesaurus as TSV: the preferred name, then its alternatives.

    Parameters
    ----------
    concepts : iterable of Concept
        The concepts.

    Returns
    -------
    str
        The content of the file.

    Raises
    ------
    ValueError
        If a name has a tab or a line end, which TSV cannot hold.
    """
    lines = []
    for concept in concepts:
        names = (concept.preferred, *concept.alternatives)
        for name in names:
            if name != name.strip() or any(mark in name for mark in "\t\r\n"):
                raise ValueError(f"TSV cannot hold the name {name!r:.60}: write Turtle (.ttl) instead")
        lines.append("\t".join(map(guarded, names)) + "\n")
    return "".join(lines)
