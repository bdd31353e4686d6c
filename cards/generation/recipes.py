"""Proposes triplets of cards, with one recipe for each kind of contradiction.

A recipe chooses the entities that the cards ask about and the facts that their labels need. The
oracle alone decides afterwards whether the labels are correct; a proposal that fails is discarded.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection
from functools import cached_property
from random import Random

from cards.facts import Fact
from cards.generation.balance import (
    MAX_SAMPLED_NAMES,
    count_shared_words,
    find_frequent_words,
    sort_by_similarity,
)
from cards.generation.context import Proposal, Role
from cards.generation.kinds import ASYMMETRIC, CYCLE, DENIED, FUNCTIONAL, IRREFLEXIVE, NUMERIC
from cards.generation.literals import find_compared_predicates, parse_number
from cards.generation.pools import Pool
from cards.generation.prover import Prover
from cards.generation.shortage import Obstacle

# Names of the recipes for entities of another class, and for all constraints not named in kinds.
OTHER_CLASS = "alien"
OTHER_CONSTRAINT = "other"
MAX_HOPS = 3
"""Maximum number of steps of a chain whose reverse is asked about."""
MAX_CANDIDATES = 12
"""Maximum number of random candidates tried for one role."""
MAX_BOUND_CANDIDATES = 48
"""Maximum number of random entities tried to find one of the few whose bound a value violates."""
MAX_RANKED = 4
"""Maximum number of suitable candidates from which the most similar one is chosen."""


Recipe = Callable[[], Proposal | None]


class Recipes:
    """Samples proposals for one predicate and varying side.

    Args:
        pool: the candidates ``x``; ``pools.py`` defines *anchor*, *holder* and *member*.
        prover: finds the premises of inferred triples.
        rng: the random generator.
        is_single: whether an ``x`` can have only one anchor, see ``Pool.is_single_valued``.
        e_kinds: kinds of triples to make E cards from: ``asserted``, ``inferred`` or both.
    """

    def __init__(
        self,
        pool: Pool,
        prover: Prover,
        rng: Random,
        *,
        is_single: bool,
        e_kinds: tuple[str, ...] = ("asserted", "inferred"),
    ) -> None:
        self.pool = pool
        self.lookup = pool.lookup
        self.prover = prover
        self.rng = rng
        self.is_single = is_single
        self.used: set[int] = set()  # Entities already asked about in this round.
        self.strict = True
        self.e_kinds = tuple(kind for kind in pool.e_kinds if kind in e_kinds)
        holders = [pool.sample_holder(rng) for _ in range(MAX_SAMPLED_NAMES if self.e_kinds else 0)]
        members = pool.members_without_anchor if is_single else []
        members = rng.sample(members, min(MAX_SAMPLED_NAMES, len(members)))
        entities = [x for x in dict.fromkeys([*holders, *members]) if x is not None]
        self.frequent_words = find_frequent_words(self.lookup, entities)
        self.rejections: Counter[Obstacle] = Counter()
        get_anchors = pool.get_anchors
        first_anchors = (a for x in entities for a in itertools.islice(get_anchors(x), 1))
        self._has_chains = any(map(get_anchors, first_anchors))
        """Whether some anchors have anchors themselves (chains), judged by a sample."""
        self._denied_subjects = list(self.lookup.denials)
        self._popularity_cache: dict[int, int] = {}
        self._frequent_words_cache: dict[int, frozenset[str]] = {}
        self._bounded_cache: dict[int, list[int]] = {}

    @property
    def recipes_by_name(self) -> dict[str, Recipe]:
        """Name → recipe, for the recipes that the predicate has data for."""
        recipes: dict[str, Recipe] = {}
        if self.is_single and self.e_kinds and self.pool.members_without_anchor:
            recipes[FUNCTIONAL] = self.propose_functional
        if self._denied_facts:
            recipes[DENIED] = self.propose_denied
        if self._has_chains:
            recipes[ASYMMETRIC] = lambda: self.propose_downstream(1)
            recipes[CYCLE] = lambda: self.propose_downstream(2 + self.rng.randrange(MAX_HOPS - 1))
        if self._bounds:
            recipes[NUMERIC] = self.propose_numeric
        recipes[OTHER_CLASS] = self.propose_other_class
        recipes[IRREFLEXIVE] = self.propose_irreflexive
        recipes[OTHER_CONSTRAINT] = self.propose_other
        return recipes

    def sample_unknown(self, reference: int | None = None, anchor: int | None = None) -> int | None:
        """Samples the entity of a U card.

        If an ``x`` can have only one anchor, it has none, else other ones. It is similar to
        ``reference`` or a random holder, so U cards are not about unusual entities (lakes).
        """
        if reference is None:
            reference = self.pool.sample_holder(self.rng)
        sample = self._sample_member_without_anchor if self.is_single else self._sample_holder
        return self._sample_similar(sample, reference, anchor)

    def sample_other_anchor_holder(self, reference: int, anchor: int) -> int | None:
        """Samples an entity that has another anchor and is similar to ``reference``."""
        return self._sample_similar(self._sample_holder, reference, anchor)

    def start_next_round(self, *, strict: bool) -> None:
        """Allows every entity to be used once more; if not strict, popularity may differ."""
        self.used.clear()
        self.strict = strict

    def sample_entailed(self, reference: int | None) -> tuple[int, int] | None:
        """Samples a true pair ``(x, a)`` whose ``x`` is similar to ``reference``."""
        if not self.e_kinds:
            return None
        kind = self.e_kinds[int(self.rng.random() * len(self.e_kinds))]
        if reference is None:
            pair = self.pool.sample_pair(self.rng, kind)
            return pair if pair and self._is_unused(*pair) else None
        tried_entities: set[int] = set()
        anchors_by_entity: dict[int, int] = {}
        for pair in self.pool.sample_pairs(self.rng, kind, MAX_CANDIDATES):
            if reference in pair or pair[0] in self.used or pair[0] in tried_entities:
                continue
            x, a = pair
            tried_entities.add(x)
            if self.is_similar(x, reference) and self._shares_as_many_words(reference, x, a):
                anchors_by_entity[x] = a
                if len(anchors_by_entity) == MAX_RANKED:
                    break
        for x in sort_by_similarity(self.lookup, self.pool.p, anchors_by_entity, reference):
            if self._is_unused(x, anchors_by_entity[x]):
                return x, anchors_by_entity[x]
        return None

    def is_similar(self, x: int, other: int) -> bool:
        """Returns whether two entities have equal popularity levels and the same frequent words.

        Popularity levels are 0, 1, 2 to 3, and 4 or more facts with the entity as object.
        """
        # Popularity is compared first: it rejects more candidates and is cheaper than names.
        if self.strict and self._get_popularity_level(x) != self._get_popularity_level(other):
            return False
        has_same_words = self._get_frequent_words(x) == self._get_frequent_words(other)
        self.rejections[Obstacle.NAMES] += not has_same_words
        return has_same_words

    def _get_frequent_words(self, x: int) -> frozenset[str]:
        words = self._frequent_words_cache.get(x)
        if words is None:
            words = self.lookup.get_label_words(x) & self.frequent_words
            self._frequent_words_cache[x] = words
        return words

    def _get_popularity_level(self, x: int) -> int:
        level = self._popularity_cache.get(x)
        if level is None:
            n_incoming = self.lookup.count_incoming_facts(x)
            level = self._popularity_cache[x] = min(3, n_incoming.bit_length())
        return level

    def find_proof_facts(self, x: int, a: int) -> tuple[Fact, ...] | None:
        """Returns the facts from which ``(x, a)`` follows; None if one cannot be stated."""
        facts = self.prover.find_premises(*self.pool.make_triple(x, a))
        return facts if facts and all(self.lookup.is_usable(fact) for fact in facts) else None

    def _is_unused(self, x: int, a: int) -> bool:
        subject = x if self.pool.varying == "subj" else a
        if x in self.used or not self._matches_hint(subject):
            return False
        return self.lookup.is_nameable(x) and self.lookup.is_nameable(a)

    def _matches_hint(self, subject: int) -> bool:
        hint = self.pool.hint
        return not hint or hint in self.lookup.get_label(subject).casefold()

    def _sample_holder(self) -> int | None:
        return self.pool.sample_holder(self.rng)

    def _sample_member(self) -> int | None:
        members = self.pool.members
        return members[int(self.rng.random() * len(members))] if members else None

    def _sample_member_without_anchor(self) -> int | None:
        members = self.pool.members_without_anchor
        return members[int(self.rng.random() * len(members))] if members else None

    def _shares_as_many_words(self, reference: int, x: int, anchor: int) -> bool:
        """Returns whether ``x`` shares as many words with the anchor as ``reference`` does."""
        n_shared = count_shared_words(self.lookup, x, anchor)
        return n_shared == count_shared_words(self.lookup, reference, anchor)

    def _sample_similar(
        self, sample: Callable[[], int | None], reference: int | None, anchor: int | None
    ) -> int | None:
        """Samples an unused entity that is similar to ``reference`` and without ``anchor``."""
        excluded = {reference, anchor}
        similar: list[int] = []
        for _ in range(MAX_CANDIDATES):
            x = sample()
            if x is None or x in excluded or x in self.used:
                continue
            excluded.add(x)
            if anchor is not None and self.pool.is_entailed(x, anchor):
                continue
            if reference is not None and (
                not self.is_similar(x, reference)
                or (anchor is not None and not self._shares_as_many_words(reference, x, anchor))
            ):
                continue
            similar.append(x)
            if len(similar) == MAX_RANKED:
                break
        if reference is not None:
            similar = sort_by_similarity(self.lookup, self.pool.p, similar, reference)
        varies_subject = self.pool.varying == "subj"
        nameable = (x for x in similar if self.lookup.is_nameable(x))
        return next((x for x in nameable if not varies_subject or self._matches_hint(x)), None)

    def _build_proposal(
        self, anchor: int, e: int, c: Role | None, u: int | None, *, with_types: bool = False
    ) -> Proposal | None:
        """Builds a proposal; None if a role or E's proof is missing, or two entities are equal."""
        proof_facts = self.find_proof_facts(e, anchor)
        if proof_facts is None or c is None or u is None or len({e, c.x, u}) < 3:
            return None
        # A reader cannot distinguish the anchor from a namesake, so the claims of C and U must not
        # be true of a namesake either.
        namesakes = self.lookup.get_namesakes(anchor)
        if any(self.pool.is_entailed(x, namesake) for namesake in namesakes for x in (c.x, u)):
            return None
        return Proposal(anchor, [Role("E", e, proof_facts), c, Role("U", u, ())], with_types)

    def propose_functional(self) -> Proposal | None:
        """Proposes a C card about an entity that can have one anchor only and has another one."""
        u = self.sample_unknown()
        pair = self.sample_entailed(u)
        if u is None or pair is None:
            return None
        e, anchor = pair
        x = self.sample_other_anchor_holder(u, anchor)
        if x is None or x == e:
            return None
        facts = self.find_proof_facts(x, self.pool.get_anchors(x)[0])
        return self._build_proposal(anchor, e, Role("C", x, facts) if facts else None, u)

    def propose_denied(self) -> Proposal | None:
        """Proposes a C card whose claim the graph explicitly denies."""
        fact = self._denied_facts[self.rng.randrange(len(self._denied_facts))]
        x, anchor = (fact.s, fact.o) if self.pool.varying == "subj" else (fact.o, fact.s)
        if not self._is_unused(x, anchor):
            return None
        # Denials are rare, so a card that denies something about its entity would look like a C
        # card. Therefore prefer entities with denials for the E and U cards, too.
        e = self._find_true_match(x, anchor, self.lookup.denials)
        e = e or self._find_true_match(x, anchor)
        if e is None:
            return None
        u = self._sample_similar(self._sample_denied_subject, x, anchor)
        u = u or self.sample_unknown(x, anchor)
        return self._build_proposal(anchor, e, Role("C", x, (fact,)), u)

    def _sample_denied_subject(self) -> int | None:
        """Samples an entity with a denial that is suitable for a U card."""
        x = self._denied_subjects[int(self.rng.random() * len(self._denied_subjects))]
        return None if self.is_single and self.pool.get_anchors(x) else x

    def _find_true_match(
        self, x: int, anchor: int, allowed: Collection[int] | None = None
    ) -> int | None:
        """Finds an unused entity that has the anchor and is similar to ``x``."""
        candidates = self.pool.get_holders(anchor)
        if allowed is not None:
            candidates = [e for e in candidates if e in allowed]
        if len(candidates) > 2 * MAX_CANDIDATES:
            candidates = self.rng.sample(candidates, 2 * MAX_CANDIDATES)
        unused = (e for e in candidates if e != x and e not in self.used)
        similar = (
            e for e in unused if self.is_similar(e, x) and self._shares_as_many_words(x, e, anchor)
        )
        holders = itertools.islice(similar, MAX_CANDIDATES)
        by_similarity = sort_by_similarity(self.lookup, self.pool.p, holders, x)
        return next((e for e in by_similarity if self._is_unused(e, anchor)), None)

    @cached_property
    def _denied_facts(self) -> list[Fact]:
        p = self.pool.p
        return [f for facts in self.lookup.denials.values() for f in facts if f.p == p]

    def propose_downstream(self, hops: int) -> Proposal | None:
        """Proposes a C card with the reverse of an entailed chain of ``hops`` steps."""
        kind = self.e_kinds[int(self.rng.random() * len(self.e_kinds))] if self.e_kinds else ""
        # Checked before a path is sampled, because most anchors have no anchor themselves.
        rows = self.pool.anchor_rows
        for pair in self.pool.sample_pairs(self.rng, kind, MAX_CANDIDATES if kind else 0):
            path = self.pool.sample_path(self.rng, pair[1], hops) if pair[1] in rows else None
            if path is None:
                continue
            (e, anchor), x = pair, path[-1]
            # Another class would reveal the label: a chain of rivers may end in a sea.
            if e in path or x in self.used or self.lookup.get_types(x) != self.lookup.get_types(e):
                continue
            is_similar = self.is_similar(x, e) and self._shares_as_many_words(x, e, anchor)
            if is_similar and self._is_unused(e, anchor) and self._is_unused(x, anchor):
                break
        else:
            return None
        facts: list[Fact] = []
        for start, end in itertools.pairwise(path):
            step_facts = self.find_proof_facts(start, end)
            if step_facts is None:
                return None
            facts += step_facts
        role = Role("C", x, tuple(dict.fromkeys(facts)), forbids_other_value=True)
        return self._build_proposal(anchor, e, role, self.sample_unknown(x, anchor))

    def propose_numeric(self) -> Proposal | None:
        """Proposes a C card whose value violates a bound that a fact about the subject gives."""
        bounds = self._bounds
        if not bounds or self.pool.varying != "subj":
            return None
        u = self.sample_unknown()
        pair = self.sample_entailed(u)
        if u is None or pair is None:
            return None
        e, anchor = pair
        value = parse_number(self.lookup.terms.get_text(anchor))
        if value is None:
            return None
        q, below = bounds[self.rng.randrange(len(bounds))]
        subjects = self._list_bounded_subjects(q)
        for _ in range(MAX_BOUND_CANDIDATES):
            x = subjects[int(self.rng.random() * len(subjects))]
            bound_term = next(iter(self.lookup.graph_index.find_objects(x, q)))
            bound = parse_number(self.lookup.terms.get_text(bound_term))
            if bound is None or (value < bound if below else value > bound) or x in (e, u):
                continue
            if self.is_similar(x, u) and self._is_unused(x, anchor):
                role = Role("C", x, (Fact(x, q, bound_term),), forbids_other_value=True)
                return self._build_proposal(anchor, e, role, u)
        return None

    @cached_property
    def _bounds(self) -> list[tuple[int, bool]]:
        """Predicates q whose values bound those of p, with True if values of p must be smaller."""
        pred, shapes = self.lookup.terms.get_text(self.pool.p), self.lookup.kb.shapes
        comparisons = find_compared_predicates(pred, shapes)
        predicates = ((self.lookup.intern_term(other), below) for other, below in comparisons)
        return [(q, below) for q, below in predicates if self._list_bounded_subjects(q)]

    def _list_bounded_subjects(self, q: int) -> list[int]:
        subjects = self._bounded_cache.get(q)
        if subjects is None:
            subjects = self._bounded_cache[q] = list(self.lookup.graph_index.get_subjects(q))
        return subjects

    def propose_other_class(self) -> Proposal | None:
        """Proposes a C card on an entity of a forbidden class; the question reveals the label."""
        u = self.sample_unknown()
        pair = self.sample_entailed(u)
        if u is None or pair is None or not self.pool.other_class_entities:
            return None
        e, anchor = pair
        x = self.pool.other_class_entities[self.rng.randrange(len(self.pool.other_class_entities))]
        if x == anchor or not self._is_unused(x, anchor):
            return None
        role = Role("C", x, (), forbids_other_value=True)
        return self._build_proposal(anchor, e, role, u, with_types=True)

    def propose_irreflexive(self) -> Proposal | None:
        """Proposes a C card that relates the anchor to itself; the question reveals its label."""
        u = self.sample_unknown()
        pair = self.sample_entailed(u)
        if u is None or pair is None:
            return None
        e, anchor = pair
        if self.lookup.terms.is_literal(anchor) or self.pool.is_entailed(anchor, anchor):
            return None
        return self._build_proposal(anchor, e, Role("C", anchor, (), forbids_other_value=True), u)

    def propose_other(self) -> Proposal | None:
        """Proposes a C card for any other constraint: a random claim, if the oracle refutes it."""
        u = self.sample_unknown()
        pair = self.sample_entailed(u)
        if u is None or pair is None:
            return None
        e, anchor = pair
        x = self._sample_similar(self._sample_member, u, anchor)
        if x is None or x == e:
            return None
        claim = self.lookup.make_claim(*self.pool.make_triple(x, anchor))
        if self.prover.license_on_graph(claim).label != "C":
            self.rejections[Obstacle.FALSE] += 1
            return None
        # The proof may need facts about the entity, so up to four are included.
        facts_about_x = [f for f in self.lookup.list_facts_about(x)[:4] if self.lookup.is_usable(f)]
        facts = tuple(f for f in facts_about_x if f.p != self.pool.p and f.o not in (anchor, e, u))
        return self._build_proposal(anchor, e, Role("C", x, facts, forbids_other_value=True), u)
