"""How far judges of claims can be trusted: agreement with words and each other, known errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import fsum
from typing import Final

from eval.judges.rates import rate_of
from eval.result import Usage, rounded
from eval.stats.intervals import tidy
from eval.stats.kappa import cohens_kappa
from eval.synthlink.measures import QuestionScore
from eval.synthlink.verdicts.record import JudgedLine, Judgement, JudgeReport, Kind

_OFTEN: Final = 0.2


def judge_report(judgement: Judgement, rows: Sequence[QuestionScore]) -> JudgeReport:
    """What is known of the judges of one file of predictions.

    Args:
        judgement: all that they said, of other files' claims too.
        rows: the file's corrected scores, the verdicts applied.
    """
    pairs = [
        (row.question_id, one) for row in rows for one in row.parts.claims if one.by != "graph"
    ]
    lines = {key: judgement.by_claim.get((key[0], key[1].text)) for key in pairs}
    asked = [line for line in lines.values() if line is not None]
    decided = [one for _, one in pairs if one.by == "judge"]
    words, judges = [one.words for one in decided], [one.verdict for one in decided]
    table: dict[str, dict[str, int]] = {}
    for (first, second), count in sorted(Counter(zip(words, judges, strict=True)).items()):
        table.setdefault(str(first), {})[second] = count
    same = sum(first == second for first, second in zip(words, judges, strict=True))
    kappa = cohens_kappa(words, judges)
    own, other = (_anchor(judgement, kind) for kind in ("own fact", "other fact"))
    lost = Counter(vote.kind for line in judgement.lines for vote in line.lost)
    return JudgeReport(
        models=judgement.models,
        same=judgement.same,
        planned=judgement.planned,
        open=len(pairs),
        asked=len(asked),
        decided=len(decided),
        split=sum(line.split for line in asked),
        lost=sum(not line.came_about for line in asked),
        by_words=table,
        agreed=tidy(same / len(decided)) if decided else None,
        kappa=None if kappa is None else tidy(kappa),
        unanimous=_unanimous(asked),
        own_facts=rate_of(own, "supported"),
        other_facts=rate_of(other, "not_told"),
        other_supported=rate_of(other, "supported"),
        lost_votes=dict(sorted(lost.items())),
        usage=_usage(judgement.lines),
    )


def judge_notes(report: JudgeReport) -> Iterator[str]:
    """What must be said beside scores that a judge took part in."""
    who = ", ".join(report.models)
    agreed = "" if report.agreed is None else f", and agreed with words on {report.agreed:.0%}"
    yield f"{who} judged {report.decided} of {report.open} claims that the graph left open{agreed}"
    for said, rate in (
        ("called supported {} of {} facts of the questions themselves", report.own_facts),
        ("called supported {} of {} facts of other questions", report.other_supported),
    ):
        if rate.value is not None:
            yield f"the judge {said.format(round(rate.value * rate.n), rate.n)}"
    if errs_often(report):
        yield "it errs so often on what is known that its verdicts are worth little"
    if report.same:
        yield "a model that answered is also the judge, and models favour what they wrote"
    if report.split:
        yield f"votes without a majority, which leave a claim unknown: on {_claims(report.split)}"
    if report.lost:
        yield f"{_claims(report.lost)} got no verdict from the judge: words decide there"
    if left := report.open - report.asked:
        yield f"{_claims(left)} not put to the judge: no sentence, too long, or one too many"
    if report.lost_votes:
        told = ", ".join(f"{count} {kind}" for kind, count in report.lost_votes.items())
        yield f"votes of the judge that could not be had: {told}"


def errs_often(report: JudgeReport) -> bool:
    """Whether a judge misses every fifth fact of a question, or supports every fifth foreign one.

    Both are easy; what it says of claims that are nearly right is worth less still.
    """
    own, other = report.own_facts.value, report.other_supported.value
    return (own is not None and own <= 1 - _OFTEN) or (other is not None and other >= _OFTEN)


def _claims(count: int) -> str:
    return f"{count} {'claim' if count == 1 else 'claims'}"


def _anchor(judgement: Judgement, kind: Kind) -> list[str | None]:
    """Verdicts on anchors; null where none came about."""
    return [
        line.verdict or ("split" if line.split else None)
        for line in judgement.lines
        if line.kind == kind
    ]


def _unanimous(lines: Sequence[JudgedLine]) -> float | None:
    planned = [line.votes[: line.planned] for line in lines]
    full = [votes for votes in planned if len(votes) > 1 and None not in votes]
    return tidy(sum(len(set(votes)) == 1 for votes in full) / len(full)) if full else None


def _usage(lines: Sequence[JudgedLine]) -> Usage | None:
    """Tokens and cost of all lines; no cost where one has no known price."""
    found = [line.usage for line in lines if line.usage is not None]
    if not found:
        return None
    costs = [one.cost_usd for one in found]
    known = [cost for cost in costs if cost is not None]
    return rounded(
        Usage(
            sum(one.prompt_tokens for one in found),
            sum(one.completion_tokens for one in found),
            fsum(known) if len(known) == len(costs) else None,
        )
    )
