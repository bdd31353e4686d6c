"""What a rule is, and what it sees of the run it fires in.

W3C's tables (https://www.w3.org/TR/owl2-profiles/#Reasoning_in_OWL_2_RL_and_RDF_Graphs_using_Rules)
write a rule with the axiom among its premises; here the axiom is bound at compile time, so that a
triple meets only the rules that can fire on it. ``axioms`` holds the bound premises,
``data_premises`` rebuilds the others from a conclusion and its witness.
"""

# ruff: noqa: ARG002 - what a rule does not need of a signature that all share

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

from kg.index import Index, Triple


class Run(Protocol):
    """What rules see of the run they fire in (``kg.reasoning.run``).

    Attributes:
        base: the asserted triples.
        index: asserted triples and those inferred so far.
        same: id of ``owl:sameAs``.
        is_literal: whether a term is a literal.
    """

    base: Index
    index: Index
    same: int
    is_literal: Callable[[int], bool]

    def emit(self, s: int, p: int, o: int, rule: int, witness: int = 0) -> None:
        """Adds a conclusion that rule number and witness are enough to prove."""

    def emit_links(self, p: int, links: Iterable[tuple[int, int]], rule: int) -> None:
        """``emit`` for many (subject, object) of one predicate."""

    def emit_types(
        self,
        instances: Collection[int],
        target: int,
        rule: int,
        witnesses: Mapping[int, int] | None = None,
    ) -> None:
        """``emit`` for many instances of one class, with a witness each where there are any."""

    def emit_joined(self, p: int, links: Iterable[tuple[int, int]], rule: int) -> None:
        """``emit`` for what paths of two steps of a predicate through given ones lead to."""

    def emit_with(self, triple: Triple, name: str, premises: tuple[Triple, ...]) -> None:
        """Adds a conclusion with all its premises."""


class Rule:
    """One rule bound to one axiom.

    Args:
        name: W3C rule name.
        number: its number in the run, for the log.
        kind: id of ``rdf:type``.
        axioms: the premises that are axioms.
    """

    __slots__ = ("axioms", "kind", "name", "number")

    def __init__(self, name: str, number: int, kind: int, axioms: tuple[Triple, ...]) -> None:
        self.name = name
        self.number = number
        self.kind = kind
        self.axioms = axioms

    def on_pair(self, run: Run, s: int, p: int, o: int) -> None:
        """Fires on a new triple with a predicate the rule listens to."""

    def on_type(self, run: Run, x: int) -> None:
        """Fires on a new ``x rdf:type C`` for a class the rule listens to."""

    def on_all(self, run: Run, p: int) -> None:
        """Fires on all asserted triples of a predicate it listens to."""
        # The base is never changed, so it can be walked while conclusions go into the fork.
        for s, o in run.base.pairs(p):
            self.on_pair(run, s, p, o)

    def on_links(self, run: Run, p: int, links: list[tuple[int, int]]) -> None:
        """Fires on many new (subject, object) of a predicate, all in the index already."""
        for s, o in links:
            self.on_pair(run, s, p, o)

    def on_types(self, run: Run, instances: list[int]) -> None:
        """Fires on many new instances of a class the rule listens to."""
        for x in instances:
            self.on_type(run, x)

    def only_echoes(self, other: Rule) -> bool:
        """Whether the conclusions of another tell this rule nothing that their premises did not."""
        return False

    def data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        """The premises that are not axioms, from the conclusion and its witness."""
        return ()
