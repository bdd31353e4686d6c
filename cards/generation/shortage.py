"""Explains why fewer cards were made than requested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from enum import StrEnum

from cards.generation.graph_lookup import GraphLookup
from cards.generation.pools import Pool
from kg.base.plain_text import format_count, join_list
from kg.triples.index import Triple
from kg.vocabulary import is_vocabulary

MIN_TERMS = 3
"""Number of terms that a triplet asks about."""
MAX_EXAMPLES = 3
"""Maximum number of words quoted as examples."""

LEFT_OUT = "that break the shapes"
NO_NAME = "without a unique, readable name"
NO_VALUE = "whose value has no such name"
NO_FACT = "without another fact or a class"
OBSTACLES = (LEFT_OUT, NO_NAME, NO_VALUE, NO_FACT)
"""Why a term that has a value cannot be asked about, in the order of the checks."""


class Obstacle(StrEnum):
    """The step at which a triplet fails, in the order of the steps; the value is the reason."""

    ENTITIES = "no unused entity fits any more"
    NAMES = (
        "no unused entity has a fitting name: the names of a triplet must have the same frequent "
        "words{examples}, or the words would predict the answer"
    )
    UNKNOWN = "no claim could be proved unknown on both graph and card"
    FACTS = "there are too few facts to mention the three entities of a triplet equally often"
    FALSE = "no claim could be proved false on both graph and card"
    KINDS = "no claim could be proved false by one of the requested kinds"
    NAMESAKES = "a reader would take two things on the card for one, because their names are alike"
    TRUE = "no claim could be proved true on both graph and card"


def find_unproved(label: str) -> Obstacle:
    """Returns the obstacle of a card whose label, E, C or U, is not what the oracle found."""
    return {"E": Obstacle.TRUE, "C": Obstacle.FALSE}.get(label, Obstacle.UNKNOWN)


def explain_obstacles(failures: Counter[Obstacle], frequent_words: Collection[str]) -> str:
    """Explains at which steps triplets failed, with the number of tries for each.

    Args:
        failures: number of failed proposals by obstacle.
        frequent_words: words of the names that had to be the same; a few are quoted.
    """
    examples = f" (here {_quote_examples(frequent_words)})" if frequent_words else ""
    counted = failures.most_common() or [(Obstacle.ENTITIES, 0)]
    return "; ".join(
        obstacle.value.replace("{examples}", examples)
        + (f" ({format_count(n, 'attempt')})" if n else "")
        for obstacle, n in counted
    )


def explain_pool(counts: Mapping[str, int], noun: str) -> str:
    """Explains how many terms of a pool cannot be asked about, by reason.

    Args:
        counts: reason, or empty for those that can be asked about, → number of terms.
        noun: what the terms are: subjects or objects.
    """
    reasons = [f"{n:,} {reason}" for reason, n in counts.items() if n and reason]
    total, n_askable = sum(counts.values()), counts.get("", 0)
    if n_askable >= MIN_TERMS:
        return (
            f"of {format_count(total, noun)} with a value, {n_askable:,} can be asked about, but "
            "no value of theirs could be set aside: it follows from too many other facts, or "
            "nothing else would be known of them"
        )
    return (
        f"of {format_count(total, noun)} with a value, {join_list(reasons) or 'none'}; "
        f"{n_askable:,} can be asked about, and a triplet needs {MIN_TERMS}"
    )


def _quote_examples(words: Collection[str]) -> str:
    examples = ", ".join(f"“{word}”" for word in sorted(words)[:MAX_EXAMPLES])
    return f"{examples} …" if len(words) > MAX_EXAMPLES else examples


def count_obstacles(pool: Pool) -> dict[str, int]:
    """Counts the terms that have anchors by what keeps them from being asked about, if anything."""
    counts = Counter(find_obstacle(pool, x) for x in pool.anchor_rows)
    return {reason: counts[reason] for reason in (*OBSTACLES, "")}


def list_anchors(pool: Pool, x: int) -> tuple[int, ...]:
    """Lists the anchors of a term but itself."""
    return tuple(a for a in pool.get_anchors(x) if a != x)


def find_obstacle(pool: Pool, x: int) -> str:
    """Returns why a term cannot be asked about; empty if it can."""
    lookup, anchors = pool.lookup, list_anchors(pool, x)
    if x in lookup.unusable_nodes and x not in lookup.terms.blanks:
        return LEFT_OUT
    if not lookup.is_nameable(x) or not (anchors and pool.matches_hint(x, anchors[0])):
        return NO_NAME
    if has_better_name(pool, x):
        return NO_NAME
    if not any(map(lookup.is_nameable, anchors)):
        return NO_VALUE
    if not has_other_fact(lookup, x, pool.p) and not has_kind(lookup, x):
        return NO_FACT
    return ""


def has_better_name(pool: Pool, x: int) -> bool:
    """Returns whether a thing is asked about under another name of it (``owl:sameAs``).

    It is asked about under a name of which the graph states a value, if there is one.
    """
    names = pool.lookup.kb.oracle.closure.find_same_terms(x)
    if len(names) == 1:
        return False
    index, varies_subject = pool.lookup.graph_index, pool.varying == "subj"

    def has_own_value(name: int) -> bool:
        values = index.find_objects(name, pool.p) if varies_subject else ()
        return bool(values or (not varies_subject and index.find_subjects(pool.p, name)))

    return x != min(names, key=lambda name: (not has_own_value(name), name))


def has_kind(lookup: GraphLookup, x: int) -> bool:
    """Returns whether a card can say what kind of thing a term is."""
    return any(not is_vocabulary(lookup.terms.get_text(c)) for c in lookup.get_types(x))


def has_other_fact(lookup: GraphLookup, x: int, p: int, removed: Collection[Triple] = ()) -> bool:
    """Returns whether a card can state a fact about a term beside its values of ``p``."""
    return any(
        f.p != p and (f.s, f.p, f.o) not in removed for f in lookup.iter_facts_about(x)
    ) or any(lookup.list_incoming_facts(x, q) for q in lookup.fact_predicates)
