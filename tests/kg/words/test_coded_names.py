"""Tests that things without a label are named by their class and the code in their IRI."""

from __future__ import annotations

import json
import random
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from stage_calls import run_epoche

from cards.card import read_cards
from eval.questions.parser import ClaimParser, Reading
from kg.claims import Claim
from kg.domain import CodedNaming
from kg.graph import Graph
from kg.knowledge import KnowledgeBase
from kg.terms import RDF_TYPE, RDFS, SKOS
from kg.words.coded_names import CodePrefixes
from kg.words.labels import Labels

E = "http://e/"
LABEL = RDFS + "label"
UUID = "548aa7fb-0bb9-4504-a474-d390b0a27010"
OTHER_UUID = "c0ffee12-0bb9-4504-a474-d390b0a27010"
HASH = "84e385ae74943fd44e81e730da9f0d52"


def make_labels(coded_names: CodedNaming, *rows: tuple[str, str, str]) -> Labels:
    claims = [Claim(E + s, p if ":" in p else E + p, o) for s, p, o in rows]
    return Labels(Graph.from_claims(claims), coded_names=coded_names)


def test_numbers_follow_the_name_of_the_class():
    rows = [("order/10248", RDF_TYPE, E + "Order"), ("order/10248", "by", E + "staff/A7")]
    labels = make_labels("numbers", *rows)
    assert labels.get_label(E + "order/10248") == "order 10248"
    assert labels.find_entities("Order 10248") == [E + "order/10248"]
    assert labels.find_entities("10248") == []
    # Without a class it is called by its code alone.
    assert labels.get_label(E + "staff/A7") == "A7"
    assert make_labels("", *rows).get_label(E + "order/10248") == "10248"


@pytest.mark.parametrize(
    ("local_name", "name"),
    [
        ("JU-2022-F", "purchase order JU-2022-F"),
        ("U8-1-22", "purchase order U8-1-22"),
        ("2023.4", "purchase order 2023.4"),
        # Names with words of their own.
        ("WaterLevel-2024", "WaterLevel-2024"),
        ("Q4-report-2024", "Q4-report-2024"),
        ("north-sea", "north-sea"),
        ("co-op", "co-op"),
    ],
)
def test_codes_of_several_parts_follow_the_name_of_the_class(local_name: str, name: str):
    rows = [(local_name, RDF_TYPE, E + "Trade.PurchaseOrder"), (local_name, "by", E + "Ann")]
    labels = make_labels("numbers", *rows)
    assert labels.get_label(E + local_name) == name
    assert labels.is_readable(E + local_name)


def test_a_number_without_a_class_is_no_name():
    rows = [("x", "place", E + "2657896"), ("x", "year", E + "1998"), ("x", "by", E + "staff/A7")]
    labels = make_labels("numbers", *rows, ("y", "site", E + "1/site"), ("z", "site", E + "2/site"))
    names = ("2657896", "1998", "staff/A7", "1/site")
    assert [labels.is_readable(E + name) for name in names] == [False, True, True, False]
    assert make_labels("", *rows).is_readable(E + "2657896")


@pytest.mark.parametrize(
    ("language", "qualifier"), [("de", "kleiner Fluss"), ("en", "kleiner fluss")]
)
def test_brackets_keep_the_capitals_of_german_nouns(language: str, qualifier: str):
    claims = [Claim(E + name, RDF_TYPE, E + cls) for name, cls in (("a", "Fluss"), ("b", "Stadt"))]
    claims += [Claim(E + name, LABEL, '"Ulm"') for name in "ab"]
    claims.append(Claim(E + "Fluss", LABEL, f'"kleiner Fluss"@{language}'))
    labels = Labels(Graph.from_claims(claims), qualifiers=(RDF_TYPE,))
    assert labels.get_label(E + "a") == f"Ulm ({qualifier})"


@pytest.mark.parametrize(
    ("local_name", "name"),
    [
        (UUID, "purchase order 548aa7fb"),
        (f"_{UUID}", "purchase order 548aa7fb"),
        (HASH, "purchase order 84e385ae"),
        (f"DiskPartition4-{UUID}", "disk partition4 548aa7fb"),
        (f"Q42-{UUID.upper()}", "purchase order 548AA7FB"),
        ("North_Sea", "North Sea"),
    ],
)
def test_uuids_and_hashes_are_cut_short(local_name: str, name: str):
    rows = [(local_name, RDF_TYPE, E + "Trade.PurchaseOrder"), (local_name, "by", E + "Ann")]
    labels = make_labels("all", *rows)
    assert labels.get_label(E + local_name) == name
    assert labels.is_readable(E + local_name)
    # Only numbers get names by default.
    if name != "North Sea":
        assert not make_labels("numbers", *rows).is_readable(E + local_name)


def test_without_a_class_the_code_is_the_name():
    labels = make_labels("all", ("a", "by", E + UUID), ("a", "by", E + HASH))
    assert labels.get_label(E + UUID) == "548aa7fb"
    assert labels.find_entities("84e385ae") == [E + HASH]


def test_labels_come_first_and_codes_tell_things_of_one_label_apart():
    rows = [
        row
        for uuid in (UUID, OTHER_UUID)
        for row in ((uuid, LABEL, '"PATL"'), (uuid, RDF_TYPE, E + "Limit"))
    ]
    labels = make_labels("all", *rows, (HASH, LABEL, '"TATL"'), (HASH, RDF_TYPE, E + "Limit"))
    assert labels.get_label(E + UUID) == "PATL (548aa7fb)"
    assert labels.find_entities("PATL (c0ffee12)") == [E + OTHER_UUID]
    assert labels.get_label(E + HASH) == "TATL"


