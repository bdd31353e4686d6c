"""Renders terms and facts as text for a graph page, with or without a knowledge base."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kg.claims import Claim, Verdict
from kg.terms import iri_tail
from kg.words.label_grammar import split_name
from kg.words.proofs import find_specific_classes
from reporting.card_report.proofs import describe_claim, describe_proof, describe_term

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

_SUBJ_MARK, _OBJ_MARK = "\ue000", "\ue001"
"""Private-use characters that stand for the two names in a template; real names do not contain
them."""


class TermVerbaliser(Protocol):
    """Renders terms, predicates, facts and proofs."""

    def get_name(self, term: str, pred: str, /) -> str:
        """Returns a term's name.

        If the term is a literal, it is a value of ``pred``, and that predicate decides its unit.
        """
        ...

    def list_aliases(self, term: str, /) -> tuple[str, ...]:
        """Lists a term's other names."""
        ...

    def list_classes(self, term: str, /) -> tuple[str, ...]:
        """Lists the nouns of a term's classes."""
        ...

    def count_facts(self, term: str, /) -> int:
        """Counts the facts of the graph with the term as subject or object."""
        ...

    def get_link_caption(self, pred: str, /) -> str:
        """Returns the caption of a link between two names: ``flows into``."""
        ...

    def describe_fact(self, claim: Claim, /) -> str:
        """Renders a fact as a sentence."""
        ...

    def describe_denial(self, claim: Claim, /) -> str:
        """Renders the denial of a fact as a sentence."""
        ...

    def describe_proof(self, verdict: Verdict, /) -> str:
        """Renders the proof of a verdict."""
        ...


class GraphVerbaliser:
    """Renders terms and facts with the labels and templates of a knowledge base."""

    def __init__(self, base: KnowledgeBase) -> None:
        self._base = base
        self._verbaliser = base.verbaliser

    def get_name(self, term: str, pred: str) -> str:
        """Returns the term's label, or the literal with its unit."""
        return (
            self._verbaliser.render_term(term, pred)
            if term.startswith('"')
            else self._verbaliser.get_label(term)
        )

    def list_aliases(self, term: str) -> tuple[str, ...]:
        """Lists the term's other labels in the graph."""
        if term.startswith('"'):
            return ()
        label = self._verbaliser.get_label(term)
        return tuple(name for name in self._base.labels.list_names(term) if name != label)

    def list_classes(self, term: str) -> tuple[str, ...]:
        """Lists the nouns of the term's most specific classes."""
        if term.startswith('"'):
            return ("value",)
        return tuple(
            map(self._verbaliser.get_class_noun, find_specific_classes(self._verbaliser, term))
        )

    def count_facts(self, term: str) -> int:
        """Counts the asserted facts with the term as subject or object."""
        index = self._base.graph.index
        node = index.terms.get(term)
        if node is None:
            return 0
        return sum(1 for _ in index.iter_out_edges(node)) + sum(
            1 for _ in index.iter_in_edges(node)
        )

    def get_link_caption(self, pred: str) -> str:
        """Returns the words between the names in the predicate's template, or else its label."""
        clause = self._verbaliser.fill_clause(pred, _SUBJ_MARK, _OBJ_MARK)
        middle = clause.removeprefix(_SUBJ_MARK).removesuffix(_OBJ_MARK).strip()
        is_infix = clause.startswith(_SUBJ_MARK) and clause.endswith(_OBJ_MARK) and middle
        return middle if is_infix and _SUBJ_MARK not in middle else self._verbaliser.get_label(pred)

    def describe_fact(self, claim: Claim) -> str:
        """Renders a fact with the domain's template."""
        return self._verbaliser.render_fact(claim)

    def describe_denial(self, claim: Claim) -> str:
        """Renders the denial of a fact with the domain's template."""
        return self._verbaliser.render_denial(claim)

    def describe_proof(self, verdict: Verdict) -> str:
        """Renders a proof with the domain's labels and templates."""
        return self._verbaliser.render_proof(verdict)


class PlainVerbaliser:
    """Renders terms and facts from the terms alone, for cards without a graph."""

    def get_name(self, term: str, _pred: str) -> str:
        """Returns the last part of an IRI, or a literal's text."""
        return describe_term(term)

    def list_aliases(self, _term: str) -> tuple[str, ...]:
        """Returns an empty result, since no labels are known."""
        return ()

    def list_classes(self, _term: str) -> tuple[str, ...]:
        """Returns an empty result, since no classes are known."""
        return ()

    def count_facts(self, _term: str) -> int:
        """Returns 0, since no graph is known."""
        return 0

    def get_link_caption(self, pred: str) -> str:
        """Returns the last part of the predicate's IRI, split into words."""
        return split_name(iri_tail(pred))

    def describe_fact(self, claim: Claim) -> str:
        """Returns the fact's three terms."""
        return describe_claim(claim)

    def describe_denial(self, claim: Claim) -> str:
        """Returns the fact's three terms, preceded by ``not:``."""
        return f"not: {describe_claim(claim)}"

    def describe_proof(self, verdict: Verdict) -> str:
        """Renders a proof from its record alone."""
        return describe_proof(verdict)
