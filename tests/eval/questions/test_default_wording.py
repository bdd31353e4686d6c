"""Tests that default sentences say what a label means, and are read back in that direction."""

from pathlib import Path

import pytest

from eval.questions.parser import ClaimParser, Reading
from kg.claims import Claim
from kg.knowledge import KnowledgeBase

BASE = "https://example.org/"
# Label → value and statement. A value in digits is an integer, any other is an entity.
STATEMENTS = {
    "place of birth": ("Ystad", "Alda has Ystad as a place of birth."),
    "place_of_burial": ("Ystad", "Alda has Ystad as a place of burial."),
    "capitalOf": ("Ystad", "Alda is a capital of Ystad."),
    "member of": ("Ystad", "Alda is a member of Ystad."),
    "owner of": ("Ystad", "Alda is an owner of Ystad."),
    "author of": ("Ystad", "Alda is an author of Ystad."),
    "part of": ("Ystad", "Alda is part of Ystad."),
    "composed of": ("Ystad", "Alda is composed of Ystad."),
    "made of material": ("Ystad", "Alda is made of the material Ystad."),
    "instance of class": ("Ystad", "Alda is an instance of the class Ystad."),
    "head of state": ("Ystad", "Alda has Ystad as a head of state."),
    "countryOfCitizenship": ("Ystad", "Alda has Ystad as a country of citizenship."),
    "cause of death": ("Ystad", "Alda has Ystad as a cause of death."),
    "has place of work": ("Ystad", "Alda has Ystad as a place of work."),
    "seat of government in exile": (
        "Ystad",
        "Alda has Ystad as a seat of government in exile.",
    ),
    "year of publication": ("1955", "Alda has 1955 as its year of publication."),
    "yearOfDecision": ("1955", "Alda has 1955 as its year of decision."),
    "number of employees": ("17", "Alda has 17 as its number of employees."),
    "has number of seats": ("17", "Alda has 17 as its number of seats."),
    "years of service": ("17", "Alda has 17 as its years of service."),
}
SHAPES = f"""@prefix sh: <http://www.w3.org/ns/shacl#> .
<{BASE}S> a sh:NodeShape ; sh:targetSubjectsOf <{BASE}p> ; sh:property [
  sh:path <{BASE}none> ; sh:maxCount 0 ] .
"""


def open_one_predicate(folder: Path, label: str, value: str) -> tuple[KnowledgeBase, Claim]:
    """Opens a graph whose one predicate has this label, with the graph's one claim."""
    obj = value if value.isdigit() else f"<{BASE}o>"
    rdfs_label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    (folder / "g.ttl").write_text(
        f'<{BASE}p> {rdfs_label} "{label}" .\n<{BASE}s> {rdfs_label} "Alda" ; <{BASE}p> {obj} .\n'
        f'<{BASE}o> {rdfs_label} "Ystad" .\n',
        encoding="utf-8",
    )
    (folder / "s.ttl").write_text(SHAPES, encoding="utf-8")
    kb = KnowledgeBase.open(graph=[folder / "g.ttl"], shapes=[folder / "s.ttl"])
    terms = kb.graph.index.terms
    pred = terms.get(f"{BASE}p")
    assert pred is not None
    ((_subj, value_id),) = kb.graph.index.iter_pairs(pred)
    return kb, Claim(f"{BASE}s", f"{BASE}p", terms.get_text(value_id))


@pytest.mark.parametrize("label", STATEMENTS)
def test_sentences_of_a_label_are_worded_and_read_in_the_same_direction(
    label: str, tmp_path: Path
) -> None:
    value, statement = STATEMENTS[label]
    kb, claim = open_one_predicate(tmp_path, label, value)
    assert kb.verbaliser.render_fact(claim) == statement
    parser = ClaimParser(kb)
    for text in (*kb.verbaliser.render_questions(claim), statement):
        assert parser.parse_question(text) == Reading((claim,)), text


def test_questions_about_a_place_of_birth_name_the_place_of_birth(tmp_path: Path) -> None:
    kb, claim = open_one_predicate(tmp_path, "place of birth", "Ystad")
    assert kb.verbaliser.render_questions(claim) == [
        "Does Alda have Ystad as a place of birth?",
        "Is it true that Alda has Ystad as a place of birth?",
    ]
    assert kb.verbaliser.render_denial(claim) == "Alda does not have Ystad as a place of birth."


