"""Chosen samples side by side: what was expected, what each system gave, field by field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from eval.extraction.settings import Matching
from eval.extraction.verdicts.sample_score import FieldMatch
from kg.words.plain_text import to_one_line
from reporting.benchmark_sections.samples import (
    Answer,
    AnyDetail,
    Compared,
    ComparedLine,
    Detail,
    Look,
    Mark,
    SampleRow,
    Samples,
)
from reporting.charts import format_number
from reporting.extraction_section.choosing import AT_MOST, chosen, facts_of
from reporting.extraction_section.metric_words import seconds
from reporting.extraction_section.shown import Shown
from reporting.visible_text import shorten_text, truncate_text

CHARACTERS = 1_600_000
"""Characters of samples in a page, about; the first rows stand there twice."""
LINES = 60
"""Fields shown of one output."""
_VALUE = 240
"""Characters shown of one value."""
_JSON = 3_000
"""Characters shown of a schema or an output."""
_NEAR = 0.75

MARKS = (
    Mark("exact", "✓", "exact", "right: every field equals what was expected", "right"),
    Mark("near", "~", "near", f"near: partial F1 of {_NEAR:g} or more, not all equal", "held"),
    Mark("off", "✗", "off", f"wrong: partial F1 below {_NEAR:g}", "wrong"),
    Mark("invalid", "✗", "INVALID", "wrong: JSON, but no valid instance of the schema", "wrong"),
    Mark("unparsable", "!", "no JSON", "unreadable: the reply is no JSON", "none"),
    Mark("error", "!", "ERROR", "failed: the call did not come back", "none"),
)
"""What one row amounts to, the best first."""


def mark_of(row: ExtractionRow) -> str:
    """The key of the mark a row gets."""
    if row.outcome != "OK":
        return row.outcome.lower()
    if row.score.exact_match:
        return "exact"
    f1 = row.score.tally.f1("partial")
    return "near" if f1 is not None and f1 >= _NEAR else "off"


def samples_of_run(shown: Shown, elsewhere: str) -> Samples:
    """The table of the chosen samples, within what a page can bear.

    Args:
        shown: the run.
        elsewhere: where all samples stand.
    """
    facts = facts_of(shown.points)
    why = chosen(facts)
    means = {one.id: one.score for one in facts}
    by_id = {sample.id: sample for sample in shown.samples_of(why)}
    rows: dict[str, dict[str, list[ExtractionRow]]] = {}
    for row in shown.rows_of(why):
        rows.setdefault(row.id, {}).setdefault(row.system, []).append(row)
    made: list[SampleRow] = []
    spent = 0
    for id_, reason in why.items():
        if id_ not in by_id:
            continue
        one = _row(shown, by_id[id_], rows.get(id_, {}), reason, means[id_])
        spent += one.characters
        if spent > CHARACTERS and made:
            break
        made.append(one)
    return Samples(
        noun=("sample", "samples"),
        facets=("Shown as", "Domain", "Language", "Complexity"),
        systems=shown.names,
        marks=MARKS,
        rows=tuple(made),
        elsewhere=elsewhere,
    )


def about_choice(shown: Shown, samples: Samples) -> str:
    """How the samples were chosen, in words."""
    whole, part = shown.report.n_samples, len(samples.rows)
    if part >= whole:
        return (
            "All samples: the best and the worst by their mean score over systems, those that are "
            "odd in some way, and the rest."
        )
    return (
        f"{part:,} of {whole:,} samples, at most {AT_MOST}: the best and the worst by their mean "
        "score over systems, then those that are odd in some way, then some of the rest. The "
        "files beside this page hold all of them."
    )


def _row(
    shown: Shown,
    sample: Sample,
    found: dict[str, list[ExtractionRow]],
    reason: str,
    mean: float | None,
) -> SampleRow:
    any_row = next((rows[0] for rows in found.values() if rows), None)
    size = any_row.score.complexity.bin if any_row else ""
    count = any_row.score.tally.expected if any_row else 0
    fields = f"{count:,} {'field' if count == 1 else 'fields'} expected"
    return SampleRow(
        id=sample.id,
        facets=(reason, sample.domain or "no domain", sample.language, size),
        question=shorten_text(to_one_line(sample.text), 180),
        truth=f"{fields}; mean score {format_number(mean)}.",
        details=(
            Detail("The text", (sample.text,)),
            Detail("What was expected", (json_text(sample.expected),), "code"),
            Detail("The schema", (json_text(sample.schema),), "code"),
        ),
        answers=tuple(
            _answer(sample, found[name], shown.matching) if name in found else None
            for name in shown.names
        ),
    )


def _answer(sample: Sample, rows: Sequence[ExtractionRow], matching: Matching) -> Answer:
    """The first repeat, and what the others came to."""
    row = min(rows, key=lambda one: one.repeat)
    details: list[AnyDetail] = []
    if len(rows) > 1:
        names = {mark.key: mark.name for mark in MARKS}
        came = Counter(mark_of(one) for one in rows)
        counts = ", ".join(f"{names[m.key]} {came[m.key]}" for m in MARKS if came[m.key])
        details.append(Detail(f"Asked {len(rows)} times; the first is shown", (counts,)))
    if row.problem:
        details.append(Detail("Why there is no valid output", (row.problem,)))
    if row.outcome != "ERROR":
        parsed = row.outcome != "UNPARSABLE"
        scored = score_sample(sample, row.predicted, matching, parsed=parsed)
        details += list(_compared(scored.fields))
        if parsed:
            details.append(Detail("The output", (json_text(row.predicted),), "code"))
        elif row.raw:
            details.append(Detail("The reply", (truncate_text(row.raw, _JSON),), "code"))
    return Answer(mark_of(row), _line(row), tuple(details))


def _line(row: ExtractionRow) -> str:
    if row.outcome == "ERROR":
        return f"The call failed: {row.problem or 'no reason is given'}"
    tally = row.score.tally
    said = (
        f"{tally.strict} of {tally.expected} fields equal, {tally.missed} missed, "
        f"{tally.spurious} not expected; partial F1 {format_number(tally.f1('partial'))}"
    )
    return f"{said}; {seconds(row.latency_s)}." if row.latency_s is not None else f"{said}."


def _compared(fields: Sequence[FieldMatch]) -> Iterable[AnyDetail]:
    """Every field with both values; where there are too many, those that differ first."""
    shown = list(fields)
    if len(shown) > LINES:
        shown = sorted(shown, key=lambda one: one.strict)[:LINES]
    if not shown:
        yield Detail("Field by field", ("No field was expected and none came.",))
        return
    left = len(fields) - len(shown)
    title = f"Field by field; {left:,} more that are not shown" if left else "Field by field"
    yield Compared(
        title, ("Verdict", "Field", "Expected", "Extracted"), tuple(map(_compared_line, shown))
    )


def _compared_line(one: FieldMatch) -> ComparedLine:
    verdict, look = verdict_of(one)
    return ComparedLine(
        verdict,
        look,
        (
            one.path,
            "–" if one.category == "spurious" else _value(one.expected, one.predicted),
            "–" if one.category == "missed" else _value(one.predicted, one.expected),
        ),
    )


def verdict_of(one: FieldMatch) -> tuple[str, Look]:
    """Sign, words and colour of a field's verdict."""
    kind = one.error.replace("_", " ")
    if one.category == "exact":
        return ("✓ equal", "right") if one.strict else ("✓ near enough", "right")
    if one.category == "partial":
        return f"~ {kind or 'partial'} ({format_number(one.score, 2)})", "held"
    if one.category == "missed":
        return f"○ {kind or 'missed'}", "none"
    if one.category == "spurious":
        return f"+ {kind or 'not expected'}", "wrong"
    return f"✗ {kind or 'wrong'}", "wrong"


def _value(value: Any, other: Any) -> str:
    """A text as it stands, but in quotation marks beside a value of another kind: "12" is no 12."""
    if isinstance(value, str) and (isinstance(other, str) or other is None):
        return truncate_text(value, _VALUE) if value else "(empty)"
    return truncate_text(json_text(value, indent=0), _VALUE)


def json_text(value: Any, indent: int = 2) -> str:
    """A value as JSON, cut where it is long; what cannot be written says so."""
    try:
        plain = msgspec.json.encode(value)
        text = (msgspec.json.format(plain, indent=indent) if indent else plain).decode()
    except (RecursionError, ValueError, TypeError) as error:
        return f"cannot be shown: {error}"
    return truncate_text(text, _JSON)
