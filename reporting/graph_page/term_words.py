"""How terms and facts of a graph are called on a page: in the domain's words, or plainly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kg.claims import Claim, Verdict
from kg.terms import iri_tail
from kg.words.phrasing import split_name
from kg.words.proofs import specific_classes
from reporting.proofs import claim_words, plain_proof, term_words

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

_SUBJ, _OBJ = "\ue000", "\ue001"
"""Stand for the two names in a template; no text of ours or of a template has them."""


class TermWords(Protocol):
    """Words for terms, predicates and facts."""

    def name(self, term: str, pred: str, /) -> str:
        """A term's name; ``pred`` is the predicate whose value a literal is."""
        ...

    def aliases(self, term: str, /) -> tuple[str, ...]:
        """Its other names."""
        ...

    def classes(self, term: str, /) -> tuple[str, ...]:
        """What it is."""
        ...

    def facts_about(self, term: str, /) -> int:
        """How many facts of the graph have it as subject or object."""
        ...

    def line(self, pred: str, /) -> str:
        """What stands at a line between two names: ``flows into``."""
        ...

    def fact(self, claim: Claim, /) -> str:
        """A fact as a sentence."""
        ...

    def denied(self, claim: Claim, /) -> str:
        """That a fact does not hold."""
        ...

    def proof(self, verdict: Verdict, /) -> str:
        """Why a verdict holds."""
        ...


class GraphWords:
    """The words of a knowledge base."""

    def __init__(self, base: KnowledgeBase) -> None:
        self._base = base
        self._words = base.words

    def name(self, term: str, pred: str) -> str:
        """Its label, or the literal with its unit."""
        return self._words.name(term, pred) if term.startswith('"') else self._words.label(term)

    def aliases(self, term: str) -> tuple[str, ...]:
        """The graph's other labels of it."""
        if term.startswith('"'):
            return ()
        label = self._words.label(term)
        return tuple(name for name in self._base.labels.names(term) if name != label)

    def classes(self, term: str) -> tuple[str, ...]:
        """Its most specific classes."""
        if term.startswith('"'):
            return ("value",)
        return tuple(map(self._words.class_noun, specific_classes(self._words, term)))

    def facts_about(self, term: str) -> int:
        """Counted in the graph as it is stated."""
        index = self._base.graph.index
        node = index.terms.get(term)
        if node is None:
            return 0
        return sum(1 for _ in index.out_edges(node)) + sum(1 for _ in index.in_edges(node))

    def line(self, pred: str) -> str:
        """What the predicate's sentence says between its two names, else its label."""
        said = self._words.clause(pred, _SUBJ, _OBJ)
        between = said.removeprefix(_SUBJ).removesuffix(_OBJ).strip()
        whole = said.startswith(_SUBJ) and said.endswith(_OBJ) and between
        return between if whole and _SUBJ not in between else self._words.label(pred)

    def fact(self, claim: Claim) -> str:
        """In the domain's words."""
        return self._words.fact(claim)

    def denied(self, claim: Claim) -> str:
        """In the domain's words."""
        return self._words.denied(claim)

    def proof(self, verdict: Verdict) -> str:
        """In the domain's words."""
        return self._words.proof(verdict)


class PlainWords:
    """Words read off the terms themselves, where no graph is at hand."""

    def name(self, term: str, _pred: str) -> str:
        """The tail of an IRI, or a literal's text."""
        return term_words(term)

    def aliases(self, _term: str) -> tuple[str, ...]:
        """None are known."""
        return ()

    def classes(self, _term: str) -> tuple[str, ...]:
        """None are known."""
        return ()

    def facts_about(self, _term: str) -> int:
        """None are known."""
        return 0

    def line(self, pred: str) -> str:
        """The tail of the predicate's IRI, in words."""
        return split_name(iri_tail(pred))

    def fact(self, claim: Claim) -> str:
        """Its three terms."""
        return claim_words(claim)

    def denied(self, claim: Claim) -> str:
        """Its three terms, denied."""
        return f"not: {claim_words(claim)}"

    def proof(self, verdict: Verdict) -> str:
        """From the proof record alone."""
        return plain_proof(verdict)
