"""Tests that the readiness page promises as many cards as can be made."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from stage_calls import run_epoche

from cards.card import read_cards
from kg.profile import fitting_claims
from kg.profile.ceilings import ONE_SUBJECT
from kg.profile.fitting_claims import ChainEnds, count_fitting_pairs, find_chain_ends
from kg.profile.rules import GivenRule
from kg.profile.verification import find_otherwise_limited, list_rule_kinds
from kg.shapes import Constraint, Shapes
from kg.words.name_forms import may_name_one_thing

EX = "https://example.org/"
SH = "@prefix sh: <http://www.w3.org/ns/shacl#> ."
HEAD = f"@prefix ex: <{EX}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."


@pytest.mark.parametrize(
    ("name", "other", "may_be_one"),
    [
        ("state bank trust", "state bank trust company", True),
        ("percent rh", "percent", True),
        ("in force", "not in force", False),
        ("inforce", "inforce notinforce", False),
        ("smoker", "non smoker", False),
        ("london", "paris", False),
    ],
)
def test_a_negated_name_is_that_of_another_thing(name: str, other: str, may_be_one: bool) -> None:
    words, others = frozenset(name.split()), frozenset(other.split())
    assert may_name_one_thing(words, others) is may_be_one
    assert may_name_one_thing(others, words) is may_be_one


@pytest.mark.parametrize(
    ("names", "n_pairs"),
    [
        ({"Ulm": "north", "Bonn": "south", "Kiel": "north", "Jena": "south"}, 4),
        # Who is "limited" has a word of both values in its name, and nobody else has.
        ({"Ox limited": "a limited", "Elk limited": "a limited", "Cat": "b limited"}, 0),
        ({"Ox limited": "a limited", "Elk limited": "a limited", "Cat limited": "b limited"}, 2),
        # One value may be another name of the other.
        ({"Ox": "state bank", "Elk": "state bank trust"}, 0),
    ],
)
def test_true_and_false_claims_fit_if_names_do_not_tell_them_apart(
    names: dict[str, str], n_pairs: int
) -> None:
    texts = [*names, *dict.fromkeys(names.values())]
    values = {texts.index(s): [texts.index(o)] for s, o in names.items()}
    words = [frozenset(text.split()) for text in texts]
    assert count_fitting_pairs(values, words.__getitem__, 100) == n_pairs
    assert count_fitting_pairs(values, words.__getitem__, 1) == min(1, n_pairs)


def test_ends_of_chains_need_a_true_claim_that_fits() -> None:
    # 3 and 4 are below 1, 5 and 6 below 2, and these below 0.
    links = {1: [0], 2: [0], 3: [1], 4: [1], 5: [2], 6: [2]}
    words = dict.fromkeys(range(7), frozenset({"x"}))
    # Of 1 it is asked whether 0 is below it, beside 3 or 4, which are.
    assert find_chain_ends(links, words.__getitem__) == ChainEnds(subjects=1, objects=1)
    # The names of 3 and 4 have a word of that of 1 in them, and that of 0 does not.
    words |= {0: frozenset({"y"}), 2: frozenset({"z"})}
    assert find_chain_ends(links, words.__getitem__) == ChainEnds(subjects=1, objects=1)
    words[2] = frozenset({"x"})
    assert find_chain_ends(links, words.__getitem__) == ChainEnds(subjects=0, objects=0)


def count_lines(function: Callable[[], object]) -> int:
    """Counts the lines of ``fitting_claims`` that a call runs, with each turn of a loop."""
    n_lines = 0

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal n_lines
        if frame.f_code.co_filename != fitting_claims.__file__:
            return None
        n_lines += event == "line"
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(previous)
    return n_lines


def make_citations(n_papers: int, n_cited: int) -> dict[int, list[int]]:
    """Makes papers that each cite some of the earlier ones."""
    rng = random.Random(1)
    return {n: rng.sample(range(n), min(n, n_cited)) for n in range(1, n_papers)}


@pytest.mark.parametrize(
    ("values", "n_pairs"),
    [
        ({0: range(1, 30_000)}, 0),  # a catalogue of many data sets
        ({0: range(10, 20_000), 1: range(20_000, 40_000)}, 2),
        ({n: [20_000 + n] for n in range(20_000)}, 20_000),
        ({n: [20_000 + n % 2] for n in range(20_000)}, 20_000),
    ],
)
def test_many_values_are_compared_in_few_steps(
    values: Mapping[int, Sequence[int]], n_pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting_claims, "MAX_STEPS", 100_000)
    n_facts = sum(map(len, values.values()))
    found = []
    n_lines = count_lines(
        lambda: found.append(
            count_fitting_pairs(values, lambda n: frozenset({"set", f"n{n}"}), len(values))
        )
    )
    assert found == [n_pairs]
    assert n_lines < 20 * (n_facts + 100_000)


def test_many_chains_are_followed_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting_claims, "MAX_STEPS", 100_000)
    links = make_citations(1_000, 30)  # of 30,000 links; 27 million chains of three
    found = []
    n_lines = count_lines(
        lambda: found.append(find_chain_ends(links, lambda n: frozenset({"paper", f"n{n}"})))
    )
    # So many that names leave enough of them.
    assert min(found[0]) > 900
    assert n_lines < 10 * (sum(map(len, links.values())) + 100_000)


def read_constraints(path: Path, text: str) -> list[Constraint]:
    path.write_text(
        f"{SH} @prefix ex: <{EX}> . <{EX}S> a sh:NodeShape ; sh:targetClass ex:C ; {text} .",
        "utf-8",
    )
    return list(Shapes.load(path).list_constraints())


@pytest.mark.parametrize(
    "text",
    [
        "sh:property [ sh:path [ sh:inversePath ex:partOf ] ; sh:maxCount 1 ]",
        "sh:not [ sh:property [ sh:path ex:partOf ; sh:minCount 1 ] ]",
        "sh:property [ sh:path ex:name ; sh:disjoint ex:partOf ]",
        'sh:sparql [ sh:select "SELECT $this WHERE { $this ex:partOf ?x. ?x ex:a-part ex:b }" ; '
        f'sh:prefixes [ sh:declare [ sh:prefix "ex" ; sh:namespace "{EX}" ] ] ]',
        f'sh:sparql [ sh:select "SELECT $this WHERE {{ $this <{EX}partOf> ?x }}" ]',
    ],
)
def test_shapes_limit_what_they_name_and_not_what_begins_alike(tmp_path: Path, text: str) -> None:
    limited = find_otherwise_limited(read_constraints(tmp_path / "s.ttl", text))
    assert EX + "partOf" in limited
    assert not [name for name in ("part", "partO", "a", "a-par", "Of") if EX + name in limited]
    given = {EX + name: GivenRule("one value", "stated") for name in ("part", "partOf")}
    kinds = list_rule_kinds({}, given, limited)
    assert kinds[EX + "part"] == {"one value"}
    assert kinds[EX + "partOf"] >= {"one value", "other"}
    assert (ONE_SUBJECT in kinds[EX + "partOf"]) is ("inversePath" in text)
    assert not find_otherwise_limited([])


def write_tree(path: Path) -> Path:
    """Writes a tree of which each link is stated four times, in both directions."""
    lines = [HEAD]
    for n in range(120):
        lines.append(f'ex:n{n} a ex:Code ; rdfs:label "{make_name(n)}" ; ex:sort "kind {n % 7}" .')
        if n:
            up = (n - 1) // 3
            lines.append(f"ex:n{n} ex:parent ex:n{up} ; ex:subCodeOf ex:n{up} .")
            lines.append(f"ex:n{up} ex:child ex:n{n} ; ex:superCodeOf ex:n{n} .")
    path.write_text("\n".join(lines), "utf-8")
    return path


def make_name(n: int) -> str:
    parts = ("ka", "le", "mi", "no", "pu")
    return "".join(parts[n // base % 5] for base in (125, 25, 5, 1)).capitalize()


def test_predicates_that_link_the_same_things_count_once(tmp_path: Path) -> None:
    folder, cards = tmp_path / "mine", tmp_path / "cards.jsonl"
    graph = write_tree(tmp_path / "g.ttl")
    report = json.loads(run_epoche("kg", "init", graph, "--out", folder, "--json").out)
    asked = [row for row in report["predicates"] if row["is_asked"]]
    assert len(asked) == 4
    assert report["ceiling"] == max(row["counted"] for row in asked) > 10
    first = next(row["label"] for row in asked if row["counted"])
    assert Counter(row["shares_links_with"] for row in asked) == {first: 3, "": 1}
    page = (folder / "readiness.md").read_text("utf-8")
    assert f"counted with “{first}”, which links the same things" in page
    done = run_epoche("cards", "--domain", folder, "--num-per-type", 50, "--out", cards)
    assert done.code == 0, done.err
    counts = Counter(card.label for card in read_cards(cards))
    assert min(counts.values()) >= min(50, 0.8 * report["ceiling"])


@pytest.mark.parametrize("with_own", [False, True])
def test_unknown_cards_use_up_rare_values(tmp_path: Path, with_own: bool) -> None:
    lines = [HEAD]
    for n in range(90):
        lines.append(
            f'ex:t{n} a ex:Thing ; rdfs:label "{make_name(n)}" ; ex:near ex:t{(n * 7 + 3) % 90} ; '
            f"ex:status ex:{'open' if n % 4 else 'shut'} ."
        )
    graph, shapes = tmp_path / "g.ttl", tmp_path / "own.ttl"
    graph.write_text("\n".join(lines), "utf-8")
    shapes.write_text(
        f"{SH} <{EX}S> a sh:NodeShape ; sh:targetClass <{EX}Thing> ; sh:property "
        f"[ sh:path <{EX}status> ; sh:maxCount 1 ; sh:minCount 1 ] .",
        "utf-8",
    )
    folder, cards = tmp_path / "mine", tmp_path / "cards.jsonl"
    flags = ("--shapes", shapes) if with_own else ()
    report = json.loads(run_epoche("kg", "init", graph, "--out", folder, "--json", *flags).out)
    row = next(row for row in report["predicates"] if row["label"] == "status")
    # 23 are shut, and a fifth of the subjects of UNKNOWN cards are.
    assert (row["ceiling"], row["counted"], report["ceiling"]) == (24, 18, 18)
    done = run_epoche("cards", "--domain", folder, "--num-per-type", 50, "--out", cards)
    assert done.code == 0, done.err
    counts = Counter(card.label for card in read_cards(cards))
    assert min(counts.values()) >= 0.8 * report["ceiling"]


def test_what_words_of_names_tell_is_not_asked(tmp_path: Path) -> None:
    lines = [
        HEAD,
        'ex:ltd rdfs:label "Private limited company" .',
        'ex:plc rdfs:label "Public limited company" .',
    ]
    for n in range(60):
        kind = "ltd" if n % 2 else "plc"
        name = f"{make_name(n)} {'Limited' if n % 2 else 'PLC'}"
        lines.append(
            f'ex:t{n} a ex:Firm ; rdfs:label "{name}" ; ex:status ex:{kind} ; ex:knownAs ex:k{n} .'
        )
    (tmp_path / "g.ttl").write_text("\n".join(lines), "utf-8")
    flags = ("--out", tmp_path / "mine", "--json")
    report = json.loads(run_epoche("kg", "init", tmp_path / "g.ttl", *flags).out)
    row = next(row for row in report["predicates"] if row["label"] == "status")
    assert (row["ceiling"], row["reason"]) == (
        0,
        "the words of its subjects' names tell their values",
    )


def draft_report(folder: Path, lines: list[str]) -> dict[str, Any]:
    """Drafts a domain of a graph and returns what the readiness page says."""
    (folder / "g.ttl").write_text("\n".join(lines), "utf-8")
    flags = ("--out", folder / "mine", "--json")
    report: dict[str, Any] = json.loads(run_epoche("kg", "init", folder / "g.ttl", *flags).out)
    return report


@pytest.mark.parametrize("n_loose", [0, 3])
def test_a_direction_that_names_tell_is_not_asked(tmp_path: Path, n_loose: int) -> None:
    """Parts of parts share a word with what they are parts of, and the others do not."""
    lines = [HEAD]
    for n in range(24):
        first, second, third = (make_name(3 * n + m) for m in range(3))
        names = (f"{first} {second}", second, third)
        if n < n_loose:
            names = (first, second, third)
        for m, name in enumerate(names):
            lines.append(f'ex:t{n}_{m} a ex:Part ; rdfs:label "{name}" .')
        lines.append(f"ex:t{n}_0 ex:partOf ex:t{n}_1 . ex:t{n}_1 ex:partOf ex:t{n}_2 .")
    report = draft_report(tmp_path, lines)
    (row,) = report["predicates"]
    which = f"only {n_loose} NO cards" if n_loose else "no NO card"
    assert row["reason"] == (
        f"{which} could ask about a chain of links in reverse with names as alike as those of a "
        "YES; in all others, names would tell the answer"
    )
    assert "rdfs:label" not in report["advice"]


@pytest.mark.parametrize("seed", range(4))
def test_what_the_numbers_in_names_tell_is_not_asked(tmp_path: Path, seed: int) -> None:
    """Each version replaces the one before it; that another one is its sibling is not told."""
    rng = random.Random(seed)
    lines = [HEAD]
    for n in range(40):
        lines.append(
            f'ex:v{n} a ex:Version ; rdfs:label "Parser 0.{n + 10}" ; ex:licence ex:l{n % 3} ; '
            f"ex:branchedFrom ex:v{rng.choice([m for m in range(40) if m != n])} ; "
            f"ex:parent ex:v{n // 3 + (n == 0)} ."
        )
        lines.append(f"ex:v{n} ex:replaces ex:v{n - 1} ." if n else "")
    rows = {row["label"]: row["reason"] for row in draft_report(tmp_path, lines)["predicates"]}
    told = [label for label, reason in rows.items() if "by their numbers" in reason]
    assert told == ["replaces"]
    assert {"branched from", "parent"} <= rows.keys()


@pytest.mark.parametrize("n_single", [0, 40])
def test_neighbours_tell_the_number_of_a_part(tmp_path: Path, n_single: int) -> None:
    """A wire has a first and a second end; only of things with one end is the other one open."""
    folder, cards = tmp_path / "mine", tmp_path / "cards.jsonl"
    lines = [HEAD]
    for n in range(80 + n_single):
        wire, number = (n // 2, n % 2 + 1) if n < 80 else (n, 1 + n % 2)
        lines.append(
            f'ex:e{n} a ex:End ; rdfs:label "{make_name(n)}" ; ex:sequenceNumber {number} ; '
            f"ex:wire ex:w{wire} ; ex:colour ex:c{n % 7} ."
        )
    row = next(
        row
        for row in draft_report(tmp_path, lines)["predicates"]
        if row["label"] == "sequence number"
    )
    if not n_single:
        assert row["ceiling"] == 0
        assert "other parts have the other values" in row["reason"]
        return
    # Two of three claims are false; one NO may be of another kind.
    assert row["ceiling"] - n_single // 2 in {0, 1}
    flags = ("--pred", EX + "sequenceNumber", "--num-per-type", 40)
    run_epoche("cards", "--domain", folder, *flags, "--out", cards)
    n_made = Counter(card.label for card in read_cards(cards))["U"]
    assert 0.8 * row["ceiling"] <= n_made <= row["ceiling"]


@pytest.mark.parametrize(("n_described", "ceiling"), [(0, 0), (7, 7), (90, 30)])
def test_unknown_cards_need_another_fact_than_a_class(
    tmp_path: Path, n_described: int, ceiling: int
) -> None:
    """What a subject is would stand on its UNKNOWN card alone, and so tell the label."""
    lines = [HEAD]
    for n in range(90):
        fact = f'ex:t{n} a ex:Firm ; rdfs:label "{make_name(n)}" ; ex:foundingYear {1950 + n % 7}'
        lines.append(f"{fact} {f'; ex:size {n}' if n < n_described else ''} .")
    rows = draft_report(tmp_path, lines)["predicates"]
    row = next(row for row in rows if row["label"] == "founding year")
    assert row["ceiling"] - ceiling in {0, 1}
    if not ceiling:
        reason = "none of 90 subjects has another fact, which an UNKNOWN card must state"
        assert row["reason"] == reason
        return
    cards = tmp_path / "cards.jsonl"
    run_epoche("cards", "--domain", tmp_path / "mine", "--num-per-type", 40, "--out", cards)
    n_made = Counter(card.label for card in read_cards(cards))["U"]
    assert 0.8 * row["ceiling"] <= n_made <= row["ceiling"]


def test_links_without_chains_have_no_wrong_way_round(tmp_path: Path) -> None:
    lines = [HEAD, "ex:hasTag a <http://www.w3.org/2002/07/owl#AsymmetricProperty> ."]
    for n in range(40):
        name = f'a ex:Part ; rdfs:label "{make_name(n)}" ; ex:size {n}'
        lines.append(f"ex:t{n} {name} ; ex:hasTag ex:u{n % 7} .")
        lines.append(f'ex:u{n % 7} a ex:Tag ; rdfs:label "Tag {"abcdefg"[n % 7]}" .')
    report = draft_report(tmp_path, lines)
    row = next(row for row in report["predicates"] if row["label"] == "has tag")
    assert row["reason"].startswith("it makes no chains of links")


def test_few_cards_about_shared_values_do_not_displace_many_about_others(tmp_path: Path) -> None:
    lines = [HEAD, "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> ."]
    for n in range(90):
        # No two have the same date, so that no true claim can be set aside.
        day = f'"{1900 + n}-03-04"^^xsd:date'
        lines.append(f'ex:t{n} a ex:Firm ; rdfs:label "{make_name(n)}" ; ex:foundingDate {day} ;')
        lines.append(f"ex:knows ex:t{(n * 7 + 1) % 90}, ex:t{(n + 5) % 90} .")
        if 0 < n < 42:
            lines.append(f"ex:t{n} ex:partOf ex:t{(n - 1) // 3} .")
    report = draft_report(tmp_path, lines)
    counted = {row["label"]: row["counted"] for row in report["predicates"] if row["is_asked"]}
    assert 0 < counted["part of"] < 15 < counted["founding date"]


def test_what_a_class_says_of_its_members_is_never_unknown(tmp_path: Path) -> None:
    lines = [HEAD, "@prefix owl: <http://www.w3.org/2002/07/owl#> ."]
    for sex, cls in (("male", "Man"), ("female", "Woman")):
        lines.append(
            f"ex:{cls} owl:equivalentClass [ a owl:Restriction ; owl:onProperty ex:sex ; "
            f"owl:hasValue ex:{sex} ] . ex:{sex} rdfs:label '{sex}' ."
        )
    for n in range(60):
        cls = "Woman" if n % 2 else "Man"
        lines.append(f'ex:p{n} a ex:{cls} ; rdfs:label "{make_name(n)}" ; ex:age {n % 50} .')
    lines += [f"ex:p{n} ex:sex ex:{'female' if n % 2 else 'male'} ." for n in range(60)]
    row = next(r for r in draft_report(tmp_path, lines)["predicates"] if r["label"] == "sex")
    reason = "the class of 60 of 60 subjects says it (owl:hasValue), so that it is never unknown"
    assert (row["ceiling"], row["reason"]) == (0, reason)
