"""Finds predicates that restate the values of another one, such as "dates" that of "end date".

A fact of such a predicate would answer the question in other words, also where the value is set
aside, so no card that asks about the restated predicate states it. Nor does it state facts of a
predicate with the same label: a reader would take its values for those asked about. Nor those of
one whose label has another word of the same stem: what is "approved by" somebody has approval.

A value can also be settled by that of another predicate: rivers that flow into the Bay of Bengal do
not drain into the Scheldt, though no rule on the card says so. Nor was anybody born after the year
of death, and the second track of a record is no other one's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from cards.generation.graph_lookup import GraphLookup
from cards.generation.literals import parse_number_or_year
from cards.generation.rng import rng_for
from kg.profile.fitting_claims import find_wholes
from kg.terms import get_lexical
from kg.text.facts.relation_words import list_stems
from kg.triples.index import Triple
from kg.words.name_forms import MIN_NUMBER, says_quantity

N_SAMPLED = 100
"""Number of facts that are looked at."""
MIN_RESTATED = 0.2
"""Minimum share, of the subjects with facts of both predicates, whose own value is restated, less
that for which the value of another subject, chosen at random, is."""

MIN_NAMED_LENGTH = 4
"""Minimum number of characters of a literal that names of things may restate."""

N_SUBJECTS = 2000
"""Maximum number of subjects that are looked at; of more, a sample is."""
N_PAIRS = 300
"""Number of pairs of subjects that are compared."""
MIN_PAIRS = 10
"""Minimum number of different pairs with the same value of the settling predicate."""
MIN_SETTLED = 0.9
"""Minimum share, of the pairs of subjects with the same value of one predicate, that have the same
value of the settled predicate, too."""
MAX_TOLD = 0.5
"""Maximum share of subjects of which nothing else is known."""
MAX_EQUAL = 0.8
"""Maximum share of pairs of any two subjects that have the same value."""
MAX_UNSETTLED = 0.2
"""Of pairs of subjects with the same value of the settling predicate, at most this many times as
many may differ as of pairs of any two subjects."""

MIN_NUMBERED = 3
"""Minimum number of subjects whose names say their value."""
MAX_WRONG_DIGITS = 0.5
"""Maximum number of names that say another number, as a share of those of random subjects."""
MIN_SAME_ORDER = 0.96
"""Minimum share of pairs of subjects with different numbers of one predicate that those of another
one put in the same order."""
MIN_ORDERED = 30
"""Minimum number of subjects that have numbers of two predicates in one order."""
MIN_UNORDERED = 5
"""Minimum number of pairs of any two subjects whose numbers break this order: fewer say nothing."""
MAX_BROKEN = 0.1
"""Maximum number of subjects whose own numbers break it, as a share of these pairs."""

_PredicatesByStems: TypeAlias = dict[frozenset[str], list[tuple[int, set[str]]]]
_GROUPS: WeakKeyDictionary[GraphLookup, _PredicatesByStems] = WeakKeyDictionary()
"""Graph → the result of ``_group_by_stems``."""

_NOUN_ENDING = re.compile(r"(?<=\w{4})(?:al|ment|ance|ence)$")
_DIGIT = re.compile(r"\d")
_DATE = re.compile(r"(-?\d{4,})-\d\d(-\d\d)?(T.*|Z|[-+]\d\d:\d\d)?")


class TellingPredicates(NamedTuple):
    """Predicates that tell the values of another one, without being asked about."""

    restating: frozenset[int] = frozenset()
    """Predicates whose facts say the same in other words; cards do not state them."""
    settling: frozenset[int] = frozenset()
    """Predicates whose value makes that of the other one plain; no U card states them of its
    subject."""
    bounds: tuple[tuple[int, bool], ...] = ()
    """Predicates whose number is hardly ever below that of the other one, with True, or above it:
    no U card asks about a number that breaks this."""
    wholes: tuple[tuple[int, bool], ...] = ()
    """Predicates, with True if read from object to subject, that lead to wholes in which hardly any
    two parts have the same number: no U card asks about that of another part."""
    min_digits: int = MIN_NUMBER
    """How many digits a number in a subject's name has at least if it tells the value."""


