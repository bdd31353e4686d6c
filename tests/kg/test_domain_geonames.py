"""Tests of the geonames domain on a part that is small enough to be checked completely."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
from shipped import build_small_world, open_shipped

from cards.generation.card_plan import CardPlan
from cards.generator import make_cards
from cards.leakage.audit import audit_cards
from eval.questions.parser import ClaimParser, Reading
from kg.base.errors import MissingFileError
from kg.claims import GOLD_OF_LABEL, Claim
from kg.domain import load_domain
from kg.domains.geonames.build import WITHHELD, GeoNamesData, is_asserted, render_turtle
from kg.knowledge import KnowledgeBase

VOCABULARY = "https://epoche.example/geonames#"
ENTITIES = "https://epoche.example/geonames/"


@pytest.fixture(scope="module")
def world() -> GeoNamesData:
    return build_small_world()


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return open_shipped("geonames")


def test_names_are_unique_except_antarctica(world: GeoNamesData) -> None:
    name_counts = Counter(world.names.values())
    # GeoNames has Antarctica twice: as a continent, and as a territory with an ISO country code.
    assert [name for name, count in name_counts.items() if count > 1] == ["Antarctica"]
    assert any(name.endswith(f"(GeoNames {key})") for key, name in world.names.items())


def test_graph_satisfies_its_shapes(kb: KnowledgeBase) -> None:
    assert kb.oracle.find_violations() == ()


def test_well_known_capitals_and_borders_are_right(world: GeoNamesData) -> None:
    capitals = {code: world.names[key] for code, key in world.find_capitals().items()}
    assert capitals["CH"] == "Bern"
    assert capitals["JP"] == "Tokyo"
    assert ("CH", "ES") not in world.list_borders()
    assert ("CH", "LI") in world.list_borders()
    assert ("AT", "CH") in world.list_borders()
    assert len(capitals) > 200


def test_withheld_share_matches_the_table_for_any_city_size(world: GeoNamesData) -> None:
    for prop in ("country", "timeZone", "population"):
        stated_by_city = {key: is_asserted(prop, key) for key in GeoNamesData(15_000).cities}
        assert 1 - sum(stated_by_city.values()) / len(stated_by_city) == pytest.approx(
            WITHHELD[prop], abs=0.01
        )
    cities_by_size = sorted(
        GeoNamesData(15_000).cities.values(), key=lambda city: city["population"]
    )
    keys = [str(city["geonameid"]) for city in cities_by_size]
    half = len(keys) // 2
    small_city_share, large_city_share = (
        sum(is_asserted("country", key) for key in keys_of_half) / half
        for keys_of_half in (keys[:half], keys[-half:])
    )
    assert small_city_share == pytest.approx(large_city_share, abs=0.015)


def test_borders_are_symmetric_and_some_are_denied(kb: KnowledgeBase) -> None:
    stated_claim = next(iter(kb.graph.iter_claims(VOCABULARY + "neighbour")))
    reverse_claim = Claim(stated_claim.obj, stated_claim.pred, stated_claim.subj)
    assert kb.oracle.license(reverse_claim).label == "E"
    denials = [
        (claim.subj, claim.obj)
        for claim in kb.graph.iter_claims("http://www.w3.org/2002/07/owl#targetIndividual")
    ]
    assert 100 < len(denials) < 400
    name, target = denials[0]
    country, neighbour = name.removeprefix(ENTITIES + "not-").split("-")
    assert target == ENTITIES + neighbour
    assert (
        kb.oracle.license(
            Claim(ENTITIES + country, VOCABULARY + "neighbour", ENTITIES + neighbour)
        ).label
        == "C"
    )


def test_cards_are_proved_and_leak_nothing(kb: KnowledgeBase) -> None:
    card_set = make_cards(kb, CardPlan(per_label=120))
    assert Counter(card.label for card in card_set.cards) == {"E": 120, "C": 120, "U": 120}
    assert len({card.claim.pred for card in card_set.cards}) == 6
    for card in card_set.cards:
        verdict = card_set.kb.oracle.license(card.claim)
        assert verdict.label == card.label
        assert GOLD_OF_LABEL[verdict.label] == card.gold
    audit = audit_cards(card_set.cards, get_name=kb.verbaliser.render_term)
    assert audit.leaks == ()
    assert audit.notes == ()


def test_audit_notes_names_not_readable_from_iris(kb: KnowledgeBase) -> None:
    card_set = make_cards(kb, CardPlan(per_label=20))
    assert "terms do not show which words of the question are names" in " ".join(
        audit_cards(card_set.cards).notes
    )


def test_hash_seed_does_not_change_the_bytes(world: GeoNamesData, tmp_path: Path) -> None:
    code = "from kg.domains.geonames.build import main; from pathlib import Path; import sys\n"
    code += "main(Path(sys.argv[1]), 15000)"
    graph_bytes = []
    for seed in ("0", "1"):
        out = tmp_path / f"{seed}.ttl"
        subprocess.run(
            [sys.executable, "-c", code, str(out)],
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            cwd=Path(__file__).parent.parent.parent,
        )
        graph_bytes.append(out.read_bytes())
    assert graph_bytes[0] == graph_bytes[1]
    assert graph_bytes[0] == "".join(render_turtle(GeoNamesData(15_000))).encode()


def test_missing_graph_says_how_to_build_it(tmp_path: Path) -> None:
    domain = load_domain("geonames")
    domain_without_graph = msgspec.structs.replace(domain, graph_files=(tmp_path / "none.ttl",))
    with pytest.raises(MissingFileError, match="not been built yet") as exc_info:
        KnowledgeBase.open(domain_without_graph)
    assert exc_info.value.hint == "Run: python -m kg.domains.geonames.build"


@pytest.mark.parametrize(
    "question",
    [
        "Is the seat of government of Andorra Andorra la Vella?",
        "Is Andorra's seat of government Andorra la Vella?",
        "Does Andorra have Andorra la Vella as its seat of government?",
    ],
)
def test_seat_of_government_is_read_as_the_capital(kb: KnowledgeBase, question: str) -> None:
    capital = Claim(f"{ENTITIES}3041563", f"{VOCABULARY}capitalOf", f"{ENTITIES}AD")
    assert ClaimParser(kb).parse_question(question) == Reading((capital,))
