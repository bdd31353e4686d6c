"""Compiles axioms into rules, once for any number of indexes over the same term table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from kg.reasoning.equality import KeyRule, SameSubjectRule, SameValueRule
from kg.reasoning.restrictions import (
    AllValuesRule,
    EnumerationRule,
    HasValueRule,
    IntersectionRule,
    SomeValuesRule,
)
from kg.reasoning.rule import Rule
from kg.reasoning.rules import (
    ChainRule,
    ClassRewriteRule,
    DomainRule,
    PropertyRewriteRule,
    RangeRule,
    TransitiveRule,
)
from kg.reasoning.schema import DerivedAxiom, close_schema, read_list
from kg.reasoning.vocabulary import Vocabulary
from kg.terms import is_iri, is_literal, parse_literal
from kg.triples.index import Index, Triple

RuleT = TypeVar("RuleT", bound=Rule)

# OWL 2 RL rule name → name of the same rule in RDFS, for proofs under the regime ``rdfs``.
_RDFS_RULE_NAMES = {
    "prp-dom": "rdfs2",
    "prp-rng": "rdfs3",
    "prp-spo1": "rdfs7",
    "cax-sco": "rdfs9",
}
_DERIVED_RULES_TO_COMPILE = {"scm-hv", "scm-svf1", "scm-svf2", "scm-avf1", "scm-avf2"}
"""Rules whose derived axioms are compiled too: applying the asserted axioms in sequence does not
give the conclusions of these."""


class CompiledAxioms:
    """The rules compiled from a set of axioms, under one regime.

    Attributes:
        regime: ``rdfs`` or ``owl-rl``.
        source: the index that contains the axioms.
        triples: the axioms.
        derived: axioms that follow from these, premises first.
        rules: rules over data, numbered from ``first_number``.
        by_predicate: predicate → rules that fire on its triples.
        by_class: class → rules that fire on its instances.
        initial: triples that are true without any data (members of enumerations).
    """

    def __init__(self, index: Index, regime: str, first_number: int = 0) -> None:
        """Compiles the axioms found in ``index``.

        Args:
            index: a graph, or axioms alone; not changed.
            regime: ``rdfs`` or ``owl-rl``.
            first_number: number of the first rule.
        """
        self.regime = regime
        self.source = index
        self.terms = index.terms
        self.vocabulary = Vocabulary.get_for_table(index.terms)
        self.rules: list[Rule] = []
        self.by_predicate: dict[int, list[Rule]] = {}
        self.by_class: dict[int, list[Rule]] = {}
        self.initial: list[tuple[Triple, Rule]] = []
        self._first_number = first_number
        self._rule_keys: set[tuple[object, ...]] = set()
        schema = extract_axioms(index, self.vocabulary, regime)
        self.triples = tuple(schema.iter_triples())
        self.derived: list[DerivedAxiom] = close_schema(schema, index, self.vocabulary, regime)
        # The index that RDF lists are read from; needed only while compiling.
        self._lists = index
        # Rules are compiled from the asserted axioms and only a few derived ones: for the others,
        # applying the asserted ones in sequence gives the same triples, with simpler proofs and
        # faster runs.
        schema = extract_axioms(index, self.vocabulary, regime)
        schema.add_triples(d.triple for d in self.derived if d.name in _DERIVED_RULES_TO_COMPILE)
        self._compile_hierarchies(schema)
        if regime == "owl-rl":
            self._compile_properties(schema)
            self._compile_classes(schema)
            self._compile_restrictions(schema)
        del self._lists

    # Registration of rules

    def _make_rule(self, factory: Callable[..., RuleT], name: str, *axioms: Triple) -> RuleT:
        if self.regime == "rdfs":
            name = _RDFS_RULE_NAMES[name]
        number = self._first_number + len(self.rules)
        rule = factory(name, number, self.vocabulary.TYPE, axioms)
        self.rules.append(rule)
        return rule

    def _register_rule(
        self, rule: Rule, predicates: Iterable[int] = (), classes: Iterable[int] = ()
    ) -> None:
        for p in dict.fromkeys(predicates):
            self.by_predicate.setdefault(p, []).append(rule)
        for c in dict.fromkeys(classes):
            self.by_class.setdefault(c, []).append(rule)

    def _is_new(self, *key: object) -> bool:
        """Returns whether no rule with this effect exists yet, and marks it as existing."""
        if key in self._rule_keys:
            return False
        self._rule_keys.add(key)
        return True

    def _is_property(self, term: int) -> bool:
        return is_iri(self.terms.get_text(term))

    # One method for each group of W3C's tables

    def _add_property_rewrite(
        self, name: str, axiom: Triple, source: int, target: int, *, flip: bool
    ) -> None:
        # A predicate must be an IRI, so a property expression (a blank node) cannot be a target.
        if (source == target and not flip) or not self._is_property(target):
            return
        if self._is_new("rewrite", source, target, flip):
            rule = self._make_rule(PropertyRewriteRule, name, axiom).bind_terms(
                source, target, flip=flip
            )
            self._register_rule(rule, [source])

    def _add_class_rewrite(
        self, name: str, axioms: tuple[Triple, ...], source: int, target: int
    ) -> None:
        if source != target and self._is_new("retype", source, target):
            rule = self._make_rule(ClassRewriteRule, name, *axioms).bind_terms(source, target)
            self._register_rule(rule, classes=[source])

    def _compile_hierarchies(self, schema: Index) -> None:
        v = self.vocabulary
        for p, q in schema.iter_pairs(v.EQUIVALENT_PROPERTY):
            axiom = (p, v.EQUIVALENT_PROPERTY, q)
            self._add_property_rewrite("prp-eqp1", axiom, p, q, flip=False)
            self._add_property_rewrite("prp-eqp2", axiom, q, p, flip=False)
        for c, d in schema.iter_pairs(v.EQUIVALENT_CLASS):
            axiom = (c, v.EQUIVALENT_CLASS, d)
            self._add_class_rewrite("cax-eqc1", (axiom,), c, d)
            self._add_class_rewrite("cax-eqc2", (axiom,), d, c)
        for p, q in schema.iter_pairs(v.SUB_PROPERTY):
            self._add_property_rewrite("prp-spo1", (p, v.SUB_PROPERTY, q), p, q, flip=False)
        for c, d in schema.iter_pairs(v.SUB_CLASS):
            self._add_class_rewrite("cax-sco", ((c, v.SUB_CLASS, d),), c, d)
        for p, c in schema.iter_pairs(v.DOMAIN):
            self._register_rule(
                self._make_rule(DomainRule, "prp-dom", (p, v.DOMAIN, c)).bind_terms(p, c), [p]
            )
        for p, c in schema.iter_pairs(v.RANGE):
            self._register_rule(
                self._make_rule(RangeRule, "prp-rng", (p, v.RANGE, c)).bind_terms(p, c), [p]
            )

    def _compile_properties(self, schema: Index) -> None:
        v = self.vocabulary
        for p, q in schema.iter_pairs(v.INVERSE):
            axiom = (p, v.INVERSE, q)
            self._add_property_rewrite("prp-inv1", axiom, p, q, flip=True)
            self._add_property_rewrite("prp-inv2", axiom, q, p, flip=True)
        for p in schema.find_subjects(v.TYPE, v.SYMMETRIC):
            self._add_property_rewrite("prp-symp", (p, v.TYPE, v.SYMMETRIC), p, p, flip=True)
        for p in schema.find_subjects(v.TYPE, v.TRANSITIVE):
            rule = self._make_rule(TransitiveRule, "prp-trp", (p, v.TYPE, v.TRANSITIVE)).bind_terms(
                p
            )
            self._register_rule(rule, [p])
        for p in schema.find_subjects(v.TYPE, v.FUNCTIONAL):
            functional_rule = self._make_rule(
                SameValueRule, "prp-fp", (p, v.TYPE, v.FUNCTIONAL)
            ).bind_terms(p)
            self._register_rule(functional_rule, [p])
        for p in schema.find_subjects(v.TYPE, v.INVERSE_FUNCTIONAL):
            axiom = (p, v.TYPE, v.INVERSE_FUNCTIONAL)
            inverse_rule = self._make_rule(SameSubjectRule, "prp-ifp", axiom).bind_terms(p)
            self._register_rule(inverse_rule, [p])
        for p, head in schema.iter_pairs(v.CHAIN):
            rdf_list = read_list(self._lists, v, head)
            if rdf_list and self._is_property(p):
                axioms = (p, v.CHAIN, head), *rdf_list.triples
                chain_rule = self._make_rule(ChainRule, "prp-spo2", *axioms).bind_terms(
                    p, rdf_list.items
                )
                self._register_rule(chain_rule, rdf_list.items)
        for c, head in schema.iter_pairs(v.KEY):
            rdf_list = read_list(self._lists, v, head)
            if rdf_list:
                axioms = (c, v.KEY, head), *rdf_list.triples
                key_rule = self._make_rule(KeyRule, "prp-key", *axioms).bind_terms(
                    c, rdf_list.items
                )
                self._register_rule(key_rule, rdf_list.items, [c])

    def _compile_classes(self, schema: Index) -> None:
        v = self.vocabulary
        for c, head in schema.iter_pairs(v.INTERSECTION):
            rdf_list = read_list(self._lists, v, head)
            if rdf_list:
                axioms = (c, v.INTERSECTION, head), *rdf_list.triples
                rule = self._make_rule(IntersectionRule, "cls-int1", *axioms).bind_terms(
                    c, rdf_list.items
                )
                self._register_rule(rule, classes=rdf_list.items)
                for part in rdf_list.items:
                    self._add_class_rewrite("cls-int2", axioms, c, part)
        for c, head in schema.iter_pairs(v.UNION):
            rdf_list = read_list(self._lists, v, head)
            for part in rdf_list.items if rdf_list else ():
                axioms = (c, v.UNION, head), *(rdf_list.triples if rdf_list else ())
                self._add_class_rewrite("cls-uni", axioms, part, c)
        for c, head in schema.iter_pairs(v.ONE_OF):
            rdf_list = read_list(self._lists, v, head)
            if rdf_list:
                member_rule = self._make_rule(
                    EnumerationRule, "cls-oo", (c, v.ONE_OF, head), *rdf_list.triples
                )
                for item in rdf_list.items:
                    if not self.terms.is_literal(item):
                        self.initial.append(((item, v.TYPE, c), member_rule))

    def _compile_restrictions(self, schema: Index) -> None:
        v = self.vocabulary
        for c, p in schema.iter_pairs(v.ON_PROPERTY):
            if not self._is_property(p):
                continue
            on_property = (c, v.ON_PROPERTY, p)
            for value in schema.find_objects(c, v.HAS_VALUE):
                axiom = (c, v.HAS_VALUE, value)
                class_rule = self._make_rule(
                    HasValueRule, "cls-hv1", axiom, on_property
                ).bind_terms(c, p, value)
                self._register_rule(class_rule, classes=[c])
                property_rule = self._make_rule(
                    HasValueRule, "cls-hv2", axiom, on_property
                ).bind_terms(c, p, value)
                self._register_rule(property_rule, [p])
            for d in schema.find_objects(c, v.SOME_VALUES):
                axiom = (c, v.SOME_VALUES, d)
                if d == v.THING:
                    some_values_rule = self._make_rule(
                        SomeValuesRule, "cls-svf2", axiom, on_property
                    ).bind_terms(c, p, None)
                    self._register_rule(some_values_rule, [p])
                else:
                    some_values_rule = self._make_rule(
                        SomeValuesRule, "cls-svf1", axiom, on_property
                    ).bind_terms(c, p, d)
                    self._register_rule(some_values_rule, [p], [d])
            for d in schema.find_objects(c, v.ALL_VALUES):
                all_values_rule = self._make_rule(
                    AllValuesRule, "cls-avf", (c, v.ALL_VALUES, d), on_property
                ).bind_terms(c, p, d)
                self._register_rule(all_values_rule, [p], [c])
            for limit in schema.find_objects(c, v.MAX_CARDINALITY):
                if parse_cardinality(self.terms.get_text(limit)) == 1:
                    axiom = (c, v.MAX_CARDINALITY, limit)
                    same_value_rule = self._make_rule(
                        SameValueRule, "cls-maxc2", axiom, on_property
                    ).bind_terms(p, c)
                    self._register_rule(same_value_rule, [p], [c])
            for limit in schema.find_objects(c, v.MAX_QUALIFIED):
                if parse_cardinality(self.terms.get_text(limit)) == 1:
                    self._compile_qualified(schema, (c, v.MAX_QUALIFIED, limit), on_property)

    def _compile_qualified(self, schema: Index, axiom: Triple, on_property: Triple) -> None:
        v = self.vocabulary
        c, _, p = on_property
        for d in schema.find_objects(c, v.ON_CLASS):
            premises = (axiom, on_property, (c, v.ON_CLASS, d))
            if d == v.THING:
                rule = self._make_rule(SameValueRule, "cls-maxqc4", *premises).bind_terms(p, c)
                self._register_rule(rule, [p], [c])
            else:
                rule = self._make_rule(SameValueRule, "cls-maxqc3", *premises).bind_terms(p, c, d)
                self._register_rule(rule, [p], [c, d])


def extract_axioms(index: Index, vocabulary: Vocabulary, regime: str) -> Index:
    """Returns a new index of those triples of ``index`` that are axioms under ``regime``."""
    schema = index.make_empty_index()
    lists = {vocabulary.FIRST, vocabulary.REST}
    for p in index.list_predicates():
        # List cells are skipped: lists are read when an axiom points to one, and other lists in the
        # data are not axioms.
        if p in vocabulary.schema_predicates[regime] and p not in lists:
            schema.add_triples((s, p, o) for s, o in index.iter_pairs(p))
    classes = vocabulary.schema_classes[regime]
    if classes:
        rdf_type = vocabulary.TYPE
        for s, cell in index.get_cells(rdf_type):
            # Most nodes have one type, which is not a schema class: skip these quickly.
            if cell.__class__ is not int or cell in classes:
                schema.add_triples(
                    (s, rdf_type, c) for c in index.find_objects(s, rdf_type) if c in classes
                )
    return schema


def parse_cardinality(text: str) -> int | None:
    """Returns the number in a cardinality literal, or None if it is not a whole number."""
    if not is_literal(text):
        return None
    try:
        return int(parse_literal(text).lexical)
    except ValueError:
        return None
