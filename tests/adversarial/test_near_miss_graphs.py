"""Tests near-misses on small random graphs, whose labels pySHACL proves too, and on public ones."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from pathlib import Path

import msgspec
import pyshacl
import pytest
from card_triples import read_card_triples
from rdflib import Graph as RdflibGraph
from rdflib import Namespace
from rdflib.namespace import RDF

from adversarial.near_miss import NearMissPlan, make_near_misses
from cards.card import Card
from cards.generation.card_plan import CardPlan
from cards.generation.literals import are_nearly_equal
from cards.generator import make_cards
from cards.leakage.audit import audit_cards
from kg.base.errors import EpocheError
from kg.claims import Claim
from kg.knowledge import KnowledgeBase
from kg.terms import RDF_TYPE

SH = Namespace("http://www.w3.org/ns/shacl#")
PREFIXES = (
    "@prefix : <https://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> . "
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix owl: "
    "<http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
)
CLASSES = ("River", "Lake", "Town")
NAMES = ("Alba", "Alba Minor", "Bruna", "Bruna Minor", "Cerva", "Alba", "Dorna", "Esk", "Fal")


def write_random_graph(rng: random.Random, folder: Path) -> tuple[Path, Path]:
    """Writes a graph of entities, numbers, dates, names and denials, and shapes for it."""
    entities = [f":e{i}" for i in range(rng.randint(3, 14))]
    lines = []
    for entity in entities:
        if rng.random() < 0.8:
            lines.append(f"{entity} a :{rng.choice(CLASSES)} .")
        if rng.random() < 0.7:
            lines.append(f'{entity} rdfs:label "{rng.choice(NAMES)}"{rng.choice(["", "@en"])} .')
        for _ in range(rng.randint(0, 2)):
            lines.append(f"{entity} :flowsInto {rng.choice(entities)} .")
        if rng.random() < 0.6:
            lines.append(f"{entity} :crosses {rng.choice([*entities, '[]'])} .")
        if rng.random() < 0.7:
            value = rng.choice(["1", "2.5", "-3", '"4"', '"n/a"', '"1"^^xsd:decimal', "1e400"])
            lines.append(f"{entity} :length {value} .")
        if rng.random() < 0.5:
            day = rng.choice(['"2020-01-01"^^xsd:date', '"2020-13-01"^^xsd:date', ":e0", '"x"@de'])
            lines.append(f"{entity} :since {day} .")
        if rng.random() < 0.3:
            lines.append(
                f"[] a owl:NegativePropertyAssertion ; owl:sourceIndividual {entity} ; "
                f"owl:assertionProperty :crosses ; owl:targetIndividual {rng.choice(entities)} ."
            )
    shapes = []
    for name in ("flowsInto", "crosses", "length", "since"):
        constraints = rng.sample(
            ["sh:maxCount 1", "sh:disjoint :crosses", "sh:nodeKind sh:IRI", "sh:datatype xsd:date",
             "sh:in (:e0 :e1 1)", "sh:maxInclusive 2"],
            rng.randint(0, 2),
        )  # fmt: skip
        target = rng.choice([f"sh:targetSubjectsOf :{name}", f"sh:targetClass :{CLASSES[0]}"])
        if constraints:
            shapes.append(
                f":{name}Shape a sh:NodeShape ; {target} ; "
                f"sh:property [ sh:path :{name} ; {' ; '.join(constraints)} ] ."
            )
    graph_file, shapes_file = folder / "g.ttl", folder / "s.ttl"
    graph_file.write_text(PREFIXES + "\n".join(lines), "utf-8")
    shapes_file.write_text(PREFIXES + "\n".join(shapes), "utf-8")
    return graph_file, shapes_file


def list_results(data: RdflibGraph, shapes: RdflibGraph) -> Counter[tuple[object, ...]]:
    """Lists pySHACL's results; blank nodes of the shapes keep their ids in one process."""
    _, report, _ = pyshacl.validate(data, shacl_graph=shapes, advanced=False)
    keys = (SH.focusNode, SH.resultPath, SH.value, SH.sourceConstraintComponent, SH.sourceShape)
    return Counter(
        tuple(report.value(result, key) for key in keys)
        for result in report.subjects(RDF.type, SH.ValidationResult)
    )


