"""Orders the facts of an answer along its path, and writes them as sentences.

Facts about the same subject are joined in one sentence where possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from eval.guard.stream import Guard
from eval.synthlink.agents.walker.fact_map import FactMap
from eval.synthlink.agents.walker.paths import ChosenPath
from kg.base.plain_text import capitalise_sentence, join_list
from kg.claims import Claim

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

MAX_FACTS_PER_SENTENCE = 3
"""Maximum number of facts joined in one sentence; facts that differ only in their object count as
one."""


def order_facts(fact_map: FactMap, path: ChosenPath) -> tuple[Claim, ...]:
    """Orders the facts of an answer along its path.

    The order for each node is: side facts with the node as object; its traits; its other side
    facts; the step to the next node.
    """
    steps = {claim.subj: claim for claim in path.steps}
    path_nodes = frozenset(path.nodes)
    ordered: dict[Claim, None] = {}
    for node in path.nodes:
        ordered.update(
            dict.fromkeys(
                claim
                for claim in path.side_facts
                if claim.obj == node and claim.subj not in path_nodes
            )
        )
        facts_of_node = [claim for claim in path.side_facts if claim.subj == node]
        # False sorts before True: traits come before path steps.
        ordered.update(dict.fromkeys(sorted(facts_of_node, key=fact_map.can_be_path_step)))
        if node in steps:
            ordered[steps[node]] = None
    return tuple(ordered)


class SentenceWriter:
    """Writes sentences that state only the given facts.

    Args:
        kb: the graph, with the wording of its facts.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._guard = Guard(kb)

    def write_sentences(self, claims: Sequence[Claim]) -> list[str]:
        """Writes sentences that state the claims.

        Consecutive claims about one subject are joined, up to ``MAX_FACTS_PER_SENTENCE``: "The
        cotton gin came about through Eli Whitney and first appeared in 1794." They are not joined
        if the domain's wording does not begin with the subject. Nor are they joined if the stream
        guard does not read these claims back from the joined sentence, or does not license all of
        it: the sentence may then be ambiguous.

        Args:
            claims: licensed claims, in order.
        """
        sentences: list[str] = []
        for predicate_groups in _group_by_subject(claims):
            for start in range(0, len(predicate_groups), MAX_FACTS_PER_SENTENCE):
                groups = predicate_groups[start : start + MAX_FACTS_PER_SENTENCE]
                joined_sentence = self._write_joined_sentence(groups)
                if joined_sentence and self._is_read_back(joined_sentence, groups):
                    sentences.append(joined_sentence)
                else:
                    sentences += [
                        self._kb.verbaliser.render_fact(claim)
                        for group in groups
                        for claim in group
                    ]
        return sentences

    def _write_joined_sentence(self, groups: Sequence[Sequence[Claim]]) -> str:
        """Writes one sentence about one subject; empty if the wording does not allow joining."""
        subject = self._kb.verbaliser.render_term(groups[0][0].subj)
        clauses = [self._write_clause(group) for group in groups]
        if not all(clause.startswith(subject + " ") for clause in clauses):
            return ""
        predicates = join_list([clause.removeprefix(subject + " ") for clause in clauses])
        return capitalise_sentence(f"{subject} {predicates}") + "."

    def _write_clause(self, group: Sequence[Claim]) -> str:
        """Writes a clause for claims that differ only in their object: "X came through A and B"."""
        first, verbaliser = group[0], self._kb.verbaliser
        if len(group) == 1:
            return verbaliser.render_clause(first)
        objects = join_list([verbaliser.render_term(claim.obj, claim.pred) for claim in group])
        return verbaliser.fill_clause(first.pred, verbaliser.render_term(first.subj), objects)

    def _is_read_back(self, text: str, groups: Sequence[Sequence[Claim]]) -> bool:
        """Returns whether the stream guard reads the claims from a text and licenses all of it."""
        events = list(self._guard.iter_events([text]))
        claims_read = {claim for event in events for claim in event.claims}
        claims_written = {claim for group in groups for claim in group}
        return claims_written <= claims_read and all(event.kind == "licensed" for event in events)


def _group_by_subject(claims: Sequence[Claim]) -> list[list[list[Claim]]]:
    """Groups consecutive claims by subject, and the claims on each subject by predicate."""
    runs: list[list[list[Claim]]] = []
    for group in _group_by_predicate(claims):
        if runs and runs[-1][0][0].subj == group[0].subj:
            runs[-1].append(group)
        else:
            runs.append([group])
    return runs


def _group_by_predicate(claims: Iterable[Claim]) -> list[list[Claim]]:
    """Groups consecutive claims that differ only in their object."""
    groups: list[list[Claim]] = []
    for claim in claims:
        if groups and (groups[-1][0].subj, groups[-1][0].pred) == (claim.subj, claim.pred):
            groups[-1].append(claim)
        else:
            groups.append([claim])
    return groups
