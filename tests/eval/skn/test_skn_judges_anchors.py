"""Anchors and agreement: the quality of the judges."""

from __future__ import annotations

import asyncio
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.skn.judges.agreement import measure_agreement
from eval.skn.judges.anchors import AnchorRow, assign_wrong_answers, judge_anchors
from eval.skn.judges.record import (
    Failure,
    GroundednessVote,
    Hallucination,
    HallucinationVote,
    Verdicts,
)
from eval.skn.judges.rule_judges import RuleJudges
from kg.base.proportions import wilson_interval
from kg.text.normaliser import normalise_phrase

TRUTHS = st.dictionaries(
    st.text("ab1\ud800", min_size=1, max_size=4),
    st.sampled_from(["x", "X.", "y", "z w"]),
    max_size=12,
)


@given(TRUTHS, st.integers(0, 5))
def test_every_sample_gets_the_answer_of_another_sample(truths: dict[str, str], seed: int) -> None:
    others = assign_wrong_answers(truths, seed)
    assert others == assign_wrong_answers(dict(reversed(truths.items())), seed)
    for name, other in others.items():
        assert normalise_phrase(other) != normalise_phrase(truths[name])
        assert other in truths.values()
    kinds = {normalise_phrase(truth) for truth in truths.values()}
    assert set(others) == (set(truths) if len(kinds) > 1 else set())


def test_every_answer_is_used_once_in_a_seeded_order() -> None:
    truths = {f"s{n}": f"answer {n}" for n in range(42)}
    drawn = [assign_wrong_answers(truths, seed) for seed in (1, 2)]
    assert all(Counter(others.values()) == Counter(truths.values()) for others in drawn)
    assert drawn[0] != drawn[1]


class ScriptedJudges:
    """Judges from a table of answers and their votes."""

    def __init__(self, votes: dict[str, tuple[bool | None, ...]], verdict: bool | None) -> None:
        self.votes = votes
        self.verdict = verdict

    def params(self) -> dict[str, object]:
        return {}

    async def judge_answer(self, **_: object) -> Verdicts:
        raise AssertionError("anchors ask for accuracy only")

    async def judge_correctness(
        self, *, question: str, answer: str, ground_truth: str, seed_key: str
    ) -> Verdicts:
        failed = Failure("accuracy", 1, "call", "HTTP 500")
        return Verdicts(
            correct=self.verdict,
            correct_votes=self.votes[answer],
            planned_votes=2,
            problems=(failed,) if None in self.votes[answer] else (),
        )


def test_anchor_keeps_planned_votes_and_reasons() -> None:
    judges = ScriptedJudges({"right": (True, False, True), "wrong": (None, False)}, True)

    def judge_anchor(other: str | None) -> AnchorRow:
        return asyncio.run(
            judge_anchors(
                judges,
                id="s1",
                question="Why?",
                ground_truth="right",
                wrong_answer=other,
                seed_key="s1",
            )
        )

    row = judge_anchor("wrong")
    assert (row.right_votes, row.wrong_votes) == ((True, False), (None, False))
    assert [problem.kind for problem in row.problems] == ["call"]
    assert row.asked_wrong
    assert msgspec.json.decode(msgspec.json.encode(row), type=AnchorRow) == row
    alone = judge_anchor(None)
    assert (alone.wrong, alone.wrong_votes, alone.asked_wrong) == (None, (), False)


def make_anchor(right: tuple[bool | None, ...], wrong: tuple[bool | None, ...]) -> AnchorRow:
    return AnchorRow(id="s", right=right[0], wrong=wrong[0], right_votes=right, wrong_votes=wrong)


def make_verdict(*votes: bool | None, further: tuple[bool, ...] = ()) -> Verdicts:
    return Verdicts(
        correct_votes=(*votes, *further), planned_votes=len(votes), hallucination=Hallucination()
    )


def test_agreement_matches_manual_values() -> None:
    # Votes as in the example of Cohen's κ: 20 both yes, 5 and 10 split, 15 both no.
    verdicts = [
        *[make_verdict(True, True)] * 20,
        *[make_verdict(True, False, further=(True,))] * 5,
        *[make_verdict(False, True, further=(True,))] * 10,
        *[make_verdict(False, False)] * 15,
        make_verdict(True, None),
        Verdicts(correct=False, planned_votes=2),  # an answer without text: nobody voted
    ]
    rows = [
        *[make_anchor((True, True), (False, False))] * 6,
        *[make_anchor((True, True), (True, True))] * 2,
        *[make_anchor((False, False), (False, True))],
        *[make_anchor((None, True), (False, None))],
    ]
    found = measure_agreement(verdicts, rows)
    assert found.votes == 2
    assert found.kappa == pytest.approx(0.4)
    assert (found.n, found.accuracy.incomplete) == (50, 1)
    assert found.accuracy.agreed == pytest.approx(0.7)
    assert (found.sensitivity.value, found.sensitivity.n, found.sensitivity.unjudged) == (
        8 / 9,
        9,
        1,
    )
    assert (found.specificity.value, found.specificity.n) == (8 / 10, 10)
    assert (found.specificity.low, found.specificity.high) == wilson_interval(8, 10)
    # Of 18 anchors with both votes, 3 are errors of both and 1 is the second's alone:
    # φ = (18·3 - 3·4) / √(3·15·4·14).
    assert found.error_correlation == pytest.approx(42 / 2520**0.5)


