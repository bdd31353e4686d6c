"""Decides what can be asked about each predicate of a graph, and how many cards that gives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType

import msgspec

from kg.base.plain_text import format_count, join_list, list_words
from kg.graph import Graph
from kg.profile.ceilings import (
    FORMULA,
    MIN_CEILING,
    MIN_SHARED_TOTAL,
    compute_ceiling,
    count_balanced_triplets,
    estimate_triplets,
    explain_low_ceiling,
    find_shared_links,
)
from kg.profile.names import Names, is_usable_iri
from kg.profile.predicates import GraphProfiler, PredicateProfile
from kg.profile.rules import GivenRule, Judgement, RuleKind
from kg.profile.verification import find_given_rules
from kg.shapes import Constraint
from kg.terms import RDFS, SKOS
from kg.triples.index import Index
from kg.vocabulary import is_vocabulary
from kg.words.labels import LABEL_PREDICATES, Labels

MAX_ASKED = 12
"""Maximum number of predicates that are asked about by default, those with most triplets."""
UNSHARED_KINDS = ("measures", "figures", "things")
"""Values that can be asked about although no two subjects share one, but for identifiers."""
_NO_IDENTIFIERS = frozenset(
    list_words(
        "paid unpaid prepaid repaid acid fluid liquid solid grid hybrid bid aid raid maid braid "
        "void android asteroid steroid thyroid centroid pyramid orchid squid humid valid rapid"
    )
)
SUBJECTS_PER_UNSHARED = 4
"""Number of subjects for each triplet about such values that is expected."""
MAX_NAMED_NOTES = 5
"""Maximum number of predicates named among those that only make notes, the most frequent ones."""
ADVICE_ON_DOUBTS = "write true for each whose rule is true in the world"
"""What to do with the rules in doubt, if nothing can be asked."""


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """What can be asked about one predicate."""

    iri: str
    label: str
    """Name in sentences; empty if it has no readable one."""
    facts: int
    subjects: int
    blank: int
    """Subjects that are blank nodes, which have no name."""
    broken: int
    """Subjects that break the user's own shapes, which no card mentions."""
    named: int
    """Subjects with a unique, readable name."""
    nameable: int
    """Those of them with a value that a question can state, and another fact or a class."""
    ceiling: int
    """The largest number of cards of each label."""
    counted: int
    """How many of these the total counts, see ``FORMULA``."""
    shares_links_with: str
    """Label of a predicate that links the same things and counts instead; empty if none does."""
    is_asked: bool
    """Whether cards ask about it by default."""
    rule: RuleKind
    """The rule by which claims can be false, or that is in doubt; empty if there is none."""
    support: str
    """What confirms the rule."""
    is_doubtful: bool
    """Whether the user must confirm the rule."""
    is_fact: bool
    """Whether a card can state its facts."""
    reason: str
    """Why nothing is asked; empty if something is."""


class ReadinessReport(msgspec.Struct, frozen=True, kw_only=True):
    """What can be asked about a graph."""

    domain: str
    triples: int
    ceiling: int
    """About how many cards of each label all predicates that are asked about give: the sum of what
    is counted of their ceilings, which may be exceeded."""
    asked: int
    """Number of predicates that are asked about."""
    doubtful: int
    """Number of predicates whose rule the user could confirm."""
    rules: int
    """Number of rules in ``shapes.ttl``."""
    summary: str
    """One sentence: what can be asked, or why nothing can."""
    advice: str
    """What to do if nothing can be asked; else empty."""
    left_out: tuple[str, ...]
    """What the graph says of an ontology and its terms, which no card asks about or states: a
    sentence for each kind, with counts."""
    skipped: tuple[str, ...]
    """What was merged or left out when the files were read, and nodes without a name."""
    formula: str
    predicates: tuple[Readiness, ...]
    """The most productive first."""


