"""Checks texts in other languages inside shapes: SPARQL queries and regular expressions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kg.base.errors import ShapesError
from kg.shapes.vocabulary import SH
from kg.terms import OWL, RDF, RDFS, XSD

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

MAX_QUERY_LENGTH = 20_000
"""Maximum length of a SPARQL constraint, in characters."""
MAX_PATTERN_LENGTH = 1_000
"""Maximum length of a regular expression, in characters."""

# Like pySHACL, requires a space, brace or parenthesis before the variable.
_PATH_VARIABLE = re.compile(r"([\s{}()])[$?]PATH\b")
# Name of a node in rdflib's algebra → the SPARQL keyword that it comes from.
_FORBIDDEN_KEYWORDS = {
    "ServiceGraphPattern": "SERVICE",
    "Minus": "MINUS",
    "values": "VALUES",
    "Graph": "GRAPH",
}


# The classes of characters that regular expressions of XPath have and those of Python have not.
_XPATH_ERROR = re.compile(r"bad escape \\[pPiIcC]")


class UnsupportedPartError(Exception):
    """A part of a shape that is well-formed, but is not evaluated.

    Args:
        feature: what is not supported, in the plural.
    """

    def __init__(self, feature: str) -> None:
        self.feature = feature
        super().__init__(feature)


def collect_prefixes(graph: Graph, node: Node, where: str) -> dict[str, str]:
    """Returns the prefixes of a constraint: those that its ``sh:prefixes`` declare.

    As in pySHACL, ``rdf``, ``rdfs`` and ``owl`` are always declared. If a value of ``sh:prefixes``
    has no declarations or is not an ``owl:Ontology``, the declarations of every ontology in the
    graph are used.

    Raises:
        ShapesError: a declaration is incomplete, or two declare one prefix differently.
    """
    from rdflib import URIRef

    prefix_sources = sorted(graph.objects(node, URIRef(SH + "prefixes")), key=str)
    prefixes = {"rdf": RDF, "rdfs": RDFS, "owl": OWL}
    if not prefix_sources:
        return prefixes
    declare = URIRef(SH + "declare")
    ontologies = set(graph.subjects(URIRef(RDF + "type"), URIRef(OWL + "Ontology")))
    declarations: set[Node] = set()
    for source in prefix_sources:
        own_declarations = set(graph.objects(source, declare))
        declarations |= own_declarations
        if not (own_declarations and source in ontologies):
            for other in ontologies:
                declarations |= set(graph.objects(other, declare))
    namespaces: dict[str, str] = {}
    for declaration in sorted(declarations, key=str):
        prefix_values = list(graph.objects(declaration, URIRef(SH + "prefix")))
        namespace_values = list(graph.objects(declaration, URIRef(SH + "namespace")))
        if len(prefix_values) != 1 or len(namespace_values) != 1:
            raise ShapesError("sh:declare needs one sh:prefix and one sh:namespace", where=where)
        if namespaces.setdefault(str(prefix_values[0]), str(namespace_values[0])) != str(
            namespace_values[0]
        ):
            raise ShapesError(
                f"prefix {prefix_values[0]}: is declared twice with different namespaces",
                where=where,
            )
    return prefixes | namespaces


def check_query(select: str, prefixes: dict[str, str], path: str | None, where: str) -> str:
    """Checks the query of a constraint.

    Args:
        select: the query as written.
        prefixes: namespace by prefix.
        path: the shape's path as SPARQL text; None for node shapes.
        where: file and shape, for error messages.

    Returns:
        The query with prefixes declared and ``$PATH`` filled in.

    Raises:
        ShapesError: the query is not a SELECT query, does not parse, or does not use ``$this``.
        UnsupportedPartError: it is too long, or uses an undeclared prefix, a custom function or a
            keyword that SHACL forbids. SERVICE could cause network access.
    """
    if len(select) > MAX_QUERY_LENGTH:
        raise UnsupportedPartError(f"SPARQL constraints of over {MAX_QUERY_LENGTH} characters")
    if path is not None:
        select = _PATH_VARIABLE.sub(lambda match: match.group(1) + path, select)
    elif _PATH_VARIABLE.search(select):
        raise ShapesError(
            "a SPARQL constraint uses $PATH, but its shape has no sh:path", where=where
        )
    if re.search(r"[$?]shapesGraph\b", select):
        raise UnsupportedPartError("SPARQL constraints with $shapesGraph")
    text = (
        "".join(f"PREFIX {name}: <{namespace}>\n" for name, namespace in prefixes.items()) + select
    )
    algebra = parse_query(text, where)
    if algebra.name != "SelectQuery":
        raise ShapesError("a SPARQL constraint must be a SELECT query", where=where)
    for name in collect_node_names(algebra):
        if name in _FORBIDDEN_KEYWORDS:
            raise UnsupportedPartError(f"SPARQL constraints with {_FORBIDDEN_KEYWORDS[name]}")
    if any(not function.startswith(XSD) for function in _iter_function_iris(algebra)):
        raise UnsupportedPartError("SPARQL constraints with custom functions")
    if not re.search(r"[\s{}()][$?]this\b", select):
        raise ShapesError("a SPARQL constraint does not use $this", where=where)
    return text


def parse_query(text: str, where: str = "") -> Any:
    """Returns the SPARQL algebra of a query, as rdflib builds it.

    Raises:
        ShapesError: the query does not parse.
        UnsupportedPartError: it uses a prefix that is not declared.
    """
    from rdflib.plugins.sparql import prepareQuery

    try:
        return prepareQuery(text).algebra
    except Exception as error:  # rdflib raises pyparsing's errors, its own, and bare Exception
        if "Unknown namespace prefix" in str(error):
            raise UnsupportedPartError(
                "SPARQL constraints with a prefix that sh:prefixes does not declare"
            ) from None
        raise ShapesError(
            f"a SPARQL constraint does not parse: {error!s:.200}", where=where
        ) from None


def collect_node_names(algebra: Any) -> set[str]:
    """Returns the names of all algebra nodes in a query, including nested expressions."""
    return {part.name for part in _iter_nodes(algebra)}


def _iter_function_iris(algebra: Any) -> Iterator[str]:
    for part in _iter_nodes(algebra):
        if part.name == "Function":
            yield str(part.iri)


def _iter_nodes(algebra: Any) -> Iterator[Any]:
    from rdflib.plugins.sparql.parserutils import CompValue

    queue: list[Any] = [algebra]
    while queue:
        part = queue.pop()
        if isinstance(part, CompValue):
            yield part
            queue.extend(part.values())
        elif isinstance(part, (list, tuple)):
            queue.extend(part)


def check_pattern(pattern: Node, where: str) -> str:
    """Returns the text of an ``sh:pattern``.

    Raises:
        ShapesError: it is not a regular expression.
        UnsupportedPartError: it is one of XPath that Python does not have.
    """
    from rdflib import Literal

    text = str(pattern)
    if not isinstance(pattern, Literal) or len(text) > MAX_PATTERN_LENGTH:
        raise ShapesError(
            f"sh:pattern must be text of at most {MAX_PATTERN_LENGTH} characters", where=where
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        if _XPATH_ERROR.match(str(error)):
            raise UnsupportedPartError(
                "values of sh:pattern with classes of characters that only XPath has"
            ) from None
        raise ShapesError(
            f"sh:pattern {text!r:.100} is not a regular expression: {error}", where=where
        ) from None
    return text


def check_flags(flags: Node) -> str:
    """Returns the text of an ``sh:flags``.

    Raises:
        UnsupportedPartError: it has a flag other than i and m, which pySHACL would ignore.
    """
    text = str(flags).lower()
    if set(text) - set("im"):
        raise UnsupportedPartError("values of sh:pattern with sh:flags other than i and m")
    return text
