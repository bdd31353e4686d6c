"""Sets true facts aside, so that a graph that states everything still has something unknown.

G is the given graph. Of each predicate, some subjects that have a value are drawn, and their values
are set aside, together with what these would follow from. G' is the rest, without malformed IRIs:
cards are made from it, and systems must use it. Its answers to questions about such subjects are
unknown, so that whoever answers from memory instead of evidence is found out.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from cards.generation.balance import count_shared_triplets
from cards.generation.graph_lookup import GraphLookup
from cards.generation.pools import Pool
from cards.generation.prover import is_about_vocabulary
from cards.generation.restated_values import list_restating_facts
from cards.generation.rng import rng_for
from cards.generation.shortage import find_obstacle, has_kind, has_other_fact, list_anchors
from kg.claims import Claim
from kg.entailment import Closure
from kg.profile.graph_changes.class_links import drop_superclasses
from kg.terms import RDF_TYPE
from kg.triples.index import Triple
from kg.vocabulary import is_vocabulary

if TYPE_CHECKING:
    from cards.generation.taxonomies.taxonomy import Taxonomy

MAX_PREMISES = 5
"""Maximum number of other facts that are set aside because a subject's value follows from them. A
subject that needs more keeps its value."""
MAX_PASSES = 4
"""Maximum number of times that the closure is computed to find such facts."""
LARGE_PREDICATE = 1_000
"""Number of facts above which at most ``MAX_LARGE_SHARE`` of a predicate's facts is set aside."""
MAX_LARGE_SHARE = 0.1
N_COUNTED = 300
"""Number of terms that are searched at first; all are if these do not show that enough can be."""
SAFETY_FACTOR = 1.4
"""No more are searched if those found show that there should be this many times as many as needed:
of 300 terms, the share is known to within a fifth unless it is small."""
MAX_RESERVE = 20
"""At most this many times as many unsuitable terms as needed are passed over."""
MAX_TRIED_ANCHORS = 24
"""Maximum number of anchors of a term that are looked at to find one that others keep."""
LARGE_POOL = 5
"""A pool with this many times as many terms as needed is taken to have enough that can be named."""


class Unknowns(NamedTuple):
    """The terms of one pool whose anchors were set aside; only they are asked about on U cards."""

    anchors: dict[int, tuple[int, ...]]
    """Term ``x`` → its anchors in G; in a pool where ``x`` may have several, the one set aside."""

    def list_terms(self) -> list[int]:
        """Lists the terms, in the order in which they were drawn."""
        return list(self.anchors)

    def is_true(self, x: int, anchor: int) -> bool:
        """Returns whether the claim about ``x`` and ``anchor`` was set aside: it is true in G."""
        return anchor in self.anchors.get(x, ())


class SetAside(NamedTuple):
    """What was set aside, and the rest."""

    lookup: GraphLookup
    """G without the facts that were set aside."""
    triples: frozenset[Triple]
    """The facts set aside."""
    unknowns: tuple[Unknowns, ...]
    """For each pool, in the given order."""


class PoolNeed(NamedTuple):
    """How many terms of one pool to set aside."""

    pool: Pool
    is_single: bool
    """Whether a term can have one anchor only, see ``Pool.is_single_valued``."""
    n_terms: int
    """How many terms to set aside, at most."""
    seed: object
    """What the random order of the terms depends on."""
    taxonomy: Taxonomy | None = None
    """If what is next to a term should stay, see ``taxonomies/``."""


class _Candidate(NamedTuple):
    pool_number: int
    x: int
    anchors: tuple[int, ...]
    links: frozenset[Triple]
    """The facts that link the term with its anchors."""
    triples: frozenset[Triple]
    """All facts that are set aside for it."""


class _Drawn(NamedTuple):
    """What is set aside so far."""

    facts: set[Triple]
    """The asserted facts."""
    claims: set[Triple]
    """The claims that U cards may ask about, which may have been derived."""


class _Keepers(IntEnum):
    """Who keeps an anchor that is set aside of a term, the most suitable first."""

    OTHERS = 0
    """Another term."""
    NOBODY = 1
    """No other term has it."""
    DRAWN = 2
    """Only terms of which it was set aside have it: the last one had better keep it."""


