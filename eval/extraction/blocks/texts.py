"""Texts of the section: what was measured, the results, their limits, and how to read them.

A difference between systems is only stated where a paired test on the same samples found one after
Holm's correction.
"""

from __future__ import annotations

from collections.abc import Iterator

from eval.blocks.text_format import format_name, spell_count
from eval.extraction.blocks.comparison_texts import describe_differences
from eval.extraction.blocks.metric_texts import describe_metric, format_interval, format_value
from eval.extraction.blocks.run_data import RunData
from eval.extraction.metrics.notes import describe_ambiguous_values
from eval.extraction.record import Headline, SystemReport
from kg.base.plain_text import join_first, join_list

_MAX_NAMES = 3


def describe_results(run: RunData) -> tuple[str, ...]:
    """Describes the results in the sentences of the opening paragraph."""
    return (
        _describe_task(run),
        *_describe_scores(run),
        *describe_differences(run),
        *_describe_verdicts(run),
    )


def _describe_task(run: RunData) -> str:
    report = run.report
    count = f"{report.n_samples:,} {'text' if report.n_samples == 1 else 'texts'}"
    systems = run.systems
    many = len(systems) > 1
    who = f"{spell_count(len(systems))} systems" if many else f"One system, {_list_names(run)},"
    verb = "were" if many else "was"
    again = f", each {report.repeats} times" if report.repeats > 1 else ""
    if report.headline == "field_accuracy_macro":  # made elsewhere
        return (
            f"Extractions of {who[0].lower()}{who[1:].rstrip(',')} from {report.n_samples:,} "
            f"documents with {report.n_expected:,} expected fields were scored."
        )
    return (
        f"{who} {verb} asked to fill the schemas of {count} with {report.n_expected:,} expected "
        f"fields{again}."
    )


def _describe_scores(run: RunData) -> Iterator[str]:
    headline = run.report.headline
    known = [(n, system) for n, system in run.systems if system.metrics[headline].value is not None]
    if not known:
        yield "No reply could be scored, so nothing is known of their quality."
        return
    parts = [_describe_score(headline, name, system) for name, system in known[:_MAX_NAMES]]
    rest = len(known) - len(parts)
    more = f"; {rest} more {'scores' if rest == 1 else 'score'} no higher" if rest > 0 else ""
    yield f"{describe_metric(headline).full_name}: {join_list(parts)}{more}."
    yield from _describe_outcomes(*known[0])


def _describe_score(headline: Headline, name: str, system: SystemReport) -> str:
    score = system.metrics[headline]
    span = format_interval(headline, score.low, score.high)
    word = system.quality.interpretation.lower() if headline == system.quality.rated else ""
    inside = ", ".join(part for part in (word, span) if part)
    text = f"{format_name(name)} {format_value(headline, score.value)}"
    return f"{text} ({inside})" if inside else text


def _describe_outcomes(name: str, system: SystemReport) -> Iterator[str]:
    """Yields what became of the fields of the first system."""

    def list_rates(*rates: tuple[str, str]) -> str:
        return join_list(
            [
                f"{format_value(metric, system.metrics[metric].value)} {word}"
                for metric, word in rates
                if system.metrics[metric].value is not None
            ]
        )

    filled = list_rates(
        ("right_rate", "right"), ("wrong_rate", "wrong"), ("omission_rate", "missed")
    )
    empty = list_rates(("left_out_rate", "left out"), ("invented_rate", "invented"))
    if filled:
        without = f"; of those without, {empty}" if empty else ""
        yield f"{format_name(name)}: of the fields with a value, {filled}{without}."


def _describe_verdicts(run: RunData) -> Iterator[str]:
    if len(run.systems) == 1:
        yield f"Recommendation: {run.systems[0][1].recommendation.verdict}."
        return
    by_verdict: dict[str, list[str]] = {}
    for name, system in run.systems:
        by_verdict.setdefault(system.recommendation.verdict, []).append(format_name(name))
    for verdict, names in list(by_verdict.items())[:_MAX_NAMES]:
        yield f"{_join_names(names)}: {verdict[0].lower()}{verdict[1:]}."


