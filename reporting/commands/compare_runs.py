"""Compares systems on the same cards or items: ``epoche compare``, or this file as a script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from eval.metrics_abstention import PolicyChoice
from kg.base.console import print_text, run_script
from kg.base.errors import CardSetMismatchError, SystemNotFoundError
from kg.base.options import (
    AllowChanged,
    CheckedCards,
    ChosenResamples,
    Confidence,
    MoreRunPaths,
    ResampleSeed,
    RunPaths,
    SkipOtherCards,
    WithoutMined,
)
from kg.base.plain_text import to_one_line
from reporting.section_renderer import render_section_markdown

if TYPE_CHECKING:
    from eval.metrics.measurement import ResamplingPlan


def main(
    runs: RunPaths = None,
    results: MoreRunPaths = None,
    out: Annotated[
        Path, typer.Option(help="The comparison (JSON); Markdown is written next to it.")
    ] = Path("results/comparison.json"),
    html: Annotated[bool, typer.Option(help="Also write an HTML page next to it.")] = True,
    cards: CheckedCards = None,
    skip_other_cards: SkipOtherCards = False,
    without_mined: WithoutMined = False,
    allow_changed: AllowChanged = False,
    baseline: Annotated[
        str | None,
        typer.Option(help="Compare every system with this one, instead of all pairs."),
    ] = None,
    paraphrases: Annotated[
        Path | None,
        typer.Option(
            help="Card file by `epoche paraphrase`: compare each system's results on it with its "
            "results on the original cards, instead of systems.",
        ),
    ] = None,
    difficulty: Annotated[
        Path | None,
        typer.Option(
            help="Write the measured difficulty of each card to this file (JSONL): how many "
            "systems fail on it."
        ),
    ] = None,
    difficulty_system: Annotated[
        list[str] | None,
        typer.Option(
            help="Measure difficulty by this system, or by those of a pattern with *; repeatable.",
            show_default="all but controls, oracles and systems asked without the card",
        ),
    ] = None,
    policy: Annotated[
        PolicyChoice | None,
        typer.Option(
            help="What counts as an answer and what as an abstention.", show_default="licensed"
        ),
    ] = None,
    resamples: ChosenResamples = None,
    seed: ResampleSeed = 12345,
    confidence: Confidence = 0.95,
    common: Annotated[
        bool | None,
        typer.Option(
            help="Compare on the cards that every system answered, or fail if one misses a card.",
            show_default="common, but rows that a run has lost count as ERROR",
        ),
    ] = None,
) -> None:
    """Compares systems pairwise on the same cards or items, and tests the differences.

    Metrics that are 0 or 1 per card are tested with the exact McNemar test. Differences have
    cluster bootstrap intervals, and p-values are corrected by Holm's method over all pairs. If two
    runs have a system of the same name, the run's name is added to it; of run folders, only these
    systems are then compared, unless --baseline names another.

    With --paraphrases the results are those on cards and on their paraphrases, and each difference
    is what a system loses where the questions are not worded as usual.

    The difficulty of cards is measured, too: the share of the systems that fail on them.
    """
    from eval.abstention.card_check import filter_results_by_cards, read_checked_results
    from eval.abstention.comparison.difficulty import measure_difficulty
    from eval.abstention.comparison.difficulty_section import (
        build_difficulty_section,
        describe_difficulty,
    )
    from eval.abstention.comparison.paraphrases import read_paraphrase_pairs
    from eval.abstention.comparison.report import compare_runs
    from eval.abstention.comparison.text import (
        describe_shared_cards,
        render_markdown,
        render_paraphrase_gaps,
        render_sentences,
    )
    from eval.abstention.metrics.cluster_samples import Plan
    from eval.abstention.metrics.console import render_warnings
    from eval.abstention.metrics.definitions import POLICIES
    from eval.abstention.run_files import find_result_files
    from eval.metrics.measurement import ResamplingPlan
    from eval.runs.measurement import refuse_card_options, select_run_folders
    from kg.base.files import check_output, to_json_bytes, write_files_atomic
    from reporting.comparison_page import render_comparison

    paths = [*(runs or ()), *(results or ())]
    if not paths:
        raise typer.BadParameter("give at least one result file or run folder")
    if folders := select_run_folders(paths, where="epoche compare"):
        refuse_card_options(
            folders[0],
            cards=cards,
            skip_other_cards=skip_other_cards or None,
            without_mined=without_mined or None,
            paraphrases=paraphrases,
            difficulty=difficulty,
            difficulty_system=difficulty_system,
            policy=policy,
            common=common,
        )
        run_plan = ResamplingPlan.choose(resamples, seed, confidence)
        _compare_folders(
            folders, out, run_plan, baseline=baseline, html=html, allow_changed=allow_changed
        )
        return
    files = find_result_files(paths)
    if skip_other_cards and cards and paraphrases is None:
        files = filter_results_by_cards(files, cards)
    inputs = [*files, *(cards or ()), *([paraphrases] if paraphrases else ())]
    check_output(out, inputs)
    pages = {suffix: out.with_suffix(suffix) for suffix in (".md", *((".html",) if html else ()))}
    for page in pages.values():
        check_output(page, [out, *inputs])
    if difficulty is not None:
        check_output(difficulty, [out, *pages.values(), *inputs])
    pairs: list[tuple[str, str]] = []
    if paraphrases is None:
        observations = read_checked_results(
            files,
            cards or (),
            common="asked" if common is None else common,
            distinguish_equal_names=True,
            without_mined=without_mined,
            allow_changed=allow_changed,
        )
    else:
        if baseline is not None or common is not None:
            raise typer.BadParameter("--paraphrases takes neither --baseline nor --common")
        if difficulty is not None or difficulty_system:
            raise typer.BadParameter("--paraphrases does not measure difficulty")
        observations, pairs = read_paraphrase_pairs(
            files,
            paraphrases,
            cards or (),
            skip_other_cards=skip_other_cards,
            without_mined=without_mined,
            allow_changed=allow_changed,
        )
    if len(observations.preds) < 2:
        raise CardSetMismatchError(
            "nothing to compare: only one system",
            where=", ".join(str(path) for path in files),
            hint="Give the result files of at least two systems.",
        )
    if baseline is not None and baseline not in observations.preds:
        raise SystemNotFoundError(
            f"no system {baseline!r} in these results",
            where="--baseline",
            hint=f"Use one of {', '.join(observations.preds)}.",
        )
    plan = Plan(
        policies=(policy or PolicyChoice.licensed).select(POLICIES),
        resamples=resamples,
        seed=seed,
        confidence=confidence,
    )
    report = compare_runs(observations, plan, baseline=baseline, pairs=pairs)
    contents: dict[Path, bytes] = {}
    sentences: list[str] = []
    sections = []
    measured = None
    if paraphrases is None:
        measured = measure_difficulty(
            files,
            systems=list(observations.preds),
            oracles=observations.oracles,
            plan=ResamplingPlan.choose(resamples, seed, confidence),
            controls=set(observations.preds) - set(observations.systems_under_test),
            suffixes=observations.suffixes,
            selectors=difficulty_system or (),
            cards=cards or (),
            without_mined=without_mined,
            is_required=difficulty is not None,
        )
    if measured is not None:
        found = measured.build_report()
        report = replace(report, difficulty=found)
        sections.append(build_difficulty_section(found, report.cards))
        sentences += describe_difficulty(found)
        if difficulty is not None:
            rows = (to_json_bytes(card) + b"\n" for card in measured.list_cards())
            contents[difficulty] = b"".join(rows)
    contents[out] = to_json_bytes(report, indent=2) + b"\n"
    texts = [render_markdown(report), *(render_section_markdown(one, 3) for one in sections)]
    contents[pages[".md"]] = "\n".join(texts).encode()
    if html:
        output_names = [out.name, pages[".md"].name]
        page_text = render_comparison(report, output_names=output_names, sections=sections)
        contents[pages[".html"]] = page_text.encode()
    write_files_atomic(contents)
    for line in render_warnings(report.warnings):
        print_text(line)
    for line in describe_shared_cards(report.shared):
        print_text(line)
    for line in render_paraphrase_gaps(report) if pairs else render_sentences(report):
        print_text(line)
    for sentence in sentences:
        print_text(f"difficulty: {to_one_line(sentence)}")
    for note in report.notes:
        print_text(f"note: {to_one_line(note)}")
    output_paths = ", ".join(str(path) for path in contents)
    print_text(f"{len(report.comparisons)} comparisons on {report.n_cards} cards → {output_paths}")


def _compare_folders(
    folders: Sequence[Path],
    out: Path,
    plan: ResamplingPlan,
    *,
    baseline: str | None,
    html: bool,
    allow_changed: bool,
) -> None:
    """Compares the systems of run folders, writes the comparison and prints the headline."""
    from eval.blocks.metric_sections import build_comparison_section
    from eval.metrics.runs.pairs import choose_pairs
    from eval.metrics.runs.report import build_comparison
    from eval.metrics.runs.text import render_comparisons
    from eval.runs.measurement import list_folder_files, measure_folders
    from kg.base.files import check_output, to_json_bytes, write_files_atomic
    from reporting.section_page import render_page
    from reporting.section_renderer import PAGE_LEVEL

    made_from = list_folder_files(folders)
    pages = {suffix: out.with_suffix(suffix) for suffix in (".md", *((".html",) if html else ()))}
    check_output(out, made_from)
    for page in pages.values():
        check_output(page, [out, *made_from])
    measurement = measure_folders(folders, plan, allow_changed=allow_changed)
    pairs = choose_pairs(measurement.runs, baseline)
    if (plan_for_pairs := plan.adapt_to(len(pairs))) != plan:
        measurement = measure_folders(folders, plan_for_pairs, allow_changed=allow_changed)
    report = build_comparison(measurement, pairs)
    section = build_comparison_section(measurement, report, made_from)
    contents = {
        out: to_json_bytes(report, indent=2) + b"\n",
        pages[".md"]: render_section_markdown(section, PAGE_LEVEL).encode(),
    }
    if html:
        page_text = render_page(section, beside=[out.name, pages[".md"].name])
        contents[pages[".html"]] = page_text.encode()
    write_files_atomic(contents)
    runs = measurement.runs
    headline = [name for name in runs.headline if name in report.higher_is_better]
    for line in render_comparisons(report, headline):
        print_text(line)
    for note in report.notes:
        print_text(f"note: {to_one_line(note)}")
    output_paths = ", ".join(str(path) for path in contents)
    print_text(
        f"{len(report.comparisons)} comparisons on {runs.n_items:,} {runs.noun}s → {output_paths}"
    )


if __name__ == "__main__":
    run_script(main)
