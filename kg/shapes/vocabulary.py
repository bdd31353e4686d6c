"""Checks the SHACL terms of a shapes graph: refuses unsupported terms and probable typos.

pySHACL silently ignores parameters it does not know, so a constraint with a misspelt or
unsupported term would never be checked, and claims that break it would be licensed. Therefore
every term in the ``sh:`` namespace must be in ``KNOWN_TERMS``. The error for a term of SHACL-AF or
SHACL-JS names that extension.
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

TARGET_PROPERTIES = frozenset(["targetClass", "targetNode", "targetSubjectsOf", "targetObjectsOf"])

PATH_PROPERTIES = frozenset(
    ["path", "inversePath", "alternativePath", "zeroOrMorePath", "oneOrMorePath", "zeroOrOnePath"]
)

NODE_KINDS = frozenset(
    ["IRI", "Literal", "BlankNode", "BlankNodeOrIRI", "BlankNodeOrLiteral", "IRIOrLiteral"]
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

# Term → the extension of SHACL that it belongs to, which is not evaluated.
_UNSUPPORTED_TERMS = (
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

KNOWN_TERMS = (
    CONSTRAINT_PARAMETERS | TARGET_PROPERTIES | PATH_PROPERTIES | NODE_KINDS | _OTHER_TERMS
)
"""Local names of all terms that are evaluated, or that have no effect on validation."""


def check_vocabulary(graph: Graph, where: str) -> None:
    """Checks that every term of the graph in the ``sh:`` namespace is in ``KNOWN_TERMS``.

    Raises:
        ShapesError: a term is not in ``KNOWN_TERMS``. The error names the term and, for a likely
            typo, the most similar term of SHACL.
    """
    for name in sorted(set(_iter_terms(graph))):
        if name in KNOWN_TERMS:
            continue
        family = _UNSUPPORTED_TERMS.get(name)
        if family is not None:
            raise ShapesError(
                f"sh:{name} is not evaluated ({family})",
                where=where,
                hint="Express the rule in SHACL Core or sh:sparql.",
            )
        close_matches = difflib.get_close_matches(name, sorted(KNOWN_TERMS), n=1)
        raise ShapesError(
            f"sh:{name} is not a SHACL term",
            where=where,
            hint=f"Did you mean sh:{close_matches[0]}?"
            if close_matches
            else "See https://www.w3.org/TR/shacl/.",
        )


def _iter_terms(graph: Graph) -> Iterator[str]:
    for triple in graph:
        for term in triple:
            text = str(term)
            # A literal can contain any text, so only IRIs count. The class is compared by name
            # because rdflib is not imported here.
            if text.startswith(SH) and term.__class__.__name__ == "URIRef":
                yield text[len(SH) :]
