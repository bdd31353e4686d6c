"""Builds a run from documents: ``epoche kg build``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eval.text.steps import KeywordStep, VerifyStep
from kg.base import options
from kg.base.console import run_script, say, shown_stages
from kg.text.run.form import KEYWORD_CACHE

if TYPE_CHECKING:
    from kg.text.run.folder import Run


def main(
    documents: Annotated[
        list[Path],
        typer.Argument(
            metavar="DOCS...",
            help="Markdown, text, PDF and HTML files, folders of them, or chunks (.jsonl).",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", help="Folder of the run; a link latest beside it points there."),
    ],
    chunk_size: Annotated[
        int, typer.Option(min=50, max=100_000, help="Characters a chunk may have.")
    ] = 2000,
    overlap: Annotated[
        int, typer.Option(min=0, help="Characters that neighbours in a section share.")
    ] = 300,
    keywords: Annotated[
        KeywordStep, typer.Option(help="Who finds keywords: statistics, or a model.")
    ] = KeywordStep.yake,
    top_n: Annotated[
        int | None,
        typer.Option(min=1, max=500, help="Keywords a chunk may have; by default its length says."),
    ] = None,
    no_canonical: Annotated[
        bool, typer.Option("--no-canonical", help="Merge no synonyms, only spellings.")
    ] = False,
    embedder: Annotated[
        str,
        typer.Option(help="Groups keywords: lexical (no model), minilm, a folder or hub name."),
    ] = "lexical",
    threshold: Annotated[
        float, typer.Option(min=0.01, max=0.99, help="Cosine from which keywords are compared.")
    ] = 0.78,
    max_group_size: Annotated[
        int, typer.Option(min=2, help="Keywords compared at once, at most.")
    ] = 30,
    verify: Annotated[
        VerifyStep, typer.Option(help="Who decides what is a synonym: rules, or a model.")
    ] = VerifyStep.rules,
    fallback_threshold: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Cosine from which an unknown word is a known one."),
    ] = 0.85,
    index_candidates: Annotated[
        bool,
        typer.Option(
            "--index-candidates/--no-index-candidates",
            help="Also compare acronyms with what they may stand for, and other spellings.",
        ),
    ] = True,
    min_cooccurrence: Annotated[
        int, typer.Option(min=1, help="Chunks two concepts must share to be linked.")
    ] = 1,
    drop_isolates: Annotated[
        bool, typer.Option("--drop-isolates", help="Leave out concepts linked to nothing.")
    ] = False,
    no_sections: Annotated[
        bool, typer.Option("--no-sections", help="Build no section tree.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="A model's unusable reply is an error (33).")
    ] = False,
    extend: Annotated[
        bool, typer.Option("--extend", help="Add the documents to those of the run at --out.")
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume/--no-resume",
            help=f"Use and keep keywords found before, in {KEYWORD_CACHE} beside --out.",
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

    A build that was cut off goes on where it stopped when the same command is given again. An
    older run at --out stays as it is until the new one is whole.
    """
    from eval.model.options import ClientOptions
    from eval.text.steps import open_extractor, open_verifier
    from kg.text.documents import SUFFIXES
    from kg.text.run.pipeline import BuildPlan, build
    from kg.text.run.sources import source_files

    client = ClientOptions.of_flags(
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
        written=(out, out.parent / KEYWORD_CACHE),
    )
    plan = BuildPlan(
        documents=tuple(source_files(documents, SUFFIXES)),
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
    verifier, loaded = None, None
    if plan.canonical:
        from kg.embedding.choosing import open_embedder

        verifier, loaded = open_verifier(verify, client), open_embedder(embedder)
    with shown_stages() as watch:
        run = build(plan, extractor, verifier, loaded, watch)
    _tell(run)


def _tell(run: Run) -> None:
    counts = run.metadata.counts
    say(
        f"{counts['documents']:,} documents, {counts['chunks']:,} chunks, "
        f"{counts['keywords']:,} keywords, {counts['concepts']:,} concepts, "
        f"{counts['links']:,} links, {counts['sections']:,} sections → {run.folder}   "
        f"[run:{run.sha256[:12]}]"
    )
    for name in ("keywords_invented", "chunks_without_reply", "groups_without_verdict"):
        if counts.get(name):
            say(f"{name.replace('_', ' ')}: {counts[name]:,}")


if __name__ == "__main__":
    run_script(main)
