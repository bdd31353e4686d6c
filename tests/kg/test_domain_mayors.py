"""Tests that the mayors domain behaves as its example in ``docs/how-to/domain.md`` says."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from kg.claims import Claim
from kg.domain import SHIPPED_FOLDER
from kg.knowledge import KnowledgeBase

VOCABULARY = "https://epoche.example/mayors#"
MAYORS = "https://epoche.example/mayors/"
DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "domain.md"


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase.open("mayors")


def get_label(kb: KnowledgeBase, subj: str, pred: str, obj: str) -> str:
    return kb.oracle.license(Claim(MAYORS + subj, VOCABULARY + pred, MAYORS + obj)).label


def test_loads_without_violations(kb: KnowledgeBase) -> None:
    assert kb.oracle.find_violations() == ()
    # Every city has both, so that the number of its facts says nothing about what is unknown.
    for predicate in ("mayor", "country"):
        assert len(list(kb.graph.iter_claims(VOCABULARY + predicate))) == 86


@pytest.mark.parametrize(
    ("subj", "obj", "label"),
    [
        ("vienna", "michael-ludwig", "E"),
        ("vienna", "sadiq-khan", "C"),  # a second mayor
        ("milan", "vienna", "C"),  # not a person
        ("milan", "italy", "C"),
    ],
)
def test_mayor_claims_have_the_expected_labels(
    kb: KnowledgeBase, subj: str, obj: str, label: str
) -> None:
    assert get_label(kb, subj, "mayor", obj) == label


def test_country_claims_have_the_expected_labels(kb: KnowledgeBase) -> None:
    assert get_label(kb, "vienna", "country", "austria") == "E"
    assert get_label(kb, "vienna", "country", "germany") == "C"
    assert get_label(kb, "bristol", "country", "germany") == "C"
    assert get_label(kb, "bristol", "country", "vienna") == "C"


def test_rules_cite_every_shape(kb: KnowledgeBase) -> None:
    cited_shapes = {shape for rule in kb.domain.rules for shape in rule.shapes}
    assert cited_shapes == set(kb.shapes.list_iris())


def test_sentences_about_mayors_state_the_date(kb: KnowledgeBase) -> None:
    for claim in kb.graph.iter_claims(VOCABULARY + "mayor"):
        sentences = [
            kb.verbaliser.render_fact(claim),
            kb.verbaliser.render_denial(claim),
            *kb.verbaliser.render_questions(claim),
        ]
        for sentence in sentences:
            assert "1 January 2020" in sentence
            assert sentence[0].isupper()
            assert re.search(r"[^ .?][.?]$", sentence), sentence
    claim = Claim(MAYORS + "amsterdam", VOCABULARY + "country", MAYORS + "netherlands")
    assert kb.verbaliser.render_fact(claim) == "Amsterdam is a city in the Netherlands."


def test_cards_can_be_made_from_a_copy_elsewhere(tmp_path: Path) -> None:
    from cards.generation.card_plan import CardPlan
    from cards.generator import make_cards

    folder = tmp_path / "my mayors"
    shutil.copytree(SHIPPED_FOLDER / "mayors", folder)
    kb = KnowledgeBase.open(folder)
    card_set = make_cards(kb, CardPlan(predicates=(VOCABULARY + "mayor",), per_label=8, seed=1))
    labels = [card.label for card in card_set.cards]
    assert {label: labels.count(label) for label in ("E", "C", "U")} == {"E": 8, "C": 8, "U": 8}
    for card in card_set.cards:
        assert card_set.kb.oracle.license(card.claim).label == card.label


def test_documentation_shows_the_shipped_files() -> None:
    """Every statement in the page's excerpts is in the shipped files."""
    shipped = "\n".join(
        (SHIPPED_FOLDER / "mayors" / name).read_text(encoding="utf-8")
        for name in ("mayors.ttl", "mayors.shacl.ttl", "domain.toml")
    )
    lines = {" ".join(line.split()) for line in shipped.splitlines()}
    text = DOCS.read_text(encoding="utf-8")
    excerpts = re.findall(r"^```(turtle|toml)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(excerpts) >= 3
    for language, excerpt in excerpts:
        if language == "toml":
            excerpt_domain = tomllib.loads(excerpt)
            shipped_domain = tomllib.loads(
                (SHIPPED_FOLDER / "mayors" / "domain.toml").read_text(encoding="utf-8")
            )
            excerpt_predicate = excerpt_domain["predicates"]["cm:mayor"]
            shipped_predicate = shipped_domain["predicates"]["cm:mayor"]
            assert excerpt_predicate["fact"] == shipped_predicate["fact"]
            assert set(excerpt_predicate["questions"]) <= set(shipped_predicate["questions"])
            assert excerpt_domain["rule"][0] == shipped_domain["rule"][0]
            assert excerpt_domain["naming"] == shipped_domain["naming"]
            continue
        for line in excerpt.splitlines():
            statement = " ".join(line.split())
            # The page shortens two statements; their content must still be in the files.
            if statement not in lines:
                start = statement.split(" ;")[0].rstrip(" .")
                assert start in shipped, line
