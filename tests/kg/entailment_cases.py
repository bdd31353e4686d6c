"""Strategies for random graphs with every kind of axiom that the rules use.

The graphs use few names, so that the conclusions of one rule are often premises of another.
"""

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


def binary_axioms(subjects, predicate, objects):
    """Axioms ``subject predicate object``."""
    return st.tuples(subjects, st.just(predicate), objects).map(lambda terms: [Claim(*terms)])


def type_axioms(subjects, class_iri):
    """Axioms ``subject a class_iri``."""
    return subjects.map(lambda subject: [Claim(subject, TYPE, class_iri)])


def list_axioms(subjects, predicate, items):
    """Axioms ``subject predicate (items…)`` with list nodes named after their content."""

    def make_claims(terms):
        subject, members = terms
        name = "L" + "_".join(member.rsplit("/", 1)[1] for member in members)
        nodes = [f"{E}{name}.{number}" for number in range(len(members))] + [RDF + "nil"]
        claims = [Claim(subject, predicate, nodes[0])]
        for node, item, next_node in zip(nodes, members, nodes[1:], strict=False):
            claims += [Claim(node, RDF + "first", item), Claim(node, RDF + "rest", next_node)]
        return claims

    return st.tuples(subjects, st.lists(items, min_size=1, max_size=3)).map(make_claims)


def restriction_axioms(predicate, values, *extra):
    """Axioms of a restriction on a property.

    Args:
        predicate: the kind of restriction, e.g. ``owl:hasValue``.
        values: the values of ``predicate``.
        extra: pairs of another predicate and the strategy for its values.
    """
    extra_predicates, extra_values = extra[::2], extra[1::2]

    def make_claims(terms):
        restriction, prop, value, *extra_terms = terms
        claims = [
            Claim(restriction, OWL + "onProperty", prop),
            Claim(restriction, predicate, value),
        ]
        pairs = zip(extra_predicates, extra_terms, strict=True)
        return claims + [Claim(restriction, pred, obj) for pred, obj in pairs]

    return st.tuples(a_restriction, a_property, values, *extra_values).map(make_claims)


cardinality = st.sampled_from(
    [f'"{n}"^^<{XSD}{t}>' for n in ("0", "1", "2") for t in ("nonNegativeInteger", "integer")]
)
class_or_thing = st.sampled_from([*CLASSES, OWL + "Thing"])

SCHEMA_RDFS = [
    binary_axioms(a_class, RDFS + "subClassOf", a_class),
    binary_axioms(a_property, RDFS + "subPropertyOf", a_property),
    binary_axioms(a_property, RDFS + "domain", a_class),
    binary_axioms(a_property, RDFS + "range", a_class),
]
AXIOMS = [
    *SCHEMA_RDFS,
    binary_axioms(a_class, OWL + "equivalentClass", a_class),
    binary_axioms(a_property, OWL + "equivalentProperty", a_property),
    binary_axioms(a_property, OWL + "inverseOf", a_property),
    type_axioms(a_property, OWL + "SymmetricProperty"),
    type_axioms(a_property, OWL + "TransitiveProperty"),
    type_axioms(a_property, OWL + "FunctionalProperty"),
    type_axioms(a_property, OWL + "InverseFunctionalProperty"),
    list_axioms(a_property, OWL + "propertyChainAxiom", a_property),
    list_axioms(a_named_class, OWL + "intersectionOf", a_class),
    list_axioms(a_named_class, OWL + "unionOf", a_class),
    list_axioms(a_named_class, OWL + "oneOf", a_thing),
    restriction_axioms(OWL + "someValuesFrom", class_or_thing),
    restriction_axioms(OWL + "allValuesFrom", a_class),
    restriction_axioms(OWL + "hasValue", a_thing),
    restriction_axioms(OWL + "maxCardinality", cardinality),
    restriction_axioms(
        OWL + "maxQualifiedCardinality", cardinality, OWL + "onClass", class_or_thing
    ),
    binary_axioms(a_thing, OWL + "sameAs", a_thing),
]
RARE_AXIOMS = [
    binary_axioms(a_class, OWL + "sameAs", a_class),
    binary_axioms(a_property, OWL + "sameAs", a_property),
    binary_axioms(a_named_class, RDFS + "subClassOf", st.just(OWL + "TransitiveProperty")),
    type_axioms(a_property, CLASSES[0]),
]


