"""Extracts triples from a run's chunks with a model: ``epoche kg extract``, or as a script."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kg.base import options
from kg.base.console import print_text, print_warning, run_script, show_stages

if TYPE_CHECKING:
    from eval.text.admission import Decision
    from eval.text.triples import ProposedTriple

_SUFFIXES = (".ttl", ".nt")
"""Extensions that the output graph may have; N-Triples is also valid Turtle."""
_FACTS_SUFFIX = ".jsonl"
"""Extension of the facts that are extracted without an ontology."""


def main(
    run: options.RunFolder,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="Graph (.ttl or .nt) of the admitted triples only; or, without an ontology, "
            "facts (.jsonl).",
        ),
    ],
    kg: options.GraphFiles = None,
    shapes: options.ShapesFiles = None,
    domain: options.DomainName = None,
    namespace: Annotated[
        str, typer.Option(help="Prefix of the IRIs of entities that are not in the graph.")
    ] = "urn:epoche:text:",
    limit: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of chunks to read.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Treat an unusable model reply as an error (33).")
    ] = False,
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
    """Extracts statements from documents and keeps those that a graph's shapes allow.

    With --out FILE.jsonl, no ontology is needed: statements with any relation become facts, which
    the retriever facts searches (--facts). Otherwise, the ontology is that of a domain, or of a
    graph and its shapes. A file next to --out with the
    extension .proposals.jsonl lists every proposed statement with its quote, its outcome, and the
    reason if it was rejected.
    """
    from eval.model.options import ClientOptions
    from eval.text.admission import admit_claims
    from eval.text.ontology import MAX_RELATIONS, Ontology
    from eval.text.triples import ModelTriples
    from kg.base.errors import SettingError, StrictModelError
    from kg.base.files import check_output, to_json_bytes, write_files_atomic
    from kg.knowledge import KnowledgeBase
    from kg.text.run.folder import open_run

    has_ontology = domain is not None or bool(kg)
    is_open = out.suffix == _FACTS_SUFFIX and not (has_ontology or shapes)
    if not (has_ontology or is_open):
        raise SettingError(
            "no ontology given",
            where="--domain",
            hint="Give a domain, or a graph and its shapes with --kg and --shapes; or name an "
            f"--out that ends in {_FACTS_SUFFIX}, for facts without an ontology.",
        )
    if out.suffix not in _SUFFIXES and not is_open:
        raise SettingError(
            f"the output must end in {' or '.join(_SUFFIXES)}, not {out.suffix or 'nothing'}",
            where="--out",
            hint="Both contain N-Triples, which is also valid Turtle.",
        )
    proposals_path = out.with_suffix(".proposals.jsonl")
    for path in (out, proposals_path):
        check_output(path, [*(kg or ()), *(shapes or ())])
    knowledge_base = None
    if not is_open:
        knowledge_base = KnowledgeBase.open(domain, graph=list(kg or ()), shapes=list(shapes or ()))
    chunks = open_run(run).chunks[:limit]
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
        outputs=(out, proposals_path),
    )
    ontology = Ontology(knowledge_base, namespace) if knowledge_base is not None else None
    if ontology is not None and ontology.omitted_relations:
        print_warning(
            f"the prompt lists {MAX_RELATIONS} relations and omits {ontology.omitted_relations:,} "
            "more; list the relations you need in a domain.toml"
        )
    extractor = ModelTriples(client, ontology)
    with show_stages() as show_stage:
        proposals = extractor.extract_triples(
            chunks, lambda done: show_stage("chunks", done, len(chunks))
        )
        if strict and extractor.failed:
            raise StrictModelError(
                f"{extractor.failed} of {len(chunks)} chunks got no usable reply",
                where="--strict",
                hint="Run it again (usable replies are cached), or omit --strict.",
            )
        if knowledge_base is None or ontology is None:
            _write_facts(out, proposals_path, proposals, len(chunks), extractor.failed)
            return
        claims = [proposal.claim for proposal in proposals if proposal.claim is not None]
        decisions = admit_claims(
            knowledge_base, claims, lambda done: show_stage("statements", done, len(claims))
        )
    rows = list(_build_rows(proposals, decisions))
    lines = "".join(to_json_bytes(row).decode() + "\n" for row in rows)
    graph = _render_ntriples(decisions, ontology.minted)
    write_files_atomic({out: graph, proposals_path: lines.encode()})
    outcomes = Counter(str(row["outcome"]) for row in rows)
    summary = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
    print_text(f"{len(chunks):,} chunks, {len(rows):,} statements: {summary or 'none'} → {out}")
    if extractor.failed:
        print_text(f"chunks without a usable reply: {extractor.failed:,}")


def _write_facts(
    out: Path,
    proposals_path: Path,
    proposals: list[ProposedTriple],
    n_chunks: int,
    n_failed: int,
) -> None:
    """Writes the usable statements as facts, and all statements with the reason of the others."""
    from eval.text.triples import list_facts
    from kg.base.files import to_json_bytes, write_files_atomic

    facts = list_facts(proposals)
    rows = [
        {**row, "outcome": "unusable" if row["reason"] else "fact"}
        for row in _build_rows(proposals, [])
    ]
    contents = {
        path: b"".join(to_json_bytes(line) + b"\n" for line in lines)
        for path, lines in ((out, list[object](facts)), (proposals_path, list[object](rows)))
    }
    write_files_atomic(contents)
    n_unusable = len(proposals) - len(facts)
    print_text(f"{n_chunks:,} chunks, {len(facts):,} facts, {n_unusable:,} unusable → {out}")
    if n_failed:
        print_text(f"chunks without a usable reply: {n_failed:,}")


def _build_rows(proposals: list[ProposedTriple], decisions: list[Decision]) -> list[dict[str, Any]]:
    """Returns a row for each proposal with its outcome and reason.

    ``decisions`` has one entry for each proposal with a claim, in the order of the proposals.
    """
    import msgspec

    remaining_decisions = iter(decisions)
    rows = []
    for proposal in proposals:
        row = msgspec.to_builtins(proposal)
        reason = row.pop("problem")
        outcome = "unusable"
        if proposal.claim is not None:
            decision = next(remaining_decisions)
            outcome, reason = decision.outcome, decision.reason
        rows.append({**row, "outcome": outcome, "reason": reason})
    return rows


def _render_ntriples(decisions: list[Decision], minted: dict[str, str]) -> bytes:
    """Renders the admitted triples, and labels of the new entities in them, as N-Triples."""
    from kg.claims import Claim
    from kg.graph import Graph
    from kg.terms import RDFS, write_literal

    admitted_claims = [decision.claim for decision in decisions if decision.outcome == "admitted"]
    entities = {term for claim in admitted_claims for term in (claim.subj, claim.obj)}
    label_claims = [
        Claim(iri, RDFS + "label", write_literal(name))
        for iri, name in minted.items()
        if iri in entities
    ]
    return Graph.from_claims([*admitted_claims, *label_claims]).to_ntriples()


if __name__ == "__main__":
    run_script(main)
