"""Builds a run from documents: ``epoche kg build``, or this file as a script."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eval.text.steps import KeywordStep, VerifyStep
from kg.base import options
from kg.base.console import print_text, run_script, show_stages
from kg.base.plain_text import join_first
from kg.text.run.layout import KEYWORD_CACHE

if TYPE_CHECKING:
    from kg.text.run.folder import Run


def main(
    documents: Annotated[
        list[Path],
        typer.Argument(
            metavar="DOCS...",
            help="Documents (Markdown, reStructuredText, AsciiDoc, text, HTML, PDF, Word, "
            "notebooks), folders of them, or chunks (.jsonl).",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", help="Folder of the run; the link latest next to it points to it."),
    ],
    chunk_size: Annotated[
        int, typer.Option(min=50, max=100_000, help="Maximum number of characters in a chunk.")
    ] = 2000,
    overlap: Annotated[
        int, typer.Option(min=0, help="Characters shared by neighbouring chunks of a section.")
    ] = 300,
    keywords: Annotated[
        KeywordStep, typer.Option(help="How keywords are extracted: by statistics or by a model.")
    ] = KeywordStep.yake,
    top_n: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=500,
            help="Maximum number of keywords per chunk; by default it depends on the length.",
        ),
    ] = None,
    no_canonical: Annotated[
        bool, typer.Option("--no-canonical", help="Do not merge synonyms, only spellings.")
    ] = False,
    embedder: Annotated[
        str,
        typer.Option(
            help="Embedder that groups keywords: lexical (no model), minilm, a folder or hub name."
        ),
    ] = "lexical",
    threshold: Annotated[
        float, typer.Option(min=0.01, max=0.99, help="Minimum cosine of keywords to compare.")
    ] = 0.78,
    max_group_size: Annotated[
        int, typer.Option(min=2, help="Maximum number of keywords compared in one group.")
    ] = 30,
    verify: Annotated[
        VerifyStep, typer.Option(help="What decides which keywords are synonyms.")
    ] = VerifyStep.rules,
    fallback_threshold: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Minimum cosine at which an unknown word in a query matches a concept.",
        ),
    ] = 0.85,
    index_candidates: Annotated[
        bool,
        typer.Option(
            "--index-candidates/--no-index-candidates",
            help="Also compare other spellings and spacings whose embeddings differ.",
        ),
    ] = True,
    min_cooccurrence: Annotated[
        int, typer.Option(min=1, help="Minimum number of chunks that linked concepts share.")
    ] = 1,
    drop_isolates: Annotated[
        bool, typer.Option("--drop-isolates", help="Leave out concepts without a link.")
    ] = False,
    no_sections: Annotated[
        bool, typer.Option("--no-sections", help="Build no section tree.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Treat an unusable model reply as an error (33).")
    ] = False,
    extend: Annotated[
        bool, typer.Option("--extend", help="Add the documents to those of the run at --out.")
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume/--no-resume",
            help=f"Reuse keywords cached in {KEYWORD_CACHE} next to --out, and cache new ones.",
        ),
    ] = True,
    model: options.ModelName = None,
    concurrency: options.Concurrency = 16,
    rpm: options.RequestsPerMinute = None,
    tpm: options.TokensPerMinute = None,
    timeout: options.CallTimeout = 60.0,
    retries: options.CallRetries = 8,
    cache: options.ReplyCache = None,
    no_cache: options.NoReplyCache = False,
    prices: options.PriceFile = None,
) -> None:
    """Builds a concept graph and a section tree from documents.

    Run the same command again to resume an interrupted build. An existing run at --out is replaced
    only when the new one is complete.
    """
    from eval.model.options import ClientOptions
    from eval.text.steps import open_extractor, open_verifier
    from kg.base.errors import SettingError
    from kg.text.documents import SUFFIXES
    from kg.text.run.pipeline import BuildPlan, build_run
    from kg.text.run.sources import count_unread_files, find_source_files

    if model is not None and not (
        keywords is KeywordStep.model or (verify is VerifyStep.model and not no_canonical)
    ):
        raise SettingError(
            "neither the keywords nor their synonyms ask a model",
            where=f"--model {model}",
            hint="Leave --model out, or give --keywords model or --verify model.",
        )
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
        outputs=(out, out.parent / KEYWORD_CACHE),
    )
    unread = count_unread_files(documents, SUFFIXES)
    plan = BuildPlan(
        documents=tuple(find_source_files(documents, SUFFIXES)),
        files_not_read=sum(unread.values()),
        out=out,
        chunk_size=chunk_size,
        overlap=overlap,
        canonical=not no_canonical,
        threshold=threshold,
        max_group_size=max_group_size,
        fallback_threshold=fallback_threshold,
        index_candidates=index_candidates,
        min_cooccurrence=min_cooccurrence,
        drop_isolates=drop_isolates,
        sections=not no_sections,
        cache=out.parent / KEYWORD_CACHE if resume else None,
        strict=strict,
        extend=extend,
    )
    extractor = open_extractor(keywords, top_n, client)
    verifier, keyword_embedder = None, None
    if plan.canonical:
        from kg.embedding.factory import open_embedder

        verifier, keyword_embedder = open_verifier(verify, client), open_embedder(embedder)
    with show_stages() as watch:
        run = build_run(plan, extractor, verifier, keyword_embedder, watch)
    _print_summary(run, unread)


def _print_summary(run: Run, unread: Mapping[str, int]) -> None:
    from kg.text.run.inspection import PROBLEM_COUNTS

    counts = run.metadata.counts
    print_text(
        f"{counts['documents']:,} documents, {counts['chunks']:,} chunks, "
        f"{counts['keywords']:,} keywords, {counts['concepts']:,} concepts, "
        f"{counts['links']:,} links, {counts['sections']:,} sections → {run.folder}   "
        f"[run:{run.sha256[:12]}]"
    )
    if unread:
        kinds = [f"{count:,} {suffix}" for suffix, count in unread.items()]
        print_text(f"not read, because no reader knows the format: {join_first(kinds, 12)}")
    for name in PROBLEM_COUNTS:
        if counts.get(name):
            print_text(f"{name.replace('_', ' ')}: {counts[name]:,}")


if __name__ == "__main__":
    run_script(main)
