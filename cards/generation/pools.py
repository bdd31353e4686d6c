"""Defines pools: the entities that cards of one predicate can ask about.

A *triplet* of cards (E, C, U) asks about the same predicate and the same *anchor* and varies the
other term ``x``. Varying the subject suits predicates with one value per subject (the mouth of a
river); varying the object suits those with one subject per object (the parent company of a firm).
A *holder* is a term ``x`` that has an anchor in the closure. A *member* is an entity of a class
that many holders have (see ``MIN_CLASS_SHARE``).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from random import Random
from typing import Literal

from cards.facts import Fact
from cards.generation.graph_lookup import GraphLookup
from cards.generation.literals import parse_number_or_year
from cards.generation.restated_values import MAX_TOLD, TellingPredicates
from cards.generation.rng import rng_for
from kg.profile.fitting_claims import MAX_PARTS, find_linked
from kg.profile.plausibility import is_location, is_part
from kg.related_terms import RelatedTerms
from kg.words.name_forms import says_code, says_quantity

VaryingSide = Literal["subj", "obj"]

N_SAMPLED_HOLDERS = 200
"""Number of holders sampled to find the pool's classes."""
MAX_PAIR_TRIES = 16
"""Maximum number of random pairs tried to find one that a card can state."""
N_COMPARED_PAIRS = 200
"""Number of true pairs by which the predicates are found whose values linked things share."""
MIN_COMPARED_PAIRS = 10
MIN_SHARED = 0.85
"""Minimum share of the true pairs whose things share a value of such a predicate."""
MAX_SHARED_BY_CHANCE = 0.3
"""Maximum share of the pairs that are not true of whose things this may be so."""
MAX_NEIGHBOURS = 200
"""Maximum number of holders of an anchor whose values are taken for those near it."""
MIN_CLASS_SHARE = 0.1
"""A class belongs to the pool if at least this share of the sampled holders has it."""