def find_telling_predicates(lookup: GraphLookup, p: int) -> TellingPredicates:
    """Finds the predicates that tell the values of ``p``, in the graph with all its facts."""
    return TellingPredicates(
        find_restating_predicates(lookup, p),
        find_settling_predicates(lookup, p),
        find_bounds(lookup, p),
        find_wholes(
            lookup.graph_index,
            p,
            _read_numbers(lookup, p, lookup.list_subjects(p, asserted_only=True)),
            rng_for("wholes", lookup.terms.get_text(p)),
        ),
        find_min_digits(lookup, p),
    )


def find_restating_predicates(lookup: GraphLookup, p: int) -> frozenset[int]:
    """Finds the predicates whose literals often contain the subject's value of ``p``.

    Also those whose literals are often contained in it: "1982-12-31" says part of "1975-1982"; of
    a date the year counts. Of a literal also those whose things have it in their names ("Dune, Ace
    Books, 1965"), and of any value those with the label of ``p`` or one of the same stems.

    Args:
        lookup: the graph before facts were set aside.
        p: the predicate that cards ask about.
    """
    pairs = lookup.graph_index.list_pairs(p)
    rng = rng_for("restated", lookup.terms.get_text(p))
    sampled = rng.sample(pairs, N_SAMPLED) if len(pairs) > N_SAMPLED else pairs
    others = rng.sample([o for _, o in sampled], len(sampled))
    n_facts: Counter[int] = Counter()
    n_more: Counter[int] = Counter()
    for (s, value), other in zip(sampled, others, strict=True):
        with_things = _is_long_literal(lookup, value)
        for q in lookup.fact_predicates:
            objects = [
                o
                for o in lookup.graph_index.find_objects(s, q)
                if lookup.terms.is_literal(o) or (with_things and o not in lookup.unusable_nodes)
            ]
            if q != p and objects:
                n_facts[q] += 1
                n_more[q] += restates(lookup, objects, value) - restates(lookup, objects, other)
    restating = {q for q, n in n_facts.items() if n_more[q] >= MIN_RESTATED * n}
    return frozenset(restating | find_synonyms(lookup, p) | find_word_relatives(lookup, p))


def find_synonyms(lookup: GraphLookup, p: int) -> set[int]:
    """Finds the predicates that are called as ``p`` is: a reader cannot tell them apart."""
    groups = lookup.name_groups
    return {q for q, group in groups.items() if q != p and group == groups.get(p)}


def find_word_relatives(lookup: GraphLookup, p: int) -> set[int]:
    """Finds the predicates with other words of the same stems: "approved by" for "approval".

    With the same words they are not found: "has part" does not say what something is "part of".
    """
    by_stems = _group_by_stems(lookup)
    label = _get_label(lookup, p)
    stems, words = _list_label_stems(label), set(label.split())
    return {
        q
        for q, other_words in (by_stems.get(stems, ()) if stems else ())
        if q != p and len(words & other_words) < len(stems)
    }


def _group_by_stems(lookup: GraphLookup) -> _PredicatesByStems:
    """Returns the stems of labels → the predicates with them, and the words of their labels."""
    groups = _GROUPS.get(lookup)
    if groups is None:
        groups = _GROUPS[lookup] = {}
        for q in lookup.fact_predicates:
            label = _get_label(lookup, q)
            groups.setdefault(_list_label_stems(label), []).append((q, set(label.split())))
    return groups


def _get_label(lookup: GraphLookup, p: int) -> str:
    return lookup.kb.verbaliser.get_label(lookup.terms.get_text(p)).casefold()


def _list_label_stems(label: str) -> frozenset[str]:
    return frozenset(_NOUN_ENDING.sub("", stem) for stem in list_stems(label))


def restates(lookup: GraphLookup, others: Sequence[int], value: int) -> bool:
    """Returns whether another value or name has the words of a value in it, or it those of one."""
    phrase, text = _find_phrase(lookup, value), _normalise(lookup, value)
    return any(
        phrase in _normalise(lookup, o)
        or (lookup.terms.is_literal(value) and _find_phrase(lookup, o) in text)
        for o in others
    )


