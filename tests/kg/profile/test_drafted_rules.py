"""Property tests of drafted rules, and tests of which rules may be true."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pyoxigraph
import pyshacl
import pytest
import rdflib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kg.base.files import write_files_atomic
from kg.claims import Claim
from kg.domain import load_domain
from kg.graph import Graph
from kg.oracle import Oracle
from kg.profile.draft import Draft, draft_domain
from kg.profile.fitting_claims import is_asymmetric
from kg.profile.known_labels import find_known_label
from kg.profile.plausibility import (
    ValueKind,
    is_location,
    is_part,
    judge_single_value,
    may_be_mutual,
)
from kg.profile.record_nouns import is_record
from kg.profile.rules import Answers
from kg.shapes import Shapes
from kg.terms import OWL, RDF_TYPE, RDFS, XSD

EX = "https://example.org/"
NO_ANSWERS = Answers({}, {})

ENTITIES = [f"<{EX}{name}>" for name in ("a", "b", "c", "d", "e'%22(x)", "é\u200d𝄞")] + [
    "_:x",
    "_:y",
]
CLASSES = [f"<{EX}{name}>" for name in ("Payment", "Person", "Thing-1")]
PREDICATES = [
    f"<{EX}{name}>"
    for name in ("birthDate", "partOf", "status", "a'b%22~c", "knows", "length", "P31", "é\u00ad")
]
LITERALS = [
    '"1"', '"2"', '"a \\"b\\"\\n# c"@en', '"x\\\\"', '"\\u0000\\u007F"', '"-3"^^<http://www.w3.org/2001/XMLSchema#integer>',
    '"7"^^<http://www.w3.org/2001/XMLSchema#integer>', '"abc"^^<http://www.w3.org/2001/XMLSchema#integer>',
    '"2001-02-03"^^<http://www.w3.org/2001/XMLSchema#date>', '"open"', '"shut"', '""',
]  # fmt: skip
FACTS = st.tuples(
    st.sampled_from(ENTITIES), st.sampled_from(PREDICATES), st.sampled_from(ENTITIES + LITERALS)
)
TYPES = st.tuples(st.sampled_from(ENTITIES), st.just(f"<{RDF_TYPE}>"), st.sampled_from(CLASSES))
LABELS = st.sampled_from(
    [
        (entity, f"<{RDFS}label>", f'"Name \\"{number}\\"\\t"@en')
        for number, entity in enumerate([*ENTITIES[:6], *PREDICATES[:2]])
    ]
)
AXIOMS = st.one_of(
    st.tuples(
        st.sampled_from(PREDICATES),
        st.just(f"<{RDF_TYPE}>"),
        st.sampled_from(
            [
                f"<{OWL}{name}Property>"
                for name in (
                    "Functional", "InverseFunctional", "Asymmetric", "Irreflexive", "Symmetric",
                    "Transitive",
                )
            ]
        ),
    ),
    st.tuples(
        st.sampled_from(PREDICATES),
        st.sampled_from(
            [f"<{RDFS}subPropertyOf>", f"<{OWL}propertyDisjointWith>", f"<{OWL}inverseOf>"]
        ),
        st.sampled_from(PREDICATES),
    ),
    st.tuples(
        st.sampled_from(PREDICATES),
        st.sampled_from([f"<{RDFS}domain>", f"<{RDFS}range>"]),
        st.sampled_from(CLASSES),
    ),
    st.tuples(
        st.sampled_from(CLASSES),
        st.sampled_from([f"<{RDFS}subClassOf>", f"<{OWL}disjointWith>"]),
        st.sampled_from([*CLASSES, "_:r"]),
    ),
    st.tuples(
        st.just("_:r"),
        st.sampled_from([f"<{OWL}allValuesFrom>", f"<{OWL}onProperty>"]),
        st.sampled_from([*CLASSES, *PREDICATES]),
    ),
    st.just(("_:r", f"<{OWL}maxCardinality>", '"1"')),
)  # fmt: skip
TRIPLES = st.builds(
    lambda *parts: [triple for part in parts for triple in part],
    st.lists(FACTS, min_size=1, max_size=40),
    st.lists(TYPES, max_size=12),
    st.lists(LABELS, max_size=6),
    st.lists(AXIOMS, max_size=4),
)


def draft_file(path: Path, answers: Answers = NO_ANSWERS) -> Draft:
    return draft_domain(
        Graph.load(path), path.parent, answers, name="g", show_stage=lambda *_: None
    )


def draft_text(tmp_path: Path, text: str, answers: Answers = NO_ANSWERS) -> Draft:
    path = tmp_path / "g.ttl"
    prefixes = {"": EX, "owl": OWL, "rdfs": RDFS, "xsd": XSD}
    head = " ".join(f"@prefix {name}: <{iri}> ." for name, iri in prefixes.items())
    path.write_text(f"{head}\n{text}")
    return draft_file(path, answers)


@pytest.fixture
def few_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets two subjects confirm a rule, so that small graphs have rules."""
    monkeypatch.setattr("kg.profile.rules.MIN_SUBJECTS", 2)
    monkeypatch.setattr("kg.profile.rules.MIN_CHAINED", 1)
    monkeypatch.setattr("kg.profile.classes.MIN_SUBJECTS", 1)
    monkeypatch.setattr("kg.profile.readiness.MIN_CEILING", 0)
    monkeypatch.setattr("kg.profile.names.MIN_NAMED_SUBJECTS", 2)