def share_equally(
    total: int, limits: Sequence[int], weights: Sequence[int] | None = None
) -> list[int]:
    """Divides a number into shares as equal as the limits allow; less if these are too small.

    Args:
        total: the number.
        limits: the largest share of each.
        weights: whole numbers to which the shares are proportional, if not equal.
    """
    shares = [0] * len(limits)
    while rest := total - sum(shares):
        open_numbers = [
            i
            for i, limit in enumerate(limits)
            for _ in range(weights[i] if weights else 1)
            if shares[i] < limit
        ]
        if not open_numbers:
            break
        for i in open_numbers[:rest]:
            shares[i] += min(max(1, rest // len(open_numbers)), limits[i] - shares[i])
    return shares


def count_candidates(pool: Pool, limit: int) -> int:
    """Counts the terms whose anchors could be set aside, up to ``limit``.

    Of a large pool, only a sample is searched, and nothing of one that is far larger than needed.
    """
    n_terms = len(pool.anchor_rows)
    if n_terms > LARGE_POOL * limit:
        return limit
    rng = rng_for("count", pool.lookup.terms.get_text(pool.p), pool.varying)
    terms = _iter_in_random_order(list(pool.anchor_rows), rng)
    n_found = sum(not find_obstacle(pool, x) for x in itertools.islice(terms, N_COUNTED))
    if n_found * n_terms > SAFETY_FACTOR * N_COUNTED * limit:
        return limit
    found = (x for x in terms if not find_obstacle(pool, x))
    return min(limit, n_found + sum(1 for _ in itertools.islice(found, limit)))


def set_aside_facts(lookup: GraphLookup, needs: Iterable[PoolNeed]) -> SetAside:
    """Draws terms of each pool and sets their anchors aside.

    Args:
        lookup: G.
        needs: the pools of G.
    """
    needs = list(needs)
    chosen: list[_Candidate] = []
    drawn = _Drawn(set(), set())
    n_pools = Counter(need.pool.p for need in needs if need.n_terms)
    n_drawn: Counter[int] = Counter()
    for number, need in enumerate(needs):
        p, make_triple = need.pool.p, need.pool.make_triple
        n_drawn[p] += bool(need.n_terms)
        n_links = lookup.graph_index.count_triples(p)
        max_links = int(n_links * MAX_LARGE_SHARE) if n_links > LARGE_PREDICATE else n_links
        # The other sides of the predicate's claims have their share, too.
        max_links = max_links * n_drawn[p] // max(1, n_pools[p])
        for candidate in _draw_candidates(number, need, drawn, max_links):
            chosen.append(candidate)
            drawn.facts.update(candidate.links)
            drawn.claims.update(make_triple(candidate.x, a) for a in candidate.anchors)
    graph, closure = full_graph, full_closure = lookup.kb.graph, lookup.kb.oracle.closure
    triples: frozenset[Triple] = frozenset()
    unwritable = full_graph.unwritable_triples if chosen else triples
    for number in range(MAX_PASSES):
        wanted = unwritable.union(*(c.triples for c in chosen))
        if not triples <= wanted:  # Some terms keep their values.
            graph, closure, triples = full_graph, full_closure, frozenset()
        if wanted != triples:
            more = wanted - triples
            graph = graph.without(more)
            closure = closure.without(graph, more, in_place=closure is not full_closure)
            triples = wanted
        complete = list(_complete_candidates(closure, needs, chosen))
        if complete == chosen:
            break
        if number < MAX_PASSES - 1:
            chosen = complete
    kb = lookup.kb.with_graph(drop_superclasses(graph, triples), closure) if triples else lookup.kb
    unknowns = [Unknowns({}) for _ in needs]
    reduced = lookup.for_part(kb)
    for candidate in chosen:
        need = needs[candidate.pool_number]
        derivable = any(_iter_entailed_claims(closure, need.pool, candidate))
        if not derivable and (
            has_kind(reduced, candidate.x) or has_other_fact(reduced, candidate.x, need.pool.p)
        ):
            unknowns[candidate.pool_number].anchors[candidate.x] = candidate.anchors
    return SetAside(reduced, triples - unwritable, tuple(unknowns))


def _draw_candidates(
    number: int, need: PoolNeed, drawn: _Drawn, max_links: int
) -> Iterator[_Candidate]:
    """Draws the terms of a pool, the most suitable ones first.

    Args:
        number: the number of the pool.
        need: the pool, and how many terms to draw.
        drawn: what is set aside so far; read again for each term.
        max_links: how many facts of the predicate may be set aside, those so far included.
    """
    pool = need.pool
    rng = rng_for(need.seed, "set aside", pool.lookup.terms.get_text(pool.p), pool.varying)
    n_links = sum(p == pool.p for _, p, _ in drawn.facts)
    terms = _iter_terms_by_suitability(need, rng, drawn)
    for x, anchors in itertools.islice(terms, need.n_terms):
        links = frozenset(_find_links(pool, x, anchors))
        n_links += sum(link[1] == pool.p and link not in drawn.facts for link in links)
        if n_links > max_links:
            return
        yield _Candidate(number, x, anchors, links, links)


def _iter_terms_by_suitability(
    need: PoolNeed, rng: Random, drawn: _Drawn
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yields terms that a question can name, with the anchors to set aside; suitable ones first.

    First those of which a fact stays that is not a class, and among these first those with an
    anchor that another term keeps. Only about these can a card ask for the anchor that was set
    aside, because the E card of the triplet asks for the same. If others were asked about, too,
    the links of those with a unique anchor would tell that the claim is false. The E and the C card
    of the triplet ask about such terms, too: if all are needed, a third of them, and then others.
    """
    pool = need.pool
    n_tried = n_shared = 0
    max_shared = count_shared_triplets(pool) + 1 if need.is_single else need.n_terms
    reserves: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in range(2 * len(_Keepers))]
    terms = _iter_in_random_order(list(pool.anchor_rows), rng)
    for x in terms:
        if find_obstacle(pool, x):
            continue
        anchors, keepers = _choose_anchors(need, x, rng, drawn)
        if need.taxonomy is not None:
            n_tried += 1
            if keepers == _Keepers.OTHERS:
                yield x, anchors
            elif n_tried >= MAX_RESERVE * need.n_terms:
                return
            continue
        has_fact = has_other_fact(pool.lookup, x, pool.p, drawn.facts)
        if has_fact and keepers == _Keepers.OTHERS and n_shared < max_shared:
            n_shared += 1
            yield x, anchors
            continue
        reserves[keepers + (0 if has_fact else len(_Keepers))].append((x, anchors))
        if sum(map(len, reserves)) >= MAX_RESERVE * need.n_terms:
            break
    order = (_Keepers.NOBODY, _Keepers.OTHERS, _Keepers.DRAWN)
    for number in (*order, *(len(_Keepers) + keepers for keepers in _Keepers)):
        for x, anchors in reserves[number]:
            keepers = max(_find_keepers(pool, x, a, drawn) for a in anchors)
            if number % len(_Keepers) == _Keepers.OTHERS and keepers == _Keepers.DRAWN:
                reserves[number + _Keepers.DRAWN].append((x, anchors))
            else:
                yield x, anchors
    for x in terms:
        if not find_obstacle(pool, x):
            yield x, _choose_anchors(need, x, rng, drawn)[0]


def _choose_anchors(
    need: PoolNeed, x: int, rng: Random, drawn: _Drawn
) -> tuple[tuple[int, ...], _Keepers]:
    """Chooses the anchors to set aside of a term: all, or one, if possible one that others keep."""
    anchors = list_anchors(need.pool, x)
    if need.is_single:
        found = [_find_keepers(need.pool, x, anchor, drawn) for anchor in anchors]
        return anchors, _Keepers.OTHERS if _Keepers.OTHERS in found else max(found)
    chosen: dict[_Keepers, int] = {}
    taxonomy = need.taxonomy
    for anchor in itertools.islice(_iter_in_random_order(list(anchors), rng), MAX_TRIED_ANCHORS):
        if taxonomy is not None and not taxonomy.has_alike_terms(x, anchor):
            continue
        chosen.setdefault(_find_keepers(need.pool, x, anchor, drawn), anchor)
        if _Keepers.OTHERS in chosen:
            break
    if not chosen:
        return anchors[:1], _Keepers.NOBODY
    keepers = min(chosen)
    return (chosen[keepers],), keepers


def _find_keepers(pool: Pool, x: int, anchor: int, drawn: _Drawn) -> _Keepers:
    """Finds who keeps an anchor that a card can name if it is set aside of ``x``."""
    lookup = pool.lookup
    keepers = _Keepers.NOBODY
    for other in pool.get_holders(anchor) if lookup.is_nameable(anchor) else ():
        if pool.make_triple(other, anchor) in drawn.claims:
            keepers = _Keepers.DRAWN
        elif other != x and lookup.is_nameable(other):
            return _Keepers.OTHERS
    return keepers


def _iter_in_random_order(terms: list[int], rng: Random) -> Iterator[int]:
    """Yields all terms in random order; the cost depends only on how many are used."""
    for i in range(len(terms)):
        j = i + int(rng.random() * (len(terms) - i))
        terms[i], terms[j] = terms[j], terms[i]
        yield terms[i]


def _find_links(pool: Pool, x: int, anchors: Iterable[int]) -> Iterator[Triple]:
    """Yields the asserted facts of a pair: those of the predicate, and parallel and inverse ones.

    They go together, because one of them tells a reader that the two belong together. So do
    literals of another predicate that say the same in other words.
    """
    index, terms = pool.lookup.graph_index, pool.lookup.terms
    # Without these links, names would change.
    named_by = {q.removeprefix("^") for q in pool.lookup.kb.domain.qualifiers}
    for anchor in anchors:
        triple = pool.make_triple(x, anchor)
        if index.has_triple(*triple):
            yield triple
        s, _, o = triple
        yield from list_restating_facts(pool.lookup, s, [o], pool.telling.restating)
        if terms.is_literal(anchor) or terms.is_literal(x):
            continue
        for s, o in ((x, anchor), (anchor, x)):
            for p, value in index.iter_out_edges(s):
                text = terms.get_text(p)
                if (
                    value == o
                    and text != RDF_TYPE
                    and not is_vocabulary(text)
                    and text not in named_by
                ):
                    yield s, p, o


def _complete_candidates(
    closure: Closure, needs: list[PoolNeed], candidates: list[_Candidate]
) -> Iterator[_Candidate]:
    """Adds facts from which the anchors still follow; leaves out terms that need too many."""
    for candidate in candidates:
        need = needs[candidate.pool_number]
        pool = need.pool
        premises: set[Triple] = set()
        for triple in _iter_entailed_claims(closure, pool, candidate):
            premise = _find_premise(closure, need, candidate.x, triple)
            if premise is None:
                break
            premises.add(premise)
        else:
            triples = candidate.triples | premises
            if len(triples) <= len(candidate.links) + MAX_PREMISES:
                yield candidate._replace(triples=triples)


def _iter_entailed_claims(closure: Closure, pool: Pool, candidate: _Candidate) -> Iterator[Triple]:
    """Yields the candidate's claims that a graph without its triples still entails."""
    for anchor in candidate.anchors:
        triple = pool.make_triple(candidate.x, anchor)
        if closure.index.has_triple(*triple):
            yield triple


def _find_premise(closure: Closure, need: PoolNeed, x: int, triple: Triple) -> Triple | None:
    """Returns an asserted fact from which a triple follows.

    If possible, it is about ``x``, or, of a taxonomy, not about it.
    """
    terms = need.pool.lookup.terms
    steps = closure.derive_claim(Claim(*map(terms.get_text, triple))) or ()
    asserted = [
        (terms.intern(c.subj), terms.intern(c.pred), terms.intern(c.obj))
        for step in steps
        for c in step.premises
        if c.pred != RDF_TYPE and not is_about_vocabulary(c)
    ]
    asserted = [t for t in asserted if closure.is_asserted(*t)]
    if need.taxonomy is not None:
        find_objects, find_subjects = closure.index.find_objects, closure.index.find_subjects
        far = [t for t in asserted if x not in (t[0], t[2])] or asserted
        # The one without which the fewest other claims are lost.
        return min(
            far,
            key=lambda t: (
                (1 + len(find_subjects(t[1], t[0]))) * (1 + len(find_objects(t[2], t[1])))
            ),
            default=None,
        )
    return next((t for t in asserted if x in (t[0], t[2])), next(iter(asserted), None))
