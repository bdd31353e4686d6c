"""Tests of the sentences for rules (SHACL shapes and OWL axioms) and of the texts for proofs."""

import re
from pathlib import Path

import pytest

from kg.claims import Claim, Proof, Step, Verdict, Violation
from kg.knowledge import KnowledgeBase
from kg.shapes.vocabulary import CONSTRAINT_PARAMETERS
from kg.terms import OWL, RDF, RDF_TYPE, RDFS, XSD, write_literal
from kg.words.axioms import find_axioms_about, render_axiom
from kg.words.constraints import render_constraint
from kg.words.proofs import render_violation_sentence

BASE = "https://example.org/"
PREFIXES = """
@prefix : <https://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
GRAPH = (
    PREFIXES
    + """
:River a owl:Class ; rdfs:label "River" ; rdfs:subClassOf :Water . :Sea a owl:Class .
:Lake a owl:Class . :Water a owl:Class ; rdfs:label "body of water" .
:River owl:disjointWith :Country .
:mouth rdfs:label "mouth" ; rdfs:domain :River ; rdfs:range :Water ;
    rdfs:subPropertyOf :drainsInto .
:inflow owl:inverseOf :mouth . :drainsInto a owl:TransitiveProperty .
:system owl:propertyChainAxiom ( :mouth :system ) .
:borders a owl:SymmetricProperty . :twin owl:equivalentProperty :mouth .
:rhine a :River ; rdfs:label "Rhine" ; :mouth :north ; :length 1233 ; :sourceHeight 2345 .
:main a :River ; :mouth :rhine . :aare a :River ; :mouthHeight 311 ; :sourceHeight 2000 .
:dam a :Dam ; :opened "1931"^^xsd:gYear ; :closed "1960"^^xsd:gYear ; :isPublic true .
:north a :Sea ; rdfs:label "North Sea" . :baltic a :Sea ; rdfs:label "Baltic" .
:germany a :Country ; rdfs:label "Germany" . :lone a :River .
[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :lone ;
   owl:assertionProperty :mouth ; owl:targetIndividual :baltic .
"""
)


def make_shape(body: str) -> str:
    return PREFIXES + f":S {body} ."


def open_files(folder: Path, shapes: str, graph: str = GRAPH) -> KnowledgeBase:
    (folder / "g.ttl").write_text(graph, encoding="utf-8")
    (folder / "s.ttl").write_text(shapes, encoding="utf-8")
    return KnowledgeBase.open(graph=[folder / "g.ttl"], shapes=[folder / "s.ttl"])


# The beginnings of shapes about rivers, their mouths, the Rhine and lengths.
RIVER = "a sh:NodeShape ; sh:targetClass :River ; "
MOUTH = "a sh:PropertyShape ; sh:targetClass :River ; sh:path :mouth ; "
RHINE = "a sh:NodeShape ; sh:targetNode :rhine ; "
LENGTH = "a sh:PropertyShape ; sh:targetSubjectsOf :length ; sh:path :length ; "
DAM = "a sh:PropertyShape ; sh:targetClass :Dam ; sh:path :opened ; "
CASES = {
    "MinCount": (MOUTH + "sh:minCount 1", "Every river has at least one mouth."),
    "MinCount 2": (MOUTH + "sh:minCount 2", "Every river has at least 2 values of “mouth”."),
    "MaxCount": (MOUTH + "sh:maxCount 1", "Every river has at most one mouth."),
    "MaxCount 0": (MOUTH + "sh:maxCount 0", "No river has a mouth."),
    "Class": (MOUTH + "sh:class :Water", "Every mouth of a river is a body of water."),
    "Class node": (RIVER + "sh:class :Water", "Every river is a body of water."),
    "Datatype": (LENGTH + "sh:datatype xsd:integer", "Every length is a whole number."),
    "NodeKind": (MOUTH + "sh:nodeKind sh:IRI", "Every mouth of a river is a named thing."),
    "MinExclusive": (LENGTH + "sh:minExclusive 0", "Every length is greater than 0."),
    "MinInclusive": (LENGTH + "sh:minInclusive 1", "Every length is at least 1."),
    "MaxExclusive": (LENGTH + "sh:maxExclusive 9000", "Every length is less than 9,000."),
    "MaxInclusive": (LENGTH + "sh:maxInclusive 9000", "Every length is at most 9,000."),
    "MinLength": (LENGTH + "sh:minLength 1", "Every length has at least 1 character."),
    "MaxLength": (LENGTH + "sh:maxLength 5", "Every length has at most 5 characters."),
    "Pattern": (LENGTH + 'sh:pattern "^[0-9]+$"', "Every length matches the pattern “^[0-9]+$”."),
    # No term, so that nothing is cut off before its last slash or sign.
    "Pattern with /": (LENGTH + r'sh:pattern "^10\\.[0-9]{4,9}/.+$"',
                       r"Every length matches the pattern “^10\.[0-9]{4,9}/.+$”."),
    "Pattern with #": (LENGTH + 'sh:pattern "^https?://[^/#]+/a#b_c$" ; sh:flags "i"',
                       "Every length matches the pattern “^https?://[^/#]+/a#b_c$” in capitals or "
                       "not."),
    "LanguageIn": (LENGTH + 'sh:languageIn ( "en" "de" )',
                   "Every length is in one of the languages en or de."),
    "UniqueLang": (LENGTH + "sh:uniqueLang true",
                   "No two values of “length” are in the same language."),
    "In": (MOUTH + "sh:in ( :north :baltic )",
           "Every mouth of a river is one of North Sea or Baltic."),
    "In one": (MOUTH + "sh:in ( :north )", "Every mouth of a river is North Sea."),
    "HasValue": (MOUTH + "sh:hasValue :north", "Every river has North Sea as a mouth."),
    "HasValue node": (RIVER + "sh:hasValue :rhine", "Every river is Rhine."),
    "Equals": (MOUTH + "sh:equals :twin",
               "Every river has the same values of “mouth” as of “twin”."),
    "Disjoint": (RIVER + "sh:disjoint :mouth", "No river is its own mouth."),
    "Disjoint path": (MOUTH + "sh:disjoint :inflow",
                      "No mouth of a river is also a value of “inflow” for the same thing."),
    "LessThan": (LENGTH + "sh:lessThan :sourceHeight",
                 "Every length is less than the source height of the same thing."),
    "LessThanOrEquals": (LENGTH + "sh:lessThanOrEquals :sourceHeight",
                         "Every length is at most the source height of the same thing."),
    "dates": (DAM + 'sh:minInclusive "1900"^^xsd:gYear',
              "Every value of “opened” for a dam is not before 1900."),
    "dates before": (DAM + 'sh:maxExclusive "2000"^^xsd:gYear',
                     "Every value of “opened” for a dam is before 2000."),
    "LessThan of dates": (DAM + "sh:lessThan :closed",
                          "Every value of “opened” for a dam is before the value of “closed” of "
                          "the same thing."),
    "one truth": ("a sh:PropertyShape ; sh:targetClass :Dam ; sh:path :isPublic ; sh:maxCount 1",
                  "Every dam has at most one value of “is public”."),
    "Not": (RIVER + "sh:not [ sh:class :Lake ]", "No river is a lake."),
    "Not or": (RIVER + "sh:not [ sh:or ( [ sh:class :Lake ] [ sh:class :Sea ] ) ]",
               "No river is a lake or a sea."),
    # Other than a condition on the class.
    "Not other": (RIVER + "sh:not [ sh:path :mouth ; sh:minCount 1 ]",
                  "No river has at least one mouth."),
    "And": (RIVER + "sh:and ( [ sh:class :Water ] [ sh:nodeKind sh:IRI ] )",
            "Every river is a body of water and is a named thing."),
    "Or": (MOUTH + "sh:or ( [ sh:class :Lake ] [ sh:class :Sea ] )",
           "Every mouth of a river is a lake or a sea."),
    # One condition is other than on the class.
    "Or other": (RIVER + "sh:or ( [ sh:class :Lake ] [ sh:path :mouth ; sh:maxCount 1 ] )",
                 "Every river meets at least one of these conditions: it is a lake; "
                 "it has at most one mouth."),
    # Every integer datatype is a whole number; only one alternative says all.
    "Or same": ("a sh:PropertyShape ; sh:targetClass :River ; sh:path :length ; sh:or ( "
                "[ sh:datatype xsd:integer ] [ sh:datatype xsd:long ] "
                "[ sh:datatype xsd:positiveInteger ] )",
                "Every length of a river is a whole number."),
    "Or same class": (MOUTH + "sh:or ( [ sh:class :Sea ] [ sh:class :Sea ] )",
                      "Every mouth of a river is a sea."),
    "Xone": (RIVER + "sh:xone ( [ sh:class :Lake ] [ sh:class :Water ] )",
             "Every river meets exactly one of these conditions: it is a lake; "
             "it is a body of water."),
    "Node": (MOUTH + "sh:node [ sh:class :Water ]", "Every mouth of a river is a body of water."),
    "Qualified min": (MOUTH + "sh:qualifiedValueShape [ sh:class :Sea ] ; sh:qualifiedMinCount 1",
                      "Every river has at least one mouth for which this holds: it is a sea."),
    "Qualified max": (MOUTH + "sh:qualifiedValueShape [ sh:class :Sea ] ; sh:qualifiedMaxCount 0",
                      "No river has a mouth for which this holds: it is a sea."),
    "Closed": (RIVER + "sh:closed true ; sh:property [ sh:path :mouth ; sh:maxCount 1 ]",
               "Every river has no properties other than “mouth”."),
    "Closed empty": (RIVER + "sh:closed true", "Every river has no properties at all."),
    "SPARQL": (RIVER + 'sh:sparql [ sh:select "SELECT $this WHERE { $this :p :p }" ; '
               'sh:prefixes [ sh:declare [ sh:prefix "" ; sh:namespace "https://e.org/" ] ] ]',
               "Every river meets a condition that the shapes state as a SPARQL query."),
    "inverse path": ("a sh:PropertyShape ; sh:targetClass :Sea ; "
                     "sh:path [ sh:inversePath :mouth ] ; sh:maxCount 5",
                     "Every sea has at most 5 values of the inverse of “mouth”."),
    "long path": ("a sh:PropertyShape ; sh:targetNode :rhine ; sh:path ( :mouth :system ) ; "
                  "sh:class :Sea",
                  "Every value of “mouth” followed by “system” for Rhine is a sea."),
    "two targets": ("a sh:PropertyShape ; sh:targetClass :River ; sh:targetNode :baltic ; "
                    "sh:path :mouth ; sh:maxCount 1",
                    "Each of the following (Baltic and every river) has at most one mouth."),
    "Equals node": (RIVER + "sh:equals :mouth", "Every river is its own only value of “mouth”."),
    "Not on a node": (RHINE + "sh:not [ sh:class :Lake ]", "Rhine is not a lake."),
    "Not or on a node": (RHINE + "sh:not [ sh:or ( [ sh:class :Lake ] [ sh:class :Sea ] ) ]",
                         "Rhine is neither a lake nor a sea."),
    "Not other on a node": (RHINE + "sh:not [ sh:path :mouth ; sh:minCount 1 ]",
                            "Rhine does not meet this condition: it has at least one mouth."),
    "Disjoint on a node": (RHINE + "sh:disjoint :mouth", "Rhine is not its own mouth."),
    "MaxCount 0 on a node": ("a sh:PropertyShape ; sh:targetNode :rhine ; sh:path :mouth ; "
                             "sh:maxCount 0", "Rhine does not have a mouth."),
    "MinCount 0": (MOUTH + "sh:minCount 0",
                   "Every river may have any number of values of “mouth”."),
    "HasValue of a verb": ("a sh:PropertyShape ; sh:targetClass :River ; sh:path :drainsInto ; "
                           "sh:hasValue :north",
                           "Every river has North Sea among the values of “drains into”."),
    "Datatype of one's own": (LENGTH + "sh:datatype :Furlongs",
                              "Every length is a literal of type “furlongs”."),
    "In many": (LENGTH + f"sh:in ( {' '.join(map(str, range(12)))} )",
                "Every length is one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 or 2 more."),
    "Node with a path": (RIVER + "sh:node [ sh:property [ sh:path :mouth ; sh:class :Sea ] ]",
                         "Every river meets this condition: every mouth of it is a sea."),
    "objects": ("a sh:NodeShape ; sh:targetObjectsOf :mouth ; sh:class :Water",
                "Everything that is a mouth of something is a body of water."),
    "subjects": ("a sh:PropertyShape ; sh:targetSubjectsOf :drainsInto ; sh:path :mouth ; "
                 "sh:maxCount 1",
                 "Everything that has a value of “drains into” has at most one mouth."),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_component_becomes_a_sentence(tmp_path: Path, case: str) -> None:
    body, expected = CASES[case]
    kb = open_files(tmp_path, make_shape(body), GRAPH)
    sentences = [render_constraint(kb.verbaliser, c) for c in kb.shapes.list_constraints()]
    assert expected in sentences


def test_every_shacl_component_has_a_case() -> None:
    bodies = " ".join(body for body, _ in CASES.values())
    used_names = set(re.findall(r"sh:(\w+)", bodies))
    names_without_a_sentence = {"flags", "ignoredProperties", "qualifiedValueShapesDisjoint"}
    assert set(CONSTRAINT_PARAMETERS) - used_names <= names_without_a_sentence


# -- axioms --------------------------------------------------------------------------------------

AXIOMS = {
    (OWL + "inverseOf", "inflow", "mouth"):
        "X has Y as an inflow exactly when Y has X as its mouth.",
    (RDFS + "subPropertyOf", "mouth", "drainsInto"):
        "If X has Y as its mouth, then X drains into Y.",
    (RDFS + "domain", "mouth", "River"): "If X has Y as its mouth, then X is a river.",
    (RDFS + "range", "mouth", "Water"): "If X has Y as its mouth, then Y is a body of water.",
    (RDFS + "range", "length", XSD + "gYear"): "If X has Y as its length, then Y is a year.",
    (RDFS + "range", "length", XSD + "int"):
        "If X has Y as its length, then Y is a whole number.",
    (RDFS + "subClassOf", "River", "Water"): "Every river is a body of water.",
    (OWL + "disjointWith", "River", "Country"): "No river is a country.",
    (OWL + "complementOf", "River", "Country"): "No river is a country.",
    (OWL + "equivalentClass", "River", "Lake"): "Something is a river exactly when it is a lake.",
    (OWL + "equivalentProperty", "twin", "mouth"):
        "X has Y as a twin exactly when X has Y as its mouth.",
    (OWL + "propertyDisjointWith", "drainsInto", "mouth"):
        "If X drains into Y, then it is not the case that X has Y as its mouth.",
    (RDF_TYPE, "drainsInto", OWL + "TransitiveProperty"):
        "If X drains into Y and Y drains into Z, then X drains into Z.",
    (RDF_TYPE, "drainsInto", OWL + "FunctionalProperty"):
        "If X drains into Y and X drains into Z, then Y and Z are the same.",
    (RDF_TYPE, "drainsInto", OWL + "InverseFunctionalProperty"):
        "If X drains into Y and Z drains into Y, then X and Z are the same.",
    (RDF_TYPE, "drainsInto", OWL + "SymmetricProperty"):
        "If X drains into Y, then Y drains into X.",
    (RDF_TYPE, "drainsInto", OWL + "AsymmetricProperty"):
        "If X drains into Y, then it is not the case that Y drains into X.",
    (RDF_TYPE, "drainsInto", OWL + "IrreflexiveProperty"):
        "It is never the case that X drains into X.",
    (RDF_TYPE, "drainsInto", OWL + "ReflexiveProperty"):
        "It is always the case that X drains into X.",
    (RDF_TYPE, "drainsInto", OWL + "ObjectProperty"): "",
    (RDFS + "comment", "mouth", "River"): "",
}  # fmt: skip


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    shapes = (
        PREFIXES
        + """
    :OneMouth a sh:PropertyShape ; sh:targetSubjectsOf :mouth ; sh:path :mouth ; sh:maxCount 1 .
    :NoLand a sh:PropertyShape ; sh:targetSubjectsOf :mouth ; sh:path :mouth ;
        sh:not [ sh:class :Country ] .
    :NoSelf a sh:NodeShape ; sh:targetSubjectsOf :mouth ; sh:disjoint :mouth ;
        sh:message "Nothing ends in itself" .
    :Above a sh:PropertyShape ; sh:targetSubjectsOf :mouthHeight ; sh:path :mouthHeight ;
        sh:lessThan :sourceHeight .
    :Positive a sh:PropertyShape ; sh:targetSubjectsOf :length ; sh:path :length ;
        sh:minExclusive 0 ; sh:message "Value {?value} is not positive" .
    :Named a sh:PropertyShape ; sh:targetSubjectsOf :mouth ; sh:path :length ; sh:minCount 1 .
    :Odd a sh:NodeShape ; sh:targetClass :Lake ; sh:severity sh:Warning ; sh:disjoint :mouth .
    """
    )
    return open_files(tmp_path_factory.mktemp("rules"), shapes)


def test_a_limit_of_one_value_is_stated_once(tmp_path: Path) -> None:
    """Beside it, "Y and Z are the same" would leave open whether two values differ."""
    graph = GRAPH + ":mouth a owl:FunctionalProperty . :twin a owl:FunctionalProperty .\n"
    shapes = """
        :OneMouth a sh:PropertyShape ; sh:targetSubjectsOf :mouth ; sh:path :mouth ; sh:maxCount 1 .
        :OneTwin a sh:PropertyShape ; sh:targetClass :River ; sh:path :twin ; sh:maxCount 1 ."""
    kb = open_files(tmp_path, PREFIXES + shapes, graph)
    same = "then Y and Z are the same."
    about = {
        name: [rule.text for rule in kb.verbaliser.get_rules(BASE + name)]
        for name in ("mouth", "twin")
    }
    assert not any(text.endswith(same) for text in about["mouth"])
    assert any("at most one mouth" in text for text in about["mouth"])
    # Other things than rivers may have a twin, too.
    assert any(text.endswith(same) for text in about["twin"])


@pytest.mark.parametrize("axiom", AXIOMS)
def test_every_axiom_becomes_a_sentence(kb: KnowledgeBase, axiom: tuple[str, str, str]) -> None:
    pred, subj, obj = axiom
    claim = Claim(BASE + subj, pred, obj if obj.startswith("http") else BASE + obj)
    assert render_axiom(kb.verbaliser, claim) == AXIOMS[axiom]


def test_property_chains_become_sentences(kb: KnowledgeBase) -> None:
    axioms = find_axioms_about(kb.verbaliser, BASE + "system")
    chain = next(a for a in axioms if a.pred == OWL + "propertyChainAxiom")
    text = render_axiom(kb.verbaliser, chain)
    assert text == "If X has Y as its mouth and Y has Z as a system, then X has Z as a system."
    assert sum(a.pred in (RDF + "first", RDF + "rest") for a in axioms) == 4
    (rule,) = [r for r in kb.verbaliser.get_rules(BASE + "system") if r.text == text]
    assert set(rule.axioms) == {a for a in axioms if a == chain or a.pred.startswith(RDF)}


# -- rules ---------------------------------------------------------------------------------------

# One node shape about all that a publisher says of rivers.
PUBLISHED = """
:River sh:node :Named .
:Published a sh:NodeShape ; sh:targetClass :River ; sh:nodeKind sh:IRI ; sh:node :Named ;
    sh:not [ sh:path :system ; sh:hasValue :north ] ;
    sh:property [ sh:path :mouth ; sh:minCount 1 ; sh:maxCount 1 ; sh:class :Water ;
                  sh:message "ERR_042: only bodies of water" ] ;
    sh:property [ sh:path :length ; sh:minCount 1 ; sh:maxCount 1 ; sh:message "Just one length" ] ;
    sh:property [ sh:path :sourceHeight ; sh:datatype xsd:integer ] ;
    sh:property [ sh:path :mouthHeight ; sh:datatype xsd:decimal ; sh:lessThan :sourceHeight ] ;
    sh:property [ sh:path ( :inflow :flow ) ; sh:minExclusive 0 ] ;
    sh:property [ sh:path :note ; sh:minCount 1 ] .
:Named a sh:NodeShape ; sh:property [ sh:path :name ; sh:maxCount 1 ] ;
    sh:property [ sh:path :code ; sh:maxCount 1 ] .
:Ends a sh:NodeShape ; sh:targetSubjectsOf :ends ; sh:property [ sh:path :name ; sh:minCount 1 ] .
:Shut a sh:NodeShape ; sh:targetClass :Lake ; sh:closed true ; sh:ignoredProperties ( :flow ) ;
    sh:property [ sh:path :depth ; sh:maxCount 1 ; sh:lessThan :height ] .
"""
# Predicate → what cards that ask about it say of the shapes.
PARTS = {
    # The message may be about one of two constraints, so that it does not say both.
    # Inflow is inverse to it.
    "mouth": ["Every mouth of a river is a body of water. Every river has at most one mouth. Every "
              "value of “inflow” followed by “flow” for a river is greater than 0."],
    # What is missing contradicts nothing, so that the message can only be about the other one.
    "length": ["Just one length."],
    "sourceHeight": ["Every mouth height of a river is less than the source height of the same "
                     "thing. Every source height of a river is a whole number."],
    "mouthHeight": ["Every mouth height of a river is less than the source height of the same "
                    "thing. Every mouth height of a river is a decimal number."],
    "system": ["No river has North Sea as a system."],
    "name": ["Every river has at most one name."],
    "flow": ["Every value of “inflow” followed by “flow” for a river is greater than 0."],
    # Whatever has this predicate gets a rule about another one.
    "ends": ["Everything that has a value of “ends” has at least one name."],
    "depth": ["Every depth of a lake is less than the height of the same thing. Every lake has at "
              "most one depth."],
    # A closed shape that does not allow it.
    "height": ["Every depth of a lake is less than the height of the same thing. Every lake has no "
               "properties other than “depth” and “flow”."],
    # Nothing but a minimum count.
    "note": [],
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_rules_leave_out_what_no_claim_with_the_predicate_violates(
    tmp_path: Path, name: str
) -> None:
    kb = open_files(tmp_path, PREFIXES + PUBLISHED)
    rules = [rule for rule in kb.verbaliser.get_rules(BASE + name) if rule.shapes]
    assert [rule.text for rule in rules] == PARTS[name]
    parts = kb.verbaliser.rulebook.select_shapes(BASE + name)
    assert parts is not None
    described = [kb.verbaliser.rulebook._describe_constraint(c) for c in parts.list_constraints()]
    assert " ".join(dict.fromkeys(described)) == " ".join(PARTS[name])


@pytest.mark.parametrize(
    ("value", "demanded", "is_stated"),
    [
        ('"12a"', "xsd:string", False),
        ('"Rhein"@de', "rdf:langString", False),
        ('"12a"', "rdf:langString", True),  # broken by all
        ('"Rhein"@de', "xsd:string", True),
        ("12", "xsd:integer", True),
        ('"12a" . :main :code "Main"@de', "xsd:string", True),  # broken by some
        (":north", "xsd:string", True),
    ],
)
def test_that_values_are_texts_is_no_rule_if_all_are(
    tmp_path: Path, value: str, demanded: str, *, is_stated: bool
) -> None:
    shapes = (
        "a sh:NodeShape ; sh:targetClass :River ; "
        f"sh:property [ sh:path :code ; sh:datatype {demanded} ] . "
        f":T sh:targetClass :Sea ; sh:property [ sh:path :code ; sh:datatype {demanded} ; "
        "sh:maxLength 8 ]"
    )
    rdf = f"@prefix rdf: <{RDF}> .\n"
    graph = f"{rdf}{GRAPH}:rhine :code {value} ."
    kb = open_files(tmp_path, rdf + make_shape(shapes), graph)
    texts = [rule.text for rule in kb.verbaliser.rulebook.get_rules(BASE + "code")]
    assert texts[-1].endswith("Every code of a sea has at most 8 characters.")
    assert len(texts) == 1 + is_stated
    assert (" is a" in texts[-1]) is is_stated
    parts = kb.verbaliser.rulebook.select_shapes(BASE + "code")
    assert parts is not None
    found = {constraint.component for constraint in parts.list_constraints()}
    assert ("DatatypeConstraintComponent" in found) is is_stated


def test_constraints_on_predicates_that_follow_from_a_claim_stay(tmp_path: Path) -> None:
    shapes = """:S a sh:NodeShape ; sh:targetClass :River ;
        sh:property [ sh:path :mouth ; sh:maxCount 2 ] ;
        sh:property [ sh:path :drainsInto ; sh:maxCount 3 ] ;
        sh:property [ sh:path :length ; sh:maxCount 1 ] ."""
    kb = open_files(tmp_path, PREFIXES + shapes)
    (rule,) = [rule for rule in kb.verbaliser.get_rules(BASE + "mouth") if rule.shapes]
    assert rule.text == (
        "Every river has at most 2 values of “mouth”. Every river has at most 3 values of “drains "
        "into”."
    )


def test_rules_cite_their_shapes_and_axioms(kb: KnowledgeBase) -> None:
    rules = kb.verbaliser.get_rules(BASE + "mouth")
    texts = {shape: rule.text for rule in rules for shape in rule.shapes}
    assert texts == {
        BASE + "OneMouth": "Every river (or anything else) has at most one mouth.",
        BASE + "NoLand": "No mouth is a country.",
        BASE + "NoSelf": "Nothing ends in itself.",
        BASE + "Named": "Everything with a mouth has at least one length.",
    }
    assert len({rule.id for rule in rules}) == len(rules)
    assert all(rule.predicates == (BASE + "mouth",) for rule in rules)
    assert all(bool(rule.shapes) != bool(rule.axioms) for rule in rules)
    assert kb.shapes.select_shapes(texts).list_iris() == sorted(texts)
    assert {axiom for rule in rules for axiom in rule.axioms} >= {
        Claim(BASE + "inflow", OWL + "inverseOf", BASE + "mouth"),
        Claim(BASE + "River", RDFS + "subClassOf", BASE + "Water"),
    }


def test_messages_with_placeholders_are_not_used_as_rules(kb: KnowledgeBase) -> None:
    (rule,) = [r for r in kb.verbaliser.get_rules(BASE + "length") if BASE + "Positive" in r.shapes]
    assert rule.text == "Every length is greater than 0."


def test_shapes_with_warning_severity_give_no_rules(kb: KnowledgeBase) -> None:
    # The keys of ``constraints_by_target`` are the shapes that have a target.
    assert (
        BASE + "Odd" not in kb.verbaliser.rulebook.constraints_by_target
        or not kb.verbaliser.rulebook.constraints_by_target[BASE + "Odd"]
    )


def test_rules_of_types_cite_shapes_and_unknown_predicates_have_none(kb: KnowledgeBase) -> None:
    assert kb.verbaliser.get_rules(BASE + "unheardOf") == []
    assert all(rule.shapes for rule in KnowledgeBase.open_cached().verbaliser.get_rules(RDF_TYPE))


def test_domain_rules_replace_generated_rules() -> None:
    rivers = KnowledgeBase.open_cached()
    for pred in rivers.domain.predicates:
        rules = rivers.verbaliser.get_rules(pred)
        assert rules == [rule for rule in rivers.domain.rules if pred in rule.predicates]
        for rule in rules:
            rivers.shapes.select_shapes(rule.shapes)
            assert all(rivers.graph.has_claim(axiom) for axiom in rule.axioms)


# -- proofs --------------------------------------------------------------------------------------


def render_proof_text(kb: KnowledgeBase, subj: str, pred: str, obj: str, label: str) -> str:
    obj = obj if obj.startswith('"') else BASE + obj
    verdict = kb.oracle.license(Claim(BASE + subj, BASE + pred, obj))
    assert verdict.label == label
    text = kb.verbaliser.render_proof(verdict)
    assert text.endswith((".", ")")), text
    assert "  " not in text
    return text


def test_proof_of_an_asserted_claim(kb: KnowledgeBase) -> None:
    text = render_proof_text(kb, "rhine", "mouth", "north", "E")
    assert text == "The graph states it: Rhine has North Sea as its mouth."


def test_proof_of_a_derived_claim(kb: KnowledgeBase) -> None:
    inverse_proof = render_proof_text(kb, "north", "inflow", "rhine", "E")
    assert inverse_proof == (
        "It follows from what the graph states: Because Rhine has North Sea as its mouth, North "
        "Sea has Rhine as an inflow (inverse property: X has Y as an inflow exactly when Y has X "
        "as its mouth)."
    )
    chain_proof = render_proof_text(kb, "main", "drainsInto", "north", "E")
    assert re.search(
        r"in 3 steps\. \(1\) Because .* \(2\) .* \(3\) Because main drains", chain_proof
    )
    assert "main drains into North Sea (transitive property" in chain_proof


def test_proof_of_a_denied_claim(kb: KnowledgeBase) -> None:
    text = render_proof_text(kb, "lone", "mouth", "baltic", "C")
    assert text == "The graph itself denies it: Lone does not have Baltic as its mouth."


def test_violations_name_the_conflicting_facts(kb: KnowledgeBase) -> None:
    count_proof = render_proof_text(kb, "rhine", "mouth", "baltic", "C")
    assert count_proof == (
        "The graph says that Rhine has North Sea as its mouth. Every river (or anything else) has "
        "at most one mouth. So it cannot be that Rhine has Baltic as its mouth."
    )
    class_proof = render_proof_text(kb, "aare", "mouth", "germany", "C")
    assert "Germany is a country. No mouth is a country." in class_proof
    self_proof = render_proof_text(kb, "aare", "mouth", "aare", "C")
    assert self_proof == "Nothing ends in itself. So it cannot be that aare has aare as its mouth."
    height = write_literal("1", XSD + "integer")
    comparison_proof = render_proof_text(kb, "aare", "sourceHeight", height, "C")
    assert "aare has 311 as its mouth height" in comparison_proof
    assert "less than the source height" in comparison_proof
    range_proof = render_proof_text(kb, "aare", "length", write_literal("-5", XSD + "integer"), "C")
    assert range_proof.startswith("Every length is greater than 0.")


def test_path_violations_name_the_end_values(tmp_path: Path) -> None:
    """The proof names the two values at the ends of a path, but not the steps between them."""
    shapes = (
        PREFIXES
        + """
    :OneSystem a sh:PropertyShape ; sh:targetSubjectsOf :system ; sh:maxCount 1 ;
        sh:path [ sh:alternativePath (
            :system ( [ sh:oneOrMorePath [ sh:inversePath :mouth ] ] :system ) ) ] .
    """
    )
    graph = PREFIXES + ":a :system :s1 . :b :system :s2 . :a :mouth :x . :c :system :s3 ."
    kb = open_files(tmp_path, shapes, graph)
    text = render_proof_text(kb, "a", "mouth", "b", "C")
    assert text.startswith("The graph says that a has s1 as a system and b has s2 as a system. ")


def test_all_violated_rules_are_named(kb: KnowledgeBase) -> None:
    text = render_proof_text(kb, "rhine", "mouth", "germany", "C")
    assert "Other rules forbid it too:" in text
    assert "at most one mouth" in text
    assert "No mouth is a country" in text


def test_unknown_proof_lists_checks_and_missing_values(kb: KnowledgeBase) -> None:
    text = render_proof_text(kb, "lone", "mouth", "north", "U")
    assert text.startswith(
        "The graph neither states nor implies this: Lone has North Sea as its mouth."
    )
    proof_without_rules = render_proof_text(kb, "main", "borders", "aare", "U")
    assert "It holds no value of “borders” for main." in proof_without_rules
    assert "no rule applies to it" in proof_without_rules
    rivers = KnowledgeBase.open_cached()
    pred_prefix, base = "https://epoche.example/rivers#", "https://epoche.example/rivers/"
    claim = Claim(base + "amazon", pred_prefix + "traverses", base + "france")
    verdict = rivers.oracle.license(claim)
    assert verdict.label == "U"
    rivers_proof = rivers.verbaliser.render_proof(verdict)
    assert "It does say that the Amazon flows through or along the border of" in rivers_proof
    assert re.search(r"none of the \d+ rules checked: [A-Z]", rivers_proof)


def test_missing_values_are_distinguished_from_conflicts(kb: KnowledgeBase) -> None:
    text = render_proof_text(kb, "lone", "mouth", "north", "U")
    # The claim itself is not against the rule: a value that the rule requires is missing.
    assert "Adding it would leave a rule unmet, but not against it" in text
    assert text.endswith("Everything with a mouth has at least one length.")


def test_violations_of_unknown_shapes_are_described(kb: KnowledgeBase) -> None:
    violation = Violation(BASE + "Nowhere", "MaxCountConstraintComponent", BASE + "rhine")
    assert render_violation_sentence(kb.verbaliser, kb.verbaliser.rulebook, violation) == (
        "The shape “nowhere” (MaxCount) must hold. This is broken by Rhine."
    )
    violation_with_message = Violation(
        BASE + "Nowhere", "X", BASE + "rhine", value=BASE + "north", message="Do  not"
    )
    assert (
        render_violation_sentence(kb.verbaliser, kb.verbaliser.rulebook, violation_with_message)
        == "Do not. This is broken by Rhine, with the value North Sea."
    )


def test_long_derivations_are_cut(kb: KnowledgeBase) -> None:
    pred, rule = BASE + "drainsInto", "prp-trp"
    steps = tuple(
        Step(
            rule,
            (Claim(BASE + f"r{i}", pred, BASE + "sea"),),
            Claim(BASE + f"r{i + 1}", pred, BASE + "s"),
        )
        for i in range(40)
    )  # fmt: skip
    verdict = Verdict(
        Claim(BASE + "r40", pred, BASE + "s"), "E", Proof("derived", "index", steps=steps)
    )
    text = kb.verbaliser.render_proof(verdict)
    assert "(12)" in text
    assert "(13)" not in text
    assert text.endswith("(28 steps in between are not shown.)")
    assert "r40 drains into" in text
    verdict_without_steps = Verdict(verdict.claim, "E", Proof("derived", "index"))
    assert (
        kb.verbaliser.render_proof(verdict_without_steps)
        == "It follows from what the graph states: r40 drains into s."
    )


def test_proof_names_the_engine_unless_incremental(kb: KnowledgeBase) -> None:
    claim = Claim(BASE + "lone", BASE + "borders", BASE + "main")
    for engine, note in (("pyshacl", "whole graph"), ("retargeted-pyshacl", "nodes the claim")):
        text = kb.verbaliser.render_proof(Verdict(claim, "U", Proof("unproved", engine)))  # type: ignore[arg-type]  # a literal
        assert text.endswith(".)")
        assert note in text
    assert "pySHACL" not in kb.verbaliser.render_proof(
        Verdict(claim, "U", Proof("unproved", "incremental"))
    )


def test_every_rivers_proof_is_well_formed() -> None:
    rivers = KnowledgeBase.open_cached()
    malformed_text = re.compile(r"[{}]|\.\.|\s[.,]|  |\bNone\b|https?:|\. [a-z]")
    labels = set()
    objects = list(
        dict.fromkeys(c.obj for p in rivers.domain.predicates for c in rivers.graph.iter_claims(p))
    )
    # Each claim is also asked with another object. To vary it, the index moves 37 places for each
    # claim and 101 for each predicate.
    for number, pred in enumerate(rivers.domain.predicates):
        for i, claim in enumerate(list(rivers.graph.iter_claims(pred))[:25]):
            for obj in (claim.obj, objects[(i * 37 + number * 101) % len(objects)]):
                verdict = rivers.oracle.license(Claim(claim.subj, pred, obj))
                labels.add(verdict.label)
                text = rivers.verbaliser.render_proof(verdict)
                # The full stop of "St. " in names does not end a sentence.
                assert not malformed_text.search(text.replace("St. ", "")), text
    assert labels == {"E", "C", "U"}
