"""Proposes triplets about a taxonomy, whose labels cannot be told from places in it.

The true claim and the one about a reverse chain are about terms of one branch, so the unknown one
is, too: a sibling, cousin or uncle, or what was set aside. All three terms have something above and
something below them on the card, and as many such links in the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from cards.generation.balance import sort_by_similarity
from cards.generation.context import Proposal, Role
from cards.generation.entity_sampler import MAX_CANDIDATES
from cards.generation.kinds import ASYMMETRIC, CYCLE
from cards.generation.recipes import MAX_HOPS, OTHER_CONSTRAINT, Recipe, Recipes
from cards.generation.taxonomies.taxonomy import MAX_COMPARED, Taxonomy

MAX_ANCHORS = 700
"""Maximum number of random anchors of one kind of claims that are searched."""
MAX_PATHS = 24
"""Maximum number of random chains that a false claim could reverse."""
_Place: TypeAlias = tuple[Hashable, int]
"""A term's place in the taxonomy, and how many words its name shares with the anchor."""


class TaxonomyRecipes(Recipes):
    """Samples proposals for a taxonomy and varying side."""

    def __init__(self, taxonomy: Taxonomy, *args: Any, **kwargs: Any) -> None:
        """Takes the taxonomy, and what other recipes take."""
        super().__init__(*args, **kwargs)
        self._taxonomy = taxonomy

    is_taxonomy = True

    @property
    def is_always_strict(self) -> bool:
        """Whether terms must have as much above and below them, on the card and in the graph.

        Where the object varies, the questions have the same subject, so that its place tells no
        label.
        """
        return self.pool.varying == "subj"

    @property
    def asks_any_anchor(self) -> bool:
        """Whether the numbers of links may differ."""
        return self.allows_any_anchor

    @property
    def recipes_by_name(self) -> dict[str, Recipe]:
        """Name → recipe: only those whose unknown claims are about the same branch."""
        # Other claims are hardly ever false.
        others: dict[str, Recipe] = {OTHER_CONSTRAINT: lambda: None}
        if not self.has_chains:
            return others
        return others | {
            ASYMMETRIC: lambda: self.propose_downstream(1),
            CYCLE: lambda: self.propose_downstream(2 + self.rng.randrange(MAX_HOPS - 1)),
        }

    def is_true_unknown(self, x: int, anchor: int) -> bool:
        """Returns whether the claim of a U card is true in the graph before."""
        return self._taxonomy.is_true(x, anchor)

    def propose_downstream(self, hops: int) -> Proposal | None:
        """Proposes a C card with the reverse of an entailed chain of ``hops`` steps."""
        anchors = self._list_open_anchors(hops)
        for _ in range(MAX_CANDIDATES):
            if not anchors:
                break
            number = int(self.rng.random() * len(anchors))
            anchor = anchors[number]
            true = self._group(self._sample_true_matches(anchor), anchor)
            unknown = self._group(self._list_unknowns(anchor), anchor, true) if true else {}
            paths: dict[int, list[int]] = {}
            for _ in range(MAX_PATHS if unknown else 0):
                path = self._sample_path(anchor, hops)
                if path is not None:
                    paths.setdefault(path[-1], path)
            false = self._group(paths, anchor, unknown)
            places = list(false)
            if not places:
                # Terms are used up, so none will fit later either.
                anchors[number] = anchors[-1]
                anchors.pop()
            self.rng.shuffle(places)
            for place in places:
                proposal = self._choose_terms(
                    anchor, paths, *(group[place] for group in (true, false, unknown))
                )
                if proposal is not None:
                    return proposal
        return None

    def _list_open_anchors(self, hops: int) -> list[int]:
        """Lists the anchors that could be asked about; those that turn out not to be are removed.

        They have anchors and holders, and have lost holders if what was set aside is asked.
        """
        wants_derived = "E" in self.wants_derived
        key = (hops, self.strict, self._ignores_degrees, self.wants_true, wants_derived)
        anchors = self._open_anchors.get(key)
        if anchors is None:
            anchors = [a for a in self.pool.anchor_rows if self.pool.get_holders(a)]
            if self.wants_true:
                anchors = [a for a in anchors if self._taxonomy.list_lost(self.lookup, a)]
            if len(anchors) > MAX_ANCHORS:
                anchors = self.rng.sample(anchors, MAX_ANCHORS)
            self._open_anchors[key] = anchors
        return anchors

    @cached_property
    def _open_anchors(self) -> dict[Hashable, list[int]]:
        return {}

    def _list_unknowns(self, anchor: int) -> Sequence[int]:
        """Lists terms of which it is unknown whether they have an anchor."""
        lost = self._taxonomy.list_lost(self.lookup, anchor)
        if self.wants_true:
            return lost
        return self._taxonomy.list_relatives(anchor)

    def _group(
        self, terms: Iterable[int], anchor: int, allowed: Collection[_Place] | None = None
    ) -> dict[_Place, list[int]]:
        """Groups terms that can be asked about by all that must be equal, if it is allowed."""
        groups: dict[_Place, list[int]] = {}
        if not self.lookup.is_nameable(anchor):
            return groups
        terms = list(terms)
        if len(terms) > MAX_COMPARED:
            terms = self.rng.sample(terms, MAX_COMPARED)
        places = self._places_by_setting.setdefault((self.strict, self._ignores_degrees), {})
        allowed_places = None if allowed is None else {place for place, _ in allowed}
        for x in terms:
            if x not in places:
                places[x] = self._find_place(x)
            place = places[x]
            if place is None or (allowed_places is not None and place not in allowed_places):
                continue
            if x == anchor or x in self.used or not self.pool.matches_hint(x, anchor):
                continue
            full_place = place, self._taxonomy.count_shared_words(x, anchor)
            if allowed is None or full_place in allowed:
                groups.setdefault(full_place, []).append(x)
        return groups

    @cached_property
    def _places_by_setting(self) -> dict[tuple[bool, bool], dict[int, Hashable]]:
        return {}

    @property
    def _ignores_degrees(self) -> bool:
        return self.asks_any_anchor and not self.strict

    def _find_place(self, x: int) -> Hashable:
        """Returns what must be equal of terms that are asked about; None if this one cannot be."""
        if not self.lookup.is_nameable(x):
            return None
        if self.strict and not self._taxonomy.has_both_sides(self.lookup, x):
            return None
        get_levels: Callable[[int], Sequence[int]] = (
            self._get_degree_levels if self.compares_rest else self.full_lookup.get_degree_levels
        )
        levels = (0, 0) if self._ignores_degrees else get_levels(x)
        return (
            self._taxonomy.find_place(x, levels, is_strict=self.strict),
            self._get_frequent_words(x) if self.matches_words else None,
        )

    def _choose_terms(
        self,
        anchor: int,
        paths: dict[int, list[int]],
        true: list[int],
        false: list[int],
        unknown: list[int],
    ) -> Proposal | None:
        """Chooses three terms with similar names: what is far above has a short one.

        First one of those that are fewest.
        """
        fewest = min(true, false, unknown, key=len)
        first = fewest[int(self.rng.random() * len(fewest))]
        c = first if fewest is false else self._choose_similar(false, first)
        path = paths[c]
        e = first if fewest is true else self._choose_similar(true, first, path)
        u = first if fewest is unknown else self._choose_similar(unknown, first, (*path, e))
        if e in path or u in (*path, e):
            return None
        facts = self.find_path_facts(path)
        if facts is None:
            return None
        role = Role("C", c, facts, forbids_other_value=True)
        proposal = self._build_proposal(anchor, e, role, u)
        if proposal is None:
            return None
        # What else a term is a kind of is no reason why a chain leads back.
        roles = [role._replace(forbids_other_value=False) for role in proposal.roles]
        return proposal._replace(roles=roles)

    def _choose_similar(self, terms: list[int], other: int, excluded: Sequence[int] = ()) -> int:
        """Chooses the term with the most similar name."""
        suitable = [x for x in terms if x not in excluded] or terms
        return sort_by_similarity(self.lookup, self.pool.p, suitable, other)[0]
