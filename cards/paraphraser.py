"""Words the questions of cards in other words, with everything else of the cards unchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from cards.card import Card
from cards.generation.card_writer import make_opaque_id
from cards.generation.rng import rng_for
from kg.words.verbaliser import Verbaliser

TEMPLATE_ID = "template_id"
"""Key of ``meta``: the id of the card whose question a card asks in other words."""


Wordings: TypeAlias = Literal["domain", "general"]
"""Whose words the questions are: those of the domain's paraphrases, or ones for any predicate."""


class ParaphrasedCards(msgspec.Struct, frozen=True):
    """Cards with other questions."""

    cards: tuple[Card, ...]
    left_out: dict[str, int]
    """Predicate → number of cards left out because the domain has paraphrases only for others."""
    wordings: Wordings


def paraphrase_cards(
    cards: Iterable[Card], verbaliser: Verbaliser, *, seed: int
) -> ParaphrasedCards:
    """Gives each card a question in other words, drawn from the domain's paraphrases.

    If the domain has none, they are general ones, which fit every predicate. The cards of a triplet
    get the same wording, so that it tells nothing about the label. The drawing depends on the seed
    and the triplet alone, not on the other cards.

    Args:
        cards: the cards.
        verbaliser: of the graph that the cards were made from.
        seed: the random seed.

    Returns:
        The cards in the same order, each with a new id, and the id of its original in ``meta``.
    """
    paraphrased: list[Card] = []
    left_out: Counter[str] = Counter()
    is_general = not any(words.paraphrases for words in verbaliser.domain.predicates.values())
    for card in cards:
        rng = rng_for(seed, card.triplet or card.id)
        if is_general:
            questions = verbaliser.list_general_questions(card.claim)
            question = questions[rng.randrange(len(questions))]
        elif n_paraphrases := len(verbaliser.get_wording(card.claim.pred).paraphrases):
            question = verbaliser.render_paraphrase(card.claim, rng.randrange(n_paraphrases))
        else:
            left_out[card.claim.pred] += 1
            continue
        paraphrased.append(
            replace(
                card,
                id=make_opaque_id(seed, card.id, question),
                question=question,
                meta={**card.meta, TEMPLATE_ID: card.id},
            )
        )
    return ParaphrasedCards(
        tuple(paraphrased), dict(sorted(left_out.items())), "general" if is_general else "domain"
    )
