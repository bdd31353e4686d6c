"""``epoche kg export``: a run's concepts as a SKOS thesaurus, to make cards from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import run_script, say
from kg.base.options import Overwrite, RunFolder


def main(
    run: RunFolder,
    ttl: Annotated[
        Path,
        typer.Option("--ttl", help="Turtle file; shapes and domain.toml are written beside it."),
    ],
    min_chunks: Annotated[
        int,
        typer.Option(min=1, help="Chunks that must speak of a word which no heading names."),
    ] = 2,
    related_npmi: Annotated[
        float, typer.Option(min=-1.0, max=1.0, help="NPMI from which concepts are related.")
    ] = 0.5,
    withhold: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.9,
            help="Share of concepts of which, by lot, it is not stated what they fall under.",
        ),
    ] = 0.3,
    everything: Annotated[
        bool,
        typer.Option("--everything", help="State every keyword, be it a name or not."),
    ] = False,
    base: Annotated[
        str, typer.Option(help="What the IRIs begin with.")
    ] = "https://epoche.example/concepts/",
    overwrite: Overwrite = False,
) -> None:
    """Writes the concepts of a run as RDF, with shapes and the words for questions."""
    from kg.text.run.folder import open_run
    from kg.text.thesaurus.thesaurus import thesaurus_of
    from kg.text.thesaurus.writing import check_base, write_thesaurus

    check_base(base)
    opened = open_run(run)
    found = thesaurus_of(
        opened,
        min_chunks=min_chunks,
        related_npmi=related_npmi,
        withhold=withhold,
        everything=everything,
    )
    names = [document.filename for document in opened.metadata.documents]
    title = f"Concepts of {names[0] if len(names) == 1 else f'{len(names)} documents'}"
    files = write_thesaurus(found, ttl, title=title, base=base, overwrite=overwrite)
    say(
        f"{len(found.labels):,} of {len(opened.concepts):,} concepts, {len(found.broader):,} "
        f"broader (and {len(found.withheld):,} withheld), {len(found.related):,} related"
    )
    say(f"→ {', '.join(map(str, files.values()))}")
    say(f"Next: epoche cards --domain {files['domain']} --num-per-type 50")


if __name__ == "__main__":
    run_script(main)
