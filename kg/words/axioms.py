"""Renders OWL and RDFS axioms in English, using the phrasebook's sentences of predicates."""

from __future__ import annotations

from collections.abc import Iterator

from kg.base.plain_text import add_article, capitalise_sentence
from kg.claims import Claim
from kg.literals import DATATYPE_NOUNS
from kg.terms import OWL, RDF, RDF_TYPE, RDFS
from kg.words.phrasebook import Phrasebook

# Class of a property → sentence. ``{xy}`` is the clause "X pred Y", and so on for other variables.
_CHARACTERISTICS = {
    OWL + "FunctionalProperty": "If {xy} and {xz}, then Y and Z are the same.",
    OWL + "InverseFunctionalProperty": "If {xy} and {zy}, then X and Z are the same.",
    OWL + "TransitiveProperty": "If {xy} and {yz}, then {xz}.",
    OWL + "SymmetricProperty": "If {xy}, then {yx}.",
    OWL + "AsymmetricProperty": "If {xy}, then it is not the case that {yx}.",
    OWL + "IrreflexiveProperty": "It is never the case that {xx}.",
    OWL + "ReflexiveProperty": "It is always the case that {xx}.",
}
# Relation of two properties → sentence. ``{other_xy}`` is the clause of the second property.
_PROPERTY_PAIRS = {
    OWL + "inverseOf": "{xy} exactly when {other_yx}.",
    OWL + "equivalentProperty": "{xy} exactly when {other_xy}.",
    RDFS + "subPropertyOf": "If {xy}, then {other_xy}.",
    OWL + "propertyDisjointWith": "If {xy}, then it is not the case that {other_xy}.",
}
MAX_SUBCLASSES = 12
"""Maximum number of sub-classes of a predicate's domain or range that its rules name."""
PROPERTY_RELATIONS = frozenset(_PROPERTY_PAIRS)
"""Predicates of axioms that relate two properties."""
SCHEMA_PREDICATES = PROPERTY_RELATIONS | {
    RDFS + "domain",
    RDFS + "range",
    RDFS + "subClassOf",
    OWL + "equivalentClass",
    OWL + "disjointWith",
    OWL + "complementOf",
    OWL + "propertyChainAxiom",
}


def is_axiom(claim: Claim) -> bool:
    """Returns whether a triple is about a predicate or class rather than about an entity."""
    return claim.pred in SCHEMA_PREDICATES or (
        claim.pred == RDF_TYPE and claim.obj.startswith((OWL, RDFS))
    )


def render_axiom(phrasebook: Phrasebook, axiom: Claim) -> str:
    """Renders one axiom as a sentence in which X, Y and Z stand for any things.

    Returns an empty string for triples that are only parts of an axiom, such as those of RDF lists,
    and for those that say nothing to a reader.
    """
    pred, subj, obj = axiom.pred, axiom.subj, axiom.obj
    if pred == RDF_TYPE:
        pattern = _CHARACTERISTICS.get(obj, "")
        return capitalise_sentence(pattern.format(**_render_variables(phrasebook, subj)))
    if pred in _PROPERTY_PAIRS:
        # Of two predicates that are called alike, a reader sees one.
        clauses = {phrasebook.fill_clause(term, "X", "Y") for term in (subj, obj)}
        if len(clauses) == 1 and pred != OWL + "inverseOf":
            return ""
        other_variables = {
            f"other_{key}": text for key, text in _render_variables(phrasebook, obj).items()
        }
        return capitalise_sentence(
            _PROPERTY_PAIRS[pred].format(**_render_variables(phrasebook, subj), **other_variables)
        )
    if pred == RDFS + "domain":
        return (
            f"If {phrasebook.fill_clause(subj, 'X', 'Y')}, then X is "
            f"{add_article(phrasebook.get_class_noun(obj))}."
        )
    if pred == RDFS + "range":
        return (
            f"If {phrasebook.fill_clause(subj, 'X', 'Y')}, then Y is "
            f"{DATATYPE_NOUNS.get(obj) or add_article(phrasebook.get_class_noun(obj))}."
        )
    if pred == RDFS + "subClassOf":
        return (
            f"Every {phrasebook.get_class_noun(subj)} is "
            f"{add_article(phrasebook.get_class_noun(obj))}."
        )
    if pred == OWL + "equivalentClass":
        noun, other_noun = phrasebook.get_class_noun(subj), phrasebook.get_class_noun(obj)
        return f"Something is {add_article(noun)} exactly when it is {add_article(other_noun)}."
    if pred in (OWL + "disjointWith", OWL + "complementOf"):
        return (
            f"No {phrasebook.get_class_noun(subj)} is "
            f"{add_article(phrasebook.get_class_noun(obj))}."
        )
    if pred == OWL + "propertyChainAxiom":
        return _render_chain(phrasebook, subj, obj)
    return ""


