"""Classifies the SHACL terms of a shapes graph, and refuses probable typos.

pySHACL silently ignores parameters it does not know, so a constraint with a misspelt or
unsupported term would never be checked, and claims that break it would be licensed. Therefore
every predicate and type in the ``sh:`` namespace must be known. What SHACL defines and Epoché does
not evaluate is in ``UNSUPPORTED_TERMS``; ``omissions`` names it and leaves it out.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, NamedTuple

from kg.base.errors import ShapesError
from kg.terms import RDF, XSD

if TYPE_CHECKING:
    from rdflib import Graph

SH = "http://www.w3.org/ns/shacl#"

CONSTRAINT_PARAMETERS = frozenset(
    [
        "class",
        "datatype",
        "nodeKind",
        "minCount",
        "maxCount",
        "minExclusive",
        "minInclusive",
        "maxExclusive",
        "maxInclusive",
        "minLength",
        "maxLength",
        "pattern",
        "flags",
        "languageIn",
        "uniqueLang",
        "equals",
        "disjoint",
        "lessThan",
        "lessThanOrEquals",
        "not",
        "and",
        "or",
        "xone",
        "node",
        "property",
        "qualifiedValueShape",
        "qualifiedMinCount",
        "qualifiedMaxCount",
        "qualifiedValueShapesDisjoint",
        "closed",
        "ignoredProperties",
        "hasValue",
        "in",
        "sparql",
    ]
)
"""Parameters of the SHACL Core components and ``sh:sparql``."""

TARGET_PROPERTIES = frozenset(["targetClass", "targetNode", "targetSubjectsOf", "targetObjectsOf"])

PATH_PROPERTIES = frozenset(
    ["path", "inversePath", "alternativePath", "zeroOrMorePath", "oneOrMorePath", "zeroOrOnePath"]
)

NODE_KINDS = frozenset(
    ["IRI", "Literal", "BlankNode", "BlankNodeOrIRI", "BlankNodeOrLiteral", "IRIOrLiteral"]
)

INTEGER_DATATYPES = frozenset(
    XSD + name
    for name in (
        *("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger"),
        *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
    )
)
# Terms that have no effect on validation, or that are neither parameters, targets nor paths.
_OTHER_TERMS = frozenset(
    [
        "NodeShape",
        "PropertyShape",
        "Shape",
        "PrefixDeclaration",
        "SPARQLConstraint",
        "SPARQLSelectExecutable",
        "Violation",
        "Warning",
        "Info",
        "Severity",
        "severity",
        "message",
        "deactivated",
        "name",
        "description",
        "order",
        "group",
        "defaultValue",
        "PropertyGroup",
        "select",
        "prefixes",
        "declare",
        "prefix",
        "namespace",
        "shapesGraph",
        "suggestedShapesGraph",
        "entailment",
    ]
)

# Terms that only describe rules, functions, components and validation reports. They have no effect
# of their own: what refers to them is in ``UNSUPPORTED_TERMS``.
_DEFINITION_TERMS = frozenset(
    [
        *("ValidationReport", "ValidationResult", "AbstractResult", "conforms", "result"),
        *("resultMessage", "resultPath", "resultSeverity", "focusNode", "value", "detail"),
        *("sourceShape", "sourceConstraint", "sourceConstraintComponent", "shapesGraphWellFormed"),
        *("ConstraintComponent", "Parameter", "Parameterizable", "parameter", "optional"),
        *("validator", "nodeValidator", "propertyValidator", "labelTemplate", "Validator", "ask"),
        *("SPARQLAskValidator", "SPARQLSelectValidator", "SPARQLExecutable", "update"),
        *("SPARQLAskExecutable", "SPARQLConstructExecutable", "SPARQLUpdateExecutable"),
        *("Rule", "Rules", "SPARQLRule", "TripleRule", "condition", "construct"),
        *("subject", "predicate", "object", "this"),
        *("Function", "SPARQLFunction", "returnType", "Expression", "NodeExpression"),
        *("Target", "TargetType", "SPARQLTarget", "SPARQLTargetType", "resultAnnotation"),
        *("ResultAnnotation", "annotationProperty", "annotationVarName", "annotationValue"),
        *("filterShape", "nodes", "union", "intersection", "minus", "distinct", "count"),
        *("min", "max", "sum", "if", "then", "else", "exists", "groupConcat", "separator"),
        *("limit", "offset", "orderBy", "asc", "desc"),
        *("JSConstraint", "JSFunction", "JSLibrary", "JSRule", "JSTarget", "JSTargetType"),
        *("JSValidator", "JSExecutable", "jsFunctionName", "jsLibrary", "jsLibraryURL"),
        *("ShapeClass", "codeIdentifier", "agentInstruction", "intent", "Debug", "Trace"),
    ]
)


class UnsupportedTerm(NamedTuple):
    """What a predicate that is not evaluated belongs to."""

    feature: str
    is_constraint: bool
    """Whether a shape that loses it accepts more nodes; a rule or a target adds no constraint."""


_RULES = UnsupportedTerm("rules of SHACL Advanced Features", is_constraint=False)
_TARGETS = UnsupportedTerm("targets of SHACL Advanced Features", is_constraint=False)
_EXPRESSIONS = UnsupportedTerm("expressions of SHACL Advanced Features", is_constraint=True)
_NEWER = UnsupportedTerm("constraints of SHACL 1.2", is_constraint=True)

UNSUPPORTED_TERMS: dict[str, UnsupportedTerm] = {
    "rule": _RULES,
    "values": _RULES,
    "target": _TARGETS,
    "targetWhere": UnsupportedTerm("targets of SHACL 1.2", is_constraint=False),
    "expression": _EXPRESSIONS,
    "nodeByExpression": _EXPRESSIONS,
    "js": UnsupportedTerm("constraints of SHACL-JS", is_constraint=True),
    "someValue": _NEWER,
    "singleLine": _NEWER,
    "memberShape": _NEWER,
    "minListLength": _NEWER,
    "maxListLength": _NEWER,
    "uniqueMembers": _NEWER,
    "subsetOf": _NEWER,
    "rootClass": _NEWER,
    "reifierShape": _NEWER,
    "reificationRequired": _NEWER,
}
"""Predicates of SHACL and its extensions that are not evaluated, by local name."""

_SEVERITIES = frozenset(["Violation", "Warning", "Info", "Debug", "Trace"])
_MIN_TYPO_SIMILARITY = 0.85
"""Minimum similarity (0 to 1) to a SHACL term at which an unknown term is taken for a typo."""

KNOWN_TERMS = (
    CONSTRAINT_PARAMETERS
    | TARGET_PROPERTIES
    | PATH_PROPERTIES
    | NODE_KINDS
    | _OTHER_TERMS
    | _DEFINITION_TERMS
)
"""Local names of all terms that are evaluated, or that have no effect on validation."""


def find_unsupported_terms(graph: Graph, where: str) -> dict[str, UnsupportedTerm]:
    """Returns the predicates of the graph that are not evaluated, by local name.

    Only predicates, types and severities are checked: elsewhere any term may occur, as in
    ``owl:imports sh:`` and in shapes about shapes (``sh:path sh:minCount``).

    Raises:
        ShapesError: a term is probably a misspelt term of SHACL.
    """
    from rdflib import URIRef

    used = {str(p) for p in graph.predicates(unique=True)}
    types = {str(o) for o in graph.objects(None, URIRef(RDF + "type"), unique=True)}
    severities = {str(o) for o in graph.objects(None, URIRef(SH + "severity"), unique=True)}
    for iri in sorted(types | severities):
        if iri.startswith(SH) and not iri.endswith("ConstraintComponent"):
            known = _SEVERITIES if iri in severities else KNOWN_TERMS
            _refuse_typo(iri[len(SH) :], known, where)
    unsupported: dict[str, UnsupportedTerm] = {}
    for name in sorted(iri[len(SH) :] for iri in used if iri.startswith(SH)):
        if name in KNOWN_TERMS:
            continue
        if name not in UNSUPPORTED_TERMS:
            _refuse_typo(name, KNOWN_TERMS | UNSUPPORTED_TERMS.keys(), where)
        unknown = UnsupportedTerm("not a term of SHACL", is_constraint=True)
        unsupported[name] = UNSUPPORTED_TERMS.get(name, unknown)
    return unsupported


def _refuse_typo(name: str, known: frozenset[str], where: str) -> None:
    close_matches = difflib.get_close_matches(name, sorted(known), n=1, cutoff=_MIN_TYPO_SIMILARITY)
    if name not in known and close_matches:
        raise ShapesError(
            f"sh:{name} is not a SHACL term",
            where=where,
            hint=f"Did you mean sh:{close_matches[0]}?",
        )
