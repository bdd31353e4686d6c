"""Chosen samples side by side: what was expected, what each system gave, field by field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from eval.blocks.samples import (
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
from eval.blocks.text_format import format_number, shorten_text, truncate_text
from eval.extraction.blocks.metric_texts import format_seconds
from eval.extraction.blocks.run_data import RunData
from eval.extraction.blocks.sample_choice import MAX_SAMPLES, choose_samples, summarise_samples
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from eval.extraction.settings import Matching
from eval.extraction.verdicts.sample_score import FieldMatch
from kg.base.plain_text import to_one_line

_MAX_CHARACTERS = 1_600_000
"""Approximate number of characters of all samples; the page has its first rows twice."""
_MAX_LINES = 60
"""Maximum number of fields of one output."""
_VALUE = 240
"""Maximum length of a value, in characters."""
_MAX_JSON_LENGTH = 3_000
"""Maximum length of a schema or an output, in characters."""
_MIN_NEAR_F1 = 0.75

MARKS = (
    Mark("exact", "✓", "exact", "right: every field equals what was expected", "right"),
    Mark(
        "near", "~", "near", f"near: partial F1 of {_MIN_NEAR_F1:g} or more, not all equal", "held"
    ),
    Mark("off", "✗", "off", f"wrong: partial F1 below {_MIN_NEAR_F1:g}", "wrong"),
    Mark("invalid", "✗", "INVALID", "wrong: JSON, but no valid instance of the schema", "wrong"),
    Mark("unparsable", "!", "no JSON", "unreadable: the reply is no JSON", "none"),
    Mark("error", "!", "ERROR", "failed: the call did not come back", "none"),
)
"""Outcomes of a row, the best first."""


def get_mark_key(row: ExtractionRow) -> str:
    """Returns the key of a row's mark."""
    if row.outcome not in ("OK", "NULLS"):
        return row.outcome.lower()
    if row.score.exact_match:
        return "exact"
    f1 = row.score.tally.f1("partial")
    return "near" if f1 is not None and f1 >= _MIN_NEAR_F1 else "off"


def build_samples(run: RunData, elsewhere: str) -> Samples:
    """Builds the table of the chosen samples, up to the maximum size of a page.

    Args:
        run: the run.
        elsewhere: which files have all samples.
    """
    summaries = summarise_samples(run.summaries)
    why = choose_samples(summaries)
    means = {sample_row.id: sample_row.score for sample_row in summaries}
    by_id = {sample.id: sample for sample in run.read_samples(why)}
    rows: dict[str, dict[str, list[ExtractionRow]]] = {}
    for row in run.read_rows(why):
        rows.setdefault(row.id, {}).setdefault(row.system, []).append(row)
    table_rows: list[SampleRow] = []
    spent = 0
    for id_, reason in why.items():
        if id_ not in by_id:
            continue
        sample_row = _build_row(run, by_id[id_], rows.get(id_, {}), reason, means[id_])
        spent += sample_row.length
        if spent > _MAX_CHARACTERS and table_rows:
            break
        table_rows.append(sample_row)
    return Samples(
        noun=("sample", "samples"),
        facets=("Shown as", "Domain", "Language", "Complexity"),
        systems=run.names,
        marks=MARKS,
        rows=tuple(table_rows),
        elsewhere=elsewhere,
    )


def describe_choice(run: RunData, samples: Samples) -> str:
    """Describes how the samples were chosen."""
    whole, part = run.report.n_samples, len(samples.rows)
    if part >= whole:
        return (
            "All samples: the best and the worst by their mean score over systems, those that are "
            "odd in some way, and the rest."
        )
    return (
        f"{part:,} of {whole:,} samples, at most {MAX_SAMPLES}: the best and the worst by their "
        "mean score over systems, then those that are odd in some way, then some of the rest. The "
        "files beside this page hold all of them."
    )


def _build_row(
    run: RunData,
    sample: Sample,
    rows_by_system: dict[str, list[ExtractionRow]],
    reason: str,
    mean: float | None,
) -> SampleRow:
    any_row = next((rows[0] for rows in rows_by_system.values() if rows), None)
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
            Detail("What was expected", (_format_json(sample.expected),), "code"),
            Detail("The schema", (_format_json(sample.schema),), "code"),
        ),
        answers=tuple(
            _build_answer(sample, rows_by_system[name], run.matching)
            if name in rows_by_system
            else None
            for name in run.names
        ),
    )


