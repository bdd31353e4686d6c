"""Profiles the predicates of a graph: what they link, and how many of it a question can name."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from kg.graph import Graph
from kg.profile.fitting_claims import (
    ChainEnds,
    count_fitting_pairs,
    count_pairs_of_parts,
    find_chain_ends,
    is_acyclic,
    is_asymmetric,
)
from kg.profile.names import Names, is_usable_iri
from kg.profile.plausibility import ValueKind, is_birthplace, is_text
from kg.profile.record_nouns import (
    is_document,
    is_event,
    is_exclusive_record,
    is_living,
    is_record,
    is_settlement,
    names_participant,
    names_record_part,
)
from kg.single_values import SingleValue, find_single_value
from kg.terms import OWL, RDF_TYPE, XSD, parse_literal
from kg.triples.index import Index
from kg.vocabulary import is_vocabulary
from kg.words.name_forms import are_numbered_in_order

MIN_RECORD_SHARE = 0.9
"""Minimum share of a predicate's subjects that must be records for it to describe records."""
MAX_SAID_SHARE = 0.1
"""Maximum share of a predicate's nameable links that names of things may say in brackets."""
MAX_CONTAINED_SHARE = 0.5
"""Maximum share of them whose value is in the subject's name, of those where a value chosen at
random is not: of two values, half are in it by chance."""
SAMPLE_SIZE = 1_000
"""At most this many links are compared with names, evenly spaced."""
MAX_CODES = 20
"""Maximum number of distinct values that are listed."""

_MEASURES = frozenset(
    XSD + name
    for name in (
        *("integer", "decimal", "double", "float", "int", "long", "short", "byte"),
        *("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"),
        *("unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte", "boolean"),
        *("date", "dateTime", "dateTimeStamp", "gYear", "gYearMonth", "time", "duration"),
        *("dayTimeDuration", "yearMonthDuration", "gMonth", "gDay", "gMonthDay"),
    )
)
_FIGURE = re.compile(r"\W*\d")


class PredicateProfile(msgspec.Struct, frozen=True, kw_only=True):
    """What a graph says with one predicate."""

    iri: str
    label: str
    """Name in sentences; empty if it has no readable one."""
    local_name: str
    """The words of its IRI: English in most vocabularies, whatever the language of the label."""
    facts: int
    subjects: int
    blank_subjects: int
    """Those that are blank nodes."""
    values: int
    """Number of distinct values."""
    has_literals: bool
    """Whether most values are literals."""
    datatypes: tuple[str, ...]
    """Datatypes of the literals, sorted."""
    value_kind: ValueKind
    codes: tuple[str, ...]
    """The values, sorted, if they are a few that two or more subjects each have; else empty."""
    single_value: SingleValue
    describes_records: bool
    """Whether its subjects are records with one value of it, as payments have one payee."""
    describes_events: bool
    """Whether its subjects are records, such as observations, or events, such as floods."""
    describes_documents: bool
    """Whether its subjects are records, documents, versions or periods, which have an order."""
    describes_living: bool
    """Whether its subjects are people or animals."""
    has_one_level: bool
    """Whether all values are members of one class of settlements, such as cities, and none is
    linked with another. Only tested of birthplaces."""
    chained_subjects: int
    """Subjects with a value that is another subject, and has another value than itself."""
    is_asymmetric: bool
    is_acyclic: bool
    derived_facts: int
    """Facts that follow from others by the graph's axioms. The numbers below count them, too."""
    known_subjects: int
    """Subjects with a value."""
    kept_subjects: int
    """Those of them that break none of the user's shapes."""
    named_subjects: int
    """Those of these with a unique, readable name."""
    kept_value_subjects: int
    """Those of these with a value that breaks none of the user's shapes."""
    stated_subjects: int
    """Those of these with a value that a question can state."""
    nameable_subjects: int
    """Those of these with another fact or a class: subjects that can be asked about."""
    described_subjects: int
    """Those of these with another fact, which an UNKNOWN card can state: a class tells the label,
    where no YES and NO card states one."""
    nameable_values: int
    """Values that a question can state, of subjects that it can name; 0 if all are literals."""
    askable_subjects: int
    """Those of them with a value that two or more of them have."""
    most_frequent: int
    """Number of nameable subjects that have the most frequent value."""
    askable_values: int
    """Number of values that two or more nameable subjects have."""
    is_said_by_names: bool
    """Whether names say what it links: "Nile (Africa)" that the Nile is in Africa."""
    said_by_class: int
    """Number of subjects whose value follows from their class, so that it is never unknown."""
    leads_to_parts: bool
    """Whether it links things to parts that are named after them: "address of Acme"."""
    is_in_names: bool
    """Whether the names of its subjects have its values in them: "Megavolt" has "Mega"."""
    fitting_pairs: int = 0
    """Number of pairs of a true and a false claim about a value that neither names nor other parts
    of a whole tell apart; not counted above the number of subjects. This and the next are counted
    by ``GraphProfiler.compare_names``, of predicates with a rule that needs them."""
    ends: ChainEnds = ChainEnds(0, 0)
    """What questions about the reverse of its chains can be about."""

    @property
    def is_single_valued(self) -> bool:
        """Whether no subject has two values."""
        return self.single_value.in_data

    @property
    def has_texts(self) -> bool:
        """Whether its values are names or texts, which are never asked about."""
        return self.has_literals and any(map(is_text, (self.label, self.local_name)))


