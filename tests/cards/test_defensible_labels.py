"""Tests that a reader who knows the world, or reads the names, finds no label wrong."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from stage_calls import run_epoche

from cards.card import Card, read_cards
from cards.generation.graph_lookup import GraphLookup
from cards.generation.restated_values import find_word_relatives
from kg.knowledge import KnowledgeBase
from kg.related_terms import RelatedTerms
from kg.words.name_forms import list_name_words, says_code, says_quantity
from kg.words.readable_names import is_missing_value

EX = "https://example.org/"
PREFIXES = (
    f"@prefix ex: <{EX}> . @prefix l: <http://www.w3.org/2000/01/rdf-schema#> . "
    "@prefix skos: <http://www.w3.org/2004/02/skos/core#> . "
    "@prefix sh: <http://www.w3.org/ns/shacl#> .\n"
)
WORDS = [f"{a}{b}" for a in ("Kila", "Sone", "Muro", "Tefa", "Pido") for b in "bcdfghjklmnpqrst"]


def make_cards_about(name: str, lines: list[str], folder: Path, number: int = 12) -> list[Card]:
    """Makes cards about a predicate with one value per subject."""
    graph, shapes, out = (folder / file for file in ("g.ttl", "s.ttl", "c.jsonl"))
    graph.write_text(PREFIXES + "\n".join(lines), "utf-8")
    shapes.write_text(
        f"{PREFIXES}[] a sh:NodeShape ; sh:targetSubjectsOf ex:{name} ; "
        f"sh:property [ sh:path ex:{name} ; sh:maxCount 1 ] .",
        "utf-8",
    )
    flags = ("--kg", graph, "--shapes", shapes, "--pred", name, "--num-per-type", number)
    done = run_epoche("cards", *flags, "--out", out)
    assert done.code == 0, done.err
    return list(read_cards(out))


def open_graph(folder: Path, text: str) -> KnowledgeBase:
    graph, shapes = folder / "g.ttl", folder / "s.ttl"
    graph.write_text(PREFIXES + text, "utf-8")
    shapes.write_text(
        f"{PREFIXES}ex:S a sh:NodeShape ; sh:targetClass ex:Thing ; sh:nodeKind sh:IRI .", "utf-8"
    )
    return KnowledgeBase.open(graph=[graph], shapes=[shapes])


@pytest.mark.parametrize(
    "link",
    [
        "ex:{low} l:subClassOf ex:Mid{high} . ex:Mid{high} l:subClassOf ex:{high} .",
        "ex:{high} skos:narrower ex:{low} .",
        "ex:{low} ex:capitalOf ex:{high} .",
    ],
)
def test_a_value_is_not_contradicted_by_one_that_it_is_a_kind_or_part_of(
    tmp_path: Path, link: str
) -> None:
    """What has a frequency may have one of 60 Hertz."""
    pairs = [("Rudan", "Ostia"), ("Velik", "Norta"), ("Simba", "Calmo")]
    lines = [link.format(low=low, high=high) for low, high in pairs]
    values = [value for pair in pairs for value in pair]
    lines += [f'ex:{value} l:label "{value}" .' for value in values]
    lines += [
        f'ex:{name} l:label "{name}" ; ex:region ex:{values[n % 6]} ; ex:shelf ex:Shelf{n % 4} .'
        for n, name in enumerate(WORDS)
    ]
    cards = make_cards_about("region", lines, tmp_path, 20)
    own = {f"{EX}{name}": f"{EX}{values[n % 6]}" for n, name in enumerate(WORDS)}
    related = {frozenset((f"{EX}{low}", f"{EX}{high}")) for low, high in pairs}
    contradicted = {frozenset((own[c.claim.subj], c.claim.obj)) for c in cards if c.label == "C"}
    assert len(contradicted) >= 4
    assert contradicted.isdisjoint(related)


def test_links_relate_two_values_unless_they_are_neighbours_or_steps(tmp_path: Path) -> None:
    kb = open_graph(
        tmp_path,
        "ex:Kenya ex:borders ex:Uganda . ex:Uganda ex:borders ex:Kenya . "
        "ex:Paris ex:capitalOf ex:France . ex:Aare ex:flowsInto ex:Rhine . "
        "ex:Rhine ex:inflow ex:Aare . ex:Ox <http://www.w3.org/2002/07/owl#differentFrom> ex:Elk . "
        "ex:Hertz60 a ex:Frequency . ex:Frequency l:subClassOf ex:Measure .",
    )
    index = kb.graph.index
    related_terms = RelatedTerms(index)

    def are_related(name: str, other: str, p: str = "") -> bool:
        term, another = (index.terms.ids[EX + text] for text in (name, other))
        pred = index.terms.ids[EX + p] if p else None
        forth = related_terms.are_related(term, another, pred)
        assert related_terms.are_related(another, term, pred) is forth
        return forth

    assert are_related("Hertz60", "Measure")
    assert are_related("Paris", "France")
    assert not are_related("Kenya", "Uganda")
    assert not are_related("Ox", "Elk")
    assert not are_related("Paris", "Rhine")
    # A river that flows into another one does not flow into what this flows into.
    assert not are_related("Aare", "Rhine", "flowsInto")
    assert are_related("Aare", "Rhine")


@pytest.mark.parametrize("name", ["within", "situatedIn", "partOf", "flowsInto"])
def test_what_is_within_paris_is_within_france(tmp_path: Path, name: str) -> None:
    """Own links relate places, also over several steps, but not rivers."""
    values = ["Rudan", "Ostia", "Velik", "Norta", "Simba", "Calmo"]
    lines = [f'ex:{value} l:label "{value}" .' for value in values]
    lines += [f"ex:{a} ex:{name} ex:{b} ." for a, b in itertools.pairwise(values[:3])]
    lines += [
        f'ex:{word} l:label "{word}" ; ex:{name} ex:{values[n % 6]} ; ex:shelf ex:Shelf{n % 4} .'
        for n, word in enumerate(WORDS)
    ]
    cards = make_cards_about(name, lines, tmp_path, 20)
    own = {f"{EX}{word}": values[n % 6] for n, word in enumerate(WORDS)}
    contradicted = {
        frozenset((own[c.claim.subj], c.claim.obj.removeprefix(EX)))
        for c in cards
        if c.label == "C" and c.claim.subj in own
    }
    assert len(contradicted) >= 4
    related = {frozenset(pair) for pair in itertools.combinations(values[:3], 2)}
    assert contradicted.isdisjoint(related) is (name != "flowsInto")


@pytest.mark.parametrize(
    ("value", "is_missing"),
    [
        *((sign, True) for sign in ("", "-", "--", "–", "—", "- -", "?", "???", "…", "...", "_")),
        *((sign, False) for sign in ("+", "$", "€", "*", "++", "<", "-1", "?x")),
    ],
)
def test_signs_that_stand_for_missing_values(value: str, *, is_missing: bool) -> None:
    assert is_missing_value(value) is is_missing


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("double_lower_case_e", ["double", "lower", "case", "e"]),
        ("double lower case e.nt", ["double", "lower", "case", "e", "nt"]),
        ("AC-10000VLL-60Hz", ["ac", "10000vll", "10000", "60hz", "60"]),
        ("Box B2", ["box", "b2"]),
        ("1,730.0 m", ["1730", "m"]),
    ],
)
def test_words_of_names(name: str, words: list[str]) -> None:
    assert list_name_words(name) == words


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("277V Voltage", "277.0", True),
        ("277V Voltage", "220", False),
        ("AC-10000VLL-3Ph-60Hz", "60 Hertz", True),
        ("AC-10000VLL-3Ph-60Hz", "50 Hertz", False),
        ("AC-10000VLL-3Ph-60Hz", "Three Phase AC Electricity", True),
        ("AC-10000VLL-1Ph-60Hz", "Single Phase AC Electricity", True),
        ("1730V", "1,730", True),
        # A single digit without a unit is in names by chance.
        ("Pump 1", "1", False),
        ("Pump 12", "12", True),
        ("Kiel", "Kiel", False),
    ],
)
def test_names_say_quantities(name: str, value: str, *, says: bool) -> None:
    assert says_quantity(name, value) is says


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("Makeup (dB) of CS10QM", "db", True),
        ("501Hz of ZamGEQ31", "hz", True),
        ("Makeup (dB) of CS10QM", "hz", False),
        ("Dbase", "db", False),
        # Longer values are compared as other names are.
        ("Lake Kiel", "kiel", False),
    ],
)
def test_names_say_short_codes(name: str, value: str, *, says: bool) -> None:
    assert says_code(name, value) is says


@pytest.mark.parametrize("unit", ["V", "db"])
def test_subjects_whose_names_say_the_value_are_not_asked_about(tmp_path: Path, unit: str) -> None:
    """ "Does AC-480V have 240 as its voltage?" is answered by the name, whatever is set aside."""
    values = [120, 240, 480, 600] if unit == "V" else ['"db"', '"hz"', '"ms"', '"pct"']
    lines = []
    for n, name in enumerate(WORDS):
        value = values[n // 2 % 4]
        said = f"{name}-{value}V" if unit == "V" else f"{name} ({str(value)[1:-1]})"
        label = said if n % 2 else name
        lines.append(
            f'ex:{name} l:label "{label}" ; ex:voltage {value} ; ex:shelf ex:Shelf{n % 4} .'
        )
    cards = make_cards_about("voltage", lines, tmp_path, 8)
    assert len(cards) >= 15
    told = {f"{EX}{name}" for name in WORDS[1::2]}
    assert not [card.question for card in cards if card.claim.subj in told]


def test_readiness_says_that_names_have_the_values_in_them(tmp_path: Path) -> None:
    lines = [PREFIXES]
    for n in range(60):
        number = 1200 + 10 * n
        lines.append(
            f'ex:p{n} a ex:Supply ; l:label "AC-{number}V-{(1, 3)[n % 2]}Ph" ; '
            f"ex:phases ex:{('Single', 'Three')[n % 2]}Phase ; ex:rack {n % 3} ."
        )
    lines.append('ex:SinglePhase l:label "Single Phase" . ex:ThreePhase l:label "Three Phase" .')
    graph, folder = tmp_path / "g.ttl", tmp_path / "mine"
    graph.write_text("\n".join(lines), "utf-8")
    assert run_epoche("kg", "init", graph, "--out", folder).code == 0
    page = (folder / "readiness.md").read_text("utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| phases"))
    assert "the names of its subjects have its values in them" in row


@pytest.mark.parametrize("unknown", ['l:label "UNKNOWN"', 'l:label "Not specified"'])
def test_a_thing_that_stands_for_an_unknown_value_is_no_value(tmp_path: Path, unknown: str) -> None:
    """ "Does X have volt as its unit?" is not NO where its unit is UNKNOWN."""
    values = ["volt", "ampere", "missing1", "lumen"]
    lines = [f'ex:{v} l:label "{v}" ; ex:system ex:SI .' for v in values if v != "missing1"]
    lines.append(f"ex:missing1 {unknown} ; ex:system ex:SI .")
    lines += [
        f'ex:{name} l:label "{name}" ; ex:unit ex:{values[n % 4]} ; ex:shelf ex:Shelf{n % 4} .'
        for n, name in enumerate(WORDS)
    ]
    cards = make_cards_about("unit", lines, tmp_path)
    without = {f"{EX}{name}" for n, name in enumerate(WORDS) if n % 4 == 2}
    assert len(cards) == 36
    for card in cards:
        assert card.claim.subj not in without
        texts = " ".join((card.question, *card.facts)).casefold()
        assert "unknown" not in texts
        assert "not specified" not in texts


def test_none_and_other_are_names_of_things_that_the_graph_tells_more_of(tmp_path: Path) -> None:
    kb = open_graph(
        tmp_path,
        'ex:town l:label "None" ; ex:region ex:Piedmont . ex:code l:label "None" . '
        'ex:film l:label "Other" ; ex:year 2001 . ex:rest l:label "Other" . '
        'ex:what l:label "Unknown" ; ex:region ex:Piedmont . ex:oak l:label "Otherworld" .',
    )
    readable = [
        n for n in ("town", "code", "film", "rest", "what", "oak") if kb.labels.is_readable(EX + n)
    ]
    assert readable == ["town", "film", "oak"]
    assert is_missing_value("Other")
    assert not is_missing_value("Other waters")


def test_unknown_literals_are_not_stated(tmp_path: Path) -> None:
    lines = [
        f'ex:{name} l:label "{name}" ; ex:grade "{("good", "poor", "fair")[n % 3]}" ; '
        f'ex:owner "{("unknown", "Lee")[n % 2]}" ; ex:shelf ex:Shelf{n % 4} .'
        for n, name in enumerate(WORDS)
    ]
    cards = make_cards_about("grade", lines, tmp_path)
    facts = " ".join(fact for card in cards for fact in card.facts)
    assert "unknown" not in facts
    assert "Lee" in facts


def test_predicates_of_one_stem_restate_each_other(tmp_path: Path) -> None:
    """What is "approved by" a resolution has "Approved" as its approval."""
    others = ("approvedBy", "approvalDate", "location", "isLocatedIn", "partOf", "hasPart")
    lines = [f"ex:a ex:{name} ex:b ." for name in ("approval", *others)]
    lookup = GraphLookup(open_graph(tmp_path, "\n".join(lines)))

    def find(name: str) -> set[str]:
        found = find_word_relatives(lookup, lookup.intern_term(EX + name))
        return {lookup.terms.get_text(q).removeprefix(EX) for q in found}

    assert find("approval") == {"approvedBy"}
    assert find("approvedBy") == {"approval"}
    assert find("location") == {"isLocatedIn"}
    assert find("partOf") == set()


def test_cards_do_not_state_what_a_predicate_of_the_same_stem_says(tmp_path: Path) -> None:
    lines = [
        f'ex:{name} l:label "{name}" ; ex:shelf ex:Shelf{n % 4} ; '
        f"ex:approval ex:{('Granted', 'Refused', 'Pending')[n % 3]} ; ex:approvedBy ex:Ann{n % 5} ."
        for n, name in enumerate(WORDS)
    ]
    cards = make_cards_about("approval", lines, tmp_path)
    assert len(cards) == 36
    assert not [fact for card in cards for fact in card.facts if "approved by" in fact]
