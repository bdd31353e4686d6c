"""Checks cards against the passages that their graph was extracted from.

The answers YES and NO must rest on facts that passages state, and no passage may state what is
unknown, or what another value contradicts. Systems read the passages without the sentences that
state the facts that were set aside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from cards.card import Card
from kg.claims import Claim
from kg.knowledge import KnowledgeBase
from kg.terms import RDF_TYPE, is_literal, parse_literal
from kg.text.facts.evidence import Evidence, Quote

MAX_QUOTES = 3
"""Maximum number of quotes of a fact on a card."""


class TextEvidence:
    """The passages that systems may read, and what they state.

    Args:
        kb: the graph.
        evidence: all passages.
        set_aside: the facts that the graph of the cards lacks.
    """

    def __init__(self, kb: KnowledgeBase, evidence: Evidence, set_aside: Iterable[Claim]) -> None:
        self._kb = kb
        self.evidence = evidence.remove_mentions(
            {
                claim: (self._list_names(claim.subj), self._list_names(claim.obj))
                for claim in set_aside
            }
        )

    def add_quotes(self, cards: Sequence[Card]) -> list[Card]:
        """Adds to each card the quotes that it rests on.

        Returns:
            The cards; none if the passages do not bear out the answer of one of them.
        """
        quoted = [self._add_quotes(card) for card in cards]
        found = [card for card in quoted if card is not None]
        return found if len(found) == len(cards) else []

    def _add_quotes(self, card: Card) -> Card | None:
        if card.label == "U":
            return None if self._is_mentioned(card.claim) else card
        if card.label == "E":
            premises = card.proof.premises if card.proof else ()
            groups = [
                self.evidence.list_quotes(claim) for claim in premises if claim.pred != RDF_TYPE
            ]
            is_quoted = bool(groups) and all(groups)
        else:
            # What contradicts the claim: the subject's own value, or the other direction.
            claim = card.claim
            rows = [row for row in card.meta["triples"] if "denied" not in row]
            facts = [
                fact
                for fact in (Claim(**row) for row in rows)
                if fact.pred == claim.pred and fact.subj in (claim.subj, claim.obj)
            ]
            groups = [self.evidence.list_quotes(fact) for fact in facts]
            # "Born in Munich, Germany" denies no birth in Germany, even if the graph has Munich.
            by_value = all(fact.subj == claim.subj for fact in facts)
            is_quoted = any(groups) and not (by_value and self._is_mentioned(claim))
        if not is_quoted:
            return None
        quotes = [_describe(quote) for group in groups for quote in group[:MAX_QUOTES]]
        return msgspec.structs.replace(card, meta={**card.meta, "quotes": quotes})

    def _is_mentioned(self, claim: Claim) -> bool:
        """Returns whether a passage mentions both ends of a claim, and so may state it."""
        names = self._list_names(claim.subj), self._list_names(claim.obj)
        return bool(self.evidence.find_mentions(*names))

    def _list_names(self, term: str) -> list[str]:
        if is_literal(term):
            return [parse_literal(term).lexical]
        return self._kb.labels.list_names(term)


def _describe(quote: Quote) -> dict[str, str]:
    return {"passage": quote.passage, "text": quote.text}
