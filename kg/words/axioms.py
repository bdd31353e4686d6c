"""OWL and RDFS axioms in plain English, built on the phrasebook's own sentences."""

from __future__ import annotations

from collections.abc import Iterator

from kg.claims import Claim
from kg.terms import OWL, RDF, RDF_TYPE, RDFS
from kg.words.phrasebook import Phrasebook
from kg.words.plain_text import article, sentence

_CHARACTERISTICS = {
    OWL + "FunctionalProperty": "If {xy} and {xz}, then Y and Z are the same.",
    OWL + "InverseFunctionalProperty": "If {xy} and {zy}, then X and Z are the same.",
    OWL + "TransitiveProperty": "If {xy} and {yz}, then {xz}.",
    OWL + "SymmetricProperty": "If {xy}, then {yx}.",
    OWL + "AsymmetricProperty": "If {xy}, then it is not the case that {yx}.",
    OWL + "IrreflexiveProperty": "It is never the case that {xx}.",
    OWL + "ReflexiveProperty": "It is always the case that {xx}.",
}
_PAIRS = {
    OWL + "inverseOf": "{xy} exactly when {other_yx}.",
    OWL + "equivalentProperty": "{xy} exactly when {other_xy}.",
    RDFS + "subPropertyOf": "If {xy}, then {other_xy}.",
    OWL + "propertyDisjointWith": "If {xy}, then it is not the case that {other_xy}.",
}
SCHEMA_PREDICATES = frozenset(_PAIRS) | {
    RDFS + "domain",
    RDFS + "range",
    RDFS + "subClassOf",
    OWL + "equivalentClass",
    OWL + "disjointWith",
    OWL + "complementOf",
    OWL + "propertyChainAxiom",
}


def is_axiom(claim: Claim) -> bool:
    """Whether a triple says something about a predicate or class rather than about a thing."""
    return claim.pred in SCHEMA_PREDICATES or (
        claim.pred == RDF_TYPE and claim.obj.startswith((OWL, RDFS))
    )


def axiom_sentence(words: Phrasebook, axiom: Claim) -> str:
    """One axiom as a sentence; empty for triples that only hold an axiom together (lists).

    X, Y and Z stand for any things.
    """
    pred, subj, obj = axiom.pred, axiom.subj, axiom.obj
    if pred == RDF_TYPE:
        pattern = _CHARACTERISTICS.get(obj, "")
        return sentence(pattern.format(**_variables(words, subj)))
    if pred in _PAIRS:
        other = {f"other_{key}": text for key, text in _variables(words, obj).items()}
        return sentence(_PAIRS[pred].format(**_variables(words, subj), **other))
    if pred == RDFS + "domain":
        return f"If {words.clause(subj, 'X', 'Y')}, then X is {article(words.class_noun(obj))}."
    if pred == RDFS + "range":
        return f"If {words.clause(subj, 'X', 'Y')}, then Y is {article(words.class_noun(obj))}."
    if pred == RDFS + "subClassOf":
        return f"Every {words.class_noun(subj)} is {article(words.class_noun(obj))}."
    if pred == OWL + "equivalentClass":
        one, other_noun = words.class_noun(subj), words.class_noun(obj)
        return f"Something is {article(one)} exactly when it is {article(other_noun)}."
    if pred in (OWL + "disjointWith", OWL + "complementOf"):
        return f"No {words.class_noun(subj)} is {article(words.class_noun(obj))}."
    if pred == OWL + "propertyChainAxiom":
        return _chain_sentence(words, subj, obj)
    return ""


def axioms_about(words: Phrasebook, pred: str) -> list[Claim]:
    """The graph's axioms that bear on ``pred``, in a fixed order.

    Its characteristics, domain and range, what it implies and is implied by, and the class
    inclusions and exclusions of its domain and range.
    """
    found = dict.fromkeys(_about(words, pred))
    classes = [a.obj for a in found if a.pred in (RDFS + "domain", RDFS + "range")]
    for cls in dict.fromkeys(classes):
        found.update(dict.fromkeys(_around(words, RDFS + "subClassOf", cls, objects=True)))
        found.update(dict.fromkeys(_around(words, OWL + "disjointWith", cls, objects=True)))
    return list(found)


def _about(words: Phrasebook, pred: str) -> Iterator[Claim]:
    for axiom in _around(words, RDF_TYPE, pred):
        if axiom.obj in _CHARACTERISTICS:
            yield axiom
    for schema in (RDFS + "domain", RDFS + "range"):
        yield from _around(words, schema, pred)
    for schema in _PAIRS:
        yield from _around(words, schema, pred, objects=True)
    for chain in _around(words, OWL + "propertyChainAxiom", pred):
        yield chain
        yield from _list_triples(words, chain.obj)


def _around(words: Phrasebook, schema: str, term: str, *, objects: bool = False) -> list[Claim]:
    """Asserted ``term schema ?`` and, with ``objects``, ``? schema term``."""
    index = words.graph.index
    terms = index.terms
    p, node = terms.get(schema), terms.get(term)
    if p is None or node is None:
        return []
    claims = [Claim(term, schema, terms.text(o)) for o in index.objects(node, p)]
    if objects:
        claims += [Claim(terms.text(s), schema, term) for s in index.subjects(p, node)]
    named = [
        c for c in claims if schema == OWL + "propertyChainAxiom" or "_:" not in c.subj + c.obj
    ]
    return [c for c in named if c.subj != c.obj]


def _list_triples(words: Phrasebook, head: str) -> Iterator[Claim]:
    seen: set[str] = set()
    while head not in seen and head != RDF + "nil":
        seen.add(head)
        rest = [*_objects(words, head, RDF + "rest")]
        for first in _objects(words, head, RDF + "first"):
            yield Claim(head, RDF + "first", first)
        for tail in rest:
            yield Claim(head, RDF + "rest", tail)
        head = rest[0] if rest else RDF + "nil"


def _objects(words: Phrasebook, subj: str, pred: str) -> list[str]:
    terms = words.graph.index.terms
    s, p = terms.get(subj), terms.get(pred)
    if s is None or p is None:
        return []
    return [terms.text(o) for o in words.graph.index.objects(s, p)]


def _chain_sentence(words: Phrasebook, pred: str, head: str) -> str:
    links = [c.obj for c in _list_triples(words, head) if c.pred == RDF + "first"]
    if not links or len(links) > 6:
        return ""
    names = "XYZVWUT"
    parts = [words.clause(link, names[i], names[i + 1]) for i, link in enumerate(links)]
    return f"If {' and '.join(parts)}, then {words.clause(pred, 'X', names[len(links)])}."


def _variables(words: Phrasebook, pred: str) -> dict[str, str]:
    pairs = ("xy", "yx", "xz", "yz", "zy", "xx")
    return {pair: words.clause(pred, pair[0].upper(), pair[1].upper()) for pair in pairs}
