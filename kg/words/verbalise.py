"""Everything a domain can say: names and sentences, and the rules and proofs built from them."""

from __future__ import annotations

from functools import cached_property

from kg.claims import Verdict, Violation
from kg.domain import Rule
from kg.rules import RuleBook
from kg.words.phrasebook import Phrasebook
from kg.words.proofs import proof_paragraph, violation_sentence


class Verbaliser(Phrasebook):
    """A phrasebook that also puts rules and proofs in words."""

    @cached_property
    def rulebook(self) -> RuleBook:
        """What shapes and axioms demand, in words."""
        return RuleBook(self)

    def rules(self, pred: str) -> list[Rule]:
        """The rules that matter for a predicate; see ``RuleBook.rules``."""
        return self.rulebook.rules(pred)

    def proof(self, verdict: Verdict) -> str:
        """Why a verdict holds, as one readable paragraph."""
        return proof_paragraph(self, self.rulebook, verdict)

    def violation(self, violation: Violation) -> str:
        """One validation result as sentences: the rule, and what breaks it."""
        return violation_sentence(self, self.rulebook, violation)
