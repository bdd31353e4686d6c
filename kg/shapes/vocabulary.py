"""Classifies the SHACL terms of a shapes graph, and refuses misspelt ones.

pySHACL silently ignores parameters it does not know, so a constraint with a misspelt term would
never be checked, and claims that break it would be licensed. What differs from a term of SHACL in
one letter is misspelt and refused. Other unknown terms ("datatypeIn", "minValue") are a publisher's
own: ``omissions`` names them and leaves them out, and so it does with what SHACL defines and Epoché
does not evaluate (``UNSUPPORTED_TERMS``).
"""

from __future__ import annotations

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
_MIN_MISSPELT_LENGTH = 4
"""Minimum length of a SHACL term that another one may be a misspelling of: "or" may be meant by
any two letters."""

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
        ShapesError: a term is a misspelt term of SHACL.
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
    if name in known:
        return
    meant = next((term for term in sorted(known) if _is_misspelt(name, term)), "")
    if meant:
        raise ShapesError(
            f"sh:{name} is not a SHACL term", where=where, hint=f"Did you mean sh:{meant}?"
        )


def _is_misspelt(name: str, term: str) -> bool:
    """Returns whether a name is a term with one letter missing, added, wrong or misplaced.

    Capitals do not count.
    """
    if len(term) < _MIN_MISSPELT_LENGTH:
        return False
    name, term = name.casefold(), term.casefold()
    n_alike = next(
        (i for i, pair in enumerate(zip(name, term, strict=False)) if pair[0] != pair[1]),
        min(len(name), len(term)),
    )
    rest, meant = name[n_alike:], term[n_alike:]
    is_swapped = rest[:2] == meant[1::-1] and rest[2:] == meant[2:]
    return is_swapped or meant[1:] == rest or rest[1:] in (meant, meant[1:])