def list_restating_facts(
    lookup: GraphLookup, s: int, values: Sequence[int], restating: Iterable[int]
) -> list[Triple]:
    """Lists the facts about a subject that say one of its values in other words.

    Args:
        lookup: the graph.
        s: the subject.
        values: its values of a predicate.
        restating: the predicates that may restate them, see ``find_restating_predicates``.
    """
    find_objects, is_literal = lookup.graph_index.find_objects, lookup.terms.is_literal
    return [
        (s, q, o)
        for q in restating
        for o in find_objects(s, q)
        if any(
            (is_literal(o) or _is_long_literal(lookup, value)) and restates(lookup, [o], value)
            for value in values
        )
    ]


def _is_long_literal(lookup: GraphLookup, value: int) -> bool:
    """Returns whether a literal is so long that a name with it says it: not the 1 of "pump 1"."""
    is_long = len(_find_phrase(lookup, value).strip()) >= MIN_NAMED_LENGTH
    return lookup.terms.is_literal(value) and is_long


def _find_phrase(lookup: GraphLookup, term: int) -> str:
    """Returns the words of a value, with a space before and after; of a date its year."""
    if lookup.terms.is_literal(term):
        match = _DATE.fullmatch(get_lexical(lookup.terms.get_text(term)))
        if match is not None:
            return f" {match[1]} "
    return _normalise(lookup, term)


def _normalise(lookup: GraphLookup, term: int) -> str:
    text = lookup.terms.get_text(term)
    name = get_lexical(text) if text.startswith('"') else lookup.get_label(term)
    return f" {lookup.kb.labels.to_normal_form(name)} "


def find_settling_predicates(lookup: GraphLookup, p: int) -> frozenset[int]:
    """Finds the predicates whose value settles, for a sensible reader, which value is true.

    Two subjects with the same value of such a predicate have the same value of ``p``, too, which
    two subjects chosen at random do not; or both predicates put subjects in the same order, as
    running numbers and dates do. None if few subjects have other facts: no card could be
    made without these.

    Args:
        lookup: the graph before facts were set aside.
        p: the predicate that cards ask about.
    """
    rng = rng_for("settled", lookup.terms.get_text(p))
    subjects = lookup.list_subjects(p, asserted_only=False)
    if len(subjects) < 2:
        return frozenset()
    if len(subjects) > N_SUBJECTS:
        subjects = rng.sample(subjects, N_SUBJECTS)
    ordered = _find_ordered_predicates(lookup, p, subjects)
    values = {s: set(lookup.closure_index.find_objects(s, p)) for s in subjects}
    pairs = [rng.sample(subjects, 2) for _ in range(N_PAIRS)]
    equal_share = _share_values(values, pairs)
    min_settled = max(MIN_SETTLED, 1 - MAX_UNSETTLED * (1 - equal_share))
    settling = set()
    for q in lookup.fact_predicates if equal_share <= MAX_EQUAL else ():
        if q == p:
            continue
        groups: dict[int, list[int]] = {}
        row = lookup.graph_index.get_row(q)
        for s in filter(row.__contains__, subjects):
            cell = row[s]
            for o in (cell,) if isinstance(cell, int) else cell:
                groups.setdefault(o, []).append(s)
        shared = [group for group in groups.values() if len(group) > 1]
        if not shared:
            continue
        pairs = [rng.sample(rng.choice(shared), 2) for _ in range(N_PAIRS)]
        n_different = len({frozenset(pair) for pair in pairs})
        if n_different >= MIN_PAIRS and _share_values(values, pairs) >= min_settled:
            settling.add(q)
    # Without those of the same order, if nothing else is known beside all.
    for found in filter(None, dict.fromkeys((ordered.union(settling), frozenset(settling)))):
        telling = {p, *found}
        n_told = sum(all(f.p in telling for f in lookup.list_facts_about(s)) for s in subjects)
        if n_told <= MAX_TOLD * len(subjects):
            return found
    return frozenset()


