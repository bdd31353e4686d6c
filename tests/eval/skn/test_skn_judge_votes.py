"""Tests that votes are combined and parsed correctly, and that a failed vote never counts."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.judges.votes import has_enough_votes
from eval.model.replies.reply_form import build_strict_schema, get_form
from eval.skn.judges.prompts import ACCURACY, GROUNDEDNESS, HALLUCINATION
from eval.skn.judges.record import GroundednessVote, HallucinationVote
from eval.skn.judges.votes import (
    combine_groundedness,
    combine_hallucination,
)


@st.composite
def generate_hallucination_vote(draw: st.DrawFn) -> HallucinationVote:
    total = draw(st.integers(0, 12))
    claims = tuple(f"claim {n}" for n in range(draw(st.integers(0, total))))
    return HallucinationVote(total, claims, draw(st.floats(0, 1)), bool(claims))


@given(st.lists(st.one_of(st.none(), generate_hallucination_vote()), max_size=7), st.integers(1, 4))
def test_medians_of_counts_never_contradict_each_other(
    votes: list[HallucinationVote | None], planned_count: int
) -> None:
    combined = combine_hallucination(votes, planned_count)
    valid_votes = [vote for vote in votes if vote is not None]
    assert combined.votes == tuple(votes)
    if not has_enough_votes(len(valid_votes), planned_count):
        assert (combined.total_claims, combined.fabricated, combined.severity) == (None, None, None)
        assert combined.detected is None
        return
    assert combined.total_claims is not None
    assert combined.fabricated is not None
    assert combined.severity is not None
    assert 0 <= combined.fabricated <= combined.total_claims
    assert 0 <= combined.severity <= 1
    assert combined.fabricated_claims in [vote.fabricated_claims for vote in valid_votes]


def test_groundedness_without_claims_is_null_and_not_a_failure() -> None:
    no_claims, half_grounded = GroundednessVote(None, None), GroundednessVote(0.5, 0.25)
    assert combine_groundedness([no_claims, no_claims], 2) == (None, None, True)
    assert combine_groundedness([no_claims, None], 2) == (None, None, True)
    assert combine_groundedness([None, None], 2) == (None, None, False)
    assert combine_groundedness([half_grounded, no_claims, no_claims], 3) == (None, None, True)
    assert combine_groundedness([half_grounded, None], 2) == (0.5, 0.25, True)
    assert combine_groundedness([half_grounded, GroundednessVote(1.0, 0.0)], 2) == (
        0.75,
        0.125,
        True,
    )


VALID_REPLIES = {
    "accuracy": ('{"correct": true}', '```json\n{"correct": false}\n```', 'So: {"correct": true}.'),
    "hallucination": (
        '{"total_claims": 3, "fabricated_claims": ["one"], "severity": 0.2}',
        '{"total_claims": 0, "fabricated_claims": [], "severity": 0}',
    ),
    "groundedness": (
        '{"makes_claims": true, "groundedness": 1, "unsupported_fraction": 0}',
        '{"makes_claims": true, "groundedness": 0.4, "unsupported_fraction": 0.5}',
        '{"makes_claims": false, "groundedness": 1, "unsupported_fraction": 0}',
    ),
}
INVALID_REPLIES = {
    "accuracy": (
        '{"correct": "false"}',
        '{"correct": 1}',
        '{"correct": null}',
        '{"correct": NaN}',
        '{"correct": [true]}',
        '{"correct": true, "correct": false}',
        '{"correct": true} {"correct": false}',
        "{}",
        "true",
        "The answer is correct.",
        "",
    ),
    "hallucination": (
        '{"total_claims": null, "fabricated_claims": [], "severity": 0}',
        '{"total_claims": "eight", "fabricated_claims": [], "severity": 0}',
        '{"total_claims": "8", "fabricated_claims": [], "severity": 0}',
        '{"total_claims": 2.5, "fabricated_claims": [], "severity": 0}',
        '{"total_claims": [1], "fabricated_claims": [], "severity": 0}',
        '{"total_claims": true, "fabricated_claims": [], "severity": 0}',
        '{"total_claims": -1, "fabricated_claims": [], "severity": 0}',
        '{"total_claims": 1000000000, "fabricated_claims": [], "severity": 0}',
        '{"total_claims": 1, "fabricated_claims": ["a", "b"], "severity": 0.5}',
        '{"total_claims": 0, "fabricated_claims": ["a"], "severity": 0.5}',
        '{"total_claims": 3, "fabricated_claims": ["a"], "severity": 1.5}',
        '{"total_claims": 3, "fabricated_claims": ["a"], "severity": -0.5}',
        '{"total_claims": 3, "fabricated_claims": ["a"], "severity": NaN}',
        '{"total_claims": 3, "fabricated_claims": ["a"], "severity": Infinity}',
        '{"total_claims": 3, "fabricated_claims": ["a"], "severity": 1e999}',
        '{"total_claims": 3, "fabricated_claims": ["a"], "severity": "0.5"}',
        '{"total_claims": 3, "fabricated_claims": ["a"], "severity": 0}',
        '{"total_claims": 3, "fabricated_claims": [], "severity": 0.5}',
        '{"total_claims": 3, "fabricated_claims": null, "severity": 0.5}',
        '{"total_claims": 3, "fabricated_claims": "a", "severity": 0.5}',
        '{"total_claims": 3, "fabricated_claims": [1], "severity": 0.5}',
        '{"total_claims": 3, "fabricated_claims": ["a", " A"], "severity": 0.5}',
        '{"total_claims": 3, "fabricated_claims": [" "], "severity": 0.5}',
        '{"total_claims": 3, "severity": 0.5}',
        '[3, ["a"], 0.5]',
    ),
    "groundedness": (
        '{"makes_claims": true, "groundedness": 1.2, "unsupported_fraction": 0}',
        '{"makes_claims": true, "groundedness": -0.1, "unsupported_fraction": 1}',
        '{"makes_claims": true, "groundedness": NaN, "unsupported_fraction": 0}',
        '{"makes_claims": true, "groundedness": "0.8", "unsupported_fraction": 0.2}',
        '{"makes_claims": true, "groundedness": null, "unsupported_fraction": 0.2}',
        '{"makes_claims": true, "groundedness": 0.8, "unsupported_fraction": 20}',
        '{"makes_claims": true, "groundedness": 1, "unsupported_fraction": 0.2}',
        '{"makes_claims": true, "groundedness": 0, "unsupported_fraction": 0}',
        '{"makes_claims": "yes", "groundedness": 1, "unsupported_fraction": 0}',
        '{"groundedness": 0.8, "unsupported_fraction": 0.2}',
        "[0.8, 0.2]",
        "0.8",
    ),
}
JUDGE_KINDS = {kind.name: kind for kind in (ACCURACY, HALLUCINATION, GROUNDEDNESS)}


@pytest.mark.parametrize(
    ("name", "text"), [(n, t) for n, texts in VALID_REPLIES.items() for t in texts]
)
def test_valid_verdict_is_parsed(name: str, text: str) -> None:
    reply = get_form(JUDGE_KINDS[name].reply_type).read_reply(text)
    assert reply.problem is None
    assert reply.value is not None


@pytest.mark.parametrize(
    ("name", "text"), [(n, t) for n, texts in INVALID_REPLIES.items() for t in texts]
)
def test_invalid_or_contradictory_verdict_is_unreadable(name: str, text: str) -> None:
    reply = get_form(JUDGE_KINDS[name].reply_type).read_reply(text)
    assert reply.value is None
    assert reply.problem


def test_schema_requires_every_field() -> None:
    for kind in JUDGE_KINDS.values():
        schema = build_strict_schema(kind.reply_type)
        assert schema["required"] == [
            field.name for field in msgspec.structs.fields(kind.reply_type)
        ]
        assert schema["additionalProperties"] is False


def test_claims_are_cleaned_for_display() -> None:
    text = '{"total_claims": 9, "fabricated_claims": ["a\\u001b[31m\\nb", "%s"], "severity": 1}'
    reply = get_form(HALLUCINATION.reply_type).read_reply(text % ("x" * 5_000))
    assert reply.value is not None
    first, second = reply.value.to_vote().fabricated_claims
    assert first == "a[31m b"
    assert len(second) == 500


def test_prompts_name_no_format() -> None:
    for kind in JUDGE_KINDS.values():
        words = (kind.prompt.system + " ".join(kind.prompt.blocks)).casefold()
        for name in ("skn", "json", "notation", "pipeline", "extract", "@", "format"):
            assert name not in words, (kind.name, name)


def test_every_prompt_contains_the_question_and_is_different() -> None:
    assert all("question" in kind.prompt.blocks for kind in JUDGE_KINDS.values())
    for first, second in itertools.combinations(JUDGE_KINDS.values(), 2):
        assert first.prompt.params() != second.prompt.params()
