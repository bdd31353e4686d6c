"""Reads triples off a run's chunks by a model: ``epoche kg extract``, or this file as a script."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kg.base import options
from kg.base.console import run_script, say, shown_stages, warn

if TYPE_CHECKING:
    from eval.text.admitting import Decision
    from eval.text.triples import Proposal

_SUFFIXES = (".ttl", ".nt")


def main(
    run: options.RunFolder,
    out: Annotated[
        Path,
        typer.Option("--out", help="Graph (.ttl or .nt) of what was admitted, and nothing else."),
    ],
    kg: options.GraphFiles = None,
    shapes: options.ShapesFiles = None,
    domain: options.DomainName = None,
    namespace: Annotated[
        str, typer.Option(help="What IRIs of things the graph does not know begin with.")
    ] = "urn:epoche:text:",
    limit: Annotated[int | None, typer.Option(min=1, help="Read so many chunks only.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="A model's unusable reply is an error (33).")
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
    """Reads statements off documents, keeps those a graph's shapes allow, and says why not.

    The ontology is a domain's, or a graph's with its shapes. Beside --out a file of the same name
    with .proposals.jsonl holds every statement that was proposed, its quote and what became of it.
    """
    from eval.model.options import ClientOptions
    from eval.text.admitting import admit
    from eval.text.ontology import MAX_RELATIONS, Ontology
    from eval.text.triples import ModelTriples
    from kg.base.errors import SettingError, StrictModelError
    from kg.base.files import check_output, to_json_bytes, write_files_atomic
    from kg.knowledge import KnowledgeBase
    from kg.text.run.folder import open_run

    if domain is None and not kg:
        raise SettingError(
            "no ontology given",
            where="--domain",
            hint="Name a domain, or a graph and its shapes with --kg and --shapes.",
        )
    if out.suffix not in _SUFFIXES:
        raise SettingError(
            f"a graph is written as {' or '.join(_SUFFIXES)}, not {out.suffix or 'without ending'}",
            where="--out",
            hint="Both hold N-Triples, which is Turtle too.",
        )
    proposals_path = out.with_suffix(".proposals.jsonl")
    for path in (out, proposals_path):
        check_output(path, [*(kg or ()), *(shapes or ())])
    base = KnowledgeBase.open(domain, graph=list(kg or ()), shapes=list(shapes or ()))
    chunks = open_run(run).chunks[:limit]
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
        written=(out, proposals_path),
    )
    ontology = Ontology(base, namespace)
    if ontology.untold:
        warn(
            f"the model is told of {MAX_RELATIONS} relations, and not of {ontology.untold:,} more: "
            "name those that matter in a domain.toml"
        )
    reader = ModelTriples(client, ontology)
    with shown_stages() as watch:
        proposed = reader.extract(chunks, lambda done: watch("chunks", done, len(chunks)))
        if strict and reader.failed:
            raise StrictModelError(
                f"{reader.failed} of {len(chunks)} chunks got no usable reply",
                where="--strict",
                hint="Run it again: usable replies are kept; or leave --strict out.",
            )
        claims = [proposal.claim for proposal in proposed if proposal.claim is not None]
        decisions = admit(base, claims, lambda done: watch("statements", done, len(claims)))
    rows = list(_rows(proposed, decisions))
    lines = "".join(to_json_bytes(row).decode() + "\n" for row in rows)
    graph = _ntriples(decisions, ontology.minted)
    write_files_atomic({out: graph.encode(), proposals_path: lines.encode()})
    outcomes = Counter(str(row["outcome"]) for row in rows)
    told = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
    say(f"{len(chunks):,} chunks, {len(rows):,} statements: {told or 'none'} → {out}")
    if reader.failed:
        say(f"chunks without a usable reply: {reader.failed:,}")


def _rows(proposed: list[Proposal], decisions: list[Decision]) -> list[dict[str, Any]]:
    """Each proposal with what became of it."""
    import msgspec

    decided = iter(decisions)
    rows = []
    for proposal in proposed:
        row = msgspec.to_builtins(proposal)
        reason = row.pop("problem")
        outcome = "unusable"
        if proposal.claim is not None:
            decision = next(decided)
            outcome, reason = decision.outcome, decision.reason
        rows.append({**row, "outcome": outcome, "reason": reason})
    return rows


def _ntriples(decisions: list[Decision], minted: dict[str, str]) -> str:
    """The admitted triples, and the names of things the graph did not know, as N-Triples."""
    from kg.claims import Claim
    from kg.terms import RDFS, literal_text, ntriples_term

    admitted = [decision.claim for decision in decisions if decision.outcome == "admitted"]
    mentioned = {term for claim in admitted for term in (claim.subj, claim.obj)}
    names = [
        Claim(iri, RDFS + "label", literal_text(name))
        for iri, name in minted.items()
        if iri in mentioned
    ]
    lines = {
        f"{ntriples_term(c.subj)} {ntriples_term(c.pred)} {ntriples_term(c.obj)} .\n"
        for c in [*admitted, *names]
    }
    return "".join(sorted(lines))


if __name__ == "__main__":
    run_script(main)
