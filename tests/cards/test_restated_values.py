"""Tests that cards do not state in other words what they ask about."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from stage_calls import run_epoche

from adversarial.near_miss import NearMissPlan, make_near_misses
from cards.card import Card, read_cards
from cards.facts import Fact
from cards.generation.card_plan import CardPlan
from cards.generation.graph_lookup import GraphLookup
from cards.generation.literals import read_alike
from cards.generation.restated_values import (
    find_bounds,
    find_restating_predicates,
    find_telling_predicates,
)
from cards.generator import make_cards
from cards.leakage.degrees import DegreeCounter
from kg.claims import Claim
from kg.entailment import Closure
from kg.graph import Graph
from kg.knowledge import KnowledgeBase
from kg.terms import RDF_TYPE

E = "http://e/"
# Anonymous shapes, as many publishers write them.
SHAPES = "@prefix sh: <http://www.w3.org/ns/shacl#> .\n" + "".join(
    f"[] a sh:NodeShape ; sh:targetSubjectsOf {p} ; sh:property [ sh:path {p} ; sh:maxCount 1 ] .\n"
    for p in (f"<{E}end>", f"<{E}town>")
)
SH = "http://www.w3.org/ns/shacl#"
UUID = "3fa85f64-5717-4562-b3fc-2c963f66a"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Writes records with an end year that their dates restate, and a town that addresses do."""
    rng = random.Random(2)
    lines = []
    for n in range(90):
        start, length = rng.randrange(1800, 1900), rng.randrange(3, 9)
        end, town = start // 20 * 20 + length, ("Ulm", "Bern", "Trier", "Gent")[n % 4]
        lines.append(
            f'<{E}r{n}> <http://www.w3.org/2000/01/rdf-schema#label> "Box {chr(65 + n % 26)}{n}" ; '
            f'<{E}end> "{end}-12-31"^^<http://www.w3.org/2001/XMLSchema#date> ; '
            f'<{E}dates> "{end - length}-{end}" ; <{E}pages> "{rng.randrange(9) + 20}" ; '
            f'<{E}address> "{n} High Street, {town}" ; <{E}town> <{E}{town}> ; '
            f"<{E}shelf> <{E}{UUID}{n % 5:03d}> ; <{E}finish> <{E}shade{rng.randrange(7)}> ."
        )
    graph, shapes = tmp_path_factory.mktemp("archive") / "archive.ttl", None
    shapes = graph.with_name("shapes.ttl")
    graph.write_text("\n".join(lines), "utf-8")
    shapes.write_text(SHAPES, "utf-8")
    return graph, shapes


def test_literals_that_contain_the_value_are_found(archive: tuple[Path, Path]) -> None:
    graph, shapes = archive
    lookup = GraphLookup(KnowledgeBase.open(graph=[graph], shapes=[shapes]))

    def find(name: str) -> set[str]:
        found = find_restating_predicates(lookup, lookup.intern_term(E + name))
        return {lookup.terms.get_text(q).removeprefix(E) for q in found}

    assert find("end") == {"dates"}
    assert find("dates") == {"end"}
    assert find("town") == {"address"}
    assert find("pages") == set()


def test_cards_neither_restate_the_value_nor_state_hashes(archive: tuple[Path, Path]) -> None:
    graph, shapes = archive
    out = graph.with_name("cards.jsonl")
    files = ("--kg", graph, "--shapes", shapes, "--pred", "end", "--pred", "town")
    done = run_epoche("cards", *files, "--num-per-type", 20, "--out", out)
    assert done.code == 0, done.err
    cards = read_cards(out)
    assert len(cards) == 60
    texts = {
        pred: " ".join(fact for card in cards if card.claim.pred == E + pred for fact in card.facts)
        for pred in ("end", "town")
    }
    assert "dates" not in texts["end"]
    assert "address" not in texts["town"]
    assert "address" in texts["end"]
    assert "dates" in texts["town"]
    assert not any("3fa85f64" in text for text in texts.values())