@pytest.mark.parametrize("hash_label", [HASH, UUID, "C72FDBD8B39DFF406ABE8CA04850F910"])
def test_a_label_that_is_only_a_uuid_or_hash_is_none(hash_label: str):
    rows = [(OTHER_UUID, LABEL, f'"{hash_label}"'), (OTHER_UUID, RDF_TYPE, E + "Loan")]
    labels = make_labels("all", *rows)
    assert labels.get_label(E + OTHER_UUID) == "loan c0ffee12"
    assert not labels.has_label(E + OTHER_UUID)
    assert labels.find_entities("Loan c0ffee12") == [E + OTHER_UUID]
    assert not make_labels("numbers", *rows).is_readable(E + OTHER_UUID)
    labels = make_labels("all", *rows, (OTHER_UUID, SKOS + "altLabel", '"My loan"'))
    assert labels.get_label(E + OTHER_UUID) == "My loan"
    assert labels.find_entities("my loan") == [E + OTHER_UUID]


def test_classes_and_predicates_keep_their_codes():
    labels = make_labels(
        "all", ("a", RDF_TYPE, E + "Q515"), ("a", "P17", E + "b"), ("Q515", RDF_TYPE, E + "Kind"),
        ("P17", RDF_TYPE, E + "Kind"), ("Q515", RDF_TYPE, E + "Q515"),
    )  # fmt: skip
    assert labels.get_label(E + "Q515") == "Q515"
    assert labels.get_label(E + "P17") == "P17"


@settings(max_examples=100, deadline=None)
@given(st.sets(st.uuids().map(str), max_size=30), st.booleans())
def test_a_name_that_leads_to_one_thing_is_its_own(uuids: set[str], cuts_short: bool):
    if cuts_short:  # so that codes are the same
        uuids = {f"{uuid[:1] * 7}{uuid[7:]}" for uuid in uuids}
    labels = make_labels("all", *((uuid, RDF_TYPE, E + "Order") for uuid in uuids))
    for uuid in uuids:
        found = labels.find_entities(labels.get_label(E + uuid))
        assert E + uuid in found
        assert len(found) == sum(other[:8] == uuid[:8] for other in uuids)


def test_a_graph_of_uuids_gives_cards_whose_questions_can_be_read(tmp_path: Path):
    rng = random.Random(3)
    lines = [f"@prefix e: <{E}> ."]
    for n in range(120):
        uuid = f"{rng.getrandbits(32):08x}-0bb9-4504-a474-{n:012d}"
        lines.append(
            f'<{E}{uuid}> a e:Payment ; e:bookingDate "{2000 + n % 9}" ; e:status e:s{n % 3} .'
        )
    graph = tmp_path / "payments.ttl"
    graph.write_text("\n".join(lines), "utf-8")
    domain, out = tmp_path / "domain", tmp_path / "cards.jsonl"
    done = run_epoche("kg", "init", graph, "--out", domain, "--json")
    assert "called by their class" in json.loads(done.out)["summary"]
    run_epoche("cards", "--domain", domain, "--num-per-type", 10, "--out", out)
    cards = read_cards(out)
    assert len(cards) == 30
    parser = ClaimParser(KnowledgeBase.open(domain))
    for card in cards:
        assert "payment " in card.question
        reading = parser.parse_question(card.question)
        assert isinstance(reading, Reading)
        assert reading.claims == (card.claim,)


NUMBERED = ("A1_is_composed_of", "A22i_was_produced_by", "A7a_begin_of_the_begin")


@pytest.mark.parametrize(
    ("names", "name", "expected"),
    [
        (NUMBERED, "A22i_was_produced_by", "was_produced_by"),
        (NUMBERED, "A1_is_composed_of", "is_composed_of"),
        # One code is no numbering, names must differ without it, and a code may be all there is.
        (("CO2_emission", "NO2_emission", "P5_share"), "CO2_emission", "CO2_emission"),
        (("PM1_level", "PM10_level", "PM25_level"), "PM10_level", "PM10_level"),
        ((*NUMBERED, "A320", "B52_flights"), "A320", "A320"),
        ((*NUMBERED, "A320", "B52_flights"), "B52_flights", "B52_flights"),
    ],
)
def test_codes_of_a_numbered_vocabulary_are_dropped(
    names: tuple[str, ...], name: str, expected: str
):
    graph = Graph.from_claims([Claim(E + "s", E + each, E + "o") for each in names])
    assert CodePrefixes(graph.index).drop(E + name, name) == expected


def test_sentences_have_no_codes_of_classes_and_predicates(tmp_path: Path) -> None:
    classes = ("M54_Weight", "M55_Find_Spot", "M56_Dig")
    lines = [
        f"e:dig{n} a e:{classes[n % 3]} ; e:Q90_has_amount {n % 9} ; "
        f"e:Q4i_found_with e:dig{n + 1} ; e:Q12_has_status e:s{n % 3} ."
        for n in range(60)
    ]
    graph = tmp_path / "g.ttl"
    graph.write_text(f"@prefix e: <{E}> .\n" + "\n".join(lines), "utf-8")
    assert run_epoche("kg", "init", graph, "--out", tmp_path / "mine").code == 0
    phrases = KnowledgeBase.open(tmp_path / "mine").verbaliser
    assert phrases.get_label(E + "Q90_has_amount") == "has amount"
    assert phrases.get_class_noun(E + "M54_Weight") == "weight"
    fact = phrases.render_fact(Claim(E + "dig3", RDF_TYPE, E + "M55_Find_Spot"))
    assert fact.endswith(" is a find spot.")