def _find_ordered_predicates(
    lookup: GraphLookup, p: int, subjects: Iterable[int]
) -> frozenset[int]:
    """Finds the predicates whose numbers put nearly all subjects in the order of those of ``p``.

    Or in the reverse order; equal numbers do not tell the order.
    """
    rng = rng_for("ordered", lookup.terms.get_text(p))
    numbers = _read_numbers(lookup, p, subjects)
    found = set()
    for q in lookup.fact_predicates if len(numbers) >= MIN_ORDERED else ():
        others = _read_numbers(lookup, q, numbers) if q != p else {}
        if len(others) < MIN_ORDERED:
            continue
        both = list(others)
        pairs = [rng.sample(both, 2) for _ in range(N_PAIRS)]
        orders = [
            (numbers[a] - numbers[b]) * (others[a] - others[b])
            for a, b in pairs
            if numbers[a] != numbers[b]
        ]
        n_same, n_reverse = sum(order > 0 for order in orders), sum(order < 0 for order in orders)
        if orders and max(n_same, n_reverse) >= MIN_SAME_ORDER * len(orders):
            found.add(q)
    return frozenset(found)


def find_bounds(lookup: GraphLookup, p: int) -> tuple[tuple[int, bool], ...]:
    """Finds predicates whose number is hardly ever below, or above, the same subject's of ``p``.

    Args:
        lookup: the graph before facts were set aside.
        p: the predicate that cards ask about.

    Returns:
        Each predicate, with True if its numbers are not below.
    """
    rng = rng_for("bounds", lookup.terms.get_text(p))
    asked = lookup.list_subjects(p, asserted_only=True)
    numbers = _read_numbers(
        lookup, p, rng.sample(asked, N_SUBJECTS) if len(asked) > N_SUBJECTS else asked
    )
    bounds = []
    for q in lookup.fact_predicates if len(numbers) >= MIN_ORDERED else ():
        others = _read_numbers(lookup, q, numbers) if q != p else {}
        subjects = list(others)
        if len(subjects) < MIN_ORDERED:
            continue
        shuffled = rng.sample(subjects, len(subjects))
        if all(others[s] == numbers[s] for s in subjects):
            continue  # says the same, and is no bound
        for is_above in (True, False):
            sign = 1 if is_above else -1
            n_own, n_random = (
                sum(
                    sign * (others[t] - numbers[s]) < 0
                    for s, t in zip(subjects, partners, strict=True)
                )
                for partners in (subjects, shuffled)
            )
            if n_random >= MIN_UNORDERED and n_own <= MAX_BROKEN * n_random:
                bounds.append((q, is_above))
    return tuple(bounds)


def _read_numbers(lookup: GraphLookup, p: int, subjects: Iterable[int]) -> dict[int, float]:
    """Returns the number or year of each subject that has exactly one value of a predicate."""
    numbers: dict[int, float] = {}
    get_cell, get_text = lookup.graph_index.get_row(p).get, lookup.terms.get_text
    known: dict[int, float | None] = {}
    for s in subjects:
        value = get_cell(s)
        if not isinstance(value, int):
            continue
        if value not in known:
            known[value] = parse_number_or_year(get_text(value))
        number = known[value]
        if number is not None:
            numbers[s] = number
    return numbers


def find_min_digits(lookup: GraphLookup, p: int) -> int:
    """Finds how many digits a number in a subject's name has at least if it tells the value.

    One digit may be part of a code ("B2"), but not if most of the numbers in names are the values:
    "Epileptor 5D" has five dimensions.
    """
    rng = rng_for("digits", lookup.terms.get_text(p))
    subjects = lookup.list_subjects(p, asserted_only=True)
    if len(subjects) > N_SUBJECTS:
        subjects = rng.sample(subjects, N_SUBJECTS)
    numbered = [s for s in _read_numbers(lookup, p, subjects) if _DIGIT.search(lookup.get_label(s))]
    row, get_label = lookup.graph_index.get_row(p), lookup.get_label
    values = [get_label(value) for s in numbered if isinstance(value := row[s], int)]
    n_own, n_random = (
        sum(
            says_quantity(get_label(s), value, min_digits=1)
            for s, value in zip(numbered, some_values, strict=True)
        )
        for some_values in (values, rng.sample(values, len(values)))
    )
    n_wrong, n_expected = len(numbered) - n_own, len(numbered) - n_random
    tells = n_own >= max(MIN_NUMBERED, n_wrong) and n_wrong <= MAX_WRONG_DIGITS * n_expected
    return 1 if tells else MIN_NUMBER


def _share_values(values: Mapping[int, set[int]], pairs: Sequence[Sequence[int]]) -> float:
    """Returns the share of pairs that have a value in common."""
    return sum(not values[a].isdisjoint(values[b]) for a, b in pairs) / len(pairs)
