"""Renders the names, sentences, rules and proofs of a domain in English."""

from __future__ import annotations

from functools import cached_property

from kg.claims import Verdict
from kg.domain import Rule
from kg.words.phrasebook import Phrasebook
from kg.words.proofs import render_proof_paragraph
from kg.words.rules import RuleBook


class Verbaliser(Phrasebook):
    """A phrasebook that also renders rules and proofs."""

    @cached_property
    def rulebook(self) -> RuleBook:
        """The rules of shapes and axioms, in English."""
        return RuleBook(self)

    def get_rules(self, pred: str) -> list[Rule]:
        """Returns the rules about a predicate; see ``RuleBook.get_rules``."""
        return self.rulebook.get_rules(pred)

    def render_proof(self, verdict: Verdict) -> str:
        """Renders the proof of a verdict as one paragraph."""
        return render_proof_paragraph(self, self.rulebook, verdict)