def test_set_aside_values_are_not_restated_in_the_graph_of_the_cards(
    archive: tuple[Path, Path],
) -> None:
    """A system that reads the graph would find the answer in the dates or the address."""
    graph, shapes = archive
    out = graph.with_name("withheld.jsonl")
    files = ("--kg", graph, "--shapes", shapes, "--pred", "end", "--pred", "town")
    assert run_epoche("cards", *files, "--num-per-type", 20, "--out", out).code == 0
    whole = KnowledgeBase.open(graph=[graph], shapes=[shapes]).graph
    left = KnowledgeBase.open(graph=[out.with_suffix(".graph.nt")], shapes=[shapes]).graph
    facts = {(c.subj, c.pred, c.obj) for c in left.iter_claims()}
    set_aside = {(c.subj, c.pred, c.obj) for c in whole.iter_claims()} - facts
    asked = {E + "end": E + "dates", E + "town": E + "address"}
    withheld = {(subj, pred) for subj, pred, _ in set_aside if pred in asked}
    assert len(withheld) >= 20
    assert not [1 for subj, pred in withheld for fact in facts if fact[:2] == (subj, asked[pred])]


def make_cards_about(name: str, lines: list[str], number: int, folder: Path) -> list[Path]:
    """Makes cards about a predicate with one value; returns graph, shapes and cards as files."""
    files = graph, shapes, out = [folder / file for file in ("g.ttl", "s.ttl", "c.jsonl")]
    graph.write_text("\n".join(lines), "utf-8")
    shapes.write_text(SHAPES.replace(E + "end", E + name), "utf-8")
    flags = ("--kg", graph, "--shapes", shapes, "--pred", name, "--num-per-type", number)
    done = run_epoche("cards", *flags, "--out", out)
    assert done.code == 0, done.err
    return files


def test_names_with_the_asked_number_are_set_aside_with_it(tmp_path: Path) -> None:
    """ "Dune, Ace Books, 1965" as the first edition says when the book was published."""
    names = [f"{a}{b}{c}" for a in ("Ki", "So", "Mu") for b in ("la", "ne", "ro") for c in "bdfglm"]
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = [
        f'<{E}{name}> {label} "{name}" ; <{E}published> {1960 + n % 6} ; <{E}first> <{E}i{n}> ; '
        f'<{E}shelf> <{E}Shelf{n % 4}> . <{E}i{n}> {label} "{name}, Ace Books, {1960 + n % 6}" .'
        for n, name in enumerate(names)
    ]
    _, shapes, out = make_cards_about("published", lines, 8, tmp_path)
    assert "Ace Books" not in out.read_text("utf-8")
    left = KnowledgeBase.open(graph=[out.with_suffix(".graph.nt")], shapes=[shapes]).graph
    subjects = {claim.subj for claim in left.iter_claims(E + "first")}
    unknown = [card.claim.subj for card in read_cards(out) if card.label == "U"]
    assert len(unknown) == 8
    assert subjects.isdisjoint(unknown)


def test_facts_about_what_has_no_readable_name_are_not_stated(tmp_path: Path) -> None:
    """A class is a noun, also if things are called like it."""
    graph, shapes = tmp_path / "g.ttl", tmp_path / "s.ttl"
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    graph.write_text(
        f'<{E}a> {label} "Alpha" ; <{E}phase> <{E}p1> , <{E}p2> ; a <{E}Terminal> . '
        f'<{E}p1> {label} "Phase <http://example.com/1> of 2" . <{E}p2> {label} "Phase 2" . '
        f'<{E}t1> {label} "Terminal" . <{E}t2> {label} "Terminal" .',
        "utf-8",
    )
    shapes.write_text(SHAPES, "utf-8")
    lookup = GraphLookup(KnowledgeBase.open(graph=[graph], shapes=[shapes]))

    def is_usable(subj: str, pred: str, obj: str) -> bool:
        return lookup.is_usable(Fact(*(lookup.intern_term(text) for text in (subj, pred, obj))))

    assert not is_usable(E + "a", E + "phase", E + "p1")
    assert is_usable(E + "a", E + "phase", E + "p2")
    assert is_usable(E + "a", RDF_TYPE, E + "Terminal")


def test_a_value_of_another_datatype_that_reads_alike_is_not_called_false(tmp_path: Path) -> None:
    xsd = "http://www.w3.org/2001/XMLSchema#"
    lines = [
        f'<{E}x{n}> <http://www.w3.org/2000/01/rdf-schema#label> "Firm {chr(65 + n % 26)}{n}" ; '
        f'<{E}founded> "{1990 + n % 3}"^^<{xsd}{("gYear", "integer")[n % 2]}> ; '
        f"<{E}city> <{E}City{n % 5}> ."
        for n in range(80)
    ]
    graph, shapes, out = make_cards_about("founded", lines, 15, tmp_path)
    kb = KnowledgeBase.open(graph=[graph], shapes=[shapes])
    own = {c.subj: c.obj for c in kb.graph.iter_claims(E + "founded")}
    cards = [card for card in read_cards(out) if card.label == "C"]
    assert len(cards) >= 5
    assert not [card for card in cards if read_alike(own[card.claim.subj], card.claim.obj)]


