"""``epoche kg init``: profiles a graph and drafts a domain from which cards can be made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import print_json, print_text, print_warning, run_script, show_stages
from kg.base.options import Overwrite, ShapesFiles

if TYPE_CHECKING:
    from kg.profile.draft import DomainTexts


def main(
    graph: Annotated[
        list[Path],
        typer.Argument(help="Graph files, read as one graph; or facts from documents (.jsonl)."),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the domain; new, or a draft.")],
    shapes: ShapesFiles = None,
    passages: Annotated[
        Path | None,
        typer.Option(help="Passages (JSONL: id, title, text) or the run that facts come from."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the domain; by default that of the folder.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the readiness as JSON.")] = False,
) -> None:
    """Drafts a domain from a graph: rules that its data confirm, words, and what can be asked.

    Running it again keeps the answers in confirm.toml. Facts that were extracted from documents
    (JSON lines with subject, relation, object, quote and passage) become a graph first; with
    --passages, only those that their passage states.
    """
    # Loaded here, so that `epoche --help` stays quick.
    from kg.base.errors import SettingError
    from kg.base.files import to_json_bytes, write_files_atomic
    from kg.base.plain_text import clean_text, format_count
    from kg.graph import Graph
    from kg.profile.answers import read_answers
    from kg.profile.draft import DomainTexts, draft_domain
    from kg.profile.folder import FACTS_GRAPH, add_checksum, check_folder

    check_folder(
        out, [*graph, *(shapes or ()), *([passages] if passages else [])], overwrite=overwrite
    )
    answers = read_answers(out / "confirm.toml")
    with show_stages() as show_stage:
        show_stage("reading", 0, 0)
        texts = DomainTexts()
        if any(".jsonl" in path.suffixes for path in graph):
            texts = _write_fact_graph(graph, passages, out)
            graph = [out / FACTS_GRAPH]
        elif passages:
            raise SettingError(
                "passages are for facts that were extracted from them, not for a graph",
                where="--passages",
                hint="Give the facts as a .jsonl file.",
            )
        draft = draft_domain(
            Graph.load(graph),
            out,
            answers,
            name=clean_text(name or "") or clean_text(out.resolve().name) or "draft",
            shapes_files=shapes or (),
            texts=texts,
            show_stage=show_stage,
        )
    report = draft.report
    write_files_atomic({out / file: add_checksum(file, text) for file, text in draft.files.items()})
    if as_json:
        print_json(to_json_bytes(report, indent=2).decode())
        return
    (print_text if report.asked else print_warning)(report.summary)
    for row in report.predicates[: report.asked]:
        print_text(f"  {row.label}: up to {row.ceiling:,} cards per label ({row.support})")
    if report.doubtful:
        print_text(
            f"{format_count(report.doubtful, 'more predicate')} could be asked about if the data's "
            f"rule is true in the world: say so in {out / 'confirm.toml'} and run this again"
        )
    print_text(f"→ {', '.join(str(out / file) for file in draft.files)}")
    print_text(
        f"Next: make all DOMAIN={out}, or epoche cards --domain {out}"
        if report.asked
        else f"Next: read {out / 'readiness.md'}, which says why of each predicate"
    )


def _write_fact_graph(facts: list[Path], passages: Path | None, out: Path) -> DomainTexts:
    """Writes the graph of facts from documents, with the quotes that state them."""
    from kg.base.files import to_json_bytes, write_files_atomic
    from kg.profile.draft import DomainTexts
    from kg.profile.folder import FACTS_GRAPH, QUOTES, add_checksum
    from kg.text.evidence import read_passages
    from kg.text.stated_facts import build_fact_domain, read_facts

    domain = build_fact_domain(read_facts(facts), read_passages(passages) if passages else ())
    files = {out / FACTS_GRAPH: add_checksum(FACTS_GRAPH, domain.ntriples)}
    if passages:
        files[out / QUOTES] = b"".join(to_json_bytes(quote) + b"\n" for quote in domain.quotes)
    write_files_atomic(files)
    for note in domain.notes:
        print_text(note)
    return DomainTexts(domain.wordings, passages, QUOTES)


if __name__ == "__main__":
    run_script(main)
