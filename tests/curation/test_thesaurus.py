"""Thesauri: SKOS in Turtle, N-Triples and RDF/XML, and TSV, as merges of tags."""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagtopic import Ledger
from tagtopic.curation import Decisions
from tagtopic.curation.imports import read_decisions
from tagtopic.curation.thesaurus import (
    Concept,
    concepts_of,
    merges_of,
    narrower_tags,
    read_thesaurus,
    to_tsv,
    to_turtle,
)

TURTLE = r'''
@base <http://x.org/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
PREFIX ex: <http://x.org/>
# a comment with "quotes"
<scheme> a skos:ConceptScheme ; ex:version 1.0, -2e3, true .
ex:sf a skos:Concept ;
  skos:prefLabel "Science-Fiction"@de, "science fiction"@en ;
  skos:altLabel "sci-fi"@en , """S"F"""@en-GB, 'sf\u00e9' ;
  skos:hiddenLabel "sciense fiction" ;
  skos:notation "1"^^ex:code ;
  skos:note [ ex:by "someone" ; skos:scopeNote "prefLabel" ] , ( 1 "two" ex:three ) ;
  skos:inScheme <scheme> ; .
<crime> skos:prefLabel "crime" .
[] skos:prefLabel "heist" ; skos:altLabel "heists" .
_:b1 skos:altLabel "without a preferred name" .
'''

NTRIPLES = "\n".join(
    f'<http://x.org/{subject}> <http://www.w3.org/2004/02/skos/core#{name}> "{label}"{language} .'
    for subject, name, label, language in [
        ("sf", "prefLabel", "science fiction", "@en"),
        ("sf", "altLabel", "sci-fi", ""),
        ("crime", "prefLabel", "crime", ""),
    ]
)

XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#">
  <!-- a comment -->
  <skos:Concept rdf:about="http://x.org/sf">
    <skos:prefLabel xml:lang="de">Science-Fiction</skos:prefLabel>
    <skos:prefLabel xml:lang="en">science fiction</skos:prefLabel>
    <skos:altLabel>sci-fi</skos:altLabel>
  </skos:Concept>
  <rdf:Description rdf:about="http://x.org/crime"><skos:prefLabel>crime</skos:prefLabel></rdf:Description>
  <rdf:Description rdf:about="http://x.org/sf"><skos:altLabel>SF</skos:altLabel></rdf:Description>