def test_degrees_leave_out_what_restates_the_values_asked_about(archive: tuple[Path, Path]) -> None:
    graph, shapes = archive
    lookup = GraphLookup(KnowledgeBase.open(graph=[graph], shapes=[shapes]))
    counter = DegreeCounter(lookup.graph_index, lookup.closure_index, lookup)
    plain = DegreeCounter(lookup.graph_index, lookup.closure_index)
    for n in range(9):
        for name, n_restating in (("end", 1), ("town", 1), ("pages", 0)):
            claim = Claim(f"{E}r{n}", E + name, f"{E}Ulm")
            n_links = plain.count(claim).subject_out
            assert counter.count(claim).subject_out == n_links - n_restating, name


def test_withheld_cards_do_not_state_the_answer_in_other_words(archive: tuple[Path, Path]) -> None:
    """Their gold is UNKNOWN, so neither may another fact restate the value that is left out."""
    graph, shapes = archive
    out = graph.with_name("faithfulness.jsonl")
    files = ("--kg", graph, "--shapes", shapes, "--pred", "end", "--pred", "town")
    done = run_epoche("cards", *files, "--num-per-type", 20, "--num-faithfulness", 20, "--out", out)
    assert done.code == 0, done.err
    withheld = [card for card in read_cards(out) if card.kind == "withheld"]
    assert len(withheld) >= 15
    restating = {E + "end": "as its dates", E + "town": "as its address"}
    assert not [card for card in withheld if restating[card.claim.pred] in " ".join(card.facts)]
    assert not [card for card in withheld if "3fa85f64" in " ".join(card.facts)]


def write_lives(folder: Path) -> KnowledgeBase:
    """Writes people with years of birth and death, and a number of children that bounds neither."""
    rng = random.Random(4)
    lines = []
    for n in range(80):
        born = 1800 + 5 * rng.randrange(20)
        died = born + 5 * rng.randrange(6)
        lines.append(
            f'<{E}p{n}> a <{E}Person> ; <http://www.w3.org/2000/01/rdf-schema#label> "Person {n}" ;'
            f' <{E}birth> {born} ; <{E}death> "{died}-03-0{rng.randrange(1, 9)}"'
            f"^^<http://www.w3.org/2001/XMLSchema#date> ; <{E}children> {rng.randrange(9)} ;"
            f' <{E}yearOfDeath> "{died}"^^<http://www.w3.org/2001/XMLSchema#gYear> .'
        )
    graph, shapes = folder / "lives.ttl", folder / "shapes.ttl"
    graph.write_text("\n".join(lines), "utf-8")
    shapes.write_text(
        f"[] <{SH}targetClass> <{E}Person> ;"
        f" <{SH}property> [ <{SH}path> <{E}birth> ; <{SH}maxCount> 1 ] ,"
        f" [ <{SH}path> <{E}death> ; <{SH}maxCount> 1 ] .",
        "utf-8",
    )
    return KnowledgeBase.open(graph=[graph], shapes=[shapes])


def test_no_unknown_claim_breaks_an_order_that_the_graph_keeps(tmp_path: Path) -> None:
    """Nobody was born after the year of death, though no rule says so."""
    kb = write_lives(tmp_path)
    lookup = GraphLookup(kb)
    names = ("birth", "death", "children", "yearOfDeath")
    birth, death, children, years = (lookup.intern_term(E + name) for name in names)
    assert find_bounds(lookup, birth) == ((death, True), (years, True))
    assert find_bounds(lookup, death) == ((birth, False),)
    # That 0 to 8 is less than a year is no order; the year of a date is not above or below it.
    assert find_bounds(lookup, children) == ()
    assert find_bounds(lookup, years) == ((birth, False),)
    assert years in find_restating_predicates(lookup, death)

    def list_years(name: str) -> dict[str, int]:
        return {c.subj: int(c.obj[1:5]) for c in kb.graph.iter_claims(E + name)}

    births, deaths = list_years("birth"), list_years("death")

    def is_possible(card: Card) -> bool:
        year = int(card.claim.obj[1:5])
        if card.claim.pred == E + "birth":
            return year <= deaths[card.claim.subj]
        return year >= births[card.claim.subj]

    predicates = (E + "birth", E + "death")
    cards = make_cards(kb, CardPlan(per_label=12, predicates=predicates)).cards
    near_misses = make_near_misses(kb.with_graph(*hide(kb, predicates)), NearMissPlan(num=24)).cards
    for made in (cards, near_misses):
        unknown = [card for card in made if card.label == "U"]
        assert len(unknown) >= 6
        assert all(map(is_possible, unknown))


