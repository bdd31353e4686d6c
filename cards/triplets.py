"""Triplets: proposals that were proved, and the cards made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from cards.card import Card
from cards.context import Role, build_context, mentions_balanced, reads_alike
from cards.facts import Fact
from cards.kinds import ASYMMETRIC, CYCLE, IRREFLEXIVE, SURFACE_KINDS, kinds_of
from cards.pools import Pool
from cards.proving import Prover
from cards.recipes import ALIEN, OTHER, Drawer, Proposal, Recipes
from cards.world import World
from cards.writing import digest, sentence, write_card
from kg.claims import Claim, Verdict

PATIENCE = 60
"""A recipe that never worked is given up after so many proposals in a row; one that did, after
four times as many."""

SURFACE_EVERY = 40
SURFACE_FIRST = 9
"""One triplet of a predicate in ``SURFACE_EVERY``, this one first, may use a recipe whose C
question betrays itself: enough to have all kinds in an ordinary set, too few for a baseline."""

ROUNDS = 3
"""How often one may be asked about as the varying term of a predicate, with other anchors."""

SURFACE_RECIPES = (ALIEN, IRREFLEXIVE)


class Triplet(NamedTuple):
    """Proved roles around one anchor with one set of facts."""

    pool: Pool
    anchor: int
    roles: list[Role]
    facts: list[Fact]
    graph: dict[str, Verdict]
    """Label → proof over the graph."""
    card: dict[str, Verdict]
    """Label → proof over the facts and rules."""
    kinds: dict[str, str]


class TripletSource:
    """Yields proved triplets of one predicate, its recipes in turn, until none has any more.

    Args:
        world: the knowledge base.
        pool: predicate and varying side.
        prover: both proofs.
        recipes: proposals.
        wanted: kinds allowed for C cards; empty for all.
        size: facts per card aimed at.
        rng: the draw.
    """

    def __init__(
        self,
        world: World,
        pool: Pool,
        prover: Prover,
        recipes: Recipes,
        *,
        wanted: frozenset[str],
        size: int,
        rng: Random,
    ) -> None:
        self.world, self.pool, self.prover, self.recipes = world, pool, prover, recipes
        self.wanted, self.size, self.rng = wanted, size, rng
        self.with_types = False
        self.strict = True
        self.rounds = 0
        self.proved: Counter[str] = Counter()
        """Recipe → triplets proved."""
        self._gone: set[str] = set()

    def __iter__(self) -> Iterator[Triplet]:
        while self.rounds < ROUNDS:
            found = False
            for triplet in self._round():
                found = True
                yield triplet
            self.rounds += 1
            if not found:
                if not self.strict:
                    return
                # A bare graph may have too few facts for sentences that also read alike.
                self.strict = False
            self.recipes.next_round(strict=self.strict)

    def _round(self) -> Iterator[Triplet]:
        """Triplets in which nobody is asked about twice."""
        families = self.recipes.families
        surface = [name for name in SURFACE_RECIPES if name in families]
        regular = [name for name in families if name not in (*surface, OTHER)]
        if self.wanted & SURFACE_KINDS:  # Asked for by name: no small share then.
            regular, surface = [*regular, *surface], []
        if not regular and OTHER not in self._gone:
            regular.append(OTHER)  # Only where nothing that has a name is possible.
        done = turn = betrayed = 0
        while regular:
            mirrored = not surface or done % SURFACE_EVERY != SURFACE_FIRST
            names = regular if mirrored else surface
            name = names[(turn if mirrored else betrayed) % len(names)]
            turn += mirrored
            betrayed += not mirrored
            patience = PATIENCE * (4 if self.proved[name] else 1)
            for _ in range(patience):
                found = self._attempt(name, families)
                if found is not None:
                    self.proved[name] += 1
                    done += 1
                    yield found
                    break
            else:
                names.remove(name)
                self._gone.add(name)
                if not regular and not self.proved and OTHER not in self._gone:
                    regular.append(OTHER)  # Only where nothing that has a name worked.

    def _attempt(self, name: str, families: dict[str, Drawer]) -> Triplet | None:
        proposal = families[name]()
        if proposal is None:
            return None
        found = self.prove(name, proposal)
        unsettled = not (proposal.with_types or self.with_types or self.proved[name])
        if found is None and unsettled:
            # Shapes that target a class bite only when the card says who belongs to it.
            found = self.prove(name, proposal._replace(with_types=True))
            self.with_types = found is not None
        if found is not None:
            self.recipes.used.update(role.x for role in proposal.roles)
        return found

    def prove(self, name: str, proposal: Proposal) -> Triplet | None:
        """Builds the context and proves every role twice; None where one fails."""
        anchor, roles = proposal.anchor, proposal.roles
        if proposal.with_types or self.with_types:
            roles = [self._typed(role) for role in roles]
        # What the facts state of others may contradict someone of whom they say nothing: that is
        # asked before the facts are chosen.
        graph: dict[str, Verdict] = {}
        for role in roles:
            if role.label == "U":
                graph["U"] = self.prover.on_graph(self._claim(role, anchor))
                if graph["U"].label != "U":
                    return None
        facts = build_context(self.world, self.pool, anchor, roles, self.size, self.rng)
        if facts is None:
            return None
        if name not in SURFACE_RECIPES:
            if not mentions_balanced(facts, roles):
                return None
            if self.strict and not reads_alike(self.world, facts, roles):
                return None
        on_card = self.prover.on_card(facts)
        card: dict[str, Verdict] = {}
        kinds: dict[str, str] = {}
        for role in sorted(roles, key=lambda role: role.label != "C"):
            claim = self._claim(role, anchor)
            verdict = on_card.license(claim)
            if verdict.label != role.label:
                return None
            card[role.label] = verdict
            kind = self._kind(name, claim, verdict)
            if kind is None:
                return None
            kinds[role.label] = kind
            proof = graph.get(role.label) or self.prover.on_graph(claim)
            if proof.label != role.label:
                return None
            graph[role.label] = proof
        return Triplet(self.pool, anchor, roles, facts, graph, card, kinds)

    def _claim(self, role: Role, anchor: int) -> Claim:
        return self.world.claim(*self.pool.triple(role.x, anchor))

    def _typed(self, role: Role) -> Role:
        world = self.world
        stated = tuple(Fact(role.x, world.type_id, c) for c in world.types(role.x)[:1])
        return role._replace(core=(*(f for f in stated if f not in role.core), *role.core))

    def _kind(self, name: str, claim: Claim, verdict: Verdict) -> str | None:
        """The kind the card proof supports; None for a C card that is not what was wanted."""
        found = kinds_of(verdict, reverse_holds=name == ASYMMETRIC)
        if verdict.label != "C":
            return found[0]
        if name in (ASYMMETRIC, CYCLE):
            # The shape that forbids a way back may be written with disjoint, not or SPARQL; what
            # makes the kind is that the claim runs against a stated way.
            found = [name] if claim.subj != claim.obj and found else []
        elif name == IRREFLEXIVE:
            found = [IRREFLEXIVE] if found else []
        elif name not in (ALIEN, OTHER):
            found = [kind for kind in found if kind == name]
        allowed = [kind for kind in found if not self.wanted or kind in self.wanted]
        return allowed[0] if allowed else None


def cards_of(world: World, prover: Prover, triplet: Triplet, seed: int, rng: Random) -> list[Card]:
    """The cards of a triplet: same facts in another order, same rules, same question wording."""
    sentences = {fact: sentence(world, fact) for fact in triplet.facts}
    variant = rng.random()
    context = digest(seed, *sorted(sentences.values()))
    cards: list[Card] = []
    for role in triplet.roles:
        facts = list(triplet.facts)
        rng.shuffle(facts)
        verdict = triplet.card[role.label]
        cards.append(
            write_card(
                world,
                prover,
                facts,
                sentences,
                verdict,
                kind=triplet.kinds[role.label],
                question=world.kb.words.question(verdict.claim, variant),
                proof=triplet.graph[role.label].proof,
                salt=[seed],
                meta={"context": context},
            )
        )
    return cards