@given(triples=TRIPLES, seed=st.integers(0, 99))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("few_suffice")
def test_drafted_rules_hold_and_do_not_depend_on_the_order_or_the_format(
    tmp_path: Path, triples: list[tuple[str, str, str]], seed: int
) -> None:
    lines = [f"{' '.join(triple)} .\n" for triple in triples]
    path = tmp_path / "g.nt"
    path.write_text("".join(lines), "utf-8")
    draft = draft_file(path)
    shuffled = list(lines)
    random.Random(seed).shuffle(shuffled)
    (tmp_path / "h.nt").write_text("".join(shuffled), "utf-8")
    parsed = pyoxigraph.parse("".join(shuffled).encode(), pyoxigraph.RdfFormat.N_TRIPLES)
    pyoxigraph.serialize(parsed, tmp_path / "h.ttl", pyoxigraph.RdfFormat.TURTLE)
    for name in ("h.nt", "h.ttl"):
        other = draft_file(tmp_path / name)
        assert other.report == draft.report
        for file, text in draft.files.items():
            assert other.files[file].replace(name, "g.nt") == text
    folder = tmp_path / "drafted"
    write_files_atomic({folder / name: text.encode() for name, text in draft.files.items()})
    domain = load_domain(folder)
    asked = {row.iri for row in draft.report.predicates if row.is_asked}
    assert {iri for iri, wording in domain.predicates.items() if wording.default} == asked
    if draft.report.rules:
        assert len(Shapes.load(folder / "shapes.ttl").list_iris()) == draft.report.rules
        shapes = rdflib.Graph().parse(folder / "shapes.ttl")
        conforms, _, report = pyshacl.validate(rdflib.Graph().parse(path), shacl_graph=shapes)
        assert conforms, report


def test_odd_characters_are_escaped_or_left_out(tmp_path: Path) -> None:
    names = [
        "date",
        "date b",
        'date"b',
        "date{b",
        "date\x7f",
        "date\x85",
        "date\u202e",
        "b'date",
        "é_date",
    ]
    text = (
        "".join(
            f'<{EX}e{n}> <{EX}{name.encode("unicode_escape").decode()}> "{n % 3}" .\n'
            for n in range(30)
            for name in names
        )
        .replace("\\x", "\\u00")
        .replace(" b>", "\\u0020b>")
        .replace('"b>', "\\u0022b>")
    )
    path = tmp_path / "g.nt"
    path.write_text(text, "utf-8")
    draft = draft_file(path)
    write_files_atomic({tmp_path / name: text.encode() for name, text in draft.files.items()})
    askable = {EX + name for name in names} - {EX + name for name in names[1:6]}
    assert {iri for iri, row in load_domain(tmp_path).predicates.items() if row.default} == askable
    assert draft.report.rules == len(askable)
    assert len(Shapes.load(tmp_path / "shapes.ttl").list_iris()) == len(askable)
    assert "\u202e" not in draft.files["readiness.md"]


def list_rules(draft: Draft) -> set[str]:
    """Lists the names of the drafted shapes, without their prefix."""
    return {
        line.strip("<>").removeprefix("urn:epoche:")
        for line in draft.files["shapes.ttl"].splitlines()
        if line.startswith("<urn:")
    }


def test_a_count_with_one_exception_is_no_rule(tmp_path: Path) -> None:
    text = "\n".join(f':e{n} :date "{n % 3}" .' for n in range(500))
    assert list_rules(draft_text(tmp_path, text)) == {"mined:one-value#date"}
    assert not list_rules(draft_text(tmp_path, f'{text} :e7 :date "9" .'))


def test_chains_go_one_way_and_may_have_several_values(tmp_path: Path) -> None:
    text = "\n".join(f":e{n + 1} :flowsInto :e{n // 2} ." for n in range(60))
    draft = draft_text(tmp_path, text)
    assert list_rules(draft) == {"mined:no-cycle#flowsInto"}
    assert 'sh:message "No chain of “flows into” leads back' in draft.files["shapes.ttl"]
    # With one exception it is no rule. Friends may be mutual, even where none are.
    cycle = f"{text} :e0 :flowsInto :e9 ."
    assert not list_rules(draft_text(tmp_path, cycle))
    answers = Answers({}, {EX + "flowsInto": True})
    assert list_rules(draft_text(tmp_path, cycle, answers)) == {"confirmed:no-reverse#flowsInto"}
    assert not list_rules(draft_text(tmp_path, f"{text} :e0 :flowsInto :e1 .", answers))
    friends = text.replace("flowsInto", "friendOf")
    assert not list_rules(draft_text(tmp_path, friends))
    answers = Answers({}, {EX + "friendOf": True})
    assert list_rules(draft_text(tmp_path, friends, answers)) == {"confirmed:no-cycle#friendOf"}