def test_an_order_that_few_subjects_break_counts(tmp_path: Path) -> None:
    """A default above the maximum is a slip of the data; one in five is no order."""
    rng = random.Random(1)
    for n_broken, expected in ((2, True), (40, False)):
        lines = []
        for n in range(200):
            largest = rng.randrange(1, 9)
            default = largest + 1 if n < n_broken else rng.randrange(largest)
            lines.append(f"<{E}s{n}> <{E}max> {largest} ; <{E}default> {default} .")
        path = tmp_path / f"{n_broken}.ttl"
        path.write_text("\n".join(lines), "utf-8")
        lookup = GraphLookup(KnowledgeBase.open(graph=[path], shapes=[write_shapes(tmp_path)]))
        default, largest_id = lookup.intern_term(E + "default"), lookup.intern_term(E + "max")
        assert find_bounds(lookup, default) == (((largest_id, True),) if expected else ())


def write_shapes(folder: Path) -> Path:
    """Writes shapes by which a part has one number, and a default."""
    path = folder / "parts.shapes.ttl"
    path.write_text(
        f"[] <{SH}targetClass> <{E}Part> ; <{SH}property> [ <{SH}path> <{E}number> ; "
        f"<{SH}maxCount> 1 ] .",
        "utf-8",
    )
    return path


@pytest.mark.parametrize("is_inverse", [False, True])
def test_no_unknown_claim_gives_a_part_the_number_of_another(
    tmp_path: Path, *, is_inverse: bool
) -> None:
    """The second track of a record is no other one's, though no rule says so."""
    rng = random.Random(2)
    lines = []
    for n in range(20):
        numbers = rng.sample(range(10), 6)
        for k, number in enumerate(numbers):
            part, whole = f"<{E}t{n}x{k}>", f"<{E}r{n}>"
            link = f"{whole} <{E}has> {part}" if is_inverse else f"{part} <{E}of> {whole}"
            lines.append(
                f"{link} . {part} a <{E}Part> ; <{E}number> {number} ;"
                f" <{E}length> {rng.randrange(5)} ; <{E}code> {100 * number} ;"
                f' <http://www.w3.org/2000/01/rdf-schema#label> "Song {n} {k}" .'
            )
    graph = tmp_path / "records.ttl"
    graph.write_text("\n".join(lines), "utf-8")
    kb = KnowledgeBase.open(graph=[graph], shapes=[write_shapes(tmp_path)])
    lookup = GraphLookup(kb)
    link = lookup.intern_term(E + ("has" if is_inverse else "of"))
    number = find_telling_predicates(lookup, lookup.intern_term(E + "number"))
    assert number.wholes == ((link, is_inverse),)
    for name in ("length", "code"):
        assert find_telling_predicates(lookup, lookup.intern_term(E + name)).wholes == ()
    numbers = {c.subj: c.obj for c in kb.graph.iter_claims(E + "number")}
    cards = make_cards(kb, CardPlan(per_label=10, predicates=(E + "number",))).cards
    for card in cards:
        record = card.claim.subj.split("x")[0]
        others = {
            o for s, o in numbers.items() if s.startswith(record + "x") and s != card.claim.subj
        }
        assert card.label == "E" or card.claim.obj not in others
    assert sum(card.label == "U" for card in cards) == 10


def hide(kb: KnowledgeBase, predicates: tuple[str, ...]) -> tuple[Graph, Closure]:
    """Leaves out the values of some subjects, each of one predicate."""
    subjects = {E + f"p{n}": predicates[n % 2] for n in range(0, 80, 3)}
    claims = [c for c in kb.graph.iter_claims() if subjects.get(c.subj) == c.pred]
    intern = kb.graph.index.terms.intern
    hidden = [(intern(c.subj), intern(c.pred), intern(c.obj)) for c in claims]
    graph = kb.graph.without(hidden)
    return graph, kb.oracle.closure.without(graph, hidden)
