"""The opening of the section: what was measured, what it came to, and what speaks against it.

A difference between systems is only stated where a paired test on the same samples found one after
Holm's correction.
"""

from __future__ import annotations

from collections.abc import Iterator

from eval.extraction.record import SystemReport
from kg.words.plain_text import join_list
from reporting.extraction_section.comparison_words import differences
from reporting.extraction_section.grids import names_of
from reporting.extraction_section.metric_words import span_text, value_text
from reporting.extraction_section.shown import Shown
from reporting.summary_text import spell_count
from reporting.visible_text import format_name

NAMED_AT_MOST = 3


def verdict(shown: Shown) -> tuple[str, ...]:
    """The sentences of the opening paragraph."""
    return (_asked(shown), *_scores(shown), *differences(shown), *_verdicts(shown))


def _asked(shown: Shown) -> str:
    report = shown.report
    count = f"{report.n_samples:,} {'text' if report.n_samples == 1 else 'texts'}"
    systems = shown.systems
    many = len(systems) > 1
    who = f"{spell_count(len(systems))} systems" if many else f"One system, {names_of(shown)},"
    verb = "were" if many else "was"
    again = f", each {report.repeats} times" if report.repeats > 1 else ""
    return (
        f"{who} {verb} asked to fill the schemas of {count} with {report.n_expected:,} expected "
        f"fields{again}."
    )


def _scores(shown: Shown) -> Iterator[str]:
    known = [(n, one) for n, one in shown.systems if one.quality.score.value is not None]
    if not known:
        yield "No reply could be scored, so nothing is known of their quality."
        return
    parts = [_score(name, one) for name, one in known[:NAMED_AT_MOST]]
    rest = len(known) - len(parts)
    more = f"; {rest} more {'scores' if rest == 1 else 'score'} lower" if rest > 0 else ""
    yield f"Extraction quality score: {join_list(parts)}{more}."


def _score(name: str, one: SystemReport) -> str:
    score = one.quality.score
    span = span_text("extraction_quality_score", score.low, score.high)
    inside = ", ".join(part for part in (one.quality.interpretation.lower(), span) if part)
    said = f"{format_name(name)} {value_text('extraction_quality_score', score.value)}"
    return f"{said} ({inside})" if inside else said


def _verdicts(shown: Shown) -> Iterator[str]:
    if len(shown.systems) == 1:
        yield f"Recommendation: {shown.systems[0][1].recommendation.verdict}."
        return
    by_verdict: dict[str, list[str]] = {}
    for name, one in shown.systems:
        by_verdict.setdefault(one.recommendation.verdict, []).append(format_name(name))
    for said, names in list(by_verdict.items())[:NAMED_AT_MOST]:
        yield f"{said}: {_named(names)}."


def caveats(shown: Shown) -> tuple[str, ...]:
    """What must be held against the headline numbers."""
    said = []
    failed = {n: one.outcomes.error for n, one in shown.systems if one.outcomes.error}
    if failed:
        parts = [f"{count:,} of {format_name(name)}" for name, count in failed.items()]
        said.append(
            f"Calls that failed: {_named(parts)}. They are no empty extractions; the bounds say "
            "what they could change."
        )
    bad = sum(one.outcomes.invalid + one.outcomes.unparsable for _, one in shown.systems)
    if bad:
        worth = (
            "are worth 0 in the headline"
            if shown.report.invalid == "zero"
            else "are scored for what is right in them"
        )
        said.append(f"Replies that are no valid instance of their schema {worth}: {bad:,}.")
    if shown.report.n_samples < 30:
        said.append("With so few samples the intervals are wide, and few differences can be found.")
    return tuple(said)


def _named(parts: list[str]) -> str:
    """The first of many."""
    rest = len(parts) - NAMED_AT_MOST
    return join_list([*parts[:NAMED_AT_MOST], f"{rest} others"] if rest > 0 else parts)
