"""Opening a knowledge base for making cards: predicates resolved, violations found first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

from kg.base.console import warn
from kg.base.errors import DomainError, InvalidGraphError
from kg.claims import Regime
from kg.knowledge import Engine, KnowledgeBase

MAX_CHECKED_TRIPLES = 200_000
"""Above this the whole graph is not validated first; each label is proved anyway."""


def open_for_cards(
    domain: str | None,
    graph: Sequence[Path],
    shapes: Sequence[Path],
    regime: str | None,
    predicates: Sequence[str],
    labels: Sequence[str],
    allow_violations: bool,
    engine: Engine = "incremental",
) -> tuple[KnowledgeBase, list[str]]:
    """Opens what the flags name.

    Returns:
        The knowledge base, with ``labels`` in place, and the predicates' IRIs.

    Raises:
        InvalidGraphError: the graph violates its shapes and that is not allowed.
        UnknownPredicateError: a predicate does not occur.
        DomainError: an unknown regime, or more labels than predicates.
    """
    if regime is not None and regime not in get_args(Regime):
        known = ", ".join(get_args(Regime))
        raise DomainError(f"no regime {regime!r}", where="--regime", hint=f"Known: {known}.")
    if len(labels) > len(predicates):
        raise DomainError(
            "more labels than predicates", where="--pred-label", hint="Give one --pred for each."
        )
    kb = KnowledgeBase.open(domain, graph, shapes, cast("Regime | None", regime), engine)
    iris = [kb.resolve_predicate(text) for text in predicates]
    for iri, label in zip(iris, labels, strict=False):
        kb = kb.with_label(iri, label)
    if not allow_violations:
        refuse_violations(kb)
    return kb, iris


def refuse_violations(kb: KnowledgeBase) -> None:
    """Validates the whole graph, up to a size.

    Raises:
        InvalidGraphError: it violates its shapes; the first violation is named.
    """
    size = len(kb.graph.index)
    if size > MAX_CHECKED_TRIPLES:
        warn(
            f"{size} triples: the graph as a whole is not validated above {MAX_CHECKED_TRIPLES} "
            "(every card is proved all the same)"
        )
        return
    found = kb.oracle.violations()
    if found:
        first = found[0]
        often = "once" if len(found) == 1 else f"{len(found)} times"
        raise InvalidGraphError(
            f"the graph violates its shapes {often}, first: "
            f"{first.message or first.component} at {first.focus_node}",
            where=", ".join(path.name for path in kb.graph.sources) or kb.domain.name,
            hint="Mend it (`epoche kg inspect` lists all), or give --allow-violations.",
        )
