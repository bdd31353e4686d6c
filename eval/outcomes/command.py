"""Measures graded answers to any questions: ``epoche outcomes``, or this file as a script."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import print_text, run_script
from kg.base.options import Confidence, Resamples, ResampleSeed

if TYPE_CHECKING:
    from eval.metrics.comparison import Comparison
    from eval.outcomes.record import OutcomesReport


def main(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]FILE...",
            help="Graded answers of one system each: JSONL, a JSON array, CSV or TSV, or these "
            "with .gz; or logs of Inspect, lm-evaluation-harness, HELM or promptfoo.",
        ),
    ],
    field_map: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FIELD=THEIRS[,…]",
            help="The files' own names of the fields id, outcome, answerable, confidence, "
            "repeat, cluster, system and question; id=a+b joins two fields, a.b is in an object, "
            "unanswerable=FIELD is the opposite of answerable.",
        ),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--value",
            metavar="THEIRS=OUTCOME[,…]",
            help="What a grade means: right, wrong, abstained or unusable.",
        ),
    ] = None,
    filter_name: Annotated[
        str,
        typer.Option(
            "--filter",
            metavar="NAME",
            help="Of samples of lm-evaluation-harness, the filter whose answers are meant, such as "
            "strict-match.",
        ),
    ] = "",
    threshold: Annotated[
        float | None,
        typer.Option(help="Numbers from this on are right and lower ones wrong, as of RAGAS."),
    ] = None,
    system: Annotated[
        str, typer.Option(help="Of a file with several systems, measure this one alone.")
    ] = "",
    right_refusals: Annotated[
        bool,
        typer.Option(
            "--right-refusals",
            help="The files grade a good refusal as right: on a question without an answer, right "
            "means abstained.",
        ),
    ] = False,
    squad_gold: Annotated[
        Path | None,
        typer.Option(
            metavar="DEV.json",
            help="The files are predictions for this SQuAD 2.0 data set: JSON, id to answer; an "
            "empty answer is an abstention.",
        ),
    ] = None,
    na_prob: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="Of SQuAD 2.0: JSON, id to probability that the question has no answer; the "
            "confidence of an answer is 1 minus it. Repeatable.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the measures (JSON).")] = None,
    resamples: Resamples = 2000,
    seed: ResampleSeed = 12345,
    confidence: Confidence = 0.95,
) -> None:
    """Measures graded answers to any questions: does the system know when not to answer?

    A row has the id of a question and an outcome: right, wrong, abstained or unusable, or grades
    such as CORRECT, NOT_ATTEMPTED, A/B/C of SimpleQA or C/I/N of Inspect. With a field `answerable`
    in every row there are the skill score and abstention precision and recall, too. Several files
    are compared on the same questions; answers that one lacks count as unusable. With --squad-gold
    predictions for SQuAD 2.0 are graded as by its script.
    """
    from eval.harness.predictions.option_pairs import parse_pairs
    from eval.metrics.measurement import ResamplingPlan
    from eval.outcomes.answerability import (
        check_answerability,
        check_field_name,
        read_right_refusals,
    )
    from eval.outcomes.grades import OUTCOMES
    from eval.outcomes.reader import FIELDS, read_graded_answers
    from eval.outcomes.report import measure_outcomes
    from eval.outcomes.squad import read_squad_answers
    from kg.base.errors import RecordError, SettingError
    from kg.base.files import check_output, write_json_atomic

    if out is not None:
        inputs = [Path(file.rpartition("=")[2]) for file in (*files, *(na_prob or ()))]
        check_output(out, [*inputs, *([squad_gold] if squad_gold else [])])
    if threshold is not None and not math.isfinite(threshold):
        raise SettingError("the threshold is no number", where=f"--threshold {threshold}")
    if squad_gold is not None:
        given = (field_map, values, filter_name, right_refusals, threshold is not None, system)
        if any(given):
            raise SettingError(
                "predictions for SQuAD have neither other fields nor grades nor filters",
                where="--squad-gold",
                hint="Leave out --map, --value, --filter, --threshold, --system and "
                "--right-refusals.",
            )
        graded = read_squad_answers(squad_gold, files, na_prob or ())
    elif na_prob:
        raise SettingError("only predictions for SQuAD have these", where="--na-prob")
    else:
        names = parse_pairs(field_map or (), "--map", FIELDS)
        check_field_name(names)
        graded = read_graded_answers(
            files,
            names,
            parse_pairs(values or (), "--value", OUTCOMES),
            filter_name,
            threshold=threshold,
            system=system,
        )
        if right_refusals:
            read_right_refusals(graded)
        graded.notes += check_answerability(graded)
    try:
        report = measure_outcomes(graded, ResamplingPlan(resamples, seed, confidence))
    except RecordError as error:
        error.where = error.where or ", ".join(file.rpartition("=")[2] for file in files)
        raise
    if out is not None:
        # Before printing, which `| head` ends early.
        write_json_atomic(out, report)
    for line in render_report(report):
        print_text(line)
    if out is not None:
        print_text(f"measures → {out}")


def render_report(report: OutcomesReport) -> Iterator[str]:
    """Renders a report for the terminal."""
    from eval.metrics.number_text import format_value, format_with_interval
    from kg.base.plain_text import clean_text, format_count

    for note in report.notes:
        yield f"note: {note}"
    known = ""
    if report.n_answerable is not None:
        known = f", {report.n_answerable:,} answerable"
    yield f"{format_count(report.n_questions, 'question')}{known}"
    for name, system in report.systems.items():
        counts = ", ".join(f"{n:,} {outcome}" for outcome, n in system.counts.items() if n)
        yield f"{clean_text(name)}: {counts}"
        for measure, estimate in system.measures.items():
            line = f"  {measure:<22}{format_with_interval(estimate)}"
            if measure in system.majority:
                line += f"   by majority {format_with_interval(system.majority[measure])}"
            yield line
        for measure, estimate in system.confidences.items():
            given = f"of {system.n_confidences:,} of {format_count(system.n_given, 'answer')} given"
            yield f"  {measure:<22}{format_with_interval(estimate)}   {given}"
        for measure, estimate in system.official.items():
            yield f"  {measure:<22}{format_with_interval(estimate)}"
    for name, control in report.controls.items():
        yield f"control, {name}: {report.headline} {format_value(control[report.headline])}"
    for pair in report.comparisons:
        shared = ""
        if pair.n_shared is not None and pair.n_shared < report.n_questions:
            shared = f"; both answered {pair.n_shared:,} of {report.n_questions:,} questions"
        yield _describe_comparison(pair) + shared


def _describe_comparison(pair: Comparison) -> str:
    from eval.metrics.number_text import format_p_value
    from kg.base.plain_text import clean_text

    names = f"{clean_text(pair.candidate)} − {clean_text(pair.baseline)}"
    if pair.difference is None or pair.p_holm is None:
        return f"{pair.metric}: {names} cannot be tested"
    interval = f" [{pair.low:+.3f}, {pair.high:+.3f}]" if pair.low is not None else ""
    verdict = f"{clean_text(pair.better)} is better" if pair.better else "no significant difference"
    p_value = format_p_value(pair.p_holm)
    return (
        f"{pair.metric}: {verdict}; {names} = {pair.difference:+.3f}{interval}, "
        f"Holm-adjusted p {p_value if p_value.startswith('<') else f'= {p_value}'}"
    )


if __name__ == "__main__":
    run_script(main)