def test_one_vote_has_no_agreement() -> None:
    found = measure_agreement(
        [make_verdict(True), make_verdict(False)], [make_anchor((True,), (True,))]
    )
    assert (found.kappa, found.error_correlation) == (None, None)
    assert (found.accuracy.agreed, found.accuracy.n) == (None, 2)
    assert found.sensitivity.value == 1.0
    assert found.specificity.value == 0.0


def test_no_verdicts_give_nulls() -> None:
    found = measure_agreement([], [])
    assert (found.votes, found.kappa, found.n) == (0, None, 0)
    assert found.accuracy.agreed is None
    assert found.sensitivity.value is None
    assert found.groundedness_gap is None
    assert found.failures == {}
    unjudged = AnchorRow(
        id="s", right=None, wrong=None, right_votes=(None, None), wrong_votes=(), asked_wrong=False
    )
    found = measure_agreement([], [unjudged])
    assert (found.sensitivity.value, found.sensitivity.unjudged) == (None, 1)
    assert (found.specificity.n, found.specificity.unjudged) == (0, 0)


def test_three_votes_use_fleiss_kappa_and_pairwise_errors() -> None:
    verdicts = [
        make_verdict(True, True, False),
        make_verdict(False, False, False),
        make_verdict(True, True, True),
    ]
    found = measure_agreement(verdicts, [make_anchor((False, False, True), (False, False, False))])
    # By hand: P̄ = (1/3 + 1 + 1) / 3 = 7/9, P̄_e = (5/9)² + (4/9)² = 41/81, κ = 22/40.
    assert found.kappa == pytest.approx(22 / 40)
    # The third judge never errs, so only the first two have a correlation.
    assert found.error_correlation == pytest.approx(1.0)


def test_verdicts_of_different_panels_are_not_mixed() -> None:
    with pytest.raises(ValueError, match="different numbers of planned votes"):
        measure_agreement([make_verdict(True), make_verdict(True, True)])


def test_agreement_on_hallucination_and_groundedness() -> None:
    def make_counts(first: int, second: int, *grounds: float | None) -> Verdicts:
        votes = tuple(
            HallucinationVote(3, ("a",) * count, 0.1 * count, bool(count))
            for count in (first, second)
        )
        return Verdicts(
            planned_votes=2,
            hallucination=Hallucination(votes=votes),
            groundedness_votes=tuple(GroundednessVote(value, None) for value in grounds),
            failures={"groundedness": 1} if None in grounds else {},
        )

    found = measure_agreement(
        [make_counts(1, 2, 0.75, 0.5), make_counts(0, 0, 1.0, 1.0), make_counts(0, 1, None, 0.5)]
    )
    assert found.hallucination.agreed == pytest.approx(2 / 3)
    # Yes-yes, no-no, no-yes: observed 2/3, by chance (1·2 + 2·1) / 9, so κ = (6 - 4) / (9 - 4).
    assert found.hallucination.kappa == pytest.approx(0.4)
    assert found.groundedness_gap == pytest.approx(0.125)
    assert found.failures == {"groundedness": 1}
    assert found.kappa is None


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_deciding_votes_do_not_change_agreement(pairs: list[tuple[bool, bool]]) -> None:
    plain = [make_verdict(*pair) for pair in pairs]
    decided = [make_verdict(*p, further=(True,) if p[0] != p[1] else ()) for p in pairs]
    assert measure_agreement(plain) == measure_agreement(decided)


def test_rule_judges_pass_their_anchors() -> None:
    truths = {
        "a": "The container exceeded its memory limit and the kernel killed it.",
        "b": "Create the index concurrently so that writes are not blocked.",
        "c": "Raise the visibility timeout above the longest processing time.",
    }
    others = assign_wrong_answers(truths, 0)
    rows = [
        asyncio.run(
            judge_anchors(
                RuleJudges(),
                id=name,
                question=f"What of {name}?",
                ground_truth=truth,
                wrong_answer=others[name],
                seed_key=name,
            )
        )
        for name, truth in truths.items()
    ]
    found = measure_agreement([], rows)
    assert (found.sensitivity.value, found.specificity.value) == (1.0, 1.0)