def _build_answer(sample: Sample, rows: Sequence[ExtractionRow], matching: Matching) -> Answer:
    """Builds the answer of the first repeat, with the outcomes of the others."""
    row = min(rows, key=lambda other: other.repeat)
    details: list[AnyDetail] = []
    if len(rows) > 1:
        names = {mark.key: mark.name for mark in MARKS}
        counts_by_key = Counter(get_mark_key(other) for other in rows)
        counts = ", ".join(
            f"{names[m.key]} {counts_by_key[m.key]}" for m in MARKS if counts_by_key[m.key]
        )
        details.append(Detail(f"Asked {len(rows)} times; the first is shown", (counts,)))
    if row.problem:
        details.append(Detail("Why there is no valid output", (row.problem,)))
    if row.outcome != "ERROR":
        parsed = row.outcome != "UNPARSABLE"
        scored = score_sample(sample, row.predicted, matching, parsed=parsed)
        details += list(_compare_fields(scored.fields))
        if parsed:
            details.append(Detail("The output", (_format_json(row.predicted),), "code"))
        elif row.raw:
            details.append(Detail("The reply", (truncate_text(row.raw, _MAX_JSON_LENGTH),), "code"))
    return Answer(get_mark_key(row), _describe_outcome(row), tuple(details))


def _describe_outcome(row: ExtractionRow) -> str:
    if row.outcome == "ERROR":
        return f"The call failed: {row.problem or 'no reason is given'}"
    tally = row.score.tally
    text = (
        f"{tally.strict} of {tally.expected} fields equal, {tally.missed} missed, "
        f"{tally.spurious} not expected; partial F1 {format_number(tally.f1('partial'))}"
    )
    return f"{text}; {format_seconds(row.latency_s)}." if row.latency_s is not None else f"{text}."


def _compare_fields(fields: Sequence[FieldMatch]) -> Iterable[AnyDetail]:
    """Yields every field with both values; of too many fields, those that differ first."""
    visible = list(fields)
    if len(visible) > _MAX_LINES:
        visible = sorted(visible, key=lambda field: field.strict)[:_MAX_LINES]
    if not visible:
        yield Detail("Field by field", ("No field was expected and none came.",))
        return
    left = len(fields) - len(visible)
    title = f"Field by field; {left:,} more that are not shown" if left else "Field by field"
    yield Compared(
        title, ("Verdict", "Field", "Expected", "Extracted"), tuple(map(_build_line, visible))
    )


def _build_line(field: FieldMatch) -> ComparedLine:
    verdict, look = describe_verdict(field)
    return ComparedLine(
        verdict,
        look,
        (
            field.path,
            "–" if field.category == "spurious" else _format_value(field.expected, field.predicted),
            "–" if field.category == "missed" else _format_value(field.predicted, field.expected),
        ),
    )


def describe_verdict(field: FieldMatch) -> tuple[str, Look]:
    """Returns the verdict of a field, with its sign, and its colour."""
    kind = field.error.replace("_", " ")
    if field.category == "exact":
        if not field.strict:
            return "✓ near enough", "right"
        return f"✓ same ({field.rule})" if field.rule else "✓ equal", "right"
    if field.category == "partial":
        return f"~ {kind or 'partial'} ({format_number(field.score, 2)})", "held"
    if field.category == "missed":
        return f"○ {kind or 'missed'}", "none"
    if field.category == "spurious":
        return f"+ {kind or 'not expected'}", "wrong"
    return f"✗ {kind or 'wrong'}", "wrong"


def _format_value(value: Any, other: Any) -> str:
    """Formats a value; a text is quoted beside a value of another type, since "12" is not 12."""
    if isinstance(value, str) and (isinstance(other, str) or other is None):
        return truncate_text(value, _VALUE) if value else "(empty)"
    return truncate_text(_format_json(value, indent=0), _VALUE)


def _format_json(value: Any, indent: int = 2) -> str:
    """Formats a value as JSON of limited length; if that is impossible, says why."""
    try:
        plain = msgspec.json.encode(value)
        text = (msgspec.json.format(plain, indent=indent) if indent else plain).decode()
    except (RecursionError, ValueError, TypeError) as error:
        return f"cannot be shown: {error}"
    return truncate_text(text, _MAX_JSON_LENGTH)