def assess_predicates(
    judged: Iterable[tuple[PredicateProfile, Judgement]],
    given: Mapping[str, GivenRule],
    compare_names: Callable[[PredicateProfile, RuleKind], PredicateProfile],
    kinds: Mapping[str, Collection[str]] = MappingProxyType({}),
    index: Index | None = None,
) -> tuple[Readiness, ...]:
    """Assesses what can be asked about each predicate, the most productive first.

    Args:
        judged: all predicates, with the rules about them.
        given: predicate → the rule that the ontology or the user's own shapes state.
        compare_names: adds what names leave to ask about, see ``GraphProfiler``.
        kinds: predicate → the kinds of all rules that contradict claims about its values.
        index: the facts, by which predicates are found that link the same things.
    """
    judged = list(judged)

    def assess(*, needs_shared: bool) -> list[tuple[Readiness, int]]:
        return [
            _assess_predicate(
                profile,
                judgement,
                given.get(profile.iri),
                compare_names,
                kinds.get(profile.iri, ()),
                needs_shared=needs_shared
                or profile.value_kind not in UNSHARED_KINDS
                or _names_identifier(profile.local_name),
            )
            for profile, judgement in judged
        ]

    assessed = assess(needs_shared=True)
    if sum(row.counted for row, _ in assessed) < MIN_SHARED_TOTAL:
        unshared = assess(needs_shared=False)
        assessed = [a if a[0].is_asked else b for a, b in zip(assessed, unshared, strict=True)]
    assessed.sort(key=lambda pair: (-pair[1], -pair[0].facts * bool(pair[0].label), pair[0].iri))
    reason = f"{MAX_ASKED} others give more cards; name it with --pred"
    rows = [
        msgspec.structs.replace(row, is_asked=False, reason=reason)
        if row.is_asked and number >= MAX_ASKED
        else row
        for number, (row, _) in enumerate(assessed)
    ]
    asked = [row for row in rows if row.is_asked]
    asked.sort(key=lambda row: -row.counted)
    shared = find_shared_links(index, (row.iri for row in asked)) if index is not None else {}
    labels = {row.iri: row.label for row in asked}
    return tuple(
        msgspec.structs.replace(row, counted=0, shares_links_with=labels[shared[row.iri]])
        if row.iri in shared
        else row
        for row in rows
    )


def _names_identifier(local_name: str) -> bool:
    """Returns whether a predicate is called "film ID", or "filmid" without a boundary."""
    word = local_name.casefold().split(" ")[-1]
    return word == "identifier" or (word.endswith("id") and word not in _NO_IDENTIFIERS)


def find_askable_predicates(
    graph: Graph, labels: Labels, constraints: Iterable[Constraint]
) -> list[str]:
    """Finds the predicates about which shapes alone give cards of three labels, the best first."""
    given = find_given_rules(constraints, "the shapes state it")
    profiler = GraphProfiler(graph, Names(graph, labels))
    unjudged = Judgement("", None, "", "")
    judged = ((profile, unjudged) for profile in profiler.iter_profiles(given))
    rows = assess_predicates(judged, given, profiler.compare_names)
    return [row.iri for row in rows if row.is_asked]


def describe_notes(
    graph: Graph, names: Names, naming_predicates: Collection[str]
) -> tuple[str, ...]:
    """Describes what is left out because it is about an ontology and its terms (see ``Notes``).

    Args:
        graph: the graph.
        names: its names.
        naming_predicates: predicates that are used for names, and so not left out.
    """
    index, notes, terms = graph.index, names.notes, graph.index.terms
    skos = (text for p in index.list_predicates() if (text := terms.get_text(p)).startswith(SKOS))
    iris = {
        *map(terms.get_text, notes.predicates),
        *(text for text in skos if is_vocabulary(text) and text not in LABEL_PREDICATES),
        RDFS + "seeAlso",
        RDFS + "isDefinedBy",
    }
    counts = {
        iri: index.count_triples(p)
        for iri in iris.difference(naming_predicates)
        if (p := terms.get(iri)) is not None
    }
    largest = sorted((-n, iri) for iri, n in counts.items() if n)
    named = [
        f"{names.find_predicate_label(iri) or iri} {-n:,}" for n, iri in largest[:MAX_NAMED_NOTES]
    ]
    n_more = len(largest) - len(named)
    more = f" and {n_more} more" if n_more else ""
    n_header = sum(1 for node in notes.ontologies for _ in index.iter_out_edges(node))
    n_obsolete = len(notes.obsolete)
    return (
        *(
            [
                f"{format_count(sum(counts.values()), 'triple')} that are notes on terms, by "
                f"{format_count(len(largest), 'predicate')}: {', '.join(named)}{more}"
            ]
            if largest
            else []
        ),
        *([f"{format_count(n_header, 'triple')} about the ontology itself"] if n_header else []),
        *([format_count(n_obsolete, "obsolete term")] if n_obsolete else []),
    )


