"""Computes how many triplets of cards each predicate of a graph can give."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kg.base.plain_text import format_count, join_list
from kg.profile.graph_changes.class_links import KIND_OF
from kg.profile.predicates import PredicateProfile
from kg.profile.rules import RuleKind
from kg.triples.index import Index

MIN_CEILING = 5
"""Minimum number of triplets of a predicate that is asked about."""
MIN_SHARED_TOTAL = 15
"""If predicates whose values are shared give fewer triplets, others are asked about, too."""
LARGE_PREDICATE = 1_000
"""Number of facts above which at most a tenth of them may be set aside."""
MIN_SHARED_LINKS = 0.5
"""Minimum share of the links of a predicate that another one also states, in either direction, for
both to count once: of the one with fewer links."""

ONE_SUBJECT = "one subject"
"""Kind of the rule that each value has one subject."""
OTHER_KINDS = 39
"""There is one NO card of a rare kind, which other rules contradict, for so many others."""

FORMULA = f"""\
The *ceiling* of a predicate is a number of cards of each label that is never exceeded. It is 0 where no rule can contradict a claim; elsewhere it is the smallest of these numbers:

* a third of the subjects that can be asked about, since a triplet of a YES, a NO and an UNKNOWN card asks about three, and about each once. Such a subject has a unique, readable name, a value that a question can state, and another fact or a class. Facts that follow from the ontology count. If a subject may have several values, a third of the values that can be named is added;
* where a single rule contradicts: the subjects without the most frequent value, since a YES or a NO is about one of these; the subjects with another fact, which an UNKNOWN card states; and the pairs of a true and a false claim about a value whose subjects have equally many words in common with it (names would tell the answers of others), and that no other part of the same thing has, where parts are numbered;
* for a rule of one direction: the chains of links that a NO can ask about in reverse, beside a YES whose names are as alike;
* of a predicate with more than {LARGE_PREDICATE:,} facts: a tenth of these, since a true value is set aside for each UNKNOWN card.

One is added for each {OTHER_KINDS} of another kind.

The *total* is no such bound but an estimate, which some graphs exceed. It is at most the sum of the ceilings:

* predicates that link the same things, such as parent and child, count once, by the largest ceiling: their facts are set aside together;
* of n subjects of which k do not have the most frequent value, nk / (n + k) triplets count: UNKNOWN cards use these up, too;
* of rules of one direction half count, and of kinds of classes a sixth: UNKNOWN cards break the chains that a NO needs.

*Asked about* are predicates that can give {MIN_CEILING} triplets in which the value of the UNKNOWN card is shared, so that it can be true. If these give fewer than {MIN_SHARED_TOTAL} triplets, dates, numbers and things that few or no subjects share are asked about, too; of these, the total counts one triplet for four subjects.