class GraphProfiler:
    """Profiles the predicates of a graph.

    Args:
        graph: the graph.
        names: the names in it.
        naming_predicates: predicates whose values are names, which are not profiled.
        closure: the graph with all that follows from it by its axioms; by default the graph alone.
        broken: the nodes that break the user's shapes; ``names`` cannot name them.
    """

    def __init__(
        self,
        graph: Graph,
        names: Names,
        naming_predicates: Collection[str] = (),
        closure: Index | None = None,
        broken: Collection[str] = (),
    ) -> None:
        self._index = graph.index
        self._broken = {
            term for text in broken if (term := graph.index.terms.get(text)) is not None
        }
        self._closure = graph.index if closure is None else closure
        self._names = names
        terms = self._index.terms
        self._predicates = sorted(
            (text, p)
            for p in self._index.list_predicates()
            if p not in names.notes.predicates
            and not is_vocabulary(text := terms.get_text(p))
            and text not in naming_predicates
        )
        rdf_type = terms.get(RDF_TYPE)
        self._types = {} if rdf_type is None else self._index.get_row(rdf_type)
        self._rdf_type = rdf_type
        self._kinds: dict[tuple[int, Callable[[str], bool]], bool] = {}
        self._degrees = self._count_predicates()

    def __len__(self) -> int:
        return len(self._predicates)

    def iter_profiles(self, only: Collection[str] | None = None) -> Iterator[PredicateProfile]:
        """Yields a profile of each predicate that states facts, in the order of their IRIs.

        Args:
            only: the predicates to profile; None for all.
        """
        for iri, p in self._predicates:
            if only is None or iri in only:
                yield self._profile_predicate(p, iri)

    def _count_predicates(self) -> Counter[int]:
        """Counts by how many predicates that can be worded each node has facts."""
        degrees: Counter[int] = Counter()
        for iri, p in self._predicates:
            if is_usable_iri(iri) and self._names.find_predicate_label(iri):
                degrees.update(self._index.get_subjects(p))
                degrees.update(
                    o for o in self._index.get_objects(p) if not self._index.terms.is_literal(o)
                )
        return degrees

    def _profile_predicate(self, p: int, iri: str) -> PredicateProfile:
        index, terms = self._index, self._index.terms
        is_nameable = self._names.is_nameable
        pairs = list(index.iter_pairs(p))
        subjects: dict[int, list[int]] = {}
        for s, o in pairs:
            subjects.setdefault(s, []).append(o)
        counts = Counter(o for _, o in pairs)
        known = self._list_known_values(p)
        members = self._find_members_with_value(p)
        named = self._select_named(
            {s: every for s, every in known.items() if s not in members}, subjects
        )
        of_named = {s: every for s, every in known.items() if is_nameable(s)}
        objects = {o for every in of_named.values() for o in every}
        holders = Counter(value for values in named.values() for value in values)
        named_links = [(s, o) for s, values in named.items() for o in values]
        n_said = sum(self._names.says(s, o) or self._names.says(o, s) for s, o in named_links)
        n_parts = sum(self._names.is_part(o, s) for s, o in named_links)
        sample = named_links[:: len(named_links) // SAMPLE_SIZE + 1]
        # Short values such as "1" are in many names by chance.
        rng = random.Random(0)  # noqa: S311  # reproducible choices, not security
        values_at_random = rng.sample([o for _, o in sample], len(sample))
        contains, get_name = self._names.contains, self._names.get_name
        n_contained = sum(itertools.starmap(contains, sample))
        n_by_chance = sum(
            contains(s, o) for (s, _), o in zip(sample, values_at_random, strict=True)
        )
        literals = [o for o in counts if terms.is_literal(o)]
        datatypes = {parse_literal(terms.get_text(o)).datatype for o in literals}
        links = {s: [o for o in values if o in subjects] for s, values in subjects.items()}
        label = self._names.find_predicate_label(iri) if is_usable_iri(iri) else ""
        names = (label, self._names.find_local_name(iri))
        return PredicateProfile(
            iri=iri,
            label=label,
            local_name=names[1],
            facts=len(pairs),
            subjects=len(subjects),
            blank_subjects=len(terms.blanks & subjects.keys()),
            values=len(counts),
            has_literals=2 * sum(counts[o] for o in literals) > len(pairs),
            datatypes=tuple(sorted(datatypes)),
            value_kind=self._classify_values(counts, datatypes),
            codes=self._list_codes(counts),
            single_value=find_single_value(index, p),
            describes_records=self._are_records(subjects, names),
            describes_events=self._are_mostly(subjects, is_event),
            describes_documents=self._are_mostly(subjects, is_document),
            describes_living=self._are_mostly(subjects, is_living),
            has_one_level=any(map(is_birthplace, names)) and self._have_one_level(counts),
            chained_subjects=sum(
                any(o != s and set(subjects[o]) != {o} for o in values)
                for s, values in links.items()
            ),
            is_asymmetric=is_asymmetric(links),
            is_acyclic=is_acyclic(links),
            derived_facts=self._closure.count_triples(p) - len(pairs),
            known_subjects=len(known),
            kept_subjects=sum(s not in self._broken for s in known),
            kept_value_subjects=sum(not self._broken.issuperset(v) for v in of_named.values()),
            named_subjects=len(of_named),
            stated_subjects=sum(any(map(is_nameable, every)) for every in of_named.values()),
            nameable_subjects=len(named),
            described_subjects=sum(self._degrees[s] > (s in subjects) for s in named),
            nameable_values=sum(map(is_nameable, objects)) if len(literals) < len(counts) else 0,
            askable_subjects=sum(any(holders[v] > 1 for v in values) for values in named.values()),
            most_frequent=max(holders.values(), default=0),
            askable_values=sum(n > 1 for n in holders.values()),
            is_said_by_names=n_said > MAX_SAID_SHARE * len(named_links)
            or are_numbered_in_order((get_name(s), get_name(o)) for s, o in sample),
            said_by_class=len(members & known.keys()),
            leads_to_parts=2 * n_parts > len(named_links),
            is_in_names=n_contained - n_by_chance
            > MAX_CONTAINED_SHARE * (len(sample) - n_by_chance),
        )

    def compare_names(self, profile: PredicateProfile, rule: str) -> PredicateProfile:
        """Returns the profile with what the names of subjects and values leave to ask about.

        Args:
            profile: the profile of a predicate.
            rule: its rule, which decides what is counted.
        """
        p = self._index.terms.get(profile.iri)
        if p is None:
            return profile
        known = self._list_known_values(p)
        if rule == "one value":
            named = self._select_named(known, self._index.get_subjects(p))
            n_pairs = self._count_fitting_pairs(p, named)
            return msgspec.structs.replace(profile, fitting_pairs=n_pairs)
        is_nameable = self._names.is_nameable
        links = {
            s: list(filter(is_nameable, every)) for s, every in known.items() if is_nameable(s)
        }
        return msgspec.structs.replace(profile, ends=find_chain_ends(links, self._names.get_words))

    def _find_members_with_value(self, p: int) -> set[int]:
        """Finds the members of classes of which axioms say that all members have some value."""
        get_id, find_subjects = self._index.terms.get, self._index.find_subjects
        on_property, has_value = get_id(OWL + "onProperty"), get_id(OWL + "hasValue")
        if on_property is None or has_value is None or self._rdf_type is None:
            return set()
        classes = [
            c for c in find_subjects(on_property, p) if self._index.find_objects(c, has_value)
        ]
        return {s for c in classes for s in self._closure.find_subjects(self._rdf_type, c)}

    def _list_known_values(self, p: int) -> dict[int, list[int]]:
        """Lists the values of each subject, also those that follow from other facts."""
        known: dict[int, list[int]] = {}
        for s, o in self._closure.iter_pairs(p):
            known.setdefault(s, []).append(o)
        return known

    def _select_named(
        self, known: Mapping[int, Sequence[int]], subjects: Collection[int]
    ) -> dict[int, list[int]]:
        """Selects the subjects that a question can name, with the values that it can state.

        Args:
            known: subject → its values.
            subjects: those with a stated value.
        """
        is_nameable = self._names.is_nameable
        return {
            s: values
            for s, every in known.items()
            if (self._degrees[s] > (s in subjects) or s in self._types)
            and is_nameable(s)
            and (values := list(filter(is_nameable, every)))
        }

    def _count_fitting_pairs(self, p: int, values: Mapping[int, Sequence[int]]) -> int:
        """Counts pairs of claims that names do not tell apart; literals share hardly any words.

        But they may number the parts of a whole.
        """
        if any(map(self._index.terms.is_literal, itertools.chain.from_iterable(values.values()))):
            single = {s: every[0] for s, every in values.items() if len(every) == 1}
            are_numbers = all(map(self._is_whole_number, set(single.values())))
            return count_pairs_of_parts(self._index, p, single) if are_numbers else len(values)
        return count_fitting_pairs(values, self._names.get_words, len(values))

    def _is_whole_number(self, value: int) -> bool:
        text = self._index.terms.get_text(value)
        return text.startswith('"') and parse_literal(text).lexical.isdecimal()

    def _classify_values(self, counts: Counter[int], datatypes: Collection[str]) -> ValueKind:
        terms = self._index.terms
        if not all(map(terms.is_literal, counts)):
            is_short = len(counts) <= MAX_CODES and 2 * len(counts) <= counts.total()
            return "codes" if is_short else "things"
        if _MEASURES.issuperset(datatypes):
            return "measures"
        lexicals = (parse_literal(terms.get_text(o)).lexical for o in counts)
        return "figures" if all(map(_FIGURE.match, lexicals)) else "texts"

    def _have_one_level(self, values: Collection[int]) -> bool:
        """Returns whether all values are of one class of settlements, and none links to another.

        Names do not tell: Brooklyn is a part of New York City, and Houston of Texas.
        """
        if any(map(self._index.terms.is_literal, values)):
            return False
        kinds = [set(self._list_types(o)) for o in values]
        shared = set.intersection(*kinds) if kinds else set()
        return any(self._is_of_kind(c, is_settlement) for c in shared) and not any(
            target != o and target in values
            for o in values
            for _, target in self._index.iter_out_edges(o)
        )

    def _list_codes(self, counts: Counter[int]) -> tuple[str, ...]:
        terms = self._index.terms
        if len(counts) > MAX_CODES or min(counts.values()) < 2 or terms.blanks & counts.keys():
            return ()
        return tuple(sorted(map(terms.get_text, counts)))

    def _are_records(self, subjects: Iterable[int], names: Iterable[str]) -> bool:
        """Returns whether nearly all subjects are records with one value of a predicate."""
        names = tuple(names)
        if not any(map(names_record_part, names)):
            return False
        is_role = any(map(names_participant, names))
        return self._are_mostly(subjects, is_exclusive_record if is_role else is_record)

    def _list_types(self, term: int) -> Collection[int]:
        return () if self._rdf_type is None else self._index.find_objects(term, self._rdf_type)

    def _are_mostly(self, subjects: Iterable[int], is_kind: Callable[[str], bool]) -> bool:
        """Returns whether nearly all subjects are members of a class of some kind."""
        if self._rdf_type is None:
            return False
        classes = [self._index.find_objects(s, self._rdf_type) for s in subjects]
        n_records = sum(any(self._is_of_kind(c, is_kind) for c in cs) for cs in classes)
        return n_records >= MIN_RECORD_SHARE * len(classes)

    def _is_of_kind(self, cls: int, is_kind: Callable[[str], bool]) -> bool:
        is_one = self._kinds.get((cls, is_kind))
        if is_one is None:
            text = self._index.terms.get_text(cls)
            is_one = self._kinds[cls, is_kind] = is_kind(self._names.find_class_noun(text))
        return is_one