def describe_vocabulary(graph: Graph, names: Names) -> str:
    """Says that a graph is a vocabulary, if most things that it describes are terms; else empty."""
    index = graph.index
    things = {s for p in index.list_predicates() for s in index.get_subjects(p)}
    things -= index.terms.blanks
    n_terms = len(things & names.notes.schema_terms)
    if 2 * n_terms <= len(things):
        return ""
    return (
        f"Nothing can be asked: the graph is a vocabulary, which defines terms ({n_terms:,} of its "
        f"{format_count(len(things), 'thing')} are classes and predicates) and states no facts "
        "about things that could be asked."
    )


def build_report(
    rows: tuple[Readiness, ...],
    *,
    domain: str,
    triples: int,
    n_rules: int,
    left_out: tuple[str, ...],
    skipped: tuple[str, ...],
    vocabulary: str,
) -> ReadinessReport:
    """Builds the report of all predicates; ``vocabulary`` says why a vocabulary has no cards."""
    asked = [row for row in rows if row.is_asked]
    ceiling = sum(row.counted for row in asked)
    return ReadinessReport(
        domain=domain,
        triples=triples,
        ceiling=ceiling,
        asked=len(asked),
        doubtful=sum(row.is_doubtful for row in rows),
        rules=n_rules,
        summary=_summarise(rows, len(asked), ceiling, vocabulary),
        advice="" if asked else _advise(rows, is_vocabulary=bool(vocabulary)),
        left_out=left_out,
        skipped=skipped,
        formula=FORMULA,
        predicates=rows,
    )


def _summarise(rows: tuple[Readiness, ...], n_asked: int, ceiling: int, vocabulary: str) -> str:
    if n_asked:
        return (
            f"{n_asked} of {len(rows)} predicates can be asked about, with about {ceiling:,} "
            "cards of each label (YES, NO, UNKNOWN)."
        )
    if vocabulary and not any(row.is_doubtful for row in rows):
        return vocabulary
    if not any(row.facts for row in rows):
        return (
            "Nothing can be asked: the graph describes classes and names, but states no facts "
            "about things."
        )
    if any(row.is_doubtful for row in rows):
        return (
            "Nothing can be asked yet: the rules by which questions could be answered may be false "
            "in the world; confirm.toml lists them."
        )
    with_rule = [row for row in rows if row.rule]
    if with_rule and not any(row.named for row in with_rule):
        if _are_mostly_broken(with_rule):
            return "Nothing can be asked: the things that rules are about break your shapes."
        return (
            "Nothing can be asked: the things that rules are about have no unique, readable names."
        )
    return (
        "Nothing can be asked: no predicate has a rule that could contradict a claim and enough "
        "that can be asked about."
    )


