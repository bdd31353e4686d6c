"""Reads rules from the OWL axioms of a graph."""

from __future__ import annotations

from collections.abc import Iterator

from kg.base.plain_text import list_words
from kg.graph import Graph
from kg.profile.graph_changes.disjoint_classes import find_disjoint_classes
from kg.profile.names import is_usable_iri
from kg.profile.rules import Declarations, DraftRule
from kg.reasoning.axioms import parse_cardinality
from kg.reasoning.schema import read_list
from kg.reasoning.vocabulary import Vocabulary
from kg.terms import OWL, SKOS, XSD, iri_tail, is_iri, to_ntriples

CUBE = "http://purl.org/linked-data/cube#"
"""Namespace of the RDF Data Cube Vocabulary (W3C Recommendation 2014)."""
MAX_CODES = 100
"""Maximum number of members of a closed list."""
MAX_CLASS_PAIRS = 100
"""Maximum number of pairs of disjoint classes that become rules."""
MAX_DISJOINT_DOMAINS = 5
"""Maximum number of classes per predicate and side that its subjects or values do not belong to."""


_CLOSED_DATATYPES = frozenset(
    XSD + name
    for name in list_words(
        "double float boolean date time gYear gYearMonth gMonth gDay gMonthDay anyURI"
    )
)
"""Datatypes from which XML Schema derives no other: "5"^^xsd:int is an xsd:integer, too."""


