"""What is said of two pipelines, and what each row counts as: what no other test pins down."""

from __future__ import annotations

from typing import Any

from eval.skn.metrics import Plan, measure_observed
from eval.skn.scoring.observing import Observed
from eval.skn.scoring.record import Difference, SknReport
from eval.stats.paired import mcnemar_floor

PLAN = Plan(resamples=200)


def seen(sample: int, pipeline: str, **told: Any) -> Observed:
    """A judged answer to an answerable sample, unless told otherwise."""
    base: dict[str, Any] = {
        **{"category": "diagnostic", "answerable": True, "outcome": "ANSWERED"},
        **{"read_by": "field", "correct": True, "confidence": 0.9, "detected": False},
        **{"claims": 4.0, "fabricated": 0.0, "severity": 0.0, "groundedness": 1.0},
        "unsupported": 0.0,
    }
    return Observed(sample=f"s{sample:02}", pipeline=pipeline, **{**base, **told})


def compared(report: SknReport, metric: str) -> Difference:
    (found,) = [one for one in report.comparisons if one.metric == metric]
    return found


def test_repeats_are_tested_by_the_means_of_samples_not_as_a_table() -> None:
    rows = [
        seen(sample, pipeline, repeat=repeat, correct=pipeline == "skn" or repeat + sample > 2)
        for sample in range(12)
        for pipeline in ("skn", "json")
        for repeat in range(3)
    ]
    found = compared(measure_observed(rows, PLAN), "accuracy")
    # json is wrong in 3, 2 and 1 of the repeats of three samples, and never on the other nine.
    assert (found.n, found.n_differ, found.test) == (12, 3, "sign-flip")
    assert found.discordant is None
    assert found.difference is not None
    assert abs(found.difference - 6 / 36) < 1e-9
    assert found.p == 0.25, "two of the eight patterns of signs"


def test_a_description_makes_nobody_better() -> None:
    rows = [
        seen(sample, pipeline, confidence=sure, context_chars=chars, agent_prompt_tokens=chars)
        for sample in range(30)
        for pipeline, sure, chars in (
            ("skn", 0.5 + sample / 100, 300.0 + sample),
            ("json", 0.2 + sample / 90, 900.0 + 3 * sample),
        )
    ]
    report = measure_observed(rows, PLAN)
    for metric in ("mean_confidence", "context_chars"):
        found = compared(report, metric)
        assert found.p_holm is not None
        assert found.p_holm < 0.01
        assert found.better is None
    assert compared(report, "agent_prompt_tokens").better == "skn"


def test_no_smaller_difference_is_promised_than_mcnemar_can_find() -> None:
    rows = [
        seen(sample, pipeline, correct=not (pipeline == "json" and sample == 0))
        for sample in range(40)
        for pipeline in ("skn", "json")
    ]
    found = compared(measure_observed(rows, PLAN), "accuracy")
    assert found.n_differ == 1
    floor = mcnemar_floor(40)
    assert floor is not None
    assert found.smallest_found is not None
    assert abs(found.smallest_found - floor) < 1e-9


def test_only_answers_are_calibrated_and_every_end_is_counted_by_its_name() -> None:
    """As published, whoever abstains is judged too: that verdict is of no answer."""
    ends: dict[str, Any] = {"to_judge": False, "correct": None, "confidence": None}
    rows = [
        *(seen(sample, "skn") for sample in range(4)),
        seen(4, "skn", outcome="ABSTAINED", correct=False, confidence=0.8),
        *(seen(5 + n, "skn", **ends, outcome="INVALID", stage="agent") for n in range(2)),
        seen(7, "skn", **ends, outcome="ERROR", stage="search"),
        seen(8, "skn", **ends, outcome="ERROR", stage="search", answerable=False),
        seen(9, "skn", severity=None),
    ]
    one = measure_observed(rows, PLAN).pipelines["skn"]
    ends_of = one.outcomes
    assert (ends_of.answered, ends_of.abstained, ends_of.invalid, ends_of.error) == (5, 1, 2, 2)
    assert ends_of.stages == {"agent": 2, "search": 2}
    assert ends_of.unjudged == 1, "a verdict without its severity is not whole"
    assert (one.confidences.given, one.confidences.missing, one.confidences.unreadable) == (5, 0, 3)
    assert one.calibration is not None
    assert one.calibration.n == 5
    assert one.metrics["mean_confidence"].n == 5
