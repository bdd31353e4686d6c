"""Every sample of a run: its question, what is true, what was found, and each pipeline's way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from eval.skn.judges.record import Verdicts
from eval.skn.row import SknRow
from reporting.benchmark_sections.samples import Answer, Detail, ItemTone, Mark, SampleRow, Samples
from reporting.charts import format_number, format_percent
from reporting.skn_section.reading import Asked, SknRun

MARKS = (
    Mark("right", "✓", "right", "right: judged to say what is true", "right"),
    Mark("abstained", "✓", "abstained", "right: abstained, and there is no answer", "right"),
    Mark("held", "○", "held back", "held back: abstained, though there is an answer", "held"),
    Mark("wrong", "✗", "wrong", "wrong: judged not to say what is true", "wrong"),
    Mark("unfounded", "✗", "answered", "wrong: answered, though there is no answer", "wrong"),
    Mark("unjudged", "!", "unjudged", "unjudged: the judges came to no verdict", "none"),
    Mark("invalid", "!", "INVALID", "unreadable: no reply that could be read", "none"),
    Mark("error", "!", "ERROR", "failed: a call or the search failed", "none"),
)
"""What one row amounts to, the best first."""


def mark_of(row: SknRow) -> str:
    """The key of the mark a row gets."""
    if row.outcome in ("INVALID", "ERROR"):
        return row.outcome.lower()
    if row.outcome == "ABSTAINED":
        return "held" if row.answerable else "abstained"
    if not row.answerable:
        return "unfounded"
    correct = row.verdicts and row.verdicts.correct
    return "unjudged" if correct is None else "right" if correct else "wrong"


def mark_counts(run: SknRun, pipeline: str) -> Counter[str]:
    """How many rows of a pipeline get each mark."""
    return Counter(mark_of(row) for mine in run.rows.values() for row in mine.get(pipeline, ()))


def samples_of_run(run: SknRun, elsewhere: str) -> Samples:
    """The table of all samples."""
    return Samples(
        noun=("sample", "samples"),
        facets=("Category", "Answerable"),
        systems=run.pipelines,
        marks=MARKS,
        rows=tuple(_row(run, sample) for sample in run.samples),
        elsewhere=elsewhere,
    )


def _row(run: SknRun, sample: Asked) -> SampleRow:
    mine = run.rows[sample.id]
    truth = f"True: {sample.ground_truth}" if sample.answerable else "There is no answer to this."
    return SampleRow(
        id=sample.id,
        facets=(sample.category, "has an answer" if sample.answerable else "has none"),
        question=sample.question,
        truth=truth,
        details=(Detail("What the search found", (_found(run, sample),)),),
        answers=tuple(_answer(mine[name]) if mine.get(name) else None for name in run.pipelines),
    )


def _found(run: SknRun, sample: Asked) -> str:
    if sample.raw_text:
        return sample.raw_text
    rows = [row for mine in run.rows[sample.id].values() for row in mine]
    failed = next((row for row in rows if row.stage == "search"), None)
    if failed is None:
        return "Nothing."
    return f"The search failed: {failed.error or 'no reason is given'}"


def _answer(rows: Sequence[SknRow]) -> Answer:
    """The first repeat, and what the others came to."""
    row = rows[0]
    details: list[Detail] = []
    if len(rows) > 1:
        names = {mark.key: mark.name for mark in MARKS}
        said = Counter(mark_of(one) for one in rows)
        counts = ", ".join(f"{names[m.key]} {said[m.key]}" for m in MARKS if said[m.key])
        details.append(Detail(f"Asked {len(rows)} times; the first is shown", (counts,)))
    details += _response(row)
    if row.verdicts is not None:
        details += _verdicts(row.verdicts, answerable=row.answerable)
    details += _extraction(row)
    return Answer(mark_of(row), _line(row), tuple(details))


def _line(row: SknRow) -> str:
    if row.outcome == "ERROR":
        return f"Failed at {row.stage or 'a call'}: {row.error or 'no reason is given'}"
    if row.response is not None and row.response.answer:
        return row.response.answer
    if row.outcome == "INVALID":
        problem = row.response.problem if row.response is not None else ""
        if not problem and row.extraction is not None:
            problem = row.extraction.problem
        return f"Unreadable at {row.stage or 'a reply'}: {problem or 'no reason is given'}"
    return "It says nothing."


def _response(row: SknRow) -> list[Detail]:
    response = row.response
    if response is None:
        return []
    said = []
    if response.confidence is not None:
        said.append(f"Confidence {format_number(response.confidence, 2)}.")
    if row.outcome == "ABSTAINED":
        by = {"field": "in so many words of its form", "text": "by the words of its answer"}
        said.append(f"It abstains, {by.get(row.abstained_by, 'by no sign that was kept')}.")
    details = [Detail("What goes with the answer", (" ".join(said),))] if said else []
    if response.reasoning:
        details.append(Detail("Its reasoning", (response.reasoning,)))
    if not response.readable and response.raw:
        details.append(Detail("The reply that cannot be read", (response.raw,), "code"))
    return details


def _verdicts(verdicts: Verdicts, *, answerable: bool) -> list[Detail]:
    lines: list[str] = []
    if answerable:
        votes = Counter(verdicts.correct_votes)
        said = [f"{votes[v]} {w}" for v, w in ((True, "right"), (False, "wrong")) if votes[v]]
        if votes[None]:
            said.append(f"{votes[None]} no vote")
        lines.append(f"Right or wrong: {', '.join(said) or 'not asked'}.")
    made_up = verdicts.hallucination
    if made_up.total_claims is not None and made_up.fabricated is not None:
        lines.append(
            f"{_count(made_up.fabricated)} of {_count(made_up.total_claims)} claims made up"
            + (f", severity {format_number(made_up.severity, 2)}." if made_up.severity else ".")
        )
    if verdicts.groundedness is not None:
        share = format_percent(verdicts.unsupported_fraction)
        lines.append(f"Grounded {format_number(verdicts.groundedness, 2)}; {share} lacks support.")
    lines += [f"No vote on {one.judge}: {one.kind}: {one.problem}" for one in verdicts.problems]
    details = [Detail("What the judges say", tuple(lines), "list")] if lines else []
    if made_up.fabricated_claims:
        claims = made_up.fabricated_claims
        tones: list[ItemTone] = ["wrong"] * len(claims)
        details.append(Detail("Claims judged made up", claims, "list", tuple(tones)))
    return details


def _count(value: float) -> str:
    """A number of claims; the median of two votes may lie half-way."""
    return f"{value:g}"


def _extraction(row: SknRow) -> list[Detail]:
    extraction = row.extraction
    if extraction is None:
        return []
    how = {
        "strict": "read as it stands",
        "tolerant": "read once what stood around it was taken off",
        "repaired": "read after one further turn",
        "unreadable": "could not be read",
    }
    title = f"The extraction, {how[extraction.validity]}"
    if extraction.problem:
        title += f": {extraction.problem}"
    shown = extraction.context or extraction.raw or "It is empty."
    return [Detail(title, (shown,), "code")]
