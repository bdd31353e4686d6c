"""Opens the knowledge base for a card set: resolves predicates and checks the graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast, get_args

from kg.base.console import print_warning
from kg.base.errors import DomainError, EmptyGraphError, InvalidGraphError
from kg.claims import Regime, Violation
from kg.domain import Domain, load_domain
from kg.fact_predicates import find_notes
from kg.knowledge import Engine, KnowledgeBase
from kg.profile.folder import READINESS_PAGE
from kg.profile.readiness import ADVICE_ON_DOUBTS, find_askable_predicates
from kg.shapes.vocabulary import SH
from kg.skipped_content import describe_skipped_content
from kg.vocabulary import is_vocabulary

MAX_CHECKED_TRIPLES = 200_000
"""A graph with more triples is not validated before cards are made, because that takes too long.
Each label is proved in any case."""
MAX_ADHOC_PREDICATES = 6
"""Maximum number of predicates chosen for a graph without a domain file."""
MAX_NAMED_KINDS = 3
"""Maximum number of kinds of violations that a warning names."""


def open_knowledge_base(
    domain: str | None,
    graph: Sequence[Path],
    shapes: Sequence[Path],
    regime: str | None,
    predicates: Sequence[str],
    predicate_labels: Sequence[str],
    engine: Engine = "incremental",
    *,
    allow_violations: bool = False,
    strict: bool = False,
) -> tuple[KnowledgeBase, list[str]]:
    """Opens the knowledge base that the command's flags name.

    Args:
        domain: name or path of a domain; None if the graph has none.
        graph: graph files.
        shapes: shapes files.
        regime: entailment regime; None for the domain's.
        predicates: what ``--pred`` names.
        predicate_labels: labels for the first of these.
        engine: the engine that checks shapes.
        allow_violations: whether nodes that break the shapes stay.
        strict: whether violations are an error; else the nodes are left out, with a warning.

    Returns:
        The knowledge base with the custom ``predicate_labels``, and the predicates' IRIs.

    Raises:
        EmptyGraphError: the graph has only shapes.
        InvalidGraphError: the graph violates its shapes and ``strict`` is True.
        UnknownPredicateError: a predicate does not occur in the graph.
        DomainError: an unknown regime, more predicate labels than predicates, or no predicate is
            named and the domain has no default ones.
    """
    if regime is not None and regime not in get_args(Regime):
        regimes = ", ".join(get_args(Regime))
        raise DomainError(f"unknown regime {regime!r}", where="--regime", hint=f"Known: {regimes}.")
    if len(predicate_labels) > len(predicates):
        raise DomainError(
            "more --pred-label than --pred",
            where="--pred-label",
            hint="Give one --pred for each label.",
        )
    if domain is not None and not predicates:
        _require_default_predicates(load_domain(domain))
    kb = KnowledgeBase.open(domain, graph, shapes, cast("Regime | None", regime), engine)
    skipped = kb.graph.omissions + describe_skipped_content(kb.graph.index)
    for note in kb.shapes.notes + skipped:
        print_warning(note)
    if all(map(is_vocabulary, kb.predicates)) and any(p.startswith(SH) for p in kb.predicates):
        raise EmptyGraphError(
            "the graph has SHACL shapes and no facts",
            where=", ".join(map(str, kb.graph.sources)),
            hint="Give the graph with --kg, and the SHACL file with --shapes.",
        )
    iris = [kb.resolve_predicate(text) for text in predicates]
    for iri, predicate_label in zip(iris, predicate_labels, strict=False):
        kb = kb.with_predicate_label(iri, predicate_label)
    if not allow_violations:
        kb = leave_out_violations(kb, strict=strict)
    return kb, iris


def _require_default_predicates(domain: Domain) -> None:
    page = domain.file.parent / READINESS_PAGE if domain.file else None
    is_draft = page is not None and page.is_file()
    wordings = domain.predicates.values()
    if any(wording.default for wording in wordings) or not (wordings or is_draft):
        return
    reason, hint = (
        "",
        "Name predicates with --pred, or mark them with default = true in domain.toml.",
    )
    if page is not None and is_draft:
        reason = f" ({page} says why)"
        hint = "Do what the page advises, and run `epoche kg init` again."
        # Not for rules that confirm.toml rejects: those are no longer in doubt.
        if ADVICE_ON_DOUBTS in page.read_text("utf-8", "replace"):
            hint = (
                "Write true for rules in confirm.toml that are true in the world, and run `epoche "
                "kg init` again; or give it shapes of your own."
            )
    raise DomainError(
        f"the domain asks about no predicate by default{reason}",
        where=str(domain.file or domain.name),
        hint=hint,
    )


def leave_out_violations(kb: KnowledgeBase, *, strict: bool) -> KnowledgeBase:
    """Leaves out the nodes that break the shapes, with warnings that say which and why.

    A violation that rests on something not being stated does not count: the graph is incomplete
    there, not wrong. A graph of more than ``MAX_CHECKED_TRIPLES`` triples is not validated.

    Raises:
        InvalidGraphError: ``strict``, and there is a violation; the message names the first one.
    """
    size = len(kb.graph.index)
    if size > MAX_CHECKED_TRIPLES:
        print_warning(
            f"the graph has {size} triples and is not validated as a whole (the limit is "
            f"{MAX_CHECKED_TRIPLES}); every card is still proved"
        )
        return kb
    violations = kb.oracle.find_violations()
    if violations and strict:
        times = "once" if len(violations) == 1 else f"{len(violations)} times"
        raise InvalidGraphError(
            f"the graph violates its shapes {times}, first: {_describe_violation(violations[0])}",
            where=", ".join(path.name for path in kb.graph.sources) or kb.domain.name,
            hint="Fix the graph (`epoche kg inspect` lists all), or omit --strict.",
        )
    certain = kb.oracle.find_violations(certain_only=True) if violations else ()
    nodes = {violation.focus_node for violation in certain}
    if nodes:
        print_warning(
            f"nodes that break the shapes are left out, {len(nodes)} in all (`epoche kg inspect` "
            "lists violations; --allow-violations keeps these nodes): "
            f"{_summarise_violations(certain)}"
        )
    if len(violations) > len(certain):
        incomplete = Counter(violations) - Counter(certain)
        print_warning(
            "nodes stay that only lack something a shape requires, or break a closed shape by what "
            "follows from other facts: "
            f"{_summarise_violations(tuple(incomplete.elements()))}"
        )
    return replace(kb, left_out=frozenset(nodes))


def _summarise_violations(violations: Sequence[Violation]) -> str:
    """Names the most frequent kinds of violations, with counts and an example of each."""
    by_kind: dict[tuple[str, str], list[Violation]] = {}
    for violation in violations:
        by_kind.setdefault((violation.shape, violation.component), []).append(violation)
    kinds = sorted(by_kind.values(), key=len, reverse=True)
    parts = [
        f"{len(kind)} × {_describe_violation(kind[0])} [{kind[0].shape}]"
        for kind in kinds[:MAX_NAMED_KINDS]
    ]
    if len(kinds) > MAX_NAMED_KINDS:
        parts.append(f"and {len(kinds) - MAX_NAMED_KINDS} more kinds")
    return "; ".join(parts)


def _describe_violation(violation: Violation) -> str:
    return f"{violation.message or violation.component} at {violation.focus_node}"


def choose_default_predicates(kb: KnowledgeBase) -> tuple[str, ...]:
    """Returns the domain's default predicates.

    Without a domain file, these are the predicates about which the shapes alone give cards of three
    labels; if there are none, the most frequent ones, those that shapes constrain first.
    """
    default_iris = tuple(iri for iri, wording in kb.domain.predicates.items() if wording.default)
    graph_iris = set(kb.predicates)
    if default_iris:
        return tuple(iri for iri in default_iris if iri in graph_iris)
    index, constraints = kb.graph.index, kb.shapes.list_constraints()
    askable = find_askable_predicates(kb.graph, kb.labels, constraints)
    if askable:
        return tuple(askable[:MAX_ADHOC_PREDICATES])
    constrained = {constraint.path.strip("<>") for constraint in constraints}
    notes = find_notes(index)
    by_frequency = [
        (iri not in constrained, -index.count_triples(p), iri)
        for p in index.list_predicates()
        if not is_vocabulary(iri := index.terms.get_text(p)) and p not in notes.predicates
    ]
    return tuple(iri for *_, iri in sorted(by_frequency)[:MAX_ADHOC_PREDICATES])
