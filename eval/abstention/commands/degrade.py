"""Asks systems on graphs that get worse: ``epoche degrade``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base import options
from kg.base.console import print_text, run_script

DEFAULT_SYSTEMS = ("graph_rag", "rag")


def main(
    cards: Annotated[Path, typer.Option(help="Card file (JSONL) to ask.")],
    out: Annotated[
        Path, typer.Option(help="Folder of the curves, the graphs and the results.")
    ] = Path("results/degradation"),
    systems: Annotated[
        list[str] | None,
        typer.Option(
            "--system",
            help="A system to ask, as in `epoche eval`; repeatable.",
            show_default=" and ".join(DEFAULT_SYSTEMS),
        ),
    ] = None,
    drop: Annotated[
        str, typer.Option("--drop", metavar="SHARE,…", help="Shares of the facts to drop.")
    ] = ".1,.2,.3,.4",
    replace: Annotated[
        str,
        typer.Option(
            "--replace", metavar="SHARE,…", help="Shares of the facts to replace by other facts."
        ),
    ] = ".05,.1,.2",
    kg_path: options.GraphFiles = None,
    shapes: options.ShapesFiles = None,
    domain: options.DomainName = None,
    seed: Annotated[
        int, typer.Option(help="Seed of the damage, of resamples, and of systems that use one.")
    ] = 12345,
    settings: options.SystemSettings = None,
    model: options.ModelName = None,
    concurrency: options.Concurrency = 16,
    rpm: options.RequestsPerMinute = None,
    tpm: options.TokensPerMinute = None,
    timeout: options.CallTimeout = 60.0,
    retries: options.CallRetries = 8,
    cache: options.ReplyCache = None,
    no_cache: options.NoReplyCache = False,
    prices: options.PriceFile = None,
    retry_errors: options.RetryErrors = False,
    allow_changed: options.AllowChanged = False,
    resamples: options.Resamples = 2000,
    confidence: options.Confidence = 0.95,
) -> None:
    """Asks systems the same cards on graphs that lack facts or have wrong ones.

    Gold is what the cards' graph says. The systems see that graph, and the facts on the cards, with
    a share of the facts dropped or replaced. The curves show what a system does when its evidence
    is worse than the questions: whether it abstains, or answers falsely. An interrupted run is
    resumed by giving the same command again.
    """
    from eval.abstention.degradation.curves import DATA_NAME
    from eval.abstention.degradation.run import DegradationPlan, parse_levels, run_degradation
    from eval.abstention.degradation.section import (
        build_degradation_section,
        describe_degradation,
        render_curves,
    )
    from eval.abstention.metrics.console import render_warnings
    from eval.abstention.system import SystemOptions
    from eval.blocks.page import PAGE_STEM, write_section
    from eval.harness.session import RunLimits
    from eval.harness.systems.settings import parse_settings
    from eval.metrics.measurement import ResamplingPlan
    from eval.model.options import ClientOptions
    from kg.base.files import require_file

    require_file(cards, "card file")
    client = ClientOptions.from_flags(
        model=model,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        timeout=timeout,
        retries=retries,
        cache=cache,
        no_cache=no_cache,
        prices=prices,
        out=out / DATA_NAME,
        outputs=(out / DATA_NAME,),
    )
    plan = DegradationPlan(
        cards=cards,
        out=out,
        systems=list(dict.fromkeys(systems or DEFAULT_SYSTEMS)),
        levels=parse_levels(drop, replace),
        options=SystemOptions(
            domain=domain,
            graph=tuple(kg_path or ()),
            shapes=tuple(shapes or ()),
            seed=seed,
            settings=parse_settings(settings or ()),
            client=client,
        ),
        resampling=ResamplingPlan(resamples, seed, confidence),
        limits=RunLimits(concurrency=concurrency),
        retry_errors=retry_errors,
        allow_changed=allow_changed,
    )
    found = run_degradation(plan)
    for line in (*render_warnings(found.warnings), *render_curves(found)):
        print_text(line)
    for sentence in describe_degradation(found):
        print_text(sentence)
    pages = write_section(build_degradation_section(out), out / f"{PAGE_STEM}.html")
    print_text(f"curves → {', '.join(map(str, (out / DATA_NAME, *pages)))}")


if __name__ == "__main__":
    run_script(main)