def find_axioms_about(phrasebook: Phrasebook, pred: str) -> list[Claim]:
    """Returns the graph's axioms about ``pred``, in a fixed order.

    These are its characteristics, domain and range, the predicates it implies and is implied by,
    and the sub-class and disjointness axioms of its domain and range; of a class with very many
    sub-classes, none of these.
    """
    axioms = dict.fromkeys(_iter_axioms_about(phrasebook, pred))
    classes = [a.obj for a in axioms if a.pred in (RDFS + "domain", RDFS + "range")]
    for cls in dict.fromkeys(classes):
        hierarchy = _find_axioms(phrasebook, RDFS + "subClassOf", cls, with_objects=True)
        has_many = sum(axiom.obj == cls for axiom in hierarchy) > MAX_SUBCLASSES
        axioms.update((axiom, None) for axiom in hierarchy if not has_many or axiom.subj == cls)
        axioms.update(
            dict.fromkeys(_find_axioms(phrasebook, OWL + "disjointWith", cls, with_objects=True))
        )
    return list(axioms)


def _iter_axioms_about(phrasebook: Phrasebook, pred: str) -> Iterator[Claim]:
    for axiom in _find_axioms(phrasebook, RDF_TYPE, pred):
        if axiom.obj in _CHARACTERISTICS:
            yield axiom
    for schema in (RDFS + "domain", RDFS + "range"):
        yield from _find_axioms(phrasebook, schema, pred)
    for schema in _PROPERTY_PAIRS:
        yield from _find_axioms(phrasebook, schema, pred, with_objects=True)
    for chain in _find_axioms(phrasebook, OWL + "propertyChainAxiom", pred):
        yield chain
        yield from _iter_list_triples(phrasebook, chain.obj)


def _find_axioms(
    phrasebook: Phrasebook, schema: str, term: str, *, with_objects: bool = False
) -> list[Claim]:
    """Returns the asserted axioms with the subject ``term`` and the predicate ``schema``.

    With ``with_objects``, also returns those with the object ``term``. Axioms about blank nodes are
    left out, except property chains, whose object is the blank node of a list.
    """
    index = phrasebook.graph.index
    terms = index.terms
    p, node = terms.get(schema), terms.get(term)
    if p is None or node is None:
        return []
    claims = [Claim(term, schema, terms.get_text(o)) for o in index.find_objects(node, p)]
    if with_objects:
        claims += [Claim(terms.get_text(s), schema, term) for s in index.find_subjects(p, node)]
    claims_about_names = [
        c for c in claims if schema == OWL + "propertyChainAxiom" or "_:" not in c.subj + c.obj
    ]
    return [c for c in claims_about_names if c.subj != c.obj]


def _iter_list_triples(phrasebook: Phrasebook, head: str) -> Iterator[Claim]:
    visited: set[str] = set()
    while head not in visited and head != RDF + "nil":
        visited.add(head)
        tails = [*_find_objects(phrasebook, head, RDF + "rest")]
        for first in _find_objects(phrasebook, head, RDF + "first"):
            yield Claim(head, RDF + "first", first)
        for tail in tails:
            yield Claim(head, RDF + "rest", tail)
        head = tails[0] if tails else RDF + "nil"


def _find_objects(phrasebook: Phrasebook, subj: str, pred: str) -> list[str]:
    terms = phrasebook.graph.index.terms
    s, p = terms.get(subj), terms.get(pred)
    if s is None or p is None:
        return []
    return [terms.get_text(o) for o in phrasebook.graph.index.find_objects(s, p)]


def _render_chain(phrasebook: Phrasebook, pred: str, head: str) -> str:
    links = [c.obj for c in _iter_list_triples(phrasebook, head) if c.pred == RDF + "first"]
    if not links or len(links) > 6:  # There are seven variable names.
        return ""
    variables = "XYZVWUT"
    parts = [
        phrasebook.fill_clause(link, variables[i], variables[i + 1]) for i, link in enumerate(links)
    ]
    conclusion = phrasebook.fill_clause(pred, "X", variables[len(links)])
    return f"If {' and '.join(parts)}, then {conclusion}."


def _render_variables(phrasebook: Phrasebook, pred: str) -> dict[str, str]:
    pairs = ("xy", "yx", "xz", "yz", "zy", "xx")
    return {pair: phrasebook.fill_clause(pred, pair[0].upper(), pair[1].upper()) for pair in pairs}
