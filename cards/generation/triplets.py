"""Proves proposed triplets; the recipes of a predicate take turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from random import Random

from cards.facts import Fact
from cards.generation.balance import has_shared_anchor
from cards.generation.card_plan import DerivedQuota, Phase
from cards.generation.card_writer import Triplet
from cards.generation.context import (
    Proposal,
    Role,
    add_unrelated_facts,
    build_context,
    has_alike_places,
    has_balanced_mentions,
    has_balanced_starts,
    has_confusable_names,
    has_settling_fact,
)
from cards.generation.graph_lookup import GraphLookup
from cards.generation.kinds import (
    ASYMMETRIC,
    CYCLE,
    IRREFLEXIVE,
    SURFACE_KINDS,
    list_supported_kinds,
)
from cards.generation.pools import Pool
from cards.generation.prover import Prover
from cards.generation.recipes import OTHER_CLASS, OTHER_CONSTRAINT, Recipe, Recipes
from cards.generation.shortage import Obstacle, find_unproved
from kg.claims import Claim, Label, Verdict

MAX_FAILED_PROPOSALS = 60
"""A recipe that never succeeded is dropped after this many failed proposals in a row."""
PATIENCE = 4
"""How many times as many proposals of a recipe that has succeeded may fail."""
MAX_VALUE_TRIES = 8
"""Maximum number of random values tried to find another one that a card can state."""

MAX_MIXED_SHARE = 0.1
"""At last, at most this share of triplets may have subjects of which only some share their value
with others: few, so that who knows that a value is shared can tell hardly any label."""

SURFACE_INTERVAL = 40
SURFACE_OFFSET = 9
"""Of every ``SURFACE_INTERVAL`` triplets of a predicate, the one at this offset may use a recipe
whose C question alone, the "surface" of the card, reveals the label (``SURFACE_RECIPES``). So a
card set has all kinds, but too few cards of such recipes to help a baseline."""

SURFACE_RECIPES = (OTHER_CLASS, IRREFLEXIVE)


class TripletSource:
    """Yields the proved triplets of one predicate; its recipes take turns until all are exhausted.

    Args:
        lookup: the knowledge base.
        pool: predicate and varying side.
        prover: proves cards over graph and facts.
        recipes: makes proposals.
        allowed_kinds: kinds allowed for C cards; empty for all.
        num_facts: target number of facts per card.
        quota: how many cards of the set should need a derived fact.
        rng: the random generator.
    """

    def __init__(
        self,
        lookup: GraphLookup,
        pool: Pool,
        prover: Prover,
        recipes: Recipes,
        *,
        allowed_kinds: frozenset[str],
        num_facts: int,
        quota: DerivedQuota,
        rng: Random,
    ) -> None:
        self.lookup, self.pool, self.prover, self.recipes = lookup, pool, prover, recipes
        self.allowed_kinds, self.num_facts, self.rng = allowed_kinds, num_facts, rng
        self._quota = quota
        self.with_types = False
        self.strict = True
        self.proved_counts: Counter[str] = Counter()
        """Recipe → number of proved triplets."""
        self.unknown_counts: Counter[bool] = Counter()
        """Whether the claim of a U card was set aside, so that it is true → number of triplets."""
        self.failures: Counter[Obstacle] = Counter()
        """Obstacle → number of proposals that failed since the last proved triplet."""
        self._n_mixed = 0
        self._may_mix = False
        self._obstacle = Obstacle.ENTITIES
        self._exhausted: set[str] = set()
        # Recipes that find no U card any more whose claim was set aside.
        self._only_false: set[str] = set()
        # Searches that failed and are not repeated, because ever fewer entities are left: recipe,
        # strict, any anchor, whether the claim of the U card had to be true, and E or C to need a
        # derived fact.
        self._failed_searches: set[tuple[str, bool, bool, bool, bool]] = set()
        self._is_last = True

    def iter_triplets(self, phase: Phase) -> Iterator[Triplet]:
        """Yields the triplets of a phase.

        A sparse graph may have too few entities and facts to balance everything.
        """
        self.strict = self.recipes.strict = phase.strict or self.recipes.is_always_strict
        self.recipes.allows_any_anchor = phase.any_anchor
        self._may_mix = phase.any_anchor and not self.strict
        self._is_last = phase.is_last
        self._only_false.clear()
        self._exhausted.clear()
        yield from self._iter_round()

    def _iter_round(self) -> Iterator[Triplet]:
        recipes_by_name = self.recipes.recipes_by_name
        surface_names = [name for name in SURFACE_RECIPES if name in recipes_by_name]
        regular_names = [
            name for name in recipes_by_name if name not in (*surface_names, OTHER_CONSTRAINT)
        ]
        if self.allowed_kinds & SURFACE_KINDS:
            # The user requested these kinds, so they are not limited to a small share.
            regular_names, surface_names = [*regular_names, *surface_names], []
        if not regular_names and OTHER_CONSTRAINT not in self._exhausted:
            # Only if no recipe for a certain kind is possible.
            regular_names.append(OTHER_CONSTRAINT)
        n_proved = turn = surface_turn = 0
        while regular_names:
            is_regular = not surface_names or n_proved % SURFACE_INTERVAL != SURFACE_OFFSET
            names = regular_names if is_regular else surface_names
            name = names[(turn if is_regular else surface_turn) % len(names)]
            turn += is_regular
            surface_turn += not is_regular
            triplet = self._try_recipe_often(name, recipes_by_name)
            if triplet is not None:
                self.proved_counts[name] += 1
                n_proved += 1
                yield triplet
            elif self.recipes.wants_true and self._is_last:
                self._only_false.add(name)
            else:
                names.remove(name)
                self._exhausted.add(name)
                if (
                    not regular_names
                    and not self.proved_counts
                    and OTHER_CONSTRAINT not in self._exhausted
                ):
                    regular_names.append(OTHER_CONSTRAINT)  # Only if no named recipe succeeded.

    def _try_recipe_often(self, name: str, recipes_by_name: dict[str, Recipe]) -> Triplet | None:
        # Claims that were set aside and others take turns, so that the number of true ones among
        # the U cards tells nothing.
        counts = self.unknown_counts
        max_mixed = MAX_MIXED_SHARE * self.unknown_counts.total() if self._may_mix else 0
        self.recipes.compares_sharing = self._n_mixed >= max_mixed
        self.recipes.wants_true = name not in self._only_false and counts[True] <= counts[False]
        n_proved = self.proved_counts[name]
        limits = (name, self.strict, self.recipes.asks_any_anchor, self.recipes.wants_true)
        if "inferred" in self.recipes.e_kinds and name not in SURFACE_RECIPES:
            self.recipes.wants_derived = self._quota.wanted
            n_tries = MAX_FAILED_PROPOSALS * (PATIENCE if n_proved else 1)
            search = (*limits, True)
            if self.recipes.wants_derived and search not in self._failed_searches:
                triplet = self._search(name, recipes_by_name, n_tries)
                if triplet is not None:
                    return triplet
                self._failed_searches.add(search)
        self.recipes.wants_derived = frozenset()
        search = (*limits, False)
        if not n_proved and search in self._failed_searches:
            return None
        is_patient = n_proved and not (self.recipes.wants_true and self._is_last)
        n_tries = MAX_FAILED_PROPOSALS * (PATIENCE if is_patient else 1)
        triplet = self._search(name, recipes_by_name, n_tries)
        if triplet is None:
            self._failed_searches.add(search)
        return triplet

    def _search(self, name: str, recipes: dict[str, Recipe], n_tries: int) -> Triplet | None:
        tries = (self._try_recipe(name, recipes) for _ in range(n_tries))
        return next((triplet for triplet in tries if triplet is not None), None)

    def _try_recipe(self, name: str, recipes_by_name: dict[str, Recipe]) -> Triplet | None:
        rejections = self.recipes.rejections
        rejections.clear()
        proposal = recipes_by_name[name]()
        if proposal is None:
            reached = (Obstacle.FALSE, Obstacle.UNKNOWN, Obstacle.NAMES)
            self.failures[next((o for o in reached if rejections[o]), Obstacle.ENTITIES)] += 1
            return None
        triplet = self.prove_triplet(name, proposal)
        if triplet is not None:
            self.failures.clear()
        else:
            self.failures[self._obstacle] += 1
        return triplet

    def prove_triplet(self, name: str, proposal: Proposal) -> Triplet | None:
        """Builds the context and proves every role over card and graph; None if a proof fails.

        The entities' classes are added to the facts if the proof fails without them: shapes that
        target a class apply only to what the card calls its member.
        """
        triplet = self._try_proposal(name, proposal)
        may_need_types = not (proposal.with_types or self.with_types or self.proved_counts[name])
        if triplet is None and may_need_types:
            triplet = self._try_proposal(name, proposal._replace(with_types=True))
            self.with_types = triplet is not None
        if triplet is not None:
            self.recipes.used.update(role.x for role in proposal.roles)
        return triplet

    def count_triplet(self, triplet: Triplet) -> None:
        """Counts a triplet whose cards are part of the set."""
        self._quota.count_cards(triplet.derived)
        shared = {has_shared_anchor(self.pool.full, role.x) for role in triplet.roles} - {None}
        self._n_mixed += len(shared) > 1
        self.unknown_counts.update(
            self.recipes.is_true_unknown(role.x, triplet.anchor)
            for role in triplet.roles
            if role.label == "U"
        )

    def _try_proposal(self, name: str, proposal: Proposal) -> Triplet | None:
        anchor, roles = proposal.anchor, proposal.roles
        # Checked before the more expensive choice of facts.
        graph_verdicts: dict[str, Verdict] = {}
        self._obstacle = Obstacle.UNKNOWN
        for role in roles:
            if role.label == "U":
                graph_verdicts["U"] = self.prover.license_on_graph(self._make_claim(role, anchor))
                if graph_verdicts["U"].label != "U":
                    return None
        self._obstacle = Obstacle.FACTS
        if proposal.with_types or self.with_types:
            roles = self._add_type_facts(roles, anchor)
        is_relaxed = self.recipes.allows_any_anchor
        facts = build_context(
            self.lookup,
            self.pool,
            anchor,
            roles,
            self.num_facts,
            self.rng,
            is_relaxed,
            other_values=self._find_other_value(anchor, roles),
            # Where one term has nothing above or below it, the others would have more facts.
            repeats_kinds=self.strict or not self.recipes.is_taxonomy,
        )
        if facts is None or not all(map(self.lookup.is_usable, facts)):
            return None
        if has_settling_fact(self.pool, anchor, roles, facts):
            return None
        if name not in SURFACE_RECIPES:
            if not has_balanced_mentions(facts, roles):
                return None
            if self.strict:
                if not has_balanced_starts(self.lookup, facts, roles):
                    return None
                if self.recipes.is_taxonomy and not has_alike_places(self.pool.p, facts, roles):
                    return None
        facts = add_unrelated_facts(
            self.lookup, self.pool, proposal, facts, self.num_facts, self.rng
        )
        card_oracle = self.prover.make_card_oracle(facts)
        card_verdicts: dict[str, Verdict] = {}
        kinds: dict[str, str] = {}
        for role in sorted(roles, key=lambda role: role.label != "C"):
            claim = self._make_claim(role, anchor)
            self._obstacle = find_unproved(role.label)
            verdict = card_oracle.license(claim)
            if verdict.label != role.label:
                return None
            card_verdicts[role.label] = verdict
            kind = self._determine_kind(name, claim, verdict)
            if kind is None:
                self._obstacle = Obstacle.KINDS if self.allowed_kinds else self._obstacle
                return None
            kinds[role.label] = kind
            graph_verdict = graph_verdicts.get(role.label) or self.prover.license_on_graph(claim)
            if graph_verdict.label != role.label:
                return None
            graph_verdicts[role.label] = graph_verdict
        if has_confusable_names(self.lookup, anchor, roles, facts):
            self._obstacle = Obstacle.NAMESAKES
            return None
        derived = self._find_derived_labels(facts, card_verdicts)
        return Triplet(
            self.pool, anchor, roles, facts, graph_verdicts, card_verdicts, kinds, derived
        )

    def _find_other_value(self, anchor: int, roles: list[Role]) -> tuple[Fact, ...]:
        """Finds a fact from which another value of the anchor follows, if it may have several.

        (Where the subject varies, ``build_context`` finds them.)
        """
        if not (self.pool.varying == "obj" and self.pool.may_have_others):
            return ()
        values = self.pool.get_holders(anchor)
        asked = {role.x for role in roles}
        mentioned = {term for role in roles for fact in role.core for term in (fact.s, fact.o)}
        for _ in range(MAX_VALUE_TRIES if values else 0):
            value = values[int(self.rng.random() * len(values))]
            if value in asked or value in mentioned or not self.lookup.is_nameable(value):
                continue
            facts = self.recipes.find_proof_facts(value, anchor) or ()
            if len(facts) == 1 and asked.isdisjoint((facts[0].s, facts[0].o)):
                return facts
        return ()

    def _find_derived_labels(
        self, facts: list[Fact], card_verdicts: dict[str, Verdict]
    ) -> frozenset[Label]:
        """Finds the labels, E or C, that the facts do not have without the axioms."""
        derived: set[Label] = set()
        if "E" in card_verdicts and card_verdicts["E"].proof.kind == "derived":
            derived.add("E")
        if "C" in card_verdicts and self.prover.axioms:
            claim = card_verdicts["C"].claim
            if self.prover.make_card_oracle(facts, with_axioms=False).license(claim).label != "C":
                derived.add("C")
        return frozenset(derived)

    def _make_claim(self, role: Role, anchor: int) -> Claim:
        return self.lookup.make_claim(*self.pool.make_triple(role.x, anchor))

    def _add_type_facts(self, roles: list[Role], anchor: int) -> list[Role]:
        """Adds a class of each role's term, and of the subject, to the facts that prove the label.

        One class for each term, so that all entities are mentioned equally often: a class that the
        shapes target which the C claim violates, else the term's first one.
        """
        violated_shapes = [
            violation.shape
            for role in roles
            if role.label == "C"
            for violation in self.prover.license_on_graph(
                self._make_claim(role, anchor)
            ).proof.violations
        ]
        targets = self.prover.find_target_classes(violated_shapes)
        subject_facts: tuple[Fact, ...] = ()
        if self.pool.varying == "obj" and targets:
            subject_facts = self._choose_type_facts(anchor, targets)
        typed_roles = []
        for role in roles:
            facts = (*self._choose_type_facts(role.x, targets), *subject_facts)
            typed_roles.append(
                role._replace(core=(*(f for f in facts if f not in role.core), *role.core))
            )
        return typed_roles

    def _choose_type_facts(self, term: int, targets: Collection[int]) -> tuple[Fact, ...]:
        lookup = self.lookup
        asserted = lookup.get_types(term)
        entailed = lookup.closure_index.find_objects(term, lookup.type_id) if targets else ()
        candidates = [c for c in (*asserted, *entailed) if c in targets] or asserted
        return tuple(Fact(term, lookup.type_id, c) for c in candidates[:1])

    def _determine_kind(self, name: str, claim: Claim, verdict: Verdict) -> str | None:
        """Returns a kind that the card's proof supports; None if a C card has no allowed kind."""
        kinds = list_supported_kinds(verdict, reverse_holds=name == ASYMMETRIC)
        if verdict.label != "C":
            return kinds[0]
        if name in (ASYMMETRIC, CYCLE):
            # Here the recipe determines the kind: its claim reverses an asserted chain. The
            # component in the proof does not, because a shape can forbid the reverse by
            # sh:disjoint, sh:not or SPARQL.
            kinds = [name] if claim.subj != claim.obj and kinds else []
        elif name == IRREFLEXIVE:
            kinds = [IRREFLEXIVE] if kinds else []
        elif name not in (OTHER_CLASS, OTHER_CONSTRAINT):
            kinds = [kind for kind in kinds if kind == name]
        allowed = [kind for kind in kinds if not self.allowed_kinds or kind in self.allowed_kinds]
        return allowed[0] if allowed else None