def find_label(claim: Claim, data: RdflibGraph, shapes: RdflibGraph) -> str:
    """Finds the label of a claim by pySHACL on the whole graph, and the graph's denials."""
    line = f"{format_term(claim.subj)} <{claim.pred}> {format_term(claim.obj)} ."
    (triple,) = RdflibGraph().parse(data=line, format="turtle")
    if triple in data:
        return "E"
    denial = data.query(
        "SELECT ?d { ?d <http://www.w3.org/2002/07/owl#sourceIndividual> ?s ; "
        "<http://www.w3.org/2002/07/owl#assertionProperty> ?p ; "
        "<http://www.w3.org/2002/07/owl#targetIndividual> ?o }",
        initBindings=dict(zip("spo", triple, strict=True)),
    )
    if len(denial):
        return "C"
    before = list_results(data, shapes)
    data.add(triple)
    try:
        return "C" if list_results(data, shapes) - before else "U"
    finally:
        data.remove(triple)


def format_term(text: str) -> str:
    return text if text.startswith('"') else f"<{text}>"


def check_near_misses(cards: tuple[Card, ...]) -> None:
    """Checks what holds for near-misses of any graph."""
    for card in cards:
        assert not card.claim.subj.startswith(('"', "_:")), card.claim
        assert card.facts, card.question
        assert card.question.strip()


@pytest.mark.parametrize("start", range(0, 120, 10))
def test_random_graphs_give_proved_near_misses_or_a_clear_error(start: int, tmp_path: Path) -> None:
    n_checked = 0
    for seed in range(start, start + 10):
        rng = random.Random(seed)
        graph_file, shapes_file = write_random_graph(rng, tmp_path)
        predicates = rng.choice([(), ("flowsInto",), ("length",), ("since", "crosses")])
        try:
            kb = KnowledgeBase.open(None, [graph_file], [shapes_file])
            plan = NearMissPlan(
                predicates=tuple(f"https://example.org/{p}" for p in predicates),
                num=rng.randint(1, 9),
                seed=seed,
                with_entailed=rng.random() < 0.5,
            )
            result = make_near_misses(kb, plan)
        except EpocheError:
            continue
        check_near_misses(result.cards)
        near_misses = [card for card in result.cards if card.label != "E"]
        assert len(near_misses) + sum(result.missing.values()) == plan.num
        assert {card.label for card in near_misses} <= {"C", "U"}
        assert bool(result.notes) >= bool(result.missing)
        data, shapes = RdflibGraph(), RdflibGraph()
        data.parse(graph_file)
        shapes.parse(shapes_file)
        for card in result.cards:
            assert find_label(card.claim, data, shapes) == card.label, (seed, card.claim)
            n_checked += 1
            stated = read_card_triples(card.meta["triples"])
            assert any(card.claim.subj in (t.subj, t.obj) for t in stated), card.facts
    assert n_checked


def write_graph(folder: Path, graph: str, shapes: str) -> KnowledgeBase:
    (folder / "g.ttl").write_text(PREFIXES + graph, "utf-8")
    (folder / "s.ttl").write_text(PREFIXES + shapes, "utf-8")
    return KnowledgeBase.open(None, [folder / "g.ttl"], [folder / "s.ttl"])


ONE_LENGTH = ":S sh:targetSubjectsOf :length ; sh:property [ sh:path :length ; sh:maxCount 1 ] ."


def test_no_literal_is_a_subject(tmp_path: Path) -> None:
    """A number or date that is true of a subject has no reverse claim to prove anything with."""
    graph = "".join(f":e{i} :length {i} ; :near :e{i + 1} ; :since 'x{i}' .\n" for i in range(12))
    kb = write_graph(tmp_path, graph, ONE_LENGTH)
    result = make_near_misses(kb, NearMissPlan(predicates=("https://example.org/length",), num=10))
    assert len(result.cards) == 5
    check_near_misses(result.cards)


def test_one_label_is_limited_to_its_half_and_said(tmp_path: Path) -> None:
    graph = "".join(f":e{i} :length {i} ; :near :e{i + 1} .\n" for i in range(12))
    kb = write_graph(tmp_path, graph, ONE_LENGTH)
    result = make_near_misses(kb, NearMissPlan(predicates=("https://example.org/length",), num=10))
    assert {card.label for card in result.cards} == {"C"}
    assert result.missing == {"U": 5}
    assert any("every near-miss is false" in note for note in result.notes)
    assert any("could not make 5 of 10 near-misses, 5 unknown" in note for note in result.notes)


