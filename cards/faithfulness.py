"""Context faithfulness: cards whose gold follows the card *against* the graph.

* ``withheld``: the graph entails the claim, the card leaves out every fact it rests on. Gold is
  UNKNOWN; YES is knowledge leaking past the context.
* ``counterfactual``: two subjects' values are exchanged among the facts, consistently with the
  rules. Gold is what the exchanged facts say, YES or NO; the graph says the other.

Their two proofs disagree by design, so they are a set of their own: ``proof`` is the proof over
the card, the graph's verdict stands in ``meta.graph_label`` and ``meta.graph_proof``, and metrics
report them apart by kind.
"""

from __future__ import annotations

from random import Random

import msgspec

from cards.card import Card
from cards.context import Role
from cards.facts import Fact
from cards.kinds import COUNTERFACTUAL, WITHHELD
from cards.proving import Prover
from cards.triplets import Triplet
from cards.world import World
from cards.writing import sentence, write_card
from kg.claims import Label, Verdict


def withheld(world: World, prover: Prover, triplet: Triplet, seed: int, rng: Random) -> list[Card]:
    """A card that asks the triplet's true claim without the facts it rests on, or none."""
    role = next(role for role in triplet.roles if role.label == "E")
    facts = [fact for fact in triplet.facts if fact not in role.core]
    # Other facts about the subject stand in, so that the gap does not show in a count.
    closed = {triplet.anchor, *(r.x for r in triplet.roles)}
    spare = [
        fact
        for fact in world.about(role.x)
        if fact not in triplet.facts and not fact.denied and fact.o not in closed
    ]
    rng.shuffle(spare)
    facts += spare[: len(triplet.facts) - len(facts)]
    verdict = _ask(world, prover, triplet, role.x, facts)
    if verdict is None or verdict.label != "U" or not any(f.mentions(role.x) for f in facts):
        return []
    return [_card(world, prover, facts, verdict, WITHHELD, seed, rng)]


def counterfactual(
    world: World, prover: Prover, triplet: Triplet, seed: int, rng: Random
) -> list[Card]:
    """Two cards, gold YES and NO, over facts in which E's and C's values are exchanged, or none."""
    yes, no = _role(triplet, "E"), _role(triplet, "C")
    if len(yes.core) != 1 or len(no.core) != 1 or triplet.kinds["C"] != "functional":
        return []
    one, two = yes.core[0], no.core[0]
    if one.p != two.p or one.denied or two.denied:
        return []
    swapped = {one: Fact(one.s, one.p, two.o), two: Fact(two.s, two.p, one.o)}
    if triplet.pool.varying == "obj" and one.o == yes.x:
        swapped = {one: Fact(two.s, one.p, one.o), two: Fact(one.s, two.p, two.o)}
    if any(world.graph.has(f.s, f.p, f.o) or f.s == f.o for f in swapped.values()):
        return []
    facts = [swapped.get(fact, fact) for fact in triplet.facts]
    local = prover.on_card(facts)
    if local.violations():
        return []
    cards: list[Card] = []
    for role, wanted in ((yes, "C"), (no, "E")):
        verdict = _ask(world, prover, triplet, role.x, facts)
        if verdict is None or verdict.label != wanted:
            return []
        cards.append(_card(world, prover, facts, verdict, COUNTERFACTUAL, seed, rng))
    return cards


def _role(triplet: Triplet, label: Label) -> Role:
    return next(role for role in triplet.roles if role.label == label)


def _ask(
    world: World, prover: Prover, triplet: Triplet, x: int, facts: list[Fact]
) -> Verdict | None:
    claim = world.claim(*triplet.pool.triple(x, triplet.anchor))
    return prover.on_card(facts).license(claim)


def _card(
    world: World,
    prover: Prover,
    facts: list[Fact],
    verdict: Verdict,
    kind: str,
    seed: int,
    rng: Random,
) -> Card:
    shuffled = list(facts)
    rng.shuffle(shuffled)
    questions = world.kb.words.questions(verdict.claim)
    question = questions[rng.randrange(len(questions))]
    graph = prover.on_graph(verdict.claim)
    return write_card(
        world,
        prover,
        shuffled,
        {fact: sentence(world, fact) for fact in shuffled},
        verdict,
        kind=kind,
        question=question,
        proof=verdict.proof,
        salt=[seed, kind],
        meta={"graph_label": graph.label, "graph_proof": msgspec.to_builtins(graph.proof)},
    )
