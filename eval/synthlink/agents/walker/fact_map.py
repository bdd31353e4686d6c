"""Indexes the facts of a graph for walking.

A fact is either a step of a path, whose object can have further facts (a cause and its effect), or
a trait of its subject (its maker, its year).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from eval.questions.mentions import list_askable_predicates
from kg.claims import Claim
from retrieval.passages import iter_graph_facts

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase


class FactMap:
    """The asserted facts of a graph, indexed by subject and by object.

    All subjects and objects are nodes, literals included. Paths go from subject to object only, so
    that no path leads *through* a year, a country or a maker that two things share.

    Only asserted facts are used, and of these only facts whose predicate can be asked about.
    Entailed facts are left out: most repeat an asserted fact in the inverse direction.

    Args:
        kb: the graph.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        askable = frozenset(list_askable_predicates(kb))
        self.claims: tuple[Claim, ...] = tuple(
            fact.claim
            for fact in iter_graph_facts(kb.graph)
            if not fact.denied and fact.claim.pred in askable
        )
        self._facts_from: dict[str, list[int]] = {}
        self._facts_to: dict[str, list[int]] = {}
        for index, claim in enumerate(self.claims):
            self._facts_from.setdefault(claim.subj, []).append(index)
            self._facts_to.setdefault(claim.obj, []).append(index)
        self._path_predicates = frozenset(
            claim.pred for claim in self.claims if claim.obj in self._facts_from
        )

    def collect_names(self, kb: KnowledgeBase) -> dict[str, list[str]]:
        """Collects the names of all nodes, in the graph's order.

        Returns:
            Node → its names; for a literal, its wording in sentences.
        """
        names: dict[str, list[str]] = {}
        for claim in self.claims:
            for term in (claim.subj, claim.obj):
                if term not in names:
                    is_literal = term.startswith('"')
                    names[term] = (
                        [kb.verbaliser.render_term(term, claim.pred)]
                        if is_literal
                        else kb.labels.list_names(term)
                    )
        return names

    def facts_from_node(self, node: str) -> Sequence[int]:
        """Returns the indices in ``claims`` of the facts that have a node as subject."""
        return self._facts_from.get(node, ())

    def facts_to_node(self, node: str) -> Sequence[int]:
        """Returns the indices in ``claims`` of the facts that have a node as object."""
        return self._facts_to.get(node, ())

    def can_be_path_step(self, claim: Claim) -> bool:
        """Returns whether a fact can be a step of a path; otherwise it is a trait of its subject.

        It is a step if any object of its predicate is the subject of other facts: for instance, an
        effect can have effects. Makers, years and countries are never subjects, so they are traits.
        """
        return claim.pred in self._path_predicates

    def find_nodes_with_trait(self, node: str) -> list[str]:
        """Finds the nodes that have a given node as trait, such as the things made by a person."""
        claims = (self.claims[index] for index in self.facts_to_node(node))
        return list(
            dict.fromkeys(claim.subj for claim in claims if not self.can_be_path_step(claim))
        )

    def find_nodes_around(self, nodes: Sequence[str], hops: int, max_nodes: int) -> list[str]:
        """Finds nodes before the first and after the last node of a path, nearest first.

        Args:
            nodes: nodes of the path.
            hops: maximum number of steps from the path; only path steps are followed.
            max_nodes: maximum number of nodes per step and direction.
        """
        visited = dict.fromkeys(nodes)
        nodes_after, nodes_before = list(nodes[-1:]), list(nodes[:1])
        for _ in range(hops):
            nodes_after = self._find_next_nodes(
                nodes_after, self.facts_from_node, lambda claim: claim.obj, visited, max_nodes
            )
            nodes_before = self._find_next_nodes(
                nodes_before, self.facts_to_node, lambda claim: claim.subj, visited, max_nodes
            )
        return [node for node in visited if node not in nodes]

    def _find_next_nodes(
        self,
        nodes: Iterable[str],
        list_facts: Callable[[str], Sequence[int]],
        get_end: Callable[[Claim], str],
        visited: dict[str, None],
        max_nodes: int,
    ) -> list[str]:
        """Finds the nodes one path step away that are not in ``visited``, and adds them to it.

        Args:
            nodes: the nodes to start from.
            list_facts: returns the indices of a node's facts in the direction of the search.
            get_end: returns the node at the other end of a fact.
            visited: all nodes found so far, as an ordered set.
            max_nodes: maximum number of nodes returned.
        """
        claims = (self.claims[index] for node in nodes for index in list_facts(node))
        end_nodes = dict.fromkeys(
            get_end(claim) for claim in claims if self.can_be_path_step(claim)
        )
        new_nodes = [node for node in end_nodes if node not in visited][:max_nodes]
        visited.update(dict.fromkeys(new_nodes))
        return new_nodes
