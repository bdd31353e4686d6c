"""Command ``epoche report``: writes the HTML report and its exports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import print_text, print_warning, run_script
from kg.base.options import AllowChanged, MoreRunPaths, SkipOtherCards, WithoutMined


def main(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="Run folders of any benchmarks, one section each, and result files of cards.",
        ),
    ] = None,
    results: MoreRunPaths = None,
    metrics: Annotated[
        Path | None,
        typer.Option(
            help="The metrics.json computed from the results of cards.",
            show_default="the metrics.json beside the results",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The HTML file; exports are named after it.")] = Path(
        "results/report.html"
    ),
    cards: Annotated[
        list[Path] | None,
        typer.Option(help="Card file; repeatable. Default: the one that the manifests name."),
    ] = None,
    skip_other_cards: SkipOtherCards = False,
    without_mined: WithoutMined = False,
    allow_changed: AllowChanged = False,
    kg: Annotated[
        list[Path] | None,
        typer.Option(
            "--kg",
            "--kg-path",
            help="Graph whose labels word the proofs. Default: the one that the cards' manifest "
            "names.",
        ),
    ] = None,
    shapes: Annotated[
        list[Path] | None, typer.Option(help="SHACL file that goes with --kg; repeatable.")
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(help="Domain used to word the proofs. Default: the one of the cards."),
    ] = None,
    section: Annotated[
        list[Path] | None,
        typer.Option(
            help="Run folder, folder of `epoche degrade`, record of `epoche outcomes`, or folder "
            "with a sample of the cards (or a shipped card set) and the metrics.json of further "
            "systems, to add as a section; repeatable."
        ),
    ] = None,
    formats: Annotated[
        str, typer.Option(help="What to write, comma-separated: html, csv, md, json.")
    ] = "html,csv,md,json",
    previous: Annotated[
        list[Path] | None,
        typer.Option(
            help="The metrics.json of an earlier run of the same systems, or its folder: adds a "
            "chart and a table of the runs over time; repeatable."
        ),
    ] = None,
) -> None:
    """Writes one self-contained HTML file, and CSV, Markdown and JSON next to it.

    The report has the results of cards, if there are any, with the measured difficulty of the
    cards, and one section for each run folder and for each record of `epoche outcomes`.
    """
    from cards.card_origin import find_common_sources
    from eval.abstention.card_check import filter_results_by_cards
    from eval.abstention.comparison.difficulty import measure_difficulty
    from eval.abstention.comparison.difficulty_section import build_difficulty_section
    from eval.abstention.degradation.section import build_degradation_sections, has_curves
    from eval.abstention.history import build_history_section
    from eval.abstention.metrics.console import render_warnings
    from eval.abstention.run_files import find_result_files
    from eval.metrics.measurement import ResamplingPlan
    from eval.outcomes.record import is_outcomes_record
    from eval.outcomes.section import build_outcome_sections
    from eval.runs.measurement import is_run_folder, refuse_card_options
    from eval.runs.sections import build_sections
    from kg.domain import list_shipped_domains
    from reporting.card_report.inputs import find_metrics, read_inputs
    from reporting.card_report.report_files import (
        open_proof_source,
        parse_formats,
        refuse_overwriting,
        write_report,
    )
    from reporting.card_report.sample_section import (
        build_sample_section,
        describe_left_out_sample,
        is_sample,
    )
    from reporting.section_page import write_section
    from reporting.sections_page import write_sections

    # A shell expands `--results *.jsonl` to one option, followed by arguments.
    paths = [*(results or ()), *(runs or ())]
    records = [path for path in (*paths, *(section or ())) if is_outcomes_record(path)]
    paths = [path for path in paths if path not in records]
    folders = [path for path in paths if is_run_folder(path) or has_curves(path)]
    card_results = [path for path in paths if path not in folders]
    samples = [path for path in section or () if is_sample(path) and not is_run_folder(path)]
    folders += [path for path in section or () if path not in (*records, *samples)]
    curves = [folder for folder in folders if has_curves(folder)]
    requested_formats = parse_formats(formats)
    run_folders = [folder for folder in folders if folder not in curves]
    sections = build_sections(run_folders, allow_changed=allow_changed)
    sections += build_degradation_sections(curves, allow_changed=allow_changed)
    sections += build_outcome_sections(records, allow_changed=allow_changed)
    if not card_results:
        if samples:
            raise typer.BadParameter(
                f"{samples[0]}: a sample is shown beside the results of all cards; give these, too"
            )
        if not sections:
            raise typer.BadParameter("give at least one run folder or result file")
        refuse_card_options(
            [*folders, *records][0],
            metrics=metrics,
            cards=cards,
            skip_other_cards=skip_other_cards or None,
            without_mined=without_mined or None,
            kg=kg,
            shapes=shapes,
            domain=domain,
            previous=previous,
        )
        if len(sections) == 1:
            written = write_section(sections[0], out, requested_formats)
        else:
            written = write_sections(sections, out, requested_formats)
        for path in written:
            print_text(f"report: {path}")
        return
    card_results = find_result_files(card_results)
    metrics = metrics or find_metrics(card_results)
    if previous:
        history = build_history_section(metrics, previous, allow_changed=allow_changed)
        sections = [history, *sections]
    if skip_other_cards and cards:
        card_results = filter_results_by_cards(card_results, cards)
    input_files = [*card_results, metrics, *(cards or ())]
    inputs = read_inputs(
        card_results, metrics, cards, without_mined=without_mined, allow_changed=allow_changed
    )
    left_out: list[str] = []
    for number, folder in enumerate(samples, start=1):
        sample = build_sample_section(folder, inputs, number, allow_changed=allow_changed)
        if sample is None:
            print_warning(f"{folder}: not a sample of these cards, and left out; make it again")
            left_out.append(describe_left_out_sample(folder))
        else:
            sections.append(sample)
    input_files += [path for part in sections for path in part.sources]
    refuse_overwriting(out, requested_formats, input_files, sections)
    card_set = inputs.metrics.cards[:12]
    measured = measure_difficulty(
        card_results,
        systems=inputs.systems,
        oracles={name for run in inputs.runs for name in run.manifest.oracles},
        plan=ResamplingPlan(
            inputs.metrics.resamples, inputs.metrics.seed, inputs.metrics.confidence
        ),
        cards=inputs.card_files,
        without_mined=inputs.metrics.n_mined_left_out is not None,
    )
    if measured is not None:
        sections.insert(0, build_difficulty_section(measured.build_report(), card_set))
    others = [part for part in sections if part.card_set and part.card_set[:12] != card_set]
    for part in others:
        print_warning(
            f"the section {part.name} is about other cards ({part.card_set[:12]}) than the results "
            f"({card_set}) and is left out; make it again"
        )
        left_out.append(f"The section {part.name} is not shown: it is about other cards.")
    sections = [part for part in sections if part not in others]
    for line in render_warnings(inputs.warnings):
        print_text(line)
    print_text(f"metrics: {metrics}")
    print_text(f"cards: {', '.join(map(str, inputs.card_files))}")
    is_named = bool(domain or kg)
    graph_files, shapes_files = tuple(kg or ()), tuple(shapes or ())
    if not is_named:
        domain, graph_files, card_shapes = find_common_sources(inputs.card_files)
        # The name of a domain that is not shipped says nothing about where its files are.
        if not graph_files and inputs.domain in list_shipped_domains():
            domain = domain or inputs.domain
        shapes_files = shapes_files or card_shapes
    source = open_proof_source(
        domain, graph_files, shapes_files, cards=inputs.card_files, is_required=is_named
    )
    if source.notice:
        print_warning(source.notice)
    for path in write_report(inputs, out, source, requested_formats, sections, left_out):
        print_text(f"report: {path}")


if __name__ == "__main__":
    run_script(main)
