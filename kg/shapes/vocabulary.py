"""The SHACL vocabulary: which terms are evaluated, which are known but refused, which are typos.

A shapes graph that uses a term nobody evaluates would license claims it should not: pySHACL
passes over unknown parameters without a word. So every ``sh:`` term must be one of the known
ones, and those that only SHACL-AF or SHACL-JS give a meaning to are refused by name.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kg.base.errors import ShapesError

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

TARGETS = frozenset(["targetClass", "targetNode", "targetSubjectsOf", "targetObjectsOf"])

PATHS = frozenset(
    ["path", "inversePath", "alternativePath", "zeroOrMorePath", "oneOrMorePath", "zeroOrOnePath"]
)

NODE_KINDS = frozenset(
    ["IRI", "Literal", "BlankNode", "BlankNodeOrIRI", "BlankNodeOrLiteral", "IRIOrLiteral"]
)

_OTHER = frozenset(
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

_REFUSED = (
    dict.fromkeys(
        [
            "js",
            "JSConstraint",
            "JSFunction",
            "JSLibrary",
            "JSRule",
            "JSTarget",
            "JSTargetType",
            "JSValidator",
            "jsFunctionName",
            "jsLibrary",
            "jsLibraryURL",
        ],
        "SHACL-JS",
    )
    | dict.fromkeys(
        [
            "rule",
            "SPARQLRule",
            "TripleRule",
            "Rule",
            "Rules",
            "condition",
            "construct",
            "target",
            "Target",
            "SPARQLTarget",
            "SPARQLTargetType",
            "TargetType",
            "expression",
            "values",
            "Function",
            "SPARQLFunction",
            "SPARQLAskExecutable",
            "filterShape",
            "nodes",
            "union",
            "intersection",
            "this",
            "subject",
            "predicate",
            "object",
            "returnType",
            "ExpressionConstraintComponent",
        ],
        "SHACL Advanced Features",
    )
    | dict.fromkeys(
        [
            "ConstraintComponent",
            "Parameter",
            "Parameterizable",
            "parameter",
            "validator",
            "nodeValidator",
            "propertyValidator",
            "ask",
            "SPARQLAskValidator",
            "SPARQLSelectValidator",
            "labelTemplate",
            "optional",
            "Validator",
            "SPARQLConstructExecutable",
            "SPARQLUpdateExecutable",
            "update",
        ],
        "custom constraint components",
    )
)

KNOWN = CONSTRAINT_PARAMETERS | TARGETS | PATHS | NODE_KINDS | _OTHER
"""Local names of all terms that are evaluated or safely carry no meaning for validation."""


def check_vocabulary(graph: Graph, where: str) -> None:
    """Refuses terms in the ``sh:`` namespace that are unknown, or known and not evaluated.

    Raises:
        ShapesError: naming the term and, for a likely typo, the nearest known one.
    """
    for name in sorted(set(_names_used(graph))):
        if name in KNOWN:
            continue
        family = _REFUSED.get(name)
        if family is not None:
            raise ShapesError(
                f"sh:{name} is not evaluated ({family})",
                where=where,
                hint="Only SHACL Core and sh:sparql are; state the rule in those terms.",
            )
        near = difflib.get_close_matches(name, sorted(KNOWN), n=1)
        raise ShapesError(
            f"sh:{name} is not a SHACL term",
            where=where,
            hint=f"Did you mean sh:{near[0]}?" if near else "See https://www.w3.org/TR/shacl/.",
        )


def _names_used(graph: Graph) -> Iterator[str]:
    for triple in graph:
        for term in triple:
            text = str(term)
            # A literal may hold any text; only IRIs name terms.
            if text.startswith(SH) and term.__class__.__name__ == "URIRef":
                yield text[len(SH) :]
