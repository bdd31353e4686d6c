"""The geonames domain: built from its package, small enough here to be checked whole."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
from shipped import open_shipped, small_world

from cards.audit import audit_cards
from cards.generator import CardPlan, make_cards
from kg.base.errors import MissingFileError
from kg.claims import GOLD_OF_LABEL, Claim
from kg.domain import load_domain
from kg.domains.geonames.build import WITHHELD, World, stated, turtle
from kg.knowledge import KnowledgeBase

GN = "https://epoche.example/geonames#"
G = "https://epoche.example/geonames/"


@pytest.fixture(scope="module")
def world() -> World:
    return small_world()


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return open_shipped("geonames")


def test_no_two_things_read_the_same(world: World) -> None:
    alike = Counter(world.names.values())
    # GeoNames has the continent and, as a territory with an ISO code, the country.
    assert [name for name, n in alike.items() if n > 1] == ["Antarctica"]
    assert any(name.endswith(f"(GeoNames {key})") for key, name in world.names.items())


def test_the_graph_breaks_none_of_its_shapes(kb: KnowledgeBase) -> None:
    assert kb.oracle.violations() == ()


def test_known_facts(world: World) -> None:
    capitals = {code: world.names[key] for code, key in world.capitals().items()}
    assert capitals["CH"] == "Bern"
    assert capitals["JP"] == "Tokyo"
    assert ("CH", "ES") not in world.borders()
    assert ("CH", "LI") in world.borders()
    assert ("AT", "CH") in world.borders()
    assert len(capitals) > 200


def test_the_share_withheld_is_what_the_table_says_and_no_matter_of_size(world: World) -> None:
    for prop in ("country", "timeZone", "population"):
        told = {key: stated(prop, key) for key in World(15_000).cities}
        assert 1 - sum(told.values()) / len(told) == pytest.approx(WITHHELD[prop], abs=0.01)
    sizes = sorted(World(15_000).cities.values(), key=lambda city: city["population"])
    keys = [str(city["geonameid"]) for city in sizes]
    half = len(keys) // 2
    small, large = (
        sum(stated("country", key) for key in part) / half for part in (keys[:half], keys[-half:])
    )
    assert small == pytest.approx(large, abs=0.015)


def test_a_border_counts_from_both_sides_and_some_are_denied(kb: KnowledgeBase) -> None:
    stated_one_way = next(iter(kb.graph.claims(GN + "neighbour")))
    back = Claim(stated_one_way.obj, stated_one_way.pred, stated_one_way.subj)
    assert kb.oracle.license(back).label == "E"
    denied = [
        (claim.subj, claim.obj)
        for claim in kb.graph.claims("http://www.w3.org/2002/07/owl#targetIndividual")
    ]
    assert 100 < len(denied) < 400
    name, target = denied[0]
    one, other = name.removeprefix(G + "not-").split("-")
    assert target == G + other
    assert kb.oracle.license(Claim(G + one, GN + "neighbour", G + other)).label == "C"


def test_cards_are_proved_and_leak_nothing(kb: KnowledgeBase) -> None:
    made = make_cards(kb, CardPlan(per_label=60))
    assert Counter(card.label for card in made.cards) == {"E": 60, "C": 60, "U": 60}
    assert len({card.claim.pred for card in made.cards}) == 6
    for card in made.cards:
        verdict = kb.oracle.license(card.claim)
        assert verdict.label == card.label
        assert GOLD_OF_LABEL[verdict.label] == card.gold
    found = audit_cards(made.cards, name=kb.words.name)
    assert found.leaks == ()
    assert found.notes == ()


def test_an_audit_that_cannot_see_the_names_says_so(kb: KnowledgeBase) -> None:
    made = make_cards(kb, CardPlan(per_label=20))
    assert "cannot be told by their IRIs" in " ".join(audit_cards(made.cards).notes)


def test_the_same_package_gives_the_same_bytes_whatever_the_hash_seed(
    world: World, tmp_path: Path
) -> None:
    code = "from kg.domains.geonames.build import main; from pathlib import Path; import sys\n"
    code += "main(Path(sys.argv[1]), 15000)"
    written = []
    for seed in ("0", "1"):
        out = tmp_path / f"{seed}.ttl"
        subprocess.run(
            [sys.executable, "-c", code, str(out)],
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            cwd=Path(__file__).parent.parent.parent,
        )
        written.append(out.read_bytes())
    assert written[0] == written[1]
    assert written[0] == "".join(turtle(World(15_000))).encode()


def test_a_graph_that_was_not_built_says_how(tmp_path: Path) -> None:
    domain = load_domain("geonames")
    missing = msgspec.structs.replace(domain, graph_files=(tmp_path / "none.ttl",))
    with pytest.raises(MissingFileError, match="not built yet") as caught:
        KnowledgeBase.open(missing)
    assert caught.value.hint == "Run: python -m kg.domains.geonames.build"