</rdf:RDF>
"""


def read(tmp_path: Path, name: str, content: str, language: str | None = None) -> list[Concept]:
    (tmp_path / name).write_text(content)
    return read_thesaurus(tmp_path / name, language=language)


def test_turtle(tmp_path: Path) -> None:
    others = ("Science-Fiction", "sci-fi", 'S"F', "sfé", "sciense fiction")
    assert read(tmp_path, "t.ttl", TURTLE) == [
        Concept("science fiction", others), Concept("crime"), Concept("heist", ("heists",)),
    ]  # fmt: skip
    assert read(tmp_path, "t.ttl", TURTLE, "de")[0].preferred == "Science-Fiction"


def test_ntriples_and_xml(tmp_path: Path) -> None:
    assert read(tmp_path, "t.nt", NTRIPLES) == [Concept("science fiction", ("sci-fi",)), Concept("crime")]
    assert read(tmp_path, "t.rdf", XML) == [
        Concept("science fiction", ("Science-Fiction", "sci-fi", "SF")), Concept("crime"),
    ]  # fmt: skip


def test_tsv(tmp_path: Path) -> None:
    expected = [Concept("science fiction", ("sci-fi", "SF")), Concept("crime")]
    assert read(tmp_path, "t.tsv", "preferred\talternatives\nscience fiction\tsci-fi\tSF\t\n\ncrime\r\n") == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.ttl", "<a> <b> .", "line 1"),
        ("t.ttl", "@prefix skos: <x> .\n<a> skos:prefLabel ~", "line 2"),
        ("t.ttl", '<a> skos:prefLabel "x" .', "prefix 'skos' is not declared"),
        ("t.ttl", '<a> <b> "open', "not Turtle"),
        ("t.ttl", "<a> <b> " + "[ <b> " * 1000, "nested too deeply"),
        ("t.ttl", "@prefix <x> .", "a prefix is missing"),
        ("t.ttl", "<a> <b> <c>", "expected '.'"),
        ("t.ttl", "", "no concept with a preferred name"),
        ("t.rdf", "<rdf", "it is not XML"),
        ("t.rdf", "<a/>", "no concept"),
        ("t.tsv", "a\tb\n\tc\n", "line 2: the first cell"),
    ],
)
def test_damaged_files(name: str, content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read(tmp_path, name, content)


def test_alternatives_become_merges_once(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "decisions.jsonl", who="Ana")
    (tmp_path / "t.ttl").write_text(TURTLE)
    found = read_decisions(tmp_path / "t.ttl", ledger, kind="keyword")
    assert found.recorded == 2
    assert ledger.state.canonical["keyword:sci-fi"] == "keyword:science fiction"
    assert (ledger.entries[0].who, ledger.entries[0].why) == ("Ana", "thesaurus t.ttl")
    assert read_decisions(tmp_path / "t.ttl", ledger, kind="keyword").recorded == 0


def test_tags_are_matched_by_name() -> None:
    concepts = [
        Concept("science fiction", ("SF",)),
        Concept("jaguar (cat)", ("jaguar",)),
        Concept("Jaguar Cars", ("Jaguar",)),
    ]
    tags = [
        "keyword:Fiction, Science",
        "keyword:S.F.",
        "keyword:JAGUAR",
        "keyword:science fiction",
        "year:SF",
        "keyword:x",
    ]
    merges, ambiguous = merges_of(concepts, Decisions(), tags, "keyword")
    (merge,) = merges
    assert merge.fields == {
        "canonical": "keyword:science fiction", "variants": ("keyword:Fiction, Science", "keyword:S.F."),
    }  # fmt: skip
    assert ambiguous == ["JAGUAR"]
    assert merges_of(concepts, Decisions(), ["keyword:..."], "keyword") == ([], [])


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(lambda text: text.strip())


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(names=st.lists(NAMES, min_size=2, max_size=8, unique=True))
def test_merged_tags_survive_turtle(names: list[str], tmp_path: Path) -> None:
    state = Decisions(canonical=dict.fromkeys(sorted(names[1:]), names[0]))
    path = tmp_path / "t.ttl"
    path.write_bytes(to_turtle(concepts_of(state)).encode())
    assert read_thesaurus(path) == concepts_of(state)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(names=st.lists(NAMES, min_size=2, max_size=8, unique=True))
def test_merged_tags_survive_tsv_or_are_refused(names: list[str], tmp_path: Path) -> None:
    concepts = [Concept(names[0], tuple(names[1:]))]
    path = tmp_path / "t.tsv"
    try:
        path.write_bytes(to_tsv(concepts).encode())
    except ValueError:
        assert any(name != name.strip() or set(name) & set("\t\r\n") for name in names)
        return
    if names[0].lower() not in ("preferred", "canonical", "preflabel"):
        assert read_thesaurus(path) == concepts


def test_formulas_are_guarded_in_tsv() -> None:
    assert to_tsv([Concept("=x", ("'=y",))]) == "'=x\t''=y\n"


HIERARCHY = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<animal> skos:prefLabel "animal" ; skos:narrower <dog>, <cat> .
<dog> skos:prefLabel "dog" ; skos:altLabel "hound" .
<cat> skos:prefLabel "cat" .
<poodle> skos:prefLabel "poodle" ; skos:broader <dog>, <unknown>, <poodle> .
<car> skos:prefLabel "car" ; skos:broader "animal" .
"""

HIERARCHY_XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#">
  <skos:Concept rdf:about="animal"><skos:prefLabel>animal</skos:prefLabel>
    <skos:narrower><skos:Concept rdf:about="dog"><skos:prefLabel>dog</skos:prefLabel></skos:Concept></skos:narrower>
  </skos:Concept>
  <skos:Concept rdf:about="poodle">
    <skos:prefLabel>poodle</skos:prefLabel><skos:broader rdf:resource="dog"/>
  </skos:Concept>
</rdf:RDF>
"""


def test_broader_concepts_are_read(tmp_path: Path) -> None:
    found = {concept.preferred: concept.broader for concept in read(tmp_path, "a.ttl", HIERARCHY)}
    assert found == {"animal": (), "dog": ("animal",), "cat": ("animal",), "poodle": ("dog",), "car": ()}
    nested = {concept.preferred: concept.broader for concept in read(tmp_path, "a.rdf", HIERARCHY_XML)}
    assert nested == {"animal": (), "dog": ("animal",), "poodle": ("dog",)}


def test_narrower_tags_are_all_names_below(tmp_path: Path) -> None:
    concepts = read(tmp_path, "a.ttl", HIERARCHY)
    assert narrower_tags(concepts, ["k:hound"], "k") == ["k:dog", "k:hound", "k:poodle"]
    assert narrower_tags(concepts, ["animal", "other"]) == ["animal", "cat", "dog", "hound", "other", "poodle"]
    circle = [Concept("a", (), ("b",)), Concept("b", (), ("a",))]
    assert narrower_tags(circle, ["a"]) == ["a", "b"]
