"""Asks a system all cards of a file: ``epoche eval``, or this file as a script."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base import options
from kg.base.console import print_text, print_warning, run_script

if TYPE_CHECKING:
    from eval.abstention.system import SystemOptions


class IfStale(StrEnum):
    """What to do if ``--out`` contains results of another run."""

    error = "error"
    set_aside = "set-aside"


def main(
    cards: Annotated[Path, typer.Option(help="Card file (JSONL) to ask.")],
    system: Annotated[
        str, typer.Option(help="A registered system (kg, rag, controls …) or mypkg.mod:Class.")
    ],
    out: Annotated[
        Path, typer.Option(help="Result file (JSONL); its manifest is written next to it.")
    ],
    kg_path: Annotated[
        list[Path] | None,
        typer.Option("--kg-path", "--kg", help="Graph file for systems that use one; repeatable."),
    ] = None,
    shapes: Annotated[
        list[Path] | None, typer.Option(help="SHACL file for systems that use one; repeatable.")
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(help="Shipped domain or path to a domain.toml; by default the cards'."),
    ] = None,
    other_graph: Annotated[
        bool,
        typer.Option(
            "--other-graph",
            help="Ask on the graph named here although the cards were made from another one.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of systems that choose at random.")] = 12345,
    limit: Annotated[int | None, typer.Option(min=1, help="Ask only the first N cards.")] = None,
    repeat: options.Repeats = 1,
    shard: options.ShardName = "1/1",
    overwrite: options.Overwrite = False,
    resume: options.Resume = True,
    if_stale: Annotated[
        IfStale, typer.Option(help="What to do if --out contains a run of other cards or settings.")
    ] = IfStale.error,
    retry_errors: options.RetryErrors = False,
    allow_changed: options.AllowChanged = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the system; repeatable."),
    ] = None,
    closed_book: Annotated[
        bool,
        typer.Option("--closed-book", help="Same as --set closed_book=yes (system raw)."),
    ] = False,
    announced_penalties: Annotated[
        str | None,
        typer.Option(
            "--announce-penalty",
            metavar="T,…",
            help="Tell the model that a wrong answer costs T/(1-T) points: one system for each T, "
            "as in 0,.5,.75,.9.",
        ),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(help="Same as --set embedder=… (needs retriever=dense or hybrid)."),
    ] = None,
    model: options.ModelName = None,
    concurrency: options.Concurrency = 16,
    rpm: options.RequestsPerMinute = None,
    tpm: options.TokensPerMinute = None,
    timeout: options.CallTimeout = 60.0,
    retries: options.CallRetries = 8,
    cache: options.ReplyCache = None,
    no_cache: options.NoReplyCache = False,
    prices: options.PriceFile = None,
    max_cost: options.MaxCost = None,
    max_consecutive_errors: options.MaxConsecutiveErrors = 50,
) -> None:
    """Asks a system the cards and writes one result line per answer.

    An interrupted run is resumed by giving the same command again.
    """
    from cards.card_origin import read_card_origin, require_same_graph, resolve_sources
    from eval.abstention.result import read_results
    from eval.abstention.runner import run
    from eval.abstention.system import SystemOptions
    from eval.abstention.systems.registry import make_systems, refuse_unused_model
    from eval.harness.failed_rows import ERROR, format_counts, report_failed_rows
    from eval.harness.journals.row_layout import Shard
    from eval.harness.session import RunLimits
    from eval.harness.systems.description import find_hash
    from eval.harness.systems.settings import parse_settings
    from eval.model.options import ClientOptions
    from kg.base.files import require_file
    from kg.base.provenance import manifest_path

    require_file(cards, "card file")
    parsed_shard = Shard.from_text(shard)
    limits = RunLimits(
        concurrency=concurrency, max_cost=max_cost, max_consecutive_errors=max_consecutive_errors
    )
    origin = read_card_origin(cards)
    graph_is_named = bool(domain or kg_path)
    graph, shape_files = tuple(kg_path or ()), tuple(shapes or ())
    if not other_graph:
        domain, graph, shape_files = resolve_sources(origin, cards, domain, graph, shape_files)
    pairs = [*(settings or ()), *(["closed_book=yes"] if closed_book else [])]
    pairs += [f"embedder={embedder}"] if embedder is not None else []
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
        out=out,
        outputs=(out, manifest_path(out)),
    )
    system_options = SystemOptions(
        domain=domain,
        graph=graph,
        shapes=shape_files,
        seed=seed,
        settings=parse_settings(pairs),
        client=client,
    )
    systems = [
        made
        for penalty in (announced_penalties.split(",") if announced_penalties else [""])
        for made in make_systems(system, _with_penalty(system_options, penalty.strip()))
    ]
    refuse_unused_model(system_options, {system: systems})
    if not other_graph:
        require_same_graph(origin, find_hash(systems, "graph"), cards)
    finished_run = run(
        cards,
        systems,
        out,
        system_name=system,
        seed=seed,
        domain=origin.domain or domain,
        other_graph=other_graph,
        limit=limit,
        repeats=repeat,
        shard=parsed_shard,
        resume=resume,
        overwrite=overwrite,
        set_aside=if_stale is IfStale.set_aside,
        retry_errors=retry_errors,
        allow_changed=allow_changed,
        limits=limits,
    )
    counts = finished_run.manifest.counts
    counts_text = format_counts(counts)
    earlier_text = (
        f" ({finished_run.already_answered} were there already)"
        if finished_run.already_answered
        else ""
    )
    print_text(f"{system}: {finished_run.asked} answers{earlier_text} → {out}   [{counts_text}]")
    if calls := finished_run.manifest.calls:
        print_text(f"model calls: {calls.format_summary()}")
    if not graph_is_named and origin.domain is None and finished_run.manifest.graph_sha256:
        print_warning(
            "the cards have no manifest that names their graph, so the system used the shipped "
            "domain rivers; name a graph with --domain or --kg-path"
        )
    if counts[ERROR]:
        outcomes = ((result.system, result.pred) for result in read_results(out))
        report_failed_rows(outcomes, field="error", where=out)


def _with_penalty(options: SystemOptions, penalty: str) -> SystemOptions:
    if not penalty:
        return options
    from msgspec.structs import replace

    return replace(options, settings={**options.settings, "penalty": penalty})


if __name__ == "__main__":
    run_script(main)
