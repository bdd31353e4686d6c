"""Profiles the predicates of a graph: what they link, and how many of it a question can name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import msgspec

from kg.graph import Graph
from kg.terms import OWL, RDF_TYPE, parse_literal
from kg.vocabulary import is_vocabulary
from kg.words.label_grammar import split_name
from kg.words.labels import Labels

MAX_NAME_WORDS = 20
"""Maximum number of words of a value that a question may state."""

# "P1476", "12", "IAO_0000115", "a3f9…": a code says nothing to a reader.
_CODE = re.compile(r"[A-Za-z]{0,8}[ _-]?\d+[A-Za-z]?|.|(?=.*\d)[0-9a-f]{8,}|.*\d{5,}.*")
# A UUID or a hash; a number alone is that of a record, and can be read.
_OPAQUE = re.compile(r"(?:[0-9a-fA-F]{2,}[- ]){3,}|(?=\w*[a-fA-F])(?=\w*\d)[0-9a-fA-F]{12,}")
_NAMING = re.compile(r"(name|label|title)$", re.IGNORECASE)
MIN_DISTINCT_NAMES = 0.8
"""Minimum number of distinct values of a naming predicate, as a share of its subjects."""
MAX_MEAN_NAME_LENGTH = 60
"""Maximum mean length of the values of a naming predicate, in characters."""
MIN_NAMED_SUBJECTS = 15
"""Minimum number of subjects of a naming predicate."""


def find_naming_predicates(graph: Graph) -> tuple[str, ...]:
    """Finds the graph's own predicates whose values are names: short, and different ones."""
    index, terms = graph.index, graph.index.terms
    found = []
    for p in index.list_predicates():
        iri = terms.get_text(p)
        if is_vocabulary(iri) or not _NAMING.search(iri):
            continue
        pairs = list(index.iter_pairs(p))
        values = {o for _, o in pairs}
        n_subjects = len({s for s, _ in pairs})
        if (
            n_subjects >= MIN_NAMED_SUBJECTS
            and all(map(terms.is_literal, values))
            and len(values) >= MIN_DISTINCT_NAMES * n_subjects
            and sum(len(terms.get_text(o)) for o in values) <= MAX_MEAN_NAME_LENGTH * len(values)
        ):
            found.append(iri)
    return tuple(found)


class PredicateProfile(msgspec.Struct, frozen=True, kw_only=True):
    """What a graph says with one predicate."""

    iri: str
    label: str
    """Name in sentences; empty if it has no readable one."""
    subject_class: str
    """Name of the class that all subjects have, as a noun; empty if there is none."""
    facts: int
    subjects: int
    values: int
    """Number of distinct values."""
    has_literals: bool
    """Whether most values are literals."""
    datatypes: tuple[str, ...]
    """Datatypes of the literals, sorted."""
    is_single_valued: bool
    """Whether no subject has two values."""
    chained_subjects: int
    """Subjects with a value that is a subject of the predicate, too."""
    is_irreflexive: bool
    is_asymmetric: bool
    is_acyclic: bool
    nameable_subjects: int
    """Subjects with a unique, readable name and a value that a question can state."""
    shared_values: int
    """Values that two or more of these subjects have."""
    is_functional: bool
    """Whether the graph declares it an ``owl:FunctionalProperty``."""