def test_what_is_no_chain_may_have_one_value(tmp_path: Path) -> None:
    """A category is its own one, so that links lead back; other things have one value each."""
    names = ["".join(pair) + "ling" for pair in itertools.product("bdfgklmn", "aeiouyrw")]
    text = "\n".join(
        f":{names[n]} :grouping :{names[n // 9]} ; :tag :{names[n % 7]}s ." for n in range(60)
    )
    draft = draft_text(tmp_path, text)
    assert not list_rules(draft)
    (row,) = (row for row in draft.report.predicates if row.label == "grouping")
    assert row.support == "60 of 60 subjects have one value"
    assert "confirm.toml can say it has one" in row.reason
    answers = Answers({EX + "grouping": True}, {})
    assert list_rules(draft_text(tmp_path, text, answers)) == {"confirmed:one-value#grouping"}
    draft = draft_text(tmp_path, f"{text} :{names[3]} :grouping :{names[5]} .")
    (row,) = (row for row in draft.report.predicates if row.label == "grouping")
    assert row.reason == "two things can stand in this relation to each other"


def test_values_that_a_sub_property_adds_break_a_rule(tmp_path: Path) -> None:
    text = "\n".join(f':e{n} :date "{n % 3}" .' for n in range(20))
    axiom = ':e1 :birthDate "77" . :birthDate rdfs:subPropertyOf :date .'
    draft = draft_text(tmp_path, f"{text} {axiom}")
    assert "mined:one-value#date" not in list_rules(draft)
    (row,) = (row for row in draft.report.predicates if row.iri == EX + "date")
    assert row.reason == "what follows from the graph's axioms breaks its rule"


def test_axioms_give_rules(tmp_path: Path) -> None:
    draft = draft_text(
        tmp_path,
        """
        :employer a owl:FunctionalProperty ; rdfs:domain :Person . :Person owl:disjointWith :Firm .
        :trusts a owl:AsymmetricProperty , owl:IrreflexiveProperty ;
          owl:propertyDisjointWith :employer .
        :badge a owl:InverseFunctionalProperty .
        :mood rdfs:range [ owl:oneOf ( :good :bad ) ] .
        :Person rdfs:subClassOf [ owl:onProperty :mood ; owl:maxCardinality 1 ] ,
          [ owl:onProperty :employer ; owl:allValuesFrom :Firm ] .
        :a a :Person ; :employer :f ; :trusts :b ; :badge "1" ; :mood :good . :f a :Firm .
        """,
    )
    assert list_rules(draft) == {
        "ontology:one-value#employer",
        "ontology:no-reverse#trusts",
        "ontology:not-itself#trusts",
        "ontology:not-both#trusts",
        "ontology:one-subject#badge",
        "ontology:never-both#Firm",
        "ontology:subject-class#employer",
        "ontology:codes#mood",
        "ontology:restriction#Person",
        "ontology:restriction#Person-2",
    }


ALL_VALUES = """
    :Person rdfs:subClassOf [ owl:onProperty :employer ; owl:allValuesFrom :Firm ] ,
      [ owl:onProperty :born ; owl:allValuesFrom xsd:date ] ,
      [ owl:onProperty :age ; owl:allValuesFrom xsd:integer ] .
    :Firm owl:disjointWith :Town , :River .
    :a a :Person ; :employer :f ; :born "2001-02-03"^^xsd:date ; :age "7"^^xsd:int .
    :f a :Firm . :g a :Club . :t a :Town . :h :employer :f .
"""


def test_all_values_from_contradicts_only_what_cannot_be_of_the_class(tmp_path: Path) -> None:
    """OWL's world is open: what is not stated to be a firm may be one, but no town is."""
    prefix = "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
    draft = draft_text(tmp_path, prefix + ALL_VALUES)
    (tmp_path / "shapes.ttl").write_text(draft.files["shapes.ttl"], "utf-8")
    oracle = Oracle(Graph.load(tmp_path / "g.ttl"), Shapes.load(tmp_path / "shapes.ttl"))
    employers = {
        name: oracle.license(Claim(f"{EX}a", f"{EX}employer", EX + name)).label
        for name in ("f", "g", "h", "t")
    }
    assert employers == {"f": "E", "g": "U", "h": "U", "t": "C"}
    values = {
        text: oracle.license(Claim(f"{EX}a", EX + name, f'"{text}"^^<{XSD}{datatype}>')).label
        for name, text, datatype in (
            ("born", "2001", "gYear"), ("born", "2001-02-04", "date"), ("age", "8", "integer"),
            ("age", "9", "short"),
        )
    }  # fmt: skip
    assert values == {"2001": "C", "2001-02-04": "U", "8": "U", "9": "U"}