@pytest.mark.parametrize("origin", ["mined", "own"])
def test_namesakes_are_near_misses_only_by_rules_that_somebody_states(
    tmp_path: Path, origin: str
) -> None:
    """Found data often have one thing under two IRIs: a rule mined from them proves nothing."""
    teams = "".join(
        f":t{k} rdfs:label 'Team {k % 5}' ; a :{'Squad' if k < 5 else 'Side'} .\n"
        for k in range(10)
    )
    players = "".join(
        f":p{n} rdfs:label 'Player {n}' ; a :Player ; :team :t{n % 10} ; :age {n % 7} .\n"
        for n in range(60)
    )
    shapes = (
        f"<urn:epoche:{origin}:one-value#team> sh:targetSubjectsOf :team ; "
        "sh:property [ sh:path :team ; sh:maxCount 1 ] ."
    )
    write_graph(tmp_path, teams + players, shapes)
    domain = tmp_path / "domain.toml"
    domain.write_text(
        'name = "teams"\ngraph = ["g.ttl"]\nshapes = ["s.ttl"]\nqualifiers = ["rdf:type"]\n'
        '[predicates."<https://example.org/team>"]\nlabel = "team"\ndefault = true\n',
        "utf-8",
    )
    kb = KnowledgeBase.open(domain)
    result = make_near_misses(kb, NearMissPlan(num=20, strategies=("homonym",)))
    labels = {card.label for card in result.cards}
    assert ("C" in labels) == (origin == "own")


@pytest.mark.parametrize("seed", range(6))
def test_no_card_names_two_things_alike(tmp_path: Path, seed: int) -> None:
    """A reader takes "Heat (quantity)" and "Heat" for one thing, and answers NO to a U card."""
    rng = random.Random(seed)
    names: dict[str, str] = {}
    lines = []
    for n in range(90):
        thing = f"{rng.choice(('a', 'b/'))}x{n}"
        word = f"Kelo {n // 2}"
        names[f"https://example.org/{thing}"] = rng.choice(
            (word, word, word.upper(), f"Kelo{n // 2}")
        )
        kind = rng.choice(("", "a :Quantity ;", "a :Kind ;"))
        label = names[f"https://example.org/{thing}"]
        lines.append(
            f"<https://example.org/{thing}> {kind} rdfs:label '{label}' ; :unit :u{n % 7} ."
        )
        for m in {rng.randrange(n + 1) for _ in range(2)} - {n}:
            lines.append(f"<https://example.org/{thing}> :broader <{list(names)[m]}> .")
    shapes = (
        ":S sh:targetSubjectsOf :broader ; sh:property [ "
        "sh:path [ sh:inversePath :broader ] ; sh:disjoint :broader ] ."
    )
    write_graph(tmp_path, "\n".join(lines), shapes)
    domain = tmp_path / "domain.toml"
    domain.write_text(
        'name = "kinds"\ngraph = ["g.ttl"]\nshapes = ["s.ttl"]\nqualifiers = ["rdf:type"]\n'
        '[predicates."<https://example.org/broader>"]\nlabel = "broader concept"\ndefault = true\n'
        '[predicates."<https://example.org/unit>"]\nlabel = "unit"\n',
        "utf-8",
    )
    kb = KnowledgeBase.open(domain)
    cards = [
        *make_near_misses(kb, NearMissPlan(num=60)).cards,
        *make_cards(kb, CardPlan(per_label=15)).cards,
    ]
    assert len(cards) > 30
    for card in cards:
        links = {(t["subj"], t["obj"]) for t in card.meta["triples"]}
        terms = {card.claim.subj, card.claim.obj, *itertools.chain(*links)}
        things = sorted(terms.intersection(names))
        for one, other in itertools.combinations(things, 2):
            bare = [re.sub(r"\W", "", names[thing]).lower() for thing in (one, other)]
            is_linked = {(one, other), (other, one)} & links
            if bare[0] == bare[1] and not is_linked:
                rendered = [kb.verbaliser.render_term(thing) for thing in (one, other)]
                assert not {re.sub(r"\W", "", name).lower() for name in rendered} & {bare[0]}


