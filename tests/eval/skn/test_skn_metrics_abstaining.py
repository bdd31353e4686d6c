"""Who declines to answer, by words: on the labelled answers, and on text that means harm."""

from __future__ import annotations

import json
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.skn.abstaining import MAX_READ, PUBLISHED_PHRASES, abstained, published_abstained

DATA = Path(__file__).parents[2] / "data" / "skn_abstentions.jsonl"


@cache
def labelled() -> list[dict[str, Any]]:
    return [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]


def told(reader: Any, split: str) -> tuple[int, int, int]:
    """Abstentions found rightly, found wrongly, and missed."""
    rows = [row for row in labelled() if row["split"] == split]
    found = [(reader(row["text"]), row["abstains"]) for row in rows]
    return found.count((True, True)), found.count((True, False)), found.count((False, True))


def test_the_list_is_long_and_has_both_sorts() -> None:
    assert len(labelled()) >= 120
    assert len({row["text"] for row in labelled()}) == len(labelled())
    assert {row["split"] for row in labelled()} == {"develop", "held out"}
    for split in ("develop", "held out"):
        of_split = [row["abstains"] for row in labelled() if row["split"] == split]
        assert min(of_split.count(True), of_split.count(False)) >= 30


@pytest.mark.parametrize(
    "row", [r for r in labelled() if r["split"] == "develop"], ids=lambda row: row["id"]
)
def test_every_answer_it_was_made_on_is_read_rightly(row: dict[str, Any]) -> None:
    assert abstained(row["text"]) is row["abstains"], row["text"]


def test_answers_it_was_not_made_on_are_read_as_the_docs_say() -> None:
    # docs/metrics.md quotes these counts; change them together.
    assert told(abstained, "held out") == (31, 0, 2)
    assert told(published_abstained, "held out") == (1, 10, 32)
    assert told(published_abstained, "develop") == (15, 28, 59)


def test_the_published_reading_is_31_substrings() -> None:
    assert len(PUBLISHED_PHRASES) == len(set(PUBLISHED_PHRASES)) == 31
    for phrase in PUBLISHED_PHRASES:
        assert published_abstained(f"So it is: {phrase.upper()}.")
    assert not published_abstained("I don't know.")
    assert published_abstained('The error "cannot determine type" means a cycle.')


@pytest.mark.parametrize(
    ("answer", "declines"),
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
def test_quotations_thoughts_and_other_languages(answer: str, declines: bool) -> None:
    assert abstained(answer) is declines


@given(st.text(max_size=300))
@settings(deadline=None, max_examples=150)
def test_any_text_is_read_without_failing(text: str) -> None:
    assert abstained(text) in (True, False)


@given(st.sampled_from([r["text"] for r in labelled() if r["split"] == "develop"]))
@settings(deadline=None, max_examples=60)
def test_case_of_the_first_letter_and_outer_space_do_not_matter(text: str) -> None:
    assert abstained(f"\n  {text}  \n") is abstained(text)


@pytest.mark.parametrize(
    "piece",
    ["the context ", "no ", "`", "'a ", "{", "not ", ", ", "although ", "i can not ", '"', "a"],
)
def test_time_does_not_run_away_on_hostile_text(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        abstained(text)
        return time.process_time() - start

    # Growth, not speed: four times the text may take four times as long and some, not sixteen.
    small = max(min(seconds(MAX_READ // 4) for _ in range(3)), 2e-3)
    assert min(seconds(MAX_READ) for _ in range(3)) < 10 * small
    assert seconds(50 * MAX_READ) < 60 * small


@pytest.mark.parametrize("text", ["The notes do not say.", "The notes lack any mention of it."])
def test_the_agent_knows_its_source_as_notes(text: str) -> None:
    assert abstained(text)
