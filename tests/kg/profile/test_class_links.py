"""Tests that an ontology without individuals gives cards about its classes."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest
from stage_calls import run_epoche

from cards.card import read_cards
from kg.claims import Claim
from kg.domain import load_domain
from kg.entailment import Closure
from kg.graph import Graph
from kg.profile.graph_changes.class_links import KIND_OF, list_class_links, render_class_links
from kg.profile.graph_changes.disjoint_classes import KindChecker
from kg.terms import RDFS, parse_literal

EX = "https://example.org/"
PREFIXES = (
    f"@prefix ex: <{EX}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
)
PART_OF = "urn:epoche:some:partOf"
NAMES = ("ad", "bel", "cor", "dun", "elf", "fir", "gor", "hil", "ist", "jol")


def write_ontology(path: Path, n_classes: int = 90) -> Path:
    """Writes body parts that are part of others, which restrictions of classes state."""
    lines = [
        PREFIXES,
        "ex:partOf a owl:ObjectProperty ; rdfs:label 'part of' .",
        "ex:Organ a owl:Class ; rdfs:label 'organ' .",
    ]
    for n in range(n_classes):
        name = NAMES[n % 10] + NAMES[n // 10]
        parents = ["ex:Organ"]
        if n:
            parents.append(f"[ owl:onProperty ex:partOf ; owl:someValuesFrom ex:c{n // 2} ]")
        if n % 3 == 0:
            parents.append(
                "[ owl:intersectionOf ( ex:Organ [ a owl:Restriction ; owl:onProperty ex:side ; "
                f"owl:hasValue '{'left' if n % 2 else 'right'}' ] ) ]"
            )
        lines.append(
            f"ex:c{n} a owl:Class ; rdfs:label '{name}' ; rdfs:subClassOf {', '.join(parents)} ."
        )
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_restrictions_become_links(tmp_path: Path) -> None:
    links = list_class_links(Graph.load(write_ontology(tmp_path / "o.ttl")))
    by_predicate = Counter(link.pred for link in links if link.subj.startswith(EX + "c"))
    assert by_predicate == {PART_OF: 89, "urn:epoche:some:side": 30, KIND_OF: 90}
    assert all(
        link.obj == f"{EX}c{int(link.subj.removeprefix(EX + 'c')) // 2}"
        for link in links
        if link.pred == PART_OF and link.subj.startswith(EX)
    )


def close_links(path: Path, text: str) -> set[tuple[str, str, str]]:
    """Returns all that follows from an ontology and its class links, without namespaces."""
    path.write_text(PREFIXES + text, "utf-8")
    graph = Graph.load(path)
    index = Closure(graph.with_claims(list_class_links(graph, beside_things=True))).index

    def shorten(term: int) -> str:
        name = index.terms.get_text(term)
        labels = index.find_objects(term, index.terms.intern(RDFS + "label"))
        if name.startswith("urn:epoche:some") and labels:
            return parse_literal(index.terms.get_text(next(iter(labels)))).lexical
        return name.removeprefix(EX)

    return {
        (shorten(s), shorten(p), shorten(o))
        for p in index.list_predicates()
        for s, o in index.iter_pairs(p)
    }


FILLER = "".join(f"ex:x{n} rdfs:subClassOf ex:y{n} . " for n in range(15))
SOME = "[ owl:onProperty ex:{} ; owl:someValuesFrom ex:{} ]"


def test_what_holds_of_a_class_holds_of_its_kinds(tmp_path: Path) -> None:
    text = (
        f"{FILLER} ex:neuron rdfs:subClassOf ex:cell . ex:cell rdfs:subClassOf {SOME} . "
        "ex:organ rdfs:subClassOf ex:structure ."
    )
    found = close_links(tmp_path / "o.ttl", text.format("partOf", "organ"))
    assert ("neuron", "part of", "structure") in found
    (tmp_path / "coded").mkdir()
    text += " ex:BFO_0000050 rdfs:label 'is part of' ."
    found = close_links(tmp_path / "coded" / "o.ttl", text.format("BFO_0000050", "organ"))
    assert ("neuron", "is part of", "structure") in found
    links = (tmp_path / "coded" / "o.ttl").with_name("links.nt")
    links.write_text(
        render_class_links(list_class_links(Graph.load(tmp_path / "coded" / "o.ttl")), "x"), "utf-8"
    )
    assert Graph.load(links).index.terms.get("urn:epoche:some:BFO_0000050") is not None


def test_links_between_classes_are_not_turned_round(tmp_path: Path) -> None:
    """Not each cell has a nucleus, though each nucleus is part of a cell."""
    text = (
        f"{FILLER} ex:partOf owl:inverseOf ex:hasPart ; a owl:TransitiveProperty . "
        f"ex:nucleus rdfs:subClassOf {SOME.format('partOf', 'cell')} . "
        f"ex:neuron rdfs:subClassOf ex:cell, {SOME.format('hasPart', 'axon')} . "
        f"ex:cell rdfs:subClassOf {SOME.format('partOf', 'organ')} . "
        f"ex:near a owl:SymmetricProperty . ex:a rdfs:subClassOf {SOME.format('near', 'b')} ."
    )
    found = close_links(tmp_path / "o.ttl", text)
    assert {("nucleus", "part of", "organ"), ("a", "near", "b")} <= found
    assert not {("cell", "has part", "nucleus"), ("b", "near", "a")} & found


def test_a_class_keeps_a_single_value_only_if_none_above_has_another(tmp_path: Path) -> None:
    text = (
        f"{FILLER} ex:state a owl:FunctionalProperty . "
        f"ex:top rdfs:subClassOf {SOME.format('state', 'abnormal')} . "
        f"ex:below rdfs:subClassOf ex:top, {SOME.format('state', 'elevated')} . "
        f"ex:else rdfs:subClassOf {SOME.format('state', 'elevated')} ."
    )
    found = close_links(tmp_path / "o.ttl", text)
    assert ("else", "state", "elevated") in found
    assert not any(s == "below" and p == "state" for s, p, _ in found)


def test_equivalent_classes_are_one(tmp_path: Path) -> None:
    text = (
        f"{FILLER} ex:person owl:equivalentClass ex:human . ex:person rdfs:subClassOf ex:agent . "
        "ex:scientist rdfs:subClassOf ex:human . ex:loop rdfs:subClassOf ex:knot . "
        "ex:knot rdfs:subClassOf ex:loop . ex:cheesy owl:equivalentClass "
        f"[ owl:intersectionOf ( ex:pizza {SOME.format('top', 'cheese')} ) ] . "
        f"ex:plain owl:intersectionOf ( ex:pizza {SOME.format('top', 'tomato')} ) . "
        "ex:round rdfs:subClassOf ex:plain ."
    )
    links = close_links(tmp_path / "o.ttl", text)
    found = {(s, o) for s, p, o in links if p == KIND_OF}
    assert {("scientist", "human"), ("scientist", "agent"), ("cheesy", "pizza")} <= found
    assert not {("loop", "knot"), ("knot", "loop"), ("human", "person")} & found
    # A class can be stated to be an intersection itself, as well.
    assert ("plain", "pizza") in found
    assert ("plain", "top", "tomato") in links
    assert ("round", "plain") in found


@pytest.mark.parametrize(
    "axiom",
    [
        "ex:cat owl:disjointWith ex:dog .",
        "[] a owl:AllDisjointClasses ; owl:members ( ex:dog ex:fish ex:cat ) .",
        "ex:pet owl:disjointUnionOf ( ex:dog ex:cat ) .",
        "ex:cat rdfs:subClassOf [ owl:complementOf ex:dog ] .",
        "ex:cat owl:disjointWith [ owl:unionOf ( ex:fish ex:dog ) ] .",
        "ex:feline owl:disjointWith ex:hound ; owl:equivalentClass ex:cat ."
        " ex:dog owl:equivalentClass ex:hound .",
    ],
)
def test_no_class_is_a_kind_of_two_disjoint_ones(tmp_path: Path, axiom: str) -> None:
    path = tmp_path / "o.ttl"
    path.write_text(
        f"{PREFIXES} {axiom} ex:tabby <{KIND_OF}> ex:cat . ex:cat <{KIND_OF}> ex:pet . "
        f"ex:pug <{KIND_OF}> ex:dog . ex:dog <{KIND_OF}> ex:pet . ex:tabby ex:eats ex:pug .",
        "utf-8",
    )
    index = Graph.load(path).index
    checker = KindChecker(index)

    def may_hold(s: str, o: str, pred: str = KIND_OF) -> bool:
        return checker.may_hold(*map(index.terms.intern, (EX + s, pred, EX + o)))

    assert [may_hold(*pair) for pair in (("tabby", "pug"), ("dog", "tabby"))] == [False, False]
    assert may_hold("tabby", "cat")
    # What is below pets, such as pugs, would be cats as well.
    assert not may_hold("pet", "tabby")
    assert may_hold("tabby", "pug", f"{EX}eats")


@pytest.mark.parametrize(
    "alignment",
    [
        "ex:legalCase owl:equivalentClass ex:sit . ex:work owl:equivalentClass ex:sit .",
        "ex:sit owl:equivalentClass ex:work, ex:legalCase .",
        "ex:work owl:equivalentClass ex:sit . ex:sit owl:equivalentClass ex:legalCase ;"
        " a owl:Class ; rdfs:label 'situation' .",
    ],
)
def test_classes_equivalent_to_the_same_foreign_class_need_not_be_one(
    tmp_path: Path, alignment: str
) -> None:
    # DBpedia aligns legal cases and units of work with dul:Situation.
    text = (
        f"{FILLER} ex:case rdfs:subClassOf ex:work . ex:legalCase rdfs:subClassOf ex:case . "
        f"ex:work rdfs:subClassOf ex:thing . {alignment}"
    )
    found = {(s, o) for s, p, o in close_links(tmp_path / "o.ttl", text) if p == KIND_OF}
    assert {("legalCase", "case"), ("case", "work"), ("legalCase", "thing")} <= found
    assert not any("sit" in pair for pair in found)
    assert ("case", "legalCase") not in found


def test_values_of_a_functional_predicate_are_not_made_equal(tmp_path: Path) -> None:
    text = "ex:state a owl:FunctionalProperty . ex:colour rdfs:subPropertyOf ex:state ."
    for n in range(20):
        values = [f"ex:v{n}"] if n else ["ex:v1", "ex:v2"]
        restrictions = ", ".join(
            f"[ owl:onProperty ex:{'state' if value == 'ex:v1' else 'colour'} ; "
            f"owl:someValuesFrom {value} ]"
            for value in values
        )
        text += f"\nex:c{n} rdfs:subClassOf ex:top, {restrictions} ."
    (tmp_path / "o.ttl").write_text(PREFIXES + text, "utf-8")
    graph = Graph.load(tmp_path / "o.ttl")
    links = list_class_links(graph)
    # ex:c0 has two: kinds of one value, which are not the same kind.
    assert not any(link.subj == EX + "c0" for link in links if link.pred != KIND_OF)
    assert Claim(EX + "c2", "urn:epoche:some:colour", EX + "v2") in links
    index = Closure(graph.with_claims(links)).index
    assert not index.count_triples(index.terms.intern("http://www.w3.org/2002/07/owl#sameAs"))


def test_few_restrictions_and_graphs_of_things_have_no_class_links(tmp_path: Path) -> None:
    assert not list_class_links(Graph.load(write_ontology(tmp_path / "o.ttl", 6)))
    things = tmp_path / "things.ttl"
    things.write_text(
        PREFIXES + "\n".join(f"ex:i{n} a ex:c{n % 9} ; ex:near ex:i{n + 1} ." for n in range(300)),
        "utf-8",
    )
    assert not list_class_links(Graph.load([write_ontology(tmp_path / "o.ttl"), things]))


def test_an_ontology_alone_gives_cards(tmp_path: Path) -> None:
    folder, out = tmp_path / "d", tmp_path / "c.jsonl"
    init = ("kg", "init", write_ontology(tmp_path / "o.ttl"), "--out", folder)
    for _ in range(2):  # The second draft replaces the first.
        done = run_epoche(*init)
        assert done.code == 0, done.err
    assert (folder / "class-links.nt").exists()
    assert [path.name for path in load_domain(folder).graph_files] == ["o.ttl", "class-links.nt"]
    done = run_epoche("cards", "--domain", folder, "--num-per-type", 8, "--out", out)
    assert done.code == 0, done.err
    cards = read_cards(out)
    assert Counter(card.label for card in cards) == {"E": 8, "C": 8, "U": 8}
    assert {card.claim.pred for card in cards} == {PART_OF}


def test_a_taxonomy_gives_cards_about_kinds(tmp_path: Path) -> None:
    lines = [PREFIXES]
    for n in range(90):
        name = NAMES[n % 10] + NAMES[n // 10]
        parent = f" ; rdfs:subClassOf ex:c{n // 2}" if n else ""
        lines.append(f"ex:c{n} a owl:Class ; rdfs:label '{name}'{parent} .")
        # Facts about a few individuals, and about predicates, change nothing.
        lines.append(f"ex:p{n} a owl:ObjectProperty ; ex:usedWith ex:c{n} .")
        lines.append(f"ex:i{n} ex:near ex:i{n + 1} ." if n < 8 else "")
    graph = tmp_path / "o.ttl"
    graph.write_text("\n".join(lines), "utf-8")
    folder, out = tmp_path / "d", tmp_path / "c.jsonl"
    done = run_epoche("kg", "init", graph, "--out", folder)
    assert done.code == 0, done.err
    done = run_epoche("cards", "--domain", folder, "--num-per-type", 8, "--out", out)
    assert done.code == 0, done.err
    cards = read_cards(out)
    assert Counter(card.label for card in cards) == {"E": 8, "C": 8, "U": 8}
    assert {card.claim.pred for card in cards} == {KIND_OF}
    assert any(" is a kind of " in fact for fact in cards[0].facts)
    # What was set aside follows from no superclass either.
    kept = Graph.load(tmp_path / "c.graph.nt").index
    kinds, below = (kept.terms.intern(p) for p in (KIND_OF, RDFS + "subClassOf"))
    assert set(kept.iter_pairs(below)) == set(kept.iter_pairs(kinds))
    assert 0 < kept.count_triples(kinds) < 89
    with_things = tmp_path / "things.ttl"
    with_things.write_text(
        PREFIXES + "\n".join(f"ex:i{n} a ex:c{n} ; ex:near ex:i{n + 1} ." for n in range(90)),
        "utf-8",
    )
    assert not list_class_links(Graph.load([graph, with_things]))


def test_no_unknown_question_is_settled_by_disjoint_classes(tmp_path: Path) -> None:
    ontology, folder, out = tmp_path / "o.ttl", tmp_path / "mine", tmp_path / "c.jsonl"
    lines = [PREFIXES, "ex:top owl:disjointUnionOf ( ex:t0 ex:t1 ) ."]
    for tree, n in itertools.product(range(2), range(60)):
        above = f"ex:c{tree}_{n // 3}" if n > 2 else f"ex:t{tree}"
        name = f"{NAMES[n % 10]}{NAMES[n // 10]}{'ox' if tree else 'um'}"
        lines.append(
            f"ex:c{tree}_{n} a owl:Class ; rdfs:label '{name}' ; rdfs:subClassOf {above} ."
        )
    ontology.write_text("\n".join(lines), "utf-8")
    assert run_epoche("kg", "init", ontology, "--out", folder).code == 0
    n_unknown = 0
    for command in (("cards", "--num-per-type"), ("near-miss", "--num")):
        assert run_epoche(command[0], "--domain", folder, command[1], 20, "--out", out).code == 0
        for card in read_cards(out):
            trees = [term.removeprefix(f"{EX}c")[0] for term in (card.claim.subj, card.claim.obj)]
            if card.label == "U" and "t" not in trees:
                n_unknown += 1
                assert trees[0] == trees[1], card.question
    assert n_unknown >= 10
