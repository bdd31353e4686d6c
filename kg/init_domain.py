"""``epoche kg init``: profiles a graph and drafts a domain from which cards can be made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import print_json, print_text, print_warning, run_script, show_stages
from kg.base.options import Overwrite, ShapesFiles

if TYPE_CHECKING:
    from kg.profile.review import Review
    from kg.text.facts.domain import FactDomain
    from kg.text.facts.fact import Fact


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
    implied: Annotated[
        bool,
        typer.Option(
            "--implied", help="Use facts whose sentence lacks words of the relation, too."
        ),
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="Name of the domain; by default that of the folder.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the readiness as JSON.")] = False,
) -> None:
    """Drafts a domain from a graph: rules that its data confirm, words, and what can be asked.

    Running it again keeps the answers in confirm.toml and files that you have edited: a new draft
    of these is written beside them (domain.new.toml). Facts that were extracted from documents
    (JSON lines with subject, relation, object, quote and passage) become a graph first; with
    --passages, only those that their passage states.
    """
    # Loaded here, so that `epoche --help` stays quick.
    from kg.base.errors import SettingError
    from kg.base.files import to_json_bytes, write_files_atomic
    from kg.base.plain_text import clean_text
    from kg.graph import Graph
    from kg.profile.answers import read_answers, refuse_unknown_answers
    from kg.profile.domain_files import DomainTexts
    from kg.profile.draft import draft_domain
    from kg.profile.folder import (
        ANSWERS_FILE,
        FACTS_GRAPH,
        QUOTES,
        check_folder,
        is_unchanged,
        place_files,
    )
    from kg.profile.readiness import describe_doubtful
    from kg.profile.review import (
        REVIEW_FILE,
        REVIEW_PAGE,
        read_review,
        render_review_page,
    )

    check_folder(
        out, [*graph, *(shapes or ()), *([passages] if passages else [])], overwrite=overwrite
    )
    answers = own_answers = read_answers(out / ANSWERS_FILE)
    # What init wrote and nobody edited can be about what a changed graph no longer has.
    is_answered = not is_unchanged(out / ANSWERS_FILE)
    with show_stages() as show_stage:
        show_stage("reading", 0, 0)
        facts: FactDomain | None = None
        rejected: list[Fact] = []
        if any(".jsonl" in path.suffixes for path in graph):
            review = read_review(out / REVIEW_FILE)
            answers = review.merge_answers(answers)
            facts, rejected = _write_fact_graph(
                graph, passages, out, review, accept_implied=implied
            )
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
            texts=DomainTexts(facts.wordings, passages, QUOTES) if facts else None,
            show_stage=show_stage,
        )
    stale = [one for one in draft.unknown_answers if one.key in getattr(own_answers, one.table)]
    if is_answered:
        refuse_unknown_answers(stale, out / ANSWERS_FILE)
    report = draft.report
    pages = {}
    if facts:
        page = render_review_page(report.domain, report.predicates, facts.facts, rejected, answers)
        pages[out / REVIEW_PAGE] = page.encode()
    files, file_notes = place_files(out, draft.files, overwrite=overwrite)
    write_files_atomic(files | pages)
    for note in facts.notes if facts else ():
        (print_warning if as_json else print_text)(note)
    for one in stale:
        print_warning(f"the graph no longer has {one}, which was {str(one.is_true).lower()}")
    for note in (*draft.report.skipped, *draft.notes, *file_notes):
        print_warning(note)
    if as_json:
        print_json(to_json_bytes(report, indent=2).decode())
        return
    (print_text if report.asked else print_warning)(report.summary)
    for row in report.predicates[: report.asked]:
        print_text(f"  {row.label}: up to {row.ceiling:,} cards per label ({row.support})")
    if doubtful := describe_doubtful(report):
        print_text(f"{doubtful}: say so in {out / 'confirm.toml'} and run this again")
    print_text(f"→ {', '.join(map(str, files))}")
    if facts:
        print_text(f"To reject facts that no passage states, open {out / REVIEW_PAGE}")
    if report.asked:
        print_text(f"Next: make all DOMAIN={out}, or epoche cards --domain {out}")
        return
    print_warning(f"No set of cards can be made of {out} yet. {report.advice}")
    print_text(f"Next: read {out / 'readiness.md'}, which says why of each predicate")


def _write_fact_graph(
    files: list[Path],
    passages: Path | None,
    out: Path,
    review: Review,
    *,
    accept_implied: bool,
) -> tuple[FactDomain, list[Fact]]:
    """Writes the graph of facts from documents, with the quotes that state them.

    Returns:
        The graph, and the facts that were rejected.
    """
    from kg.base.files import to_json_bytes, write_files_atomic
    from kg.base.plain_text import format_count
    from kg.profile.folder import FACTS_GRAPH, QUOTES, add_checksum
    from kg.profile.review import REVIEW_FILE
    from kg.text.facts.domain import build_fact_domain, read_extracted_facts
    from kg.text.facts.evidence import read_passages

    facts = read_extracted_facts(files)
    accepted = [fact for fact in facts if fact.key not in review.rejected]
    rejected = [fact for fact in facts if fact.key in review.rejected]
    notes: list[str] = []
    if rejected:
        n_rejected = format_count(len(rejected), "fact")
        notes.append(f"{n_rejected} left out that you rejected in {out / REVIEW_FILE}")
    domain = build_fact_domain(
        accepted, read_passages(passages) if passages else (), accept_implied=accept_implied
    )
    contents = {out / FACTS_GRAPH: add_checksum(FACTS_GRAPH, domain.ntriples)}
    if passages:
        contents[out / QUOTES] = b"".join(to_json_bytes(quote) + b"\n" for quote in domain.quotes)
    write_files_atomic(contents)
    return domain._replace(notes=(*notes, *domain.notes)), rejected


if __name__ == "__main__":
    run_script(main)