def test_an_axiom_that_the_graph_breaks_is_no_rule(tmp_path: Path) -> None:
    axioms = ":p a owl:AsymmetricProperty . :C owl:disjointWith :D ."
    assert not list_rules(draft_text(tmp_path, f"{axioms} :a :p :b . :b :p :a . :a a :C , :D ."))


def test_values_have_their_form(tmp_path: Path) -> None:
    text = "\n".join(
        f':e{n} :length {n} ; :latitude {n}.5 ; :status "{"open" if n % 2 else "shut"}" ; '
        f':temperature {n} ; :rank "{n % 2}" .'
        for n in range(20)
    )
    draft = draft_text(tmp_path, text)
    rules = {rule for rule in list_rules(draft) if "one-value" not in rule}
    assert rules == {
        "mined:datatype#latitude",
        "mined:datatype#length",
        "mined:datatype#temperature",
        "mined:range#latitude",
        "mined:range#length",
    }
    assert "sh:minInclusive -90" in draft.files["shapes.ttl"]
    # There may be other statuses.
    answers = Answers({}, {}, {"urn:epoche:mined:codes#status": True})
    assert 'sh:in ( "open" "shut" )' in draft_text(tmp_path, text, answers).files["shapes.ttl"]


SCHEME = ":S a skos:ConceptScheme ."
IN_SCHEME = "{} a skos:Concept ; skos:inScheme :S ."
ALL_IN_SCHEME = " ".join(map(IN_SCHEME.format, (":On", ":Off", ":Idle")))


@pytest.mark.parametrize(
    ("declared", "members"),
    [
        ("", ""),
        (":On skos:inScheme :S . :Off skos:inScheme :S .", ""),  # of another graph
        (f"{SCHEME} :On skos:inScheme :S . :Off skos:inScheme :S .", ""),  # so are these
        (f"{SCHEME} {IN_SCHEME.format(':On')} {IN_SCHEME.format(':Off')}", ":Off :On"),
        (f"{SCHEME} {ALL_IN_SCHEME}", ":Idle :Off :On"),
        (ALL_IN_SCHEME, ""),  # the scheme is of another graph
        (f"{SCHEME} {ALL_IN_SCHEME} :S skos:hasTopConcept :On .", ":Idle :Off :On"),
        (f"{SCHEME} {ALL_IN_SCHEME} :S skos:hasTopConcept :Out .", ""),
        (f"{SCHEME} {ALL_IN_SCHEME} :Out skos:topConceptOf :S .", ""),
        (f"{SCHEME} {ALL_IN_SCHEME} :Out skos:inScheme :S .", ""),
        (f"{SCHEME} {IN_SCHEME.format(':On')} {IN_SCHEME.format(':Idle')}", ""),  # Off is in none
        # There are concepts below the top ones, and others than those of a collection.
        (":S skos:hasTopConcept :On , :Off , :Idle .", ""),
        (f"{SCHEME} :On a skos:Concept . :Off a skos:Concept . :S skos:member :On , :Off .", ""),
    ],
)
def test_a_list_is_closed_if_the_graph_has_a_scheme_with_all_members(
    tmp_path: Path, declared: str, members: str
) -> None:
    facts = "\n".join(f":e{n} :status :{('On', 'Off')[n % 2]} ." for n in range(20))
    prefix = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> ."
    draft = draft_text(tmp_path, f"{prefix}\n{facts}\n{declared}")
    iris = [f"<{EX}{name.removeprefix(':')}>" for name in members.split()]
    written = f"sh:in ( {' '.join(iris)} )" if iris else "sh:in"
    assert (written in draft.files["shapes.ttl"]) is bool(iris)
    name = '"urn:epoche:mined:codes#status" = false'
    assert (f"\n{name}" in draft.files["confirm.toml"]) is not bool(iris)


def test_classes_never_meet_if_nothing_describes_both(tmp_path: Path) -> None:
    songs = [f":s{n} a :Song ; :length {n} ." for n in range(20)]
    people = [
        f":p{n} a :Actor ; :birthDate {n} . :d{n} a :Director ; :birthDate {n} ." for n in range(20)
    ]
    draft = draft_text(tmp_path, "\n".join(songs + people))
    assert {rule for rule in list_rules(draft) if "never-both" in rule} == {
        "mined:never-both#Actor",
        "mined:never-both#Director",
    }
    assert "actor: none of 20 members is one of the 20 of Song" in draft.files["confirm.toml"]


def test_classes_of_which_little_is_known_may_meet(tmp_path: Path) -> None:
    """An actor may be a director; that films name both says nothing of these."""
    text = "\n".join(
        f":f{n} :starring :a{n} ; :director :d{n} . :a{n} a :Actor . :d{n} a :Director ."
        for n in range(20)
    )
    assert not [rule for rule in list_rules(draft_text(tmp_path, text)) if "never-both" in rule]
    text += "\n:a1 :agency :g1 . :d1 :studio :g2 ."
    assert not [rule for rule in list_rules(draft_text(tmp_path, text)) if "never-both" in rule]


