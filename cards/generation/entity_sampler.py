"""Samples the entities that a triplet asks about, alike in all that a reader can see of them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from random import Random

from cards.facts import Fact
from cards.generation.balance import (
    MAX_SAMPLED_NAMES,
    count_shared_words,
    find_frequent_words,
    has_shared_anchor,
    sort_by_similarity,
)
from cards.generation.graph_lookup import GraphLookup, to_degree_levels
from cards.generation.kinds import is_reflexive
from cards.generation.pools import Pool
from cards.generation.prover import Prover
from cards.generation.restated_values import list_restating_facts
from cards.generation.set_aside import Unknowns
from cards.generation.shortage import Obstacle
from kg.claims import Label

MAX_CANDIDATES = 12
"""Maximum number of random candidates tried for one role."""
MAX_RANKED = 4
"""Maximum number of suitable candidates from which the most similar one is chosen."""


class EntitySampler:
    """Samples entities for one predicate and varying side.

    Args:
        pool: the candidates ``x``; ``pools.py`` defines *anchor*, *holder* and *member*.
        unknowns: the terms of the pool whose anchors were set aside.
        full_lookup: the graph before that.
        prover: finds the premises of inferred triples.
        rng: the random generator.
        is_single: whether an ``x`` can have only one anchor, see ``Pool.is_single_valued``.
        e_kinds: kinds of triples to make E cards from: ``asserted``, ``inferred`` or both.
        matches_words: see ``CardPlan``.
        compares_rest: see ``make_similarity_test``.
    """

    is_taxonomy = False
    """Whether the predicate is a taxonomy, see ``taxonomies/``."""

    def __init__(
        self,
        pool: Pool,
        unknowns: Unknowns,
        full_lookup: GraphLookup,
        prover: Prover,
        rng: Random,
        *,
        is_single: bool,
        e_kinds: tuple[str, ...] = ("asserted", "inferred"),
        matches_words: bool = True,
        compares_rest: bool = False,
    ) -> None:
        self.pool = pool
        self.unknowns = unknowns
        self.full_lookup = full_lookup
        self.lookup = pool.lookup
        self.prover = prover
        self.rng = rng
        self.is_single = is_single
        self.used: set[int] = set()
        """Entities already asked about, each as the varying term of one triplet."""
        self.strict = True
        """Whether degrees must be alike."""
        self.matches_words = matches_words
        self.compares_rest = compares_rest
        self.compares_sharing = True
        """Whether others must have an anchor of each entity, or of none."""
        self.wants_true = False
        """Whether the claim of the next U card should be one that was set aside."""
        self.allows_any_anchor = False
        """Whether false claims of U cards may ask about an anchor that no true one can be about."""
        self.wants_derived: frozenset[Label] = frozenset()
        """Labels, E or C, of which the next card should need a derived fact."""
        self.unknown_terms = unknowns.list_terms()
        self._unknowns_by_anchor: dict[int, list[int]] = {}
        for x, anchors in unknowns.anchors.items():
            for anchor in anchors:
                self._unknowns_by_anchor.setdefault(anchor, []).append(x)
        self.e_kinds = tuple(kind for kind in pool.e_kinds if kind in e_kinds)
        holders = [pool.sample_holder(rng) for _ in range(MAX_SAMPLED_NAMES if self.e_kinds else 0)]
        members = self.unknown_terms[:MAX_SAMPLED_NAMES]
        entities = [x for x in dict.fromkeys([*holders, *members]) if x is not None]
        self.frequent_words = find_frequent_words(self.lookup, entities)
        self.rejections: Counter[Obstacle] = Counter()
        get_anchors, get_holders = pool.get_anchors, pool.get_holders
        first_anchors = (a for x in entities for a in itertools.islice(get_anchors(x), 1))
        self.has_chains = any(map(get_anchors, first_anchors))
        """Whether some anchors have anchors themselves (chains), judged by a sample."""
        self._shared_anchors = [
            a for anchors in unknowns.anchors.values() for a in anchors if get_holders(a)
        ]
        """The anchors that were set aside of one term and that another has, too; as often as they
        were set aside, so that false claims ask about frequent ones as often as true claims do."""
        self._holders_by_kind: dict[tuple[int, tuple[str, ...]], list[int]] = {}
        self._rest_level_cache: dict[int, tuple[int, int]] = {}
        self._frequent_words_cache: dict[int, frozenset[str]] = {}

    @property
    def is_reflexive(self) -> bool:
        """Whether nobody could say that the predicate does not link something with itself."""
        return is_reflexive(self.lookup, self.pool.p)

    @property
    def is_always_strict(self) -> bool:
        """Whether degrees must be alike in all phases."""
        return False

    def is_true_unknown(self, x: int, anchor: int) -> bool:
        """Returns whether the claim of a U card was set aside, so that it is true in the graph."""
        return self.unknowns.is_true(x, anchor)

    @property
    def asks_any_anchor(self) -> bool:
        """Whether the claim of the next U card is false and may be about any term and anchor."""
        return not self.wants_true and (self.allows_any_anchor or not self._shared_anchors)

    @cached_property
    def _shareable_terms(self) -> list[int]:
        """The unknown terms with an anchor that another term has, too."""
        get_holders = self.pool.get_holders
        return [x for x, anchors in self.unknowns.anchors.items() if any(map(get_holders, anchors))]

    def sample_unknown(self, reference: int | None = None, anchor: int | None = None) -> int | None:
        """Samples the entity of a U card, one of ``list_unknown_terms``.

        Args:
            reference: an entity that it must be similar to, if any.
            anchor: the anchor asked about; None if it is chosen later.
        """
        return self.sample_unknown_of(self.list_unknown_terms(anchor), reference, anchor)

    def list_unknown_terms(self, anchor: int | None) -> list[int]:
        """Lists terms whose anchors were set aside, this one among them if ``wants_true``."""
        if self.wants_true and anchor is not None:
            return self._unknowns_by_anchor.get(anchor, [])
        # False claims are about the same terms as true ones: else these would tell the two apart.
        return self.unknown_terms if self.asks_any_anchor else self._shareable_terms

    def sample_unknown_of(
        self, terms: list[int], reference: int | None, anchor: int | None
    ) -> int | None:
        """Samples one of ``terms`` for a U card, see ``sample_unknown``."""
        samples = self._iter_unknowns(terms, anchor)
        return self.sample_similar(samples, reference, anchor) if terms else None

    def _iter_unknowns(self, terms: list[int], anchor: int | None) -> Iterator[int]:
        """Yields those of ``MAX_CANDIDATES`` sampled terms that suit a U card."""
        used, next_random, anchors = self.used, self.rng.random, self.unknowns.anchors
        wants_true = self.wants_true
        # Well-known things have asserted values; labels must not tell them.
        unsuitable = self._asserted_unknowns if self.wants_derived else ()
        for _ in range(MAX_CANDIDATES):
            number = int(next_random() * len(terms))
            while terms and terms[number] in used:
                # Removed here, so that the last terms are found as fast as the first.
                terms[number] = terms[-1]
                terms.pop()
                number = int(next_random() * len(terms))
            if not terms:
                continue
            x = terms[number]
            if x not in unsuitable and (anchor is None or (anchor in anchors[x]) == wants_true):
                yield x

    @cached_property
    def _asserted_unknowns(self) -> frozenset[int]:
        """The unknown terms of which the full graph asserts a value that was set aside."""
        has_triple, make_triple = self.full_lookup.graph_index.has_triple, self.pool.make_triple
        return frozenset(
            x
            for x, anchors in self.unknowns.anchors.items()
            if any(has_triple(*make_triple(x, a)) for a in anchors)
        )

    def sample_unknown_and_entailed(self) -> tuple[int, int, int] | None:
        """Samples the entities of a U and an E card and their common anchor, in this order."""
        u = self.sample_unknown()
        if u is None:
            return None
        if self.asks_any_anchor:
            pair = self.sample_entailed(u)
            return None if pair is None or self.unknowns.is_true(u, pair[1]) else (u, *pair)
        anchors = self._shared_anchors
        if self.wants_true:
            anchors = [a for a in self.unknowns.anchors[u] if self.pool.get_holders(a)]
        anchor = anchors[int(self.rng.random() * len(anchors))]
        if self.unknowns.is_true(u, anchor) != self.wants_true:
            return None
        e = self._choose_true_match(u, anchor, self._sample_true_matches(anchor))
        return None if e is None else (u, e, anchor)

    def sample_other_anchor_holder(self, reference: int, anchor: int) -> int | None:
        """Samples an entity that has another anchor and is similar to ``reference``."""
        return self.sample_similar(self._iter_holders(), reference, anchor)

    def sample_entailed(self, reference: int | None) -> tuple[int, int] | None:
        """Samples a true pair ``(x, a)`` whose ``x`` is similar to ``reference``."""
        if not self.e_kinds:
            return None
        kind = self.choose_e_kind()
        if reference is None:
            pair = self.pool.sample_pair(self.rng, kind)
            return pair if pair and self.is_unused(*pair) else None
        is_similar = self.make_similarity_test(reference)
        tried_entities: set[int] = set()
        anchors_by_entity: dict[int, int] = {}
        for pair in self.pool.sample_pairs(self.rng, kind, MAX_CANDIDATES):
            if reference in pair or pair[0] in self.used or pair[0] in tried_entities:
                continue
            x, a = pair
            tried_entities.add(x)
            if is_similar(x) and self.shares_as_many_words(reference, x, a):
                anchors_by_entity[x] = a
                if len(anchors_by_entity) == MAX_RANKED:
                    break
        for x in sort_by_similarity(self.lookup, self.pool.p, anchors_by_entity, reference):
            if self.is_unused(x, anchors_by_entity[x]):
                return x, anchors_by_entity[x]
        return None

    def choose_e_kind(self) -> str:
        """Chooses the kind of the next E card; empty if the predicate has none."""
        if "E" in self.wants_derived:
            return "inferred"
        return self.e_kinds[int(self.rng.random() * len(self.e_kinds))] if self.e_kinds else ""

    def make_similarity_test(
        self, other: int, anchor: int | None = None, *, lacks_anchor: bool = False
    ) -> Callable[[int], bool]:
        """Returns a test whether an entity has the degree levels and frequent words of another.

        The levels (``GraphLookup.get_degree_levels``) are those before facts were set aside. Of an
        entity with many facts, more cards can be made without its value than of others. With
        ``compares_rest`` the levels of its facts beside those with the predicate must be equal,
        too: a reader of the graph can count them. So must be whether others share an anchor of it.

        Args:
            other: the entity that others are compared with.
            anchor: if given, both must also share the same number of words with this term.
            lacks_anchor: whether an entity that has the anchor fails, too.
        """
        get_full_levels = self.full_lookup.get_degree_levels
        get_levels = self._get_degree_levels if self.compares_rest else get_full_levels
        levels = get_levels(other) if self.strict else None
        words = self._get_frequent_words(other) if self.matches_words else None
        is_entailed, get_words = self.pool.is_entailed, self.lookup.get_label_words
        anchor_words = frozenset() if anchor is None else get_words(anchor)
        n_shared = len(anchor_words & get_words(other)) if anchor_words else 0
        full_pool, compares = self.pool.full, self.is_single and self.compares_sharing
        is_shared = has_shared_anchor(full_pool, other) if compares else None

        def is_similar(x: int) -> bool:
            # Degrees are compared first: they reject more candidates and are cheaper than names.
            if levels is not None and get_levels(x) != levels:
                return False
            if is_shared is not None and has_shared_anchor(full_pool, x) not in (is_shared, None):
                return False
            if lacks_anchor and anchor is not None and is_entailed(x, anchor):
                return False
            if words is not None and self._get_frequent_words(x) != words:
                self.rejections[Obstacle.NAMES] += 1
                return False
            return not anchor_words or len(anchor_words & get_words(x)) == n_shared

        return is_similar

    def _get_frequent_words(self, x: int) -> frozenset[str]:
        words = self._frequent_words_cache.get(x)
        if words is None:
            words = self.lookup.get_label_words(x) & self.frequent_words
            self._frequent_words_cache[x] = words
        return words

    def _get_degree_levels(self, x: int) -> tuple[int, ...]:
        """Returns the levels with all facts, and those without links between it and its anchors."""
        rest_levels = self._rest_level_cache.get(x)
        if rest_levels is None:
            rest_levels = self._rest_level_cache[x] = self._count_rest_levels(x)
        return (*self.full_lookup.get_degree_levels(x), *rest_levels)

    def _count_rest_levels(self, x: int) -> tuple[int, int]:
        n_incoming = self.lookup.count_incoming_facts(x)
        n_outgoing = self.lookup.count_outgoing_facts(x)
        anchors = self.pool.get_anchors(x)
        own, index = set(anchors), self.lookup.graph_index
        for q in self.lookup.fact_predicates:
            n_outgoing -= sum(o in own for o in index.find_objects(x, q))
            n_incoming -= sum(s in own for s in index.find_subjects(q, x))
        if self.pool.varying == "subj":
            # Restated values are set aside together with those that they restate.
            restating = self.pool.telling.restating
            n_outgoing -= len(list_restating_facts(self.lookup, x, anchors, restating))
        return to_degree_levels(n_incoming, n_outgoing)

    def find_proof_facts(self, x: int, a: int) -> tuple[Fact, ...] | None:
        """Returns the facts from which ``(x, a)`` follows; None if one cannot be stated."""
        facts = self.prover.find_premises(*self.pool.make_triple(x, a))
        return facts if facts and all(self.lookup.is_usable(fact) for fact in facts) else None

    def find_path_facts(self, path: Sequence[int]) -> tuple[Fact, ...] | None:
        """Returns the facts from which all steps of a path follow; None if one cannot be stated."""
        facts: dict[Fact, None] = {}
        for start, end in itertools.pairwise(path):
            step_facts = self.find_proof_facts(start, end)
            if step_facts is None:
                return None
            facts.update(dict.fromkeys(step_facts))
        return tuple(facts)

    def is_unused(self, x: int, a: int) -> bool:
        """Returns whether a card may ask: both terms have names, and ``x`` is not used yet."""
        if x in self.used or not self.pool.matches_hint(x, a):
            return False
        return self.lookup.is_nameable(x) and self.lookup.is_nameable(a)

    def _iter_holders(self) -> Iterator[int]:
        """Yields those of ``MAX_CANDIDATES`` sampled holders that suit a C card."""
        # The value is what the claim contradicts.
        wants_derived, is_asserted = "C" in self.wants_derived, self.pool.is_asserted
        for x, _ in self.pool.sample_pairs(self.rng, "", MAX_CANDIDATES):
            if not (wants_derived and is_asserted(x, self.pool.get_anchors(x)[0])):
                yield x

    def iter_members(self) -> Iterator[int]:
        """Yields ``MAX_CANDIDATES`` sampled members of the pool's classes."""
        members = self.pool.members
        for _ in range(MAX_CANDIDATES if members else 0):
            yield members[int(self.rng.random() * len(members))]

    def shares_as_many_words(self, reference: int, x: int, anchor: int) -> bool:
        """Returns whether ``x`` shares as many words with the anchor as ``reference`` does."""
        n_shared = count_shared_words(self.lookup, x, anchor)
        return n_shared == count_shared_words(self.lookup, reference, anchor)

    def sample_similar(
        self, samples: Iterable[int], reference: int | None, anchor: int | None
    ) -> int | None:
        """Chooses an unused entity that is similar to ``reference`` and without ``anchor``.

        Args:
            samples: random entities; read until enough are suitable.
            reference: an entity that it must be similar to, if any.
            anchor: the anchor asked about, if known.
        """
        excluded, used = {reference, anchor}, self.used
        similar: list[int] = []
        is_similar: Callable[[int], bool] | None = None
        for x in samples:
            if x in excluded or x in used:
                continue
            excluded.add(x)
            if reference is not None:
                is_similar = is_similar or self.make_similarity_test(
                    reference, anchor, lacks_anchor=True
                )
                if not is_similar(x):
                    continue
            elif anchor is not None and self.pool.is_entailed(x, anchor):
                continue
            similar.append(x)
            if len(similar) == MAX_RANKED:
                break
        if reference is not None:
            similar = sort_by_similarity(self.lookup, self.pool.p, similar, reference)
        varies, matches_hint = self.pool.varying == "subj", self.pool.matches_hint
        nameable = filter(self.lookup.is_nameable, similar)
        return next((x for x in nameable if not varies or matches_hint(x, x)), None)

    def find_true_match(
        self, x: int, anchor: int, allowed: Collection[int] | None = None
    ) -> int | None:
        """Finds an unused entity that has the anchor and is similar to ``x``."""
        return self._choose_true_match(x, anchor, self._sample_true_matches(anchor, allowed))

    def _sample_true_matches(
        self, anchor: int, allowed: Collection[int] | None = None
    ) -> Sequence[int]:
        """Samples entities that have the anchor, of the kind that the next E card needs."""
        kinds = ("inferred",) if "E" in self.wants_derived else self.e_kinds
        candidates = self._get_holders(anchor, kinds)
        if allowed is not None:
            candidates = [e for e in candidates if e in allowed]
        if len(candidates) > 2 * MAX_CANDIDATES:
            candidates = self.rng.sample(candidates, 2 * MAX_CANDIDATES)
        return candidates

    def _get_holders(self, anchor: int, kinds: tuple[str, ...]) -> Sequence[int]:
        """Returns the entities of which a triple of these kinds says that they have the anchor."""
        if kinds == self.pool.e_kinds or not kinds:
            return self.pool.get_holders(anchor) if kinds else ()
        holders = self._holders_by_kind.get((anchor, kinds))
        if holders is None:
            is_asserted, wants_asserted = self.pool.is_asserted, "asserted" in kinds
            holders = [
                e for e in self.pool.get_holders(anchor) if is_asserted(e, anchor) == wants_asserted
            ]
            self._holders_by_kind[anchor, kinds] = holders
        return holders

    def _choose_true_match(self, x: int, anchor: int, candidates: Sequence[int]) -> int | None:
        """Chooses the unused candidate that is most similar to ``x``, if any is."""
        unused = [e for e in candidates if e != x and e not in self.used]
        if not unused:
            return None
        similar = filter(self.make_similarity_test(x, anchor), unused)
        holders = itertools.islice(similar, MAX_CANDIDATES)
        by_similarity = sort_by_similarity(self.lookup, self.pool.p, holders, x)
        return next((e for e in by_similarity if self.is_unused(e, anchor)), None)
