"""Removes asserted triples from a closure without computing all of it again.

This is *delete and rederive* (Gupta, Mumick and Subrahmanian 1993): first everything goes that has
a removed triple among the premises of any inference, then what still follows comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TypeAlias, cast

from kg.reasoning.axioms import CompiledAxioms
from kg.reasoning.rule import Run
from kg.reasoning.rules import ChainRule
from kg.reasoning.run import InferenceRun
from kg.triples.index import Index, Triple

Link: TypeAlias = tuple[int, int]


def remove_from_run(
    run: InferenceRun,
    axioms: CompiledAxioms,
    base: Index,
    removed: Collection[Triple],
    *,
    in_place: bool,
) -> InferenceRun | None:
    """Returns the run of a smaller graph.

    Args:
        run: the run of the whole graph, which applied ``axioms`` alone.
        axioms: the compiled axioms; none of the removed triples may be one of them.
        base: the whole graph's triples without ``removed``.
        removed: asserted triples of the whole graph.
        in_place: whether ``run`` itself may be changed, so that nothing is copied; if not, it must
            stay as it is while the new run is in use.

    Returns:
        The new run; None if axioms or equalities are concerned, so that it must be computed anew.
    """
    if run.has_equalities:
        return None
    deleted = dict.fromkeys(removed)
    consequences = _Consequences(run)
    pending = list(deleted)
    while pending:
        consequences.found.clear()
        apply_rules(cast("Run", consequences), axioms, pending)
        pending = [
            t
            for t in consequences.found
            if t not in deleted and run.index.has_triple(*t) and not base.has_triple(*t)
        ]
        deleted.update(dict.fromkeys(pending))
    if any(run.is_axiom(triple) for triple in deleted):
        return None
    rest = run if in_place else run.copy_for(base)
    rest.base = base
    rest.log.resume()
    for p in axioms.by_predicate:
        # Needed below. Before the row changes, its reverse is shared and need not be built.
        rest.index.get_reverse_row(p)
    for triple in deleted:
        rest.index.discard_triple(*triple)
    rederivation = _Rederivation(rest, deleted)
    premises: dict[Triple, None] = {}
    for node in _choose_nodes(rest.index, axioms, deleted):
        premises.update(dict.fromkeys(_list_premises(rederivation, axioms, node)))
    apply_rules(cast("Run", rederivation), axioms, premises, rederivation.select_useful_links)
    rest.resume(axioms)
    return rest


def _choose_nodes(
    index: Index, axioms: CompiledAxioms, deleted: Iterable[Triple]
) -> dict[int, None]:
    """Returns nodes such that each inference of a deleted triple has a premise about one of them.

    Each rule has a premise about the subject of its conclusion, and about its object unless that
    is a constant of the axiom: a class, or a value that members of a class have.
    """
    has_constants = any(rule.name == "cls-hv1" for rule in axioms.rules)
    nodes: dict[int, None] = {}
    for s, p, o in deleted:
        is_constant = has_constants or p == axioms.vocabulary.TYPE
        if s in nodes or (o in nodes and not is_constant):
            continue
        by_object = not is_constant and _count_premises(index, axioms, o) < _count_premises(
            index, axioms, s
        )
        nodes[o if by_object else s] = None
    return nodes


def _count_premises(index: Index, axioms: CompiledAxioms, node: int) -> int:
    predicates = axioms.by_predicate
    return sum(len(index.find_objects(node, p)) for p in predicates) + sum(
        len(index.find_subjects(p, node)) for p in predicates
    )


def _list_premises(rederivation: _Rederivation, axioms: CompiledAxioms, node: int) -> list[Triple]:
    """Lists the triples about a node from which rules may conclude what was deleted of it."""
    index, rdf_type, predicates = rederivation.index, axioms.vocabulary.TYPE, axioms.by_predicate
    triples = [(node, p, o) for p in predicates for o in index.find_objects(node, p)]
    for p, rules in predicates.items():
        subjects = index.find_subjects(p, node)
        if len(subjects) > 1 and not any(rule.concludes_from_incoming for rule in rules):
            # A transitive property may link thousands to the node. Of use are a first one, for its
            # types, and those that a deleted link may have come through.
            starts = rederivation.starts.get((p, node), ())
            middles = {m for x in starts for m in index.find_objects(x, p)}
            first = next(iter(subjects))
            subjects = [s for s in subjects if s == first or s in middles]
        triples += [(s, p, node) for s in subjects]
    if rdf_type not in predicates:
        triples += [(node, rdf_type, c) for c in index.find_objects(node, rdf_type)]
    return triples


def apply_rules(
    run: Run,
    axioms: CompiledAxioms,
    triples: Iterable[Triple],
    select_links: Callable[[ChainRule, int, list[Link]], list[Link]] | None = None,
) -> None:
    """Applies the rules that have a premise like one of the triples, which the run's index has.

    Args:
        run: takes the conclusions.
        axioms: the rules.
        triples: the triples.
        select_links: returns those links of a predicate that a chain should be applied to; if
            omitted, it is applied to all.
    """
    links_by_predicate: dict[int, list[Link]] = {}
    for s, p, o in triples:
        links_by_predicate.setdefault(p, []).append((s, o))
    for p, links in links_by_predicate.items():
        for rule in axioms.by_predicate.get(p, ()):
            # Ontologies have dozens of chains, and most links are in none of them. Other rules may
            # add links in bulk, which only a run can.
            if isinstance(rule, ChainRule):
                rule.on_links(run, p, select_links(rule, p, links) if select_links else links)
                continue
            for s, o in links:
                rule.on_triple(run, s, p, o)
        for s, o in links if p == axioms.vocabulary.TYPE else ():
            for rule in axioms.by_class.get(o, ()):
                rule.on_instance(run, s)


class _Consequences:
    """Collects what rules conclude from some triples together with the whole closure.

    It takes the place of a run for rules that add no links in bulk.
    """

    def __init__(self, run: InferenceRun) -> None:
        self.base, self.index = run.base, run.index
        self.same_as, self.is_literal = run.same_as, run.is_literal
        self.found: dict[Triple, None] = {}

    def emit(self, s: int, p: int, o: int, rule: int, witness: int = 0) -> None:  # noqa: ARG002
        self.found[s, p, o] = None

    def emit_paths(self, s: int, p: int, o: int, rule: int) -> None:  # noqa: ARG002
        self.found.update(((s, p, z), None) for z in self.index.find_objects(o, p))
        self.found.update(((x, p, o), None) for x in self.index.find_subjects(p, s))

    def emit_with_premises(self, triple: Triple, name: str, premises: tuple[Triple, ...]) -> None:  # noqa: ARG002
        self.found[triple] = None


class _Rederivation:
    """Adds to a run what rules conclude, if it was deleted; all else is in the run already.

    It takes the place of the run for rules that add no links in bulk.
    """

    def __init__(self, run: InferenceRun, deleted: Collection[Triple]) -> None:
        self.base, self.index = run.base, run.index
        self.same_as, self.is_literal = run.same_as, run.is_literal
        self._run, self._deleted = run, deleted
        # Most conclusions share neither subject nor object with a deleted triple.
        self.ends: dict[tuple[int, int], set[int]] = {}
        self.starts: dict[tuple[int, int], set[int]] = {}
        self._deleted_subjects: dict[int, set[int]] = {}
        self._deleted_objects: dict[int, set[int]] = {}
        for s, p, o in deleted:
            self.ends.setdefault((s, p), set()).add(o)
            self.starts.setdefault((p, o), set()).add(s)
            self._deleted_subjects.setdefault(p, set()).add(s)
            self._deleted_objects.setdefault(p, set()).add(o)

    def select_useful_links(self, rule: ChainRule, p: int, links: list[Link]) -> list[Link]:
        """Returns the links from which a chain may conclude what was deleted.

        What a first link concludes is about its subject, and a last one about its object.
        """
        first, last = rule.properties[0], rule.properties[-1]
        if p in rule.properties[1:-1]:
            return links
        starts = self._deleted_subjects.get(rule.target, ()) if p == first else ()
        ends = self._deleted_objects.get(rule.target, ()) if p == last else ()
        return [(s, o) for s, o in links if s in starts or o in ends]

    def emit(self, s: int, p: int, o: int, rule: int, witness: int = 0) -> None:
        if (s, p, o) in self._deleted:
            self._run.emit(s, p, o, rule, witness)

    def emit_paths(self, s: int, p: int, o: int, rule: int) -> None:
        ends, starts = self.ends.get((s, p)), self.starts.get((p, o))
        for z in list(filter(ends.__contains__, self.index.find_objects(o, p))) if ends else ():
            self._run.emit(s, p, z, rule, o)
        for x in (
            list(filter(starts.__contains__, self.index.find_subjects(p, s))) if starts else ()
        ):
            self._run.emit(x, p, o, rule, s)

    def emit_with_premises(self, triple: Triple, name: str, premises: tuple[Triple, ...]) -> None:
        if triple in self._deleted:
            self._run.emit_with_premises(triple, name, premises)
