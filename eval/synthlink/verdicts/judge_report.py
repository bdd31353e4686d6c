"""Reports how reliable the judges of claims are: agreement, and errors on anchors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import fsum
from typing import Final

from eval.judges.rates import compute_rate
from eval.result import Usage, round_cost
from eval.stats.bootstrap import round_significant
from eval.stats.kappa import cohens_kappa
from eval.synthlink.metrics import QuestionScore
from eval.synthlink.verdicts.record import ItemKind, Judgement, JudgeReport, VerdictLine

_MAX_ERROR_RATE: Final = 0.2


def build_judge_report(judgement: Judgement, rows: Sequence[QuestionScore]) -> JudgeReport:
    """Builds the report on the judges of one file of predictions.

    Args:
        judgement: all their verdicts, including those on claims of other files.
        rows: the file's corrected scores, with the verdicts applied.
    """
    pairs = [
        (row.question_id, claim)
        for row in rows
        for claim in row.parts.claims
        if claim.by != "graph"
    ]
    lines = {key: judgement.lines_by_claim.get((key[0], key[1].text)) for key in pairs}
    judged_lines = [line for line in lines.values() if line is not None]
    decided = [claim for _, claim in pairs if claim.by == "judge"]
    words, judges = [claim.words for claim in decided], [claim.verdict for claim in decided]
    table: dict[str, dict[str, int]] = {}
    for (first, second), count in sorted(Counter(zip(words, judges, strict=True)).items()):
        table.setdefault(str(first), {})[second] = count
    same = sum(first == second for first, second in zip(words, judges, strict=True))
    kappa = cohens_kappa(words, judges)
    own, other = (_get_anchor_verdicts(judgement, kind) for kind in ("own fact", "other fact"))
    lost_counts = Counter(vote.kind for line in judgement.lines for vote in line.lost)
    return JudgeReport(
        models=judgement.models,
        same=judgement.same,
        planned=judgement.planned,
        open=len(pairs),
        asked=len(judged_lines),
        decided=len(decided),
        split=sum(line.split for line in judged_lines),
        lost=sum(not line.has_outcome for line in judged_lines),
        by_words=table,
        agreed=round_significant(same / len(decided)) if decided else None,
        kappa=None if kappa is None else round_significant(kappa),
        unanimous=_compute_unanimous_share(judged_lines),
        own_facts=compute_rate(own, "supported"),
        other_facts=compute_rate(other, "not_told"),
        other_supported=compute_rate(other, "supported"),
        lost_votes=dict(sorted(lost_counts.items())),
        usage=_sum_usage(judgement.lines),
    )


def list_judge_notes(report: JudgeReport) -> Iterator[str]:
    """Lists the notes that must accompany scores in which a judge took part."""
    models = ", ".join(report.models)
    agreed = (
        "" if report.agreed is None else f", and agreed with word overlap on {report.agreed:.0%}"
    )
    yield (
        f"{models} judged {report.decided} of {report.open} claims that the graph left open{agreed}"
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
        yield (
            f"{_format_claims(report.lost)} got no verdict from the judge: decided by word overlap"
        )
    if not_judged := report.open - report.asked:
        yield (
            f"{_format_claims(not_judged)} not judged: not a sentence, too long, or too many in "
            "one answer"
        )
    if report.lost_votes:
        lost_counts = ", ".join(f"{count} {kind}" for kind, count in report.lost_votes.items())
        yield f"votes of the judge that were lost: {lost_counts}"


def is_unreliable(report: JudgeReport) -> bool:
    """Returns whether a judge misses a fifth of own facts, or supports a fifth of other facts.

    Both are easy cases: on claims that are nearly right, the judge will err more often.
    """
    own, other = report.own_facts.value, report.other_supported.value
    return (own is not None and own <= 1 - _MAX_ERROR_RATE) or (
        other is not None and other >= _MAX_ERROR_RATE
    )


def _format_claims(count: int) -> str:
    return f"{count} {'claim' if count == 1 else 'claims'}"


def _get_anchor_verdicts(judgement: Judgement, kind: ItemKind) -> list[str | None]:
    """Returns the verdicts on anchors of one kind; None where all votes were lost."""
    return [
        line.verdict or ("split" if line.split else None)
        for line in judgement.lines
        if line.kind == kind
    ]


def _compute_unanimous_share(lines: Sequence[VerdictLine]) -> float | None:
    """Computes the share of claims, among those with all planned votes, whose votes all agree."""
    planned = [line.votes[: line.planned] for line in lines]
    full = [votes for votes in planned if len(votes) > 1 and None not in votes]
    return (
        round_significant(sum(len(set(votes)) == 1 for votes in full) / len(full)) if full else None
    )


def _sum_usage(lines: Sequence[VerdictLine]) -> Usage | None:
    """Sums tokens and cost of all lines; the cost is None if the price of any line is unknown."""
    usages = [line.usage for line in lines if line.usage is not None]
    if not usages:
        return None
    costs = [usage.cost_usd for usage in usages]
    known = [cost for cost in costs if cost is not None]
    return round_cost(
        Usage(
            sum(usage.prompt_tokens for usage in usages),
            sum(usage.completion_tokens for usage in usages),
            fsum(known) if len(known) == len(costs) else None,
        )
    )
