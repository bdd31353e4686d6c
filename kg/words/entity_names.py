"""Names the entities of a graph in sentences, and finds the classes that decide how."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.base.plain_text import MAX_NAME_LENGTH, clean_text
from kg.base.templates import Renderer
from kg.domain import Domain, compile_naming
from kg.terms import RDF_TYPE, RDFS
from kg.words.name_forms import find_distinct_ending
from kg.words.readable_names import needs_quotes

if TYPE_CHECKING:
    from kg.triples.index import Index
    from kg.words.labels import Labels


class EntityNames:
    """The names of entities in sentences: of entities with the same label each has its own.

    Args:
        domain: has templates that name the members of classes.
        labels: the labels of the graph.
        index: the graph or its closure.
    """

    def __init__(self, domain: Domain, labels: Labels, index: Index) -> None:
        self.domain = domain
        self.labels = labels
        self.index = index
        where = str(domain.file or domain.name)
        self._naming_templates: dict[str, Renderer] = {
            cls: compile_naming(source, f"{where}: naming.{cls}")
            for cls, source in domain.naming.items()
        }
        self._superclasses: dict[str, frozenset[str]] = {}
        self._name_cache: dict[str, str] = {}
        self._naming_cache: dict[tuple[int, ...], Renderer | None] = {}

    def get_entity_name(self, term: str) -> str:
        """Returns the name of an IRI or blank node in a sentence: "the Rhine"."""
        name = self._name_cache.get(term)
        if name is None:
            name = self._name_cache[term] = self._name_entity(term)
        return name

    def _name_entity(self, iri: str) -> str:
        if iri.startswith("_:"):
            blank_label = clean_text(self.labels.get_label(iri))
            return "something unnamed" if blank_label in ("", iri, iri[2:]) else blank_label
        label = self._make_label_unique(iri)
        template = self._find_naming_template(iri)
        if template is None:
            return f"“{label}”" if needs_quotes(label) else label
        # 40 characters more than a name may have, for the words of the template.
        return clean_text(template(label=label, iri=iri), MAX_NAME_LENGTH + 40) or label

    def _make_label_unique(self, iri: str) -> str:
        """Returns the label, or a distinguishing name if other entities have the same label."""
        labels = self.labels
        label = clean_text(labels.get_label(iri)) or clean_text(iri)
        # Words in brackets do not tell "Paris (city)" from what is only called "Paris".
        namesakes = [
            other
            for other in labels.find_entities(label)
            if other != iri and clean_text(labels.get_plain_label(other)) == label
        ]
        if not namesakes or self._is_schema_term(iri):
            return label
        for other_name in labels.list_names_in_one_language(iri):
            name = clean_text(other_name)
            if name != label and labels.find_entities(name) == [iri]:
                return name
        return f"{label} ({clean_text(find_distinct_ending(iri, namesakes))})"

    def _is_schema_term(self, iri: str) -> bool:
        """Returns whether a term is a predicate or class; these may share a name with an entity."""
        terms = self.index.terms
        node, rdf_type = terms.get(iri), terms.get(RDF_TYPE)
        if node is None:
            return True
        if next(iter(self.index.iter_pairs(node)), None) is not None:
            return True
        return rdf_type is not None and bool(self.index.find_subjects(rdf_type, node))

    def _find_naming_template(self, iri: str) -> Renderer | None:
        """Returns the template of the most specific class of ``iri`` that has one."""
        if not self._naming_templates:
            return None
        classes = self._find_classes(iri)
        if classes not in self._naming_cache:
            self._naming_cache[classes] = self._choose_naming_template(self.collect_types(iri))
        return self._naming_cache[classes]

    def _choose_naming_template(self, types: frozenset[str]) -> Renderer | None:
        candidates = [cls for cls in self._naming_templates if cls in types]
        for cls in candidates:
            if not any(
                cls in self.find_superclasses(other) for other in candidates if other != cls
            ):
                return self._naming_templates[cls]
        # The remaining classes are equivalent: each is a superclass of the other.
        return self._naming_templates[candidates[0]] if candidates else None

    def collect_types(self, iri: str) -> frozenset[str]:
        """Returns all classes of an entity, with superclasses, whatever the entailment regime."""
        classes = list(map(self.index.terms.get_text, self._find_classes(iri)))
        return frozenset(classes).union(*map(self.find_superclasses, classes))

    def _find_classes(self, iri: str) -> tuple[int, ...]:
        node = self.index.terms.get(iri)
        return () if node is None else self.find_class_ids(node)

    def find_class_ids(self, node: int) -> tuple[int, ...]:
        """Returns the classes that the graph gives a node, without superclasses, as ids."""
        rdf_type = self.index.terms.get(RDF_TYPE)
        return () if rdf_type is None else tuple(self.index.find_objects(node, rdf_type))

    def find_superclasses(self, cls: str) -> frozenset[str]:
        """Returns the superclasses of ``cls``, without ``cls`` itself."""
        if cls not in self._superclasses:
            terms = self.index.terms
            sub_class = terms.get(RDFS + "subClassOf")
            superclasses: dict[int, None] = {}
            start = terms.get(cls)
            queue = [] if start is None or sub_class is None else [start]
            while queue and sub_class is not None:
                current = queue.pop()
                for parent in self.index.find_objects(current, sub_class):
                    # Under OWL RL every class is its own superclass; ``cls`` itself is excluded.
                    if parent not in superclasses and parent != start:
                        superclasses[parent] = None
                        queue.append(parent)
            self._superclasses[cls] = frozenset(map(terms.get_text, superclasses))
        return self._superclasses[cls]
