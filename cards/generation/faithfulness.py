"""Makes context-faithfulness cards, whose gold follows from the card and *not* from the graph.

* ``withheld``: the graph entails the claim, but the card omits every fact it follows from. Gold is
  UNKNOWN; a system that answers YES used knowledge from outside the context.
* ``counterfactual``: the values of two subjects are swapped in the facts, consistently with the
  rules. Gold is what the swapped facts imply, YES or NO; the graph implies the opposite.

The proofs over card and graph differ by design, so these cards are a separate set: ``proof`` is the
proof over the card, the graph's verdict is in ``meta.graph_label`` and ``meta.graph_proof``, and
metrics report them separately by kind.
"""

from __future__ import annotations

from random import Random

import msgspec

from cards.card import Card
from cards.facts import Fact
from cards.generation.card_plan import CardPlan
from cards.generation.card_writer import Triplet, write_card, write_sentence
from cards.generation.context import Role, drop_homonyms, is_spare_fact
from cards.generation.difficulty import compute_difficulty
from cards.generation.graph_lookup import GraphLookup
from cards.generation.kinds import COUNTERFACTUAL, WITHHELD
from cards.generation.prover import Prover
from cards.generation.rng import rng_for
from kg.claims import Label, Verdict


class FaithfulnessCards:
    """The context-faithfulness cards of a card set.

    They are drawn from a random stream of their own, so that the other cards are the same with and
    without them.
    """

    def __init__(self, plan: CardPlan) -> None:
        self._plan = plan
        self._rng = rng_for(plan.drawing_seed, "faithfulness")
        self._cards: dict[str, list[Card]] = {WITHHELD: [], COUNTERFACTUAL: []}

    def make_cards(self, lookup: GraphLookup, prover: Prover, triplet: Triplet) -> None:
        """Makes the cards that a triplet gives, as far as more are needed."""
        for kind, make_kind_cards in (
            (WITHHELD, make_withheld_card),
            (COUNTERFACTUAL, make_counterfactual_cards),
        ):
            needed = self._plan.per_faithfulness_kind - len(self._cards[kind])
            if needed > 0:
                new_cards = make_kind_cards(lookup, prover, triplet, self._plan.seed, self._rng)
                self._cards[kind] += new_cards[:needed]

    def shuffle(self) -> list[Card]:
        """Returns all cards, in random order."""
        cards = [card for kind_cards in self._cards.values() for card in kind_cards]
        self._rng.shuffle(cards)
        return cards

    def count_missing(self) -> dict[str, int]:
        """Counts by kind the cards that could not be made; none if the plan has an upper bound."""
        if self._plan.num_faithfulness is not None:
            return {}
        n = self._plan.per_faithfulness_kind
        return {kind: n - len(cards) for kind, cards in self._cards.items() if len(cards) < n}


def make_withheld_card(
    lookup: GraphLookup, prover: Prover, triplet: Triplet, seed: int, rng: Random
) -> list[Card]:
    """Makes a card with the triplet's true claim but without the facts it follows from.

    Returns:
        A list with one card; empty if UNKNOWN could not be proved for it.
    """
    role = _find_role(triplet, "E")
    asked = Role("U", role.x, ())
    # The other facts about the subject may settle the claim, too.
    facts = [
        fact
        for fact in triplet.facts
        if fact not in role.core
        and (fact.s != role.x or is_spare_fact(lookup, triplet.pool, triplet.anchor, asked, fact))
    ]
    # Replace the omitted facts by others about the subject, so that the number of facts does not
    # reveal the omission.
    excluded = {triplet.anchor, *(r.x for r in triplet.roles)}
    replacements = [
        fact
        for fact in lookup.list_facts_about(role.x)
        if fact not in triplet.facts
        and not fact.denied
        and fact.o not in excluded
        and is_spare_fact(lookup, triplet.pool, triplet.anchor, asked, fact)
    ]
    replacements = drop_homonyms(lookup, replacements, facts)
    rng.shuffle(replacements)
    facts += replacements[: len(triplet.facts) - len(facts)]
    verdict = _license_on_card(lookup, prover, triplet, role.x, facts)
    if verdict is None or verdict.label != "U" or not any(f.mentions_term(role.x) for f in facts):
        return []
    return [_write_shuffled_card(lookup, prover, facts, verdict, WITHHELD, seed, rng)]


def make_counterfactual_cards(
    lookup: GraphLookup, prover: Prover, triplet: Triplet, seed: int, rng: Random
) -> list[Card]:
    """Makes cards over facts in which the values of the E and the C entity are swapped.

    Returns:
        Two cards, with gold NO and YES; an empty list if the swap is impossible or inconsistent.
    """
    e_role, c_role = _find_role(triplet, "E"), _find_role(triplet, "C")
    if len(e_role.core) != 1 or len(c_role.core) != 1 or triplet.kinds["C"] != "functional":
        return []
    e_fact, c_fact = e_role.core[0], c_role.core[0]
    if e_fact.p != c_fact.p or e_fact.denied or c_fact.denied:
        return []
    swapped_facts = {
        e_fact: Fact(e_fact.s, e_fact.p, c_fact.o),
        c_fact: Fact(c_fact.s, c_fact.p, e_fact.o),
    }
    if triplet.pool.varying == "obj" and e_fact.o == e_role.x:
        swapped_facts = {
            e_fact: Fact(c_fact.s, e_fact.p, e_fact.o),
            c_fact: Fact(e_fact.s, c_fact.p, c_fact.o),
        }
    if any(
        lookup.graph_index.has_triple(f.s, f.p, f.o) or f.s == f.o for f in swapped_facts.values()
    ):
        return []
    facts = [swapped_facts.get(fact, fact) for fact in triplet.facts]
    card_oracle = prover.make_card_oracle(facts)
    if card_oracle.find_violations():
        return []
    cards: list[Card] = []
    for role, expected in ((e_role, "C"), (c_role, "E")):
        verdict = _license_on_card(lookup, prover, triplet, role.x, facts)
        if verdict is None or verdict.label != expected:
            return []
        cards.append(
            _write_shuffled_card(lookup, prover, facts, verdict, COUNTERFACTUAL, seed, rng)
        )
    return cards


def _find_role(triplet: Triplet, label: Label) -> Role:
    return next(role for role in triplet.roles if role.label == label)


def _license_on_card(
    lookup: GraphLookup, prover: Prover, triplet: Triplet, x: int, facts: list[Fact]
) -> Verdict | None:
    claim = lookup.make_claim(*triplet.pool.make_triple(x, triplet.anchor))
    return prover.make_card_oracle(facts).license(claim)


def _write_shuffled_card(
    lookup: GraphLookup,
    prover: Prover,
    facts: list[Fact],
    verdict: Verdict,
    kind: str,
    seed: int,
    rng: Random,
) -> Card:
    shuffled = list(facts)
    rng.shuffle(shuffled)
    questions = lookup.kb.verbaliser.render_questions(verdict.claim)
    question = questions[rng.randrange(len(questions))]
    graph_verdict = prover.license_on_graph(verdict.claim)
    return write_card(
        lookup,
        prover,
        shuffled,
        {fact: write_sentence(lookup, fact) for fact in shuffled},
        verdict,
        kind=kind,
        question=question,
        proof=verdict.proof,
        salt=[seed, kind],
        difficulty=compute_difficulty(lookup.fact_graph, lookup.terms, verdict.claim),
        meta={
            "graph_label": graph_verdict.label,
            "graph_proof": msgspec.to_builtins(graph_verdict.proof),
        },
    )