def test_names_and_texts_are_never_asked_about(tmp_path: Path) -> None:
    text = "\n".join(
        f':e{n} :familyName "N{n % 5}" ; :description "D{n % 5}" ; :releaseDate "{n % 5}" .'
        for n in range(60)
    )
    draft = draft_text(tmp_path, text)
    assert {row.iri for row in draft.report.predicates if row.is_asked} == {EX + "releaseDate"}
    assert list_rules(draft) == {"mined:one-value#releaseDate"}


def test_codes_get_the_label_of_the_same_code_or_are_left_out(tmp_path: Path) -> None:
    wd, wdt = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
    text = "\n".join(
        f'<{wd}Q{n}> rdfs:label "Thing {n}x" ; <{wdt}P577> "{n % 4}" ; <{wdt}P999999> "{n % 4}" ; '
        f'<{wdt}P888888> "{n % 4}" .'
        for n in range(20)
    )
    draft = draft_text(tmp_path, f'{text} <{wd}P888888> rdfs:label "opening year"@en .')
    labels = {row.iri.removeprefix(wdt): row.label for row in draft.report.predicates}
    assert labels == {"P577": "publication date", "P888888": "opening year", "P999999": ""}
    assert wdt + "P999999" not in draft.files["domain.toml"]
    assert find_known_label("http://purl.obolibrary.org/obo/BFO_0000050") == "part of"


def test_labels_of_another_language_do_not_hide_what_a_predicate_is(tmp_path: Path) -> None:
    text = "\n".join(
        f':e{n} rdfs:label "Personne {n}"@fr ; :birthDate "{n % 5}" ; :nationality :c{n % 3} ; '
        f':description "D{n % 5}" .'
        for n in range(30)
    )
    labels = ("birthDate", "naissance"), ("nationality", "pays"), ("description", "propos")
    text += "".join(f'\n:{name} rdfs:label "{label}"@fr .' for name, label in labels)
    draft = draft_text(tmp_path, text)
    assert list_rules(draft) == {"mined:one-value#birthDate"}
    assert 'label = "naissance"' in draft.files["domain.toml"]


def test_records_are_about_one_of_each_thing(tmp_path: Path) -> None:
    text = "\n".join(f":e{n} a :CLASS ; :payee :f{n % 4} ." for n in range(30))
    for cls, rules in (("Payment", {"mined:one-value#payee"}), ("Person", set())):
        assert list_rules(draft_text(tmp_path, text.replace("CLASS", cls))) == rules


def test_several_may_take_part_in_an_event_or_receive_a_message(tmp_path: Path) -> None:
    roles = "recipient organizer speaker winner conductor soloist addressee witness attachment"
    for cls in ("Message", "Event", "Performance"):
        text = "\n".join(
            f":e{n} a :{cls} ; :venue :v{n % 4} ; "
            + " ; ".join(f":{role} :x{n % 5}{role}" for role in roles.split())
            + " ."
            for n in range(30)
        )
        assert list_rules(draft_text(tmp_path, text)) == {"mined:one-value#venue"}


PLACES = ("Delft", "Gouda", "Hoorn", "Leiden", "Utrecht")
ONCE = {
    "father": ":p{n4}", "biologicalMother": ":p{n4}", "godfather": ":p{n4}", "fatherOf": ":p{n}x",
    "placeOfBirth": '"{place}"', "deathPlace": ":{place}", "placeOfBurial": '"{place}"',
    "sex": ":s{n2}", "typeOfDocument": ":d{n3}", "documentType": ":d{n3}",
    "publicationType": ":d{n3}",
    "nationality": ":c{n3}", "motherTongue": ":l{n3}",
}  # fmt: skip


def write_once(predicates: str, cls: str, places: tuple[str, ...] = PLACES) -> str:
    """Writes things with one value each of some of the predicates above."""
    return "\n".join(
        f":p{n} a :{cls} ; "
        + " ; ".join(
            f":{name} {ONCE[name]}".format(
                n=n, n2=n % 2, n3=n % 3, n4=n // 4 + 50, place=places[n % len(places)]
            )
            for name in predicates.split()
        )
        + f" ; :knownAs :k{n} ."
        for n in range(40)
    )


@pytest.mark.parametrize(
    ("predicates", "cls", "single"),
    [
        ("father biologicalMother godfather fatherOf", "Person", "biologicalMother father"),
        # A shirt may be for both sexes, and nothing is known of what has no class.
        ("sex nationality motherTongue", "Individual", "sex"),
        ("sex nationality motherTongue", "Shirt", ""),
        ("typeOfDocument documentType publicationType", "Act", ""),
    ],
)
def test_what_everyone_has_one_of_is_one_value(
    tmp_path: Path, predicates: str, cls: str, single: str
) -> None:
    rules = list_rules(draft_text(tmp_path, write_once(predicates, cls)))
    rules = {rule for rule in rules if "one-value" in rule}
    assert sorted(rules) == [f"mined:one-value#{name}" for name in single.split()]


