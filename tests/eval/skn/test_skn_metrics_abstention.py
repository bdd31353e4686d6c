"""Tests abstention detection by phrases, on labelled answers and on hostile text."""

from __future__ import annotations

import json
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.replies.abstention import MAX_CHARS_READ, is_abstention
from eval.skn.published.abstention_phrases import PUBLISHED_PHRASES, has_published_phrase

DATA = Path(__file__).parents[2] / "data" / "skn_abstentions.jsonl"


@cache
def read_labelled_answers() -> list[dict[str, Any]]:
    return [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]


def count_outcomes(classify: Any, split: str) -> tuple[int, int, int]:
    """Returns the numbers of true positives, false positives and false negatives."""
    rows = [row for row in read_labelled_answers() if row["split"] == split]
    pairs = [(classify(row["text"]), row["abstains"]) for row in rows]
    return pairs.count((True, True)), pairs.count((True, False)), pairs.count((False, True))


def test_labelled_answers_are_many_and_of_both_kinds() -> None:
    assert len(read_labelled_answers()) >= 120
    assert len({row["text"] for row in read_labelled_answers()}) == len(read_labelled_answers())
    assert {row["split"] for row in read_labelled_answers()} == {"develop", "held out"}
    for split in ("develop", "held out"):
        labels = [row["abstains"] for row in read_labelled_answers() if row["split"] == split]
        assert min(labels.count(True), labels.count(False)) >= 30


@pytest.mark.parametrize(
    "row",
    [r for r in read_labelled_answers() if r["split"] == "develop"],
    ids=lambda row: row["id"],
)
def test_development_answers_are_all_classified_correctly(row: dict[str, Any]) -> None:
    assert is_abstention(row["text"]) is row["abstains"], row["text"]


def test_held_out_results_match_the_documentation() -> None:
    # docs/reference/skn.md quotes these counts (true positives, false positives, false
    # negatives); change them together.
    assert count_outcomes(is_abstention, "held out") == (84, 5, 4)
    assert count_outcomes(has_published_phrase, "held out") == (14, 14, 74)
    assert count_outcomes(has_published_phrase, "develop") == (25, 38, 123)


def test_published_rule_uses_31_substrings() -> None:
    assert len(PUBLISHED_PHRASES) == len(set(PUBLISHED_PHRASES)) == 31
    for phrase in PUBLISHED_PHRASES:
        assert has_published_phrase(f"So it is: {phrase.upper()}.")
    assert not has_published_phrase("I don't know.")
    assert has_published_phrase('The error "cannot determine type" means a cycle.')


@pytest.mark.parametrize(
    ("answer", "abstains"),
    [
        ("", False),
        ("   \n", False),
        ("```\ncannot determine the type\n```\nmeans that two imports form a cycle.", False),
        ('"I don\'t know."', True),
        ("**Unknown**", True),
        ("No lo sé.", True),
        ("Ich weiß es nicht.", True),
        ("<think>I don't know this one.</think>The disk is full.", False),
        ("<think>The disk may be full.</think>I don't know.", True),
        ("Is it unknown?", False),
        ("The CONTEXT does NOT say which port is used.", True),
        ("I don\u2019t know.", True),
    ],
)
def test_quotations_reasoning_and_other_languages_are_handled(answer: str, abstains: bool) -> None:
    assert is_abstention(answer) is abstains


@given(st.text(max_size=300))
@settings(deadline=None, max_examples=150)
def test_any_text_is_classified_without_failing(text: str) -> None:
    assert is_abstention(text) in (True, False)


@given(st.sampled_from([r["text"] for r in read_labelled_answers() if r["split"] == "develop"]))
@settings(deadline=None, max_examples=60)
def test_outer_whitespace_does_not_matter(text: str) -> None:
    assert is_abstention(f"\n  {text}  \n") is is_abstention(text)


@pytest.mark.parametrize(
    "piece",
    ["the context ", "no ", "`", "'a ", "{", "not ", ", ", "although ", "i can not ", '"', "a"],
)
def test_run_time_on_hostile_text_is_limited(piece: str) -> None:
    def measure_seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        is_abstention(text)
        return time.process_time() - start

    # The growth is tested, not the speed: 4 times the text may take about 4 times as long, but not
    # 16 times. Of 50 times the longest text, only the start is read.
    short_seconds = max(min(measure_seconds(MAX_CHARS_READ // 4) for _ in range(3)), 2e-3)
    assert min(measure_seconds(MAX_CHARS_READ) for _ in range(3)) < 10 * short_seconds
    assert measure_seconds(50 * MAX_CHARS_READ) < 60 * short_seconds


@pytest.mark.parametrize("text", ["The notes do not say.", "The notes lack any mention of it."])
def test_phrases_about_the_notes_are_abstentions(text: str) -> None:
    assert is_abstention(text)
