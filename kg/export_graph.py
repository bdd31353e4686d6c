"""``epoche kg export``: exports a run's concepts as a SKOS thesaurus, to make cards from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import print_text, run_script
from kg.base.options import Overwrite, RunFolder


def main(
    run: RunFolder,
    ttl: Annotated[
        Path,
        typer.Option("--ttl", help="Turtle file; shapes and domain.toml are written next to it."),
    ],
    min_chunks: Annotated[
        int,
        typer.Option(
            min=1, help="Minimum number of chunks for a keyword that does not occur in a heading."
        ),
    ] = 2,
    related_npmi: Annotated[
        float,
        typer.Option(min=-1.0, max=1.0, help="Minimum NPMI of concepts exported as related."),
    ] = 0.5,
    withhold: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.9,
            help="Share of concepts, sampled at random, whose broader concepts are left out.",
        ),
    ] = 0.0,
    everything: Annotated[
        bool,
        typer.Option("--everything", help="Export every keyword, not only names."),
    ] = False,
    base: Annotated[
        str, typer.Option(help="Prefix of the exported IRIs.")
    ] = "https://epoche.example/concepts/",
    overwrite: Overwrite = False,
) -> None:
    """Exports the concepts of a run as RDF, with shapes and question templates."""
    from kg.text.run.folder import open_run
    from kg.text.thesaurus.thesaurus import build_thesaurus
    from kg.text.thesaurus.writer import check_base, write_thesaurus

    check_base(base)
    loaded_run = open_run(run)
    thesaurus = build_thesaurus(
        loaded_run,
        min_chunks=min_chunks,
        related_npmi=related_npmi,
        withheld_share=withhold,
        include_all=everything,
    )
    names = [document.filename for document in loaded_run.metadata.documents]
    title = f"Concepts of {names[0] if len(names) == 1 else f'{len(names)} documents'}"
    files = write_thesaurus(thesaurus, ttl, title=title, base=base, overwrite=overwrite)
    print_text(
        f"{len(thesaurus.labels):,} of {len(loaded_run.concepts):,} concepts, "
        f"{len(thesaurus.broader):,} broader (and {len(thesaurus.withheld):,} withheld), "
        f"{len(thesaurus.related):,} related"
    )
    print_text(f"→ {', '.join(map(str, files.values()))}")
    print_text(f"Next: epoche cards --domain {files['domain']} --num-per-type 50")


if __name__ == "__main__":
    run_script(main)