def _advise(rows: tuple[Readiness, ...], *, is_vocabulary: bool) -> str:
    """Says what to do if nothing can be asked."""
    doubtful = [row for row in rows if row.is_doubtful]
    if doubtful:
        labels = [f"“{row.label or row.iri}”" for row in doubtful[:MAX_NAMED_NOTES]]
        n_more = len(doubtful) - len(labels)
        labels += [f"{n_more:,} more"] if n_more else []
        return (
            f"Answer the {format_count(len(doubtful), 'question')} of confirm.toml "
            f"({join_list(labels)}): {ADVICE_ON_DOUBTS}, then run this again."
        )
    if is_vocabulary:
        return "Give it together with data that use it: `epoche kg init DATA VOCABULARY`."
    with_rule = [row for row in rows if row.rule]
    n_blank = sum(row.blank for row in with_rule)
    if 2 * n_blank > sum(row.subjects for row in with_rule):
        return (
            f"{n_blank:,} of {sum(row.subjects for row in with_rule):,} facts for which there is a "
            "rule are about blank nodes: give these IRIs and names (rdfs:label)."
        )
    if _are_mostly_broken(with_rule):
        return (
            f"{sum(row.broken for row in with_rule):,} of "
            f"{sum(row.subjects for row in with_rule):,} subjects for which there is a rule break "
            "your shapes: correct the data or the shapes, or run this again without --shapes."
        )
    if 2 * sum(row.named for row in with_rule) < sum(row.subjects for row in with_rule):
        return (
            "Give the things unique, readable names: rdfs:label, skos:prefLabel, or a predicate of "
            "your own that ends in name, title or label."
        )
    if all(row.subjects < 3 * MIN_CEILING for row in rows if row.is_fact):
        return f"Give more data: a predicate needs at least {3 * MIN_CEILING} subjects."
    return "Rules of your own can be added by --shapes."


def _are_mostly_broken(rows: Collection[Readiness]) -> bool:
    return 2 * sum(row.broken for row in rows) > sum(row.subjects for row in rows)


def describe_doubtful(report: ReadinessReport) -> str:
    """Says that rules in doubt would give more to ask about; empty if there are none."""
    if not report.doubtful or not report.asked:
        return ""
    return (
        f"{format_count(report.doubtful, 'more predicate')} could be asked about if the rule that "
        "the data confirm is true in the world, too"
    )


def _assess_predicate(
    profile: PredicateProfile,
    judgement: Judgement,
    given: GivenRule | None,
    compare_names: Callable[[PredicateProfile, RuleKind], PredicateProfile],
    kinds: Collection[str],
    *,
    needs_shared: bool,
) -> tuple[Readiness, int]:
    """Returns what can be asked, and the number of triplets, see ``count_balanced_triplets``."""
    rule, support = judgement.kind, judgement.support
    is_doubtful = judgement.is_doubtful
    if given is not None and (judgement.origin is None or given.covers_all):
        rule, support, is_doubtful = given.kind, given.support, False
    if profile.has_texts:
        rule, is_doubtful = "", False
    if rule and profile.label:
        profile = compare_names(profile, rule)
    n_balanced = count_balanced_triplets(profile, rule, needs_shared=needs_shared)
    reason = ""
    if not is_usable_iri(profile.iri):
        reason = "its IRI is malformed"
    elif not profile.label:
        reason = "it has no readable name; give it one with rdfs:label"
    elif profile.has_texts:
        reason = "its values are names or texts"
    elif profile.leads_to_parts:
        reason = "it leads to parts that have no name but what they belong to"
    elif profile.is_said_by_names:
        reason = "the names of things say it: by what tells them apart, or by their numbers"
    elif not rule:
        reason = judgement.reason
    elif n_balanced < MIN_CEILING:
        reason = explain_low_ceiling(profile, rule)
    elif profile.is_in_names:
        reason = "the names of its subjects have its values in them"
    elif is_doubtful:
        reason = judgement.reason
    row = Readiness(
        iri=profile.iri,
        label=profile.label,
        facts=profile.facts,
        subjects=profile.subjects,
        blank=profile.blank_subjects,
        broken=profile.known_subjects - profile.kept_subjects,
        named=profile.named_subjects,
        nameable=profile.nameable_subjects,
        ceiling=0 if reason else compute_ceiling(profile, rule, kinds),
        counted=0
        if reason
        else estimate_triplets(profile, rule, kinds)
        if needs_shared
        else min(n_balanced, profile.nameable_subjects // SUBJECTS_PER_UNSHARED),
        shares_links_with="",
        is_asked=not reason,
        rule=rule,
        support=support,
        is_doubtful=is_doubtful and reason == judgement.reason,
        is_fact=bool(profile.label) and not profile.has_texts and not profile.leads_to_parts,
        reason=reason,
    )
    return row, 0 if reason else n_balanced