def make_denial(triple):
    """The claims of a negative property assertion, which denies the triple."""
    subject, pred, obj = triple
    node = E + "N" + "".join(term.rsplit("/", 1)[1] for term in triple)
    parts = {"sourceIndividual": subject, "assertionProperty": pred, "targetIndividual": obj}
    return [Claim(node, OWL + name, value) for name, value in parts.items()]


# AllDifferent, AllDisjointClasses and AllDisjointProperties are left out: owlrl skips their last
# member, so test_entailment tests those rules separately.
PROHIBITIONS = [
    binary_axioms(a_thing, OWL + "differentFrom", a_thing),
    type_axioms(a_property, OWL + "IrreflexiveProperty"),
    type_axioms(a_property, OWL + "AsymmetricProperty"),
    binary_axioms(a_property, OWL + "propertyDisjointWith", a_property),
    binary_axioms(a_class, OWL + "complementOf", a_class),
    binary_axioms(a_class, OWL + "disjointWith", a_class),
    binary_axioms(a_class, RDFS + "subClassOf", st.just(OWL + "Nothing")),
    restriction_axioms(OWL + "maxCardinality", cardinality),
    restriction_axioms(
        OWL + "maxQualifiedCardinality", cardinality, OWL + "onClass", class_or_thing
    ),
    st.tuples(a_thing, a_property, a_thing).map(make_denial),
]
KEY_AXIOMS = list_axioms(a_named_class, OWL + "hasKey", a_property)
facts = st.lists(
    st.one_of(
        st.tuples(a_thing, a_property, a_thing),
        st.tuples(a_thing, st.just(TYPE), a_class),
    ).map(lambda terms: [Claim(*terms)]),
    min_size=2,
    max_size=10,
)
DECLARATIONS = [
    *(Claim(c, TYPE, OWL + "Class") for c in CLASSES + RESTRICTIONS),
    *(Claim(p, TYPE, OWL + "ObjectProperty") for p in PROPERTIES),
]


def graphs(*axioms, max_axioms=5):
    """Lists of claims: declarations, at most ``max_axioms`` axioms, some facts."""
    return st.tuples(st.lists(st.one_of(*axioms), min_size=1, max_size=max_axioms), facts).map(
        lambda parts: DECLARATIONS + [claim for part in parts for group in part for claim in group]
    )


def to_term(name):
    return name if name.startswith("_:") else E + name


def make_restriction(node, prop, quantifier, value):
    """The claims that define a restriction."""
    return [Claim(node, OWL + "onProperty", prop), Claim(node, OWL + quantifier, to_term(value))]


@st.composite
def copied_restrictions(draw):
    """Lists of claims with anonymous restrictions that often say the same."""
    pick = lambda *options: draw(st.sampled_from(options))  # noqa: E731
    blanks = [f"_:r{n}" for n in range(5)]
    names = ["C0", "C1", "C2", "C3", *blanks]
    claims = [Claim(E + f"C{n}", TYPE, OWL + "Class") for n in range(4)]
    claims += [Claim(E + p, TYPE, OWL + "ObjectProperty") for p in pick(["p0"], ["p0", "p1"], [])]
    for node in blanks:
        quantifier = pick("someValuesFrom", "someValuesFrom", "allValuesFrom", "hasValue")
        value = "i0" if quantifier == "hasValue" else pick("C0", "C0", "C1", blanks[0])
        claims += make_restriction(
            node, E + pick("p0", "p1"), quantifier, "C0" if value == node else value
        )
    for number in range(draw(st.integers(2, 6))):
        kind = pick("subClassOf", "subClassOf", "subClassOf", "equivalentClass", "domain", "list")
        if kind == "equivalentClass":
            claims.append(Claim(to_term(pick(*names)), OWL + kind, to_term(pick(*names))))
        elif kind == "list":
            first, second = f"_:l{number}", f"_:l{number}b"
            operator = pick("unionOf", "intersectionOf")
            claims += [
                Claim(E + pick("C2", "C3"), OWL + operator, first),
                Claim(first, RDF + "first", to_term(pick(*names))),
                Claim(first, RDF + "rest", second),
                Claim(second, RDF + "first", to_term(pick(*names))),
                Claim(second, RDF + "rest", RDF + "nil"),
            ]
        else:
            subject = pick("p0", "p1") if kind == "domain" else pick(*names)
            claims.append(Claim(to_term(subject), RDFS + kind, to_term(pick(*names))))
    claims += [Claim(E + pick("i0", "i1"), TYPE, to_term(pick(*names))) for _ in range(2)]
    claims.append(Claim(E + "i0", E + "p0", E + pick("i0", "i1")))
    return list(dict.fromkeys(claims))