Fewer cards are made where names, facts and numbers of links do not match; where no triplet can be made, pairs of a YES and a NO are."""  # noqa: E501


def compute_ceiling(profile: PredicateProfile, rule: RuleKind, kinds: Collection[str]) -> int:
    """Computes a number of triplets of a predicate that is never exceeded, by ``FORMULA``.

    Args:
        profile: the predicate.
        rule: its rule.
        kinds: the kinds of all rules that contradict claims about its values; empty if not known.
    """
    n_others = profile.nameable_subjects - profile.most_frequent
    return _add_up(profile, rule, kinds, n_others, n_more=1)


def estimate_triplets(profile: PredicateProfile, rule: RuleKind, kinds: Collection[str]) -> int:
    """Estimates the number of triplets: the ceiling, less what UNKNOWN cards use up.

    Their subjects are drawn from all alike, so that a YES or a NO cannot be about those of them
    that do not have the most frequent value. Of a chain, they break the links that a NO needs,
    of kinds of classes above all, since these have few other links.
    """
    n = profile.nameable_subjects
    if rule == "one way":
        return _add_up(profile, rule, kinds, n, n_more=1) // (6 if profile.iri == KIND_OF else 2)
    n_others = n - profile.most_frequent
    return _add_up(profile, rule, kinds, n * n_others // max(1, n + n_others))


def _add_up(
    profile: PredicateProfile,
    rule: RuleKind,
    kinds: Collection[str],
    n_others: int,
    n_more: int = 0,
) -> int:
    """Adds up the triplets of both sides, with at most ``n_more`` of another kind on each."""
    if not rule:
        return 0
    sides = [profile.nameable_subjects // 3, profile.nameable_values // 3]
    limits: Collection[int] = profile.ends
    if rule == "one value":
        if kinds and ONE_SUBJECT not in kinds:
            sides = sides[:1]  # every other value is contradicted, so that none is unknown
        sides[0] = min(sides[0], profile.described_subjects)
        limits = (min(n_others, profile.fitting_pairs),)
    if kinds == {rule}:
        limits = [n + n // OTHER_KINDS + n_more for n in limits]
        sides = [min(side, n) for side, n in zip(sides, limits, strict=True)]
    if profile.facts > LARGE_PREDICATE:
        limit = profile.facts // 10 + profile.derived_facts
        sides = [min(side, limit) for side in sides]
    return sum(sides)


def count_balanced_triplets(
    profile: PredicateProfile, rule: RuleKind, *, needs_shared: bool = True
) -> int:
    """Counts triplets whose UNKNOWN card asks about a value that another subject has, too.

    Then as many of these claims can be true in the graph as false.

    Args:
        profile: the predicate.
        rule: its rule.
        needs_shared: whether the value must be shared; else all these claims may be false.
    """
    if not rule:
        return 0
    if rule == "one way":
        ceiling = min(profile.nameable_subjects // 3, max(profile.ends))
    else:
        n_others = profile.nameable_subjects - profile.most_frequent
        n_subjects = profile.askable_subjects if needs_shared else profile.nameable_subjects
        ceiling = min(n_subjects // 3, profile.described_subjects, n_others, profile.fitting_pairs)
        if needs_shared and profile.askable_values < 2:
            ceiling = 0
    return min(ceiling, profile.facts // 10) if profile.facts > LARGE_PREDICATE else ceiling


def explain_low_ceiling(profile: PredicateProfile, rule: RuleKind) -> str:
    """Says why a predicate gives fewer than ``MIN_CEILING`` triplets."""
    n = profile.nameable_subjects
    if 2 * profile.said_by_class > profile.known_subjects:
        which = f"{profile.said_by_class:,} of {format_count(profile.known_subjects, 'subject')}"
        return f"the class of {which} says it (owl:hasValue), so that it is never unknown"
    if n < 3 * MIN_CEILING or 2 * n < profile.subjects:
        if 2 * profile.blank_subjects > profile.subjects:
            which = "all" if profile.blank_subjects == profile.subjects else "most"
            total = format_count(profile.subjects, "subject")
            return f"{which} of its {total} are blank nodes, which have no name"
        return _explain_few_subjects(profile)
    if rule == "one way":
        if not profile.chained_subjects:
            return "it makes no chains of links that a NO could ask about in reverse"
        n_ends = max(profile.ends)
        which = f"only {format_count(n_ends, 'NO card')}" if n_ends else "no NO card"
        return (
            f"{which} could ask about a chain of links in reverse with names as alike as those of "
            "a YES; in all others, names would tell the answer"
        )
    if profile.described_subjects < MIN_CEILING:
        which = f"only {profile.described_subjects}" if profile.described_subjects else "none"
        return (
            f"{which} of {n:,} subjects {'have' if profile.described_subjects > 1 else 'has'} "
            "another fact, which an UNKNOWN card must state"
        )
    if profile.values == 1:
        return "all have the same value"
    if profile.askable_values < 2:
        n_shared = (
            "only one of its values is" if profile.askable_values else "none of its values is"
        )
        return f"{n_shared} shared by several subjects"
    if profile.askable_subjects < 3 * MIN_CEILING:
        return f"only {profile.askable_subjects:,} subjects share their value with another"
    if profile.fitting_pairs < MIN_CEILING:
        if profile.has_literals:
            return "it tells parts of things apart, and other parts have the other values"
        return "the words of its subjects' names tell their values"
    return "nearly all have the same value"


def _explain_few_subjects(profile: PredicateProfile) -> str:
    """Says what the subjects lack that cannot be asked about."""
    left = profile.known_subjects
    total = format_count(left, "subject")
    n_broken = left - profile.kept_subjects
    lost = []
    for n, verb, what in (
        (profile.kept_subjects, "break", "none of your shapes"),
        (profile.named_subjects, "have", "a unique, readable name"),
        (profile.kept_value_subjects, "have", "a value that breaks none of your shapes"),
        (profile.stated_subjects, "have", "a value that a question can state"),
        (profile.nameable_subjects, "have", "another fact or a class"),
    ):
        if n < left:
            singular = "has" if verb == "have" else f"{verb}s"
            lost.append((n, f"{verb if n > 1 else singular} {what}"))
        left = n
    if not lost:
        return f"fewer than {3 * MIN_CEILING} subjects have a value"
    if len(lost) == 1 and n_broken:
        which = f"{n_broken:,} of {total}" if left else f"all of its {total}"
        return f"{which} {'are' if n_broken > 1 else 'is'} left out for breaking your shapes"
    start = f"{f'only {left:,}' if left else 'none'} of {total}"
    if len(lost) == 1:
        return f"{start} {lost[0][1]}"
    steps = [
        f"{f'{n:,}' if n else 'none'} {'of these ' * bool(number)}{what}"
        for number, (n, what) in enumerate(lost)
    ]
    if n_broken:
        steps[0] = (
            f"{n_broken:,} {'are' if n_broken > 1 else 'is'} left out for breaking your shapes"
        )
        steps[1] = steps[1].replace("of these", "of the others", 1)
    return f"{start} can be asked about: {join_list(steps)}"


def find_shared_links(index: Index, predicates: Iterable[str]) -> dict[str, str]:
    """Finds predicates that link the same things as an earlier one, in either direction.

    Cards set their facts aside together, because one of them tells the other.

    Args:
        index: the facts.
        predicates: the predicates, the most productive first.

    Returns:
        Predicate → the first one that it shares links with.
    """
    found: dict[str, str] = {}
    links: dict[str, set[tuple[int, int]]] = {}
    is_literal = index.terms.is_literal
    for iri in predicates:
        p = index.terms.get(iri)
        pairs = index.iter_pairs(p) if p is not None else ()
        own = {(min(s, o), max(s, o)) for s, o in pairs if not is_literal(o)}
        for other, others in links.items():
            smaller = min(len(own), len(others))
            if smaller and len(own & others) >= MIN_SHARED_LINKS * smaller:
                found[iri] = found.get(other, other)
                break
        links[iri] = own
    return found