@pytest.mark.parametrize(
    ("cls", "more", "is_rule"),
    [
        ("City", "", True),
        ("CapitalCity", ":Delft a :Capital .", True),
        ("City", ":Delft :partOf :Gouda .", False),
        ("", ":Delft a :City .", False),
        ("Settlement", "", False),  # Brooklyn is one
        ("Place", "", False),
        ("Country", "", False),
    ],
)
def test_birthplaces_are_one_value_if_all_are_of_one_class_of_settlements(
    tmp_path: Path, cls: str, more: str, is_rule: bool
) -> None:
    text = write_once("deathPlace placeOfBurial", "Painter")
    text += "".join(f"\n:{place} a :{cls} ." for place in PLACES if cls)
    draft = draft_text(tmp_path, f"{text}\n{more}")
    rules = {rule for rule in list_rules(draft) if "one-value" in rule}
    assert rules == ({"mined:one-value#deathPlace"} if is_rule else set())
    assert is_doubtful(draft, "deathPlace") is not is_rule


def is_doubtful(draft: Draft, name: str) -> bool:
    """Returns whether confirm.toml asks about the rule that a predicate has one value."""
    return f'\n"{EX}{name}" = false' in draft.files["confirm.toml"]


def test_names_do_not_tell_whether_a_place_is_part_of_another(tmp_path: Path) -> None:
    places = ("Brooklyn", "New York City", "Houston", "Texas")
    draft = draft_text(tmp_path, write_once("placeOfBirth", "Painter", places))
    assert not list_rules(draft)
    assert is_doubtful(draft, "placeOfBirth")


def test_what_no_vocabulary_limits_is_doubtful(tmp_path: Path) -> None:
    """Records of the Web of Science are articles and proceedings papers at once."""
    prefix = "@prefix schema: <https://schema.org/> ."
    facts = "\n".join(
        f":r{n} :documentType :d{n % 3} ; schema:availability schema:a{n % 3} ; "
        f"schema:itemCondition schema:c{n % 3} ."
        for n in range(40)
    )
    draft = draft_text(tmp_path, f"{prefix}\n{facts}")
    assert not list_rules(draft)
    assert is_doubtful(draft, "documentType")
    assert '\n"https://schema.org/availability" = false' in draft.files["confirm.toml"]


def test_parents_go_one_way_too(tmp_path: Path) -> None:
    text = "\n".join(f":p{n} :father :p{n // 3} ; :knownAs :k{n} ." for n in range(1, 60))
    assert list_rules(draft_text(tmp_path, text)) == {
        "mined:one-value#father",
        "mined:no-cycle#father",
    }


@pytest.mark.parametrize(
    ("head", "fact", "name"),
    [
        ("", "<http://vocab.gtfs.org/terms#stop> :s{m}", "stop"),
        ("", "<http://vocab.gtfs.org/terms#trip> :t{m}", "trip"),
        ("", "<http://www.w3.org/ns/sosa/hasFeatureOfInterest> :r{m}", "hasFeatureOfInterest"),
        ("", "<http://data.europa.eu/eli/ontology#type_document> :d{m}", "type-document"),
        ("", ":canton :c{m}", ""),
        (":canton a qb:DimensionProperty .", ":canton :c{m}", "canton"),
        ("[] qb:dimension :canton .", ":canton :c{m}", "canton"),
        ("[] qb:measure :grape .", ":grape :g{m}", "grape"),
        ("[] qb:attribute :note .", ":note :n{m}", ""),
    ],
)
def test_vocabularies_define_what_has_one_value(
    tmp_path: Path, head: str, fact: str, name: str
) -> None:
    prefix = "@prefix qb: <http://purl.org/linked-data/cube#> ."
    facts = "\n".join(f":o{n} {fact.format(m=n % 5)} ." for n in range(30))
    rules = list_rules(draft_text(tmp_path, f"{prefix}\n{head}\n{facts}"))
    assert rules == ({f"mined:one-value#{name}"} if name else set())


def test_an_event_has_one_date(tmp_path: Path) -> None:
    text = "\n".join(
        f':e{n} a :CLASS ; :inspectionDate "20{n % 9 + 10}-05-01"^^xsd:date .' for n in range(30)
    )
    text = "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n" + text
    one_date = "mined:one-value#inspectionDate"
    assert one_date in list_rules(draft_text(tmp_path, text.replace("CLASS", "FoodInspection")))
    assert one_date not in list_rules(draft_text(tmp_path, text.replace("CLASS", "Bridge")))


@pytest.mark.parametrize(
    "label", ["postal code", "time zone", "currency", "zip code", "calling code", "shirt number"]
)
def test_an_address_or_a_record_has_one_code(label: str) -> None:
    assert judge_single_value(label, "texts", of_events=True) is True