class GraphProfiler:
    """Profiles the predicates of a graph."""

    def __init__(
        self, graph: Graph, labels: Labels, naming_predicates: Collection[str] = ()
    ) -> None:
        self._naming_predicates = naming_predicates
        self._index = graph.index
        self._labels = labels
        self._nameable: dict[int, bool] = {}

    def iter_profiles(self) -> Iterator[PredicateProfile]:
        """Yields a profile of each predicate that states facts, in the order of their IRIs."""
        for p in self._index.list_predicates():
            iri = self._index.terms.get_text(p)
            if not is_vocabulary(iri) and iri not in self._naming_predicates:
                yield self._profile_predicate(p, iri)

    def _profile_predicate(self, p: int, iri: str) -> PredicateProfile:
        index, terms = self._index, self._index.terms
        pairs = list(index.iter_pairs(p))
        subjects: dict[int, list[int]] = {}
        for s, o in pairs:
            subjects.setdefault(s, []).append(o)
        holders: dict[int, int] = {}
        n_nameable = 0
        for s, values in subjects.items():
            if self.is_nameable(s) and any(map(self.is_nameable, values)):
                n_nameable += 1
                for value in values:
                    holders[value] = holders.get(value, 0) + 1
        literals = [o for _, o in pairs if terms.is_literal(o)]
        datatypes = {parse_literal(terms.get_text(o)).datatype for o in dict.fromkeys(literals)}
        links = {s: [o for o in values if o in subjects] for s, values in subjects.items()}
        return PredicateProfile(
            iri=iri,
            label=self._find_label(iri),
            subject_class=self._find_common_class(subjects),
            facts=len(pairs),
            subjects=len(subjects),
            values=len(dict.fromkeys(o for _, o in pairs)),
            has_literals=2 * len(literals) > len(pairs),
            datatypes=tuple(sorted(datatypes)),
            is_single_valued=len(pairs) == len(subjects),
            chained_subjects=sum(map(bool, links.values())),
            is_irreflexive=all(s not in values for s, values in links.items()),
            is_asymmetric=all(s not in links[o] for s, values in links.items() for o in values),
            is_acyclic=_is_acyclic(links),
            nameable_subjects=n_nameable,
            shared_values=sum(n > 1 for n in holders.values()),
            is_functional=self._is_declared(p, "FunctionalProperty"),
        )

    def _find_common_class(self, subjects: Collection[int]) -> str:
        rdf_type = self._index.terms.get(RDF_TYPE)
        if rdf_type is None:
            return ""
        common: set[int] | None = None
        for s in subjects:
            classes = set(self._index.find_objects(s, rdf_type))
            common = classes if common is None else common & classes
            if not common:
                return ""
        # Of several common classes, the one with fewest members says most.
        iris = [self._index.terms.get_text(c) for c in common or ()]
        ranked = sorted(
            (len(self._index.find_subjects(rdf_type, self._index.terms.intern(iri))), iri)
            for iri in iris
            if not is_vocabulary(iri) and not iri.startswith("_:")
        )
        name = self._find_label(ranked[0][1]) if ranked else ""
        return name if name.isupper() else name[:1].lower() + name[1:]

    def _is_declared(self, p: int, name: str) -> bool:
        get_id = self._index.terms.get
        rdf_type, cls = get_id(RDF_TYPE), get_id(OWL + name)
        return rdf_type is not None and cls is not None and self._index.has_triple(p, rdf_type, cls)

    def is_nameable(self, term: int) -> bool:
        """Returns whether a question can name a term: by a unique, readable name or a value."""
        nameable = self._nameable.get(term)
        if nameable is None:
            text = self._index.terms.get_text(term)
            if text.startswith('"'):
                nameable = len(parse_literal(text).lexical.split()) <= MAX_NAME_WORDS
            elif text.startswith("_:"):
                nameable = False
            else:
                name = self._labels.get_label(text)
                nameable = self._labels.find_entities(name) in ([text], []) and (
                    self._labels.has_label(text) or not _OPAQUE.search(name)
                )
            self._nameable[term] = nameable
        return nameable

    def _find_label(self, iri: str) -> str:
        name = self._labels.get_label(iri)
        if self._labels.has_label(iri):
            return "" if _CODE.fullmatch(name) else split_name(name)
        label = split_name(name)
        return "" if _CODE.fullmatch(label) or not re.search(r"[^\W\d]{2}", label) else label


def _is_acyclic(links: dict[int, list[int]]) -> bool:
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
