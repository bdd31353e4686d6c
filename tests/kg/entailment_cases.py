"""Random graphs with every axiom that the rules know, over few names so that rules interact."""

from __future__ import annotations

import hypothesis.strategies as st

from kg.claims import Claim
from kg.terms import OWL, RDF, RDFS, XSD

E = "http://e/"
CLASSES = [E + f"C{i}" for i in range(4)]
PROPERTIES = [E + f"p{i}" for i in range(3)]
THINGS = [E + f"i{i}" for i in range(4)]
RESTRICTIONS = [E + f"R{i}" for i in range(3)]
TYPE = RDF + "type"

a_class = st.sampled_from(CLASSES + RESTRICTIONS)
a_named_class = st.sampled_from(CLASSES)
a_property = st.sampled_from(PROPERTIES)
a_thing = st.sampled_from(THINGS)
a_restriction = st.sampled_from(RESTRICTIONS)


def pairs(left, predicate, right):
    return st.tuples(left, st.just(predicate), right).map(lambda t: [Claim(*t)])


def typed(left, kind):
    return left.map(lambda x: [Claim(x, TYPE, kind)])


def listed(left, predicate, items):
    """``left predicate (items…)`` with list nodes named after their content."""

    def build(drawn):
        subject, members = drawn
        name = "L" + "_".join(m.rsplit("/", 1)[1] for m in members)
        nodes = [f"{E}{name}.{k}" for k in range(len(members))] + [RDF + "nil"]
        claims = [Claim(subject, predicate, nodes[0])]
        for node, item, rest in zip(nodes, members, nodes[1:], strict=False):
            claims += [Claim(node, RDF + "first", item), Claim(node, RDF + "rest", rest)]
        return claims

    return st.tuples(left, st.lists(items, min_size=1, max_size=3)).map(build)


def restriction(predicate, value, *more):
    def build(drawn):
        r, p, v, *rest = drawn
        claims = [Claim(r, OWL + "onProperty", p), Claim(r, predicate, v)]
        return claims + [Claim(r, q, o) for q, o in zip(more[::2], rest, strict=True)]

    return st.tuples(a_restriction, a_property, value, *more[1::2]).map(build)


number = st.sampled_from(
    [f'"{n}"^^<{XSD}{t}>' for n in ("0", "1", "2") for t in ("nonNegativeInteger", "integer")]
)
class_or_thing = st.sampled_from([*CLASSES, OWL + "Thing"])

SCHEMA_RDFS = [
    pairs(a_class, RDFS + "subClassOf", a_class),
    pairs(a_property, RDFS + "subPropertyOf", a_property),
    pairs(a_property, RDFS + "domain", a_class),
    pairs(a_property, RDFS + "range", a_class),
]
AXIOMS = [
    *SCHEMA_RDFS,
    pairs(a_class, OWL + "equivalentClass", a_class),
    pairs(a_property, OWL + "equivalentProperty", a_property),
    pairs(a_property, OWL + "inverseOf", a_property),
    typed(a_property, OWL + "SymmetricProperty"),
    typed(a_property, OWL + "TransitiveProperty"),
    typed(a_property, OWL + "FunctionalProperty"),
    typed(a_property, OWL + "InverseFunctionalProperty"),
    listed(a_property, OWL + "propertyChainAxiom", a_property),
    listed(a_named_class, OWL + "intersectionOf", a_class),
    listed(a_named_class, OWL + "unionOf", a_class),
    listed(a_named_class, OWL + "oneOf", a_thing),
    restriction(OWL + "someValuesFrom", class_or_thing),
    restriction(OWL + "allValuesFrom", a_class),
    restriction(OWL + "hasValue", a_thing),
    restriction(OWL + "maxCardinality", number),
    restriction(OWL + "maxQualifiedCardinality", number, OWL + "onClass", class_or_thing),
    pairs(a_thing, OWL + "sameAs", a_thing),
]
RARE = [
    pairs(a_class, OWL + "sameAs", a_class),
    pairs(a_property, OWL + "sameAs", a_property),
    pairs(a_named_class, RDFS + "subClassOf", st.just(OWL + "TransitiveProperty")),
    typed(a_property, CLASSES[0]),
]


def denial(drawn):
    s, p, o = drawn
    node = E + "N" + "".join(t.rsplit("/", 1)[1] for t in drawn)
    parts = {"sourceIndividual": s, "assertionProperty": p, "targetIndividual": o}
    return [Claim(node, OWL + name, value) for name, value in parts.items()]


# Without AllDifferent, AllDisjointClasses and AllDisjointProperties: owlrl passes over their last
# member, so those rules have tests of their own.
PROHIBITIONS = [
    pairs(a_thing, OWL + "differentFrom", a_thing),
    typed(a_property, OWL + "IrreflexiveProperty"),
    typed(a_property, OWL + "AsymmetricProperty"),
    pairs(a_property, OWL + "propertyDisjointWith", a_property),
    pairs(a_class, OWL + "complementOf", a_class),
    pairs(a_class, OWL + "disjointWith", a_class),
    pairs(a_class, RDFS + "subClassOf", st.just(OWL + "Nothing")),
    restriction(OWL + "maxCardinality", number),
    restriction(OWL + "maxQualifiedCardinality", number, OWL + "onClass", class_or_thing),
    st.tuples(a_thing, a_property, a_thing).map(denial),
]
KEYS = listed(a_named_class, OWL + "hasKey", a_property)
facts = st.lists(
    st.one_of(
        st.tuples(a_thing, a_property, a_thing),
        st.tuples(a_thing, st.just(TYPE), a_class),
    ).map(lambda t: [Claim(*t)]),
    min_size=2,
    max_size=10,
)
DECLARED = [
    *(Claim(c, TYPE, OWL + "Class") for c in CLASSES + RESTRICTIONS),
    *(Claim(p, TYPE, OWL + "ObjectProperty") for p in PROPERTIES),
]


def graphs(*axioms, most=5):
    """Lists of claims: declarations, up to ``most`` axioms, some facts."""
    return st.tuples(st.lists(st.one_of(*axioms), min_size=1, max_size=most), facts).map(
        lambda parts: DECLARED + [claim for part in parts for group in part for claim in group]
    )
