"""Tests that the facts and labels of the README's first card follow from the rivers graph."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from epoche import Claim, KnowledgeBase

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
RIVERS = "https://epoche.example/rivers/"
FLOWS_INTO = "https://epoche.example/rivers#flowsInto"
TRAVERSES = "https://epoche.example/rivers#traverses"


@pytest.mark.parametrize(
    ("river", "gold", "label"),
    [("Aare", "YES", "E"), ("Lech", "NO", "C"), ("Inn", "UNKNOWN", "U")],
)
def test_labels_are_proved(river: str, gold: str, label: str) -> None:
    assert re.search(
        rf"^\| Does the \*\*{river}\*\* flow into the Rhine\? \| {gold}\b", README, re.M
    )
    kb = KnowledgeBase.open("rivers")
    verdict = kb.oracle.license(Claim(RIVERS + river.lower(), FLOWS_INTO, RIVERS + "rhine"))
    assert verdict.label == label


def test_facts_are_in_the_graph() -> None:
    kb = KnowledgeBase.open("rivers")
    for subject, predicate, value in (
        ("aare", FLOWS_INTO, "rhine"),
        ("aare", TRAVERSES, "switzerland"),
        ("lech", FLOWS_INTO, "danube"),
        ("lech", TRAVERSES, "germany"),
        ("inn", TRAVERSES, "austria"),
        ("inn", TRAVERSES, "germany"),
    ):
        claim = Claim(RIVERS + subject, predicate, RIVERS + value)
        assert kb.oracle.license(claim).label == "E"
        assert kb.verbaliser.render_fact(claim) in README