def test_a_record_has_one_of_what_its_kind_has_one_of(tmp_path: Path) -> None:
    """A dictionary's entry is no record, and a record may have several of other things."""
    parts = "payee department venue currency status"
    others = "sense register usageHint colour remark2"
    text = "\n".join(
        f":e{n} a :CLASS ; "
        + " ; ".join(f":{part} :x{n % 4}{part}" for part in f"{parts} {others}".split())
        + " ."
        for n in range(30)
    )
    drafts = {
        cls: draft_text(tmp_path, text.replace("CLASS", cls))
        for cls in ("LedgerEntry", "LexicalEntry")
    }
    rules = {
        cls: {rule for rule in list_rules(draft) if "one-value" in rule}
        for cls, draft in drafts.items()
    }
    assert rules["LedgerEntry"] == {f"mined:one-value#{part}" for part in parts.split()}
    assert rules["LexicalEntry"] == {"mined:one-value#status"}


@pytest.mark.parametrize(
    ("label", "values", "is_single"),
    [
        ("date of birth", "texts", True), ("number of children", "figures", True),
        ("has length", "measures", True), ("length in metres", "figures", True),
        ("order status", "codes", True), ("language code", "texts", True),
        ("address line2", "texts", True), ("points scored against", "figures", True),
        ("date submitted", "texts", True), ("has unit", "codes", True),
        ("unit of measure", "texts", True), ("date(s)", "texts", True),
        ("nationality", "codes", False), ("author", "things", False),
        ("created by", "things", False), ("has interest", "texts", False),
        ("language of work", "things", False), ("date submitted by", "texts", False),
        ("topic", "texts", False), ("payee", "things", None), ("mouth", "things", None),
        # A word in a name does not make its values measures or codes.
        ("area of interest", "texts", False), ("area of interest", "things", False),
        ("business unit", "texts", None), ("business unit", "codes", None),
        ("unit of study", "texts", None), ("date of publications", "measures", False),
        ("date of publication", "measures", True), ("dates", "texts", False),
        ("product line", "texts", False), ("phone number", "figures", False),
        ("year group", "texts", None), ("price list", "texts", None), ("area", "things", None),
        ("founded", "things", None), ("founded", "figures", True), ("birth place", "things", None),
        ("subject area", "texts", False), ("religious order", "texts", None),
        # What happens to a thing again has several dates; the last one has one.
        ("award year", "measures", False), ("date of inspection", "texts", False),
        ("flood level", "measures", False), ("last inspection date", "measures", True),
        ("publication year", "measures", True), ("number of visits", "figures", True),
        ("test code", "texts", True), ("start date", "measures", True),
        ("identifies", "things", True), ("denotes", "things", None),
        # A thing may have several of these; its own codes are single.
        ("time zone", "texts", False), ("timezone", "codes", False), ("currency", "codes", False),
        ("calling code", "texts", False), ("dialling code", "figures", False),
        ("area code", "texts", False), ("postal code", "texts", False), ("zip", "figures", False),
        ("jersey number", "measures", False), ("number of jersey", "measures", False),
        ("frequency", "measures", False), ("broadcast frequency", "measures", False),
        ("price currency", "texts", True), ("iata code", "texts", True),
        ("ISO country code", "texts", True), ("isbn", "texts", True),
        ("serial number", "texts", True),
    ],
)  # fmt: skip
def test_names_and_values_say_whether_the_world_has_one_value(
    label: str, values: ValueKind, is_single: bool | None
) -> None:
    assert judge_single_value(label, values) is is_single


@pytest.mark.parametrize(
    ("noun", "is_one"),
    [
        ("payment", True), ("Sales Event", True), ("order line item", True),
        ("invoice (document)", True), ("video game", False), ("postal code", False),
        ("association", True), ("football association", False),
        ("event venue", False), ("payment method", False),
        ("flight school", False), ("record label", False), ("lexical entry", False),
        ("dictionary entry", False), ("journal entry", True), ("registry entry", True),
    ],
)  # fmt: skip
def test_the_end_of_a_noun_says_whether_its_members_are_records(noun: str, is_one: bool) -> None:
    assert is_record(noun) is is_one


def test_what_the_data_confirm_can_be_false_where_a_word_misleads(tmp_path: Path) -> None:
    text = "\n".join(
        f':e{n} a :Person ; :areaOfInterest "Field {n % 4}" ; :businessUnit :u{n % 5} ; '
        f':unitOfStudy :s{n % 3} ; :dateOfPublications "200{n % 9}" ; :area "{n % 6} ha" ; '
        f":startDate :d{n % 40} ; :unit :m{n % 3} ."
        for n in range(60)
    )
    rules = list_rules(draft_text(tmp_path, text))
    assert rules == {"mined:one-value#area", "mined:one-value#unit"}


def test_names_say_whether_a_relation_can_be_mutual() -> None:
    assert all(map(may_be_mutual, ("knows", "influenced by", "followed by", "cites", "owned by")))
    # Links may be stated once only, in the order of ids: only words of direction say it.
    mutual = ("near to", "co author", "grenzt an", "ally", "twinned with", "synonym", "alliance")
    assert all(map(may_be_mutual, mutual))
    assert not any(map(may_be_mutual, ("broader", "directly follows in sequence", "reports to")))
    assert not any(map(may_be_mutual, ("is part of", "flows into", "child of", "is fed by")))
    # Of two names, such as label and local name, a code says nothing.
    assert not may_be_mutual("part of", "BFO 0000050")
    assert may_be_mutual("regulates", "RO 0002211")
    assert may_be_mutual("part of", "influenced by")


