"""Tests that blank nodes with a name, or with one owner, can be asked about."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib.compare import isomorphic
from stage_calls import run_epoche

from cards.card import read_cards
from kg.claims import Claim
from kg.graph import Graph
from kg.profile.graph_changes.blank_nodes import describe_named_nodes, name_blank_nodes
from kg.profile.names import choose_naming
from kg.terms import RDF, RDFS, is_literal, parse_literal
from kg.vocabulary import NAMED_NODE
from kg.words.qualifiers import is_named_after

EX = "https://example.org/"
PREFIXES = (
    f"@prefix ex: <{EX}> . @prefix schema: <https://schema.org/> .\n"
    "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix sh: <http://www.w3.org/ns/shacl#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
)


def load(tmp_path: Path, text: str) -> Graph:
    path = tmp_path / "g.ttl"
    path.write_text(PREFIXES + text, "utf-8")
    return Graph.load(path)


def list_labels(graph: Graph | None) -> list[str]:
    """Lists the labels that nodes were given; all are in English."""
    assert graph is not None
    return sorted(
        parse_literal(claim.obj).lexical
        for claim in graph.iter_claims(RDFS + "label")
        if claim.subj.startswith(NAMED_NODE)
        and is_literal(claim.obj)
        and parse_literal(claim.obj).language == "en"
    )


def test_a_part_is_called_after_its_owner(tmp_path: Path) -> None:
    graph = load(
        tmp_path,
        """
        ex:a rdfs:label 'Acme' ; ex:hasAddress [ ex:locality 'Bonn' ; ex:zip '53113' ] ;
            ex:offers [ a ex:Offer ; ex:price 5 ; ex:currency 'EUR' ] .
        """,
    )
    assert list_labels(name_blank_nodes(graph)) == ["address of Acme", "offer of Acme"]


def test_a_step_without_facts_is_left_out_of_a_name(tmp_path: Path) -> None:
    graph = load(
        tmp_path,
        """
        ex:a rdfs:label 'Acme' ; ex:hasSite [ ex:hasAddress [ ex:locality 'Bonn' ; ex:zip '5' ] ] .
        ex:b rdfs:label 'Bolt' ; ex:hasSite [ ex:hasAddress [ ex:locality 'Kiel' ] ] ;
            ex:home [ ex:hasAddress [ ex:locality 'Ulm' ] ] .
        ex:c rdfs:label 'Core' ; ex:hasSite [ ex:floor 2 ; ex:hasAddress [ ex:locality 'Hof' ] ] .
        """,
    )
    assert list_labels(name_blank_nodes(graph)) == [
        "address of Acme",
        "address of home of Bolt",
        "address of site of Bolt",
        "address of site of Core",
        "home of Bolt",
        "site of Acme",
        "site of Bolt",
        "site of Core",
    ]


def test_parts_of_one_kind_are_told_apart_by_their_codes(tmp_path: Path) -> None:
    graph = load(
        tmp_path,
        """
        ex:a rdfs:label 'Acme' ;
            ex:release [ a ex:Release ; ex:revision '1.2' ; ex:day 4 ],
                [ a ex:Release ; ex:revision '1.4' ; ex:day 5 ] ;
            ex:wheel [ ex:number 1 ; ex:size 7 ], [ ex:number 2 ; ex:size 7 ],
                [ ex:number 2 ; ex:size 8 ], [ ex:number 3 ; ex:version 8 ; ex:size 8 ],
                [ ex:size 9 ], [ ex:number 'of a very long kind' ; ex:size 9 ] .
        """,
    )
    names = ["release 1.2 of Acme", "release 1.4 of Acme", "wheel 1 of Acme"]
    assert list_labels(name_blank_nodes(graph)) == names


def test_a_name_of_its_own_suffices_if_others_do_not_have_it(tmp_path: Path) -> None:
    people = "".join(
        f"ex:p{n} rdfs:label 'Page {n}' ; schema:author [ schema:name 'Jo {n}' ; ex:age {n} ] .\n"
        for n in range(10)
    )
    ports = "".join(
        f"ex:d{n} rdfs:label 'Device {n}' ; ex:port [ schema:name 'Gain' ; ex:index {n} ] ,\n"
        f"    [ schema:name 'Wet' ; ex:index {n + 1} ] .\n"
        for n in range(10)
    )
    named = name_blank_nodes(load(tmp_path, people + ports))
    expected = [f"{port} of Device {n}" for port in ("Gain", "Wet") for n in range(10)]
    assert list_labels(named) == expected
    assert named is not None
    assert len(list(named.iter_claims("https://schema.org/author"))) == 10
    assert not named.index.terms.blanks


def test_nodes_with_nothing_but_one_name_and_class_are_one_thing(tmp_path: Path) -> None:
    graph = load(
        tmp_path,
        "".join(
            f"ex:p{n} rdfs:label 'Product {n}' ;\n"
            f"    schema:brand [ a schema:Brand ; schema:name 'Brand {n % 2}' ] ;\n"
            f"    schema:seller [ a ex:Shop ; schema:name 'Shop {n % 9}' ; ex:zip {n % 9} ] .\n"
            for n in range(10)
        ),
    )
    named = name_blank_nodes(graph)
    assert named is not None
    brands = Counter(claim.obj for claim in named.iter_claims("https://schema.org/brand"))
    assert list(brands.values()) == [5, 5]
    # More is said of the sellers, so two of one name may be two.
    assert len({claim.obj for claim in named.iter_claims("https://schema.org/seller")}) == 10


def test_values_stand_in_place_of_nodes_that_only_hold_them(tmp_path: Path) -> None:
    """As in FHIR; two members of a list, or a value with a unit, are more than a value."""
    graph = load(
        tmp_path,
        """
        ex:p rdfs:label 'Pat' ; ex:gender [ ex:v 'female' ] ; ex:given ( [ ex:v 'Ann' ] ) ;
            ex:tags ( 'a' 'b' ) ; ex:weight [ a ex:Mass ; ex:value 5 ; ex:unit 'kg' ] .
        ex:C a owl:Class ; owl:oneOf ( ex:one ) .
        """,
    )
    named = name_blank_nodes(graph)
    assert named is not None
    values = {
        claim.pred.removeprefix(EX): claim.obj
        for claim in named.iter_claims()
        if claim.subj == EX + "p"
    }
    assert values["gender"] == '"female"'
    assert values["given"] == '"Ann"'
    assert values["tags"].startswith("_:")
    assert list_labels(named) == ["weight of Pat"]
    assert sum(1 for _ in named.iter_claims(RDF + "first")) == 3
    assert not list(named.iter_claims(EX + "v"))
    load(tmp_path, named.to_ntriples().decode())  # no literal is a subject


def test_nodes_that_cannot_be_told_apart_stay_as_they_are(tmp_path: Path) -> None:
    graph = load(
        tmp_path,
        """
        ex:a rdfs:label 'Acme' ; ex:address [ ex:locality 'Bonn' ] , [ ex:locality 'Kiel' ] .
        ex:b rdfs:label 'Bolt' ; ex:address _:shared .
        ex:c rdfs:label 'Core' ; ex:address _:shared .
        _:shared ex:locality 'Ulm' .
        ex:d rdfs:label 'Core' ; ex:address [ ex:locality 'Hof' ] .
        _:loop ex:next _:loop .
        """,
    )
    assert name_blank_nodes(graph) is None


def test_nodes_of_the_schema_stay_as_they_are(tmp_path: Path) -> None:
    graph = load(
        tmp_path,
        """
        ex:A a owl:Class ; rdfs:label 'a' ;
            rdfs:subClassOf [ a owl:Restriction ; rdfs:label 'r' ; owl:onProperty ex:p ] .
        ex:S a sh:NodeShape ; rdfs:label 's' ; sh:property [ sh:name 'n' ; rdfs:label 'path' ] .
        ex:l rdfs:label 'list' ; ex:members ( 1 2 ) .
        """,
    )
    assert name_blank_nodes(graph) is None


def test_a_concept_without_an_iri_is_a_thing(tmp_path: Path) -> None:
    graph = load(tmp_path, "[ a skos:Concept ; skos:prefLabel 'rose'@en ; ex:height 2 ] .")
    named = name_blank_nodes(graph)
    assert named is not None
    assert [claim.subj for claim in named.iter_claims(EX + "height")] == [NAMED_NODE + "b0"]


def restore_blank_nodes(graph: Graph) -> rdflib.Graph:
    """Returns the graph with blank nodes in place of named ones, and without their labels."""
    restored = rdflib.Graph()
    for triple in graph.to_rdflib():
        s, p, o = (
            rdflib.BNode(term.removeprefix(NAMED_NODE)) if term.startswith(NAMED_NODE) else term
            for term in triple
        )
        is_label = p == rdflib.RDFS.label and isinstance(o, rdflib.Literal) and o.language == "en"
        if not (is_label and isinstance(s, rdflib.BNode)):
            restored.add((s, p, o))
    return restored


NODES = ["_:a", "_:b", "_:c", EX + "x", EX + "y"]


@given(
    st.sets(
        st.builds(
            Claim,
            subj=st.sampled_from(NODES),
            pred=st.sampled_from([EX + "p", EX + "part", RDFS + "label"]),
            obj=st.sampled_from([*NODES, '"one"', '"two"']),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_names_change_nothing_else(claims: set[Claim]) -> None:
    """Without its labels the new graph is the old one, but for nodes that are one thing now."""
    graph = Graph.from_claims(claims)
    before = graph.to_rdflib()
    named = name_blank_nodes(graph)
    if named is not None:
        after = restore_blank_nodes(named)
        names = [claim.obj for claim in claims if claim.pred == RDFS + "label"]
        assert isomorphic(before, after) or len(names) > len(set(names))
        labels = Counter(list_labels(named))
        assert not labels or max(labels.values()) == 1


def write_shop(path: Path) -> Path:
    """Writes products as web pages have them: all of them blank nodes, with offers and brands."""
    lines = [PREFIXES]
    for n in range(60):
        name = f"Camera {chr(65 + n % 26)}{n}"
        lines.append(
            f"[ a schema:Product ; schema:name '{name}' ; schema:sku 'sku{n}' ;\n"
            f"  schema:brand [ a schema:Brand ; schema:name 'Brand {n % 5}' ] ;\n"
            f"  schema:weight {300 + 10 * (n % 12)} ;\n"
            f"  schema:offers [ a schema:Offer ; schema:price {100 + 50 * (n % 9)} ;\n"
            f"    schema:priceCurrency '{('EUR', 'CHF', 'GBP')[n % 3]}' ] ] ."
        )
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_cards_ask_about_blank_nodes(tmp_path: Path) -> None:
    source = write_shop(tmp_path / "shop.ttl")
    folder, out = tmp_path / "shop", tmp_path / "cards.jsonl"
    result = run_epoche("kg", "init", source, "--out", folder)
    assert result.code == 0, result.err
    assert "125 blank nodes got an IRI and a name" in result.out  # 60 brands are five things
    result = run_epoche(
        "cards", "--domain", folder, "--num-per-type", 15, "--num-faithfulness", 0, "--out", out
    )
    assert result.code == 0, result.err
    cards = read_cards(out)
    assert Counter(card.label for card in cards) == {"E": 15, "C": 15, "U": 15}
    assert any("offer of Camera" in card.question for card in cards)
    texts = [text for card in cards for text in (*card.facts, card.question)]
    assert not any(
        "offers offer" in text or "as its offer" in text or NAMED_NODE in text for text in texts
    )
    verified = run_epoche("verify", out)
    assert verified.code == 0, verified.out + verified.err


def test_the_same_graph_in_another_format_gives_the_same_files(tmp_path: Path) -> None:
    """Also with its blank nodes called otherwise and its triples in another order."""
    source = write_shop(tmp_path / "shop.ttl")
    lines = Graph.load(source).to_ntriples().decode().replace("_:b", "_:z9x").splitlines()
    other = tmp_path / "other" / "shop.nt"
    other.parent.mkdir()
    other.write_text("\n".join(reversed(lines)) + "\n", "utf-8")
    for path in (source, other):
        assert run_epoche("kg", "init", path, "--out", path.parent / "d").code == 0
    for name in ("prepared-graph.nt", "shapes.ttl"):
        files = [path.parent / "d" / name for path in (source, other)]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_things_of_one_name_are_called_after_their_owners(tmp_path: Path) -> None:
    graph = load(
        tmp_path,
        "ex:a schema:talk [ schema:name 'Reef' ; ex:year 1 ] , [ schema:name 'Kelp' ; ex:year 2 ] ."
        " ex:b schema:talk [ schema:name 'REEF' ; ex:year 3 ] ."
        " [ schema:name 'Kelp 1' ; ex:year 4 ]"
        " . [ schema:name 'Kelp 1' ; ex:year 5 ] . ex:k rdfs:label 'Talk 8' . "
        + "".join(
            f"ex:c schema:talk [ schema:name 'Talk {n}' ; ex:year {n} ] . " for n in range(9)
        ),
    )
    named = name_blank_nodes(graph)
    assert named is not None
    labels = choose_naming(named).make_labels(named)
    names = sorted(
        labels.get_label(claim.subj)
        for claim in named.iter_claims(EX + "year")
        if claim.subj.startswith(NAMED_NODE)
    )
    talks = [f"Talk {n}" for n in range(8)]
    assert names == ["Kelp", "REEF of b", "Reef of a", *talks, "Talk 8 of c"]


@pytest.mark.parametrize(
    "sibling",
    [
        "ex:hq . ex:hq rdfs:label 'HQ'",
        "'somewhere else'",
        "[ rdfs:label 'HQ' ; ex:locality 'Bonn' ]",
        "_:shared . ex:b ex:location _:shared",
    ],
)
def test_a_part_is_not_called_after_its_owner_if_there_is_another(
    tmp_path: Path, sibling: str
) -> None:
    """What is said of "location of Acme" would be disputed by its headquarters."""
    graph = load(
        tmp_path,
        f"ex:a rdfs:label 'Acme' ; ex:location [ ex:locality 'Kiel' ; ex:zip '1' ] , {sibling} .",
    )
    named = name_blank_nodes(graph)
    assert named is None or not list_labels(named)


@pytest.mark.parametrize(
    "axiom",
    [
        "ex:head a owl:InverseFunctionalProperty .",
        "ex:head a owl:SymmetricProperty .",
        "ex:head owl:inverseOf ex:heads .",
        "ex:head rdfs:subPropertyOf ex:knows .",
    ],
)
def test_nodes_stay_apart_where_axioms_would_draw_conclusions(tmp_path: Path, axiom: str) -> None:
    """Of one head, two departments would be one."""
    text = (
        "ex:a ex:head [ a ex:P ; rdfs:label 'Jan' ] . ex:b ex:head [ a ex:P ; rdfs:label 'Jan' ] . "
    )
    heads = [
        {claim.obj for claim in named.iter_claims(EX + "head")}
        for named in map(name_blank_nodes, (load(tmp_path, text), load(tmp_path, text + axiom)))
        if named is not None
    ]
    assert [len(each) for each in heads] == [1, 2]


def test_two_values_of_one_thing_stay_two(tmp_path: Path) -> None:
    graph = load(
        tmp_path,
        "ex:a ex:author [ rdfs:label 'Jan' ; a ex:P ] , [ a ex:P ; rdfs:label 'Jan' ] . "
        "ex:b ex:author [ a ex:P ; rdfs:label 'Jan' ] .",
    )
    named = name_blank_nodes(graph)
    assert named is None or len({c.obj for c in named.iter_claims(EX + "author")}) >= 2


def test_iris_that_the_graph_has_are_not_given_again(tmp_path: Path) -> None:
    """A graph that ``kg init`` has prepared may be given to it again, with others."""
    path = tmp_path / "first.ttl"
    path.write_text(f"{PREFIXES} [ rdfs:label 'One' ; ex:size 1 ] .", "utf-8")
    first = name_blank_nodes(Graph.load(path))
    assert first is not None
    again = load(tmp_path, first.to_ntriples().decode() + " [ rdfs:label 'Two' ; ex:size 2 ] .")
    second = name_blank_nodes(again)
    assert second is not None
    assert len({claim.subj for claim in second.iter_claims(EX + "size")}) == 2
    (remark,) = describe_named_nodes(again, second, "g.nt")
    assert remark.startswith("1 blank node got")


def test_a_value_with_a_class_or_an_empty_list_stays_a_node(tmp_path: Path) -> None:
    graph = load(
        tmp_path,
        """
        ex:a rdfs:label 'Acme' ; ex:heat [ a ex:Celsius ; ex:value 5 ] .
        ex:b rdfs:label 'Bolt' ; ex:heat [ a ex:Fahrenheit ; ex:value 5 ] ;
            ex:note [ ex:v 'x' ; ex:list () ] .
        """,
    )
    labels = list_labels(name_blank_nodes(graph))
    assert labels == ["heat of Acme", "heat of Bolt", "note of Bolt"]


def test_many_nested_wrappers_do_not_take_long() -> None:
    n = 20_000
    claims = [Claim(f"_:l{k}", RDF + "first", f"_:l{k + 1}") for k in range(n)]
    claims += [Claim(f"_:l{k}", RDF + "rest", RDF + "nil") for k in range(n)]
    claims += [Claim(EX + "a", EX + "p", "_:l0"), Claim(f"_:l{n}", EX + "v", '"x"')]
    named = name_blank_nodes(Graph.from_claims(claims))
    assert named is not None
    assert [claim.obj for claim in named.iter_claims(EX + "p")] == ['"x"']


def test_one_thing_may_have_very_many_parts() -> None:
    """In time that grows with their number: with its square, this took minutes."""
    owner, claims = EX + "device", [Claim(EX + "device", RDFS + "label", '"Device"')]
    for k in range(20_000):
        claims += [
            Claim(owner, EX + "port", f"_:p{k}"),
            Claim(f"_:p{k}", RDFS + "label", f'"Port {k // 2 if k < 9_000 else k}"'),
            Claim(f"_:p{k}", EX + "index", f'"{k}"'),
            Claim(owner, EX + "holds", f"_:h{k}"),
            Claim(f"_:h{k}", RDF + "type", EX + "Holder"),
        ]
    named = name_blank_nodes(Graph.from_claims(claims))
    assert named is not None
    assert len({c.subj for c in named.iter_claims(EX + "index") if c.subj[0] != "_"}) == 11_000


def test_a_part_is_recognised_by_its_name() -> None:
    assert is_named_after("place of birth of Ann", "Ann")
    assert is_named_after("address of Acme", "site address of Acme")
    assert not is_named_after("Bank of China", "Trade with China")
    assert not is_named_after("Acme", "Acme")