class Pool:
    """The terms ``x`` that claims ``(x, p, a)`` can be about, and their anchors ``a``.

    The claims are ``(a, p, x)`` if the object varies.

    Args:
        lookup: the knowledge base.
        p: the predicate's id.
        varying: which side varies.
        hint: only subjects whose name contains this text are used.
        telling: predicates that tell the values of ``p``.
        may_have_others: whether a subject may have several values.
        full: the same pool before facts were set aside; None if none were.
    """

    def __init__(
        self,
        lookup: GraphLookup,
        p: int,
        varying: VaryingSide,
        hint: str = "",
        telling: TellingPredicates = TellingPredicates(),  # noqa: B008  # immutable
        *,
        may_have_others: bool = False,
        full: Pool | None = None,
    ) -> None:
        self.lookup = lookup
        self.p = p
        self.varying = varying
        self.hint = hint.casefold()
        self.telling = telling
        self.may_have_others = may_have_others
        self.full = full or self
        self._list_cache: dict[tuple[bool, int], list[int]] = {}
        self._near_cache: dict[tuple[int, int, bool], frozenset[int]] = {}
        self._told_cache: dict[int, bool] = {}
        self.sharing_cache: dict[int, bool | None] = {}
        """Results of ``balance.has_shared_anchor``."""

    def make_triple(self, x: int, a: int) -> tuple[int, int, int]:
        """Returns the triple with ``x`` on the varying side."""
        return (x, self.p, a) if self.varying == "subj" else (a, self.p, x)

    def is_entailed(self, x: int, a: int) -> bool:
        """Returns whether the closure has the triple."""
        return bool(self.lookup.closure_index.has_triple(*self.make_triple(x, a)))

    def is_asserted(self, x: int, a: int) -> bool:
        """Returns whether the graph asserts the triple."""
        return self.lookup.graph_index.has_triple(*self.make_triple(x, a))

    def get_anchors(self, x: int) -> Sequence[int]:
        """Returns all anchors of ``x`` in the closure: its true values."""
        index, forward = self.lookup.closure_index, self.varying == "subj"
        anchors = index.find_objects(x, self.p) if forward else index.find_subjects(self.p, x)
        return self._get_list(anchors, x, forward) if isinstance(anchors, dict) else anchors  # type: ignore[return-value]  # a tuple or a list

    def get_holders(self, a: int) -> Sequence[int]:
        """Returns all ``x`` that have the anchor ``a`` in the closure."""
        index, forward = self.lookup.closure_index, self.varying == "subj"
        holders = index.find_subjects(self.p, a) if forward else index.find_objects(a, self.p)
        return self._get_list(holders, a, not forward) if isinstance(holders, dict) else holders  # type: ignore[return-value]  # as above

    @property
    def anchor_rows(self) -> Mapping[int, object]:
        """``x`` → its anchors, for every ``x`` that has one; a live view of the closure."""
        index = self.lookup.closure_index
        return index.get_row(self.p) if self.varying == "subj" else index.get_reverse_row(self.p)

    def _get_list(self, values: dict[int, None], term: int, is_object_row: bool) -> list[int]:
        """Returns the terms of a dict as a list, which can be indexed; cached, since it is long."""
        value_list = self._list_cache.get((is_object_row, term))
        if value_list is None:
            value_list = self._list_cache[is_object_row, term] = list(values)
        return value_list

    @cached_property
    def subjects(self) -> list[int]:
        """Subjects of the predicate in the closure."""
        return self._filter_by_hint(self.lookup.list_subjects(self.p, asserted_only=False))

    @cached_property
    def asserted_subjects(self) -> list[int]:
        """Subjects of the predicate in the graph, without inferred triples."""
        return self._filter_by_hint(self.lookup.list_subjects(self.p, asserted_only=True))

    @cached_property
    def e_kinds(self) -> tuple[str, ...]:
        """The kinds of triples that the predicate has: ``asserted``, ``inferred`` or both."""
        has_asserted = bool(self.lookup.graph_index.get_subjects(self.p))
        has_inferred = self.p in self.lookup.kb.oracle.closure.inferred_predicates
        kinds = (("asserted", has_asserted), ("inferred", has_inferred))
        return tuple(kind for kind, exists in kinds if exists)

    @property
    def is_settled_by_proofs(self) -> bool:
        """Whether what proves a true claim about a subject settles all others about it.

        Then no U card can ask about a subject together with an E card.
        """
        return bool(self.telling.settling) and "asserted" not in self.e_kinds

    @property
    def has_literal_values(self) -> bool:
        """Whether the predicate's values are literals, judged by the first value."""
        first = next(self.lookup.closure_index.iter_pairs(self.p), None)
        return first is not None and self.lookup.terms.is_literal(first[1])

    def sample_pair(self, rng: Random, kind: str = "") -> tuple[int, int] | None:
        """Samples a true pair ``(x, a)``; None if a few tries find none that a card can state.

        Args:
            rng: the random generator.
            kind: ``asserted``, ``inferred``, or empty for pairs of any kind.
        """
        return next(self.sample_pairs(rng, kind, 1), None)

    def sample_pairs(self, rng: Random, kind: str, n_pairs: int) -> Iterator[tuple[int, int]]:
        """Samples true pairs ``(x, a)``: for each a random subject and one of its objects.

        Args:
            rng: the random generator; used only when a pair is requested.
            kind: ``asserted``, ``inferred``, or empty for pairs of any kind.
            n_pairs: number of pairs; fewer if a few tries find none that a card can state.
        """
        lookup, p = self.lookup, self.p
        subjects = self.asserted_subjects if kind == "asserted" else self.subjects
        graph, unusable, forward = lookup.graph_index, lookup.unusable_nodes, self.varying == "subj"
        next_random, allow_asserted = rng.random, kind != "inferred"
        row = (graph if kind == "asserted" else lookup.closure_index).get_row(self.p)
        count = len(subjects)
        for _ in range(n_pairs):
            for _ in range(MAX_PAIR_TRIES if subjects else 0):
                s = subjects[int(next_random() * count)]
                # The index stores a single object as an int, several as a list or dict.
                cell = row[s]
                if isinstance(cell, int):
                    o = cell
                else:
                    o = (cell if isinstance(cell, list) else list(cell))[
                        int(next_random() * len(cell))
                    ]
                if (allow_asserted or not graph.has_triple(s, p, o)) and (
                    s != o and s not in unusable and o not in unusable
                ):
                    yield (s, o) if forward else (o, s)
                    break

    def sample_holder(self, rng: Random) -> int | None:
        """Samples an ``x`` that has an anchor."""
        pair = self.sample_pair(rng)
        return None if pair is None else pair[0]

    def matches_hint(self, x: int, a: int) -> bool:
        """Returns whether the subject of the claim about ``x`` and ``a`` fits the hint."""
        subject = x if self.varying == "subj" else a
        return not self.hint or self.hint in self.lookup.get_label(subject).casefold()

    def _filter_by_hint(self, terms: list[int]) -> list[int]:
        if not self.hint:
            return terms
        return [term for term in terms if self.hint in self.lookup.get_label(term).casefold()]

    def is_plausible(self, x: int, a: int, fact: Fact) -> bool:
        """Returns whether a fact about ``x`` or ``a`` leaves it plausible that ``a`` is its anchor.

        Not if linked things share their values of the fact's predicate, and this value is not one
        of those near the other term: a river in another river system hardly flows into the Rhine,
        though no rule on a card says so.
        """
        full = self.full
        if fact.s not in (x, a) or fact.denied or fact.p not in full.shared_predicates:
            return True
        is_about_x = fact.s == x
        other = a if is_about_x else x
        near = full._find_values_near(other, fact.p, is_anchor=is_about_x)
        if fact.o in near and full.is_entailed(x, a):
            # Its own value is no reason to believe what was set aside.
            near = full._find_values_near(other, fact.p, fact.s, is_anchor=is_about_x)
        return not near or fact.o in near

    def has_related_anchor(self, x: int, a: int) -> bool:
        """Returns whether an anchor of ``x`` and ``a`` may both be true, in spite of a rule.

        "60 Hertz" is a kind of frequency, so that what has a frequency may have one of 60 Hertz.
        """
        if self.lookup.terms.is_literal(a):
            return False
        related = self.full._related_terms
        # A river that flows into another one does not flow into the sea as well.
        p = None if self.full._is_part else self.p
        return any(related.are_related(own, a, p) for own in self.get_anchors(x))

    @cached_property
    def _related_terms(self) -> RelatedTerms:
        return RelatedTerms(self.lookup.closure_index, (self.p,) if self._is_part else ())

    @cached_property
    def _is_part(self) -> bool:
        """Whether the predicate says what something is part of or located in."""
        label = self.lookup.kb.verbaliser.get_label(self.lookup.terms.get_text(self.p))
        return is_part(label) or is_location(label)

    def is_told_by_name(self, x: int) -> bool:
        """Returns whether a subject's name says the number or short code that is its value.

        "277V Voltage" does, and "Gain (dB)" says its unit. Also if the value was set aside: the
        name still says it.
        """
        if self.varying == "obj":
            return False
        is_told = self._told_cache.get(x)
        if is_told is None:
            name, get_label = self.full.lookup.get_label(x), self.full.lookup.get_label
            min_digits = self.telling.min_digits
            is_told = self._told_cache[x] = any(
                says_quantity(name, value, min_digits=min_digits) or says_code(name, value)
                for value in map(get_label, self.full.get_anchors(x))
            )
        return is_told

    def keeps_bounds(self, x: int, a: int) -> bool:
        """Returns whether other numbers of ``x`` allow an anchor: nobody is born after death."""
        if not self.telling.bounds or self.varying == "obj":
            return True
        get_text, find_objects = self.lookup.terms.get_text, self.lookup.graph_index.find_objects
        number = parse_number_or_year(get_text(a))
        if number is None:
            return True
        for q, is_above in self.telling.bounds:
            others = [parse_number_or_year(get_text(o)) for o in find_objects(x, q)]
            if any(o is not None and (o < number if is_above else o > number) for o in others):
                return False
        return True

    def is_number_of_neighbour(self, x: int, a: int) -> bool:
        """Returns whether another part of the same whole, where each has its own, has an anchor."""
        if self.varying == "obj":
            return False
        index = self.full.lookup.graph_index
        return any(
            part != x and index.has_triple(part, self.p, a)
            for q, is_inverse in self.telling.wholes
            for whole in find_linked(index, x, q, is_inverse)
            if len(parts := find_linked(index, whole, q, not is_inverse)) <= MAX_PARTS
            for part in parts
        )

    @cached_property
    def shared_predicates(self) -> frozenset[int]:
        """The predicates whose values an ``x`` shares with its anchor, or with other holders of it.

        Judged by a sample of true pairs, compared with pairs of the same terms at random. None if
        few have other facts: no card could be made without these.
        """
        lookup = self.lookup
        rng = rng_for("shared", lookup.terms.get_text(self.p), self.varying)
        pairs = [] if self.has_literal_values else [*self.sample_pairs(rng, "", N_COMPARED_PAIRS)]
        others = rng.sample([a for _, a in pairs], len(pairs))
        find_objects = lookup.graph_index.find_objects
        shared: set[int] = set()
        for q in lookup.fact_predicates:
            n_pairs = n_true = n_random = 0
            for (x, a), other in zip(pairs, others, strict=True):
                values = set(find_objects(x, q)) if q != self.p else ()
                near = self._find_values_near(a, q, x) if values else None
                if values and near:
                    n_pairs += 1
                    n_true += not near.isdisjoint(values)
                    n_random += not self._find_values_near(other, q, x).isdisjoint(values)
            if n_pairs >= MIN_COMPARED_PAIRS and n_true >= MIN_SHARED * n_pairs:
                shared.update({q} if n_random <= MAX_SHARED_BY_CHANCE * n_pairs else ())
        told = {self.p, *shared}
        n_told = sum(all(fact.p in told for fact in lookup.iter_facts_about(x)) for x, _ in pairs)
        return frozenset(shared if n_told <= MAX_TOLD * len(pairs) else ())

    def _find_values_near(
        self, term: int, q: int, left_out: int | None = None, *, is_anchor: bool = True
    ) -> frozenset[int]:
        """Returns the values of ``q`` of an anchor and its holders, or of a holder and its anchors.

        Args:
            term: the anchor or holder.
            q: the predicate.
            left_out: a term whose values do not count.
            is_anchor: whether the term is an anchor.
        """
        key = (term, q, is_anchor)
        near = self._near_cache.get(key) if left_out is None else None
        if near is None:
            linked = self.get_holders(term) if is_anchor else self.get_anchors(term)
            terms = (term, *itertools.islice(linked, MAX_NEIGHBOURS))
            get_cell = self.lookup.graph_index.get_row(q).get
            cells = [cell for y in terms if (cell := get_cell(y)) is not None and y != left_out]
            near = frozenset(o for c in cells for o in ((c,) if isinstance(c, int) else c))
            if left_out is None:
                self._near_cache[key] = near
        return near

    @cached_property
    def classes(self) -> tuple[int, ...]:
        """The classes that holders usually have."""
        rng = rng_for(self.lookup.terms.get_text(self.p), self.varying)
        holders = [self.sample_holder(rng) for _ in range(N_SAMPLED_HOLDERS)]
        sample = list(dict.fromkeys(x for x in holders if x is not None))
        counts = Counter(c for x in sample for c in self.lookup.get_types(x))
        return tuple(c for c, n in counts.items() if n >= MIN_CLASS_SHARE * len(sample))

    @cached_property
    def members(self) -> list[int]:
        """All entities of the holders' classes; without classes, every node of the predicate."""
        lookup = self.lookup
        if self.classes:
            members = lookup.members_by_class[self.classes[0]]
            if len(self.classes) > 1:
                members = list(
                    dict.fromkeys(x for c in self.classes for x in lookup.members_by_class[c])
                )
        else:
            members = list(
                dict.fromkeys(t for pair in lookup.closure_index.iter_pairs(self.p) for t in pair)
            )
        return self._filter_by_hint(members) if self.varying == "subj" else members

    @cached_property
    def other_class_entities(self) -> list[int]:
        """Entities of classes that no holder has; the classes take turns."""
        lookup = self.lookup
        own_classes = set(self.classes)
        if not own_classes:
            return []
        class_members: list[list[int]] = []
        for c in lookup.members_by_class:
            text = lookup.terms.get_text(c)
            if c in own_classes or text.startswith("http://www.w3.org/"):
                continue
            entities = (
                x for x in lookup.members_by_class[c] if not own_classes & {*lookup.get_types(x)}
            )
            class_members.append(list(itertools.islice(entities, 500)))
        max_members = max(map(len, class_members), default=0)
        # Small classes repeat, so that each class is equally likely to be sampled.
        return [
            members[i % len(members)]
            for i in range(min(max_members, 500))
            for members in class_members
            if members
        ]

    def is_single_valued(self, rng: Random, n_tries: int = 8) -> bool:
        """Returns whether an ``x`` can have only one anchor, tested with the oracle.

        Combines random holders with anchors of other holders. The result is True if the oracle
        contradicts more than half of these claims because of a maximum count at ``x``.
        """
        lookup, n_refused, n_tested = self.lookup, 0, 0
        for _ in range(n_tries):
            pair, other_pair = self.sample_pair(rng), self.sample_pair(rng)
            if pair is None or other_pair is None:
                continue
            x, a = pair[0], other_pair[1]
            if x == a or self.is_entailed(x, a):
                continue
            n_tested += 1
            verdict = lookup.kb.oracle.license(lookup.make_claim(*self.make_triple(x, a)))
            n_refused += any(
                "MaxCount" in violation.component
                and violation.focus_node == lookup.terms.get_text(x)
                for violation in verdict.proof.violations
                if verdict.label == "C"
            )
        return n_refused * 2 > n_tested
