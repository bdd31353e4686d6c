"""Reports how reliable the judges of claims are: agreement, and errors on anchors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import fsum
from typing import Final

from eval.judges.agreement import measure_vote_agreement
from eval.judges.rates import compute_rate
from eval.model.usage import Usage, round_cost
from eval.stats.bootstrap import round_significant
from eval.synthlink.metrics import QuestionScore
from eval.synthlink.verdicts.record import ItemKind, Judgement, JudgeReport, VerdictLine

_MAX_ERROR_RATE: Final = 0.2
"""Error rate on anchors at which a judge counts as unreliable."""


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
        key: judgement.lines_by_claim.get((key[0], key[1].text)) for key in open_claims
    }
    judged_lines = [line for line in lines_by_claim.values() if line is not None]
    n_decided = sum(claim.by == "judge" for _, claim in open_claims)
    own_fact_verdicts, other_fact_verdicts = (
        _get_anchor_verdicts(judgement, kind) for kind in ("own fact", "other fact")
    )
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
        own_facts=compute_rate(own_fact_verdicts, "supported"),
        other_facts=compute_rate(other_fact_verdicts, "not_told"),
        other_supported=compute_rate(other_fact_verdicts, "supported"),
        lost_votes=dict(sorted(lost_counts.items())),
        usage=_sum_usage(judgement.lines),
    )


def list_judge_notes(report: JudgeReport) -> Iterator[str]:
    """Yields the notes that must accompany scores that use a judge's verdicts."""
    models = ", ".join(report.models)
    yield (
        f"{models} judged {report.decided} of {report.open} claims that graph and quotation left "
        "open"
    )
    for text, rate in (
        ("called {} of {} facts of the questions themselves supported", report.own_facts),
        ("called {} of {} facts of other questions supported", report.other_supported),
    ):
        if rate.value is not None:
            yield f"the judge {text.format(round(rate.value * rate.n), rate.n)}"
    if is_unreliable(report):
        yield "the judge errs often on these known facts, so its verdicts are unreliable"
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


def is_unreliable(report: JudgeReport) -> bool:
    """Returns whether a judge errs on a fifth of the anchors of one kind, or on more.

    An error is a question's own fact that is not judged supported, or another question's fact that
    is. Both are easy cases: on claims that are nearly right, the judge will err more often.
    """
    own_supported, other_supported = report.own_facts.value, report.other_supported.value
    return (own_supported is not None and own_supported <= 1 - _MAX_ERROR_RATE) or (
        other_supported is not None and other_supported >= _MAX_ERROR_RATE
    )


def _format_claims(count: int) -> str:
    return f"{count} {'claim' if count == 1 else 'claims'}"


def _get_anchor_verdicts(judgement: Judgement, kind: ItemKind) -> list[str | None]:
    """Returns the verdict on each anchor of a kind: ``split`` without a majority, None if lost."""
    return [
        line.verdict or ("split" if line.split else None)
        for line in judgement.lines
        if line.kind == kind
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
