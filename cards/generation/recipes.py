"""Proposes triplets of cards, with one recipe for each kind of contradiction.

A recipe chooses the entities that the cards ask about and the facts that their labels need. The
oracle alone decides afterwards whether the labels are correct; a proposal that fails is discarded.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from cards.facts import Fact
from cards.generation.context import Proposal, Role
from cards.generation.entity_sampler import MAX_CANDIDATES, EntitySampler
from cards.generation.kinds import ASYMMETRIC, CYCLE, DENIED, FUNCTIONAL, IRREFLEXIVE, NUMERIC
from cards.generation.literals import (
    are_nearly_equal,
    find_compared_predicates,
    parse_number,
    read_alike,
)
from cards.generation.restated_values import find_synonyms
from cards.generation.shortage import Obstacle
from kg.words.name_forms import may_name_one_thing

# Names of the recipes for entities of another class, and for all constraints not named in kinds.
OTHER_CLASS = "alien"
OTHER_CONSTRAINT = "other"
MAX_HOPS = 3
"""Maximum number of steps of a chain whose reverse is asked about."""
MAX_CHAIN_STARTS = 3_000
"""Maximum number of terms that are searched for the start of a chain."""
MAX_BOUND_CANDIDATES = 48
"""Maximum number of random entities tried to find one of the few whose bound a value violates."""

Recipe = Callable[[], Proposal | None]


class Recipes(EntitySampler):
    """Samples proposals for one predicate and varying side."""

    @property
    def recipes_by_name(self) -> dict[str, Recipe]:
        """Name → recipe, for the recipes that the predicate has data for."""
        recipes: dict[str, Recipe] = {}
        if self.is_single and self.e_kinds and self.unknown_terms:
            recipes[FUNCTIONAL] = self.propose_functional
        if self._denied_facts:
            recipes[DENIED] = self.propose_denied
        if self.has_chains:
            recipes[ASYMMETRIC] = lambda: self.propose_downstream(1)
            recipes[CYCLE] = lambda: self.propose_downstream(2 + self.rng.randrange(MAX_HOPS - 1))
        if self._bounds:
            recipes[NUMERIC] = self.propose_numeric
        recipes[OTHER_CLASS] = self.propose_other_class
        if not self.is_reflexive:
            recipes[IRREFLEXIVE] = self.propose_irreflexive
        recipes[OTHER_CONSTRAINT] = self.propose_other
        return recipes

    def _build_proposal(
        self,
        anchor: int,
        e: int,
        c: Role | None,
        u: int | None,
        *,
        with_types: bool = False,
        may_break_bounds: bool = False,
    ) -> Proposal | None:
        """Builds a proposal; None if a role or E's proof is missing, or two entities are equal.

        Args:
            anchor: the term that all claims are about.
            e: the entity of the true claim.
            c: the role of the false one.
            u: the entity of the unknown one.
            with_types: see ``Proposal``.
            may_break_bounds: whether the false claim may, see ``Pool.keeps_bounds``.
        """
        if c is None or u is None or len({e, c.x, u}) < 3 or self._is_decided_by_graph(u, anchor):
            return None
        if self.reads_like_true(c.x, anchor) or self.reads_like_true(u, anchor):
            return None
        if self.is_nearly_true(c.x, anchor) or any(map(self.pool.is_told_by_name, (e, c.x, u))):
            return None
        needs_other_value = not (c.forbids_other_value or any(fact.denied for fact in c.core))
        if needs_other_value and self.pool.has_related_anchor(c.x, anchor):
            return None
        # If only false claims did, this would tell their label.
        if any(self.pool.is_number_of_neighbour(x, anchor) for x in (c.x, u)):
            return None
        if not (
            self.pool.keeps_bounds(u, anchor)
            and (may_break_bounds or self.pool.keeps_bounds(c.x, anchor))
        ):
            return None
        proof_facts = self.find_proof_facts(e, anchor)
        if proof_facts is None:
            return None
        return Proposal(anchor, [Role("E", e, proof_facts), c, Role("U", u, ())], with_types)

    def _is_decided_by_graph(self, u: int, anchor: int) -> bool:
        """Returns whether the graph settles a claim that should be unknown.

        The entity was chosen for having no value, but other facts may contradict the claim.
        """
        triple = self.pool.make_triple(u, anchor)
        is_settled = (
            not self.lookup.kind_checker.may_hold(*triple)
            or self.prover.license_on_graph(self.lookup.make_claim(*triple)).label != "U"
        )
        self.rejections[Obstacle.UNKNOWN] += is_settled
        return is_settled

    def reads_like_true(self, x: int, anchor: int) -> bool:
        """Returns whether a claim of a C or U card reads like a true one."""
        # A reader cannot distinguish the anchor from a namesake, so the claim must not be true of a
        # namesake either.
        if any(self.pool.is_entailed(x, one) for one in self.lookup.get_namesakes(anchor)):
            return True
        # Nor may x have a value of another datatype that reads like the anchor ("1990").
        get_text = self.lookup.terms.get_text
        text = get_text(anchor)
        is_alike = text.startswith('"') and any(
            read_alike(get_text(own), text) for own in self.pool.get_anchors(x)
        )
        return is_alike or self._is_true_of_synonym(x, anchor)

    def _is_true_of_synonym(self, x: int, anchor: int) -> bool:
        """Returns whether a claim is true of another predicate with the same name."""
        s, _, value = self.pool.make_triple(x, anchor)
        # Before facts were set aside.
        find_objects = self.full_lookup.graph_index.find_objects
        get_text = self.lookup.terms.get_text
        return any(
            value == own or read_alike(get_text(own), get_text(value))
            for q in self._synonyms
            for own in find_objects(s, q)
        )

    @cached_property
    def _synonyms(self) -> set[int]:
        """The predicates that a reader cannot tell from the one asked about."""
        return find_synonyms(self.full_lookup, self.pool.p)

    def is_nearly_true(self, x: int, anchor: int) -> bool:
        """Returns whether a claim is nearly true: of this predicate or one with the same name."""
        s, p, value = self.pool.make_triple(x, anchor)
        own_values = set(self.lookup.closure_index.find_objects(s, p))
        for q in (p, *self._synonyms):
            own_values.update(self.full_lookup.graph_index.find_objects(s, q))
        get_text = self.lookup.terms.get_text
        return any(
            are_nearly_equal(get_text(own), get_text(value)) or self._share_name(own, value)
            for own in own_values
        )

    def _share_name(self, own: int, value: int) -> bool:
        """Returns whether the name of one of two things is a part of the other's."""
        is_literal, get_words = self.lookup.terms.is_literal, self.lookup.get_label_words
        if is_literal(own) or is_literal(value):
            return False
        return may_name_one_thing(get_words(own), get_words(value))

    def propose_functional(self) -> Proposal | None:
        """Proposes a C card about an entity that can have one anchor only and has another one."""
        sample = self.sample_unknown_and_entailed()
        if sample is None:
            return None
        u, e, anchor = sample
        x = self.sample_other_anchor_holder(u, anchor)
        if x is None or x == e:
            return None
        facts = self.find_proof_facts(x, self.pool.get_anchors(x)[0])
        return self._build_proposal(anchor, e, Role("C", x, facts) if facts else None, u)

    def propose_denied(self) -> Proposal | None:
        """Proposes a C card whose claim the graph explicitly denies."""
        fact = self._denied_facts[self.rng.randrange(len(self._denied_facts))]
        x, anchor = (fact.s, fact.o) if self.pool.varying == "subj" else (fact.o, fact.s)
        if not self.is_unused(x, anchor):
            return None
        if not (self.asks_any_anchor or anchor in self._unknowns_by_anchor):
            return None
        # Denials are rare, so a card that denies something about its entity would look like a C
        # card. Therefore prefer entities with denials for the E and U cards, too.
        e = self.find_true_match(x, anchor, self.lookup.denials)
        e = e or self.find_true_match(x, anchor)
        if e is None:
            return None
        u = self.sample_unknown_of(self._denied_unknowns, x, anchor)
        u = u or self.sample_unknown(x, anchor)
        return self._build_proposal(anchor, e, Role("C", x, (fact,)), u)

    @cached_property
    def _denied_unknowns(self) -> list[int]:
        """The unknown terms of which the graph denies something."""
        return [x for x in self.unknown_terms if x in self.lookup.denials]

    @cached_property
    def _turns(self) -> Iterator[int]:
        return itertools.count()

    @cached_property
    def _denied_facts(self) -> list[Fact]:
        p = self.pool.p
        return [f for facts in self.lookup.denials.values() for f in facts if f.p == p]

    def propose_downstream(self, hops: int) -> Proposal | None:
        """Proposes a C card with the reverse of an entailed chain of ``hops`` steps."""
        anchors = self._list_chain_starts(hops)
        for _ in range(MAX_CANDIDATES if anchors else 0):
            anchor = anchors[int(self.rng.random() * len(anchors))]
            path, unknowns = self._sample_path(anchor, hops), self.list_unknown_terms(anchor)
            if path is None or not (unknowns and self.is_unused(path[-1], anchor)):
                continue
            x, get_types = path[-1], self.lookup.get_types
            u = self.sample_unknown_of(unknowns, x, anchor)
            if u is None:
                continue
            # Another class would reveal the label: a chain of rivers may end in a sea.
            holders, types = self._sample_true_matches(anchor), get_types(x)
            alike = [e for e in holders if get_types(e) == types and e not in path]
            e = self._choose_true_match(x, anchor, alike)
            if e is not None:
                break
        else:
            return None
        if self._is_decided_by_graph(u, anchor):
            return None
        facts = self.find_path_facts(path)
        if facts is None:
            return None
        role = Role("C", x, facts, forbids_other_value=True)
        return self._build_proposal(anchor, e, role, u)

    def _sample_path(self, anchor: int, hops: int) -> list[int] | None:
        """Samples a path of steps to a term that could be asked about; None if it ends early."""
        path = [anchor]
        for n_left in range(hops, 0, -1):
            usual = self._usual_anchors.get(path[-1]) if n_left == 1 else None
            next_terms = self.pool.get_anchors(path[-1]) if usual is None else usual
            if len(next_terms) > 2 * MAX_CANDIDATES:
                next_terms = self.rng.sample(next_terms, 2 * MAX_CANDIDATES)
                if n_left == 1:
                    next_terms = list(filter(self._has_usual_class, next_terms))
            elif n_left == 1 and usual is None:
                next_terms = list(filter(self._has_usual_class, next_terms))
                self._usual_anchors[path[-1]] = next_terms
            if not next_terms:
                return None
            next_term = next_terms[int(self.rng.random() * len(next_terms))]
            if next_term in path:
                return None
            path.append(next_term)
        return path

    def _list_chain_starts(self, hops: int) -> list[int]:
        """Lists the anchors of U cards, or of any terms, from which a path of steps leads on."""
        # Where the object varies, cards say less of subjects that lost a value than of others, so
        # that chains from them would tell labels.
        of_any = self.asks_any_anchor or (self.pool.varying == "obj" and not self.wants_true)
        key = (hops, of_any)
        starts = self._chain_starts.get(key)
        if starts is None:
            anchors: Sequence[int] = list(
                self.pool.anchor_rows if of_any else self._unknowns_by_anchor
            )
            if len(anchors) > MAX_CHAIN_STARTS:
                anchors = self.rng.sample(anchors, MAX_CHAIN_STARTS)
            starts = [a for a in anchors if self._leads_on(a, hops) and self.pool.get_holders(a)]
            self._chain_starts[key] = starts
        return starts

    def _leads_on(self, term: int, hops: int) -> bool:
        leads_on = self._leads_on_cache.get((term, hops))
        if leads_on is None:
            next_terms = self.pool.get_anchors(term)
            if hops == 1:
                leads_on = any(map(self._has_usual_class, next_terms))
            else:
                leads_on = any(self._leads_on(a, hops - 1) for a in next_terms)
            self._leads_on_cache[term, hops] = leads_on
        return leads_on

    def _has_usual_class(self, term: int) -> bool:
        classes = self._usual_classes
        return not classes or not classes.isdisjoint(self.lookup.get_types(term))

    @cached_property
    def _usual_classes(self) -> frozenset[int]:
        return frozenset(self.pool.classes)

    @cached_property
    def _usual_anchors(self) -> dict[int, list[int]]:
        """Term → its anchors that have a usual class, if it has few."""
        return {}

    @cached_property
    def _chain_starts(self) -> dict[tuple[int, bool], list[int]]:
        return {}

    @cached_property
    def _leads_on_cache(self) -> dict[tuple[int, int], bool]:
        return {}

    def propose_numeric(self) -> Proposal | None:
        """Proposes a C card whose value violates a bound that a fact about the subject gives."""
        bounds = self._bounds
        if not bounds or self.pool.varying != "subj":
            return None
        sample = self.sample_unknown_and_entailed()
        if sample is None:
            return None
        u, e, anchor = sample
        value = parse_number(self.lookup.terms.get_text(anchor))
        if value is None:
            return None
        q, below = bounds[self.rng.randrange(len(bounds))]
        subjects, is_similar = self._list_bounded_subjects(q), self.make_similarity_test(u)
        for _ in range(MAX_BOUND_CANDIDATES):
            x = subjects[int(self.rng.random() * len(subjects))]
            bound_term = next(iter(self.lookup.graph_index.find_objects(x, q)))
            bound = parse_number(self.lookup.terms.get_text(bound_term))
            if bound is None or (value < bound if below else value > bound) or x in (e, u):
                continue
            if is_similar(x) and self.is_unused(x, anchor):
                role = Role("C", x, (Fact(x, q, bound_term),), forbids_other_value=True)
                return self._build_proposal(anchor, e, role, u, may_break_bounds=True)
        return None

    @cached_property
    def _bounds(self) -> list[tuple[int, bool]]:
        """Predicates q whose values bound those of p, with True if values of p must be smaller."""
        pred, shapes = self.lookup.terms.get_text(self.pool.p), self.lookup.kb.shapes
        comparisons = find_compared_predicates(pred, shapes)
        predicates = ((self.lookup.intern_term(other), below) for other, below in comparisons)
        return [(q, below) for q, below in predicates if self._list_bounded_subjects(q)]

    def _list_bounded_subjects(self, q: int) -> list[int]:
        return self.lookup.list_subjects(q, asserted_only=True)

    def propose_other_class(self) -> Proposal | None:
        """Proposes a C card on an entity of a forbidden class; the question reveals the label."""
        sample = self.sample_unknown_and_entailed()
        if sample is None or not self.pool.other_class_entities:
            return None
        u, e, anchor = sample
        x = self.pool.other_class_entities[self.rng.randrange(len(self.pool.other_class_entities))]
        if x == anchor or not self.is_unused(x, anchor):
            return None
        role = Role("C", x, (), forbids_other_value=True)
        return self._build_proposal(anchor, e, role, u, with_types=True)

    def propose_irreflexive(self) -> Proposal | None:
        """Proposes a C card that relates the anchor to itself; the question reveals its label."""
        sample = self.sample_unknown_and_entailed()
        if sample is None:
            return None
        u, e, anchor = sample
        if self.lookup.terms.is_literal(anchor) or self.pool.is_entailed(anchor, anchor):
            return None
        return self._build_proposal(anchor, e, Role("C", anchor, (), forbids_other_value=True), u)

    def propose_other(self) -> Proposal | None:
        """Proposes a C card for any other constraint: a random claim, if the oracle refutes it."""
        sample = self.sample_unknown_and_entailed()
        if sample is None:
            return None
        u, e, anchor = sample
        links = self._find_other_links(anchor)
        # Other links with the anchor and other values of the predicate contradict some claims, and
        # are rarely found by chance.
        turn = next(self._turns)
        by_link = turn % 2 == 0 and bool(links)
        linked = list(links)
        samples = (self.rng.choice(linked) for _ in range(MAX_CANDIDATES))
        x = self.sample_similar(samples if by_link else self.iter_members(), u, anchor)
        if x is None or x == e:
            return None
        claim = self.lookup.make_claim(*self.pool.make_triple(x, anchor))
        if self.prover.license_on_graph(claim).label != "C":
            self.rejections[Obstacle.FALSE] += 1
            return None
        # The proof may need facts about the entity, so up to four are included: those of the
        # predicate, or others.
        with_values = turn % 4 == 1
        facts = [
            fact
            for fact in self.lookup.list_facts_about(x)
            if (fact.p == self.pool.p) == with_values
            and fact.p not in self.pool.telling.restating
            and self.pool.is_plausible(x, anchor, fact)
            and self.lookup.is_usable(fact)
            and {fact.s, fact.o}.isdisjoint((anchor, e, u))
        ]
        facts = [links[x], *facts[:3]] if by_link else facts[:4]
        role = Role("C", x, tuple(facts), forbids_other_value=not with_values)
        return self._build_proposal(anchor, e, role, u)

    def _find_other_links(self, anchor: int) -> dict[int, Fact]:
        """Finds the facts of other predicates by which entities are linked with the anchor."""
        lookup, is_subject = self.lookup, self.pool.varying == "subj"
        kept_back = {self.pool.p, *self.pool.telling.restating}
        links: dict[int, Fact] = {}
        for q in lookup.fact_predicates if is_subject else ():
            for fact in lookup.list_incoming_facts(anchor, q) if q not in kept_back else ():
                links.setdefault(fact.s, fact)
        for fact in () if is_subject else lookup.list_facts_about(anchor):
            if fact.p not in kept_back and not fact.denied:
                links.setdefault(fact.o, fact)
        return links
