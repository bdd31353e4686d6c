"""Looks up the ids of the RDF, RDFS and OWL terms that the rules use, for one term table."""

from __future__ import annotations

from kg.terms import OWL, RDF, RDFS
from kg.triples.term_table import TermTable

# Attribute of ``Vocabulary`` → IRI.
_TERMS = {
    "TYPE": RDF + "type",
    "FIRST": RDF + "first",
    "REST": RDF + "rest",
    "NIL": RDF + "nil",
    "SUB_CLASS": RDFS + "subClassOf",
    "SUB_PROPERTY": RDFS + "subPropertyOf",
    "DOMAIN": RDFS + "domain",
    "RANGE": RDFS + "range",
    "SAME": OWL + "sameAs",
    "DIFFERENT": OWL + "differentFrom",
    "EQUIVALENT_CLASS": OWL + "equivalentClass",
    "EQUIVALENT_PROPERTY": OWL + "equivalentProperty",
    "INVERSE": OWL + "inverseOf",
    "DISJOINT_CLASS": OWL + "disjointWith",
    "DISJOINT_PROPERTY": OWL + "propertyDisjointWith",
    "COMPLEMENT": OWL + "complementOf",
    "CHAIN": OWL + "propertyChainAxiom",
    "KEY": OWL + "hasKey",
    "ON_PROPERTY": OWL + "onProperty",
    "ON_CLASS": OWL + "onClass",
    "HAS_VALUE": OWL + "hasValue",
    "SOME_VALUES": OWL + "someValuesFrom",
    "ALL_VALUES": OWL + "allValuesFrom",
    "MAX_CARDINALITY": OWL + "maxCardinality",
    "MAX_QUALIFIED": OWL + "maxQualifiedCardinality",
    "UNION": OWL + "unionOf",
    "INTERSECTION": OWL + "intersectionOf",
    "ONE_OF": OWL + "oneOf",
    "MEMBERS": OWL + "members",
    "DISTINCT_MEMBERS": OWL + "distinctMembers",
    "SOURCE": OWL + "sourceIndividual",
    "ASSERTION_PROPERTY": OWL + "assertionProperty",
    "TARGET": OWL + "targetIndividual",
    "TARGET_VALUE": OWL + "targetValue",
    "THING": OWL + "Thing",
    "NOTHING": OWL + "Nothing",
    "CLASS": OWL + "Class",
    "OBJECT_PROPERTY": OWL + "ObjectProperty",
    "DATA_PROPERTY": OWL + "DatatypeProperty",
    "SYMMETRIC": OWL + "SymmetricProperty",
    "ASYMMETRIC": OWL + "AsymmetricProperty",
    "TRANSITIVE": OWL + "TransitiveProperty",
    "FUNCTIONAL": OWL + "FunctionalProperty",
    "INVERSE_FUNCTIONAL": OWL + "InverseFunctionalProperty",
    "IRREFLEXIVE": OWL + "IrreflexiveProperty",
    "ALL_DIFFERENT": OWL + "AllDifferent",
    "ALL_DISJOINT_CLASSES": OWL + "AllDisjointClasses",
    "ALL_DISJOINT_PROPERTIES": OWL + "AllDisjointProperties",
}

_RDFS_PREDICATES = ("SUB_CLASS", "SUB_PROPERTY", "DOMAIN", "RANGE")
_OWL_PREDICATES = (
    *_RDFS_PREDICATES,
    "EQUIVALENT_CLASS",
    "EQUIVALENT_PROPERTY",
    "INVERSE",
    "CHAIN",
    "KEY",
    "ON_PROPERTY",
    "ON_CLASS",
    "HAS_VALUE",
    "SOME_VALUES",
    "ALL_VALUES",
    "MAX_CARDINALITY",
    "MAX_QUALIFIED",
    "UNION",
    "INTERSECTION",
    "ONE_OF",
    "FIRST",
    "REST",
)
_OWL_CLASSES = (
    "CLASS",
    "OBJECT_PROPERTY",
    "DATA_PROPERTY",
    "SYMMETRIC",
    "TRANSITIVE",
    "FUNCTIONAL",
    "INVERSE_FUNCTIONAL",
)
_TRIVIAL_IF_REFLEXIVE = (
    "SAME",
    "SUB_CLASS",
    "SUB_PROPERTY",
    "EQUIVALENT_CLASS",
    "EQUIVALENT_PROPERTY",
)


class Vocabulary:
    """Ids of the terms of ``_TERMS`` in one term table, as attributes (``vocabulary.TYPE``)."""

    TYPE: int
    FIRST: int
    REST: int
    NIL: int
    SUB_CLASS: int
    SUB_PROPERTY: int
    DOMAIN: int
    RANGE: int
    SAME: int
    DIFFERENT: int
    EQUIVALENT_CLASS: int
    EQUIVALENT_PROPERTY: int
    INVERSE: int
    DISJOINT_CLASS: int
    DISJOINT_PROPERTY: int
    COMPLEMENT: int
    CHAIN: int
    KEY: int
    ON_PROPERTY: int
    ON_CLASS: int
    HAS_VALUE: int
    SOME_VALUES: int
    ALL_VALUES: int
    MAX_CARDINALITY: int
    MAX_QUALIFIED: int
    UNION: int
    INTERSECTION: int
    ONE_OF: int
    MEMBERS: int
    DISTINCT_MEMBERS: int
    SOURCE: int
    ASSERTION_PROPERTY: int
    TARGET: int
    TARGET_VALUE: int
    THING: int
    NOTHING: int
    CLASS: int
    OBJECT_PROPERTY: int
    DATA_PROPERTY: int
    SYMMETRIC: int
    ASYMMETRIC: int
    TRANSITIVE: int
    FUNCTIONAL: int
    INVERSE_FUNCTIONAL: int
    IRREFLEXIVE: int
    ALL_DIFFERENT: int
    ALL_DISJOINT_CLASSES: int
    ALL_DISJOINT_PROPERTIES: int

    def __init__(self, terms: TermTable) -> None:
        for name, text in _TERMS.items():
            setattr(self, name, terms.intern(text))
        self.schema_predicates = {
            "rdfs": frozenset(getattr(self, name) for name in _RDFS_PREDICATES),
            "owl-rl": frozenset(getattr(self, name) for name in _OWL_PREDICATES),
        }
        """Per regime, predicates whose triples are compiled into rules."""
        self.schema_classes = {
            "rdfs": frozenset[int](),
            "owl-rl": frozenset(getattr(self, name) for name in _OWL_CLASSES),
        }
        """Per regime, classes whose instances are compiled into rules."""
        self.trivial_if_reflexive = frozenset(getattr(self, name) for name in _TRIVIAL_IF_REFLEXIVE)
        """Predicates that relate everything to itself, so that "a sameAs a" says nothing."""

    @staticmethod
    def get_for_table(terms: TermTable) -> Vocabulary:
        """Returns the vocabulary of a term table, which is built once per table."""
        vocabulary = terms.attachments.get("vocabulary")
        if not isinstance(vocabulary, Vocabulary):
            vocabulary = terms.attachments["vocabulary"] = Vocabulary(terms)
        return vocabulary
