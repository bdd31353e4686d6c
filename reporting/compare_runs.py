"""Compares runs on the same cards: ``epoche compare``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eval.metrics_abstention import PolicyChoice
from kg.base.console import run_script, say
from kg.base.errors import CardSetMismatchError, SystemNotFoundError
from kg.base.options import CheckedCards, Confidence, Resamples, ResampleSeed, SkipOtherCards
from kg.words.plain_text import one_line


def main(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RUN]...", help="Result files (JSONL) or run folders."),
    ] = None,
    results: Annotated[
        list[Path] | None, typer.Option(help="The same, as the other stages name it; repeatable.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Where the comparison goes (JSON); Markdown goes beside it.")
    ] = Path("results/comparison.json"),
    html: Annotated[bool, typer.Option(help="Write the page beside it too.")] = True,
    cards: CheckedCards = None,
    skip_other_cards: SkipOtherCards = False,
    baseline: Annotated[
        str | None, typer.Option(help="Hold all others against this system, not all pairs.")
    ] = None,
    policy: Annotated[
        PolicyChoice, typer.Option(help="What counts as an answer and as an abstention.")
    ] = PolicyChoice.licensed,
    resamples: Resamples = 2000,
    seed: ResampleSeed = 12345,
    confidence: Confidence = 0.95,
    common: Annotated[
        bool,
        typer.Option(help="Compare on the cards that all answered, or refuse if some lack any."),
    ] = True,
) -> None:
    """Says which system is better by what, and whether the data can tell.

    Paired on the same cards: exact McNemar where a metric is a yes or no per card, the cluster
    bootstrap of the difference, Holm over the pairs. Two files may hold a system of one name.
    """
    from eval.card_check import read_checked
    from eval.comparing.comparison import compare_runs
    from eval.comparing.words import markdown, shared_cards, spoken
    from eval.metrics.abstention import POLICIES
    from eval.metrics.samples import Plan
    from eval.run_files import result_files
    from kg.base.files import check_output, to_json_bytes, write_files_atomic
    from reporting.comparison_page import render_comparison

    files = result_files([*(runs or ()), *(results or ())])
    if not files:
        raise typer.BadParameter("give at least one result file or run folder")
    taken = [*files, *(cards or ())]
    check_output(out, taken)
    pages = {suffix: out.with_suffix(suffix) for suffix in (".md", *((".html",) if html else ()))}
    for page in pages.values():
        check_output(page, [out, *taken])
    seen = read_checked(
        files,
        cards or (),
        skip_other_cards=skip_other_cards,
        common=common,
        distinguish=True,
    )
    if len(seen.preds) < 2:
        raise CardSetMismatchError(
            "nothing to compare: only one system",
            where=", ".join(str(path) for path in files),
            hint="Give result files of two systems or more.",
        )
    if baseline is not None and baseline not in seen.preds:
        raise SystemNotFoundError(
            f"no system {baseline!r} in these results",
            where="--baseline",
            hint=f"One of {', '.join(seen.preds)}.",
        )
    plan = Plan(
        policies=tuple(name for name in POLICIES if policy.value in (name, "both")),
        resamples=resamples,
        seed=seed,
        confidence=confidence,
    )
    report = compare_runs(seen, plan, baseline=baseline)
    contents = {out: to_json_bytes(report, indent=2) + b"\n"}
    contents[pages[".md"]] = markdown(report).encode()
    if html:
        beside = [out.name, pages[".md"].name]
        contents[pages[".html"]] = render_comparison(report, beside=beside).encode()
    write_files_atomic(contents)
    for line in shared_cards(report.shared):
        say(line)
    for line in spoken(report):
        say(line)
    for note in report.notes:
        say(f"note: {one_line(note)}")
    written = ", ".join(str(path) for path in contents)
    say(f"{len(report.comparisons)} comparisons on {report.n_cards} cards → {written}")


if __name__ == "__main__":
    run_script(main)