class AxiomReader:
    """Reads the axioms about predicates and classes that the graph uses.

    An axiom gives a rule only if the graph has facts that it is about. Whether the graph keeps it
    is tested later, together with all other rules.
    """

    def __init__(self, graph: Graph) -> None:
        self._index = graph.index
        self._get_text = graph.index.terms.get_text
        self._vocabulary = Vocabulary.get_for_table(graph.index.terms)
        self._used = {p for p in self._index.list_predicates() if self._is_named(p)}

    def read_declarations(self) -> Declarations:
        """Returns what the graph declares of its predicates and of closed lists."""
        v = self._vocabulary
        mutual, transitive, cube = (
            frozenset(map(self._get_text, predicates))
            for predicates in (
                self._list_instances(v.SYMMETRIC),
                self._list_instances(v.TRANSITIVE),
                self._iter_cube_components(),
            )
        )
        return Declarations(mutual, transitive, cube, tuple(self._iter_code_lists()))

    def _iter_code_lists(self) -> Iterator[frozenset[str]]:
        """Yields the members of SKOS schemes that the graph has with all of their concepts.

        The scheme is declared, and so is each member, also those known as its top concepts alone:
        a concept that is only mentioned shows that others may be described elsewhere. Top concepts
        without those below them are no closed list, and a ``skos:Collection`` is an open grouping.
        """
        index, terms = self._index, self._index.terms
        in_scheme, has_top, is_top, concept, scheme_class = (
            terms.get(SKOS + name)
            for name in ("inScheme", "hasTopConcept", "topConceptOf", "Concept", "ConceptScheme")
        )
        if in_scheme is None or concept is None or scheme_class is None:
            return
        concepts = set(index.find_subjects(self._vocabulary.TYPE, concept))
        for scheme in sorted(index.find_subjects(self._vocabulary.TYPE, scheme_class)):
            members = set(index.find_subjects(in_scheme, scheme))
            tops = set(index.find_objects(scheme, has_top)) if has_top is not None else set()
            tops.update(index.find_subjects(is_top, scheme) if is_top is not None else ())
            is_closed = 0 < len(members) <= MAX_CODES and tops <= members <= concepts
            if is_closed and all(map(self._is_named, members)):
                yield frozenset(map(self._get_text, members))

    def _iter_cube_components(self) -> Iterator[int]:
        """Yields the dimensions and measures of RDF data cubes."""
        terms, index = self._index.terms, self._index
        for name in ("dimension", "measure"):
            p, cls = terms.get(f"{CUBE}{name}"), terms.get(f"{CUBE}{name.capitalize()}Property")
            if p is not None:
                yield from index.get_objects(p)
            if cls is not None:
                yield from self._list_instances(cls)

    def iter_rules(self) -> Iterator[DraftRule]:
        """Yields the rules of all axioms but ``owl:FunctionalProperty``."""
        yield from self._iter_property_rules()
        yield from self._iter_disjoint_property_rules()
        pairs = find_disjoint_classes(self._index)
        yield from self._iter_class_rules(pairs)
        yield from self._iter_domain_rules(pairs)
        yield from self._iter_value_lists()
        yield from self._iter_restriction_rules(pairs)

    def _iter_property_rules(self) -> Iterator[DraftRule]:
        for p in self._list_instances(self._vocabulary.ASYMMETRIC):
            path = self._write(p)
            yield self._make_rule(
                "no-reverse",
                p,
                "declared owl:AsymmetricProperty",
                f"a sh:NodeShape ; sh:targetSubjectsOf {path} ; "
                f"sh:property [ sh:path [ sh:inversePath {path} ] ; sh:disjoint {path} ]",
            )
        for p in self._list_instances(self._vocabulary.IRREFLEXIVE):
            path = self._write(p)
            yield self._make_rule(
                "not-itself",
                p,
                "declared owl:IrreflexiveProperty",
                f"a sh:NodeShape ; sh:targetSubjectsOf {path} ; sh:disjoint {path}",
            )
        for p in self._list_instances(self._vocabulary.INVERSE_FUNCTIONAL):
            path = self._write(p)
            yield self._make_rule(
                "one-subject",
                p,
                "declared owl:InverseFunctionalProperty",
                f"a sh:PropertyShape ; sh:targetObjectsOf {path} ; "
                f"sh:path [ sh:inversePath {path} ] ; sh:maxCount 1",
            )

    def _iter_disjoint_property_rules(self) -> Iterator[DraftRule]:
        v = self._vocabulary
        for p, q in self._index.iter_pairs(v.DISJOINT_PROPERTY):
            if p in self._used and q in self._used and p != q:
                path = self._write(p)
                yield self._make_rule(
                    "not-both",
                    p,
                    "declared owl:propertyDisjointWith",
                    f"a sh:PropertyShape ; sh:targetSubjectsOf {path} ; sh:path {path} ; "
                    f"sh:disjoint {self._write(q)}",
                )

    def _iter_class_rules(self, disjoint: dict[int, set[int]]) -> Iterator[DraftRule]:
        pairs = sorted(
            (self._get_text(c), self._get_text(d), c, d)
            for c, others in disjoint.items()
            for d in others
            if self._get_text(c) < self._get_text(d) and self._has_members(c, d)
        )
        for _, _, c, d in pairs[:MAX_CLASS_PAIRS]:
            yield self._make_rule(
                "never-both",
                c,
                f"declared disjoint with {iri_tail(self._get_text(d))}",
                f"a sh:NodeShape ; sh:targetClass {self._write(c)} ; "
                f"sh:not [ sh:class {self._write(d)} ]",
            )

    def _iter_domain_rules(self, disjoint: dict[int, set[int]]) -> Iterator[DraftRule]:
        v = self._vocabulary
        for axiom, name, kind, target in (
            (v.DOMAIN, "domain", "subject-class", "sh:targetSubjectsOf"),
            (v.RANGE, "range", "value-class", "sh:targetObjectsOf"),
        ):
            for p, c in self._index.iter_pairs(axiom):
                if p not in self._used:
                    continue
                if forbidden := self._forbid_disjoint_classes(c, disjoint):
                    yield self._make_rule(
                        kind,
                        p,
                        f"declared rdfs:{name}, and classes disjoint with it",
                        f"a sh:NodeShape ; {target} {self._write(p)} ; {forbidden}",
                    )

    def _forbid_disjoint_classes(self, cls: int, disjoint: dict[int, set[int]]) -> str:
        """Returns constraints that something is no member of a class disjoint with ``cls``.

        Under OWL's open world, something that is no stated member of ``cls`` may be one; what is
        disjoint with it is not. Empty if no such class has members.
        """
        others = {d for sup in self._list_superclasses(cls) for d in disjoint.get(sup, ())}
        texts = sorted(self._get_text(d) for d in others if self._has_members(d))
        return " ; ".join(
            f"sh:not [ sh:class {to_ntriples(text)} ]" for text in texts[:MAX_DISJOINT_DOMAINS]
        )

    def _iter_value_lists(self) -> Iterator[DraftRule]:
        """Yields rules of predicates whose range is a closed list (``owl:oneOf``)."""
        index, v = self._index, self._vocabulary
        for p, c in index.iter_pairs(v.RANGE):
            classes = [c, *index.find_objects(c, v.EQUIVALENT_CLASS)]
            for cls in classes if p in self._used else ():
                for head in index.find_objects(cls, v.ONE_OF):
                    values = read_list(index, v, head)
                    if values and all(map(self._is_named, values.items)):
                        texts = sorted(map(self._get_text, values.items))
                        yield self._make_rule(
                            "codes",
                            p,
                            "declared owl:oneOf",
                            f"a sh:PropertyShape ; sh:targetSubjectsOf {self._write(p)} ; sh:path "
                            f"{self._write(p)} ; sh:in ( {' '.join(map(to_ntriples, texts))} )",
                        )

    def _iter_restriction_rules(self, disjoint: dict[int, set[int]]) -> Iterator[DraftRule]:
        """Yields rules of the restrictions that a class is a subclass of or equivalent to."""
        index, v = self._index, self._vocabulary
        for axiom in (v.SUB_CLASS, v.EQUIVALENT_CLASS):
            for c, restriction in index.iter_pairs(axiom):
                if not self._is_named(c) or not self._has_members(c):
                    continue
                for p in index.find_objects(restriction, v.ON_PROPERTY):
                    if p in self._used:
                        for constraint in self._iter_restrictions(restriction, disjoint):
                            yield self._make_rule(
                                "restriction",
                                c,
                                "declared owl:Restriction",
                                f"a sh:NodeShape ; sh:targetClass {self._write(c)} ; "
                                f"sh:property [ sh:path {self._write(p)} ; {constraint} ]",
                            )

    def _iter_restrictions(self, restriction: int, disjoint: dict[int, set[int]]) -> Iterator[str]:
        index, v = self._index, self._vocabulary
        for d in index.find_objects(restriction, v.ALL_VALUES):
            if self._get_text(d) in _CLOSED_DATATYPES:
                yield f"sh:datatype {self._write(d)}"
            elif forbidden := self._forbid_disjoint_classes(d, disjoint):
                yield forbidden
        for p in (v.MAX_CARDINALITY, index.terms.intern(OWL + "cardinality")):
            for number in index.find_objects(restriction, p):
                limit = parse_cardinality(self._get_text(number))
                if limit is not None and limit >= 0:
                    yield f"sh:maxCount {limit}"

    def _list_superclasses(self, cls: int) -> list[int]:
        classes = {cls: None}
        queue = [cls]
        for c in queue:
            for parent in self._index.find_objects(c, self._vocabulary.SUB_CLASS):
                if parent not in classes:
                    classes[parent] = None
                    queue.append(parent)
        return queue

    def _list_instances(self, cls: int) -> list[int]:
        instances = self._index.find_subjects(self._vocabulary.TYPE, cls)
        return [p for p in instances if p in self._used]

    def _has_members(self, *classes: int) -> bool:
        return all(self._index.find_subjects(self._vocabulary.TYPE, c) for c in classes)

    def _is_named(self, term: int) -> bool:
        text = self._get_text(term)
        return is_iri(text) and is_usable_iri(text)

    def _write(self, term: int) -> str:
        return to_ntriples(self._get_text(term))

    def _make_rule(self, kind: str, about: int, support: str, body: str) -> DraftRule:
        return DraftRule(
            origin="ontology", kind=kind, about=self._get_text(about), support=support, body=body
        )
