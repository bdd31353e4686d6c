"""The table of samples: question, right answer, search results, and what each pipeline did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from eval.blocks.samples import Answer, Detail, ItemTone, Mark, SampleRow, Samples
from eval.blocks.text_format import format_number, format_percent
from eval.skn.blocks.run_data import RunSample, SknRun
from eval.skn.blocks.texts import VALIDITY_TEXTS
from eval.skn.judges.record import Verdicts
from eval.skn.row import SknRow

MARKS = (
    Mark("right", "✓", "right", "right: judged right", "right"),
    Mark("abstained", "✓", "abstained", "right: abstained, and there is no answer", "right"),
    Mark("held", "○", "held back", "held back: abstained, though there is an answer", "held"),
    Mark("wrong", "✗", "wrong", "wrong: judged wrong", "wrong"),
    Mark("unfounded", "✗", "answered", "wrong: answered, though there is no answer", "wrong"),
    Mark("unjudged", "!", "unjudged", "unjudged: no verdict of the judges", "none"),
    Mark("invalid", "!", "INVALID", "invalid: no reply that could be parsed", "none"),
    Mark("error", "!", "ERROR", "failed: a call or the search failed", "none"),
)
"""The outcomes of a row, the best first."""


def find_mark(row: SknRow) -> str:
    """Returns the key of a row's mark."""
    if row.outcome in ("INVALID", "ERROR"):
        return row.outcome.lower()
    if row.outcome == "ABSTAINED":
        return "held" if row.answerable else "abstained"
    if not row.answerable:
        return "unfounded"
    correct = row.verdicts and row.verdicts.correct
    return "unjudged" if correct is None else "right" if correct else "wrong"


def count_marks(run: SknRun, pipeline: str) -> Counter[str]:
    """Counts the rows of a pipeline by mark."""
    return Counter(
        find_mark(row) for by_pipeline in run.rows.values() for row in by_pipeline.get(pipeline, ())
    )


def build_samples(run: SknRun, elsewhere: str) -> Samples:
    """Builds the table of all samples.

    Args:
        run: a finished run.
        elsewhere: which files have all rows, for readers without scripts.
    """
    return Samples(
        noun=("sample", "samples"),
        facets=("Category", "Answerable"),
        systems=run.pipelines,
        marks=MARKS,
        rows=tuple(_build_row(run, sample) for sample in run.samples),
        elsewhere=elsewhere,
    )


def _build_row(run: SknRun, sample: RunSample) -> SampleRow:
    rows = run.rows[sample.id]
    truth = f"True: {sample.ground_truth}" if sample.answerable else "There is no answer to this."
    return SampleRow(
        id=sample.id,
        facets=(sample.category, "has an answer" if sample.answerable else "has none"),
        question=sample.question,
        truth=truth,
        details=(Detail("Search results", (_describe_search(run, sample),)),),
        answers=tuple(
            _build_answer(rows[name]) if rows.get(name) else None for name in run.pipelines
        ),
    )


def _describe_search(run: SknRun, sample: RunSample) -> str:
    if sample.raw_text:
        return sample.raw_text
    rows = (row for repeats in run.rows[sample.id].values() for row in repeats)
    failed = next((row for row in rows if row.stage == "search"), None)
    if failed is None:
        return "Nothing."
    return f"The search failed: {failed.error or 'no reason is given'}"


def _build_answer(rows: Sequence[SknRow]) -> Answer:
    """Builds the answer of the first repeat, with the outcomes of the others."""
    row = rows[0]
    details: list[Detail] = []
    if len(rows) > 1:
        marks = Counter(find_mark(repeat) for repeat in rows)
        counts = ", ".join(f"{mark.name} {marks[mark.key]}" for mark in MARKS if marks[mark.key])
        details.append(Detail(f"Asked {len(rows)} times; the first is shown", (counts,)))
    details += _list_response_details(row)
    if row.verdicts is not None:
        details += _list_verdict_details(row.verdicts, answerable=row.answerable)
    details += _list_extraction_details(row)
    return Answer(find_mark(row), _describe_answer(row), tuple(details))


def _describe_answer(row: SknRow) -> str:
    if row.outcome == "ERROR":
        return f"Failed at {row.stage or 'a call'}: {row.error or 'no reason is given'}"
    if row.response is not None and row.response.answer:
        return row.response.answer
    if row.outcome == "INVALID":
        problem = row.response.problem if row.response is not None else ""
        if not problem and row.extraction is not None:
            problem = row.extraction.problem
        return f"Unreadable at {row.stage or 'a reply'}: {problem or 'no reason is given'}"
    return "The answer is empty."


def _list_response_details(row: SknRow) -> list[Detail]:
    response = row.response
    if response is None:
        return []
    lines = []
    if response.confidence is not None:
        lines.append(f"Confidence {format_number(response.confidence, 2)}.")
    if row.outcome == "ABSTAINED":
        source = {"field": "as its field states", "text": "as its words state"}
        lines.append(f"It abstains, {source.get(row.abstained_by, 'for an unknown reason')}.")
    details = [Detail("About the answer", (" ".join(lines),))] if lines else []
    if response.reasoning:
        details.append(Detail("Reasoning", (response.reasoning,)))
    if not response.readable and response.raw:
        details.append(Detail("The reply that cannot be parsed", (response.raw,), "code"))
    return details


def _list_verdict_details(verdicts: Verdicts, *, answerable: bool) -> list[Detail]:
    lines: list[str] = []
    if answerable:
        votes = Counter(verdicts.correct_votes)
        names = {True: "right", False: "wrong", None: "no vote"}
        counts = [f"{votes[vote]} {name}" for vote, name in names.items() if votes[vote]]
        lines.append(f"Right or wrong: {', '.join(counts) or 'not asked'}.")
    hallucination = verdicts.hallucination
    severity = hallucination.severity
    if hallucination.total_claims is not None and hallucination.fabricated is not None:
        # The median of two votes may lie between two whole numbers.
        lines.append(
            f"{hallucination.fabricated:g} of {hallucination.total_claims:g} claims made up"
            + (f", severity {format_number(severity, 2)}." if severity else ".")
        )
    if verdicts.groundedness is not None:
        share = format_percent(verdicts.unsupported_fraction)
        lines.append(f"Grounded {format_number(verdicts.groundedness, 2)}; {share} lacks support.")
    lines += [f"No vote on {p.judge}: {p.kind}: {p.problem}" for p in verdicts.problems]
    details = [Detail("Verdicts", tuple(lines), "list")] if lines else []
    if claims := hallucination.fabricated_claims:
        tones: list[ItemTone] = ["wrong"] * len(claims)
        details.append(Detail("Claims judged made up", claims, "list", tuple(tones)))
    return details


def _list_extraction_details(row: SknRow) -> list[Detail]:
    extraction = row.extraction
    if extraction is None:
        return []
    title = f"The extraction, parsed {VALIDITY_TEXTS[extraction.validity]}"
    if extraction.problem:
        title += f": {extraction.problem}"
    text = extraction.context or extraction.raw or "It is empty."
    return [Detail(title, (text,), "code")]