def test_two_spellings_of_a_value_are_no_near_miss(tmp_path: Path) -> None:
    """Systems cannot tell "Esk"@en from "Esk"@de."""
    graph = (
        "".join(
            f":e{i} :name 'Esk{i % 2}'@{lang} .\n"
            for i in range(8)
            for lang in ("en", "de")[: 1 + i % 2]
        )
        + ":e20 :name 'Esk1'@fr, 'Esk0'@fr .\n"
    )
    shapes = ":S sh:targetSubjectsOf :name ; sh:property [ sh:path :name ; sh:uniqueLang true ] ."
    result = make_near_misses(write_graph(tmp_path, graph, shapes), NearMissPlan(num=20))
    for card in result.cards:
        own = [f for f in card.facts if card.question.split()[-1].strip("?") in f]
        index = graph.splitlines()
        name = card.claim.obj.split('"')[1]
        subject = card.claim.subj.rpartition("/")[2]
        assert not [line for line in index if f":{subject} " in line and f"'{name}'" in line], own


def test_numeric_near_misses_do_not_ask_for_the_true_number_as_written_elsewhere(
    tmp_path: Path,
) -> None:
    """20.5 and 20.50 are one length, so UNKNOWN would be wrong of either."""
    values = [f"{20 + i // 3 * 10}.5{'0' * (i % 2)}" for i in range(60)]
    graph = "".join(f":e{i} :length {value} ; :width {i} .\n" for i, value in enumerate(values))
    graph += "".join(f":e{i} :width {i} .\n" for i in range(60, 90))
    shapes = ":S sh:targetSubjectsOf :length ; sh:property [ sh:path :length ; sh:maxCount 1 ] ."
    plan = NearMissPlan(num=20, strategies=("numeric",))
    result = make_near_misses(write_graph(tmp_path, graph, shapes), plan)
    assert len(result.cards) >= 5
    for card in result.cards:
        subject = int(card.claim.subj.rpartition("/e")[2])
        own = float(values[subject]) if subject < len(values) else None
        assert own != float(card.claim.obj.split('"')[1])


def test_untyped_dates_as_entities_have_no_inverse(tmp_path: Path) -> None:
    """ "Is payment 3 the date of 2013-04-05?": what has no facts of its own is no subject."""
    graph = "".join(f":pay{i} :date :d{i % 4} ; :amount {i} .\n" for i in range(20)) + "".join(
        f":pay{i} :amount {i} .\n" for i in range(20, 30)
    )
    shapes = ":S sh:targetSubjectsOf :date ; sh:property [ sh:path :date ; sh:maxCount 1 ] ."
    result = make_near_misses(write_graph(tmp_path, graph, shapes), NearMissPlan(num=20))
    assert result.cards
    assert not [card for card in result.cards if "/d" in card.claim.subj]
    assert result.counts["inverse"] == {}


@pytest.fixture
def zoo(public_data: Path) -> Path:
    folder = public_data / "zoo"
    if not folder.is_dir():
        pytest.skip("needs the public graphs in shared/data/zoo")
    return folder


ZOO = {
    "rameau-instruments/mop-rameau.ttl.gz": "http://purl.org/dc/terms/modified",
    "stardog-music/music.ttl.gz": "http://stardog.com/tutorial/length",
    "manchester-spend/spend.ttl.gz": "http://reference.data.gov.uk/def/payment#date",
}


@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("with_pred", [False, True])
def test_public_graphs_give_near_misses(
    zoo: Path, name: str, with_pred: bool, tmp_path: Path
) -> None:
    pred = ZOO[name]
    (tmp_path / "s.ttl").write_text(
        f"{PREFIXES} :S sh:targetSubjectsOf <{pred}> ; "
        f"sh:property [ sh:path <{pred}> ; sh:maxCount 1 ] .",
        "utf-8",
    )
    kb = KnowledgeBase.open(None, [zoo / name], [tmp_path / "s.ttl"])
    assert pred in kb.predicates
    result = make_near_misses(kb, NearMissPlan(predicates=(pred,) if with_pred else (), num=20))
    assert result.cards
    check_near_misses(result.cards)
    for card in result.cards:
        assert kb.oracle.license(card.claim).label == card.label


