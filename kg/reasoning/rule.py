"""Defines the base class of entailment rules, and the part of a reasoning run that rules may use.

In the W3C tables
(https://www.w3.org/TR/owl2-profiles/#Reasoning_in_OWL_2_RL_and_RDF_Graphs_using_Rules)
the premises of a rule include axioms. Here each rule is bound to its axioms at compile time, so
that a triple is passed only to rules that can fire on it. ``Rule.axioms`` contains these premises.
``Rule.find_data_premises`` rebuilds the other premises from a conclusion and its witness. The
witness is the one term that occurs in the premises but not in the conclusion, for example the
middle node of a two-step path.
"""

# ruff: noqa: ARG002 - all rules share these signatures, and not every rule needs every argument

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import ClassVar, Protocol

from kg.triples.index import Index, Triple


class Run(Protocol):
    """The part of a reasoning run (``kg.reasoning.run``) that rules use.

    Attributes:
        base: the asserted triples.
        index: asserted triples and those inferred so far.
        same_as: id of ``owl:sameAs``.
        is_literal: returns whether a term is a literal.
    """

    base: Index
    index: Index
    same_as: int
    is_literal: Callable[[int], bool]

    def emit(self, s: int, p: int, o: int, rule: int, witness: int = 0) -> None:
        """Adds a conclusion whose premises can be rebuilt from its rule and one witness term."""

    def emit_paths(self, s: int, p: int, o: int, rule: int) -> None:
        """Adds ``s p z`` for each ``o p z``, and ``x p o`` for each ``x p s``, as ``emit`` does."""

    def emit_links(self, p: int, links: Iterable[tuple[int, int]], rule: int) -> None:
        """Adds many (subject, object) pairs of one predicate, as ``emit`` does."""

    def emit_types(
        self,
        instances: Collection[int],
        target: int,
        rule: int,
        witnesses: Mapping[int, int] | None = None,
    ) -> None:
        """Adds many instances of one class, as ``emit`` does, optionally with a witness each."""

    def emit_two_step_links(self, p: int, links: Iterable[tuple[int, int]], rule: int) -> None:
        """Adds ``x p z`` for each ``x p y``, ``y p z`` of which at least one is in ``links``."""

    def emit_with_premises(self, triple: Triple, name: str, premises: tuple[Triple, ...]) -> None:
        """Adds a conclusion and stores all its premises."""


class Rule:
    """One rule bound to one axiom.

    Args:
        name: W3C rule name.
        number: the rule's index in the run's list of rules; stored with each conclusion.
        rdf_type: id of ``rdf:type``.
        axioms: the premises that are axioms.
    """

    __slots__ = ("axioms", "name", "number", "rdf_type")

    concludes_from_incoming: ClassVar[bool] = True
    """Whether from ``x p y`` it may conclude something about ``y`` that is neither one of its types
    nor ``z p y``."""

    def __init__(self, name: str, number: int, rdf_type: int, axioms: tuple[Triple, ...]) -> None:
        self.name = name
        self.number = number
        self.rdf_type = rdf_type
        self.axioms = axioms

    def on_triple(self, run: Run, s: int, p: int, o: int) -> None:
        """Fires on a new triple with a predicate that the rule is registered for."""

    def on_instance(self, run: Run, x: int) -> None:
        """Fires on a new ``x rdf:type C`` for a class that the rule is registered for."""

    def on_asserted(self, run: Run, p: int) -> None:
        """Fires on all asserted triples of a predicate that the rule is registered for."""
        # Conclusions are added to ``run.index``, not to ``run.base``, so iterating it is safe.
        for s, o in run.base.iter_pairs(p):
            self.on_triple(run, s, p, o)

    def on_links(self, run: Run, p: int, links: list[tuple[int, int]]) -> None:
        """Fires on many new (subject, object) pairs of a predicate, already in the index."""
        for s, o in links:
            self.on_triple(run, s, p, o)

    def on_instances(self, run: Run, instances: list[int]) -> None:
        """Fires on many new instances of a class that the rule is registered for."""
        for x in instances:
            self.on_instance(run, x)

    def is_redundant_after(self, other: Rule) -> bool:
        """Returns whether this rule infers nothing new from the conclusions of ``other``.

        If so, the run does not apply this rule to them. For example, a rule for an inverse property
        only turns the conclusions of its counterpart back into their premises.
        """
        return False

    def find_data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        """Uses the conclusion and its witness to rebuild the premises that are not axioms."""
        return ()
