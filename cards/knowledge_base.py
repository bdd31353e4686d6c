"""Opens the knowledge base for a card set: resolves predicates and checks the graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

from kg.base.console import print_warning
from kg.base.errors import DomainError, EmptyGraphError, InvalidGraphError
from kg.claims import Regime
from kg.knowledge import Engine, KnowledgeBase
from kg.shapes.vocabulary import SH
from kg.vocabulary import is_vocabulary

MAX_CHECKED_TRIPLES = 200_000
"""A graph with more triples is not validated before cards are made, because that takes too long.
Each label is proved in any case."""


def open_knowledge_base(
    domain: str | None,
    graph: Sequence[Path],
    shapes: Sequence[Path],
    regime: str | None,
    predicates: Sequence[str],
    predicate_labels: Sequence[str],
    allow_violations: bool,
    engine: Engine = "incremental",
) -> tuple[KnowledgeBase, list[str]]:
    """Opens the knowledge base that the command's flags name.

    Returns:
        The knowledge base with the custom ``predicate_labels``, and the predicates' IRIs.

    Raises:
        EmptyGraphError: the graph has only shapes.
        InvalidGraphError: the graph violates its shapes and ``allow_violations`` is False.
        UnknownPredicateError: a predicate does not occur in the graph.
        DomainError: an unknown regime, or more predicate labels than predicates.
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
    kb = KnowledgeBase.open(domain, graph, shapes, cast("Regime | None", regime), engine)
    for note in kb.shapes.notes:
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
        require_valid_graph(kb)
    return kb, iris


def require_valid_graph(kb: KnowledgeBase) -> None:
    """Validates the whole graph, unless it has more than ``MAX_CHECKED_TRIPLES`` triples.

    Raises:
        InvalidGraphError: the graph violates its shapes; the message names the first violation.
    """
    size = len(kb.graph.index)
    if size > MAX_CHECKED_TRIPLES:
        print_warning(
            f"the graph has {size} triples and is not validated as a whole (the limit is "
            f"{MAX_CHECKED_TRIPLES}); every card is still proved"
        )
        return
    violations = kb.oracle.find_violations()
    if violations:
        first_violation = violations[0]
        times = "once" if len(violations) == 1 else f"{len(violations)} times"
        raise InvalidGraphError(
            f"the graph violates its shapes {times}, first: "
            f"{first_violation.message or first_violation.component} "
            f"at {first_violation.focus_node}",
            where=", ".join(path.name for path in kb.graph.sources) or kb.domain.name,
            hint="Fix the graph (`epoche kg inspect` lists all), or give --allow-violations.",
        )
