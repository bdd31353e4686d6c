"""Tests the rule-based text analysis: causes, confidence, gaps and risk."""

from __future__ import annotations

import pytest

from eval.skn.card_rules.analysis import (
    DISPUTED_CONFIDENCE,
    HEDGED_CONFIDENCE,
    PLAIN_CONFIDENCE,
    analyse_text,
)
from eval.skn.card_rules.causes import Cause, find_cause


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Long transactions cause table bloat.", Cause("Long transactions", "table bloat")),
        ("A full disk may lead to a crash.", Cause("A full disk", "a crash")),
        ("The crash was caused by a full disk.", Cause("a full disk", "The crash")),
        ("It fails because of the lock.", Cause("the lock", "It fails")),
        ("Because of the lock, it fails.", Cause("the lock", "it fails")),
        ("A full disk does not cause a crash.", None),
        ("It fails because.", None),
        ("The Main flows into the Rhine.", None),
        ("Rain leads to " + "very " * 30 + "much water.", None),
    ],
)
def test_causes_are_read_from_plain_words(sentence: str, expected: Cause | None) -> None:
    assert find_cause(sentence) == expected


def test_hedged_and_disputed_statements_have_less_confidence() -> None:
    analysis = analyse_text("The gate is open. The gate is not open. It may rain. Ice is cold.", "")
    confidences = {statement.text: statement.confidence for statement in analysis.statements}
    assert confidences == {
        "The gate is open.": DISPUTED_CONFIDENCE,
        "The gate is not open.": DISPUTED_CONFIDENCE,
        "It may rain.": HEDGED_CONFIDENCE,
        "Ice is cold.": PLAIN_CONFIDENCE,
    }
    assert analysis.reliability == 0.25, "one of four statements is neither hedged nor disputed"
    assert analysis.misdirection == "high"


def test_gaps_are_question_names_missing_from_the_text() -> None:
    text = "[Result 1]\nTitle: Redis\nURL: u\nContent: The cache is fast.\n"
    question = "Acme runs Redis. Is the Zephyr cache of Redis 7 fast?"
    assert analyse_text(text, question).gaps == ("Zephyr", "Redis 7")
    assert analyse_text(text, "").gaps == ()


def test_risk_is_derived_from_the_statements() -> None:
    question = "Does the Main flow into the Rhine?"
    assert analyse_text("The Main flows into the Rhine.", question).misdirection == "low"
    assert analyse_text("The Main does not flow into the Rhine.", question).misdirection == "medium"
    contradiction = "The Main flows into the Rhine. The Main does not flow into the Rhine."
    assert analyse_text(contradiction, question).misdirection == "high"
    other_contradiction = "The Main flows into the Rhine. Ice is cold. Ice is never cold."
    assert analyse_text(other_contradiction, question).misdirection == "medium"
    assert analyse_text("The Main flows into the Rhine.", question).missing_context == "low"
    assert analyse_text("Ice is cold.", question).missing_context == "high"
