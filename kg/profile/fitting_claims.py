"""Counts the claims of which neither names nor other parts of a whole tell whether they are true.

The three questions of a triplet share a term, the *anchor*, and the names of the three others have
equally many words in common with the anchor's name: if only the true ones did ("Acme Limited" is a
"limited company"), names alone would give answers away. So a claim can be asked about only where a
true and a false one fit each other.

Where the parts of a whole are numbered, no claim gives one the number of another part. Where links
make chains, false claims turn these round.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from kg.terms import parse_literal
from kg.triples.index import Index
from kg.vocabulary import is_vocabulary
from kg.words.name_forms import may_name_one_thing

MAX_STEPS = 2_000_000
"""At most this many comparisons, of names or of links of chains, are made of a predicate; with
more, all are taken to fit: what so many have hardly depends on a few words of names."""
MAX_LINKS = 3
"""Maximum number of links of a chain whose reverse is asked about, as in cards."""
MAX_VALUES = 12
"""Maximum number of values that parts may have, so that their neighbours matter."""
N_SAMPLED_PARTS = 300
"""Number of parts by which it is judged what leads to a whole."""
MIN_NUMBERED = 30
"""Minimum number of subjects with numbers."""
MIN_REPEATED = 5
"""Minimum number of parts that would have the number of another part by chance."""
MAX_BROKEN = 0.1
"""Maximum share of these that have it."""
MAX_PARTS = 500
"""Maximum number of parts of a whole."""

GetWords = Callable[[int], frozenset[str]]
_Thing = TypeVar("_Thing")


class ChainEnds(NamedTuple):
    """What questions about the reverse of chains can be about: "Is the Rhine part of the Aare?"."""

    subjects: int
    """The most triplets whose questions have different subjects and the same object."""
    objects: int
    """The most whose questions have different objects and the same subject."""


class _TooManyStepsError(Exception):
    """More comparisons are needed than are made."""


class _Steps:
    """Counts comparisons."""

    def __init__(self) -> None:
        self._n_left = MAX_STEPS

    def count(self, n: int) -> None:
        """Counts some that are about to be made.

        Raises:
            _TooManyStepsError: there are too many.
        """
        self._n_left -= n
        if self._n_left < 0:
            raise _TooManyStepsError


def count_fitting_pairs(
    values: Mapping[int, Collection[int]], get_words: GetWords, limit: int
) -> int:
    """Counts pairs of a true and a false claim about one value that fit each other, up to a limit.

    Args:
        values: subject → its values.
        get_words: returns the words of a name.
        limit: the number above which it does not matter how many there are.
    """
    if len(values) < 2:
        return 0
    try:
        return _PairCounter(values, get_words).count(limit)
    except _TooManyStepsError:
        return limit


class _PairCounter:
    """Counts pairs of claims. Values whose names have the same words are compared once."""

    def __init__(self, values: Mapping[int, Collection[int]], get_words: GetWords) -> None:
        self._get_words = get_words
        self._steps = _Steps()
        self._n_subjects = len(values)
        self._holders: dict[int, list[int]] = {}
        for s, every in values.items():
            for o in every:
                self._holders.setdefault(o, []).append(s)
        self._named: dict[frozenset[str], list[int]] = {}
        for o in self._holders:
            self._named.setdefault(get_words(o), []).append(o)
        self._names = _group_by_word((words, words) for words in self._named)
        self._subjects = _group_by_word((s, get_words(s)) for s in values)

    def count(self, limit: int) -> int:
        n_pairs = 0
        false: dict[frozenset[str], Counter[int]] = {}
        for value, subjects in sorted(self._holders.items(), key=lambda item: -len(item[1])):
            words = self._get_words(value)
            if words not in false:
                false[words] = self._count_false(words)
            self._steps.count(len(subjects))
            true = Counter(len(self._get_words(s) & words) for s in subjects)
            n_pairs += sum(min(n, false[words][n_shared]) for n_shared, n in true.items())
            if n_pairs >= limit:
                return limit
        return n_pairs

    def _count_false(self, words: frozenset[str]) -> Counter[int]:
        """Counts the subjects without a value of such a name, by the words they share with it."""
        holders: set[int] = set()
        for name in self._find_alike(words):
            for value in self._named[name]:
                self._steps.count(len(self._holders[value]))
                holders.update(self._holders[value])
        shared: Counter[int] = Counter()
        for word in words:
            sharing = self._subjects.get(word, ())
            self._steps.count(len(sharing))
            shared.update(s for s in sharing if s not in holders)
        counts = Counter(shared.values())
        counts[0] = self._n_subjects - len(holders) - len(shared)
        return counts

    def _find_alike(self, words: frozenset[str]) -> list[frozenset[str]]:
        """Finds the names of values that may be other names of what has a name of such words."""
        if not words:
            self._steps.count(len(self._named))
            found = set(self._named)
        else:
            found = {frozenset[str]()} & self._named.keys()
            for word in words:
                self._steps.count(len(self._names[word]))
                found.update(self._names[word])
        return [name for name in found if may_name_one_thing(name, words)]


def _group_by_word(named: Iterable[tuple[_Thing, frozenset[str]]]) -> dict[str, list[_Thing]]:
    """Returns each word with the things whose names have it."""
    groups: dict[str, list[_Thing]] = {}
    for thing, words in named:
        for word in words:
            groups.setdefault(word, []).append(thing)
    return groups


def count_pairs_of_parts(index: Index, p: int, values: Mapping[int, int]) -> int:
    """Counts pairs of claims about one number, one of them true, that no other part tells apart.

    A wire has two ends, of which one is the first and one the second: that an end is the other
    one is false, and its neighbour tells that. Each true claim needs two false ones. Not counted
    above the number of subjects.

    Args:
        index: the facts.
        p: the predicate.
        values: subject → its number, as a term.
    """
    counts = Counter(values.values())
    if len(counts) > MAX_VALUES:
        return len(values)
    numbers = {s: float(parse_literal(index.terms.get_text(o)).lexical) for s, o in values.items()}
    taken: set[tuple[int, int]] = set()
    for q, is_inverse in find_wholes(index, p, numbers, random.Random(p)):  # noqa: S311
        for s in values:
            for whole in find_linked(index, s, q, is_inverse):
                parts = find_linked(index, whole, q, not is_inverse)
                if len(parts) <= MAX_PARTS:
                    taken.update((s, values[part]) for part in parts if part in values)
    if not taken:
        return len(values)
    n_taken = Counter(value for s, value in taken if values[s] != value)
    n_false = {value: len(values) - n - n_taken[value] for value, n in counts.items()}
    return sum(min(n, n_false[value] // 2) for value, n in counts.items())


def find_wholes(
    index: Index, p: int, numbers: Mapping[int, float], rng: random.Random
) -> tuple[tuple[int, bool], ...]:
    """Finds predicates that lead to wholes whose parts are numbered by ``p``: tracks of a record.

    Args:
        index: the facts.
        p: the predicate.
        numbers: subject → its number.
        rng: chooses which parts are looked at, and what they are compared with.

    Returns:
        Each predicate, with True if it leads from the whole to its parts.
    """
    parts = list(numbers)
    sampled = rng.sample(parts, N_SAMPLED_PARTS) if len(parts) > N_SAMPLED_PARTS else parts
    wholes = []
    for q in index.list_predicates() if len(numbers) >= MIN_NUMBERED else ():
        _, value = next(index.iter_pairs(q), (0, 0))
        if q == p or is_vocabulary(index.terms.get_text(q)) or index.terms.is_literal(value):
            continue
        for is_inverse in (False, True):
            linked = [find_linked(index, s, q, is_inverse) for s in sampled]
            # What belongs to several is no part of a whole: rivers cross several countries.
            if sum(len(wholes_of) > 1 for wholes_of in linked) > MAX_BROKEN * len(linked):
                continue
            found = set(itertools.chain.from_iterable(linked))
            groups = [
                group
                for whole in sorted(found)
                if not index.terms.is_literal(whole)
                and len(members := find_linked(index, whole, q, not is_inverse)) <= MAX_PARTS
                and len(group := [m for m in members if m in numbers]) > 1
            ]
            # Parts are counted; codes such as those of regions of the brain are not.
            n_spread = sum(_is_spread([numbers[s] for s in group]) for group in groups)
            if n_spread > MAX_BROKEN * len(groups):
                continue
            own = [numbers[s] for group in groups for s in group]
            shuffled = iter(rng.sample(own, len(own)))
            n_own = sum(len(group) - len({numbers[s] for s in group}) for group in groups)
            n_random = sum(
                len(group) - len({*itertools.islice(shuffled, len(group))}) for group in groups
            )
            if n_random >= MIN_REPEATED and n_own <= MAX_BROKEN * n_random:
                wholes.append((q, is_inverse))
    return tuple(wholes)


def _is_spread(numbers: Collection[float]) -> bool:
    """Returns whether numbers are further apart than those of parts that are counted."""
    return max(numbers) - min(numbers) >= 2 * len(numbers)


def find_linked(index: Index, term: int, q: int, is_inverse: bool) -> Collection[int]:
    """Returns what a predicate links a term to, or from what if it is read backwards."""
    return index.find_subjects(q, term) if is_inverse else index.find_objects(term, q)


def find_chain_ends(links: Mapping[int, Collection[int]], get_words: GetWords) -> ChainEnds:
    """Finds what can be asked about the reverse of chains of up to ``MAX_LINKS`` links.

    A triplet about the reverse of a chain from ``low`` to ``high`` asks what ``low`` is a value of,
    beside another subject of which that is true, or what ``high`` has for a value, beside a true
    one. Each of the terms that are not shared is asked about once.

    Args:
        links: subject → its values.
        get_words: returns the words of a name.
    """
    sources: dict[int, list[int]] = {}
    for s, every in links.items():
        for o in every:
            sources.setdefault(o, []).append(s)
    steps = _Steps()
    subjects = _Claims(sources, get_words, steps)
    objects = _Claims(links, get_words, steps)
    try:
        for low in links:
            for high in _find_ends(links, low, steps):
                if low in sources:
                    subjects.add(low, high)
                if high in links:
                    objects.add(high, low)
    except _TooManyStepsError:
        n_most = min(len(links), len(sources))
        return ChainEnds(n_most, n_most)
    return ChainEnds(subjects.count(), objects.count())


class _Claims:
    """False claims about reverse chains that a true claim about the same term fits.

    Args:
        neighbours: term → those that a true claim links it with.
        get_words: returns the words of a name.
        steps: counts comparisons.
    """

    def __init__(
        self, neighbours: Mapping[int, Collection[int]], get_words: GetWords, steps: _Steps
    ) -> None:
        self._neighbours, self._get_words, self._steps = neighbours, get_words, steps
        self._groups: dict[int, dict[int, list[int]]] = {}
        self._false: set[int] = set()
        self._true: set[tuple[int, int]] = set()

    def add(self, term: int, other: int) -> None:
        """Adds the false claim that links a term with another, if a true claim fits it."""
        n_shared = len(self._get_words(term) & self._get_words(other))
        true = self._group(term).get(n_shared, ())
        if any(one != other for one in true):
            self._false.add(other)
            self._true.add((term, n_shared))

    def count(self) -> int:
        """Counts the terms that false claims are about, or true ones if these are fewer."""
        true = {one for term, n_shared in self._true for one in self._groups[term][n_shared]}
        return min(len(self._false), len(true))

    def _group(self, term: int) -> dict[int, list[int]]:
        """Groups the neighbours of a term by the number of words that names have in common."""
        groups = self._groups.get(term)
        if groups is None:
            self._steps.count(len(self._neighbours[term]))
            groups = self._groups[term] = {}
            words = self._get_words(term)
            for other in self._neighbours[term]:
                groups.setdefault(len(self._get_words(other) & words), []).append(other)
        return groups


def _find_ends(links: Mapping[int, Collection[int]], start: int, steps: _Steps) -> set[int]:
    """Finds what chains of links from a term lead to."""
    ends: set[int] = set()
    reached = {start}
    for _ in range(MAX_LINKS):
        following: set[int] = set()
        for s in reached:
            values = links.get(s, ())
            steps.count(len(values))
            following.update(values)
        reached = following - ends
        ends |= reached
    return ends - {start}


def is_asymmetric(links: Mapping[int, Sequence[int]]) -> bool:
    """Returns whether no link is also stated in reverse."""
    pairs = {(s, o) for s, values in links.items() for o in values}
    return not any((o, s) in pairs for s, o in pairs)


def is_acyclic(links: dict[int, list[int]]) -> bool:
    """Returns whether no chain of links leads back to its start."""
    done: set[int] = set()
    for start in links:
        if start in done:
            continue
        path: dict[int, None] = {start: None}
        stack = [(start, iter(links[start]))]
        while stack:
            node, targets = stack[-1]
            for target in targets:
                if target in path:
                    return False
                if target not in done:
                    path[target] = None
                    stack.append((target, iter(links[target])))
                    break
            else:
                stack.pop()
                done.add(node)
                del path[node]
    return True
