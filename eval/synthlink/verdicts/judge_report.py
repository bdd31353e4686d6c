"""Reports how reliable the judges of claims are: agreement, and errors on anchors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import Final

import msgspec

from eval.judges.agreement import measure_vote_agreement
from eval.judges.rates import Rate, compute_rate
from eval.model.usage import Usage, round_cost
from eval.stats.bootstrap import round_significant
from eval.synthlink.metrics import QuestionScore
from eval.synthlink.verdicts.record import (
    ANCHOR_KINDS,
    MIN_ANCHORS,
    STEP_ANCHOR_KINDS,
    TRUE_KINDS,
    ItemKind,
    Judgement,
    JudgeReliability,
    JudgeReport,
    VerdictLine,
)

MAX_ERROR_RATE: Final = 0.2
"""Error rate on anchors of one kind from which on a judge fails."""


def build_judge_report(judgement: Judgement, rows: Sequence[QuestionScore]) -> JudgeReport:
    """Builds the report on the judges of one file of predictions.

    Args:
        judgement: all their verdicts, including those on claims of other files.
        rows: the file's corrected scores, with the verdicts applied.
    """
    open_claims = [
        (row.question_id, claim)
        for row in rows
        for claim in row.parts.claims
        if claim.verdict == "unjudged" or claim.by == "judge"
    ]
    lines_by_claim = {
        key: judgement.lines_by_claim.get((key[0], key[1].shown)) for key in open_claims
    }
    judged_lines = [line for line in lines_by_claim.values() if line is not None]
    n_decided = sum(claim.by == "judge" for _, claim in open_claims)
    unanimous = measure_vote_agreement([line.votes[: line.planned] for line in judged_lines]).agreed
    lost_counts = Counter(vote.kind for line in judgement.lines for vote in line.lost)
    return JudgeReport(
        models=judgement.models,
        same=judgement.same,
        planned=judgement.planned,
        open=len(open_claims),
        asked=len(judged_lines),
        decided=n_decided,
        split=sum(line.split for line in judged_lines),
        lost=sum(not line.has_outcome for line in judged_lines),
        unanimous=None if unanimous is None else round_significant(unanimous),
        reliability=measure_anchors(judgement.lines),
        lost_votes=dict(sorted(lost_counts.items())),
        usage=_sum_usage(judgement.lines),
    )


def list_judge_notes(report: JudgeReport) -> Iterator[str]:
    """Yields the notes that must accompany scores that use a judge's verdicts."""
    models = ", ".join(report.models)
    yield (
        f"{models} judged {report.decided} of {report.open} claims that graph, facts and pages "
        "left open"
    )
    yield describe_reliability(report.reliability)
    if not report.reliability.passed:
        yield (
            "the judge failed its anchors, so none of its verdicts is used: what it was asked is "
            f"unjudged (it must err on less than {MAX_ERROR_RATE:.0%} of each kind, with verdicts "
            f"on {MIN_ANCHORS} true and {MIN_ANCHORS} wrong ones)"
        )
    if report.same:
        yield "the judge is a model that answered, and models favour their own answers"
    if report.split:
        yield f"{_format_claims(report.split)} unknown, since the judge's votes have no majority"
    if report.lost:
        yield f"{_format_claims(report.lost)} unjudged: the judge gave no verdict"
    if not_judged := report.open - report.asked:
        yield f"{_format_claims(not_judged)} unjudged: too long, or too many in one answer"
    if report.lost_votes:
        lost_counts = ", ".join(f"{count} {kind}" for kind, count in report.lost_votes.items())
        yield f"votes of the judge that were lost: {lost_counts}"


def describe_reliability(reliability: JudgeReliability) -> str:
    """Describes the error rates of a judge in one clause."""
    return (
        "the judge's errors on known claims: "
        f"{_format_rate(reliability.false_acceptance)} of wrong claims called supported, "
        f"{_format_rate(reliability.false_rejection)} of true ones not"
    )


def _format_rate(rate: Rate) -> str:
    if rate.value is None or rate.low is None or rate.high is None:
        return "none known"
    return f"{rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}] (n = {rate.n})"


def measure_anchors(lines: Sequence[VerdictLine]) -> JudgeReliability:
    """Measures the errors of a judge on its anchors.

    A judge passes if it errs on less than a fifth of each kind of anchor, and if there are at least
    ``MIN_ANCHORS`` verdicts on true and on wrong ones: of claims, and also of steps if it was asked
    about any. Anchors are easy: on other claims the judge will err more often.
    """
    verdicts: dict[str, list[str | None]] = {
        kind: _get_anchor_verdicts(lines, kind) for kind in (*ANCHOR_KINDS, *STEP_ANCHOR_KINDS)
    }
    groups = [ANCHOR_KINDS]
    if any(line.kind == "step" or line.kind in STEP_ANCHOR_KINDS for line in lines):
        groups.append(STEP_ANCHOR_KINDS)
    measured = [measure_errors({kind: verdicts[kind] for kind in kinds}) for kinds in groups]
    return msgspec.structs.replace(
        measure_errors(verdicts), passed=all(group.passed for group in measured)
    )


def measure_errors(verdicts: Mapping[str, Sequence[str | None]]) -> JudgeReliability:
    """Measures the errors of a judge on claims whose right verdict is known.

    Args:
        verdicts: kind of claim → the verdict on each; ``split`` without a majority, None if lost.
            Claims of ``TRUE_KINDS`` are true, all others are wrong.
    """
    judged = {kind: found for kind, found in verdicts.items() if found}
    rates = {kind: compute_rate(found, "supported") for kind, found in judged.items()}
    true, wrong = (
        [
            None if verdict is None else verdict == "supported"
            for kind, found in judged.items()
            if (kind in TRUE_KINDS) == is_true
            for verdict in found
        ]
        for is_true in (True, False)
    )
    rejection, acceptance = compute_rate(true, expected=False), compute_rate(wrong, expected=True)
    # A kind without any verdict is one that the judge was not tested on.
    errors = [
        1.0 if rate.value is None else 1 - rate.value if kind in TRUE_KINDS else rate.value
        for kind, rate in rates.items()
    ]
    return JudgeReliability(
        false_acceptance=acceptance,
        false_rejection=rejection,
        supported=rates,
        passed=min(rejection.n, acceptance.n) >= MIN_ANCHORS and max(errors) < MAX_ERROR_RATE,
    )


def _format_claims(count: int) -> str:
    return f"{count} {'claim' if count == 1 else 'claims'}"


def _get_anchor_verdicts(lines: Sequence[VerdictLine], kind: ItemKind) -> list[str | None]:
    """Returns the verdict on each anchor of a kind: ``split`` without a majority, None if lost."""
    return [
        line.verdict or ("split" if line.split else None) for line in lines if line.kind == kind
    ]


def _sum_usage(lines: Sequence[VerdictLine]) -> Usage | None:
    """Sums tokens and cost of all lines; the cost is None if the price of any line is unknown."""
    usages = [line.usage for line in lines if line.usage is not None]
    if not usages:
        return None
    costs = [usage.cost_usd for usage in usages]
    known_costs = [cost for cost in costs if cost is not None]
    return round_cost(
        Usage(
            sum(usage.prompt_tokens for usage in usages),
            sum(usage.completion_tokens for usage in usages),
            fsum(known_costs) if len(known_costs) == len(costs) else None,
        )
    )
