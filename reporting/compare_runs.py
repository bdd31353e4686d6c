"""Compares runs on the same cards: ``epoche compare``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eval.metrics_abstention import PolicyChoice
from kg.base.console import run_script, say
from kg.base.errors import CardSetMismatchError, SystemNotFoundError
from kg.base.options import CheckedCards, Confidence, Resamples, ResampleSeed, SkipOtherCards


def main(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN]...", help="Result files (JSONL).")
    ] = None,
    results: Annotated[
        list[Path] | None, typer.Option(help="The same, as the other stages name it; repeatable.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Where the comparison goes (JSON); Markdown goes beside it.")
    ] = Path("results/comparison.json"),
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
        bool, typer.Option("--common", help="Compare only on the cards that all answered.")
    ] = False,
) -> None:
    """Says which system is better by what, and whether the data can tell.

    Paired on the same cards: exact McNemar where a metric is a yes or no per card, the cluster
    bootstrap of the difference, Holm over the pairs. Two files may hold a system of one name.
    """
    from eval.card_check import read_checked
    from eval.compare import compare_systems
    from eval.comparison import ComparisonReport, markdown, verdict
    from eval.metrics.abstention import POLICIES
    from eval.metrics.samples import Plan, Samples
    from eval.metrics.signature import Signature
    from kg.base.files import check_output, to_json_bytes, write_files_atomic
    from kg.base.provenance import package_version

    files = [*(runs or ()), *(results or ())]
    if not files:
        raise typer.BadParameter("give at least one result file")
    check_output(out, [*files, *(cards or ())])
    page = out.with_suffix(".md")
    check_output(page, [out, *files, *(cards or ())])
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
    samples = Samples(seen, plan)
    signature = Signature(
        metric="",
        cards=seen.cards,
        policy="",
        resamples=resamples,
        seed=seed,
        version=package_version(),
        confidence=confidence,
    )
    report = ComparisonReport(
        version=signature.version,
        cards=seen.cards,
        n_cards=samples.n_cards,
        n_clusters=samples.n_clusters,
        systems=tuple(seen.preds),
        baseline=baseline,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        comparisons=compare_systems(samples, signature=signature, baseline=baseline),
        notes=seen.notes,
        sources=seen.sources,
    )
    write_files_atomic(
        {out: to_json_bytes(report, indent=2) + b"\n", page: markdown(report).encode()}
    )
    for one in report.comparisons:
        prefix = f"{one.policy}: " if len(plan.policies) > 1 else ""
        say(prefix + verdict(one))
    say(f"{len(report.comparisons)} comparisons on {report.n_cards} cards → {out}, {page}")


if __name__ == "__main__":
    run_script(main)