def _list_names(run: RunData, most: int = 3) -> str:
    """Joins the names of the systems."""
    return join_first(list(run.display_names), most)


def list_caveats(run: RunData) -> tuple[str, ...]:
    """Lists what limits the headline numbers."""
    sentences = []
    failed = {n: system.outcomes for n, system in run.systems if system.outcomes.error}
    if failed:
        parts = [f"{ended.error:,} of {format_name(name)}" for name, ended in failed.items()]
        sentences.append(
            f"Samples without an extraction: {_join_names(parts)}. Nothing of them is right."
            if all(ended.scored == ended.rows for ended in failed.values())
            else f"Calls that failed: {_join_names(parts)}. They are no empty extractions; the "
            "bounds say what they could change."
        )
    bad = sum(system.outcomes.invalid + system.outcomes.unparsable for _, system in run.systems)
    if bad:
        worth = (
            "are worth 0 in the extraction quality score; field accuracy and the rates of fields "
            "credit what is right in them"
            if run.report.invalid == "zero"
            else "are scored for what is right in them"
        )
        sentences.append(
            f"Replies that are no valid instance of their schema: {bad:,}. They {worth}."
        )
    sentences += [
        f"{format_name(name)}: {describe_ambiguous_values(system.ambiguous_values)}."
        for name, system in run.systems
        if system.ambiguous_values
    ][:_MAX_NAMES]
    if run.report.n_samples < 30:
        sentences.append(
            "With so few samples the intervals are wide, and few differences can be found."
        )
    return tuple(sentences)


def _join_names(parts: list[str]) -> str:
    """Joins the first names of many."""
    rest = len(parts) - _MAX_NAMES
    return join_list([*parts[:_MAX_NAMES], f"{rest} others"] if rest > 0 else parts)


METHOD = (
    "Each system gets a text and a JSON Schema, and gives JSON. Output and truth are aligned "
    "before anything is counted: objects by key, arrays of objects so that the total of their "
    "fields' scores is greatest. A field is a leaf: a scalar, or a list of scalars. Null, a "
    "missing key and an empty list say the same: nothing.",
    "Each field gets a score from 0 to 1 by a matcher, which the schema may name, and one of five "
    "categories: exact, partial, incorrect, missed, spurious. Strict F1 counts equal fields only, "
    "partial F1 half a field for a near match, lenient F1 a whole one.",
)

TERMS: tuple[tuple[str, str], ...] = (
    (
        "EQS",
        "Extraction quality score: schema validity, partial F1, type accuracy and 1 less the "
        "hallucination rate, weighted.",
    ),
    (
        "Good",
        "Words for a system follow the metric that ranks it: from 0.90 excellent, from 0.75 good, "
        "from 0.60 moderate.",
    ),
    (
        "Interval",
        "A range drawn so that it holds the true number in 95 of 100 runs on other samples of the "
        "kind, unless the run was set to another share. It knows nothing of other prompts, other "
        "servers or other days.",
    ),
    (
        "Bounds",
        "The least and the most a number could be, whatever the calls that failed would have "
        "given.",
    ),
    (
        "Invalid",
        "JSON that is no valid instance of its schema. What it is worth is a setting; the other "
        "reading has a table of its own.",
    ),
    (
        "Hallucination",
        "A value for a field for which nothing was expected. Critical: it is not in the text "
        "either; moderate: it is; minor: one element of a list too many. A value that is not in "
        "the text literally is not thereby invented: wrong ones (type 2) are given apart.",
    ),
    (
        "Complexity",
        "Of a schema, by number and depth of its fields. Simple: fewer than 5 fields, none deeper "
        "than 1; complex: more than 15, or one deeper than 2; medium: between.",
    ),
    (
        "Difference",
        "The first system's value less the second's on the same samples. Only its test decides; "
        "whether two intervals overlap is never used.",
    ),
    (
        "p, adjusted",
        "After Holm's correction over all pairs of a metric: with many pairs, some would look "
        "different by chance.",
    ),
    (
        "Frontier",
        "Systems that no other equals or beats in both matters while it beats them in one.",
    ),
)