def test_questions_about_a_year_of_decision_ask_for_the_year(tmp_path: Path) -> None:
    kb, claim = open_one_predicate(tmp_path, "year of decision", "1955")
    assert kb.verbaliser.render_questions(claim) == [
        "Does Alda have 1955 as its year of decision?",
        "Is it true that Alda has 1955 as its year of decision?",
    ]
    assert kb.verbaliser.render_denial(claim) == "Alda does not have 1955 as its year of decision."


def test_dates_and_terms_of_vocabularies_are_read(tmp_path: Path) -> None:
    graph, shapes = tmp_path / "graph.ttl", tmp_path / "shapes.ttl"
    graph.write_text(
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
        f"""<{BASE}Consent> a rdfs:Class ; rdfs:label "Consent" ;
            <{BASE}created> "2019-04-05"^^xsd:date ; <{BASE}version> "2.0 beta" .
        <{BASE}Given> rdfs:subClassOf <{BASE}Consent> ; rdfs:label "Given Consent" ;
            <{BASE}created> "2020-11-04"^^xsd:date ; <{BASE}year> "2020" .
        <{BASE}Form> <{BASE}owner> "Consent", "its value", "The" ; <{BASE}article> "as" .""",
        "utf-8",
    )
    shapes.write_text(SHAPES, "utf-8")
    parser = ClaimParser(KnowledgeBase.open(graph=[graph], shapes=[shapes]))
    date = "http://www.w3.org/2001/XMLSchema#date"
    for question, claim in {
        "Was Consent created on 4 November 2020?": (
            "Consent", "created", f'"2020-11-04"^^<{date}>'),
        "Is it true that Given Consent was created on 5 April 2019?": (
            "Given", "created", f'"2019-04-05"^^<{date}>'),
        "Does Given Consent have 2.0 beta as its version?": ("Given", "version", '"2.0 beta"'),
        "Does Consent have 2020 as its year?": ("Consent", "year", '"2020"'),
    }.items():  # fmt: skip
        reading = parser.parse_question(question)
        subj, pred, obj = claim
        assert reading == Reading((Claim(BASE + subj, BASE + pred, obj),)), question


YEAR_AND_DATES = f"""@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<{BASE}Dune> rdfs:label "Dune" ; <{BASE}year> "1965-08-01"^^xsd:date ; <{BASE}size> "1,200" .
<{BASE}Emma> rdfs:label "Emma" ; <{BASE}year> "1815"^^xsd:gYear ; <{BASE}size> 30 .
<{BASE}Hamlet> rdfs:label "Hamlet" ; <{BASE}year> "1815" , 1600 ; <{BASE}size> 30.0 , "(045)" .
"""


@pytest.mark.parametrize(
    ("subject", "pred", "asked", "value"),
    [
        ("Dune", "year", "1 August 1965", '"1965-08-01"^^xsd:date'),
        ("Emma", "year", "1815", '"1815"^^xsd:gYear'),
        ("Hamlet", "year", "1815", '"1815"'),
        ("Emma", "year", "1600", '"1600"^^xsd:integer'),
        ("Dune", "size", "1,200", '"1,200"'),
        ("Emma", "size", "1,200", '"1,200"'),
        ("Emma", "size", "30", '"30"^^xsd:integer'),
        ("Hamlet", "size", "30", '"30.0"^^xsd:decimal'),
        ("Hamlet", "size", "(045)", '"(045)"'),
        ("Emma", "size", "31", '"31"^^xsd:integer'),
    ],
)
def test_values_are_read_as_they_are_written_whatever_their_datatype(
    tmp_path: Path, subject: str, pred: str, asked: str, value: str
) -> None:
    graph, shapes = tmp_path / "graph.ttl", tmp_path / "shapes.ttl"
    graph.write_text(YEAR_AND_DATES, "utf-8")
    shapes.write_text(SHAPES, "utf-8")
    kb = KnowledgeBase.open(graph=[graph], shapes=[shapes])
    text, _, datatype = value.partition("^^xsd:")
    obj = f"{text}^^<http://www.w3.org/2001/XMLSchema#{datatype}>" if datatype else text
    claim = Claim(BASE + subject, BASE + pred, obj)
    for question in kb.verbaliser.render_questions(claim):
        assert asked in question
        assert ClaimParser(kb).parse_question(question) == Reading((claim,)), question