def test_near_misses_are_not_nearly_true(tmp_path: Path) -> None:
    """Numbers next to the true one are wrong; measures close to it and vaguer dates are not."""
    dates = ('"2019"', '"2019-05"', '"2019-05-03"', '"2021-07"', '"2024"')
    lines = [
        f':x{name} a :Pump ; rdfs:label "Pump {name}" ; :floor {30 + n % 7} ;'
        f" :heat {(21.4, 21.9, 22.3, 35.5)[n % 4]} ; :installed {dates[n // 3 % 5]} ;"
        f" :site :s{n % 6} ."
        for n, name in enumerate(f"{a}{b}" for a in "ABCDEFGH" for b in "klmnopqr")
    ]
    limits = " ; ".join(
        f"sh:property [ sh:path :{name} ; sh:maxCount 1 ]"
        for name in ("floor", "heat", "installed")
    )
    graph, shapes = tmp_path / "g.ttl", tmp_path / "s.ttl"
    graph.write_text(PREFIXES + "\n".join(lines), "utf-8")
    shapes.write_text(f"{PREFIXES}:S a sh:NodeShape ; sh:targetClass :Pump ; {limits} .", "utf-8")
    kb = KnowledgeBase.open(graph=[graph], shapes=[shapes])
    own = {(fact.subj, fact.pred): fact.obj for fact in kb.graph.iter_claims()}
    # Unknown claims are about what was set aside.
    part = make_cards(kb, CardPlan(per_label=30)).kb
    cards = make_near_misses(part, NearMissPlan(num=90)).cards
    false = [card for card in cards if card.label == "C"]
    close = [c for c in false if are_nearly_equal(own[c.claim.subj, c.claim.pred], c.claim.obj)]
    assert len(false) > len(close) > 0
    assert {card.kind for card in close} == {"near-miss/numeric"}
    assert {card.claim.pred for card in close} == {"https://example.org/floor"}


def write_matches(folder: Path, n: int, seed: int, second_class: str = "") -> KnowledgeBase:
    """Writes matches, of which two in three have goals; every fourth has the second class, too."""
    rng = random.Random(seed)
    graph = "".join(
        f":m{i} a {second_class if i % 4 == 0 else ''}:Match ; rdfs:label 'Match {i}' ; "
        f":in :h{i % 6} ; :guests {rng.randrange(5)}.\n"
        + (f":m{i} :goals {rng.randrange(4)} .\n" if i % 3 else "")
        for i in range(n)
    )
    shapes = ":S sh:targetClass :Match ; sh:property [ sh:path :goals ; sh:maxCount 1 ] ."
    return write_graph(folder, graph, shapes)


def test_the_class_of_all_or_none_is_stated(tmp_path: Path) -> None:
    """Shapes that target a class need to know it, but the class of one alone tells its label."""
    kb = write_matches(tmp_path, 90, seed=5)
    result = make_near_misses(kb, NearMissPlan(predicates=("https://example.org/goals",), num=30))
    near_misses = [card for card in result.cards if card.label != "E"]
    classed = Counter(
        (card.label, any(t.subj == card.claim.subj and t.pred == RDF_TYPE for t in triples))
        for card in near_misses
        for triples in [read_card_triples(card.meta["triples"])]
    )
    assert len(near_misses) == 30
    assert classed == {("C", True): 15, ("U", True): 15}
    # No more facts than that are needed for it.
    assert max(len(card.facts) for card in near_misses) <= 8

    told = [
        msgspec.structs.replace(card, facts=tuple(f for f in card.facts if not is_class(card, f)))
        if card.label == "U"
        else card
        for card in near_misses
    ]
    assert audit_cards(near_misses).leaks == ()
    assert "all surface counts, forest" in [leak.name for leak in audit_cards(told).leaks]


def test_a_class_that_all_have_is_stated(tmp_path: Path) -> None:
    """Some things have a second class, which comes first, and only one is a target of a shape."""
    kb = write_matches(tmp_path, 120, seed=8, second_class=":Aged, ")
    result = make_near_misses(kb, NearMissPlan(predicates=("https://example.org/goals",), num=30))
    classes = {
        t.obj
        for card in result.cards
        for t in read_card_triples(card.meta["triples"])
        if t.pred == RDF_TYPE
    }
    assert len(result.cards) == 30
    assert classes == {"https://example.org/Match"}


def is_class(card: Card, fact: str) -> bool:
    """Returns whether a fact says what the thing that a card asks about is."""
    return fact == f"Match {card.claim.subj.rpartition('m')[2]} is a match."