@pytest.mark.parametrize(
    "label",
    [
        "next to", "located near", "co located with", "situated beside", "located across from",
        "level with", "next of kin", "within walking distance of", "within ten minutes of",
        "based near", "close to", "located 5 km from", "colocated with", "located alongside",
        "feeds on", "in range of", "nearest village", "situated opposite", "located between",
    ],
)  # fmt: skip
def test_what_stands_beside_a_thing_has_it_beside_itself(label: str) -> None:
    assert may_be_mutual(label)
    assert may_be_mutual(label, of_documents=True)


@pytest.mark.parametrize(
    "label",
    ["located in", "within", "situated on", "feeds into", "level below", "named after", "inside"],
)
def test_a_place_inside_another_goes_one_way(label: str) -> None:
    assert not may_be_mutual(label)


@pytest.mark.parametrize(
    "label", ["next", "previous", "successor", "predecessor", "succeeded by", "is replaced by"]
)
@pytest.mark.parametrize(
    ("cls", "is_one_way"),
    [
        ("DocumentVersion", True), ("Chapter", True), ("Inspection", True),
        ("President", False), ("Stop", False), ("Office", False),
    ],
)  # fmt: skip
def test_only_documents_come_one_after_another_for_good(
    tmp_path: Path, label: str, cls: str, is_one_way: bool
) -> None:
    """A line may be a circle, and an office may return to one who held it."""
    name = "".join(map(str.capitalize, label.split()))
    text = "\n".join(f":e{n + 1} a :{cls} ; :{name} :e{n} ." for n in range(40))
    rules = {rule for rule in list_rules(draft_text(tmp_path, text)) if "cycle" in rule}
    assert rules == ({f"mined:no-cycle#{name}"} if is_one_way else set())


@pytest.mark.parametrize("label", ["year won", "date inspected", "year restored"])
def test_what_can_happen_again_has_several_dates(label: str) -> None:
    assert judge_single_value(label, "measures") is False
    assert judge_single_value(label, "measures", of_events=True) is True


def test_dates_of_deeds_that_recur_are_doubtful(tmp_path: Path) -> None:
    text = "\n".join(
        f':e{n} a :House ; :renovatedIn "{1900 + n % 50}"^^xsd:gYear ; '
        f':builtIn "{1700 + n % 50}"^^xsd:gYear .'
        for n in range(60)
    )
    rules = list_rules(draft_text(tmp_path, text))
    assert {rule for rule in rules if "one-value" in rule} == {"mined:one-value#builtIn"}


def test_links_of_a_hub_are_compared_once_each() -> None:
    n_compared = 0

    class Term(int):
        __hash__ = int.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal n_compared
            n_compared += 1
            return int.__eq__(self, other) is True

    hub, n = Term(0), 300
    links: dict[int, list[int]] = {Term(i): [Term(0)] for i in range(1, n)}
    links |= {Term(i): [] for i in range(n, 2 * n)} | {hub: [Term(i) for i in range(n, 2 * n)]}
    n_compared = 0
    assert is_asymmetric(links)
    assert n_compared < 20 * n
    links[Term(n)] = [Term(0)]
    assert not is_asymmetric(links)


@pytest.mark.parametrize(
    ("label", "is_one"),
    [
        ("is part of", True), ("has member", True), ("member of team", True), ("contains", True),
        ("belongs to", True), ("broader concept", True), ("has part device", True),
        ("part of speech", False), ("member id", False), ("part number", False),
        ("series number", False), ("container type", False), ("member since", False),
    ],
)  # fmt: skip
def test_the_head_noun_says_whether_something_contains_another(label: str, is_one: bool) -> None:
    assert is_part(label) is is_one


@pytest.mark.parametrize(
    ("label", "is_one"),
    [
        ("within", True), ("is inside", True), ("situated in", True), ("lies in", True),
        ("is located in", True), ("In the region", True), ("location", True),
        ("flows into", False), ("born in", False), ("region code", False),
    ],
)  # fmt: skip
def test_names_of_locations(label: str, is_one: bool) -> None:
    assert is_location(label) is is_one


def test_only_things_contain_or_are_parts(tmp_path: Path) -> None:
    text = "\n".join(
        f':e{n} a :Part ; :memberId "M{n % 7}" ; :partNumber "{n % 9}" ; :partOfSpeech :p{n % 3} ; '
        f":partOf :w{n // 2} ; :includes :i{n // 2} ."
        for n in range(60)
    )
    draft = draft_text(tmp_path, text)
    rules = {rule for rule in list_rules(draft) if "one-value" in rule}
    assert rules == {"mined:one-value#memberId", "mined:one-value#partNumber"}
    reasons = {row.iri.removeprefix(EX): row.reason for row in draft.report.predicates}
    assert "may have several values" in reasons["partOfSpeech"]
    assert "several levels" in reasons["partOf"]
    assert "several levels" in reasons["includes"]
